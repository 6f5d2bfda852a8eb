"""What a command asks of its process."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from bitextfilter.commands.process import prepare

prepare()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def many(numbers):
    for _ in range(200):
        np.empty(numbers).fill(1)

for size in (60_000, 600_000):
    many(size)
    before = faults()
    many(size)
    print((faults() - before) / 200)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what glibc's malloc can be told")
def test_small_arrays_stay_at_hand_and_large_ones_go_back() -> None:
    """In pages that the system has to give for an array: half a MB, then five."""
    line = [sys.executable, "-c", FAULTS]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    small, large = map(float, done.stdout.split())
    assert small < 5
    assert large > 300
