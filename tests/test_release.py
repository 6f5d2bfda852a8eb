"""What is released beside the package: sources, image, recipe and citation agree with setup.cfg."""

from __future__ import annotations

import configparser
import fnmatch
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console import ROOT, scripts

import bitextfilter

CONDA = {"torch": "pytorch"}
"""Packages that conda calls by other names."""
FOLDERS = (".ci", "benchmarks", "bin", "conda", "docs", "examples", "tests")
ENDINGS = {".cff", ".cfg", ".in", ".md", ".toml", ".txt", ".yml"}
"""Of the files beside these folders."""


def yaml_of(name: str) -> Any:
    """What a YAML file of the repository says."""
    return pytest.importorskip("yaml").safe_load((ROOT / name).read_text("utf-8"))


def settings() -> configparser.ConfigParser:
    found = configparser.ConfigParser(comment_prefixes="#")
    found.read(ROOT / "setup.cfg", encoding="utf-8")
    return found


def required() -> set[str]:
    """The requirements of the package, without conditions."""
    lines = settings()["options"]["install_requires"].split("\n")
    return {line.partition(";")[0].strip() for line in lines if line.strip()}


def instructions(path: Path) -> list[tuple[str, list[str]]]:
    """The instructions of a Dockerfile with their words."""
    text = re.sub(r"(?m)^\s*#.*\n", "", path.read_text("utf-8")).replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [(words[0], words[1:]) for words in lines]


def ignored(name: str) -> bool:
    """Whether .dockerignore leaves out a file or folder of the repository."""
    found = False
    for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines():
        if line and not line.startswith("#") and fnmatch.fnmatch(name, line.lstrip("!")):
            found = not line.startswith("!")
    return found


def test_the_image_is_made_of_files_that_are_there() -> None:
    found = instructions(ROOT / "Dockerfile")
    copied = [w for name, words in found if name == "COPY" for w in words[:-1]]
    sources = [word for word in copied if not word.startswith(("/", "--"))]
    assert "bitextfilter" in sources and "constraints.txt" in sources
    assert [s for s in sources if ignored(s) or not (ROOT / s).exists()] == []
    assert ignored("tests") and ignored(".git") and ignored(".venv")


def test_the_image_has_two_stages_and_an_ordinary_user() -> None:
    found = instructions(ROOT / "Dockerfile")
    assert [name for name, _ in found].count("FROM") == 2
    last = found[[place for place, (name, _) in enumerate(found) if name == "FROM"][-1] :]
    assert "ADD" not in [name for name, _ in found]
    assert not any("pip" in words for name, words in last if name == "RUN")
    assert dict(last)["USER"] not in (["root"], ["0"])
    assert dict(last)["CMD"] == ['["bash"]']
    installs = " ".join(word for name, words in found if name == "RUN" for word in words)
    assert "--constraint constraints.txt /wheels/*.whl" in installs
    build = dict(found)
    assert any("https://download.pytorch.org/whl/cpu" in word for word in build["ARG"])
    assert build["ENV"] == ["PATH=/opt/bitextfilter/bin:$PATH"]


def test_the_dockerfile_has_no_fault() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint is not installed")
    line = [str(hadolint), "--no-color", str(ROOT / "Dockerfile")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_citation_is_of_this_version() -> None:
    found = yaml_of("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(found)
    metadata = settings()["metadata"]
    assert (found["title"], found["version"]) == ("bitextfilter", bitextfilter.__version__)
    assert found["license"] == metadata["license"]
    assert found["authors"] == [{"name": metadata["author"]}]
    assert found["keywords"] == metadata["keywords"].split(", ")


def test_the_recipe_of_conda_needs_what_the_package_needs() -> None:
    found = yaml_of("conda/recipe.yaml")
    assert found["context"]["version"] == bitextfilter.__version__
    *_, minimum = settings()["options"]["python_requires"].split()
    needed = found["requirements"]["run"]
    assert needed[0].startswith(f"python {minimum},")
    names = [re.fullmatch(r"([\w.-]+)(>=.*)", one) for one in sorted(required())]
    expected = {f"{CONDA.get(m[1], m[1])} {m[2]}" for m in names if m}
    assert len(expected) == len(names) and set(needed[1:]) == expected
    assert set(found["build"]["python"]["entry_points"]) == {
        f"{name} = {target}" for name, target in scripts().items()
    }
    assert (ROOT / "conda" / found["source"]["path"]).resolve() == ROOT
    assert (ROOT / found["about"]["license_file"]).exists()


def test_the_recipe_of_conda_and_the_classifiers_name_the_same_pythons() -> None:
    named = re.findall(r"Python :: (3\.\d+)", settings()["metadata"]["classifiers"])
    pythons = yaml_of("conda/recipe.yaml")["requirements"]["run"][0]
    first, last = (tuple(map(int, v.split("."))) for v in (named[0], named[-1]))
    assert pythons == f"python >={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"


def files_of_the_repository() -> Iterator[str]:
    """Files that a source distribution should have, by their paths; the package's are aside."""
    yield from (p.name for p in ROOT.iterdir() if p.suffix in ENDINGS and p.is_file())
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            made = {"__pycache__", ".hypothesis"} & set(path.parts)
            if path.is_file() and not made:
                yield path.relative_to(ROOT).as_posix()


def test_the_source_distribution_has_pages_examples_and_tests(tmp_path: Path) -> None:
    skipped = shutil.ignore_patterns("pretrained", "__pycache__")
    for name in ("bitextfilter", *FOLDERS):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=skipped)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    code = "from setuptools import setup; setup(script_args=['-q', 'egg_info'])"
    line = [sys.executable, "-c", code]
    subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    listed = (tmp_path / "bitextfilter.egg-info" / "SOURCES.txt").read_text("utf-8").splitlines()
    wanted = set(files_of_the_repository())
    assert {"docs/score.md", "examples/pairs.en-de.tsv", "CITATION.cff"} <= wanted
    wanted |= {"Dockerfile", ".dockerignore", "Makefile", "bitextfilter/commands/main.py"}
    compiled = [*ROOT.glob("bitextfilter/*/*.c"), *ROOT.glob("bitextfilter/*/*.h")]
    wanted |= {path.relative_to(ROOT).as_posix() for path in compiled}
    wanted.add("setup.py")
    assert wanted - set(listed) == set()
    assert [name for name in listed if "__pycache__" in name] == []
