"""``bitext-run``: the plan, the run, what is up to date, and each way to go wrong."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result
from console import ROOT, heeding, invoke, leaves, says_one_line, scripts, table

from bitextfilter.commands import run as command
from bitextfilter.recipes.recipe import Spelling

PAIRS = "".join(f"row &amp; {n}\tZeile {n}\t{n * 37 % 50 / 50}\n" for n in range(50))

RECIPE = """
[[step]]
command = "bitext-fix"
input = "{data}.tsv"

[[step]]
name = "shuffle"
shell = "LC_ALL=C sort -r"
output = "{out}/{data}.sorted.gz"

[[step]]
command = "bitext-rank"
input = "{out}/{data}.sorted.gz"
output = "{out}/{data}.best.tsv"
column = -1

[[step]]
name = "all"
once = true
shell = "cat {out}/a.best.tsv {out}/b.best.tsv"
reads = ["{out}/a.best.tsv", "{out}/b.best.tsv"]
output = "{out}/all.tsv"

[defaults]
out = "made"
rank.top-lines = 20

[pair.en-de]
rank.top-lines = 10
fix.with = ["quotes"]

[data.a]

[data.b]
pair = "en-de"
fix.with = ["quotes", "width"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with two data sets and a recipe."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text(PAIRS)
    (tmp_path / "b.tsv").write_text(PAIRS.replace("Zeile", "“Satz”"))
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path


@pytest.fixture
def quick(commands: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of steps start at once."""

    def caller(quiet: bool) -> Callable[[list[str]], list[str]]:
        return lambda line: [str(commands / line[0]), *line[1:], *["--quiet"] * quiet]

    monkeypatch.setattr(command, "_caller", caller)


def call(*words: str, code: int | None = 0) -> Result:
    return invoke(command.main, "recipe.toml", *words, code=code)


def ran(*words: str) -> dict[tuple[str, str], list[str]]:
    """State, rows in and rows out of each step in the table of a run that succeeds."""
    header, *rows = table(call("-q", *words))
    assert header == ["data", "step", "state", "rows in", "rows out", "seconds"]
    return {(row[0], row[1]): row[2:5] for row in rows}


def states() -> set[str]:
    """The states of all steps of a run."""
    return {state for state, *_ in ran().values()}


def by_shell(script: str, commands: Path, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """What bash makes of a script, with commands that start at once."""
    search = os.pathsep.join([str(commands), os.environ["PATH"]])
    line, env = ["bash", "-o", "pipefail", "-c", script], {**os.environ, "PATH": search}
    return subprocess.run(line, check=True, capture_output=True, env=env, **more)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}


def test_a_run_makes_the_same_bytes_as_the_script_of_its_plan(folder: Path, commands: Path) -> None:
    script = call("--dry-run").stdout
    assert not (folder / "made").exists()
    by_shell(script, commands)
    expected = content(folder / "made")
    expected = {n: gzip.decompress(b) if n.endswith("gz") else b for n, b in expected.items()}
    shutil.rmtree(folder / "made")
    told = ran("--jobs", "2", "--manifest", "run.json")
    found = content(folder / "made")
    assert {n: gzip.decompress(b) if n.endswith("gz") else b for n, b in found.items()} == expected
    assert set(found) == {"a.sorted.gz", "b.sorted.gz", "a.best.tsv", "b.best.tsv", "all.tsv"}
    assert found["all.tsv"].count(b"\n") == 30
    assert b"row & 1\t" in gzip.decompress(found["a.sorted.gz"])
    assert '"Satz"' in gzip.decompress(found["b.sorted.gz"]).decode()
    assert (told["a", "fix"], told["", "all"]) == (["done", "50", "50"], ["done", "", ""])
    assert told["a", "rank"] == ["done", "50", "20"] and told["b", "rank"] == ["done", "50", "10"]
    pipes = json.loads((folder / "run.json").read_text())["facts"]["pipes"]
    steps = [step for pipe in pipes for step in pipe["steps"]]
    one = ["fix", "shuffle", "rank"]
    assert [step["step"] for step in steps] in ([*one, *one, "all"], [*one, "all", *one])
    rank = next(step for step in steps if step["step"] == "rank")
    assert rank["command"].startswith("bitext-rank --input made/a.sorted.gz")
    assert rank["manifest"]["counts"]["kept"] == 20


SMALL = """
[[step]]
name = "one"
shell = "sed s/a/{word}/"
input = "in.txt"
output = "one.txt"

[[step]]
name = "two"
shell = "tr x y"
input = "one.txt"
output = "two.txt"

[[step]]
name = "other"
shell = "wc -l < in2.txt > other.txt"
reads = ["in2.txt"]
writes = ["other.txt"]

[defaults]
word = "b"
"""


@pytest.fixture
def small(folder: Path) -> Path:
    """A recipe of the shell alone."""
    (folder / "recipe.toml").write_text(SMALL)
    (folder / "in.txt").write_text("a x\n")
    (folder / "in2.txt").write_text("1\n2\n")
    return folder


def edited(path: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / path).write_text(text)


def recipe(old: str, new: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "recipe.toml").write_text(SMALL.replace(old, new))


def test_lines_of_the_shell_are_themselves_in_the_script(folder: Path, commands: Path) -> None:
    """A comment, another folder, and a program that would read a terminal."""
    (folder / "recipe.toml").write_text("""
[[step]]
name = "list"
shell = "cat; ls a.tsv # no more"
output = "list.txt"
[[step]]
name = "away"
shell = "cd / && echo away"
output = "away.txt"
[[step]]
name = "copy"
shell = "cat"
input = "list.txt"
output = "copy.txt"
""")
    by_shell(call("--dry-run").stdout, commands, input=b"never read")
    expected = content(folder)
    assert (expected["list.txt"], expected["copy.txt"]) == (b"a.tsv\n", b"a.tsv\n")
    for name in ("list", "away", "copy"):
        (folder / f"{name}.txt").unlink()
    ran()
    assert content(folder) == expected


@pytest.mark.parametrize("option", ['rules = "first.toml"', 'rule = "perplexity:source=m.arpa"'])
def test_files_within_options_are_known(option: str, folder: Path) -> None:
    (folder / "recipe.toml").write_text(f"""
[[step]]
command = "bitext-filter"
input = "a.tsv"
output = "kept.tsv"
languages = "en,de"
{option}
""")
    (folder / "first.toml").write_text('include = "second.toml"\n')
    (folder / "second.toml").write_text('include = ["first.toml"]\n')  # which bitext-filter refuses
    (folder / "m.arpa").write_text("a model\n")
    graph = call("--graph", "mermaid").stdout
    wanted = "second.toml" if "rules" in option else "m.arpa"
    assert wanted in graph and "third.toml" not in graph


@pytest.mark.gate(8)
@pytest.mark.parametrize(
    ("change", "again"),
    [
        (lambda _: None, ""),
        (lambda folder: os.utime(folder / "in.txt"), ""),
        (edited("in.txt", "a x\n"), ""),
        (edited("in.txt", "a z x\n"), "one two"),
        (edited("in2.txt", "1\n2\n3\n"), "other"),
        (edited("two.txt", "damaged\n"), "two"),
        (lambda folder: (folder / "other.txt").unlink(), "other"),
        (lambda folder: (folder / ".one.txt.run.json").unlink(), "one"),
        (edited(".two.txt.run.json", "{}"), "two"),
        (recipe('word = "b"', 'word = "c"'), "one two"),
        (recipe("tr x y", "tr x z"), "two"),
        (recipe("tr x y", "tr  x y"), "two"),
        (recipe("s/a/{word}/", "s/[a]/{word}/"), "one"),
    ],
)
def test_what_has_changed_runs_again_and_nothing_else(
    small: Path, change: Callable[[Path], object], again: str
) -> None:
    assert states() == {"done"}
    expected = {"one.txt": b"b x\n", "two.txt": b"b y\n", "other.txt": b"2\n"}
    assert {name: (small / name).read_bytes() for name in expected} == expected
    change(small)
    planned, steps = call("--dry-run").stdout, set(again.split())
    still = {"one", "two", "other"} - steps - {"two"}
    assert all(f"# {name}: up to date" in planned for name in still)
    assert all(f"# {name}: to do: " in planned for name in steps)
    assert {name for (_, name), (state, *_) in ran().items() if state == "done"} == steps
    assert states() == {"up to date"}


def test_the_version_and_the_environment_count(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran()
    monkeypatch.setenv("BITEXTFILTER_ON_ERROR", "reject")
    assert states() == {"done"}
    monkeypatch.setattr("bitextfilter.recipes.run.__version__", "9.9")
    assert states() == {"done"}


def test_the_model_that_a_step_reads_counts(folder: Path) -> None:
    (folder / "model").mkdir()
    (folder / "model/config.json").write_text("{}")
    (folder / "recipe.toml").write_text(
        '[[step]]\nname = "x"\nshell = "cat model/*"\nreads = ["model"]\noutput = "x.txt"\n'
    )
    assert (states(), states()) == ({"done"}, {"up to date"})
    (folder / "model/new").write_text("more")
    assert states() == {"done"}
    assert (folder / "x.txt").read_text() == "{}more"


@pytest.mark.usefixtures("quick")
def test_chosen_data_sets_and_variables(folder: Path) -> None:
    (folder / "recipe.toml").write_text(RECIPE.replace('name = "all"', 'name = "all"\nskip = true'))
    assert {data for data, _ in ran("--data", "b", "--set", "out=else/where")} == {"b"}
    assert set(content(folder / "else/where")) == {"b.sorted.gz", "b.best.tsv"}


def test_a_step_may_be_skipped_and_braces_are_kept(folder: Path) -> None:
    text = """
        [[step]]
        shell = "cat"
        input = "in.txt"
        [[step]]
        name = "double"
        shell = "sed p"
        [[step]]
        shell = "awk '{print $1 \\"{{x}}\\"}'"
        output = "{data}.txt"
        [data.one]
        [data.two]
        double.skip = true
    """
    (folder / "recipe.toml").write_text(text)
    (folder / "in.txt").write_text("a b\n")
    ran()
    assert (folder / "one.txt").read_text() == "a{x}\na{x}\n"
    assert (folder / "two.txt").read_text() == "a{x}\n"


@pytest.mark.usefixtures("quick")
def test_arguments_that_are_written_and_read(folder: Path) -> None:
    text = """
        [[step]]
        command = "bitext-rank"
        arguments = ["a.tsv", "b.tsv"]
        column = 3
        [[step]]
        command = "bitext-convert"
        to = "moses"
        arguments = ["o.en", "o.de"]
        writes = ["o.en", "o.de"]
        [[step]]
        name = "back"
        command = "bitext-convert"
        from = "moses"
        arguments = ["o.en", "o.de"]
        output = "o.tsv"
    """
    (folder / "recipe.toml").write_text(text)
    assert "# back: to do: follows rank | convert" in call("--dry-run").stdout
    assert ran()["", "rank"] == ["done", "100", "100"]
    assert (folder / "o.tsv").read_text().count("\n") == 100
    assert states() == {"up to date"}
    (folder / "b.tsv").write_text(PAIRS)
    assert states() == {"done"}


@pytest.mark.parametrize("kind", ["mermaid", "dot"])
def test_graphs(folder: Path, kind: str) -> None:
    text = call("--graph", kind).stdout
    arrow = {"mermaid": "-->", "dot": "->"}[kind]
    assert text.startswith({"mermaid": "flowchart LR\n", "dot": "digraph recipe {\n"}[kind])
    assert f"s0_0 {arrow} s0_1" in text  # fix, shuffle
    labels = ("fix of a", "a.tsv", "made/a.sorted.gz", "made/all.tsv", "rank of b")
    assert all(label in text for label in labels)
    assert not (folder / "made").exists()


FIX = '[[step]]\ncommand = "bitext-fix"\ninput = "a.tsv"\noutput = "o.tsv"\n'
CAT = '[[step]]\nname = "{}"\nshell = "cat"\ninput = "{}"\noutput = "{}"\n'
TWO = CAT.format("x", "a.tsv", "o") + CAT.format("y", "b.tsv", "{}")


NAMED = FIX + "rejects = '{uot}'\n[defaults]\nout = 'x'"
BRANCH = FIX.replace('output = "o.tsv"', "")
CIRCLE = CAT.format("x", "o2", "o1") + CAT.format("y", "o1", "o2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[step]", "recipe.toml: not TOML"),
        ("", "recipe.toml: a recipe has at least one table [[step]]"),
        ("[default]\n" + FIX, "default is none of [[step]], [defaults]"),
        (FIX + "expalin = true", "[step fix]: bitext-fix has no option expalin; did you mean exp"),
        (FIX + "explain = 3", "[step fix]: explain is true or false, not 3"),
        (FIX + "scol = true", "[step fix]: scol has a value"),
        (FIX + "scol = [1, 2]", "[step fix]: scol has one value, not 2"),
        (FIX + "with = 'magic'", "'magic' is not one of"),
        (FIX + "when = 2024-01-01", "[step fix]: when must be a text, a number"),
        (FIX + "reads = 'a'", "[step fix]: reads must be a list of texts"),
        (
            FIX.replace("bitext-fix", "bitext-noise") + "rate = 'all=1'\narguments = ['x']",
            "[step noise]: Got unexpected extra argument (x)",
        ),
        (FIX + "version = true", "bitext-fix has no option version"),
        (FIX + "[data.a]\nfxi.explain = true", "[data.a]: no step is called fxi; did you mean fix"),
        (FIX + "[data.a]\nfix.explian = true", "[data.a.fix]: bitext-fix has no option explian"),
        (FIX + "[data.a]\nfix.command = 'x'", "[data.a.fix]: command is for the table of the step"),
        (FIX + "[data.a]\nfix = 3", "[data.a]: fix is a step: write fix.OPTION = VALUE"),
        (FIX + "[data.a]\npair = 'en-d'\n[pair.en-de]", "[data.a]: there is no table [pair.en-d]"),
        (FIX + "[data.a]\npair = 3\n[pair.en-de]", "[data.a]: there is no table [pair.3]"),
        (FIX + "[defaults]\nhere = 'x'", "[defaults]: here cannot be set here"),
        (FIX + "[defaults]\nout = ['x']", "[defaults]: the variable out must be a text"),
        (NAMED, "[step fix]: no variable is called uot; did"),
        (FIX.replace("fix", "fxi"), "no command is called bitext-fxi; did you mean bitext-fix?"),
        (FIX.replace("fix", "run"), "[step run]: no command is called bitext-run"),
        (FIX.replace("fix", "evaluate"), "bitext-evaluate is followed by one of"),
        (FIX.replace("-fix", "-fix --explain"), "options of bitext-fix are keys of their own"),
        (FIX + 'rejects = "a\\u0000"', "[step fix]: rejects has a NUL character"),
        (FIX.replace("o.tsv", "-"), "[step fix]: output is a file; leave it out for a pipe"),
        (FIX + "name = 3", "[step 1]: name must be a text"),
        (FIX + FIX, "[step 2]: another step is called fix"),
        ('[[step]]\ninput = "a"', "[step 1]: give it a command, or a line of the shell"),
        (BRANCH, "its output is lost, as no step follows"),
        (BRANCH + CAT.format("x", "b.tsv", "o"), "x, the next step, reads"),
        (CAT.format("x", "a.tsv", "o") + "sort = 1", "[step x]: a line of the shell has no option"),
        (TWO.format("o"), "o is written twice, by x and y"),
        (TWO.format("./sub/../o"), "is written twice, by x and y"),
        (CIRCLE, "steps wait for each other: x → y → x"),
        (CAT.format("x", "a.tsv", "a.tsv"), "x reads a.tsv, and writes it"),
        (CAT.format("x", "c.tsv", "o"), "step x: c.tsv: no such file, and no step writes it"),
        (FIX.replace("a.tsv", "c.tsv"), "recipe.toml: step fix: c.tsv: no such file"),
    ],
)
def test_errors_of_recipes_are_one_line(folder: Path, text: str, message: str) -> None:
    (folder / "recipe.toml").write_text(text)
    before = set(folder.iterdir())
    code = 66 if "no such file" in message else 78
    says_one_line(call(code=None), code, message, "recipe.toml")
    assert set(folder.iterdir()) == before


def test_errors_of_the_command_line(folder: Path) -> None:
    call("--set", "out", code=2)
    for name, told in (("otu", "; did you mean out?"), ("here", ""), ("data", ""), ("pair", "")):
        said = call("--set", f"{name}=x", code=78).stderr
        assert "no variable of this recipe" in said and told in said
    message = "bitext-run: recipe.toml: no data set is called c\n"
    assert call("--data", "c", code=78).stderr == message
    (folder / "recipe.toml").unlink()
    call(code=66)


@pytest.mark.usefixtures("quick")
def test_a_failing_step_ends_all_with_its_line_and_code(folder: Path) -> None:
    (folder / "b.tsv").write_bytes(b"a\tb\t1\nx\xff\ty\t2\n")
    (folder / "made").mkdir()
    (folder / "made/b.sorted.gz").write_bytes(b"old")
    result = call("-q", code=65)
    assert result.stdout == ""
    first, last = result.stderr.splitlines()
    assert first.startswith("b: bitext-fix: b.tsv:2: the source is not UTF-8")
    assert last == "bitext-run: recipe.toml: step fix of b failed (exit code 65)"
    assert content(folder / "made").keys() <= {"a.sorted.gz", "a.best.tsv", "b.sorted.gz"}
    assert (folder / "made/b.sorted.gz").read_bytes() == b"old"
    assert not (folder / "all.tsv").exists()
    (folder / "b.tsv").write_text(PAIRS)
    assert ran()["a", "fix"][0] == "up to date"


def test_a_file_that_a_step_does_not_write_is_missed(folder: Path) -> None:
    (folder / "recipe.toml").write_text('[[step]]\nname = "x"\nshell = ":"\nwrites = ["o"]\n')
    assert "x has not written o" in call(code=74).stderr


def test_ctrl_c_ends_the_children(folder: Path) -> None:
    text = '[[step]]\nname = "x"\nshell = "echo $$ > pid; exec sleep 60"\noutput = "o"\n'
    (folder / "recipe.toml").write_text(text)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [*heeding("bitext-run"), "recipe.toml"], env=env, stderr=subprocess.PIPE, text=True
    )
    while not (folder / "pid").exists() or not (folder / "pid").read_text().strip():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr.splitlines()[-1] == "bitext-run: interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)
    assert {path.name for path in folder.iterdir()} == {"recipe.toml", "pid", "a.tsv", "b.tsv"}


@pytest.mark.usefixtures("quick")
def test_the_example_is_the_pipe_of_the_shell(
    tmp_path: Path, commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples/pipelines", "examples/pipelines")
    shutil.copy(ROOT / "examples/pairs.en-de.tsv", "examples")
    words = ["examples/pipelines/recipe.toml", "-q", "--data", "strict"]
    steps = [row[1] for row in table(invoke(command.main, *words))[1:]]
    line = (
        "bitext-fix < examples/pairs.en-de.tsv"
        " | bitext-filter --languages en,de --rule default --rule numbers | bitext-dedup --match"
        " normalised | bitext-score | bitext-rank --min-score strict"
    )
    expected = by_shell(line, commands).stdout
    assert (tmp_path / "cleaned/strict.best.tsv").read_bytes() == expected != b""
    assert steps == ["fix", "filter", "dedup", "score", "rank"]


def test_the_page_shows_the_first_recipe() -> None:
    recipe = (ROOT / "examples/pipelines/first.toml").read_text()
    assert f"```toml\n{recipe}```" in (ROOT / "docs/run.md").read_text()


def files_of(option: click.Option, name: str) -> str:
    """Whether the step reads or writes the file that is the value of an option."""
    line = Spelling([], [], [], [], (False, False))
    command._note_files(line, name, "file", option)
    return "written" * bool(line.writes) + "read" * bool(line.reads or line.may_read)


def test_the_files_of_options_are_known_as_read_or_written() -> None:
    found = {
        (*words, name): (files_of(option, name), option.help or "")
        for script in scripts()
        for words, sub in leaves(script)
        for name, option in command._options(sub).items()
        if name in command._WRITTEN or re.search("FILE|DIR", option.metavar or "")
    }
    written = {(words[0], words[-1]) for words, (kind, _) in found.items() if kind == "written"}
    assert written >= {
        ("bitext-align", "index-save"), ("bitext-dedup", "groups"), ("bitext-filter", "manifest"),
        ("bitext-filter", "rejects"), ("bitext-judge", "disagreements"), ("bitext-tune", "models"),
        ("bitext-score", "output"), ("bitext-train-embeddings", "separate"),
        ("bitext-train-encoder", "output"),
    }  # fmt: skip
    read = {words[-1]: text for words, (kind, text) in found.items() if kind == "read"}
    assert {"input", "rules", "model", "pairs", "translator", "index-load"} <= set(read)
    assert [name for name, text in read.items() if text.startswith(("Write", "Keep"))] == []
    assert {found[words][0] for words in found if words[-1] in ("cache", "resume")} == {""}
