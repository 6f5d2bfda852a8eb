"""The banded dynamic program against one over all cells, and from coarse to fine."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from bitextfilter.arrays import Integers, Vectors
from bitextfilter.mining import monotonic
from bitextfilter.mining.chunks import LinkSettings
from bitextfilter.mining.link_costs import KnownBefore, VectorLinkCosts
from bitextfilter.mining.monotonic import (
    Band,
    Document,
    Link,
    LinkSize,
    Span,
    align,
    character_ends,
    cheapest_path,
    whole_band,
    with_scores,
)

LINKS = [LinkSize(1, 1), LinkSize(1, 2), LinkSize(2, 1), LinkSize(2, 2), LinkSize(3, 1)]


class Table:
    """Costs that stand in a table, which remembers how large the blocks were."""

    def __init__(self, links: Sequence[LinkSize], n: int, m: int, most: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.links = links
        self.prices: Integers = random.integers(0, most, (len(links), n + 1, m + 1))
        self.skip_source: Integers = random.integers(0, most, n)
        self.skip_target: Integers = random.integers(0, most, m)
        self.cells: list[int] = []

    def block(self, rows: slice, columns: slice) -> Integers:
        found = self.prices[:, rows, columns]
        self.cells.append(found[0].size)
        return found


def plain(costs: Table, inside: NDArray[np.bool_]) -> tuple[list[Span], int]:
    """The same by dictionaries of cells, one by one, over the cells that are inside."""
    n, m = inside.shape[0] - 1, inside.shape[1] - 1
    best: dict[tuple[int, int], int] = {(0, 0): 0}
    step_to: dict[tuple[int, int], LinkSize] = {}
    for i, j in np.argwhere(inside)[1:].tolist():
        ways = [
            (best[i - a, j - b] + int(costs.prices[number, i, j]), number, LinkSize(a, b))
            for number, (a, b) in enumerate(costs.links)
            if (i - a, j - b) in best
        ]
        if (i - 1, j) in best:
            ways.append((best[i - 1, j] + int(costs.skip_source[i - 1]), 98, LinkSize(1, 0)))
        if (i, j - 1) in best:
            ways.append((best[i, j - 1] + int(costs.skip_target[j - 1]), 99, LinkSize(0, 1)))
        if ways:
            best[i, j], _, step_to[i, j] = min(ways)
    spans, i, j = [], n, m
    while (i, j) != (0, 0):
        step = step_to[i, j]
        spans.append(Span(i - step.source, i, j - step.target, j))
        i, j = i - step.source, j - step.target
    return spans[::-1], best[n, m]


@pytest.mark.parametrize("most", [3, 1000])  # many ties; hardly any
@pytest.mark.parametrize("seed", range(40))
def test_whole(seed: int, most: int) -> None:
    n, m = np.random.default_rng(seed).integers(0, 75 if seed % 10 == 0 else 14, 2).tolist()
    costs = Table(LINKS, n, m, most, seed)
    assert cheapest_path(costs, whole_band(n, m)) == plain(costs, np.ones((n + 1, m + 1), bool))


@pytest.mark.parametrize("seed", range(40))
def test_inside_a_band(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    n, m = random.integers(1, 50), int(random.integers(1, 50))
    middle = np.sort(random.integers(0, m + 1, n + 1))
    first, last = (middle - random.integers(0, 4)).clip(0), middle.copy()
    last[:-1] = np.maximum(last[:-1], first[1:]) + random.integers(0, 4)
    first[0], last[-1] = 0, m
    band = Band(first, np.maximum.accumulate(last.clip(0, m)))
    inside = np.array(
        [
            (np.arange(m + 1) >= low) & (np.arange(m + 1) <= high)
            for low, high in zip(band.first, band.last, strict=True)
        ]
    )
    costs = Table(LINKS, int(n), m, 50, seed)
    expected = plain(costs, inside)
    assert cheapest_path(costs, band) == expected
    monkeypatch.setattr(monotonic, "_BLOCK_CELLS", 1)  # a row at a time
    assert cheapest_path(costs, band) == expected


def test_blocks_are_small_however_long_a_row_is() -> None:
    n, m = 100, 9_000
    first, last = np.zeros(n + 1, np.int64), np.full(n + 1, m)
    first[60:] = m - 20
    last[:50] = 20
    costs = Table([LinkSize(1, 1)], n, m, 9, 1)
    cheapest_path(costs, Band(first, last))
    assert max(costs.cells) <= monotonic._BLOCK_CELLS
    assert min(costs.cells[:1]) == 21 * monotonic._BLOCK_ROWS


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ([1, 1], [1, 1]),  # does not begin at 0
        ([0, 2], [1, 3]),  # a gap
        ([0, 1, 0], [1, 1, 1]),  # falls
        ([0, 0, 0], [1, 2, 1]),
        ([0, 1], [1, 0]),  # an empty row
    ],
)
def test_what_is_no_band(first: list[int], last: list[int]) -> None:
    with pytest.raises(ValueError, match="a band begins at 0"):
        Band(np.array(first), np.array(last))


DIM = 128
MANY_LEFT_OUT = LinkSettings(skip=0.67)
"""Settings for documents of which each seventh sentence stands alone."""


def meaning(text: str) -> Vectors:
    """A vector that translations share, but for a part that is each language's own."""
    return np.sum([word_vector(word) for word in text.split()], axis=0)


@functools.cache
def word_vector(word: str) -> Vectors:
    number = int(word[1:])
    shared, own = (
        np.random.default_rng(seed).standard_normal(DIM, np.float32)
        for seed in (number, 10**6 * ord(word[0]) + number)
    )
    return shared + np.float32(0.9) * own


def link_costs_of(source: list[str], target: list[str], settings: LinkSettings) -> VectorLinkCosts:
    sides = []
    for sentences in (source, target):
        vectors = np.array([meaning(text) for text in sentences]).reshape(len(sentences), DIM)
        ends = character_ends(sentences)
        sides.append(Document(vectors.astype(np.float32), ends, settings.largest))
    return VectorLinkCosts(sides[0], sides[1], settings, KnownBefore(1.0))


Links = list[tuple[range, range]]


def translated(n: int, seed: int) -> tuple[list[str], list[str], Links]:
    """Documents of which sentences are joined, divided and left out here and there."""
    generator = random.Random(seed)
    source, target, links = [], [], []
    words = iter(range(100 * n))
    for _ in range(n):
        a, b = generator.choice([(1, 1)] * 8 + [(1, 2), (2, 1), (1, 0), (0, 1), (3, 1)])
        parts = [f"s{next(words)} s{next(words)} s{next(words)}" for _ in range(max(a, b))]
        here = [" ".join(parts)] if a == 1 else parts[:a]
        there = [" ".join(parts)] if b == 1 else parts[:b]
        i, j = len(source), len(target)
        source += here
        target += [sentence.replace("s", "t") for sentence in there]
        links.append((range(i, i + a), range(j, j + b)))
    return source, target, links


def aligned(costs: VectorLinkCosts) -> list[Link]:
    return with_scores(costs.scores, align(costs))


@pytest.mark.parametrize("seed", range(5))
def test_known_links(seed: int) -> None:
    source, target, links = translated(60, seed)
    found = aligned(link_costs_of(source, target, MANY_LEFT_OUT))
    right = {tuple(link) for link in links} & {(link.source, link.target) for link in found}
    assert len(right) >= 0.85 * len(links)


@pytest.mark.parametrize("seed", range(5))
def test_every_sentence_is_in_one_link_in_order(seed: int) -> None:
    source, target, _ = translated(40, seed)
    found = aligned(link_costs_of(source, target, LinkSettings()))
    assert [i for link in found for i in link.source] == list(range(len(source)))
    assert [j for link in found for j in link.target] == list(range(len(target)))
    for link in found:
        assert (link.score is None) == (not link.source or not link.target)


@pytest.mark.parametrize("seed", range(3))
def test_coarse_to_fine_finds_the_cheapest_of_all_paths(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target, _ = translated(150, seed)
    costs = link_costs_of(source, target, LinkSettings(3))
    spans, _ = cheapest_path(costs, whole_band(len(source), len(target)))
    monkeypatch.setattr(monotonic, "_COARSEST_CELLS", 1000)
    bands = []
    monkeypatch.setattr(
        monotonic,
        "cheapest_path",
        lambda costs, band: bands.append(band) or cheapest_path(costs, band),
    )
    assert align(costs) == spans
    cells = [int((band.last - band.first + 1).sum()) for band in bands]
    assert len(cells) >= 3
    assert cells[-1] < 0.6 * len(source) * len(target)


def test_a_long_part_that_only_one_side_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monotonic, "_COARSEST_CELLS", 4000)
    monkeypatch.setattr(monotonic, "_MARGIN", 8)
    source, target, links = translated(160, 3)
    extra = [f"t{100_000 + i} t{200_000 + i}" for i in range(150)]
    cut = links[80][1].start
    found = aligned(link_costs_of(source, target[:cut] + extra + target[cut:], MANY_LEFT_OUT))
    inside = [link for link in found if set(link.target) & set(range(cut + 5, cut + 145))]
    assert sum(not link.source for link in inside) > 0.8 * len(inside)
    moved = {
        (s, t if t.stop <= cut else range(t.start + 150, t.stop + 150)) for s, t in links if s and t
    }
    assert len(moved & {(link.source, link.target) for link in found}) >= 0.85 * len(moved)


@pytest.mark.parametrize("sides", [(0, 0), (3, 0), (0, 2), (1, 1), (1, 40), (40, 1)])
def test_short_sides(sides: tuple[int, int]) -> None:
    n, m = sides
    source, target = ([f"s{i}" for i in range(count)] for count in (n, m))
    found = aligned(link_costs_of(source, target, LinkSettings()))
    assert [i for link in found for i in link.source] == list(range(n))
    assert [j for link in found for j in link.target] == list(range(m))
    assert sum(link.score is not None for link in found) == min(n, m, 1)


class Sides:
    """Two documents of so many sentences; links cost nothing."""

    links = (LinkSize(1, 1),)

    def __init__(self, n: int, m: int) -> None:
        self.skip_source, self.skip_target = np.ones(n, np.int64), np.ones(m, np.int64)


Pieces = list[tuple[range, range]]


def near(path: Pieces, joined: int, n: int, m: int, margin: int) -> list[tuple[int, int]]:
    """Position by position: as far as the margin goes from where the path is, or passes by."""
    reach = margin * max(1, math.ceil(m / max(n, 1)))
    rows = []
    for position in range(n + 1):
        coarse = {position // joined, math.ceil(position / joined)}
        low = [t.start for s, t in path if s.start <= min(coarse) <= s.stop]
        high = [t.stop for s, t in path if s.start <= max(coarse) <= s.stop]
        rows.append((max(0, joined * min(low) - reach), min(m, joined * max(high) + reach)))
    return rows


@pytest.mark.parametrize("joined", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_near_a_path(joined: int, seed: int) -> None:
    generator, path, i, j = random.Random(seed), [], 0, 0
    for _ in range(12):
        a, b = generator.choice([(1, 1), (1, 2), (2, 1), (0, 1), (1, 0), (0, 3)])
        path.append((range(i, i + a), range(j, j + b)))
        i, j = i + a, j + b
    n, m = (joined * end - (joined > 1 and generator.randrange(2)) for end in (i, j))
    spans = [Span(s.start, s.stop, t.start, t.stop) for s, t in path]
    band = monotonic.band_near(spans, Sides(n, m), 1, joined)  # type: ignore[arg-type]
    found = list(zip(band.first.tolist(), band.last.tolist(), strict=True))
    assert found == near(path, joined, n, m, 1)


def test_an_alignment_is_looked_for_near_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monotonic, "_MARGIN", 1)
    source, target, _ = translated(30, 1)
    costs = link_costs_of(source, target, LinkSettings())
    wrong = [Span(i, i + 1, 0, 0) for i in range(len(source))]
    wrong.append(Span(len(source), len(source), 0, len(target)))
    found = align(costs, wrong)
    reach = 1 * max(1, -(-len(target) // len(source)))
    assert all(span.target_stop <= reach for span in found if span.source_stop < len(source))
    assert align(costs, align(costs)) == align(costs)


def test_few_sentences_of_a_side_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monotonic, "_COARSEST_CELLS", 100)
    source, target, _ = translated(12, 1)
    costs = link_costs_of(source, target, LinkSettings())
    whole = monotonic._band(costs)
    assert not whole.first.any()
    monkeypatch.setattr(monotonic, "_FEWEST", 3)
    monkeypatch.setattr(monotonic, "_MARGIN", 1)
    assert monotonic._band(costs).first.any()
