"""Monotonic alignment by dynamic programming in a band, from coarse to fine.

A path leads from before the first items to behind the last ones. Each step links some next items
of the source with some next items of the target, or skips one item of either. Costs are whole
numbers, so sums are exact: neither the order of the sums nor the shape of the blocks in which costs
are made changes a path, and equal costs are equal.

Positions are between items: 0 to n on the source side, 0 to m on the target side.

A link joins one or more consecutive sentences of either side; sentences without a translation are
left out; order is kept. The cheapest path is found coarse to fine, in time linear in the number of
sentences (Thompson & Koehn 2019, "Vecalign", section 3.3): neighbouring sentences are joined until
few are left, those are aligned in every possible way, and each finer path is looked for near the
coarser one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Integers

IMPOSSIBLE = 2**60
"""The cost of what cannot be; sums of two of them still are 64-bit numbers."""

BLOCK_ROWS = 32
BLOCK_CELLS = 2**17
"""How many cells' costs are asked for at a time, at most, unless a single row has more."""

_NONE, _SKIP_TARGET, _SKIP_SOURCE, _LINKS = 0, 1, 2, 3
"""How the cheapest way reaches a cell; from ``_LINKS`` on the links, as they are numbered."""


class Step(NamedTuple):
    """How many items of either side a link takes."""

    source: int
    target: int


class Span(NamedTuple):
    """A step of a path: the items from ``start`` to ``stop`` of either side; one may be none."""

    source_start: int
    source_stop: int
    target_start: int
    target_stop: int


@dataclass(frozen=True)
class Band:
    """The target positions that a path may have at each source position, ends included.

    Raises ValueError if it does not begin at 0, falls, or has a gap, which no path could cross.
    """

    first: Indices
    """``(n + 1,)``, not falling."""
    last: Indices
    """``(n + 1,)``, not falling."""

    def __post_init__(self) -> None:
        """Refuse what is no band."""
        first, last = self.first, self.last
        connected = (first[1:] <= last[:-1]).all() and (first <= last).all()
        rising = (np.diff(first) >= 0).all() and (np.diff(last) >= 0).all()
        if first[0] != 0 or not connected or not rising:
            raise ValueError("a band begins at 0, does not fall, and has no gap")

    def __len__(self) -> int:
        return len(self.first)


class StepCosts(Protocol):
    """What steps cost."""

    @property
    def links(self) -> Sequence[Step]:
        """The links there are; of equally cheap ways, the earliest in this order is taken."""

    @property
    def skip_source(self) -> Integers:
        """What leaving out each source item costs, ``(n,)``."""

    @property
    def skip_target(self) -> Integers:
        """What leaving out each target item costs, ``(m,)``."""

    def block(self, rows: slice, columns: slice) -> Integers:
        """Cost of each link that *ends* at these source and target positions.

        Returns ``(links, rows, columns)``, anything where a link would begin before 0.
        """


def whole_band(source: int, target: int) -> Band:
    """Return the band that holds every path through so many items."""
    return Band(np.zeros(source + 1, np.int64), np.full(source + 1, target, np.int64))


def cheapest_path(costs: StepCosts, band: Band) -> tuple[list[Span], int]:
    """Return the steps of the cheapest path inside the band, in order, and what they cost.

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
    """Consecutive source positions whose costs are made together."""
    blocks, start = [], 0
    for i in range(1, len(band) + 1):
        cells = 0
        if i < len(band):
            cells = (i + 1 - start) * int(band.last[i] + 1 - band.first[start])
        if i == len(band) or i - start == BLOCK_ROWS or cells > BLOCK_CELLS:
            blocks.append(slice(start, i))
            start = i
    return blocks


class _Rows:
    """What the cheapest ways to the last rows cost, and how each cell is reached."""

    def __init__(self, costs: StepCosts, band: Band) -> None:
        """Begin before the first row."""
        self._costs, self._band = costs, band
        self._reach = max((step.source for step in costs.links), default=1)
        self._target_sums = np.concatenate([[0], np.cumsum(costs.skip_target)])
        self._starts = np.concatenate([[0], np.cumsum(band.last - band.first + 1)])
        self._rows: dict[int, Integers] = {}
        self._ways = np.full(self._starts[-1], _NONE, np.uint8)

    def ways(self, i: int) -> NDArray[np.uint8]:
        """How the cells of row i are reached."""
        return self._ways[self._starts[i] : self._starts[i + 1]]

    def cost(self, i: int, j: int) -> int:
        """Return the cost of the cheapest way to a cell of one of the last rows."""
        return int(self._rows[i][j - self._band.first[i]])

    def add(self, i: int, prices: Integers) -> None:
        """Find the cheapest ways to row i; ``prices`` ``(links, cells of the row)``."""
        self._rows[i] = np.full(prices.shape[1], IMPOSSIBLE, np.int64)
        if i == 0:
            self._rows[0][0] = 0
        for number, step in enumerate(self._costs.links):
            self._consider(i, step, _LINKS + number, prices[number])
        if i > 0:
            skip = np.full(prices.shape[1], self._costs.skip_source[i - 1])
            self._consider(i, Step(1, 0), _SKIP_SOURCE, skip)
        self._skip_targets(i)
        self._rows.pop(i - self._reach, None)

    def _consider(self, i: int, step: Step, way: int, prices: Integers) -> None:
        """Take such a step to each cell of row i to which it is cheaper than what is known."""
        before = i - step.source
        if before < 0:
            return
        low, origin = int(self._band.first[i]), int(self._band.first[before]) + step.target
        begin = max(low, origin)
        end = max(begin, min(low + len(prices), origin + len(self._rows[before])))
        here = slice(begin - low, end - low)
        found = self._rows[before][begin - origin : end - origin] + prices[here]
        cheaper = found < self._rows[i][here]
        np.copyto(self._rows[i][here], found, where=cheaper)
        np.copyto(self.ways(i)[here], np.uint8(way), where=cheaper)

    def _skip_targets(self, i: int) -> None:
        """Go on from cells of row i to later ones where that is cheaper.

        With T the sum of skips up to a position, the cheapest cost at j is the least of
        D(k) + T(j) - T(k) over the k up to j: T(j) and a running minimum.
        """
        row = self._rows[i]
        first = int(self._band.first[i])
        sums = self._target_sums[first : first + len(row)]
        found = np.minimum.accumulate(row - sums) + sums
        self.ways(i)[found < row] = _SKIP_TARGET
        self._rows[i] = found


def _trace(rows: _Rows, links: Sequence[Step], band: Band) -> list[Span]:
    """Follow the cheapest way back from the last cell."""
    steps = {_SKIP_SOURCE: Step(1, 0), _SKIP_TARGET: Step(0, 1)}
    steps |= {_LINKS + number: step for number, step in enumerate(links)}
    spans, i, j = [], len(band) - 1, int(band.last[-1])
    while i or j:
        step = steps[int(rows.ways(i)[j - band.first[i]])]
        spans.append(Span(i - step.source, i, j - step.target, j))
        i, j = i - step.source, j - step.target
    return spans[::-1]


COARSEST_CELLS = 2**18
_FEWEST = 32
"""A side is not made coarser than so many sentences."""
_MARGIN = 24
"""How many sentences to either side of the coarser path are looked at."""


class Pairing(StepCosts, Protocol):
    """What links between the sentences of two documents cost."""

    def coarser(self) -> Pairing:
        """Return that of the documents with every two sentences as one."""

    def scores(self, spans: Sequence[Span]) -> Sequence[float]:
        """Return how good links are, higher is better."""


class Link(NamedTuple):
    """A part of an alignment: consecutive sentences of either side, and how alike they are."""

    source: range
    target: range
    score: float | None
    """What the pairing says; None where one side has no sentence."""

    @property
    def span(self) -> Span:
        """The same as a step of a path."""
        return Span(self.source.start, self.source.stop, self.target.start, self.target.stop)


def align(pairing: Pairing, before: Sequence[Link] = ()) -> list[Link]:
    """Align two documents: every sentence of either is in one link, in order.

    Args:
        pairing: what links cost.
        before: another alignment of the same documents, near which this one is looked for.
    """
    band = near(before, pairing, _MARGIN) if before else _band(pairing)
    return scored(pairing, cheapest_path(pairing, band)[0])


def scored(pairing: Pairing, spans: Sequence[Span]) -> list[Link]:
    """Return a path as links, with their scores."""
    linked = [span for span in spans if span[0] < span[1] and span[2] < span[3]]
    scores = dict(zip(linked, pairing.scores(linked), strict=True))
    return [Link(range(*span[:2]), range(*span[2:]), scores.get(span)) for span in spans]


def _band(pairing: Pairing) -> Band:
    """Everything, or if the documents are long what is near the path of coarser ones."""
    n, m = len(pairing.skip_source), len(pairing.skip_target)
    if n * m <= COARSEST_CELLS or min(n, m) <= _FEWEST:
        return whole_band(n, m)
    coarser = pairing.coarser()
    spans = cheapest_path(coarser, _band(coarser))[0]
    return _near(spans, 2, pairing, _MARGIN)


def near(links: Iterable[Link], pairing: Pairing, margin: int) -> Band:
    """Return the target positions within so many sentences of an alignment of the documents."""
    return _near((link.span for link in links), 1, pairing, margin)


def _near(path: Iterable[Span], joined: int, pairing: Pairing, margin: int) -> Band:
    """The target positions near a path through documents whose sentences are so many in one."""
    n, m = len(pairing.skip_source), len(pairing.skip_target)
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
