"""Make the classifier's training pairs from clean bitext.

    python noise.py OUTPUT_FOLDER FILE.tsv.gz...

Writes ``positives.tsv``: distinct pairs of 3 to 60 words a side, at most 20,000 of each file; and
``negatives.tsv``: two noisy versions of each of them (the target of another pair, that of a
neighbouring line, a side cut off, a side copied), those that came out clean left out.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from bitextfilter.corpus.noise import CLEAN, NoiseSettings, noisy_pairs
from bitextfilter.io.files import open_output
from bitextfilter.training.sources import PairFile

PAIRS_PER_FILE = 20_000
WORDS = range(3, 61)
RATES = {"shuffled": 1 / 3, "neighbouring": 1 / 6, "truncated": 1 / 3, "copied": 1 / 6}
SETTINGS = NoiseSettings(words=(WORDS.start, WORDS.stop - 1), window=PAIRS_PER_FILE)
SEED = 1


def chosen(path: str) -> list[tuple[str, str]]:
    """Some distinct pairs of a file, in its order, so that neighbours stay neighbours."""
    pairs = dict.fromkeys(PairFile(path).read())
    fitting = [pair for pair in pairs if all(len(side.split()) in WORDS for side in pair)]
    start = random.Random(SEED).randrange(max(1, len(fitting) - PAIRS_PER_FILE))
    return fitting[start : start + PAIRS_PER_FILE]


def main(folder: Path, paths: list[str]) -> None:
    """Write both files."""
    clean = [chosen(path) for path in paths]
    known = {pair for pairs in clean for pair in pairs}
    noise = {
        (source, target)
        for pairs in clean
        for seed in (SEED, SEED + 1)
        for source, target, kind in noisy_pairs(pairs, RATES, seed, SETTINGS)
        if kind != CLEAN
    }
    for name, pairs in (("positives", known), ("negatives", noise - known)):
        with open_output(folder / f"{name}.tsv") as file:
            file.writelines(f"{source}\t{target}\n".encode() for source, target in sorted(pairs))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
