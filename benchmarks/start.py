"""Time and memory of a start: one line through a command, and many lines.

    python benchmarks/start.py [--before CHECKOUT] [--pairs PAIRS.tsv --rows 1000000 --times 1]

Each command runs as at a shell, in turns with the one of another checkout, if there is one: ratios
of medians are printed, and for many lines, rows a second after the one line. CPU seconds are those
of all cores, and hardly change with what else the machine does; the clock does. Memory is the most
that was resident. The first run of each, which compiles modules, is not counted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

OURS = Path(__file__).parents[1]
PAIR = b"The committee meets on Tuesday.\tDer Ausschuss trifft sich am Dienstag.\n"
ONE_LINE = {
    "score": ["bitext-score"],
    "score, cosine": ["bitext-score", "--similarity", "cosine"],
    "score, multi": ["bitext-score", "--model", "multi", "--languages", "en,de"],
    "embed": ["bitext-embed", "--language", "en", "--column", "1"],
    "filter": ["bitext-filter", "--languages", "en,de"],
}
MANY = {name: line for name, line in ONE_LINE.items() if name != "score, multi"}


class Cost(NamedTuple):
    """Seconds on the clock, CPU seconds, and megabytes."""

    clock: float
    cpu: float
    memory: float


def run(checkout: Path, line: list[str], lines: Path, scratch: Path) -> Cost:
    """Run a command of a checkout once on a file of lines."""
    words = [sys.executable, str(checkout / "bin" / line[0]), *line[1:], "--quiet"]
    words += ["-i", str(lines), "-o", str(scratch / "out.npy")]
    # Modules are compiled once, as at an install; not into the checkout.
    folder = scratch / f"compiled-{hash(checkout)}"
    new = {"PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": str(folder)}
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(words, env={**kept, **new})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: exit {process.returncode}")
    scale = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes here
    memory = used.ru_maxrss * scale / 1e6
    return Cost(time.perf_counter() - start, used.ru_utime + used.ru_stime, memory)


def measure(
    name: str, checkouts: list[Path], rounds: int, job: tuple[list[str], Path]
) -> list[Cost]:
    """Print the medians of a command by checkout, and the ratios; returns the medians."""
    line, lines = job
    with tempfile.TemporaryDirectory() as folder:
        costs: list[list[Cost]] = [[] for _ in checkouts]
        for _ in range(rounds + 1):
            for place, checkout in enumerate(checkouts):
                costs[place].append(run(checkout, line, lines, Path(folder)))
    middle = [medians(each[1:] if rounds > 1 else each) for each in costs]
    for checkout, cost in zip(checkouts, middle, strict=True):
        print(f"{name:<22} {cost.clock:9.2f} {cost.cpu:9.2f} {cost.memory:9.0f}   {checkout.name}")
    if len(middle) > 1:
        new, old = middle
        ratios = [one / other for one, other in zip(new, old, strict=True)]
        print(f"{'':<22} {ratios[0]:9.2f} {ratios[1]:9.2f} {ratios[2]:9.2f}   ratio", flush=True)
    return middle


def medians(costs: Iterable[Cost]) -> Cost:
    """The median of each number."""
    return Cost(*map(median, zip(*costs, strict=True)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="another checkout, built")
    parser.add_argument("--rounds", type=int, default=5, help="of one line")
    parser.add_argument("--pairs", type=Path, help="TSV of pairs, repeated up to --rows")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=1, help="that many lines are run")
    settings = parser.parse_args()
    checkouts = [OURS, *([settings.before.resolve()] if settings.before else [])]
    print(f"{'one line':<22} {'seconds':>9} {'CPU s':>9} {'MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines.tsv"
        lines.write_bytes(PAIR)
        starts = {}
        for name, line in ONE_LINE.items():
            starts[name] = measure(name, checkouts, settings.rounds, (line, lines))
        if settings.pairs is None:
            return
        rows = settings.pairs.read_bytes().splitlines(keepends=True)
        lines.write_bytes(b"".join(islice(cycle(rows), settings.rows)))
        print(f"{settings.rows} rows")
        for name, line in MANY.items():
            costs = measure(name, checkouts, settings.times, (line, lines))
            for checkout, cost, start in zip(checkouts, costs, starts[name], strict=True):
                speed = settings.rows / (cost.clock - start.clock)
                print(f"{'':<22} {speed:9.0f} rows a second after the start   {checkout.name}")


if __name__ == "__main__":
    main()
