"""``bitext``: the list of commands, their completion, and the manual as man shows it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from console import BIN, invoke, leaves, says_one_line, scripts

import bitextfilter
from bitextfilter.commands.main import COMMANDS, GROUPS, main, pages_of


def test_lists_every_console_script_by_its_purpose() -> None:
    assert list(COMMANDS) == sorted(scripts())
    done = invoke(main)
    lines = [line for line in done.stdout.splitlines() if line.startswith(" ")]
    shown = [tuple(line.split(None, 1)) for line in lines]
    assert sorted(shown) == sorted(COMMANDS.items())[1:]
    assert [*GROUPS] == [line[:-1] for line in done.stdout.splitlines() if line.endswith(":")]


def test_help_has_the_groups_too() -> None:
    text = invoke(main, "--help").stdout
    assert "\n     71  out of memory, threads or open files\n" in text
    lines = [line.strip() for line in text.splitlines()]
    assert [line for line in lines if line[:-1] in GROUPS] == [f"{name}:" for name in GROUPS]
    for name, purpose in [*COMMANDS.items()][1:]:
        assert f"{name:{max(map(len, COMMANDS))}}  {purpose}" in lines


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_command(shell: str) -> None:
    output = invoke(main, "-q", "--completion", shell).stdout
    for name in COMMANDS:
        variable = f"_{name.replace('-', '_').upper()}_COMPLETE={shell}_complete"
        assert variable in output


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_an_option() -> None:
    """The way a user meets it: evaluated, then asked by the shell's own machinery."""
    script = (
        f'PATH="{BIN}:{Path(sys.executable).parent}:$PATH"; eval "$(bitext -q --completion bash)"; '
        "COMP_WORDS=(bitext --comp); COMP_CWORD=1; "
        "_bitext_completion bitext --comp bitext 2>/dev/null; "
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "--completion\n"


def completed(*words: str, kind: str = "plain") -> list[str]:
    """What bash is offered for the last of these words."""
    words = ("bitext", *words)
    variables = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = invoke(main, env={"_BITEXT_COMPLETE": "bash_complete", **variables})
    assert done.stderr == ""
    offers = (line.partition(",") for line in done.stdout.splitlines())
    return [text for one, _, text in offers if one == kind]


CHECKS = {"bash": "bash -n", "zsh": "zsh -n", "fish": "fish -n"}


CHECKERS = {"mandoc": ["-T", "lint", "-W", "warning"], "man": ["--warnings", "-l"]}
UNDATED = "missing date"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("manual") / "new" / "man"
    result = invoke(main, "--manual", made)
    assert result.stdout == ""
    assert f"{len(list(made.glob('man1/*.1')))} pages" in result.stderr
    return made / "man1"


def shown(page: str) -> str:
    """The text of a page without macros and escapes, on one line."""
    escapes = {"\\-": "-", "\\(rs": "\\", "\\(aq": "'", "\\(ga": "`", "\\(ti": "~", "\\&": ""}
    escapes |= {"\\(ha": "^"}
    text = re.sub(r"(?m)^\.(SH|TP|PP|RS 4|RE|nf|fi|BR|B|TH)\b ?", "", page)
    text = re.sub(r"\\\[u([0-9A-F]{4,6})\]", lambda m: chr(int(m[1], 16)), text)
    for escape, letter in escapes.items():
        text = text.replace(escape, letter)
    return " ".join(text.split())


def test_every_command_and_subcommand_has_a_page(folder: Path) -> None:
    wanted = {"-".join(words) for name in scripts() for words, _ in leaves(name)}
    assert {path.stem for path in folder.iterdir()} == wanted


@pytest.mark.parametrize("name", sorted(scripts()))
def test_the_page_says_what_the_help_says(folder: Path, name: str) -> None:
    for words, found in leaves(name):
        page = (folder / f"{'-'.join(words)}.1").read_text("ascii")
        text = shown(page)
        context = click.Context(found, info_name=words[-1], **found.context_settings)
        for parameter in found.get_params(context):
            names, help_text = parameter.get_help_record(context) or ("", "")
            assert " ".join(f"{names} {help_text}".split() if help_text else ()) in text
        for line in (found.help or "").replace("\b", "").splitlines():
            assert " ".join(line.split()) in text or line.startswith("Example")
        assert f"{' '.join(words)} [OPTIONS]" in text
        assert ".SH EXAMPLES\n" in page and ".SH EXIT STATUS\n" in page
        assert f"bitextfilter {bitextfilter.__version__}" in text
        if len(words) == 1:
            assert f"{name} - {COMMANDS[name]} SYNOPSIS" in text


@pytest.mark.gate(0)
def test_programs_that_show_pages_find_no_fault(folder: Path) -> None:
    pages = sorted(map(str, folder.iterdir()))
    environment = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
    for program, words in CHECKERS.items():
        if shutil.which(program):
            done = subprocess.run(
                [program, *words, *pages],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
                env=environment,
            )
            faults = done.stderr + (done.stdout if program == "mandoc" else "")
            assert [line for line in faults.splitlines() if UNDATED not in line] == []


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        ("s", ["sample", "score", "segment", "split"]),
        ("help s", ["sample", "score", "segment", "split"]),
        ("--man", ["--manual", "--manifest"]),
        ("score --sim", ["--similarity"]),
        ("evaluate st", ["sts"]),
        ("evaluate sts --reg", ["--regression"]),
        ("rank --order ", ["ranked", "input"]),
        ("scroe --x", []),
        ("score --model en-d", ["en-de", "en-de-autoencoder"]),
        ("train-classifier --start mul", ["multi"]),
        ("models show mul", ["multi"]),
        ("filter --rule length", ["length", "length-ratio"]),
        ("filter --rule default", ["default", "default-paragraphs"]),
        ("filter --without lang", ["language", "language-model-classifier"]),
        ("score --similarity cosine,m", ["cosine,mlp"]),
        ("evaluate sts --similarity cs", ["csls"]),
        ("rank --similarity m", ["mlp"]),
        ("dedup --match n", ["normalised", "near"]),
        ("fix --with q", ["quotes"]),
    ],
)
def test_the_shell_completes_names(words: str, offers: list[str]) -> None:
    assert completed(*words.split(" ")) == offers


@pytest.mark.parametrize(
    ("words", "kind", "offers"),
    [
        ("score -i pa", "file", ["pa"]),
        ("score pa", "file", ["pa"]),
        ("score --cache pa", "dir", ["pa"]),
        ("train-classifier -o pa", "dir", ["pa"]),
        ("align pa", "file", ["pa"]),
        ("score --model pa", "dir", ["pa"]),
        ("filter --rule pa", "dir", []),
    ],
)
def test_the_shell_completes_paths(words: str, kind: str, offers: list[str]) -> None:
    assert completed(*words.split(" "), kind=kind) == offers


CHECKS = {"bash": "bash -n", "zsh": "zsh -n", "fish": "fish -n"}


@pytest.mark.parametrize("shell", [name for name in CHECKS if shutil.which(name)])
def test_each_shell_at_hand_reads_its_script(shell: str) -> None:
    """Which is a word, or an option, and all that is said."""
    result = invoke(main, "completion", shell)
    assert result.output == invoke(main, "--completion", shell).stdout
    done = subprocess.run(CHECKS[shell].split(), input=result.stdout, text=True, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("name", list(COMMANDS)[1:])
def test_a_space_does_for_the_hyphen(name: str) -> None:
    word = name.removeprefix("bitext-")
    for words in ([word, "--help"], ["help", word]):
        result = invoke(main, *words)
        assert result.stderr == ""
        assert result.stdout.startswith(f"Usage: {name} ")


def test_subcommands_options_and_errors_are_handed_on() -> None:
    assert invoke(main, "help").stdout.startswith("Usage: bitext ")
    assert invoke(main, "help", "evaluate", "sts").stdout.startswith("Usage: bitext-evaluate sts ")
    found = invoke(main, "rank", "-q", "--top-lines", "1", data="a\tb\t1\nc\td\t2\n")
    assert found.output == "c\td\t2\n"
    says_one_line(invoke(main, "rank", "--nothing", code=2), 2, "bitext-rank: No such option")
    assert invoke(main, "--completion", "cmd", code=2).stdout == ""


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [
        ("scroe", "no command is called 'scroe'; did you mean score?"),
        ("train-e", "; did you mean train-embeddings or train-encoder?"),
        ("evaluate stss", "; did you mean sts?"),
        ("models shwo", "; did you mean show?"),
        ("dedup --match normalized", "; did you mean normalised?"),
        ("dedup --ignore Cas", "; did you mean case?"),
        ("fix --only mojibak", "; did you mean mojibake?"),
        ("convert --from tmxx --to tsv", "; did you mean tmx?"),
        ("score --similarity mlp,cosin", "; did you mean cosine?"),
        ("rank --similarity cosin", "; did you mean cosine?"),
        ("evaluate recovery --similarity csl x", "; did you mean csls?"),
        ("rank --min-score balancd", "; did you mean balanced?"),
        ("filter --rule score:min=lenien", "; did you mean lenient?"),
        ("filter --rule lenght=3", "; did you mean length?"),
        ("filter --rule defualt", "; did you mean default?"),
        ("filter --rule length:maxmum=3", "; did you mean maximum?"),
        ("filter --without langauge", "; did you mean language?"),
        ("filter --list lenght", "; did you mean length?"),
        ("score --similarty mlp", "; did you mean --similarity?"),
        ("rank --top", "; did you mean --top-lines, --top-words"),
    ],
)
def test_a_wrong_word_gets_a_suggestion(line: str, suggestion: str) -> None:
    says_one_line(invoke(main, *line.split(), data="a\tb\n", code=2), 2, suggestion)


def test_a_word_like_none_gets_no_suggestion() -> None:
    for line in ("zzzz", "dedup --match zzzz", "filter --rule zzzz", "evaluate zzzz"):
        assert "did you mean" not in invoke(main, *line.split(), data="a\tb\n", code=2).stderr


def test_hostile_help_is_text() -> None:
    text = ".SH NOT\n\n'br\n\n\b\n    .so /etc/passwd\n    \\fB|u − v|\n\nend \U0001f600"
    option = click.Option(["--x"], help=".TH \\n 'x")
    ((name, page),) = pages_of("bitext-x", click.Command("x", help=text, params=[option]), "p")
    assert name == "bitext-x"
    macros = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert macros <= {".TH", ".SH", ".B", ".BR", ".PP", ".RS", ".nf", ".fi", ".RE", ".TP"}
    assert page.count("\n.SH ") == 5 and page.count(".TH ") == 2
    assert "\\&.SH NOT" in page and "\\&.so /etc/passwd" in page and "\\(aqbr" in page
    assert "\\(rsfB|u \\[u2212] v|" in page and "\\[u1F600]" in page


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = invoke(main, "--manual", tmp_path / "file", code=74)
    says_one_line(result, 74, "file/man1: cannot be made: ")
