"""Mined pairs, links and recovered translations against naive versions, and by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Set

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bitextfilter.evaluation import recovery
from bitextfilter.evaluation.mining import (
    MinedScores,
    MiningFigure,
    compare_links,
    compare_pairs,
    measure_alignment,
    measure_mining,
)
from bitextfilter.evaluation.recovery import (
    BASELINES,
    MATRICES,
    baseline,
    distinct_pairs,
    recover,
    vector_scorer,
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
        ([1.0, 2.0], [True], 1, "scores of"), ([[1.0]], [[True]], 1, "scores of"),
        ([1.0], [False], 0, "found of 0"), ([1.0, 2.0], [True, True], 1, "2 pairs found of 1"),
        ([1.0, math.nan], [True, False], 1, "scores are needed"),
        ([-math.inf], [True], 1, "scores are needed"), ([], [], 1, "scores are needed"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused(
    scores: list[float], right: list[bool], gold: int, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        MinedScores(np.array(scores, dtype=np.float64), np.array(right, dtype=np.bool_), gold)


GOLD_LINKS: list[LinkedIndices] = [
    ((0,), (0,)), ((1, 2), (1,)), ((), (2,)), ((3,), (3, 4)), ((4,), (5,)),
]  # fmt: skip
FOUND: list[LinkedIndices] = [
    ((0,), (0,)), ((1,), (1,)), ((2,), ()), ((), (2,)), ((3,), (5,)), ((4,), (3,)),
]  # fmt: skip


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


def naive(sources: list[str], targets: list[str], scores: np.ndarray) -> tuple[float, float, int]:
    """Errors and pairs, straight from the definition."""
    kept: list[int] = []
    for i in range(len(sources)):
        if all(sources[i] != sources[j] and targets[i] != targets[j] for j in kept):
            kept.append(i)
    forward = backward = 0
    for i in kept:
        forward += not all(scores[i][i] > scores[i][j] for j in kept if j != i)
        backward += not all(scores[i][i] > scores[j][i] for j in kept if j != i)
    return 100 * forward / len(kept), 100 * backward / len(kept), len(kept)


@given(st.data(), st.integers(1, 9))
def test_as_the_naive_count(data: st.DataObject, n: int) -> None:
    sources = data.draw(st.lists(st.sampled_from("abcdef"), min_size=n, max_size=n))
    targets = data.draw(st.lists(st.sampled_from("uvwxyz"), min_size=n, max_size=n))
    rows = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    scores = np.array(data.draw(st.lists(rows, min_size=n, max_size=n)), dtype=np.float32)
    expected = naive(sources, targets, scores)
    for given_as in (scores, lambda part: scores[part]):
        result = recover(sources, targets, given_as)
        assert (result.forward, result.backward, result.pairs) == pytest.approx(expected)
        assert result.set_aside == n - result.pairs


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(3).integers(0, 30, (23, 23)).astype(np.float32)
    scores += 15 * np.eye(23, dtype=np.float32)
    sources = [str(i) for i in range(23)]
    sources[7] = sources[2]
    whole = recover(sources, sources[::-1], scores)
    monkeypatch.setattr(recovery, "_BLOCK_ROWS", 4)
    assert recover(sources, sources[::-1], scores) == whole
    assert recover(sources, sources[::-1], lambda part: scores[part]) == whole
    assert 0 < whole.forward < 100
    assert 0 < whole.backward < 100


def test_directions_are_not_mixed_up() -> None:
    scores = np.array([[2, 0, 0], [3, 2, 0], [3, 0, 2]], dtype=np.float32)
    result = recover(["a", "b", "c"], ["x", "y", "z"], scores)
    assert (result.forward, result.backward) == pytest.approx((200 / 3, 100 / 3))
    assert result.mean == pytest.approx(50)


def test_given_scores_are_left_as_they_were() -> None:
    scores = np.eye(3, dtype=np.float32)
    recover(["a", "b", "c"], ["x", "y", "z"], scores)
    np.testing.assert_array_equal(scores, np.eye(3))


def test_not_a_number_is_an_error() -> None:
    nothing = np.full((2, 2), np.nan, dtype=np.float32)
    assert recover(["a", "b"], ["x", "y"], nothing).mean == 100


def test_wrong_shapes_and_nothing_to_find() -> None:
    with pytest.raises(ValueError, match="shape"):
        recover(["a", "b"], ["x", "y"], np.eye(3, dtype=np.float32))
    with pytest.raises(ValueError, match="shape"):
        recover(["a", "b"], ["x", "y"], lambda _: np.eye(3, dtype=np.float32))
    with pytest.raises(ValueError, match="no pairs"):
        recover([], [], np.zeros((0, 0), dtype=np.float32))
    with pytest.raises(ValueError, match="zip"):
        distinct_pairs(["a"], [])


generator = np.random.default_rng(5)
A = generator.standard_normal((7, 6)).astype(np.float32)
B = generator.standard_normal((9, 6)).astype(np.float32)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def margins(a: np.ndarray, b: np.ndarray, k: int) -> tuple[float, float]:
    row = sorted((cosine(a, other) for other in B), reverse=True)[:k]
    column = sorted((cosine(other, b) for other in A), reverse=True)[:k]
    return sum(row) / len(row), sum(column) / len(column)


def probabilities(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return (A[rows, 0] - 2 * B[columns, 1]).astype(np.float32)


NAIVE = {
    "cosine": cosine,
    "euclidean": lambda a, b: -np.sqrt(((a - b) ** 2).sum()),
    "csls": lambda a, b: 2 * cosine(a, b) - sum(margins(a, b, 3)),
    "ratio": lambda a, b: cosine(a, b) / (sum(margins(a, b, 3)) / 2),
    "distance": lambda a, b: cosine(a, b) - sum(margins(a, b, 3)) / 2,
    "mlp": lambda a, b: a[0] - 2 * b[1],
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("part", [slice(0, 7), slice(2, 5)])
def test_rows_are_as_pair_by_pair(name: str, part: slice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_PAIRS", 20)
    rows = vector_scorer(name, A, B, probabilities, k=3)(part)
    expected = [[NAIVE[name](a, b) for b in B] for a in A[part]]
    np.testing.assert_allclose(rows, expected, rtol=1e-5, atol=1e-6)
    assert rows.dtype == np.float32


def test_unknown_names_and_a_missing_classifier() -> None:
    for name in ("hamming", "mlp"):
        with pytest.raises(KeyError):
            vector_scorer(name, A, B)
    with pytest.raises(KeyError):
        baseline("hamming", [], [], 1)


def edits(a: str, b: str) -> int:
    """Edit distance by its recursion, row by row."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(last[j] + (x != y), last[j + 1] + 1, row[j] + 1))
    return row[-1]


def test_levenshtein() -> None:
    sources, targets = ["Haus", "house", "", "Tür zu"], ["HOUSE", "maus", "", "a"]
    rows = baseline("levenshtein", sources, targets, 1)(slice(0, 4))
    expected = [
        [1 - edits(a.lower(), b.lower()) / (max(len(a), len(b)) or 1) for b in targets]
        for a in sources
    ]
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_random_is_seeded_and_does_not_depend_on_blocks() -> None:
    texts = [str(i) for i in range(50)]
    whole = baseline("random", texts, texts, 1)(slice(0, 50))
    np.testing.assert_array_equal(baseline("random", texts, texts, 1)(slice(20, 23)), whole[20:23])
    assert not np.array_equal(baseline("random", texts, texts, 2)(slice(0, 50)), whole)
    assert abs(whole.mean() - 0.5) < 0.05
    assert set(BASELINES) == {"levenshtein", "random"}
