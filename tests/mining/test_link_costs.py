"""Costs of links by length, against the formulas of Gale & Church 1993 written out."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.mining import link_costs
from bitextfilter.mining import monotonic as sentence_groups
from bitextfilter.mining.chunks import LinkSettings
from bitextfilter.mining.link_costs import (
    COST_UNIT,
    SMOOTHING,
    WORDLESS,
    KnownBefore,
    LengthLinkCosts,
    VectorLinkCosts,
)
from bitextfilter.mining.monotonic import (
    Document,
    LinkSize,
    Span,
    align,
    character_ends,
    group_sums,
)

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
    path = align(LengthLinkCosts(ends(source), ends(target)))
    assert [span.size for span in path] == [
        *[(1, 1)] * 10,
        (2, 1),
        *[(1, 1)] * 19,
        (1, 2),
        *[(1, 1)] * 28,
    ]


@pytest.mark.parametrize("sides", [([], []), ([5, 6], []), ([], [7])])
def test_nothing_on_a_side(sides: tuple[list[int], list[int]]) -> None:
    path = align(LengthLinkCosts(*map(ends, sides)))
    assert [span.size for span in path] == [(1, 0)] * len(sides[0]) + [(0, 1)] * len(sides[1])


def test_halves() -> None:
    coarser = LengthLinkCosts(ends(SOURCE), ends(TARGET)).coarser()
    again = LengthLinkCosts(ends([52, 95, 63]), ends([58, 125, 39]))
    rows = slice(0, 4)
    assert (coarser.block(rows, rows) == again.block(rows, rows)).all()


SENTENCES = ["a", "bcd", "", "efghij", "k"]
DIM = 12
USUAL_RATIO = 1.25


def made(n: int, largest: int, seed: int) -> Document:
    random = np.random.default_rng(seed)
    sentences = ["x" * int(length) for length in random.integers(1, 90, n)]
    vectors = random.standard_normal((n, DIM), np.float32)
    return Document(vectors + 0.5, character_ends(sentences), largest)


def unit(vector: NDArray[np.floating]) -> NDArray[np.float64]:
    wide = vector.astype(np.float64)
    return wide / (np.linalg.norm(wide) or 1.0)


def test_sums_of_sentences_as_groups() -> None:
    vectors = np.random.default_rng(2).standard_normal((4, DIM), np.float32)
    found = group_sums(vectors, 3)
    for k, stop in itertools.product((1, 2, 3), range(5)):
        expected = unit(vectors[stop - k : stop].sum(axis=0)) if stop >= k else np.zeros(DIM)
        assert found[k - 1, stop] == pytest.approx(expected, abs=1e-6)


def group(document: Document, count: int, stop: int) -> NDArray[np.float32]:
    return document.groups(count, np.array([stop]))[0]


def sentences(document: Document) -> NDArray[np.float32]:
    return document.groups(1, np.arange(1, len(document) + 1))


def test_further_vectors_stand_beside() -> None:
    one = made(3, 2, 1)
    vectors = np.random.default_rng(4).standard_normal((3, 5), np.float32)
    both, others = one.with_vectors(vectors), group_sums(vectors, 2)
    for k, stop in itertools.product((1, 2), range(4)):
        expected = unit(np.concatenate([group(one, k, stop), others[k - 1, stop]]))
        assert group(both, k, stop) == pytest.approx(expected, abs=1e-6)
    assert (both.ends == one.ends).all()


@pytest.mark.parametrize("strip", [2, 4, 8, 20, 22])
@pytest.mark.parametrize("beside", [False, True])
def test_groups_are_the_same_in_strips(
    strip: int, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit, in any order, and so are the sentences of the coarser document."""
    whole = made(21, 4, 5)
    if beside:
        vectors = np.random.default_rng(6).standard_normal((21, 3), np.float32)
        whole = whole.with_vectors(vectors)
    coarse = whole.coarser()
    stops = np.random.default_rng(7).permutation(np.repeat(np.arange(22), 2))
    wanted = [whole.groups(count, stops) for count in range(1, 5)]
    monkeypatch.setattr(sentence_groups, "STRIP", strip)
    again = Document(whole.vectors, whole.ends, 4, whole.beside)
    for count, groups in enumerate(wanted, 1):
        assert (again.groups(count, stops) == groups).all()
    assert (again.coarser().vectors == coarse.vectors).all()
    assert len(again._strips) <= 3


@pytest.mark.parametrize("n", [4, 5])
def test_coarser_documents_have_sentences_by_two(n: int) -> None:
    fine = made(n, 3, 7)
    coarse = fine.coarser()
    assert len(coarse) == (n + 1) // 2
    assert coarse.largest == 2
    for i in range(len(coarse)):
        expected = unit(sentences(fine)[2 * i : 2 * i + 2].astype(float).sum(axis=0))
        assert sentences(coarse)[i] == pytest.approx(expected, abs=1e-6)
    first = sentences(fine)[0:4].astype(float).sum(axis=0)
    assert group(coarse, 2, 2) == pytest.approx(unit(first), abs=1e-6)
    assert coarse.ends.tolist() == [*fine.ends[:-1:2].tolist(), int(fine.ends[-1])]


def cosine(a: NDArray[np.floating], b: NDArray[np.floating]) -> float:
    return float(unit(a) @ unit(b))


def mean_distance(side: Document, k: int, stop: int, background: Document) -> float:
    row = group(side, k, stop)
    return float(np.mean([1 - cosine(row, other) for other in sentences(background)]))


def expected_cost(
    sides: tuple[Document, Document],
    step: LinkSize,
    stops: tuple[int, int],
    settings: LinkSettings,
    uncovered: float | None = None,
) -> float:
    """The cost of a link; lengths count with words only."""
    rows = [group(d, k, stop) for d, k, stop in zip(sides, step, stops, strict=True)]
    usual = [
        mean_distance(sides[0], step.source, stops[0], sides[1]),
        mean_distance(sides[1], step.target, stops[1], sides[0]),
    ]
    distance = sum(step) / 2 * 2 * (1 - cosine(*rows)) / sum(usual)
    cost = distance + settings.more * (max(step) - 1) + settings.both * (min(step) - 1)
    if uncovered is None:
        return float(cost + settings.words * WORDLESS * 2 * distance)
    n, m = (int(d.ends[j] - d.ends[j - k]) for d, k, j in zip(sides, step, stops, strict=True))
    apart = (m - USUAL_RATIO * n) ** 2 / (m + USUAL_RATIO * n + SMOOTHING)
    return float(cost + settings.words * uncovered + settings.length * min(apart / 10, 10))


class Uncovered:
    """Random weights of uncovered words."""

    masses = np.arange(6) / 4, np.arange(7) / 5

    def __init__(self) -> None:
        self.table = np.random.default_rng(3).random((9, 7, 8))

    def uncovered(self, links: list[LinkSize], rows: slice, columns: slice) -> NDArray[np.floating]:
        return self.table[: len(links), rows, columns]


@pytest.mark.parametrize("words", [False, True])
def test_costs_by_definition(words: bool) -> None:
    sides = made(6, 3, 1), made(7, 3, 2)
    settings = LinkSettings(3, length=0.3, more=0.4, both=0.25, words=1.25)
    coverage: Any = Uncovered()
    known = KnownBefore(USUAL_RATIO, coverage) if words else None
    costs = VectorLinkCosts(*sides, settings, known)
    block = costs.block(slice(2, 7), slice(1, 8))
    for number, step in enumerate(costs.links):
        for i, j in itertools.product(range(2, 7), range(1, 8)):
            if i >= step.source and j >= step.target:
                open_words = coverage.table[number, i, j] if words else None
                cost = expected_cost(sides, step, (i, j), settings, open_words)
                assert block[number, i - 2, j - 1] / COST_UNIT == pytest.approx(cost, abs=1e-4)
    for skips, masses in zip((costs.skip_source, costs.skip_target), coverage.masses, strict=True):
        expected = 0.9 * (1 + 1.6 * (masses if words else np.full(len(masses), WORDLESS)))
        assert skips / COST_UNIT == pytest.approx(expected, abs=1e-6)


def test_skipping_costs_what_the_settings_say() -> None:
    found = VectorLinkCosts(made(9, 2, 1), made(8, 2, 2), LinkSettings(2, skip=0.75, words=0.5))
    cost = 0.75 * (1 + 1.6 * WORDLESS) * COST_UNIT
    assert found.skip_source.tolist() == [round(cost)] * 9
    assert found.skip_target.tolist() == [round(cost)] * 8


def test_unrelated_sentences_cost_one() -> None:
    costs = VectorLinkCosts(made(300, 1, 1), made(300, 1, 2), LinkSettings(1, words=0))
    block = costs.block(slice(1, 301), slice(1, 301))[0]
    assert block.mean() / COST_UNIT == pytest.approx(1, abs=0.02)
    assert block.std() > 0.1 * COST_UNIT


def test_scores_are_cosines() -> None:
    sides = made(6, 3, 1), made(7, 3, 2)
    costs = VectorLinkCosts(*sides, LinkSettings(3))
    spans = [Span(0, 2, 3, 4), Span(4, 5, 4, 7)]
    expected = [
        cosine(group(sides[0], 2, 2), group(sides[1], 1, 4)),
        cosine(group(sides[0], 1, 5), group(sides[1], 3, 7)),
    ]
    assert costs.scores(spans) == pytest.approx(expected, abs=1e-6)
    assert costs.scores([]) == []


def test_short_documents_are_compared_with_the_background_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_costs, "_SAMPLE", 6)
    sides = made(4, 1, 1), made(5, 1, 2)
    background = sentences(made(9, 1, 3)), sentences(made(9, 1, 4))
    costs = VectorLinkCosts(*sides, LinkSettings(1, words=0), None, background)
    block = costs.block(slice(1, 5), slice(1, 6))[0] / COST_UNIT
    samples = [
        np.concatenate([sentences(side), other[: 6 - len(side)]])
        for side, other in zip(sides, background, strict=True)
    ]
    for i, j in itertools.product(range(4), range(5)):
        rows = sentences(sides[0])[i], sentences(sides[1])[j]
        usual = np.mean([1 - cosine(rows[0], other) for other in samples[1]]) + np.mean(
            [1 - cosine(rows[1], other) for other in samples[0]]
        )
        assert block[i, j] == pytest.approx(2 * (1 - cosine(*rows)) / usual, abs=1e-4)


def test_the_sample_is_from_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_costs, "_SAMPLE", 4)
    document, others = made(10, 1, 1), sentences(made(9, 1, 2))
    rows = sentences(document)
    assert (link_costs._sample(document, None) == rows[[0, 3, 6, 9]]).all()
    short = made(2, 1, 1)
    expected = np.concatenate([sentences(short), others[:2]])
    assert (link_costs._sample(short, others) == expected).all()
    empty = made(0, 1, 1)
    assert not link_costs._sample(empty, None).any() and len(link_costs._sample(empty, None)) == 1


def test_coarser_costs_have_no_ratio_but_the_same_background() -> None:
    sides, background = (made(6, 2, 1), made(7, 2, 2)), (made(5, 1, 3), made(5, 1, 4))
    known = sentences(background[0]), sentences(background[1])
    coarser = VectorLinkCosts(*sides, LinkSettings(2), KnownBefore(1.3), known).coarser()
    halves = sides[0].coarser(), sides[1].coarser()
    again = VectorLinkCosts(*halves, LinkSettings(2), None, known)
    rows, columns = slice(0, 4), slice(0, 5)
    assert (coarser.block(rows, columns) == again.block(rows, columns)).all()
    other = VectorLinkCosts(*halves, LinkSettings(2), None, None)
    assert (coarser.block(rows, columns) != other.block(rows, columns)).any()


def test_what_is_usual() -> None:
    assert LinkSettings() == LinkSettings(5, 0.9, 0.22, 0.6, 0.66, 1.45, 0.3)


def test_sizes_of_links() -> None:
    assert LinkSettings(1).links() == [(1, 1)]
    assert LinkSettings(3).links() == [(1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1)]
    assert VectorLinkCosts(made(9, 3, 1), made(9, 3, 2), LinkSettings(3)).coarser().links == [
        (1, 1),
        (1, 2),
        (2, 1),
    ]


def test_background_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def block() -> NDArray[np.int64]:
        costs = VectorLinkCosts(made(20, 2, 1), made(20, 2, 2), LinkSettings(2))
        return costs.block(slice(0, 21), slice(0, 21))

    whole = block()
    monkeypatch.setattr(link_costs, "_BLOCK_ROWS", 3)
    assert (block() == whole).all()


def test_equal_sentences_everywhere_are_no_division_by_nothing() -> None:
    side = Document(np.ones((4, DIM), np.float32), character_ends(["a"] * 4), 2)
    costs = VectorLinkCosts(side, side, LinkSettings(2))
    block = costs.block(slice(0, 5), slice(0, 5))
    assert block[0, 1:, 1:].max() < COST_UNIT / 1000


@pytest.mark.parametrize(
    "wrong",
    [
        *({"largest": 0}, {"largest": 11}, {"skip": -0.1}, {"skip": 101.0}, {"skip": float("nan")}),
        *({"length": -1}, {"length": float("inf")}, {"more": -1}, {"both": 101}, {"words": -1}),
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError):
        LinkSettings(**wrong)
