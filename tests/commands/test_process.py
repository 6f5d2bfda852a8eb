"""What a command asks of its process."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROBE = """
import resource
import sys
import numpy as np
from bitextfilter.commands.frame.command import keep_freed_memory, steady_speed_and_memory

steady_speed_and_memory()
if "training" in sys.argv:
    keep_freed_memory()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

def many(numbers):
    for _ in range(200):
        np.empty(numbers).fill(1)

many(60_000)
before = faults()
many(60_000)
print((faults() - before) / 200)

many(600_000)
before = resident()
large = np.empty(600_000)
large.fill(1)
print((resident() - before) / large.nbytes)
"""


def asked(*words: str) -> tuple[float, float]:
    """Page faults of half a MB asked for again, and the share of new memory in five MB more."""
    line = [sys.executable, "-c", PROBE, *words]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    faults, share_new = map(float, done.stdout.split())
    return faults, share_new


glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="what glibc's malloc can be told"
)


@glibc
def test_small_arrays_stay_at_hand_and_large_ones_go_back() -> None:
    """Half a MB again is no new page; five MB again are new memory, whatever the pages' size."""
    faults, share_new = asked()
    assert faults < 5
    assert share_new > 0.9


@glibc
def test_a_training_keeps_large_arrays_at_hand() -> None:
    """Five MB again are those of before."""
    faults, share_new = asked("training")
    assert faults < 5
    assert share_new < 0.1
