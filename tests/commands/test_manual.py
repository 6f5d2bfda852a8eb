"""The manual: a page of each command, with all that its help says, as man shows it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from console import leaves, scripts

import bitextfilter
from bitextfilter.commands.main import COMMANDS, main, pages_of

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
