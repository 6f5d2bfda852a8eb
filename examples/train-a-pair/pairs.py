"""Make training pairs for a classifier from clean bitext and an encoder trained on it.

    python pairs.py MODEL OUTPUT FOREIGN FILE.tsv...

Writes OUTPUT/positives.tsv: distinct pairs of 1 to 60 words a side, at most 20,000 of each FILE;
and what is made of them. OUTPUT/negatives.tsv has noisy versions in the kinds of crawls of
bitext-noise (sentences in neither language come from FOREIGN), and hard negatives, which are
sources with the nearest other target, and the other way. OUTPUT/contrasts.tsv has versions with one
mistake: another name, number or negation, and the kinds of mistakes of bitext-noise, with the
quality that is left and the pair without the mistake; related words and translations of words are
the nearest by MODEL. The same MODEL and FILEs give the same pairs. Memory holds the text and the
vectors of the positives: some 12 kB each.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from bitextfilter.arrays import Vectors
from bitextfilter.damage.material import words_of
from bitextfilter.damage.mistakes import MISTAKES
from bitextfilter.damage.noise import CLEAN, CRAWL_NOISE, NoiseSettings, noisy_pairs
from bitextfilter.io.files import open_output, read_lines
from bitextfilter.io.workers import map_in_order
from bitextfilter.scoring.model import Model, load
from bitextfilter.search.bidirectional import bidirectional_search
from bitextfilter.similarity.vectors import Neighbours, unit_rows
from bitextfilter.training.data import PairFile

Pair = tuple[str, str]
Versions = list[tuple[int, int, dict[str, int]]]
Related = dict[str, dict[str, list[str]]]
Lexicon = dict[tuple[str, str], dict[str, list[str]]]


PAIRS_PER_FILE = 20_000
BLOCK = 500
"""Rows in a row that are taken or left together: noise comes from neighbours, too."""
WORDS = range(1, 61)
FEW_WORDS = 6
SHARE_OF_FEW = 0.5
"""The part of the pairs of fewer words that is taken."""
COPY = 0.75
"""Sides that share so much of their words are no translation."""

CRAWL = {**dict.fromkeys(CRAWL_NOISE, 2), "shuffled": 3, "neighbouring": 3, "extra": 3}
FRAGMENT = {"shuffled": 2, "copied": 1, "wrong-language": 1}
NEGATIVES = [(1, 2, FRAGMENT), (3, 60, CRAWL), (3, 60, CRAWL), (12, 60, CRAWL)]
"""A pair is damaged once for each of these ranges of words that it is in, in one of the kinds."""

FINE = {"name": 2, "negation": 2, "number": 1}
"""Kinds that spoil a word and with it the pair."""
FINE_QUALITY = 0.01
COMMON = ["word-left-out", "words-left-out", "word-added", "related-word", "other-form"]
COMMON += ["function-word", "punctuation", "letter-case"]
COMMON += ["swapped-words", "repeated-word", "misspelt"]
SMALL = {**dict.fromkeys(MISTAKES, 2), **dict.fromkeys(COMMON, 4)}
CONTRASTS = [(4, 60, FINE), (10, 60, FINE), (2, 60, SMALL), (2, 60, SMALL)]
"""As ``NEGATIVES``, with mistakes."""

RELATED, TRANSLATIONS = 6, 2
"""Nearest words of the same language, and of the other one."""
LIKE_WORDS = 0.35
"""The least cosine of related words and of translations."""
KNOWN = 4
"""Occurrences of a word that has related ones or translations, at least."""

HARD = 60_000
HARD_WORDS = 6
"""Near neighbours of shorter sentences are often translations too."""
CANDIDATES = 8
LIKE = 0.5
"""Nor is it a negative if it shares so much of its words with a side of the true pair,"""
DISTANCE = 0.1
"""or is not so much farther, by cosine, than the true translation."""

SEED = 1
THREADS = int(os.environ.get("THREADS", "1"))


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


def nearest(a: Vectors, b: Vectors, count: int) -> tuple[Neighbours, Neighbours]:
    """Return the nearest rows of the other side, for each row of either."""
    return bidirectional_search(a, b, count, THREADS)


def noise(
    files: Collection[list[Pair]], versions: Versions, material: NoiseSettings
) -> Iterator[tuple[Pair, str, Pair]]:
    """Noisy versions of each pair, of its neighbours in the file, their kinds, and the pair."""
    for seed, (fewest, most, weights) in enumerate(versions, SEED):
        settings = replace(material, words=(fewest, most))
        possible = {kind: w for kind, w in weights.items() if settings.lacks(kind) is None}
        rates = {kind: weight / sum(possible.values()) for kind, weight in possible.items()}
        for pairs in files:
            for pair, (source, target, kind) in zip(
                pairs, noisy_pairs(pairs, rates, seed, settings), strict=True
            ):
                if kind != CLEAN:
                    yield (source, target), kind, pair


def listed(
    files: Collection[list[Pair]], material: NoiseSettings, versions: Versions
) -> list[tuple[Pair, str, Pair]]:
    """Return :func:`noise`, for a process beside another."""
    return list(noise(files, versions, material))


def near_words(model: Model, pairs: Collection[Pair]) -> tuple[Related, Lexicon]:
    """Related words of each language, and translations of words, by the model's vectors."""
    words, vectors = [], []
    for side, language in enumerate(model.languages):
        counts = Counter(word for pair in pairs for word in words_of(pair[side].lower()))
        known = [word for word, count in counts.items() if count >= KNOWN and len(word) > 1]
        words.append(known)
        vectors.append(unit_rows(model.encode(known, language)))

    def known(side: int, other: int, most: int, near: Neighbours) -> dict[str, list[str]]:
        table = {}
        for word, cosines, places in zip(words[side], *map(np.ndarray.tolist, near), strict=True):
            found = [
                words[other][place]
                for cosine, place in zip(cosines, places, strict=True)
                if cosine >= LIKE_WORDS
                and not (side == other and _same_stem(words[other][place], word))
            ]
            if found:
                table[word] = found[:most]
        return table

    one, two = model.languages
    related = {
        language: known(side, side, RELATED, nearest(vectors[side], vectors[side], RELATED + 1)[0])
        for side, language in enumerate((one, two))
    }
    forth, back = nearest(vectors[0], vectors[1], TRANSLATIONS + 1)
    lexicon = {
        (one, two): known(0, 1, TRANSLATIONS, forth),
        (two, one): known(1, 0, TRANSLATIONS, back),
    }
    return related, lexicon


def _same_stem(one: str, other: str) -> bool:
    """Whether two words are forms of one."""
    length = max(3, min(len(one), len(other)) * 2 // 3)
    return one[:length] == other[:length]


def hard(model: Model, pairs: list[Pair]) -> Iterator[Pair]:
    """Sources with the nearest target that is unlikely to be a translation, and the other way."""
    sides = list(zip(*pairs, strict=True))
    vectors = [
        unit_rows(model.encode(side, language))
        for side, language in zip(sides, model.languages, strict=True)
    ]
    rows = [row for row, text in enumerate(sides[0]) if len(text.split()) >= HARD_WORDS]
    rows = sorted(random.Random(SEED).sample(rows, min(HARD, len(rows))))
    found = nearest(vectors[0], vectors[1], min(CANDIDATES, len(pairs)))
    for here, there in ((0, 1), (1, 0)):
        right = (vectors[here][rows] * vectors[there][rows]).sum(axis=1)
        near = (each[rows].tolist() for each in found[here])
        for row, own, cosines, places in zip(rows, right, *near, strict=True):
            for cosine, other in zip(cosines, places, strict=True):
                likeness = max(shared(side[row], side[other]) for side in sides)
                if cosine <= own - DISTANCE and likeness < LIKE:
                    yield sides[0][(row, other)[here]], sides[1][(row, other)[there]]
                    break


def write(path: Path, rows: Collection[tuple[str, ...]]) -> None:
    """Write rows in an order that depends on nothing else."""
    with open_output(path) as file:
        file.writelines("\t".join(row).encode() + b"\n" for row in sorted(rows))


def contrasts(
    noisy: Iterable[tuple[Pair, str, Pair]], positives: Collection[Pair]
) -> dict[Pair, tuple[str, str, Pair]]:
    """Pairs with a mistake: kind, quality, and the pair without it."""
    found = {}
    for pair, kind, better in noisy:
        if pair not in positives:
            quality = FINE_QUALITY if kind in FINE else MISTAKES[kind].worth
            found[pair] = kind, f"{quality:g}", better
    return found


def write_examples(
    output: Path, right: set[Pair], wrong: set[Pair], fine: dict[Pair, tuple[str, str, Pair]]
) -> None:
    """Write the three files; a pair is in one of them."""
    rows = [(*pair, kind, q, *b) for pair, (kind, q, b) in fine.items() if pair not in right]
    write(output / "positives.tsv", right)
    write(output / "contrasts.tsv", rows)
    write(output / "negatives.tsv", wrong - right - fine.keys())


def main(folder: str, output: Path, foreign: str, paths: list[str]) -> None:
    """Write the three files."""
    model = load(folder, threads=THREADS)
    files = [chosen(path) for path in paths]
    positives = {pair for pairs in files for pair in pairs}
    if not positives:
        sys.exit(f"no pairs of {WORDS.start} to {WORDS.stop - 1} words a side to learn from")
    related, lexicon = near_words(model, positives)
    material = NoiseSettings(
        model.languages,
        list(read_lines(foreign)),
        window=PAIRS_PER_FILE,
        related=related,
        lexicon=lexicon,
    )
    make = partial(listed, files, material)
    mistaken, noisy = map_in_order(make, [CONTRASTS, NEGATIVES], min(THREADS, 2))
    fine = contrasts(mistaken, positives)
    wrong = {pair for pair, *_ in noisy}
    wrong.update(hard(model, sorted(positives)))
    write_examples(output, positives, wrong, fine)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
