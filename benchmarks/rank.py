"""Seconds and memory of bitext-rank on generated rows, beside GNU sort in the same run.

    python benchmarks/rank.py --rows 5000000

Each is a process of its own, reads one file and writes another. GNU sort orders the same column
as general numbers, stably, in the C locale; for a word budget its output goes through awk, which
counts. What both write is compared, byte for byte. A row has two sides of 3 to 29 made-up words
and a score of four decimals. Memory is the peak of the largest process; what it grows by from a
file without rows is what the rows take.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

LAUNCHER = Path(__file__).parents[1] / "bin" / "bitext-rank"
RANK = [sys.executable, str(LAUNCHER), "--quiet"]
SORT = ["sort", "-t", "\t", "-k", "3,3gr", "-s"]
AWK = '{ n += split($2, words, " "); if (n > most) exit; print }'
VOCABULARY = 20_000
MOST_WORDS = 30
BLOCK = 10_000


class Cost(NamedTuple):
    """What a process took, and its children where it is a shell."""

    seconds: float
    cpu: float
    mebibytes: float


def generate(path: Path, rows: int, seed: int = 1) -> None:
    """Write *rows* pairs of random words, with scores of which many are equal.

    To be run in a process of its own: the peak of a child counts its parent's memory at birth.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    letters = random.integers(97, 123, (VOCABULARY, 9), dtype=np.uint8)
    lengths = random.integers(2, 10, VOCABULARY).tolist()
    words = [bytes(row[:n]) for row, n in zip(letters, lengths, strict=True)]
    with path.open("wb") as out:
        for start in range(0, rows, BLOCK):
            count = min(BLOCK, rows - start)
            ids = random.integers(VOCABULARY, size=(count, 2, MOST_WORDS)).tolist()
            sizes = random.integers(3, MOST_WORDS, (count, 2)).tolist()
            for pair, size, score in zip(ids, sizes, random.random(count).tolist(), strict=True):
                sides = (
                    b" ".join(words[word] for word in side[:n])
                    for side, n in zip(pair, size, strict=True)
                )
                out.write(b"\t".join([*sides, b"%.4f\n" % score]))


def measure(line: list[str]) -> Cost:
    """Run a command to its end, and ask the system what it took."""
    start = time.perf_counter()
    child = subprocess.Popen(line, env={**os.environ, "LC_ALL": "C"})
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{line}: {child.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 2**20)


def compare(folder: Path, rows: int, words: int, memory: str) -> None:
    """Measure the pairs of commands on one file, and print a line for each."""
    pairs, empty, ours, theirs = (folder / name for name in ("pairs", "empty", "ours", "theirs"))
    empty.touch()
    rank = [*RANK, "-i", str(pairs), "-o", str(ours)]
    sort = [*SORT, "-S", memory, "-T", str(folder), str(pairs), "-o", str(theirs)]
    pipe = f"sort -t '\t' -k 3,3gr -s -S {memory} -T {folder} {pairs} 2> {os.devnull}"
    budget = ["sh", "-c", f"{pipe} | awk -F '\t' -v most={words} '{AWK}' > {theirs}"]
    runs = {
        "everything": (rank, sort),
        f"--top-words {words}": ([*rank, "--top-words", str(words)], budget),
    }
    start = measure([*RANK, "-i", str(empty), "-o", os.devnull])
    print(f"without rows, bitext-rank takes {start.seconds:.2f} s and {start.mebibytes:.0f} MiB")
    header = (
        "seconds",
        "CPU s",
        "MiB",
        "bytes/row",
        "sort s",
        "CPU s",
        "MiB",
        "ratio s",
        "ratio CPU",
    )
    print(f"{'':<24}" + "".join(f"{name:>10}" for name in header))
    for name, (line, other) in runs.items():
        cost, beside = measure(line), measure(other)
        assert filecmp.cmp(ours, theirs, shallow=False), "the outputs differ"
        held = (cost.mebibytes - start.mebibytes) * 2**20 / rows
        values = [*cost, held, *beside, beside.seconds / cost.seconds, beside.cpu / cost.cpu]
        print(f"{name:<24}" + "".join(f"{value:10.2f}" for value in values))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, help="the budget; by default a third of all words")
    parser.add_argument("--sort-memory", default="1G", help="-S of GNU sort")
    return parser.parse_args()


def main() -> None:
    """Generate the rows, and measure both."""
    settings = arguments()
    words = settings.words or settings.rows * (3 + MOST_WORDS - 1) // 6
    with tempfile.TemporaryDirectory() as name:
        pairs = Path(name) / "pairs"
        generator = get_context("spawn").Process(target=generate, args=(pairs, settings.rows))
        generator.start()
        generator.join()
        print(f"{settings.rows} rows, {pairs.stat().st_size / 1e6:.0f} MB")
        compare(Path(name), settings.rows, words, settings.sort_memory)


if __name__ == "__main__":
    main()
