"""Monotonic alignment of two sequences by dynamic programming in a band, from coarse to fine.

A path leads from before the first items to behind the last ones. Each step links one or more
consecutive items of either side, or skips one item of either. Costs are whole numbers, so sums are
exact: neither the order of sums nor the shape of the blocks of costs changes a path.

The cheapest path is found in time linear in the number of sentences (Thompson & Koehn 2019,
"Vecalign", section 3.3): neighbouring sentences are joined until few are left, those are aligned in
every possible way, and each finer path is looked for near the coarser one. A document is given as
vectors of groups: neighbouring sentences, up to some number of them.

Positions are between items: 0 to n on the source side, 0 to m on the target side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Integers, Vectors
from bitextfilter.similarity.vectors import unit_rows

COARSE_LARGEST = 2
"""Most sentences of a coarser document in a link. Its pairs of sentences may begin within a pair
of the other document."""
STRIP = 1024
"""Positions whose groups are computed together; an even number, as sentences are joined by twos."""
_STRIPS = 3
"""Strips kept in memory; a path goes through them one after the other."""


@dataclass(frozen=True)
class Document:
    """Sentences in their order, as vectors and lengths.

    Groups are computed where they are asked for, so that memory holds a vector of each sentence,
    and not one of each group.
    """

    vectors: Vectors
    """``(n, dim)``, of the sentences: a group has the direction of their sum."""
    ends: NDArray[np.int64]
    """Characters up to each position, ``(n + 1,)``."""
    largest: int
    """Most sentences of a group."""
    beside: Vectors | None = None
    """Further vectors ``(n, other dim)``; those of a group stand beside its others."""
    _strips: dict[int, Vectors] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.vectors)

    def groups(self, count: int, stops: Indices) -> Vectors:
        """Return the unit vectors of the groups of *count* sentences that end at some positions.

        ``stops`` ``(g,)`` from 0 to n → ``(g, all dims)``; 0 where a group would begin before the
        first sentence. Groups of more than ``largest`` are computed one by one.
        """
        strips = stops // STRIP
        if count > self.largest:
            return np.array([self._group(count, stop) for stop in stops.tolist()], np.float32)
        if len(stops) and strips[0] == strips[-1] and (strips == strips[0]).all():
            found: Vectors = self._strip(int(strips[0]))[count - 1, stops % STRIP]
            return found
        dim = self.vectors.shape[1] + (0 if self.beside is None else self.beside.shape[1])
        found = np.zeros((len(stops), dim), np.float32)
        for number in np.unique(strips).tolist():
            here = strips == number
            found[here] = self._strip(number)[count - 1, stops[here] % STRIP]
        return found

    def _strip(self, number: int) -> Vectors:
        """Return the groups that end at some positions, ``(largest, positions, all dims)``."""
        if number not in self._strips:
            while len(self._strips) >= _STRIPS:
                del self._strips[next(iter(self._strips))]
            self._strips[number] = self._computed(number * STRIP)
        return self._strips[number]

    def _group(self, count: int, stop: int) -> Vectors:
        """Return the unit vector ``(all dims,)`` of one group."""
        sides = self.vectors, self.beside
        sums = [
            unit_rows(each[stop - count : stop].sum(axis=0, keepdims=True))
            for each in sides
            if each is not None
        ]
        found: Vectors = unit_rows(np.concatenate(sums, axis=1))[0]
        return found

    def _computed(self, first: int) -> Vectors:
        low, last = max(0, first - self.largest), min(first + STRIP, len(self) + 1)
        parts = [group_sums(self.vectors[low : last - 1], self.largest)]
        if self.beside is not None:
            parts.append(group_sums(self.beside[low : last - 1], self.largest))
            parts = [np.stack([unit_rows(each) for each in np.concatenate(parts, axis=-1)])]
        return parts[0][:, first - low :]

    def coarser(self) -> Document:
        """Return it with every two sentences as one; an odd last one stays."""
        pairs = np.zeros((-(-len(self) // 2), self.groups(1, np.arange(0)).shape[1]), np.float32)
        for first in range(0, len(self), STRIP):
            stops = np.arange(first, min(first + STRIP, len(self))) + 1
            units = self.groups(1, stops)
            pairs[first // 2 : (first + len(units) + 1) // 2] = units[0::2]
            pairs[first // 2 : (first + len(units)) // 2] += units[1::2]
        return Document(pairs, halved(self.ends), COARSE_LARGEST)

    def part(self, start: int, stop: int) -> Document:
        """Return the sentences from *start* to *stop*."""
        beside = None if self.beside is None else self.beside[start:stop]
        ends = self.ends[start : stop + 1] - self.ends[start]
        return Document(self.vectors[start:stop], ends, self.largest, beside)

    def with_vectors(self, others: Vectors) -> Document:
        """Return it with further vectors ``(n, other dim)`` beside its own."""
        return Document(self.vectors, self.ends, self.largest, others)


def group_sums(vectors: Vectors, largest: int) -> Vectors:
    """Return the groups of some sentences, as the sums of their vectors ``(n, dim)``.

    Unit vectors ``(largest, n + 1, dim)``: row i of part k - 1 is the direction of the sum of the
    k sentences up to position i, 0 where there are fewer.
    """
    n, dim = vectors.shape
    parts = np.zeros((largest, n + 1, dim), np.float32)
    parts[0, 1:] = vectors
    for count in range(2, min(largest, n) + 1):
        parts[count - 1, count:] = parts[count - 2, count - 1 : -1] + vectors[count - 1 :]
    for part in parts:
        part[:] = unit_rows(part)
    return parts


def halved(ends: Indices) -> Indices:
    """Return the ends of every two sentences, and of one left over, of ends ``(n + 1,)``."""
    return np.append(ends[0:-1:2], ends[-1])


def character_ends(sentences: Sequence[str]) -> Indices:
    """Return the characters up to each position, ``(n + 1,)``."""
    return np.cumsum([0, *map(len, sentences)], dtype=np.int64)


IMPOSSIBLE = 2**60
"""Cost of an impossible link; the sum of two is still a 64-bit number."""

_BLOCK_ROWS = 32
_BLOCK_CELLS = 2**17
"""Most cells whose costs are computed together, unless a single row has more."""

_NONE, _SKIP_TARGET, _SKIP_SOURCE, _LINKS = 0, 1, 2, 3
"""Last step of the cheapest way to a cell; from ``_LINKS`` on the links by their numbers."""


class LinkSize(NamedTuple):
    """Numbers of source and target items in a link."""

    source: int
    target: int


class Span(NamedTuple):
    """A step of a path: the items from ``start`` to ``stop`` of either side; one may be empty."""

    source_start: int
    source_stop: int
    target_start: int
    target_stop: int

    @property
    def size(self) -> LinkSize:
        """Numbers of source and target items."""
        return LinkSize(self.source_stop - self.source_start, self.target_stop - self.target_start)


@dataclass(frozen=True)
class Band:
    """Target positions that a path may have at each source position, ends included.

    Raises ValueError if it does not begin at 0, falls, or has a gap.
    """

    first: Indices
    """``(n + 1,)``, not falling."""
    last: Indices
    """``(n + 1,)``, not falling."""

    def __post_init__(self) -> None:
        first, last = self.first, self.last
        connected = (first[1:] <= last[:-1]).all() and (first <= last).all()
        rising = (np.diff(first) >= 0).all() and (np.diff(last) >= 0).all()
        if first[0] != 0 or not connected or not rising:
            raise ValueError("a band begins at 0, does not fall, and has no gap")

    def __len__(self) -> int:
        return len(self.first)


class PathCosts(Protocol):
    """Costs of the steps of a path."""

    @property
    def links(self) -> Sequence[LinkSize]:
        """Sizes of links; among equally cheap ways, the earliest in this order is taken."""

    @property
    def skip_source(self) -> Integers:
        """Costs of leaving out each source item, ``(n,)``."""

    @property
    def skip_target(self) -> Integers:
        """Costs of leaving out each target item, ``(m,)``."""

    def block(self, rows: slice, columns: slice) -> Integers:
        """Return the cost of each link that *ends* at these source and target positions.

        Shape ``(links, rows, columns)``; any number where a link would begin before 0.
        """


def whole_band(source: int, target: int) -> Band:
    """Return the band of all paths through *source* and *target* items."""
    return Band(np.zeros(source + 1, np.int64), np.full(source + 1, target, np.int64))


def cheapest_path(costs: PathCosts, band: Band) -> tuple[list[Span], int]:
    """Return the steps of the cheapest path inside the band, in order, and their cost.

    Of equally cheap ways to a position, a link is taken rather than skipping a source item, that
    rather than skipping a target item, and an earlier link rather than a later one. Time grows
    with cells × links; memory, a byte a cell, with the cells of the band.
    """
    rows = _Rows(costs, band)
    for block in _blocks(band):
        first = int(band.first[block.start])
        prices = costs.block(block, slice(first, int(band.last[block.stop - 1]) + 1))
        for i in range(block.start, block.stop):
            columns = slice(int(band.first[i]) - first, int(band.last[i]) + 1 - first)
            rows.add(i, prices[:, i - block.start, columns])
    return _trace(rows, costs.links, band), rows.cost(len(band) - 1, int(band.last[-1]))


def _blocks(band: Band) -> list[slice]:
    """Divide the source positions into blocks whose costs are computed together."""
    blocks, start = [], 0
    for i in range(1, len(band) + 1):
        cells = 0
        if i < len(band):
            cells = (i + 1 - start) * int(band.last[i] + 1 - band.first[start])
        if i == len(band) or i - start == _BLOCK_ROWS or cells > _BLOCK_CELLS:
            blocks.append(slice(start, i))
            start = i
    return blocks


class _Rows:
    """Costs of the cheapest ways to the last rows, and the last step to each cell."""

    def __init__(self, costs: PathCosts, band: Band) -> None:
        self._costs, self._band = costs, band
        self._reach = max((size.source for size in costs.links), default=1)
        self._target_sums = np.concatenate([[0], np.cumsum(costs.skip_target)])
        self._starts = np.concatenate([[0], np.cumsum(band.last - band.first + 1)])
        self._rows: dict[int, Integers] = {}
        self._ways = np.full(self._starts[-1], _NONE, np.uint8)

    def ways(self, i: int) -> NDArray[np.uint8]:
        """Return the last steps to the cells of row i."""
        return self._ways[self._starts[i] : self._starts[i + 1]]

    def cost(self, i: int, j: int) -> int:
        """Return the cost of the cheapest way to a cell of one of the last rows."""
        return int(self._rows[i][j - self._band.first[i]])

    def add(self, i: int, prices: Integers) -> None:
        """Find the cheapest ways to row i; ``prices`` ``(links, cells of the row)``."""
        self._rows[i] = np.full(prices.shape[1], IMPOSSIBLE, np.int64)
        if i == 0:
            self._rows[0][0] = 0
        for number, size in enumerate(self._costs.links):
            self._consider(i, size, _LINKS + number, prices[number])
        if i > 0:
            skip = np.full(prices.shape[1], self._costs.skip_source[i - 1])
            self._consider(i, LinkSize(1, 0), _SKIP_SOURCE, skip)
        self._skip_targets(i)
        self._rows.pop(i - self._reach, None)

    def _consider(self, i: int, size: LinkSize, way: int, prices: Integers) -> None:
        """Take a step to those cells of row i that it reaches more cheaply than others."""
        before = i - size.source
        if before < 0:
            return
        low, origin = int(self._band.first[i]), int(self._band.first[before]) + size.target
        begin = max(low, origin)
        end = max(begin, min(low + len(prices), origin + len(self._rows[before])))
        here = slice(begin - low, end - low)
        found = self._rows[before][begin - origin : end - origin] + prices[here]
        cheaper = found < self._rows[i][here]
        np.copyto(self._rows[i][here], found, where=cheaper)
        np.copyto(self.ways(i)[here], np.uint8(way), where=cheaper)

    def _skip_targets(self, i: int) -> None:
        """Skip target items, from cells of row i to later ones, where that is cheaper.

        With T the sum of skips up to a position, the cheapest cost at j is the least of
        D(k) + T(j) - T(k) over the k up to j: T(j) and a running minimum.
        """
        row = self._rows[i]
        first = int(self._band.first[i])
        sums = self._target_sums[first : first + len(row)]
        found = np.minimum.accumulate(row - sums) + sums
        self.ways(i)[found < row] = _SKIP_TARGET
        self._rows[i] = found


def _trace(rows: _Rows, links: Sequence[LinkSize], band: Band) -> list[Span]:
    """Follow the cheapest way back from the last cell."""
    sizes = {_SKIP_SOURCE: LinkSize(1, 0), _SKIP_TARGET: LinkSize(0, 1)}
    sizes |= {_LINKS + number: size for number, size in enumerate(links)}
    spans, i, j = [], len(band) - 1, int(band.last[-1])
    while i or j:
        size = sizes[int(rows.ways(i)[j - band.first[i]])]
        spans.append(Span(i - size.source, i, j - size.target, j))
        i, j = i - size.source, j - size.target
    return spans[::-1]


_COARSEST_CELLS = 2**18
_FEWEST = 32
"""Sentences of a side below which it is not made coarser."""
_MARGIN = 24
"""Sentences to either side of the coarser path that are searched."""


class LinkCosts(PathCosts, Protocol):
    """Costs of links between the sentences of two documents."""

    def coarser(self, part: Span | None = None) -> LinkCosts:
        """Return the costs of the documents, or of a part, with every two sentences as one."""


class Link(NamedTuple):
    """A part of an alignment: consecutive sentences of either side, and their score."""

    source: range
    target: range
    score: float | None
    """None where one side has no sentence."""

    @property
    def span(self) -> Span:
        """The same as a step of a path."""
        return Span(self.source.start, self.source.stop, self.target.start, self.target.stop)


def align(costs: LinkCosts, before: Sequence[Span] = (), margin: int | None = None) -> list[Span]:
    """Align two documents: every sentence of either is in one step of the path, in order.

    The path is looked for near *before*, another one of the same documents, if given: within
    *margin* sentences, or those of a coarser path.
    """
    band = band_near(before, costs, margin or _MARGIN) if before else _band(costs)
    return cheapest_path(costs, band)[0]


def with_scores(
    score: Callable[[Sequence[Span]], Sequence[float]], spans: Sequence[Span]
) -> list[Link]:
    """Return the steps of a path as links; *score* gives the scores of some, higher is better."""
    linked = [span for span in spans if all(span.size)]
    scores = dict(zip(linked, score(linked), strict=True))
    return [Link(range(*span[:2]), range(*span[2:]), scores.get(span)) for span in spans]


def _band(costs: LinkCosts) -> Band:
    """Return the whole band, or for long documents the band near the path of coarser ones."""
    n, m = len(costs.skip_source), len(costs.skip_target)
    if n * m <= _COARSEST_CELLS or min(n, m) <= _FEWEST:
        return whole_band(n, m)
    coarser = costs.coarser()
    return band_near(cheapest_path(coarser, _band(coarser))[0], costs, _MARGIN, joined=2)


def band_near(path: Iterable[Span], costs: PathCosts, margin: int, joined: int = 1) -> Band:
    """Return the target positions within *margin* sentences of a path.

    It may be one of coarser documents, with *joined* sentences in one.
    """
    n, m = len(costs.skip_source), len(costs.skip_target)
    rows = -(-n // joined) + 1
    low, high = np.full(rows, m, np.int64), np.zeros(rows, np.int64)
    for span in path:
        passed = slice(span.source_start, span.source_stop + 1)
        low[passed] = np.minimum(low[passed], span.target_start)
        high[passed] = np.maximum(high[passed], span.target_stop)
    reach = margin * max(1, -(-m // max(n, 1)))
    positions = np.arange(n + 1)
    first = joined * low[positions // joined] - reach
    last = joined * high[-(-positions // joined)] + reach
    return Band(first.clip(0, m), last.clip(0, m))
