"""A corpus ranked by shared scores, beside one that is scored; bytes and memory of the files.

    python benchmarks/shared_scores.py PAIRS.tsv --rows 50000 --pairs 10000000

PAIRS is a TSV of real pairs. They are repeated until they are enough, each with its number as one
more word of both sides, so that all are distinct. Both ways give the same bytes. Then 1,000 rows
are ranked by this file, and by one of other pairs, with random hashes: the peak of the second is
higher by the memory of its pairs. CPU seconds are of the whole process, its start included.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path

HERE = Path(__file__).parent
PROBABILITY = "probability"
FEW = 1000


def measure(name: object, *words: object) -> tuple[float, float, float]:
    """Run a command to its end: seconds, CPU seconds, and MiB at its peak."""
    line = [sys.executable, str(HERE.parent / "bin" / str(name)), "--quiet", *map(str, words)]
    start = time.perf_counter()
    child = subprocess.Popen(line)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, line
    seconds = time.perf_counter() - start
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def corpus(path: Path, rows: int, target: Path) -> None:
    """Write *rows* distinct pairs of a file."""
    with path.open(encoding="utf-8") as stream:
        pairs = [row.rstrip("\n").split("\t")[:2] for row in islice(stream, rows)]
    with target.open("w", encoding="utf-8") as out:
        for number, (source, other) in zip(range(rows), cycle(pairs), strict=False):
            out.write(f"{source} {number}\t{other} {number}\n")


def random_file(path: Path, pairs: int) -> None:
    """Write a file of random hashes and probabilities, in a process of its own."""
    sys.path.insert(0, str(HERE.parent))
    import numpy as np

    from bitextfilter.io.arrow_file import GROUP_ROWS, write_numbers
    from bitextfilter.scoring.shared_scores import KEY, PAIR, ScoreFacts

    chance = np.random.default_rng(1)
    keys = np.unique(chance.integers(0, 1 << 64, pairs, dtype=np.uint64))
    scores = np.round(chance.beta(0.6, 0.6, len(keys)), 4).astype(np.float32)
    parts = (slice(first, first + GROUP_ROWS) for first in range(0, len(keys), GROUP_ROWS))
    kinds = {PAIR: np.uint64, PROBABILITY: np.float32}
    with path.open("wb") as stream:
        facts = {KEY: ScoreFacts((PROBABILITY,), digits=4).to_json()}
        write_numbers(stream, kinds, ((keys[part], scores[part]) for part in parts), facts)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path, help="a TSV of sentence pairs")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--pairs", type=int, default=10_000_000, help="of the file of others")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        names = ["rows", "few", "a.parquet", "b.parquet", "scored", "one", "other"]
        rows, few, file, others, scored, one, other = (Path(folder) / name for name in names)
        corpus(settings.path, settings.rows, rows)
        corpus(settings.path, FEW, few)
        maker = get_context("spawn").Process(target=random_file, args=(others, settings.pairs))
        maker.start()
        maker.join()
        score = "bitext-score", "--threads", 1, "-i", rows, "-o", scored
        small = "bitext-rank", "-i", few, "-o", os.devnull, "--scores"
        runs: dict[str, Sequence[object]] = {
            "score": score,
            "score --share": (*score, "--share", file),
            "rank scored rows": ("bitext-rank", "-i", scored, "-o", one),
            "rank --scores": ("bitext-rank", "-i", rows, "-o", other, "--scores", file),
            f"{FEW} rows, this file": (*small, file),
            f"{FEW} rows, others": (*small, others),
        }
        print(f"{settings.rows} rows\n{'':<22}{'s':>8}{'CPU s':>8}{'MiB':>8}")
        costs = []
        for title, command in runs.items():
            costs.append(measure(*command))
            print(f"{title:<22}" + "".join(f"{value:8.1f}" for value in costs[-1]), flush=True)
        assert one.read_bytes() == other.read_bytes(), "the outputs differ"
        cpu, memory = ([cost[n] for cost in costs] for n in (1, 2))
        print(
            f"CPU s of score and rank, by those of rank --scores: {(cpu[0] + cpu[2]) / cpu[3]:.1f}"
        )
        held = (memory[-1] - memory[-2]) * 2**20 / (settings.pairs - settings.rows)
        print(f"memory: {held:.1f} bytes a pair")
        for path, count in ((file, settings.rows), (others, settings.pairs)):
            print(f"file of {count} pairs: {path.stat().st_size / count:.2f} bytes a pair")


if __name__ == "__main__":
    main()
