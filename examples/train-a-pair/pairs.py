"""Make training pairs for a classifier from clean bitext and an encoder trained on it.

    python pairs.py MODEL OUTPUT FOREIGN FILE.tsv...

Writes OUTPUT/positives.tsv: distinct pairs of 3 to 60 words a side, at most 30,000 of each FILE;
and what is made of them: noisy versions in all the kinds of bitext-noise that the languages have
(sentences in neither language come from FOREIGN), and hard negatives, which are sources with the
nearest other target, and the other way. They go to OUTPUT/negatives.tsv, those with another name,
number or negation to OUTPUT/nearly.tsv. The same MODEL and FILEs give the same pairs. Memory holds
the text and the vectors of the positives: some 12 kB each.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from bitextfilter.corpus.noise import CLEAN, NOISE_KINDS, NoiseSettings, noisy_pairs
from bitextfilter.io.files import open_output, read_lines
from bitextfilter.scoring.model import Model, load
from bitextfilter.similarity.neighbours import matches
from bitextfilter.similarity.vectors import unit_rows
from bitextfilter.training.data import PairFile

Pair = tuple[str, str]

PAIRS_PER_FILE = 30_000
BLOCK = 500
"""Rows in a row that are taken or left together: noise comes from neighbours, too."""
WORDS = range(3, 61)
FEW_WORDS = 6
SHARE_OF_FEW = 0.5
"""The part of the pairs of fewer words that is taken."""
COPY = 0.75
"""Sides that share so much of their words are no translation."""

FINE = {"name": 1, "negation": 1, "number": 1}
"""Kinds that few pairs allow, and that are hard to see, with their weights. They spoil a word, not
the pair: where a classifier can only guess, it need not put the pair among the worst."""
EVERY = {**dict.fromkeys(NOISE_KINDS, 2), "shuffled": 3, "neighbouring": 3, "extra": 3}
VERSIONS = [(3, EVERY), (3, EVERY), (12, EVERY), (6, FINE)]
"""A pair is damaged once for each of these numbers of words it reaches, in one of the kinds."""

HARD = 70_000
HARD_WORDS = 6
"""Near neighbours of shorter sentences are often translations too."""
CANDIDATES = 8
LIKE = 0.5
"""Nor is it a negative if it shares so much of its words with a side of the true pair,"""
DISTANCE = 0.1
"""or is not so much farther, by cosine, than the true translation."""

SEED = 1


def shared(one: str, other: str) -> float:
    """Of all words of two texts, the part that both have."""
    left, right = set(one.casefold().split()), set(other.casefold().split())
    return len(left & right) / max(1, len(left | right))


def chosen(path: str) -> list[Pair]:
    """Some distinct pairs of a file, in its order."""
    draw = random.Random(SEED)

    def fits(pair: Pair) -> bool:
        words = min(len(side.split()) for side in pair)
        taken = words >= FEW_WORDS or draw.random() < SHARE_OF_FEW
        longest = max(len(side.split()) for side in pair)
        return taken and words in WORDS and longest in WORDS and shared(*pair) < COPY

    pairs = list(filter(fits, dict.fromkeys(PairFile(path).texts())))
    blocks = [pairs[start : start + BLOCK] for start in range(0, len(pairs), BLOCK)]
    part = PAIRS_PER_FILE / max(1, len(pairs))
    return [pair for block in blocks if draw.random() < part for pair in block]


def noise(
    files: Collection[list[Pair]], languages: tuple[str, str], foreign: list[str]
) -> Iterator[tuple[str, str, str]]:
    """Several noisy versions of each pair, made of its neighbours in the file, and their kinds."""
    for seed, (fewest, weights) in enumerate(VERSIONS, SEED):
        settings = NoiseSettings(languages, foreign, (fewest, WORDS.stop - 1), PAIRS_PER_FILE)
        possible = {kind: w for kind, w in weights.items() if settings.lacks(kind) is None}
        rates = {kind: weight / sum(possible.values()) for kind, weight in possible.items()}
        for pairs in files:
            for source, target, kind in noisy_pairs(pairs, rates, seed, settings):
                if kind != CLEAN:
                    yield source, target, kind


def hard(model: Model, pairs: list[Pair]) -> Iterator[Pair]:
    """Sources with the nearest target that is unlikely to be a translation, and the other way."""
    sides = list(zip(*pairs, strict=True))
    vectors = [
        unit_rows(model.encode(side, language))
        for side, language in zip(sides, model.languages, strict=True)
    ]
    rows = [row for row, text in enumerate(sides[0]) if len(text.split()) >= HARD_WORDS]
    rows = sorted(random.Random(SEED).sample(rows, min(HARD, len(rows))))
    for here, there in ((0, 1), (1, 0)):
        near = matches(vectors[here][rows], vectors[there], CANDIDATES)
        for row, places in zip(rows, near, strict=True):
            cosines = vectors[there][[row, *places]] @ vectors[here][row]
            for other, cosine in zip(places, cosines[1:], strict=True):
                likeness = max(shared(side[row], side[other]) for side in sides)
                if cosine <= cosines[0] - DISTANCE and likeness < LIKE:
                    yield sides[0][(row, other)[here]], sides[1][(row, other)[there]]
                    break


def write(path: Path, pairs: Collection[Pair]) -> None:
    """Write pairs in an order that depends on nothing else."""
    with open_output(path) as file:
        file.writelines(f"{source}\t{target}\n".encode() for source, target in sorted(pairs))


def negatives(
    noisy: Iterator[tuple[str, str, str]], positives: Collection[Pair]
) -> tuple[set[Pair], set[Pair]]:
    """Tell the noisy pairs that are no translations from those that are nearly."""
    sides: tuple[set[Pair], set[Pair]] = set(), set()
    for source, target, kind in noisy:
        if (source, target) not in positives:
            sides[kind in FINE].add((source, target))
    wrong, nearly = sides
    return wrong - nearly, nearly


def main(folder: str, output: Path, foreign: str, paths: list[str]) -> None:
    """Write the three files."""
    model = load(folder, threads=int(os.environ.get("THREADS", "1")))
    files = [chosen(path) for path in paths]
    positives = {pair for pairs in files for pair in pairs}
    if not positives:
        sys.exit(f"no pairs of {WORDS.start} to {WORDS.stop - 1} words a side to learn from")
    noisy = noise(files, model.languages, list(read_lines(foreign)))
    wrong, nearly = negatives(noisy, positives)
    wrong.update({*hard(model, sorted(positives))} - positives - nearly)
    write(output / "positives.tsv", positives)
    write(output / "nearly.tsv", nearly)
    write(output / "negatives.tsv", wrong)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
