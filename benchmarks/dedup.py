"""Seconds and memory of bitext-dedup on generated rows, beside GNU sort -u and a plain Python set.

    python benchmarks/dedup.py --rows 2000000

Each is a process of its own, reads one file and writes another. Of 20 rows, 11 are new, 4 are
copies of earlier ones, 2 differ from one in case, punctuation and a number, and 3 in one word of
each side. Words are made up and as unequally frequent as real ones. GNU sort compares the same two
columns in the C locale, and leaves the rows in its own order; the set holds those columns. The
three must keep the same number of rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import NamedTuple

LAUNCHER = Path(__file__).parents[1] / "bin" / "bitext-dedup"
SET = """
import sys
seen = set()
with open(sys.argv[1], "rb") as rows, open(sys.argv[2], "wb") as out:
    for row in rows:
        pair = tuple(row.split(b"\\t")[:2])
        if pair not in seen:
            seen.add(pair)
            out.write(row)
"""
VOCABULARY = 50_000
ALL = "case,punctuation,symbols,digits,space"
NORMALISED = ["--match", "normalised", "--ignore", ALL]
NEAR = ["--match", "near", "--ignore", ALL]
RUNS: list[tuple[str, list[str]]] = [
    ("exact", []),
    ("exact, --memory 20M", ["--memory", "20M"]),
    ("normalised", NORMALISED),
    ("normalised, best", [*NORMALISED, "--keep", "best"]),
    ("normalised, either", [*NORMALISED, "--by", "either"]),
    ("normalised, either, best", [*NORMALISED, "--by", "either", "--keep", "best"]),
    ("near", NEAR),
    ("near, --memory 100M", [*NEAR, "--memory", "100M"]),
]

Pair = tuple[list[str], list[str]]


class Cost(NamedTuple):
    """Time and memory of a process, and the number of rows it kept."""

    seconds: float
    cpu: float
    mebibytes: float
    kept: int


def pairs(count: int, random: Random) -> Iterator[Pair]:
    """Yield the words of *count* rows, some like earlier ones."""
    letters = "eeeeaaaiiionnnttrsslhdcumpgbfvwkyz"
    words = ["".join(random.choices(letters, k=random.randint(1, 10))) for _ in range(VOCABULARY)]
    weights = [1 / (rank + 3) for rank in range(VOCABULARY)]
    pool = random.choices(words, weights, k=2_000_000)
    changes: list[Callable[[Pair, Random], Pair]] = [
        *[copied] * 4,
        *[restyled] * 2,
        *[reworded] * 3,
    ]
    earlier: list[Pair] = []
    for row in range(count):
        kind = random.randrange(20)
        if kind < len(changes) and earlier:
            yield changes[kind](random.choice(earlier), random)
            continue
        length = min(60, 3 + int(random.gammavariate(2, 9)))
        source, target = (
            pool[start : start + length + random.randint(-1, 3)]
            for start in (random.randrange(len(pool) - 70) for _ in range(2))
        )
        pair = ([*source, str(row % 1000), "."], [*target, str(row % 1000), "."])
        if len(earlier) < 100_000:
            earlier.append(pair)
        else:
            earlier[random.randrange(len(earlier))] = pair
        yield pair


def copied(pair: Pair, _: Random) -> Pair:
    """The pair as it was."""
    return pair


def restyled(pair: Pair, random: Random) -> Pair:
    """The pair with capitals, another number and another mark at its end."""
    number = str(random.randrange(10_000))
    one, other = ([*map(str.capitalize, side[:-2]), number, "!"] for side in pair)
    return one, other


def reworded(pair: Pair, random: Random) -> Pair:
    """The pair with another word in each side."""
    one, other = (list(side) for side in pair)
    for side in (one, other):
        side[random.randrange(len(side) - 2)] = f"word{random.randrange(10_000)}"
    return one, other


def generate(path: Path, rows: int, seed: int = 1) -> None:
    """Write *rows* rows, each with a score.

    To be run in a process of its own: the peak of a child counts its parent's memory at birth.
    """
    random = Random(seed)
    with path.open("w", encoding="utf-8") as out:
        for source, target in pairs(rows, random):
            out.write(f"{' '.join(source)}\t{' '.join(target)}\t{random.random():.4f}\n")


def measure(line: list[str], output: Path) -> Cost:
    """Run a command to its end, and measure its time and memory."""
    start = time.perf_counter()
    child = subprocess.Popen(line, env={**os.environ, "LC_ALL": "C"})
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{line}: {child.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    with output.open("rb") as rows:
        kept = sum(1 for _ in rows)
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 2**20, kept)


def report(folder: Path, rows: int, sort_memory: str, names: list[str]) -> None:
    """Measure everything on one file, and print a line for each."""
    data, out = folder / "pairs", folder / "out"
    print(f"{rows} rows, {data.stat().st_size / 2**20:.0f} MiB")
    print(f"{'':<26}{'seconds':>9}{'CPU s':>9}{'MiB':>9}{'kept':>9}{'rows/s':>9}")
    ours = [sys.executable, str(LAUNCHER), "--quiet", "-i", str(data), "-o", str(out)]
    sort = ["sort", "-u", "-t", "\t", "-k", "1,2", "-S", sort_memory, "-T", str(folder)]
    lines = {
        "GNU sort -u": [*sort, str(data), "-o", str(out)],
        "Python set": [sys.executable, "-c", SET, str(data), str(out)],
        **{name: [*ours, *options] for name, options in RUNS},
    }
    kept = {}
    for name, line in lines.items():
        if names and not any(name.startswith(wanted) for wanted in names):
            continue
        cost = measure(line, out)
        kept[name] = cost.kept
        times = f"{cost.seconds:9.1f}{cost.cpu:9.1f}{cost.mebibytes:9.0f}"
        print(f"{name:<26}{times}{cost.kept:9}{rows / cost.seconds:9.0f}", flush=True)
    same = {kept[name] for name in ("GNU sort -u", "Python set", "exact") if name in kept}
    assert len(same) <= 1, "the numbers of distinct rows differ"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--sort-memory", default="1G", help="-S of GNU sort")
    parser.add_argument("--only", nargs="*", default=[], help="how the names of runs begin")
    return parser.parse_args()


def main() -> None:
    """Generate the rows and measure."""
    settings = arguments()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        maker = get_context("spawn").Process(target=generate, args=(place / "pairs", settings.rows))
        maker.start()
        maker.join()
        if maker.exitcode:
            raise SystemExit("the rows could not be made")
        report(place, settings.rows, settings.sort_memory, settings.only)


if __name__ == "__main__":
    main()
