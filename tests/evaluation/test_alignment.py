"""Strict and lax figures of links, against their definitions link by link."""

from __future__ import annotations

import random

import pytest

from bitextfilter.evaluation.mining import (
    compare_links,
    measure_alignment,
)
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.io.documents import LinkedIndices

GOLD: list[LinkedIndices] = [((0,), (0,)), ((1, 2), (1,)), ((), (2,)), ((3,), (3, 4)), ((4,), (5,))]
FOUND: list[LinkedIndices] = [
    ((0,), (0,)),
    ((1,), (1,)),
    ((2,), ()),
    ((), (2,)),
    ((3,), (5,)),
    ((4,), (3,)),
]


def values(gold: list[LinkedIndices], found: list[LinkedIndices]) -> dict[str, float]:
    results = measure_alignment(compare_links(gold, found), Bootstrap(10))
    return {f"{result.how} {result.measure}": result.estimate.value for result in results}


def test_by_hand() -> None:
    got = values(GOLD, FOUND)
    # Strictly right: 0-0 and the left out target 2. Laxly also 1-1; 2-nothing, 3-5 and 4-3 are not.
    assert got["strict precision"] == pytest.approx(2 / 6)
    assert got["lax precision"] == pytest.approx(3 / 6)
    # Of the four gold links that join something: 0-0 strictly, 12-1 laxly.
    assert got["strict recall"] == pytest.approx(1 / 4)
    assert got["lax recall"] == pytest.approx(2 / 4)
    assert got["strict f1"] == pytest.approx(2 * (2 / 6) * (1 / 4) / (2 / 6 + 1 / 4))


def random_links(seed: int) -> list[LinkedIndices]:
    generator, links, i, j = random.Random(seed), [], 0, 0
    while i < 20 and j < 20:
        a, b = generator.choice([(1, 1), (1, 1), (1, 1), (2, 1), (1, 2), (0, 1), (1, 0), (0, 0)])
        links.append((tuple(range(i, i + a)), tuple(range(j, j + b))))
        i, j = i + a, j + b
    return links


def laxly(link: LinkedIndices, links: list[LinkedIndices]) -> bool:
    return any(set(link[0]) & set(other[0]) and set(link[1]) & set(other[1]) for other in links)


@pytest.mark.parametrize("seed", range(30))
def test_by_definition(seed: int) -> None:
    gold, found = random_links(seed), random_links(seed + 1000)
    gold, found = ([link for link in links if any(link)] for links in (gold, found))
    whole = [link for link in gold if all(link)]
    lax = [link in gold or laxly(link, gold) for link in found]
    got = values(gold, found)
    assert got["strict precision"] == pytest.approx(sum(x in gold for x in found) / len(found))
    assert got["lax precision"] == pytest.approx(sum(lax) / len(found))
    assert got["strict recall"] == pytest.approx(sum(x in found for x in whole) / len(whole))
    assert got["lax recall"] == pytest.approx(sum(laxly(x, found) for x in whole) / len(whole))


def test_copies_and_links_of_nothing_do_not_count() -> None:
    nothing: LinkedIndices = ((), ())
    assert values(GOLD, [*FOUND, *FOUND, nothing]) == values([*GOLD, nothing, GOLD[0]], FOUND)


def test_documents_count_together() -> None:
    both = compare_links(GOLD, FOUND) + compare_links(GOLD, GOLD)
    figures = measure_alignment(both, Bootstrap(10))
    assert figures[0].estimate.value == pytest.approx((2 + 5) / (6 + 5))
    assert figures[1].estimate.value == pytest.approx((1 + 4) / (4 + 4))


def test_intervals_hold_the_value_and_the_seed_fixes_them() -> None:
    compared = compare_links(random_links(1), random_links(2))
    first = measure_alignment(compared, Bootstrap(20, 5))
    assert first == measure_alignment(compared, Bootstrap(20, 5))
    assert first != measure_alignment(compared, Bootstrap(20, 6))
    for result in first:
        assert result.estimate.low <= result.estimate.value <= result.estimate.high


def test_all_wrong_is_nothing_not_an_error() -> None:
    assert set(values([((0,), (0,))], [((1,), (1,))]).values()) == {0.0}


@pytest.mark.parametrize(("gold", "found"), [([], FOUND), (GOLD, []), ([((), (1,))], FOUND)])
def test_without_links(gold: list[LinkedIndices], found: list[LinkedIndices]) -> None:
    with pytest.raises(ValueError, match="no links"):
        measure_alignment(compare_links(gold, found), Bootstrap(10))
