"""bitext-score without a cache, with a new one and with a full one; and the cache by itself.

    python benchmarks/cache.py PAIRS.tsv.gz
    python benchmarks/cache.py PAIRS.tsv.gz --rows 0 --entries 50000 10000000

PAIRS is a TSV of real sentence pairs. The whole process is timed, in turns; the medians count. The
outputs must be the same. Then windows of 12,288 random keys are looked up in and added to caches of
the given numbers of entries.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from bitextfilter.io.files import open_input  # noqa: E402
from bitextfilter.scoring.cached_scores import KEY_BYTES, Cache  # noqa: E402

LAUNCHER = HERE.parent / "bin" / "bitext-score"
WINDOW = 12288


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs", help="a TSV of sentence pairs")
    parser.add_argument("--rows", type=int, default=50_000, help="distinct pairs to score")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--entries", type=int, nargs="*", default=[50_000, 1_000_000])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.rows:
            commands(arguments, Path(folder))
        for entries in arguments.entries:
            stores(entries, Path(folder))


def commands(arguments: argparse.Namespace, folder: Path) -> None:
    """Time the command."""
    pairs, one, cache = folder / "pairs.tsv", folder / "one.tsv", folder / "cache"
    with open_input(arguments.pairs) as stream:
        rows = [b"\t".join(line.rstrip(b"\r\n").split(b"\t")[:2]) + b"\n" for line in stream]
    full = (row for row in dict.fromkeys(rows) if row.count(b"\t") == 1)
    lines = list(
        islice((row for row in full if all(row.strip(b"\n").split(b"\t"))), arguments.rows)
    )
    pairs.write_bytes(b"".join(lines))
    one.write_bytes(lines[0])
    costs: dict[str, list[Cost]] = {"start": [], "without": [], "cold": [], "warm": []}
    for _ in range(arguments.rounds):
        shutil.rmtree(cache, ignore_errors=True)
        outputs = {}
        for name, some in costs.items():
            output = folder / name
            words = ["-i", str(one if name == "start" else pairs), "-o", str(output)]
            words += ["--threads", str(arguments.threads), "--quiet", "--on-error", "reject"]
            words += ["--cache", str(cache)] if name in ("cold", "warm") else []
            some.append(run(words))
            outputs[name] = output.read_bytes()
        assert outputs["without"] == outputs["cold"] == outputs["warm"]
    print(f"{len(lines)} pairs, {arguments.threads} threads; clock | processor, seconds")
    print("         seconds           by the clock: without / it, start aside; by the processor")
    clock, processor = zip(*(middle(some) for some in costs.values()), strict=True)
    for place, name in enumerate(costs):
        print(f"{name:8} {clock[place]:7.2f} | {processor[place]:5.2f}", end="")
        for start, without, *rest in (clock, processor):
            took = [without, *rest][place - 1]
            ratios = without / took, (without - start) / (took - start)
            print(f"   {ratios[0]:5.2f}, {ratios[1]:6.2f}" if place else "", end="")
        print()


class Cost(NamedTuple):
    """Seconds on the clock, and of the processor."""

    clock: float
    processor: float


def run(words: list[str]) -> Cost:
    """Run the command, and measure its time and memory."""
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, str(LAUNCHER), *words])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(child.returncode)
    return Cost(time.perf_counter() - began, usage.ru_utime + usage.ru_stime)


def middle(costs: list[Cost]) -> Cost:
    """Return the medians."""
    return Cost(*(median(column) for column in zip(*costs, strict=True)))


def stores(entries: int, folder: Path) -> None:
    """Time windows of keys on a cache of this many entries, and count the bytes they write."""
    place = Path(tempfile.mkdtemp(dir=folder))
    with Cache(place) as cache:
        for count in parts_of(entries):
            keys = random_keys(count)
            cache.put(keys, np.zeros(count, np.float32))
            cache.keep()
        known, new = keys[:WINDOW], random_keys(WINDOW)
        times: dict[str, list[float]] = {"known": [], "new": [], "added": []}
        before = written()
        for _ in range(8):
            for what, some in (("known", known), ("new", new)):
                began = time.perf_counter()
                cache.get(some)
                times[what].append(time.perf_counter() - began)
            began = time.perf_counter()
            cache.put(new, np.zeros(WINDOW, np.float32))
            cache.keep()
            times["added"].append(time.perf_counter() - began)
            new = random_keys(WINDOW)
    megabytes = (written() - before) / 8e6
    milliseconds = ", ".join(f"{w} {1e3 * np.mean(t):.0f} ms" for w, t in times.items())
    size = sum(path.stat().st_size for path in place.iterdir()) / 1e6
    print(f"{entries} entries, {size:.0f} MB; a window: {milliseconds}", end="")
    print(f", {megabytes:.1f} MB written")
    shutil.rmtree(place)


def parts_of(entries: int) -> list[int]:
    """Entries in portions of a million."""
    return [min(1_000_000, entries - first) for first in range(0, entries, 1_000_000)]


def random_keys(count: int) -> list[bytes]:
    """Keys as digests are."""
    data = os.urandom(KEY_BYTES * count)
    return [data[first : first + KEY_BYTES] for first in range(0, len(data), KEY_BYTES)]


def written() -> int:
    """Bytes that this process has sent to the disk, where /proc says it."""
    path = Path("/proc/self/io")
    text = path.read_text() if path.exists() else "\nwrite_bytes: 0\n"
    return int(text.split("\nwrite_bytes: ")[1].split("\n")[0])


if __name__ == "__main__":
    main()
