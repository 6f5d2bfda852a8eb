"""``bitext``: the list of commands, their completion, and the manual as man shows it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from console import BIN, leaves, run, scripts

import bitextfilter
from bitextfilter.commands.main import COMMANDS, GROUPS, main, pages_of


def test_lists_every_console_script_by_its_purpose() -> None:
    assert list(COMMANDS) == sorted(scripts())
    done = run(["bitext"])
    assert done.returncode == 0
    lines = [line for line in done.stdout.splitlines() if line.startswith(" ")]
    shown = [tuple(line.split(None, 1)) for line in lines]
    assert sorted(shown) == sorted(COMMANDS.items())[1:]
    assert [*GROUPS] == [line[:-1] for line in done.stdout.splitlines() if line.endswith(":")]


def test_help_has_the_groups_too() -> None:
    text = CliRunner().invoke(main, ["--help"]).stdout
    assert "\n     71  out of memory, threads or open files\n" in text
    lines = [line.strip() for line in text.splitlines()]
    assert [line for line in lines if line[:-1] in GROUPS] == [f"{name}:" for name in GROUPS]
    for name, purpose in [*COMMANDS.items()][1:]:
        assert f"{name:{max(map(len, COMMANDS))}}  {purpose}" in lines


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_command(shell: str) -> None:
    output = CliRunner().invoke(main, ["-q", "--completion", shell]).stdout
    for name in COMMANDS:
        variable = f"_{name.replace('-', '_').upper()}_COMPLETE={shell}_complete"
        assert variable in output


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_an_option() -> None:
    """The way a user meets it: evaluated, then asked by the shell's own machinery."""
    script = (
        f'PATH="{BIN}:$PATH"; eval "$(bitext -q --completion bash)"; '
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
    place = str(len(words) - 1)
    variables = {"COMP_WORDS": " ".join(words), "COMP_CWORD": place}
    done = run([words[0]], _BITEXT_COMPLETE="bash_complete", **variables)
    assert (done.returncode, done.stderr) == (0, "")
    offers = (line.partition(",") for line in done.stdout.splitlines())
    return [text for one, _, text in offers if one == kind]


def test_the_names_of_commands_are_completed() -> None:
    assert completed("bitext", "s") == ["sample", "score", "segment", "split"]
    assert completed("bitext", "help", "s") == ["sample", "score", "segment", "split"]
    assert {"help", "completion", "rank"} < set(completed("bitext", ""))
    assert completed("bitext", "--man") == ["--manual", "--manifest"]


def test_a_command_after_a_space_is_completed() -> None:
    assert completed("bitext", "score", "--sim") == ["--similarity"]
    assert completed("bitext", "evaluate", "st") == ["sts"]
    assert completed("bitext", "evaluate", "sts", "--reg") == ["--regression"]
    assert completed("bitext", "rank", "--order", "") == ["ranked", "input"]
    assert completed("bitext", "scroe", "--x") == []


@pytest.mark.gate(2)
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["score", "-i", "pa"], "file"),
        (["score", "pa"], "file"),
        (["score", "--cache", "pa"], "dir"),
        (["train-classifier", "-o", "pa"], "dir"),
        (["align", "pa"], "file"),
    ],
)
def test_the_shell_completes_paths(words: list[str], kind: str) -> None:
    assert completed("bitext", *words, kind=kind) == ["pa"]


@pytest.mark.gate(3)
@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["score", "--model", "en-d"], ["en-de", "en-de-autoencoder"]),
        (["train-classifier", "--start", "mul"], ["multi"]),
        (["models", "show", "mul"], ["multi"]),
        (["filter", "--rule", "length"], ["length", "length-ratio"]),
        (["filter", "--rule", "default"], ["default", "default-paragraphs"]),
        (["filter", "--without", "lang"], ["language", "language-model-classifier"]),
        (["score", "--similarity", "cosine,m"], ["cosine,mlp"]),
        (["evaluate", "sts", "--similarity", "cs"], ["csls"]),
        (["rank", "--similarity", "m"], ["mlp"]),
        (["dedup", "--match", "n"], ["normalised", "near"]),
        (["fix", "--with", "q"], ["quotes"]),
    ],
)
def test_the_shell_completes_names(words: list[str], offers: list[str]) -> None:
    assert completed("bitext", *words) == offers


def test_a_model_may_be_a_folder_too() -> None:
    assert completed("bitext", "score", "--model", "my", kind="dir") == ["my"]
    assert completed("bitext", "filter", "--rule", "my", kind="dir") == []


def test_completion_is_a_word_and_says_nothing_else() -> None:
    for words in (["completion", "bash"], ["--completion", "bash"]):
        result = CliRunner().invoke(main, words)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "_bitext_score_completion" in result.stdout


CHECKS = {"bash": "bash -n", "zsh": "zsh -n", "fish": "fish -n"}


@pytest.mark.parametrize("shell", [name for name in CHECKS if shutil.which(name)])
def test_each_shell_at_hand_reads_its_script(shell: str) -> None:
    script = CliRunner().invoke(main, ["completion", shell]).stdout
    done = subprocess.run(
        CHECKS[shell].split(), input=script, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", list(COMMANDS)[1:])
def test_a_space_does_for_the_hyphen(name: str) -> None:
    word = name.removeprefix("bitext-")
    for words in ([word, "--help"], ["help", word]):
        result = CliRunner().invoke(main, words)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.startswith(f"Usage: {name} ")


def test_subcommands_options_and_errors_are_handed_on() -> None:
    result = CliRunner().invoke(main, ["help", "evaluate", "sts"])
    assert result.stdout.startswith("Usage: bitext-evaluate sts ")
    result = CliRunner().invoke(
        main, ["rank", "-q", "--top-lines", "1"], input="a\tb\t1\nc\td\t2\n"
    )
    assert (result.exit_code, result.stdout) == (0, "c\td\t2\n")
    result = CliRunner().invoke(main, ["rank", "--nothing"])
    assert result.exit_code == 2 and result.stderr.startswith("bitext-rank: No such option")


def test_help_alone_is_its_own_and_a_wrong_word_is_told() -> None:
    assert CliRunner().invoke(main, ["help"]).stdout.startswith("Usage: bitext ")
    result = CliRunner().invoke(main, ["scroe"])
    assert result.exit_code == 2
    assert "no command is called 'scroe'; did you mean score?" in result.stderr


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [
        ("train", "; did you mean train-classifier, train-combiner, train-embeddings,"),
        ("evaluate stss", "; did you mean sts?"),
        ("models shwo", "; did you mean show?"),
        ("dedup --match normalized", "; did you mean normalised?"),
        ("dedup --ignore Cas", "; did you mean case?"),
        ("fix --only mojibak", "; did you mean mojibake?"),
        ("convert --from tmxx --to tsv", "; did you mean tmx?"),
        ("score --similarity mlp,cosin", "; did you mean cosine?"),
        ("rank --similarity cosin", "; did you mean cosine?"),
        ("evaluate recovery --similarity csl x", "; did you mean csls?"),
        ("rank --min-score recomended", "; did you mean recommended?"),
        ("filter --rule score:min=recomended", "; did you mean recommended?"),
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
    result = CliRunner().invoke(main, line.split(), input="a\tb\n")
    assert result.exit_code == 2
    assert suggestion in result.stderr


def test_a_word_like_none_gets_no_suggestion() -> None:
    for line in ("zzzz", "dedup --match zzzz", "filter --rule zzzz", "evaluate zzzz"):
        result = CliRunner().invoke(main, line.split(), input="a\tb\n")
        assert result.exit_code == 2
        assert "did you mean" not in result.stderr


def test_unknown_shell_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["--completion", "cmd"])
    assert result.exit_code == 2
    assert result.stdout == ""


CHECKERS = {"mandoc": ["-T", "lint", "-W", "warning"], "man": ["--warnings", "-l"]}
UNDATED = "missing date"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("manual") / "new" / "man"
    result = CliRunner().invoke(main, ["--manual", str(made)])
    assert (result.exit_code, result.stdout) == (0, "")
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
    result = CliRunner().invoke(main, ["--manual", str(tmp_path / "file")])
    assert result.exit_code == 74
    assert "file/man1: cannot be made: " in result.stderr
