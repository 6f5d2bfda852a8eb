"""Mined pairs and sentence links against gold ones: naive versions, and figures by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Set

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bitextfilter.evaluation.mining import (
    MinedScores,
    MiningFigure,
    compare_links,
    compare_pairs,
    measure_alignment,
    measure_mining,
)
from bitextfilter.evaluation.result import Bootstrap, resamples
from bitextfilter.io.documents import LinkedIndices

Pair = tuple[str, str]
PAIR = st.tuples(st.sampled_from("abcd"), st.sampled_from("ABCD"))
SCORE = st.sampled_from([-math.inf, -1.0, 0.0, 0.25, 0.5, 2.0])
MINED = st.dictionaries(PAIR, SCORE, min_size=1, max_size=16)
GOLD = st.sets(PAIR, min_size=1, max_size=16)
ONCE = Bootstrap(1)


def naive_cut(kept: Set[Pair], gold: Set[Pair]) -> dict[str, float]:
    right = len(kept & gold)
    precision = right / len(kept) if kept else 0.0
    recall = right / len(gold)
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {"f1": f1, "precision": precision, "recall": recall}


def at_least(mined: Mapping[Pair, float], threshold: float) -> set[Pair]:
    return {pair for pair, score in mined.items() if score >= threshold}


def naive_best(mined: Mapping[Pair, float], gold: Set[Pair]) -> tuple[float, dict[str, float]]:
    best, found = math.nan, {"f1": -1.0}
    for threshold in sorted(set(mined.values()) - {-math.inf}, reverse=True):
        figures = naive_cut(at_least(mined, threshold), gold)
        if figures["f1"] >= found["f1"] - 1e-12:
            best, found = threshold, figures
    return best, found


def naive_average_precision(mined: Mapping[Pair, float], gold: Set[Pair]) -> float:
    total, recall_before = 0.0, 0.0
    for threshold in sorted(set(mined.values()), reverse=True):
        figures = naive_cut(at_least(mined, threshold), gold)
        total += (figures["recall"] - recall_before) * figures["precision"]
        recall_before = figures["recall"]
    return total


def measured(
    mined: Mapping[Pair, float],
    gold: Set[Pair],
    threshold: float | None = None,
    bootstrap: Bootstrap = ONCE,
) -> dict[tuple[str, str], MiningFigure]:
    results = measure_mining(compare_pairs(mined, gold), threshold, bootstrap)
    found = {(result.cut, result.measure): result for result in results}
    assert len(found) == len(results) == 7
    return found


def check_cut(
    found: dict[tuple[str, str], MiningFigure],
    name: str,
    kept: Set[Pair],
    gold: Set[Pair],
) -> None:
    for measure, value in naive_cut(kept, gold).items():
        result = found[name, measure]
        assert result.estimate.value == pytest.approx(value)
        assert (result.kept, result.right) == (len(kept), len(kept & gold))


@given(MINED, GOLD)
def test_the_best_cut_is_that_of_all_loops(mined: dict[Pair, float], gold: set[Pair]) -> None:
    assume(max(mined.values()) > -math.inf)
    threshold, _ = naive_best(mined, gold)
    found = measured(mined, gold)
    check_cut(found, "best", at_least(mined, threshold), gold)
    assert {r.threshold for (cut, _), r in found.items() if cut == "best"} == {threshold}


@given(MINED, GOLD, st.one_of(st.none(), st.sampled_from([-1.0, -0.5, 0.5, 1.0, 3.0, math.inf])))
def test_a_given_cut_and_all(
    mined: dict[Pair, float], gold: set[Pair], threshold: float | None
) -> None:
    assume(max(mined.values()) > -math.inf)
    found = measured(mined, gold, threshold)
    name = "all" if threshold is None else "given"
    check_cut(found, name, at_least(mined, -math.inf if threshold is None else threshold), gold)
    assert {r.threshold for (cut, _), r in found.items() if cut == name} == {threshold}


@given(MINED, GOLD)
def test_average_precision_is_that_of_the_loop(mined: dict[Pair, float], gold: set[Pair]) -> None:
    assume(max(mined.values()) > -math.inf)
    result = measured(mined, gold)["all", "average_precision"]
    assert result.estimate.value == pytest.approx(naive_average_precision(mined, gold))
    assert (result.kept, result.right) == (len(mined), len(mined.keys() & gold))


def test_pairs_that_tie_are_kept_together() -> None:
    gold = {("a", "A"), ("b", "B")}
    mined = {("a", "A"): 1.0, ("b", "B"): 0.5, ("c", "C"): 0.5, ("d", "D"): 0.1}
    best = measured(mined, gold)["best", "f1"]
    assert (best.threshold, best.kept, best.right) == (0.5, 3, 2)
    assert best.estimate.value == pytest.approx(4 / 5)


def test_of_cuts_that_tie_in_f1_the_lowest_wins() -> None:
    tied = {("a", "A"): 3.0, ("x", "X"): 2.0, ("y", "Y"): 2.0, ("b", "B"): 1.0, ("z", "Z"): 1.0}
    gold = {("a", "A"), ("b", "B"), ("c", "C")}
    assert measured(tied, gold)["best", "f1"].threshold == 1.0  # 2 / (1 + 3) = 4 / (5 + 3)
    tied["w", "W"] = 1.0
    assert measured(tied, gold)["best", "f1"].threshold == 3.0


def test_copies_of_a_gold_pair_count_once_and_a_source_may_have_several_targets() -> None:
    gold = [("a", "A"), ("a", "A"), ("a", "B")]
    compared = compare_pairs({("a", "A"): 1.0, ("a", "B"): 0.5, ("a", "C"): 0.2}, gold)
    assert compared.gold == 2
    assert compared.right.tolist() == [True, True, False]


def test_texts_are_compared_character_for_character() -> None:
    others = [("A", "ü"), ("a ", "ü"), ("a", "u\u0308"), ("ü", "a"), ("aü", "")]
    compared = compare_pairs(dict.fromkeys(others, 1.0), [("a", "ü")])
    assert not compared.right.any()


def test_intervals_are_of_pairs_drawn_anew_together() -> None:
    generator = np.random.default_rng(3)
    gold = {(str(i), "") for i in range(40)}
    places = [*range(30), *range(100, 120)]
    mined = {(str(i), ""): round(float(generator.normal(i < 40)), 1) for i in places}
    found = measured(mined, gold, 0.5, Bootstrap(300, 5))
    # The same draws, of a row for each pair that is mined or gold, counted in plain loops.
    rows = [(mined.get(pair), pair in gold) for pair in sorted(mined.keys() | gold)]
    cells = sorted(set(rows), key=str)
    counts = np.array([rows.count(cell) for cell in cells], dtype=np.float64)
    drawn = []
    for (again,) in resamples([counts], Bootstrap(3000, 8)):
        kept = right = true = 0.0
        for (score, is_gold), times in zip(cells, again, strict=True):
            passes = score is not None and score >= 0.5
            kept += times * passes
            right += times * (passes and is_gold)
            true += times * is_gold
        drawn.append((2 * right / (kept + true), right / kept, right / true))
    expected = np.quantile(drawn, [0.025, 0.975], axis=0).T
    for measure, ends in zip(("f1", "precision", "recall"), expected, strict=True):
        value, low, high = found["given", measure].estimate
        assert low < value < high
        assert (low, high) == pytest.approx(ends, abs=0.03)


def test_draws_without_a_gold_pair_are_left_out() -> None:
    mined = {("a", "A"): 1.0} | {(str(i), "x"): 0.5 for i in range(9)}
    for result in measured(mined, {("a", "A")}, None, Bootstrap(200)).values():
        assert not np.isnan(result.estimate).any()
    assert measured(mined, {("a", "A")}, None, Bootstrap(200))["all", "recall"].estimate.low == 1


@pytest.mark.parametrize(
    ("scores", "right", "gold", "problem"),
    [
        ([1.0, 2.0], [True], 1, "scores of"),
        ([[1.0]], [[True]], 1, "scores of"),
        ([1.0], [False], 0, "found of 0"),
        ([1.0, 2.0], [True, True], 1, "2 pairs found of 1"),
        ([1.0, math.nan], [True, False], 1, "scores are needed"),
        ([-math.inf], [True], 1, "scores are needed"),
        ([], [], 1, "scores are needed"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    scores: list[float], right: list[bool], gold: int, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        MinedScores(np.array(scores, dtype=np.float64), np.array(right, dtype=np.bool_), gold)


GOLD_LINKS: list[LinkedIndices] = [
    ((0,), (0,)),
    ((1, 2), (1,)),
    ((), (2,)),
    ((3,), (3, 4)),
    ((4,), (5,)),
]
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
    got = values(GOLD_LINKS, FOUND)
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
    assert values(GOLD_LINKS, [*FOUND, *FOUND, nothing]) == values(
        [*GOLD_LINKS, nothing, GOLD_LINKS[0]], FOUND
    )


def test_documents_count_together() -> None:
    both = compare_links(GOLD_LINKS, FOUND) + compare_links(GOLD_LINKS, GOLD_LINKS)
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


@pytest.mark.parametrize(("gold", "found"), [([], FOUND), (GOLD_LINKS, []), ([((), (1,))], FOUND)])
def test_without_links(gold: list[LinkedIndices], found: list[LinkedIndices]) -> None:
    with pytest.raises(ValueError, match="no links"):
        measure_alignment(compare_links(gold, found), Bootstrap(10))
