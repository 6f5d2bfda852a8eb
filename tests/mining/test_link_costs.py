"""Costs of links by length, against the formulas of Gale & Church 1993 written out."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from bitextfilter.mining.link_costs import COST_UNIT, LengthLinkCosts
from bitextfilter.mining.monotonic import LinkSize, Span, align

SOURCE = [12, 40, 7, 88, 63]
TARGET = [14, 44, 95, 30, 31, 8]


def ends(lengths: list[int]) -> np.ndarray:
    return np.array([0, *itertools.accumulate(lengths)])


def probability(source: int, target: int, ratio: float) -> float:
    mean = (source + target / ratio) / 2
    delta = (target - source * ratio) / math.sqrt(6.8 * max(mean, 1))
    return 2 * (1 - NormalDist().cdf(abs(delta)))


RATIO = sum(TARGET) / sum(SOURCE)
PRIORS = {(1, 1): 0.89, (1, 2): 0.0445, (2, 1): 0.0445, (2, 2): 0.011}


def test_costs_of_links_and_skips() -> None:
    costs = LengthLinkCosts(ends(SOURCE), ends(TARGET))
    assert {tuple(step) for step in costs.links} == set(PRIORS)
    block = costs.block(slice(0, 6), slice(0, 7))
    for number, (a, b) in enumerate(costs.links):
        for i, j in itertools.product(range(a, 6), range(b, 7)):
            p = probability(sum(SOURCE[i - a : i]), sum(TARGET[j - b : j]), RATIO)
            expected = -math.log(p) - math.log(PRIORS[a, b])
            assert block[number, i, j] / COST_UNIT == pytest.approx(expected, rel=1e-5)
    for length, cost in zip(SOURCE, costs.skip_source, strict=True):
        expected = -math.log(probability(length, 0, RATIO)) - math.log(0.0099 / 2)
        assert cost / COST_UNIT == pytest.approx(expected, rel=1e-5)
    for length, cost in zip(TARGET, costs.skip_target, strict=True):
        expected = -math.log(probability(0, length, RATIO)) - math.log(0.0099 / 2)
        assert cost / COST_UNIT == pytest.approx(expected, rel=1e-5)


def test_a_part_of_the_costs_is_the_same() -> None:
    costs = LengthLinkCosts(ends(SOURCE), ends(TARGET))
    whole = costs.block(slice(0, 6), slice(0, 7))
    assert (costs.block(slice(2, 5), slice(3, 6)) == whole[:, 2:5, 3:6]).all()


def test_scores_are_the_probabilities_of_the_lengths() -> None:
    costs = LengthLinkCosts(ends(SOURCE), ends(TARGET))
    found = costs.scores([Span(0, 1, 0, 1), Span(1, 3, 1, 2)])
    expected = [probability(12, 14, RATIO), probability(47, 44, RATIO)]
    assert found == pytest.approx(expected, rel=1e-6)
    assert costs.scores([]) == []


def test_lengths_that_could_not_be_farther_apart_cost_much_not_infinitely() -> None:
    costs = LengthLinkCosts(ends([10**6, 1]), ends([1, 10**6]))
    assert np.isfinite(costs.block(slice(1, 3), slice(1, 3))).all()
    assert costs.block(slice(1, 2), slice(1, 2))[0] > 200 * COST_UNIT


def test_documents_of_two_translators() -> None:
    random = np.random.default_rng(3)
    source = random.integers(20, 200, 60).tolist()
    target = [round(1.2 * length) + int(random.integers(-4, 5)) for length in source]
    target[10:12] = [sum(target[10:12])]  # two as one
    target[30:31] = [target[30] // 2, target[30] - target[30] // 2]  # one as two
    links = align(LengthLinkCosts(ends(source), ends(target)))
    sizes = [LinkSize(len(link.source), len(link.target)) for link in links]
    assert sizes == [*[(1, 1)] * 10, (2, 1), *[(1, 1)] * 19, (1, 2), *[(1, 1)] * 28]


@pytest.mark.parametrize("sides", [([], []), ([5, 6], []), ([], [7])])
def test_nothing_on_a_side(sides: tuple[list[int], list[int]]) -> None:
    links = align(LengthLinkCosts(*map(ends, sides)))
    assert [len(link.source) for link in links] == [1] * len(sides[0]) + [0] * len(sides[1])
    assert all(link.score is None for link in links)


def test_halves() -> None:
    coarser = LengthLinkCosts(ends(SOURCE), ends(TARGET)).coarser()
    again = LengthLinkCosts(ends([52, 95, 63]), ends([58, 125, 39]))
    rows = slice(0, 4)
    assert (coarser.block(rows, rows) == again.block(rows, rows)).all()
