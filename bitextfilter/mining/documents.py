"""Monotonic alignment of two documents: which groups of sentences are translations of each other?

A link joins one or more consecutive sentences of either side; sentences without a translation are
left out; order is kept. The cheapest path is found coarse to fine, in time linear in the number of
sentences (Thompson & Koehn 2019, "Vecalign", section 3.3): neighbouring sentences are joined until
few are left, those are aligned in every possible way, and each finer path is looked for near the
coarser one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from bitextfilter.mining.monotonic import Band, Span, StepCosts, cheapest_path, whole_band

__all__ = ["Link", "Pairing", "align"]

COARSEST_CELLS = 2**18
FEWEST = 32
"""A side is not made coarser than so many sentences."""
MARGIN = 24
"""How many sentences to either side of the coarser path are looked at."""


class Pairing(StepCosts, Protocol):
    """What links between the sentences of two documents cost."""

    def coarser(self) -> Pairing:
        """Return that of the documents with every two sentences as one."""
        ...

    def scores(self, spans: Sequence[Span]) -> Sequence[float]:
        """Return how good links are, higher is better."""
        ...


class Link(NamedTuple):
    """A part of an alignment: consecutive sentences of either side, and how alike they are."""

    source: range
    target: range
    score: float | None
    """What the pairing says; None where one side has no sentence."""


def align(pairing: Pairing) -> list[Link]:
    """Align two documents: every sentence of either is in one link, in order."""
    spans = _path(pairing)
    linked = [span for span in spans if span[0] < span[1] and span[2] < span[3]]
    scores = dict(zip(linked, pairing.scores(linked), strict=True))
    return [Link(range(*span[:2]), range(*span[2:]), scores.get(span)) for span in spans]


def _path(pairing: Pairing) -> list[Span]:
    """The cheapest path, near the path of the documents made coarser, if they are long."""
    n, m = len(pairing.skip_source), len(pairing.skip_target)
    if n * m <= COARSEST_CELLS or min(n, m) <= FEWEST:
        band = whole_band(n, m)
    else:
        band = _near(_path(pairing.coarser()), n, m)
    return cheapest_path(pairing, band)[0]


def _near(path: Sequence[Span], n: int, m: int) -> Band:
    """The target positions near a path through documents of half as many sentences."""
    half = (n + 1) // 2
    low, high = np.full(half + 1, m, np.int64), np.zeros(half + 1, np.int64)
    for span in path:
        rows = slice(span.source_start, span.source_stop + 1)
        low[rows] = np.minimum(low[rows], span.target_start)
        high[rows] = np.maximum(high[rows], span.target_stop)
    reach = MARGIN * max(1, -(-m // n))
    positions = np.arange(n + 1)
    first = (2 * low[positions // 2] - reach).clip(0, m)
    last = (2 * high[(positions + 1) // 2] + reach).clip(0, m)
    return Band(first, last)
