"""Words without a similar one on the other side, against a count word by word."""

from __future__ import annotations

import functools
import itertools
import math
import random

import numpy as np
import pytest

from bitextfilter.arrays import Vectors
from bitextfilter.mining import word_coverage
from bitextfilter.mining.monotonic import LinkSize
from bitextfilter.mining.word_coverage import HIGH, LOW, WordCoverage, document_words

DIM = 6
SIZES = [LinkSize(a, b) for a in (1, 2, 3) for b in (1, 2, 3)]


@functools.cache
def vector(word: str) -> Vectors:
    seeds = 1000 * int(word[1:]), 1000 * int(word[1:]) + ord(word[0])
    shared, own = (np.random.default_rng(seed).standard_normal(DIM) for seed in seeds)
    return (shared + 0.7 * own).astype(np.float32)


def encode(words: list[str]) -> Vectors:
    return np.array([vector(word) for word in words], np.float32).reshape(len(words), DIM)


def made(letter: str, n: int, seed: int) -> list[str]:
    generator = random.Random(seed)
    sentences = [
        " ".join(f"{letter}{generator.randrange(30)}" for _ in range(generator.randrange(7)))
        for _ in range(n)
    ]
    return [sentences[0].upper(), *sentences[1:]]


def bag(sentence: str) -> set[str]:
    return set(sentence.lower().split())


def weight(word: str, side: list[str]) -> float:
    return math.log((1 + len(side)) / sum(word in bag(sentence) for sentence in side))


def covered(word: str, others: set[str]) -> float:
    one = vector(word).astype(float)
    cosines = [
        one @ vector(other) / np.linalg.norm(one) / np.linalg.norm(vector(other))
        for other in others
    ]
    return min(1.0, max(0.0, (max(cosines, default=0.0) - LOW) / (HIGH - LOW)))


def uncovered(here: list[str], there: list[str], side: list[str]) -> float:
    others = set().union(*map(bag, there))
    return sum(
        weight(word, side) * (1 - covered(word, others))
        for sentence in here
        for word in bag(sentence)
    )


def unit_of(sides: list[list[str]]) -> float:
    """The mean weight of a sentence."""
    masses = [
        sum(weight(word, side) for word in bag(sentence)) for side in sides for sentence in side
    ]
    return sum(masses) / len(masses)


def coverage_of(sides: list[list[str]]) -> WordCoverage:
    return WordCoverage(*(document_words(side, encode) for side in sides), 3)


@pytest.mark.parametrize("products", [1 << 22, 40])
@pytest.mark.parametrize("part", [(slice(0, 9), slice(0, 8)), (slice(3, 6), slice(2, 8))])
def test_uncovered_words_by_definition(
    products: int, part: tuple[slice, slice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_coverage, "_PRODUCTS", products)
    sides = [made("s", 8, 1), made("t", 7, 2)]
    assert any(not sentence for side in sides for sentence in side)
    found = coverage_of(sides).uncovered(SIZES, *part)
    unit = unit_of(sides)
    for size, block in zip(SIZES, found, strict=True):
        for i, j in itertools.product(*(range(each.start, each.stop) for each in part)):
            if i >= size.source and j >= size.target:
                here, there = sides[0][i - size.source : i], sides[1][j - size.target : j]
                expected = uncovered(here, there, sides[0]) + uncovered(there, here, sides[1])
                cell = block[i - part[0].start, j - part[1].start]
                assert cell == pytest.approx(expected / unit, abs=1e-4)


def test_the_words_of_a_sentence_weigh_1_in_the_mean() -> None:
    sides = [made("s", 8, 1), made("t", 7, 2)]
    masses = coverage_of(sides).masses
    assert np.concatenate(masses).mean() == pytest.approx(1)
    for found, side in zip(masses, sides, strict=True):
        expected = [sum(weight(word, side) for word in bag(sentence)) for sentence in side]
        assert found * unit_of(sides) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize("sides", [[[], []], [["s1"], []], [[], ["t1"]], [["", "-"], ["..."]]])
def test_nothing_to_cover(sides: list[list[str]]) -> None:
    found = coverage_of(sides)
    rows, columns = (slice(0, len(side) + 1) for side in sides)
    assert found.uncovered(SIZES, rows, columns).shape == (9, len(sides[0]) + 1, len(sides[1]) + 1)
    assert [len(masses) for masses in found.masses] == [len(side) for side in sides]


def test_a_sentence_of_very_many_words_counts_by_some() -> None:
    sentence = " ".join(f"s{number}" for number in range(1000))
    words = document_words([sentence, "s1 s2"], encode)
    assert 200 <= words.numbers.lengths[0] <= word_coverage.MOST_WORDS
    assert words.numbers.lengths[1] == 2
