"""Compiled libraries read and write their own memory only, whatever users' texts hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    *("tests/text/test_compiled_reading.py", "tests/filters/test_facts.py::test_facts"),
    *("tests/similarity/test_vectors.py", "tests/encoders/test_averages.py"),
    *("tests/search/test_compiled.py", "tests/pairs/test_compiled_words.py"),
]
"""Tests that compare each library with Python; ``make check-long`` runs all of them so."""
SAMPLE = (
    "(compiled] and not white_space) or [compiled- or for_any_numbers or any_sizes or sums_of_tiles"
    " or integers_cannot_tell or out_of_range or torchs[settings0] or not_a_number"
)


@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers are loaded before Python")
def test_a_sample_under_the_sanitizers(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    line = [sys.executable, "tests/faults/sanitized.py", str(tmp_path), *FILES, "-k", SAMPLE]
    environment = {**os.environ, "BITEXTFILTER_NO_COMPILED": ""}
    done = subprocess.run(
        line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
