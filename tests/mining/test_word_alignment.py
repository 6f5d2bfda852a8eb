"""Word alignment against naive loops, and on a cipher that it must break."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from bitextfilter.mining import word_alignment
from bitextfilter.mining.word_alignment import TENSION, WordAligner
from bitextfilter.text.ragged import Ragged

Pair = tuple[list[int], list[int]]


def ragged(rows: list[list[int]]) -> Ragged:
    return Ragged.of_lists(rows)


def random_pairs(count: int, size: int, seed: int) -> list[Pair]:
    random = np.random.default_rng(seed)
    sides = ([random.integers(0, size, random.integers(1, 6)).tolist() for _ in range(count)]
             for _ in "ab")  # fmt: skip
    return list(zip(*sides, strict=True))


def prior(i: int, j: int, given: int, explained: int, swapped: bool) -> float:
    """Of one of *given* words i for word j of *explained*; swapped: the target is given."""

    def close(place: int) -> float:
        return math.exp(-TENSION * abs((place + 1) / given - (j + 1) / explained))

    return (1 - word_alignment.NULL) * close(i) / sum(close(each) for each in range(given))


Table = dict[tuple[int | None, int], float]


def naive(pairs: list[Pair], size: int, iterations: int, swapped: bool) -> Table:
    """t(explained | given) as nested loops; None gives a word by itself."""
    table: Table = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts: Table = defaultdict(float)
        for pair in pairs:
            given, explained = pair[::-1] if swapped else pair
            for j, word in enumerate(explained):
                shares: list[tuple[int | None, float]] = [
                    (None, word_alignment.NULL * table[None, word])
                ]
                for i, other in enumerate(given):
                    p = prior(i, j, len(given), len(explained), swapped)
                    shares.append((other, p * table[other, word]))
                total = sum(share for _, share in shares)
                for other_, share in shares:
                    counts[other_, word] += share / total
        totals: dict[int | None, float] = defaultdict(float)
        for (given_word, _), count in counts.items():
            totals[given_word] += count
        table = defaultdict(float, {key: c / totals[key[0]] for key, c in counts.items()})
    return table


@pytest.mark.parametrize("block", [7, 1 << 20])
def test_probabilities_are_those_of_naive_loops(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(word_alignment, "_BLOCK", block)
    pairs, size = random_pairs(12, 5, 1), 5
    aligner = WordAligner(*(ragged([p[side] for p in pairs]) for side in (0, 1)), size)
    aligner.learn(3)
    backward, forward = (naive(pairs, size, 3, swapped) for swapped in (True, False))
    for a in range(size):
        for b in range(size):
            expected = backward.get((b, a), 0.0), forward.get((a, b), 0.0)
            assert aligner.probability(a, b) == pytest.approx(expected, rel=1e-9)
    for direction, table in zip(aligner.directions, (backward, forward), strict=True):
        np.testing.assert_allclose(direction.null, [table[None, word] for word in range(size)])


@pytest.mark.parametrize("block", [7, 1 << 20])
def test_links_are_the_likeliest_of_naive_loops(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(word_alignment, "_BLOCK", block)
    monkeypatch.setattr(word_alignment, "NULL", 0.4)
    pairs = random_pairs(20, 6, 2)
    aligner = WordAligner(*(ragged([p[side] for p in pairs]) for side in (0, 1)), 6)
    aligner.learn(2)
    tables = [naive(pairs, 6, 2, swapped) for swapped in (False, True)]
    none = 0
    for pair, found in zip(pairs, aligner.align(), strict=True):
        for swapped, links in enumerate(found):
            given, explained = pair[::-1] if swapped else pair
            expected = set()
            for j, word in enumerate(explained):
                scores = [
                    prior(i, j, len(given), len(explained), bool(swapped))
                    * tables[swapped][e, word]
                    for i, e in enumerate(given)
                ]
                i = int(np.argmax(scores))
                if scores[i] > word_alignment.NULL * tables[swapped][None, word]:
                    expected.add((j, i) if swapped else (i, j))
                else:
                    none += 1
            assert links == expected
    assert none > 0


def test_a_cipher_is_broken() -> None:
    """Word n is written n + 30, and neighbours may change places."""
    random = np.random.default_rng(3)
    source, target, gold = [], [], []
    for _ in range(300):
        words = random.permutation(30)[: random.integers(3, 9)]
        order = np.arange(len(words))
        if random.random() < 0.5:
            place = random.integers(0, len(words) - 1)
            order[[place, place + 1]] = order[[place + 1, place]]
        source.append(words.tolist())
        target.append((words[order] + 30).tolist())
        gold.append({(int(i), j) for j, i in enumerate(order)})
    aligner = WordAligner(ragged(source), ragged(target), 60)
    aligner.learn()
    for found, links in zip(aligner.align(), gold, strict=True):
        assert found.forward == found.backward == links
    assert all(min(aligner.probability(n, n + 30)) > 0.9 for n in range(30))
    assert aligner.probability(0, 0) == (0.0, 0.0)
