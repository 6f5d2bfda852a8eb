"""What a lexicon explains, against naive loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.papers.paraphrases import RECALL_RANKS, best_first, explained, measure_lexicon


def sentences(count: int, seed: int) -> list[tuple[list[str], list[str]]]:
    random = np.random.default_rng(seed)
    words = [*"abcdefgh", ".", "!"]
    sides = ([[words[i] for i in random.integers(0, 10, random.integers(1, 7))]
              for _ in range(count)] for _ in "xy")  # fmt: skip
    return list(zip(*sides, strict=True))


def entries(seed: int) -> list[tuple[str, list[str], float]]:
    random = np.random.default_rng(seed)
    return [
        (str(random.choice([*"abcdef"])), [str(w) for w in random.choice([*"abcdefgh"], size)],
         float(random.integers(0, 4)))
        for size in random.integers(1, 4, 80)
    ]  # fmt: skip


def inside(part: list[str], whole: list[str]) -> bool:
    starts = range(len(whole) - len(part) + 1)
    return any(whole[i : i + len(part)] == part for i in starts)


def naive(pairs: list[tuple[list[str], list[str]]], some: list[tuple[str, list[str], float]]) -> list[float]:  # fmt: skip # noqa: E501
    differ, hits = 0, [0, 0, 0]
    for source, target in pairs:
        for word in set(source) - set(target) - {".", "!"}:
            differ += 1
            own = [entry for entry in some if entry[0] == word]
            own.sort(key=lambda entry: -entry[2])
            for place, rank in enumerate(RECALL_RANKS):
                hits[place] += any(inside(entry[1], target) for entry in own[:rank])
    return [differ, *hits]


def test_counts_and_recalls_are_those_of_naive_loops() -> None:
    pairs, some = sentences(60, 1), entries(2)
    best = best_first(some)
    expected = naive(pairs, some)
    assert explained(pairs, best).sum(axis=0).tolist() == expected
    found = measure_lexicon(pairs, best, Bootstrap(200, 3))
    assert [row.rank for row in found] == list(RECALL_RANKS)
    for row, hits in zip(found, expected[1:], strict=True):
        assert row.recall.value == pytest.approx(100 * hits / expected[0])
        assert row.recall.low < row.recall.value < row.recall.high
        assert row.words == expected[0]
    assert 0 < expected[1] < expected[3] < expected[0]


def test_random_pairs_have_targets_of_others() -> None:
    """Each pair has words of its own: nothing is explained by a target of another."""
    pairs = [([f"a{n}"], [f"b{n}"]) for n in range(9)]
    best = {f"a{n}": [[f"b{n}"]] for n in range(9)}
    for seed in range(20):
        found = measure_lexicon(pairs, best, Bootstrap(10, seed))
        assert all((row.recall.value, row.random) == (100, 0) for row in found)
    every = {f"a{n}": [[f"b{m}"] for m in range(9)] for n in range(9)}
    assert [row.random for row in measure_lexicon(pairs, every, Bootstrap(10))][2] == 100


def test_nothing_that_differs_has_no_recall() -> None:
    found = measure_lexicon([(["a"], ["a"])] * 2, {}, Bootstrap(10))
    assert all(math.isnan(row.recall.value) and row.words == 0 for row in found)
