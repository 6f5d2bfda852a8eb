"""Anchors: the cheapest path through known links, beside a plain dynamic program."""

from __future__ import annotations

import random

import numpy as np
import pytest

from bitextfilter.arrays import Integers
from bitextfilter.mining import monotonic
from bitextfilter.mining.anchors import (
    Anchors,
    KnownLink,
    PartCosts,
    align_between,
    anchors_of,
    links_of_loners,
    problem,
)
from bitextfilter.mining.chunks import LinkSettings
from bitextfilter.mining.documents import align_by_given_vectors
from bitextfilter.mining.monotonic import LinkCosts, LinkSize, Span, align, with_scores

SIZES = [LinkSize(1, 1), LinkSize(1, 2), LinkSize(2, 1), LinkSize(2, 2)]


class Table:
    """Costs that stand in a table."""

    def __init__(self, n: int, m: int, seed: int) -> None:
        prices = np.random.default_rng(seed)
        self.links = SIZES
        self.prices: Integers = prices.integers(0, 9, (len(SIZES), n + 1, m + 1))
        self.skip_source: Integers = prices.integers(0, 9, n)
        self.skip_target: Integers = prices.integers(0, 9, m)

    def block(self, rows: slice, columns: slice) -> Integers:
        return self.prices[:, rows, columns].copy()

    def coarser(self, part: Span | None = None) -> LinkCosts:
        raise AssertionError


def random_path(n: int, m: int, choose: random.Random) -> list[KnownLink]:
    """Links of any size, and sentences alone, through two documents."""
    path: list[KnownLink] = []
    i = j = 0
    while i < n or j < m:
        a, b = min(choose.choice((0, 1, 1, 2, 3)), n - i), min(choose.choice((0, 1, 1, 2)), m - j)
        sides = list(range(i, i + a)), list(range(j, j + b))
        path += (
            [sides] if a and b else [([k], []) for k in sides[0]] + [([], [k]) for k in sides[1]]
        )
        i, j = i + a, j + b
    return path


def cheapest_with(costs: Table, known: list[KnownLink]) -> int:
    """The cost of the cheapest path that has the known links (for nothing), cell by cell."""
    n, m = len(costs.skip_source), len(costs.skip_target)
    links = [(set(s), set(t)) for s, t in known if s and t]
    used = set().union(*(s for s, _ in known)), set().union(*(t for _, t in known))
    alone = {i for s, t in known if not t for i in s}, {j for s, t in known if not s for j in t}
    best = {(0, 0): 0}
    for i in range(n + 1):
        for j in range(m + 1):
            ways = [best[0, 0]] if i == j == 0 else []
            if i and (i - 1 not in used[0] or i - 1 in alone[0]) and (i - 1, j) in best:
                ways.append(best[i - 1, j] + int(costs.skip_source[i - 1]))
            if j and (j - 1 not in used[1] or j - 1 in alone[1]) and (i, j - 1) in best:
                ways.append(best[i, j - 1] + int(costs.skip_target[j - 1]))
            for number, (a, b) in enumerate(SIZES):
                free = used[0].isdisjoint(range(i - a, i)) and used[1].isdisjoint(range(j - b, j))
                if free and (i - a, j - b) in best:
                    ways.append(best[i - a, j - b] + int(costs.prices[number, i, j]))
            for s, t in links:
                if max(s) + 1 == i and max(t) + 1 == j and (min(s), min(t)) in best:
                    ways.append(best[min(s), min(t)])
            if ways:
                best[i, j] = min(ways)
    return best[n, m]


def cost_of(costs: Table, path: list[Span], anchors: Anchors) -> int:
    total = 0
    for span in path:
        if span in anchors.links:
            continue
        if all(span.size):
            cell = SIZES.index(span.size), span.source_stop, span.target_stop
            total += int(costs.prices[cell])
        else:
            total += int(costs.skip_source[slice(*span[:2])].sum())
            total += int(costs.skip_target[slice(*span[2:])].sum())
    return total


@pytest.mark.parametrize("seed", range(30))
def test_the_cheapest_path_with_the_known_links(seed: int) -> None:
    choose = random.Random(seed)
    n, m = choose.randint(0, 14), choose.randint(0, 14)
    costs = Table(n, m, seed)
    path = random_path(n, m, choose)
    known = choose.sample(path, choose.randint(0, len(path)))
    assert problem(known, (n, m)) is None
    anchors = anchors_of(known)
    possible = PartCosts(costs, Span(0, n, 0, m), [links_of_loners(anchors, (n, m))])
    first = align_between(anchors, possible, [], lambda part, near, _: align(part, near))
    links = with_scores(lambda spans: [0.5] * len(spans), first)
    assert [i for link in links for i in link.source] == list(range(n))
    assert [j for link in links for j in link.target] == list(range(m))
    for source, target in known:
        spans = [link for link in links if {*source} & {*link.source} or {*target} & {*link.target}]
        assert [(list(link.source), list(link.target)) for link in spans] == [(source, target)]
    assert cost_of(costs, first, anchors) == cheapest_with(costs, known)
    again = align_between(anchors, possible, first, lambda part, near, _: align(part, near, 3))
    assert cost_of(costs, again, anchors) == cost_of(costs, first, anchors)


def test_long_parts_are_aligned_from_coarse_to_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monotonic, "_COARSEST_CELLS", 100)
    monkeypatch.setattr(monotonic, "_FEWEST", 4)
    vectors = np.random.default_rng(1).standard_normal((90, 32), np.float32)
    texts = [f"sentence {i}" for i in range(90)]
    settings = LinkSettings()
    # A link of seven and two sentences is larger than any that is looked for.
    known: list[KnownLink] = [([40], [40]), (list(range(60, 67)), [60, 61]), ([50], [])]
    found = align_by_given_vectors(texts, texts, (vectors, vectors), settings, anchors_of(known))
    links = [(list(link.source), list(link.target)) for link in found.links]
    assert known[1] in links
    assert known[2] in links
    assert links[:40] == [([i], [i]) for i in range(40)]
    big = next(link for link in found.links if len(link.source) == 7)
    sums = [unit.sum(axis=0) for unit in (normed(vectors[60:67]), normed(vectors[60:62]))]
    expected = float(np.prod([1 / np.linalg.norm(each) for each in sums]) * (sums[0] @ sums[1]))
    assert big.score == pytest.approx(expected, abs=1e-5)
    assert found.distance is not None


def normed(rows: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Integers:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([([0], [0]), ([1, 2], [1]), ([], [2]), ([3], [])], None),
        ([([0], [0]), ([], [2]), ([0], [0]), ([], [2])], None),  # the same twice
        ([([0, 2], [0])], (0, 0, "the source sentences of a link must be neighbours")),
        ([([0], [0]), ([1], [0, 1])], (1, 0, "a target sentence stands in two links")),
        ([([0], [0]), ([0], [])], (1, 0, "a source sentence stands in two links")),
        ([([1], [0]), ([2], [2]), ([0], [1])], (2, 0, "links cross")),
        ([([], [])], (0, 0, "a link of no sentence")),
        ([([0], [4])], (0, 0, "no target sentence 4")),
        ([([-1], [0])], (0, 0, "no source sentence -1")),
    ],
)
def test_what_contradicts(known: list[KnownLink], expected: tuple[int, int, str] | None) -> None:
    assert problem(known, (4, 4)) == expected
