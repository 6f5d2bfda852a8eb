"""Cost of scoring by shards: bitext-score here and on Ray, on equal cores, in one run.

    python benchmarks/scaling.py PAIRS.tsv.gz... --pairs 1000000

The rows of PAIRS, one file after the other, are repeated up to this number of pairs: a window of
bitext-score, in which a repeated sentence is encoded once, must be shorter than all of
them. For each number of cores, bitext-score runs as a user would have it, as a
process of its own, start and end included: as a stream with that many threads, shard by shard
(--resume), and on a Ray cluster that it starts, with that many workers of one thread. All outputs
are compared, byte by byte. The ratio is to the stream on the same number of cores.

The last lines are the parts that do not grow with the workers: a pass that cuts the input into
shards, and one that puts the parts together.
"""

from __future__ import annotations

import argparse
import filecmp
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from statistics import median

from bitextfilter.io.files import open_input
from bitextfilter.io.work_folder import cut

LAUNCHER = Path(__file__).parents[1] / "bin" / "bitext-score"


def write_pairs(sources: list[str], target: Path, pairs: int) -> int:
    """Write this number of rows, repeating *sources*; return the number of different ones."""
    period = written = 0
    with target.open("wb") as out:
        while written < pairs:
            for source in sources:
                with open_input(source) as lines:
                    for line in islice(lines, pairs - written):
                        out.write(line)
                        written += 1
            period = period or written
    return period


def seconds(line: list[str]) -> float:
    """Run a command to its end."""
    start = time.perf_counter()
    subprocess.run(line, check=True)
    return time.perf_counter() - start


def ways(cores: int, rows: int, parts: Path) -> dict[str, list[str]]:
    """Return the options of each way to score on this number of cores."""
    shards = ["--shard-rows", str(rows)]
    ray = ["--engine", "ray", "--workers", str(cores), "--threads", "1", *shards]
    threads = ["--threads", str(cores)]
    return {
        "stream": threads,
        "shard by shard": [*threads, "--resume", str(parts), *shards],
        "Ray": ray,
    }


def compare(path: Path, folder: Path, settings: argparse.Namespace) -> None:
    """Measure every way on every number of cores, and print a line for each."""
    score = [sys.executable, str(LAUNCHER), "-q", "-i", str(path), "--model", settings.model]
    if settings.similarity is not None:
        score += ["--similarity", settings.similarity]
    print(f"{'cores':>5}  {'':<16}{'seconds':>9}{'pairs/s':>9}{'ratio':>7}{'more, s':>9}")
    for cores in settings.cores:
        base = 0.0
        for name, options in ways(cores, settings.shard_rows, folder / "parts").items():
            out = folder / "out"
            times = [seconds([*score, *options, "-o", str(out)]) for _ in range(settings.rounds)]
            took = median(times)
            base = base or took
            speed = settings.pairs / took
            more = took - base
            print(
                f"{cores:5}  {name:<16}{took:9.1f}{speed:9.0f}{took / base:7.3f}{more:9.1f}",
                flush=True,
            )
            first = folder / "first"
            if not first.exists():
                out.rename(first)
            elif not filecmp.cmp(first, out, shallow=False):
                raise SystemExit("the outputs differ")


def fixed_costs(path: Path, folder: Path, rows: int) -> None:
    """Print how long one pass takes that cuts, and one that puts parts together."""
    start = time.perf_counter()
    shards = sum(1 for _ in cut([str(path)], rows, False, lambda index: folder / f"{index}"))
    print(f"cutting into {shards} shards: {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    with (folder / "first").open("rb") as parts, (folder / "merged").open("wb") as out:
        shutil.copyfileobj(parts, out, 1 << 20)
    print(f"putting the parts together: {time.perf_counter() - start:.2f} s")


def main() -> None:
    """Write the pairs, and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--pairs", type=int, default=60_000)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--similarity", help="as bitext-score's  [default: that of the model]")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--shard-rows", type=int, default=24576)
    parser.add_argument("--rounds", type=int, default=1)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "pairs.tsv"
        period = write_pairs(settings.files, path, settings.pairs)
        size = path.stat().st_size / 1e6
        print(f"{settings.pairs} pairs, {size:.0f} MB, the first {period} of them different rows")
        compare(path, folder, settings)
        fixed_costs(path, folder, settings.shard_rows)


if __name__ == "__main__":
    main()
