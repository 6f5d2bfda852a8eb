"""Seconds and memory of bitext-rank on generated rows, beside GNU sort in the same run.

    python benchmarks/rank.py --rows 5000000

Each is a process of its own, reads one file and writes another. GNU sort orders the same column
as general numbers, stably, in the C locale; for a word budget its output goes through awk, which
counts. Both outputs are compared, byte for byte. A row has two sides, each one of 50,000 texts of 3
to 29 made-up words, and a score of four decimals. Memory is the peak of the largest process; bytes
a row are the growth of bitext-rank's from the first tenth of the rows to all.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shlex
import subprocess
import sys
import tempfile
import time
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

LAUNCHER = Path(__file__).parents[1] / "bin" / "bitext-rank"
RANK = [sys.executable, str(LAUNCHER), "--quiet"]
SORT = ["sort", "-t", "\t", "-k", "3,3gr", "-s"]
AWK = '{ n += split($2, words, " "); if (n > most) exit; print }'
VOCABULARY = 20_000
SIDES = 50_000
LEAST_WORDS, MOST_WORDS = 3, 29
BLOCK = 10_000


class Cost(NamedTuple):
    """Time and memory of a process, and of its children where it is a shell."""

    seconds: float
    cpu: float
    mebibytes: float


def generate(path: Path, rows: int, seed: int = 1) -> None:
    """Write *rows* pairs of random words, many with equal scores.

    To be run in a process of its own: the peak of a child counts its parent's memory at birth.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    letters = random.integers(97, 123, (VOCABULARY, 9), dtype=np.uint8)
    lengths = random.integers(2, 10, VOCABULARY).tolist()
    words = [bytes(row[:n]) for row, n in zip(letters, lengths, strict=True)]
    ids = random.integers(VOCABULARY, size=(SIDES, MOST_WORDS)).tolist()
    sizes = random.integers(LEAST_WORDS, MOST_WORDS + 1, SIDES).tolist()
    sides = [b" ".join(map(words.__getitem__, row[:n])) for row, n in zip(ids, sizes, strict=True)]
    with path.open("wb") as out:
        for start in range(0, rows, BLOCK):
            count = min(BLOCK, rows - start)
            pairs = random.integers(SIDES, size=(count, 2)).tolist()
            scores = random.random(count).tolist()
            out.writelines(
                b"%b\t%b\t%.4f\n" % (sides[source], sides[target], score)
                for (source, target), score in zip(pairs, scores, strict=True)
            )


def measure(line: list[str]) -> Cost:
    """Run a command to its end, and measure its time and memory."""
    start = time.perf_counter()
    child = subprocess.Popen(line, env={**os.environ, "LC_ALL": "C"})
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{line}: {child.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 2**20)


def head(source: Path, target: Path, rows: int) -> None:
    """Write the first *rows* of a file to another."""
    with source.open("rb") as lines, target.open("wb") as out:
        out.writelines(islice(lines, rows))


def compare(folder: Path, rows: int, words: int, memory: str) -> None:
    """Measure the pairs of commands on one file, and print a line for each."""
    pairs, part, ours, theirs = (folder / name for name in ("pairs", "part", "ours", "theirs"))
    tenth = rows // 10
    head(pairs, part, tenth)
    sort = [*SORT, "-S", memory, "-T", str(folder), str(pairs)]
    pipe = f"{shlex.join(sort)} 2> {os.devnull} | awk -F '\t' -v most={words} '{AWK}' > {theirs}"
    runs = {
        "everything": ([], [*sort, "-o", str(theirs)]),
        f"--top-words {words}": (["--top-words", str(words)], ["sh", "-c", pipe]),
    }
    names = ("seconds", "CPU s", "MiB", "bytes/row", "sort s", "CPU s", "MiB", "ratio s", "CPU")
    print(f"{'':<24}" + "".join(f"{name:>10}" for name in names))
    for name, (options, other) in runs.items():
        small = measure([*RANK, *options, "-i", str(part), "-o", os.devnull])
        cost = measure([*RANK, *options, "-i", str(pairs), "-o", str(ours)])
        beside = measure(other)
        assert filecmp.cmp(ours, theirs, shallow=False), "the outputs differ"
        held = (cost.mebibytes - small.mebibytes) * 2**20 / (rows - tenth)
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
    words = settings.words or settings.rows * (LEAST_WORDS + MOST_WORDS) // 6
    with tempfile.TemporaryDirectory() as name:
        pairs = Path(name) / "pairs"
        generator = get_context("spawn").Process(target=generate, args=(pairs, settings.rows))
        generator.start()
        generator.join()
        print(f"{settings.rows} rows, {pairs.stat().st_size / 1e6:.0f} MB")
        compare(Path(name), settings.rows, words, settings.sort_memory)


if __name__ == "__main__":
    main()
