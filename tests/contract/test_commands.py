"""What every console script promises, whatever it does."""

from __future__ import annotations

import os
import re

import pytest
from click.testing import CliRunner
from console import BIN, command, leaves, run, scripts

import bitextfilter

SCRIPTS = sorted(scripts())
HEAVY = {
    "faiss", "matplotlib", "morfessor", "numpy", "onnxruntime", "rapidfuzz", "ray", "sacremoses",
    "safetensors", "scipy", "sentence_transformers", "sentencepiece", "sklearn", "subword_nmt",
    "tokenizers", "torch", "tqdm", "xopen",
}  # fmt: skip


def imported(stderr: str) -> set[str]:
    """Top-level packages in what ``python -X importtime`` says."""
    lines = (line for line in stderr.splitlines() if line.startswith("import time:"))
    return {line.split("|")[-1].strip().split(".")[0] for line in lines}


def test_every_script_has_a_launcher() -> None:
    launchers = {path.name for path in BIN.iterdir() if os.access(path, os.X_OK)}
    assert launchers == set(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_launcher_is_three_lines_and_calls_what_the_script_calls(name: str) -> None:
    text = (BIN / name).read_text(encoding="utf-8")
    module, function = scripts()[name].split(":")
    assert len(text.splitlines()) == 3
    assert f"from {module} import {function};" in text


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_is_complete_and_loads_nothing_heavy(name: str) -> None:
    """What makes help slow is what it imports; a stopwatch would only time the machine."""
    for words, _ in leaves(name):
        done = run([*words, "--help"], python=("-X", "importtime"))
        assert done.returncode == 0
        assert all(line.startswith("import time:") for line in done.stderr.splitlines())
        assert {"click", "bitextfilter"} <= imported(done.stderr)
        assert imported(done.stderr) & HEAVY == set()
        assert re.search(rf"^Usage: {re.escape(' '.join(words))}\b", done.stdout)
        example = done.stdout.partition("Example")[2]
        assert words[0] in example
        assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.gate(6)
@pytest.mark.parametrize("name", SCRIPTS)
def test_version(name: str) -> None:
    done = run([name, "--version"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(name) and bitextfilter.__version__ in done.stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_unknown_option_is_a_usage_error(name: str) -> None:
    for words, _ in leaves(name):
        done = CliRunner().invoke(command(name), [*words[1:], "--no-such-option"])
        assert (done.exit_code, done.stdout) == (2, "")
        assert "--no-such-option" in done.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_option_has_help(name: str) -> None:
    silent = [
        (words, option.name)
        for words, found in leaves(name)
        for option in found.params
        if not getattr(option, "help", None) and option.param_type_name == "option"
    ]
    assert silent == []


@pytest.mark.gate(4)
@pytest.mark.parametrize("name", SCRIPTS)
def test_completion_knows_the_options(name: str) -> None:
    """What the shell asks at ``NAME --ver<TAB>``."""
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    answer = run(
        [name], **{variable: "bash_complete", "COMP_WORDS": f"{name} --ver", "COMP_CWORD": "1"}
    )
    assert "plain,--version" in answer.stdout.splitlines()
