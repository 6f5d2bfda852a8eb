"""Long, wide and huge rows."""

from __future__ import annotations

import resource

from bench import Bench
from fuzz_rows import columns
from hostile import REAL, UNITS, mutated

MEMORY, MEMORY_PER_BYTE = 300e6, 100
"""Memory that a long row may take: so many bytes, and so many for each byte of it."""


def long(bench: Bench) -> None:
    """A row of up to 1 MB is done within bounds of time and memory, and is whole."""
    chooser, bench.seconds = bench.chooser, 2.0
    size = int(10 ** chooser.uniform(4, 6))
    unit = chooser.choice(UNITS).encode()
    text = unit * (size // len(unit))
    if bench.chance(0.3):
        text = mutated(chooser, text, 100).replace(b"\t", b"").replace(b"\0", b"")
    sides = [text, b"one word"] if bench.chance(0.5) else [text, text + b" b"]
    chooser.shuffle(sides)
    data = b"\t".join([*sides, b"0.5"]) + b"\n" + "\t".join(REAL[0]).encode() + b"\t0.7\n"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    words = chooser.choice(columns(bench))
    done = bench.run(words[0], *words[1:], "--on-error", "reject", "-i", bench.file(data))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert done.code == 0, done
    assert grown * 1024 < MEMORY + MEMORY_PER_BYTE * len(data), (grown, len(data), done.words)
    bench.counts["rows"] += 2
    bench.counts["long rows"] += 1
