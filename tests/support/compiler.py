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


def check_memory(folder: Path, program: Path, library: Path, *options: str) -> None:
    """Build a program that includes a library's source, and run it under the sanitizers.

    It prints ``done``. *folder*: for the program.
    """
    checked = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", *options]
    built = build(folder / "checked", program, f"-I{library.parent}", *checked)
    done = subprocess.run([str(built)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
