"""Speed, memory and error rate of bitext-align-words on a generated bitext of known alignment.

    python benchmarks/align_words.py --rows 100000

Source words are as unequally frequent as real ones; each has two translations, one of them three
times as frequent. One in ten words is left out, as many come to the target without a source, and
neighbours change places. The alignment error rate (AER) of sure links is by Och and Ney (2003):
0 is perfect. The diagonal links words of one relative place.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable
from multiprocessing import get_context
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.dedup import measure

LAUNCHER = Path(__file__).parents[1] / "bin" / "bitext-align-words"
VOCABULARY = 30_000
RUNS: list[tuple[str, list[str]]] = [
    ("all rows", ["--save", "{folder}/lexicon"]),
    ("by the saved lexicon", ["--load", "{folder}/lexicon"]),
    ("a fifth of the rows", ["--learn-rows", "{fifth}"]),
    ("all rows, intersection", ["--symmetrise", "intersection"]),
    ("all rows, union", ["--symmetrise", "union"]),
]


def generate(folder: Path, rows: int, seed: int = 1) -> None:
    """Write the pairs, and their links."""
    random = Random(seed)
    weights = [1 / (rank + 3) for rank in range(VOCABULARY)]
    pool = random.choices(range(VOCABULARY), weights, k=2_000_000)
    with (folder / "pairs").open("w") as pairs, (folder / "gold").open("w") as gold:
        for _ in range(rows):
            length = min(60, 3 + int(random.gammavariate(2, 9)))
            start = random.randrange(len(pool) - 60)
            source = pool[start : start + length]
            order: list[int | None] = [place for place in range(length) if random.random() < 0.9]
            for place in range(len(order) - 1):
                if random.random() < 0.2:
                    order[place : place + 2] = order[place + 1], order[place]
            for _ in range(length // 10):
                order.insert(random.randrange(len(order) + 1), None)
            words = [f"s{word}" for word in source]
            target = [
                f"t{random.choice(pool)}a" if i is None else f"t{source[i]}{random.choice('aaab')}"
                for i in order
            ]
            pairs.write(f"{' '.join(words)}\t{' '.join(target) or 'ta'}\n")
            links = sorted((i, j) for j, i in enumerate(order) if i is not None)
            gold.write(" ".join(f"{i}-{j}" for i, j in links) + "\n")


def error_rate(found: Iterable[str], gold: Path) -> float:
    """Return the AER of lines in Pharaoh format."""
    both = total = 0
    with gold.open() as known:
        for line, other in zip(found, known, strict=True):
            one, sure = set(line.split()), set(other.split())
            both, total = both + len(one & sure), total + len(one) + len(sure)
    return 1 - 2 * both / total


def diagonal(pairs: Path) -> Iterable[str]:
    """Yield the links of words of one relative place."""
    with pairs.open() as rows:
        for row in rows:
            source, target = (len(side.split()) for side in row.split("\t"))
            yield " ".join(f"{j * source // target}-{j}" for j in range(target))


def report(folder: Path, rows: int) -> None:
    """Measure each run, and print a line for it."""
    out = folder / "out"
    print(f"{'':<26}{'seconds':>9}{'CPU s':>9}{'MiB':>9}{'rows/s':>9}{'AER':>9}")
    line = [sys.executable, str(LAUNCHER), "-q", "--alignment-only", "-o", str(out)]
    line += ["-i", str(folder / "pairs")]
    for name, options in RUNS:
        words = [word.format(folder=folder, fifth=rows // 5) for word in options]
        cost = measure([*line, *words], out)
        with out.open() as found:
            rate = error_rate(found, folder / "gold")
        times = f"{cost.seconds:9.1f}{cost.cpu:9.1f}{cost.mebibytes:9.0f}"
        print(f"{name:<26}{times}{rows / cost.seconds:9.0f}{rate:9.3f}", flush=True)
    rate = error_rate(diagonal(folder / "pairs"), folder / "gold")
    print(f"{'the diagonal':<26}{'':36}{rate:9.3f}")


def main() -> None:
    """Generate the rows and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        maker = get_context("spawn").Process(target=generate, args=(Path(folder), settings.rows))
        maker.start()
        maker.join()
        if maker.exitcode:
            raise SystemExit("the rows could not be made")
        report(Path(folder), settings.rows)


if __name__ == "__main__":
    main()
