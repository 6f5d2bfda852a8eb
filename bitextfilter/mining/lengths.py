"""Alignment of documents by the lengths of their sentences alone (Gale & Church 1993).

Sentences that are translations are about as long. With δ how far two lengths are apart, in standard
deviations, a link costs -log P(its size) - log P(|δ| or more); sizes and constants are the paper's
(sections 3.1 to 3.3, table 5), but for how many target characters a source character makes, which
is that of the documents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bitextfilter.mining.monotonic import Costs, Span, Step

__all__ = ["LengthPairing", "halved"]

Places = NDArray[np.int64]
Floats = NDArray[np.float64]

UNIT = 2**20
"""What a cost of 1 is in whole numbers."""
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
LEAST = 1e-100

_erfc = np.frompyfunc(math.erfc, 1, 1)


class LengthPairing:
    """Costs of links between two documents, by how many characters their sentences have."""

    def __init__(self, source: Places, target: Places) -> None:
        """Take the characters up to each position, ``(n + 1,)`` and ``(m + 1,)``, from 0."""
        self._source, self._target = source, target
        self._ratio = (int(target[-1]) or 1) / (int(source[-1]) or 1)
        self.links = [step for step in SIZES if all(step)]
        none = np.zeros(1)
        self.skip_source = self._cost(Step(1, 0), np.diff(source), none)[:, 0]
        self.skip_target = self._cost(Step(0, 1), none, np.diff(target))[0]

    def block(self, rows: slice, columns: slice) -> Costs:
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

    def _lengths(self, step: Step, rows: slice, columns: slice) -> tuple[Places, Places]:
        """The characters of groups that end at these positions."""
        lengths = [
            ends[places] - ends[np.maximum(places - count, 0)]
            for ends, places, count in (
                (self._source, np.arange(rows.start, rows.stop), step.source),
                (self._target, np.arange(columns.start, columns.stop), step.target),
            )
        ]
        return lengths[0], lengths[1]

    def _cost(self, step: Step, source: Floats | Places, target: Floats | Places) -> Costs:
        """-log of the probability of links of a size and of lengths, ``(rows, columns)``."""
        tail = np.maximum(self._tail(source, target), LEAST)
        return np.rint((-np.log(tail) - math.log(SIZES[step])) * UNIT).astype(np.int64)

    def _tail(self, source: Floats | Places, target: Floats | Places) -> Floats:
        """P(|δ| or more) = 2 (1 - Φ(|δ|)) of every two lengths, ``(rows, columns)``.

        The deviation is by the mean of both lengths, as in the program of the paper's appendix.
        """
        mean = (source[:, None] + target / self._ratio) / 2
        apart = np.abs(target - source[:, None] * self._ratio)
        deviation = np.sqrt(VARIANCE * np.maximum(mean, 1))
        return np.asarray(_erfc(apart / deviation / math.sqrt(2)), dtype=np.float64)


def halved(ends: Places) -> Places:
    """Return the ends ``(n + 1,)`` of every two sentences, and of what is left over."""
    return np.append(ends[0:-1:2], ends[-1])
