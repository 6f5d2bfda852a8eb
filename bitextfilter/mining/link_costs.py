"""Costs of links: their scale, their kinds, and sentence lengths (Gale & Church 1993).

Sentences that are translations are about as long. With δ how far two lengths are apart, in standard
deviations, a link costs -log P(its size) - log P(|δ| or more); sizes and constants are the paper's
(sections 3.1 to 3.3, table 5), but for how many target characters a source character makes, which
is that of the documents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bitextfilter.arrays import Floats, Indices, Integers
from bitextfilter.errors import SettingsError
from bitextfilter.mining.monotonic import Span, Step

UNIT = 2**20


@dataclass(frozen=True)
class LinkSettings:
    """What is a link, and what it costs. Raises SettingsError for what is out of range."""

    largest: int = 5
    """So many sentences of a side may be in a link; with one of the other, and less with more."""
    skip: float = 0.9
    """What leaving out a sentence costs, where linking two unrelated ones costs 1."""
    length: float = 1.0
    """The weight of the squared logarithm of the lengths' ratio."""
    doubt: float = 0.3
    """What is added to the cost, times the size, of a link that a judge is sure is none."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not 1 <= self.largest <= 10:
            raise SettingsError("a link has 1 to 10 sentences of a side")
        if not all(0 <= cost <= 100 for cost in (self.skip, self.length, self.doubt)):
            raise SettingsError("the costs of skips, lengths and doubts are from 0 to 100")

    def links(self) -> list[Step]:
        """Return the sizes that links have, small ones first."""
        sizes = range(1, self.largest + 1)
        steps = [Step(a, b) for a in sizes for b in sizes if a + b <= self.largest + 1]
        return sorted(steps, key=lambda step: (sum(step), abs(step.source - step.target)))


def link_size(step: Step) -> float:
    """Return what a link's unlikeness is multiplied by: more for more sentences.

    It is half of the way from how many sentences follow the first pair to how many pairs there are.
    By the former, n + m - 1, long links cost too little, by the latter, n × m, too much.
    """
    return (step.source * step.target + step.source + step.target - 1) / 2


def whole(costs: Floats) -> Integers:
    """Return costs as whole numbers, 2**20 for that of linking two unrelated sentences."""
    return np.rint(costs * UNIT).astype(np.int64)


VARIANCE = 6.8
"""Of a sentence's length in its translation, for each character."""
SIZES = {
    Step(1, 1): 0.89,
    Step(1, 2): 0.089 / 2,
    Step(2, 1): 0.089 / 2,
    Step(2, 2): 0.011,
    Step(1, 0): 0.0099 / 2,
    Step(0, 1): 0.0099 / 2,
}
"""How probable links are, by size; the paper gives those of mirrored sizes together."""
_LEAST = 1e-100

_erfc = np.frompyfunc(math.erfc, 1, 1)


class LengthPairing:
    """Costs of links between two documents, by how many characters their sentences have."""

    def __init__(self, source: Indices, target: Indices) -> None:
        """Take the characters up to each position, ``(n + 1,)`` and ``(m + 1,)``, from 0."""
        self._source, self._target = source, target
        self._ratio = (int(target[-1]) or 1) / (int(source[-1]) or 1)
        self.links = [step for step in SIZES if all(step)]
        none = np.zeros(1)
        self.skip_source = self._cost(Step(1, 0), np.diff(source), none)[:, 0]
        self.skip_target = self._cost(Step(0, 1), none, np.diff(target))[0]

    def block(self, rows: slice, columns: slice) -> Integers:
        """Return ``(links, rows, columns)``."""
        return np.stack(
            [self._cost(step, *self._lengths(step, rows, columns)) for step in self.links]
        )

    def coarser(self) -> LengthPairing:
        """Return it with every two sentences of either side as one."""
        return LengthPairing(halved(self._source), halved(self._target))

    def scores(self, spans: Sequence[Span]) -> list[float]:
        """Return how probable it is that translations differ in length so much, 0 to 1."""
        return [
            float(self._tail(np.diff(self._source[[a, b]]), np.diff(self._target[[c, d]]))[0, 0])
            for a, b, c, d in spans
        ]

    def _lengths(self, step: Step, rows: slice, columns: slice) -> tuple[Indices, Indices]:
        """The characters of groups that end at these positions."""
        lengths = [
            ends[places] - ends[np.maximum(places - count, 0)]
            for ends, places, count in (
                (self._source, np.arange(rows.start, rows.stop), step.source),
                (self._target, np.arange(columns.start, columns.stop), step.target),
            )
        ]
        return lengths[0], lengths[1]

    def _cost(self, step: Step, source: Floats | Indices, target: Floats | Indices) -> Integers:
        """-log of the probability of links of a size and of lengths, ``(rows, columns)``."""
        tail = np.maximum(self._tail(source, target), _LEAST)
        return np.rint((-np.log(tail) - math.log(SIZES[step])) * UNIT).astype(np.int64)

    def _tail(self, source: Floats | Indices, target: Floats | Indices) -> Floats:
        """P(|δ| or more) = 2 (1 - Φ(|δ|)) of every two lengths, ``(rows, columns)``.

        The deviation is by the mean of both lengths, as in the program of the paper's appendix.
        """
        mean = (source[:, None] + target / self._ratio) / 2
        apart = np.abs(target - source[:, None] * self._ratio)
        deviation = np.sqrt(VARIANCE * np.maximum(mean, 1))
        return np.asarray(_erfc(apart / deviation / math.sqrt(2)), dtype=np.float64)


def halved(ends: Indices) -> Indices:
    """Return the ends ``(n + 1,)`` of every two sentences, and of what is left over."""
    return np.append(ends[0:-1:2], ends[-1])
