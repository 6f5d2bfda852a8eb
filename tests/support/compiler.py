"""The C compiler, for tests of compiled libraries and of their code."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def build(out: Path, source: Path, *options: str) -> Path:
    """Build a library or a program, without a warning."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("no C compiler")
    line = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", *options]
    subprocess.run([*line, str(source), "-o", str(out), "-lm"], check=True, timeout=120)
    return out
