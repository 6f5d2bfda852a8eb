"""What every console script promises, whatever it does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from console import BIN, command, leaves, scripts

import bitextfilter

SCRIPTS = sorted(scripts())
HEAVY = {
    "faiss", "matplotlib", "morfessor", "numpy", "onnxruntime", "rapidfuzz", "ray", "sacremoses",
    "safetensors", "scipy", "sentence_transformers", "sentencepiece", "sklearn", "subword_nmt",
    "tokenizers", "torch", "tqdm", "xopen",
}  # fmt: skip


ANSWERS = """
import contextlib, io, json, os, runpy, sys
for words, environment in json.load(sys.stdin):
    sys.argv = words
    os.environ.update(environment)
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path(words[0], run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
    for name in environment:
        del os.environ[name]
    packages = sorted({name.split(".")[0] for name in sys.modules})
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    print(json.dumps([code, *texts, packages]))
"""
Answer = tuple[int, str, str, set[str]]
"""An exit code, stdout, stderr, and the packages that this call and those before it imported."""


def completion(name: str) -> dict[str, str]:
    """What the shell asks at ``NAME --ver<TAB>``."""
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    return {variable: "bash_complete", "COMP_WORDS": f"{name} --ver", "COMP_CWORD": "1"}


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    """What launchers answer, one after another in one process that has imported nothing before."""
    calls: list[tuple[list[str], dict[str, str]]] = []
    for name in SCRIPTS:
        calls += [([*words, "--help"], {}) for words, _ in leaves(name)]
        calls += [([name, "--version"], {}), ([name], completion(name))]
    lines = [([str(BIN / words[0]), *words[1:]], variables) for words, variables in calls]
    done = subprocess.run(
        [sys.executable, "-c", ANSWERS], input=json.dumps(lines), capture_output=True, text=True,
        encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        " ".join(words): (code, out, err, set(packages))
        for (words, _), (code, out, err, packages) in zip(calls, found, strict=True)
    }


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
def test_help_is_complete_and_loads_nothing_heavy(name: str, answers: dict[str, Answer]) -> None:
    """What makes help slow is what it imports; a stopwatch would only time the machine."""
    for words, _ in leaves(name):
        code, out, err, packages = answers[" ".join([*words, "--help"])]
        assert (code, err) == (0, "")
        assert {"click", "bitextfilter"} <= packages
        assert packages & HEAVY == set()
        assert re.search(rf"^Usage: {re.escape(' '.join(words))}\b", out)
        assert words[0] in out.partition("Example")[2]
        assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize("name", SCRIPTS)
def test_version_and_completion(name: str, answers: dict[str, Answer]) -> None:
    code, out, err, _ = answers[f"{name} --version"]
    assert (code, err) == (0, "")
    assert out.startswith(name) and bitextfilter.__version__ in out
    assert "plain,--version" in answers[name][1].splitlines()


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
