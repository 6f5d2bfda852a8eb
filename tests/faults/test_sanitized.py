"""Compiled libraries read and write their own memory only, whatever users' texts hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ["tests/text/test_compiled_reading.py", "tests/filters/test_facts.py::test_facts"]
"""Tests that compare a library with Python; ``make check-long`` has those of all libraries."""
LIBRARIES = "facts,ngrams,tokens"
"""Those that read users' text."""
SAMPLE = "(compiled] and not white_space) or [compiled-"


@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers are loaded before Python")
def test_a_sample_under_the_sanitizers(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    line = [sys.executable, "tests/faults/sanitized.py", str(tmp_path), LIBRARIES, *FILES]
    line += ["-k", SAMPLE, "--hypothesis-profile", "few"]
    environment = {**os.environ, "BITEXTFILTER_NO_COMPILED": ""}
    done = subprocess.run(
        line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
