"""What is installed: everything of the package, the shipped models too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
from console import ROOT

import bitextfilter

LARGEST = 95 * 10**6
"""Bytes of a wheel; package indexes refuse 100 MB."""
BUILD = "from setuptools.build_meta import build_wheel; build_wheel('.', {!r})"
QUICK = {"--build-option": "--compression=stored"}
"""So that nothing is compressed, which takes longest."""


def _sources() -> list[Path]:
    """What git knows of the package and beside it; all, where this is no checkout."""
    line = ["git", "ls-files", "-z", "--", "bitextfilter", ":(glob)*"]
    if (ROOT / ".git").exists() and shutil.which("git"):
        names = subprocess.run(line, cwd=ROOT, check=True, capture_output=True).stdout
        found = [ROOT / name for name in names.decode().split("\0") if name]
    else:
        found = [*ROOT.glob("*"), *(ROOT / "bitextfilter").rglob("*")]
    return [path for path in found if path.is_file() and path.suffix not in {".pyc", ".so"}]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, beside which no older build tells of files of the package."""
    folder: Path = tmp_path_factory.mktemp("sources")
    for path in _sources():
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return folder


@pytest.fixture(scope="module")
def wheel(sources: Path) -> zipfile.ZipFile:
    """The wheel of the copy, its libraries compiled without optimisation."""
    compiler = sources / "quick-cc"
    compiler.write_text('#!/bin/sh\nexec cc "$@" -O0\n')
    compiler.chmod(0o755)
    line = [sys.executable, "-c", BUILD.format(QUICK)]
    environment = {**os.environ, "CC": str(compiler)}
    subprocess.run(line, cwd=sources, env=environment, check=True, capture_output=True, timeout=120)
    return zipfile.ZipFile(next(sources.glob("*.whl")))


def test_everything_of_the_package_is_in_the_wheel(sources: Path, wheel: zipfile.ZipFile) -> None:
    paths = [path for path in (sources / "bitextfilter").rglob("*") if path.is_file()]
    wanted = {path.relative_to(sources).as_posix() for path in paths}
    assert {"bitextfilter/py.typed", "bitextfilter/commands/main.py"} <= wanted
    compiled = {
        f"{path.parent.relative_to(sources).as_posix()}/_{path.stem}.so"
        for path in paths
        if path.suffix == ".c"
    }
    wanted = {name for name in wanted if not name.endswith((".c", ".h"))}
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found - compiled == wanted
    assert found & compiled == (compiled if shutil.which("cc") else set())


@pytest.mark.gate(0)
def test_the_wheel_is_small_enough_for_an_index(wheel: zipfile.ZipFile) -> None:
    sizes = (len(zlib.compress(wheel.read(name))) for name in wheel.namelist())
    assert sum(sizes) <= LARGEST


def test_the_installed_package_scores_and_needs_no_checkout(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    wheel.extractall(tmp_path / "installed")
    code = "from bitextfilter.commands.score import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    done = subprocess.run(
        [sys.executable, "-c", code, "-q"], input="Good morning!\tGuten Morgen!\n", cwd=tmp_path,
        env=environment, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    pair, score = done.stdout.rstrip("\n").rsplit("\t", 1)
    assert pair == "Good morning!\tGuten Morgen!" and float(score) > 0.5
    assert done.stderr == ""


def test_version_stands_in_one_place_and_in_the_changes(wheel: zipfile.ZipFile) -> None:
    name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
    assert f"\nVersion: {bitextfilter.__version__}\n" in wheel.read(name).decode()
    assert f"\n## {bitextfilter.__version__}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_torch_is_pinned() -> None:
    assert "torch==" in Path(ROOT / "constraints.txt").read_text("utf-8")


def test_importing_the_package_costs_nothing() -> None:
    code = "import sys, bitextfilter; print({'torch', 'numpy', 'click'} & set(sys.modules))"
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "set()\n"
    with pytest.raises(AttributeError, match="no_such_name"):
        bitextfilter.no_such_name  # noqa: B018
