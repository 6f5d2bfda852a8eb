"""The documentation against the code: pages, options, links, and the examples that are run."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from console import ROOT, leaves, options, scripts
from console import command as command_of

from bitextfilter.encoders.expressions import PARTS
from bitextfilter.training.encoder_training import EncoderConfig

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TEXTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("examples/**/*.md")])
SCRIPTS = sorted(scripts())

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9_-]*[a-z0-9]\b")
FILES = re.compile(r"(?<![\w*./-])[\w-]+(?:/[\w-]+)*/[\w-]+\.(?:py|sh)\b")
FENCE = re.compile(r"^(<!-- run -->\n+)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page_of(name: str) -> Path:
    """The page of a console script: ``bitext-score`` is in ``docs/score.md``."""
    return DOCS / f"{name.removeprefix('bitext-')}.md"


def text_of(name: str) -> str:
    """The pages of a command: ``bitext-evaluate`` is also in ``docs/evaluate-sentences.md``."""
    page = page_of(name)
    others = set(DOCS.glob(f"{page.stem}-*.md")) - {page_of(script) for script in SCRIPTS}
    return "\n\n".join(path.read_text(encoding="utf-8") for path in [page, *sorted(others)])


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
    others = {"make", "pip", "python", "sort", "cut", "paste", "git", "ct2-transformers-converter"}
    return bool(words) and words[0] in others


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
    text = text_of(name)
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


def test_files_that_pages_name_exist() -> None:
    texts = [*TEXTS, *ROOT.glob("*/README.md")]
    found = {
        (named(path), file)
        for path in texts
        for file in FILES.findall(path.read_text(encoding="utf-8"))
        if not any((start / file).exists() for start in (ROOT, ROOT / "bitextfilter", path.parent))
    }
    assert sorted(found) == []


def test_files_that_pages_name_are_found() -> None:
    text = "`io/rows.py`, benchmarks/score.py; `encoders/parts.py` (`score.py`, `rows_*.py`)"
    assert FILES.findall(text) == ["io/rows.py", "benchmarks/score.py", "encoders/parts.py"]


def test_readme_opens_with_the_two_commands_and_an_example() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first, second, *_ = FENCE.findall(text)
    assert "make demo" in first[2] and "make test" in first[2]
    assert "$ bitext-clean examples/" in second[2]
    assert "exec make test\n" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_the_page_on_training_has_settings_files_that_can_be_read() -> None:
    text = page_of("bitext-train-encoder").read_text(encoding="utf-8")
    files = [json.loads(block) for _, kind, block in FENCE.findall(text) if kind == "json"]
    plans = [EncoderConfig.from_dict(values) for values in files]
    assert {"autoencoder", "gran", "word,trigram", "gran-gru"} == {p.architecture for p in plans}
    assert {f"`{part}`" for part in PARTS} <= set(re.findall(r"`[a-z-]+`", text))


@pytest.mark.parametrize(
    ("page", "command"),
    [(name, name) for name in SCRIPTS if name.startswith("bitext-train-")]
    + [("bitext-paraphrase", "bitext-paraphrase train")],
)
def test_the_page_of_a_training_has_the_table_of_its_settings(page: str, command: str) -> None:
    name, *words = command.split()
    done = CliRunner().invoke(command_of(name), [*words, "--list-settings"])
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


def help_examples(text: str) -> list[list[str]]:
    """The command lines below ``Example:``, each as its words; redirections and pipes aside."""
    _, _, block = text.partition("Example:\n")
    lines = [line.strip() for line in joined(block).split("\n") if line.strip(" \b")]
    return [
        shlex.split(re.sub(r" [<>] \S+", "", part)) for line in lines for part in line.split(" | ")
    ]


def unfit(words: list[str]) -> str | None:
    """What is wrong with a command line of ours, or of another program that may stand beside it."""
    found = next((sub for name in SCRIPTS for call, sub in leaves(name) if call == words[:2]), None)
    if words[0] in SCRIPTS and found is None:
        found = command_of(words[0])
    if found is None:
        return None if words[0] in {"cut", "eval", "grep"} else f"{words[0]} is no command"
    rest = words[1 + (words[:2] in [call for call, _ in leaves(words[0])]) :]
    try:
        found.make_parser(click.Context(found)).parse_args(rest)
    except click.UsageError as error:
        return f"{shlex.join(words)}: {error.message}"
    return None


@pytest.mark.parametrize("name", SCRIPTS)
def test_examples_of_help_are_command_lines_of_ours(name: str) -> None:
    texts = [sub.help or "" for _, sub in leaves(name)]
    lines = [words for text in texts for words in help_examples(text)]
    assert any(name == words[0] for words in lines)
    assert [fault for words in lines if (fault := unfit(words))] == []


def test_examples_of_help_that_break_a_line_are_found() -> None:
    broken = (
        "Example:\n\n    bitext-score -i a\n    --header -o b\n    bitext-rank --scored 3 < a\n"
    )
    whole, cut, unknown = map(unfit, help_examples(broken))
    assert (whole, cut) == (None, "--header is no command")
    assert "No such option" in str(unknown) and "--scored" in str(unknown)
    assert help_examples("Example:\n\n    a -b \\\n        -c < d | e") == [
        ["a", "-b", "-c"],
        ["e"],
    ]


def test_command_lines_for_users_of_other_tools_are_ours() -> None:
    text = (DOCS / "coming-from.md").read_text(encoding="utf-8")
    lines = [shlex.split(line) for line in re.findall(r"`(bitext-[^`]+)`", text)]
    assert len(lines) > 60
    assert [fault for words in lines if (fault := unfit(words))] == []


def python_examples(text: str) -> str:
    """The marked blocks of Python on a page, one after another: a session of doctest."""
    return "\n".join(
        block for marked, kind, block in FENCE.findall(text) if marked and kind == "python"
    )


def failures(session: str, name: str) -> list[str]:
    """What examples of a session print instead of what a page shows."""
    said: list[str] = []
    test = doctest.DocTestParser().get_doctest(session, {}, name, None, 0)
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    return said


def test_examples_of_python_are_found() -> None:
    text = "<!-- run -->\n```python\n>>> 1 + 1\n2\n```\n\n```python\n>>> 1 + 1\n3\n```\n"
    assert python_examples(text) == ">>> 1 + 1\n2\n"
    assert failures(python_examples(text), "page") == []
    assert "Got:\n    2" in failures(">>> 1 + 1\n3\n", "page")[0]


@pytest.mark.parametrize(
    "path", [p for p in TEXTS if python_examples(p.read_text(encoding="utf-8"))], ids=named
)
def test_examples_of_python_print_what_the_page_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    session = python_examples(path.read_text(encoding="utf-8"))
    assert "".join(failures(session, named(path))) == ""


RUN = [path for path in TEXTS if "<!-- run -->" in path.read_text(encoding="utf-8")]
IN_GATE = [page for page in map(named, RUN) if not page.startswith("examples/")]
"""The pages of single examples, some of which have tests of their own, are run with all tests."""


@pytest.mark.gate(*IN_GATE)
@pytest.mark.parametrize("path", RUN, ids=named)
def test_examples_print_what_the_page_shows(path: Path, commands: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    search = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
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
