"""Costs of links: their scale, their kinds, and sentence lengths (Gale & Church 1993).

Translations are about as long as their sources. With δ the difference of two lengths in standard
deviations, a link costs -log P(its size) - log P(|δ| or more). Sizes and constants are those of the
paper (sections 3.1 to 3.3, table 5), but target characters for a source character are counted in
the documents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bitextfilter.arrays import Floats, Indices, Integers
from bitextfilter.errors import SettingsError
from bitextfilter.mining.monotonic import LinkSize, Span

COST_UNIT = 2**20


@dataclass(frozen=True)
class LinkSettings:
    """Sizes and costs of links. Raises SettingsError for values out of range."""

    largest: int = 5
    """Most sentences of a side in a link with one of the other; fewer in one with more."""
    skip: float = 0.9
    """Cost of leaving out a sentence, where linking two unrelated ones costs 1."""
    length: float = 1.0
    """Weight of the squared logarithm of the ratio of lengths."""
    penalty: float = 0.3
    """Cost, times the size, of a link that the model scorer is sure is no translation."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 1 <= self.largest <= 10:
            raise SettingsError("a link has 1 to 10 sentences of a side")
        if not all(0 <= cost <= 100 for cost in (self.skip, self.length, self.penalty)):
            raise SettingsError("the costs of skips, lengths and penalties are from 0 to 100")

    def links(self) -> list[LinkSize]:
        """Return the sizes of links, small ones first."""
        counts = range(1, self.largest + 1)
        sizes = [LinkSize(a, b) for a in counts for b in counts if a + b <= self.largest + 1]
        return sorted(sizes, key=lambda size: (sum(size), abs(size.source - size.target)))


def link_weight(size: LinkSize) -> float:
    """Return the factor on the distance of a link's texts: higher for more sentences.

    It is the mean of n + m - 1, by which long links cost too little, and of the number of sentence
    pairs n × m, by which they cost too much.
    """
    return (size.source * size.target + size.source + size.target - 1) / 2


def whole_costs(costs: Floats) -> Integers:
    """Return costs as whole numbers, 2**20 for that of linking two unrelated sentences."""
    return np.rint(costs * COST_UNIT).astype(np.int64)


def group_lengths(ends: Indices, stops: Indices, count: int) -> Indices:
    """Return the characters of the groups of *count* sentences that end at some positions.

    ``ends`` ``(n + 1,)`` are the characters up to each position.
    """
    return np.asarray(ends[stops] - ends[np.maximum(stops - count, 0)])


_VARIANCE = 6.8
"""Variance of the length of a translation, for each character."""
_SIZES = {
    LinkSize(1, 1): 0.89,
    LinkSize(1, 2): 0.089 / 2,
    LinkSize(2, 1): 0.089 / 2,
    LinkSize(2, 2): 0.011,
    LinkSize(1, 0): 0.0099 / 2,
    LinkSize(0, 1): 0.0099 / 2,
}
"""Probabilities of links by size; the paper gives those of mirrored sizes together."""
_LEAST = 1e-100

_erfc = np.frompyfunc(math.erfc, 1, 1)


class LengthLinkCosts:
    """Costs of links between two documents by the lengths of their sentences."""

    def __init__(self, source: Indices, target: Indices) -> None:
        """Take the characters up to each position, ``(n + 1,)`` and ``(m + 1,)``, from 0."""
        self._source, self._target = source, target
        self._ratio = (int(target[-1]) or 1) / (int(source[-1]) or 1)
        self.links = [size for size in _SIZES if all(size)]
        none = np.zeros(1)
        self.skip_source = self._cost(LinkSize(1, 0), np.diff(source), none)[:, 0]
        self.skip_target = self._cost(LinkSize(0, 1), none, np.diff(target))[0]

    def block(self, rows: slice, columns: slice) -> Integers:
        """Return ``(links, rows, columns)``."""
        stops = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
        parts = []
        for size in self.links:
            source = group_lengths(self._source, stops[0], size.source)
            target = group_lengths(self._target, stops[1], size.target)
            parts.append(self._cost(size, source, target))
        return np.stack(parts)

    def coarser(self) -> LengthLinkCosts:
        """Return it with every two sentences of either side as one."""
        return LengthLinkCosts(halved(self._source), halved(self._target))

    def scores(self, spans: Sequence[Span]) -> list[float]:
        """Return the probability that lengths of translations differ at least so much, 0 to 1."""
        return [
            float(self._tail(np.diff(self._source[[a, b]]), np.diff(self._target[[c, d]]))[0, 0])
            for a, b, c, d in spans
        ]

    def _cost(self, size: LinkSize, source: Floats | Indices, target: Floats | Indices) -> Integers:
        """Return -log of the probability of a size and of lengths, ``(rows, columns)``."""
        tail = np.maximum(self._tail(source, target), _LEAST)
        return np.rint((-np.log(tail) - math.log(_SIZES[size])) * COST_UNIT).astype(np.int64)

    def _tail(self, source: Floats | Indices, target: Floats | Indices) -> Floats:
        """Return P(|δ| or more) = 2 (1 - Φ(|δ|)) of every two lengths, ``(rows, columns)``.

        The deviation is by the mean of both lengths, as in the program of the paper's appendix.
        """
        mean = (source[:, None] + target / self._ratio) / 2
        apart = np.abs(target - source[:, None] * self._ratio)
        deviation = np.sqrt(_VARIANCE * np.maximum(mean, 1))
        return np.asarray(_erfc(apart / deviation / math.sqrt(2)), dtype=np.float64)


def halved(ends: Indices) -> Indices:
    """Return the ends of every two sentences, and of one left over, of ends ``(n + 1,)``."""
    return np.append(ends[0:-1:2], ends[-1])
