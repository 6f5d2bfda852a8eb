"""Memory that is freed stays with the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEASURE = """
import resource, sys, torch
from bitextfilter.models.memory import keep_freed_memory
kept = len(sys.argv) > 1 and keep_freed_memory()
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for update in range(12):
    if update == 2:
        before = faults()
    torch.zeros(12_000_000) + 1
print(kept, faults() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is of Linux")
def test_tensors_are_made_of_pages_that_are_there() -> None:
    found = [
        subprocess.run([sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True,
                       check=True).stdout.split()
        for arguments in ([], ["keep"])
    ]  # fmt: skip
    if found[1][0] == "False":
        pytest.skip("another C library")
    assert int(found[0][1]) > 2 * int(found[1][1])
