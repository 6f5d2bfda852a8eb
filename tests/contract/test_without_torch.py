"""Averages of token vectors and the compiled classifier: scores and vectors without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from console import BIN

from bitextfilter.pairs.compiled_words import lanes

PAIRS = "Hello world\tHallo Welt\n"


def imported(line: list[str], text: str) -> tuple[str, bool]:
    """What a command prints, and whether it imported torch."""
    command = [sys.executable, "-X", "importtime", str(BIN / line[0]), *line[1:]]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=120, check=True
    )
    names = {part.rpartition("|")[2].strip() for part in done.stderr.splitlines()}
    assert "numpy" in names
    return done.stdout, any(name.split(".")[0] == "torch" for name in names)


@pytest.mark.gate(2)
@pytest.mark.parametrize(
    "options",
    [[], ["--similarity", "cosine,csls"], ["--model", "multi", "--languages", "en,de"]],
    ids=["default", "vectors", "many languages"],
)
def test_a_score(options: list[str]) -> None:
    if "--similarity" not in options and not lanes():
        pytest.skip("the network was not compiled")
    text, torch_too = imported(["bitext-score", *options], PAIRS)
    assert text.startswith(PAIRS.strip()) and text.count("\n") == 1
    assert not torch_too


def test_a_vector(tmp_path: Path) -> None:
    line = ["bitext-embed", "--language", "en", "-o", str(tmp_path / "out.npy")]
    assert imported(line, "Hello world\n") == ("", False)
