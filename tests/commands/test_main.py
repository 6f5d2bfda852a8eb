"""``bitext``: the list of commands, and their completion."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from click.testing import CliRunner
from console import BIN, run, scripts

from bitextfilter.commands.main import COMMANDS, main


def test_lists_every_console_script_in_order() -> None:
    assert list(COMMANDS) == sorted(scripts())
    done = run(["bitext"])
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(COMMANDS)
    assert [line.split(None, 1)[1] for line in lines] == list(COMMANDS.values())


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
    assert "no command is called 'scroe'; is it bitext-score?" in result.stderr


def test_unknown_shell_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["--completion", "cmd"])
    assert result.exit_code == 2
    assert result.stdout == ""
