"""Time and memory of bitext-sample, and what its samples hold beside those of bitext-rank.

    python benchmarks/sample.py SCORED.tsv [--words 50k] [--model en-de]

SCORED has the source, the target, and the score of bitext-score with four decimals. All samples
have the same number of words of the target. Of each: rows, different words of both sides and
different runs of three words of the source, in lower case; the mean score; and the mean cosine of
a thousand of its rows to the nearest other row of the sample, which is low where a sample says
much. Rows without a score are drawn at random.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.dedup import measure

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model

LAUNCHER = Path(__file__).parents[1] / "bin" / "bitext-sample"
SCORES = {
    "four": "1",
    "one": r'{ $3 = sprintf("%.1f", $3) } 1',
    "none": r'{ $3 = "" } 1',
    "from .9": r'$3 >= .9 { $3 = ""; print }',
}
"""Decimals of the scores, each with the program of awk that makes the rows."""

RUNS: dict[str, tuple[str, list[str]]] = {
    "best scores": ("four", ["--clusters", "1"]),
    "best, one decimal": ("one", ["--clusters", "1"]),
    "at random": ("none", ["--clusters", "1"]),
    "at random, from .9": ("from .9", ["--clusters", "1"]),
    "clusters": ("four", []),
    "clusters, one decimal": ("one", []),
    "300, one decimal": ("one", ["--clusters", "300"]),
    "one decimal, below .8": ("one", ["--drop-similar", ".8"]),
    "clusters, from .9": ("from .9", []),
}
"""Each sample with its scores and its options."""


def rows_of(path: Path) -> list[list[str]]:
    """Return the columns of all rows."""
    return [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def figures(path: Path, model: Model) -> str:
    """Return what a sample holds."""
    import numpy as np

    from bitextfilter.search.kmeans import PairVectors
    from bitextfilter.similarity.vectors import scan

    rows = rows_of(path)
    sources, targets = [row[0] for row in rows], [row[1] for row in rows]
    words: set[str] = set()
    runs: set[tuple[str, ...]] = set()
    for source, target in zip(sources, targets, strict=True):
        mine = source.lower().split()
        words.update(mine, (f"_{word}" for word in target.lower().split()))
        runs.update(zip(mine, mine[1:], mine[2:], strict=False))
    with PairVectors(model.encoder.dim) as vectors:
        first, second = model.languages
        vectors.add(model.encode(sources, first), model.encode(targets, second))
        some = np.random.default_rng(1).permutation(len(rows))[:1000]
        cosines, _ = scan(vectors[some], vectors[:], 2, 2)
    score = np.mean([float(row[2]) for row in rows])
    return f"{len(rows):8d}{len(words):9d}{len(runs):9d}{score:8.3f}{cosines[:, 1].mean():8.3f}"


def whole_scores(sample: Path, scored: dict[tuple[str, str], str]) -> None:
    """Give the rows of a sample their scores of four decimals again."""
    lines = [f"{s}\t{t}\t{scored[s, t]}\n" for s, t, *_ in rows_of(sample)]
    sample.write_text("".join(lines), encoding="utf-8")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("scored", type=Path)
    parser.add_argument("--words", default="50k")
    parser.add_argument("--model", default="en-de")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, costs = Path(name), {}
        for place, (kind, options) in enumerate(RUNS.values()):
            rows, out = folder / f"rows {kind}", folder / f"{place}.tsv"
            program = 'BEGIN { FS = OFS = "\t" } ' + SCORES[kind]
            with rows.open("wb") as stream:
                subprocess.run(["awk", program, settings.scored], stdout=stream, check=True)
            line = [sys.executable, str(LAUNCHER), "-q", "--top-words", settings.words]
            line += ["--model", settings.model, "--column", "3", *options]
            costs[place] = measure([*line, "-i", str(rows), "-o", str(out)], out)
        from bitextfilter.scoring.model import load  # a child counts the memory of its parent

        model = load(settings.model)
        scored = {(s, t): score for s, t, score, *_ in rows_of(settings.scored)}
        heads = f"{'rows':>8}{'words':>9}{'runs':>9}{'score':>8}{'cosine':>8}"
        print(f"{'':<24}{heads}{'seconds':>9}{'CPU s':>8}{'MiB':>7}")
        for place, name in enumerate(RUNS):
            whole_scores(out := folder / f"{place}.tsv", scored)
            cost = costs[place]
            times = f"{cost.seconds:9.1f}{cost.cpu:8.1f}{cost.mebibytes:7.0f}"
            print(f"{name:<24}{figures(out, model)}{times}", flush=True)


if __name__ == "__main__":
    main()
