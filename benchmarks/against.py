"""Seconds and memory of bitext-dedup --against on generated rows.

    python benchmarks/against.py --rows 5000000 --others 1000000

Rows are made up as those of dedup.py, but all different; each twentieth occurs in the other file,
half of them in capitals. Each run is a process of its own, reads both files and writes another. All
rows that occur there must be dropped, and no other, but for the few whose words are near by chance.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.dedup import LAUNCHER, VOCABULARY, measure

ALONE = ["--only-against", "--against-match"]
RUNS: list[tuple[str, list[str], int]] = [
    ("near", [], 1),
    ("near, only against", ["--only-against"], 1),
    ("normalised, only against", [*ALONE, "normalised"], 1),
    ("exact, only against", [*ALONE, "exact"], 2),
    ("exact by pair, only against", [*ALONE, "exact", "--against-by", "pair"], 2),
]
"""Names, options, and the share of the rows in the other file that are found: 1 in this number."""
EVERY = 20


def generate(folder: Path, rows: int, others: int, seed: int = 1) -> None:
    """Write both files."""
    random = Random(seed)
    letters = "eeeeaaaiiionnnttrsslhdcumpgbfvwkyz"
    words = ["".join(random.choices(letters, k=random.randint(1, 10))) for _ in range(VOCABULARY)]
    pool = random.choices(words, [1 / (rank + 3) for rank in range(VOCABULARY)], k=2_000_000)

    def side(number: int) -> str:
        """Return a sentence that no other number has."""
        length, step = min(60, 3 + int(random.gammavariate(2, 9))), random.randrange(1, 20_000)
        start = random.randrange(len(pool) - length * step)
        own = "".join(letters[-1 - int(digit)] for digit in str(number))
        return " ".join([*pool[start : start + length * step : step], own])

    with (folder / "pairs").open("w") as pairs, (folder / "others").open("w") as other:
        for number in (*range(rows), *range(-(-rows // EVERY) * EVERY, EVERY * others, EVERY)):
            pair = f"{side(number)}\t{side(number)}"
            if number < rows:
                pairs.write(f"{pair}\t0.5\n")
            if number % EVERY == 0 and number < EVERY * others:
                other.write(f"{pair.upper() if number % (2 * EVERY) else pair}\n")


def report(folder: Path, rows: int, others: int, names: list[str]) -> None:
    """Measure each run on the same files, and print a line for it."""
    data, out = folder / "pairs", folder / "out"
    print(f"{rows} rows, {data.stat().st_size / 2**20:.0f} MiB, against {others}")
    print(f"{'':<29}{'seconds':>9}{'CPU s':>9}{'MiB':>9}{'kept':>9}{'rows/s':>9}")
    line = [sys.executable, str(LAUNCHER), "--quiet", "-i", str(data), "-o", str(out)]
    common = -(-min(rows, EVERY * others) // EVERY)
    for name, options, share in RUNS:
        if names and not any(name.startswith(wanted) for wanted in names):
            continue
        cost = measure([*line, "--against", str(folder / "others"), *options], out)
        times = f"{cost.seconds:9.1f}{cost.cpu:9.1f}{cost.mebibytes:9.0f}"
        print(f"{name:<29}{times}{cost.kept:9}{rows / cost.seconds:9.0f}", flush=True)
        extra = rows - -(-common // share) - cost.kept
        by_chance = rows // 1000 if name.startswith("near") else 0
        assert 0 <= extra <= by_chance, "not the rows that occur there"


def main() -> None:
    """Generate the rows and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--others", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", default=[], help="how the names of runs begin")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = (Path(folder), settings.rows, settings.others)
        maker = get_context("spawn").Process(target=generate, args=made)
        maker.start()
        maker.join()
        if maker.exitcode:
            raise SystemExit("the rows could not be made")
        report(*made, settings.only)


if __name__ == "__main__":
    main()
