"""Examples for a classifier, made of clean pairs and an encoder that was trained on them.

Positives are distinct pairs of 1 to 60 words a side. Negatives are noisy versions in the kinds of
crawls, and hard ones: sources with the nearest other target, and the other way. Contrasts are
versions with one mistake: another name, number or negation, and smaller ones, each with the quality
that is left and the pair without the mistake; related words and translations of words are the
nearest by the encoder. The same encoder and pairs give the same examples. Memory holds the text and
the vectors of the positives: some 12 kB each.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from bitextfilter.damage.material import words_of
from bitextfilter.damage.mistakes import MISTAKES
from bitextfilter.damage.noise import CLEAN, CRAWL_NOISE, NoiseSettings, noisy_pairs
from bitextfilter.errors import InputError
from bitextfilter.io.files import open_output
from bitextfilter.io.workers import map_in_order
from bitextfilter.scoring.model import Model
from bitextfilter.search.bidirectional import bidirectional_search
from bitextfilter.similarity.vectors import Neighbours, unit_rows

Pair = tuple[str, str]
Versions = list[tuple[int, int, dict[str, int]]]
Related = dict[str, dict[str, list[str]]]
Lexicon = dict[tuple[str, str], dict[str, list[str]]]


PAIRS_PER_FILE = 20_000
"""Positives of each file, at most."""
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


def shared(one: str, other: str) -> float:
    """Of all words of two texts, the part that both have."""
    left, right = set(one.casefold().split()), set(other.casefold().split())
    return len(left & right) / max(1, len(left | right))


def chosen(every: Iterable[Pair], most: int = PAIRS_PER_FILE) -> list[Pair]:
    """Return some distinct pairs of a file, about *most* or fewer, in its order."""
    draw = random.Random(SEED)

    def fits(pair: Pair) -> bool:
        words = min(len(side.split()) for side in pair)
        taken = words >= FEW_WORDS or draw.random() < SHARE_OF_FEW
        longest = max(len(side.split()) for side in pair)
        return taken and words in WORDS and longest in WORDS and shared(*pair) < COPY

    pairs = list(filter(fits, dict.fromkeys(every)))
    blocks = [pairs[start : start + BLOCK] for start in range(0, len(pairs), BLOCK)]
    part = most / max(1, len(pairs))
    return [pair for block in blocks if draw.random() < part for pair in block]


def noise(
    files: Collection[Sequence[Pair]], material: NoiseSettings, versions: Versions
) -> list[tuple[Pair, str, Pair]]:
    """Noisy versions of each pair, of its neighbours in the file, their kinds, and the pair."""
    made = []
    for seed, (fewest, most, weights) in enumerate(versions, SEED):
        settings = replace(material, words=(fewest, most))
        possible = {kind: w for kind, w in weights.items() if settings.lacks(kind) is None}
        rates = {kind: weight / sum(possible.values()) for kind, weight in possible.items()}
        for pairs in files:
            for pair, (source, target, kind) in zip(
                pairs, noisy_pairs(pairs, rates, seed, settings), strict=True
            ):
                if kind != CLEAN:
                    made.append(((source, target), kind, pair))
    return made


def near_words(model: Model, pairs: Collection[Pair]) -> tuple[Related, Lexicon]:
    """Return related words of each language, and translations of words, by the model's vectors."""
    words, vectors = [], []
    for side, language in enumerate(model.languages):
        counts = Counter(word for pair in pairs for word in words_of(pair[side].lower()))
        frequent = [word for word, count in counts.items() if count >= KNOWN and len(word) > 1]
        words.append(frequent)
        vectors.append(unit_rows(model.encode(frequent, language)))
    one, two = model.languages
    related = {}
    for language, own, rows in zip((one, two), words, vectors, strict=True):
        found, _ = bidirectional_search(rows, rows, RELATED + 1, model.threads)
        table = _table(own, own, found)
        unlike = {word: [n for n in near if not _same_stem(n, word)] for word, near in table}
        related[language] = {word: near[:RELATED] for word, near in unlike.items() if near}
    lexicon = {}
    both = bidirectional_search(vectors[0], vectors[1], TRANSLATIONS + 1, model.threads)
    for side, found in enumerate(both):
        table = _table(words[side], words[1 - side], found)
        names = (one, two) if side == 0 else (two, one)
        lexicon[names] = {word: near[:TRANSLATIONS] for word, near in table if near}
    return related, lexicon


def _table(words: list[str], others: list[str], found: Neighbours) -> list[tuple[str, list[str]]]:
    """Return each word with the nearest others that are like it."""
    rows = zip(words, *(each.tolist() for each in found), strict=True)
    return [
        (word, [others[n] for cosine, n in zip(cosines, near, strict=True) if cosine >= LIKE_WORDS])
        for word, cosines, near in rows
    ]


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
    found = bidirectional_search(vectors[0], vectors[1], min(CANDIDATES, len(pairs)), model.threads)
    for here, there in ((0, 1), (1, 0)):
        right = (vectors[here][rows] * vectors[there][rows]).sum(axis=1)
        near = (each[rows].tolist() for each in found[here])
        for row, own, cosines, places in zip(rows, right, *near, strict=True):
            for cosine, other in zip(cosines, places, strict=True):
                likeness = max(shared(side[row], side[other]) for side in sides)
                if cosine <= own - DISTANCE and likeness < LIKE:
                    yield sides[0][(row, other)[here]], sides[1][(row, other)[there]]
                    break


def write_rows(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    """Write a TSV."""
    with open_output(path) as file:
        file.writelines("\t".join(row).encode() + b"\n" for row in rows)


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
    """Write the three files of :func:`make_examples`, each sorted; a pair is in one of them."""
    rows = [(*pair, kind, q, *b) for pair, (kind, q, b) in fine.items() if pair not in right]
    write_rows(output / "positives.tsv", sorted(right))
    write_rows(output / "contrasts.tsv", sorted(rows))
    write_rows(output / "negatives.tsv", sorted(wrong - right - fine.keys()))


def make_examples(
    model: Model, files: Sequence[Sequence[Pair]], foreign: Sequence[str], output: Path
) -> None:
    """Write the examples for a classifier of *model* into the folder *output*.

    Args:
        model: an encoder of the languages of the pairs.
        files: the positives of each file, by :func:`chosen`.
        foreign: sentences in neither language; may be empty.
        output: gets ``positives.tsv``, ``negatives.tsv`` and ``contrasts.tsv``.

    Raises InputError if there are no positives.
    """
    positives = {pair for pairs in files for pair in pairs}
    in_order = sorted(positives)
    if not positives:
        raise InputError(
            f"no pairs of {WORDS.start} to {WORDS.stop - 1} words a side to learn from"
        )
    related, lexicon = near_words(model, in_order)
    material = NoiseSettings(
        model.languages, list(foreign), window=PAIRS_PER_FILE, related=related, lexicon=lexicon
    )
    make = partial(noise, files, material)
    mistaken, noisy = map_in_order(make, [CONTRASTS, NEGATIVES], min(model.threads, 2))
    fine = contrasts(mistaken, positives)
    wrong = {pair for pair, *_ in noisy}
    wrong.update(hard(model, in_order))
    write_examples(output, positives, wrong, fine)
