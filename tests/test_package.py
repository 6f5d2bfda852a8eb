"""What is installed: everything of the package, the shipped models too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from console import ROOT

import bitextfilter

LARGEST = 95 * 10**6
"""Bytes of a wheel; package indexes refuse 100 MB."""
COMPILED = {
    f"{path.parent.relative_to(ROOT).as_posix()}/_{path.stem}.so"
    for path in (ROOT / "bitextfilter").rglob("*.c")
}
"""The compiled libraries."""
BUILD = "from setuptools.build_meta import build_wheel; build_wheel({!r})"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of a copy of the sources."""
    folder = tmp_path_factory.mktemp("sources")
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    skipped = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(ROOT / "bitextfilter", folder / "bitextfilter", ignore=skipped)
    line = [sys.executable, "-c", BUILD.format(str(folder))]
    subprocess.run(line, cwd=folder, check=True, capture_output=True, timeout=120)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_everything_of_the_package_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    paths = (p for p in (ROOT / "bitextfilter").rglob("*") if "__pycache__" not in p.parts)
    wanted = {path.relative_to(ROOT).as_posix() for path in paths if path.is_file()}
    assert {"bitextfilter/py.typed", "bitextfilter/commands/main.py"} <= wanted
    wanted = {name for name in wanted if not name.endswith((".c", ".h", ".so"))}
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found - COMPILED == wanted
    assert found & COMPILED == (COMPILED if shutil.which("cc") else set())


def test_the_wheel_is_small_enough_for_an_index(wheel: zipfile.ZipFile) -> None:
    assert wheel.filename is not None
    assert Path(wheel.filename).stat().st_size <= LARGEST


def test_the_installed_package_scores_and_needs_no_checkout(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    wheel.extractall(tmp_path / "installed")
    code = "from bitextfilter.commands.score import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "-q"],
        input="Good morning!\tGuten Morgen!\n",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
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
