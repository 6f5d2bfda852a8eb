"""The documentation against the code: pages, options, links, and the examples that are run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from console import BIN, ROOT, options, run, scripts

from bitextfilter.encoders.parts import PARTS
from bitextfilter.workflows.plan import Plan

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TEXTS = sorted([*ROOT.glob("*.md"), *PAGES, *ROOT.glob("examples/**/*.md")])
SCRIPTS = sorted(scripts())

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b")
FENCE = re.compile(r"^(<!-- run -->\n+)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page_of(name: str) -> Path:
    """The page of a console script: ``bitext-score`` is in ``docs/score.md``."""
    return DOCS / f"{name.removeprefix('bitext-')}.md"


def named(path: Path) -> str:
    """A path as test output shows it."""
    return path.relative_to(ROOT).as_posix()


def paragraphs(text: str) -> list[str]:
    """Paragraphs of prose, list items with theirs, and each command of a fenced block."""
    commands = [c for block in FENCE.findall(text) for c in re.split(r"[|;\n]", joined(block[2]))]
    return [*re.split(r"\n\s*\n", FENCE.sub("", text)), *commands]


def joined(block: str) -> str:
    """A block with its continued lines made whole."""
    return re.sub(r"\\\n", " ", block)


def wrong_options(name: str, text: str) -> list[str]:
    """Options on the page of ``name`` that neither it nor a command named beside them has."""
    faults = []
    for paragraph in paragraphs(text):
        if foreign(paragraph):
            continue
        called = [other for other in SCRIPTS if re.search(rf"\b{other}\b(?!-)", paragraph)]
        known = set().union(*(options(other) for other in {name, *called}))
        faults += sorted(set(OPTION.findall(paragraph)) - known - {"--help", "--version"})
    return faults


def foreign(paragraph: str) -> bool:
    """Whether this is a command line of another program."""
    words = paragraph.removeprefix("$ ").split()
    return bool(words) and words[0] in {"make", "pip", "python", "sort", "cut", "paste", "git"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_command_has_a_page_in_the_index(name: str) -> None:
    page = page_of(name)
    assert page.read_text(encoding="utf-8").startswith(f"# {name}\n")
    assert f"]({page.name})" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_index_leads_to_every_page() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"]({page.name})" not in text] == ["index.md"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_page_names_every_option_and_no_other(name: str) -> None:
    text = page_of(name).read_text(encoding="utf-8")
    if "](options.md" in text:
        assert options(name) - set(OPTION.findall(text)) <= shared_options()
    else:
        assert options(name) - set(OPTION.findall(text)) == set()
    assert wrong_options(name, text) == []


def shared_options() -> set[str]:
    """The options that ``docs/options.md`` describes for the pages that link to it."""
    return set(OPTION.findall((DOCS / "options.md").read_text(encoding="utf-8")))


def test_shared_options_exist() -> None:
    everything = set().union(*(options(name) for name in SCRIPTS))
    assert shared_options() - {"--help", "--version"} <= everything


def test_a_wrong_option_is_found() -> None:
    text = "Use `--no-such-option`.\n\n```console\n$ bitext-score --nor-this | sort --key 3\n```\n"
    assert wrong_options("bitext-score", text) == ["--no-such-option", "--nor-this"]


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (path.parent / target).exists()] == []


def test_readme_opens_with_an_example_and_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first, second, *_ = FENCE.findall(text)
    assert "$ " in first[2] and "bitext-score" in first[2]
    assert "make demo" in second[2] and "make test" in second[2]
    assert "exec make test\n" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_the_page_on_training_has_settings_files_that_can_be_read() -> None:
    text = page_of("bitext-train-encoder").read_text(encoding="utf-8")
    files = [json.loads(block) for _, kind, block in FENCE.findall(text) if kind == "json"]
    plans = [Plan.from_dict(values) for values in files]
    assert {"autoencoder", "gran", "word,trigram", "gran-gru"} == {p.architecture for p in plans}
    assert {f"`{part}`" for part in PARTS} <= set(re.findall(r"`[a-z-]+`", text))


@pytest.mark.parametrize(
    ("page", "command"),
    [(name, name) for name in SCRIPTS if name.startswith("bitext-train-")]
    + [("bitext-paraphrase", "bitext-paraphrase train")],
)
def test_the_page_of_a_training_has_the_table_of_its_settings(page: str, command: str) -> None:
    done = run([*command.split(), "--list-settings"])
    assert len(done.stdout.splitlines()) > 3
    assert done.stdout in page_of(page).read_text(encoding="utf-8")


def examples(text: str) -> list[tuple[str, str]]:
    """Commands and their expected output, from the blocks that are marked to be run."""
    found = []
    for marked, _, block in FENCE.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] if marked else []:
            command, _, output = re.sub(r"\\\n> ?", "\\\n", part).partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = f"{command[:-1]}{more}"
            found.append((command, output))
    return found


def squeezed(text: str) -> str:
    """Text with each run of blanks as one: pages may show columns aligned."""
    return re.sub(r"[ \t]+", " ", text).strip()


def matches(expected: str, output: str) -> bool:
    """Whether output is what a page shows; ``...`` stands for anything."""
    pattern = ".*?".join(map(re.escape, squeezed(expected).split("...")))
    return re.fullmatch(pattern, squeezed(output), re.DOTALL) is not None


def test_matching() -> None:
    assert matches("a   b 0.9...\n", "a\tb\t0.9312\n")
    assert not matches("a b 0.9...\n", "a\tb\t0.8312\n")
    assert not matches("", "unexpected\n")


def test_examples_are_found() -> None:
    text = "<!-- run -->\n```console\n$ a \\\n> b\nout\nput\n$ c\n```\n\n```console\n$ d\n```\n"
    assert examples(text) == [("a b", "out\nput\n"), ("c", "")]


@pytest.mark.parametrize(
    "path", [p for p in TEXTS if "<!-- run -->" in p.read_text(encoding="utf-8")], ids=named
)
def test_examples_print_what_the_page_shows(path: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    search = os.pathsep.join([str(BIN), str(Path(sys.executable).parent), os.environ["PATH"]])
    for command, expected in examples(path.read_text(encoding="utf-8")):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": search, "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert matches(expected, done.stdout), f"{command}\n{done.stdout}"
