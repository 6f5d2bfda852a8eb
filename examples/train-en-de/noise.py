"""Make the classifier's training pairs from clean bitext.

    python noise.py OUTPUT_FOLDER FOREIGN_TEXT FILE.tsv.gz...

Writes ``positives.tsv``: distinct pairs of 3 to 60 words a side, at most 16,000 of each file; and
``negatives.tsv``: two noisy versions of each of them, in all the kinds of bitext-noise. Sentences
in neither language come from FOREIGN_TEXT.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from bitextfilter.corpus.noise import CLEAN, NoiseSettings, noisy_pairs
from bitextfilter.io.files import open_output, read_lines
from bitextfilter.training.sources import PairFile

PAIRS_PER_FILE = 16_000
WORDS = range(3, 61)
WEIGHTS = {
    "shuffled": 4,
    "neighbouring": 3,
    "truncated": 4,
    "extra": 4,
    "misordered": 2,
    "wrong-language": 2,
    "copied": 1,
    "half": 2,
    "number": 2,
    "name": 3,
    "negation": 2,
    "boilerplate": 1,
    "mojibake": 2,
    "repeated": 2,
    "short": 1,
}
RATES = {kind: weight / sum(WEIGHTS.values()) for kind, weight in WEIGHTS.items()}
SEED = 1


def chosen(path: str) -> list[tuple[str, str]]:
    """Some distinct pairs of a file, in its order, so that neighbours stay neighbours."""
    pairs = dict.fromkeys(PairFile(path).read())
    fitting = [pair for pair in pairs if all(len(side.split()) in WORDS for side in pair)]
    start = random.Random(SEED).randrange(max(1, len(fitting) - PAIRS_PER_FILE))
    return fitting[start : start + PAIRS_PER_FILE]


def main(folder: Path, foreign: str, paths: list[str]) -> None:
    """Write both files."""
    settings = NoiseSettings(
        languages=("en", "de"),
        foreign=list(read_lines(foreign)),
        words=(WORDS.start, WORDS.stop - 1),
        window=PAIRS_PER_FILE,
    )
    clean = [chosen(path) for path in paths]
    known = {pair for pairs in clean for pair in pairs}
    noise = {
        (source, target)
        for pairs in clean
        for seed in (SEED, SEED + 1)
        for source, target, kind in noisy_pairs(pairs, RATES, seed, settings)
        if kind != CLEAN
    }
    for name, pairs in (("positives", known), ("negatives", noise - known)):
        with open_output(folder / f"{name}.tsv") as file:
            file.writelines(f"{source}\t{target}\n".encode() for source, target in sorted(pairs))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
