"""Monotonic alignment of two documents: which groups of sentences are translations of each other?

A link joins one or more consecutive sentences of either side; sentences without a translation are
left out; order is kept. The cheapest path is found coarse to fine, in time linear in the number of
sentences (Thompson & Koehn 2019, "Vecalign", section 3.3): neighbouring sentences are joined until
few are left, those are aligned in every possible way, and each finer path is looked for near the
coarser one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from bitextfilter.mining.monotonic import Band, Span, StepCosts, cheapest_path, whole_band

__all__ = ["Link", "Pairing", "align", "near", "scored"]

COARSEST_CELLS = 2**18
FEWEST = 32
"""A side is not made coarser than so many sentences."""
MARGIN = 24
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
    band = near(before, pairing, MARGIN) if before else _band(pairing)
    return scored(pairing, cheapest_path(pairing, band)[0])


def scored(pairing: Pairing, spans: Sequence[Span]) -> list[Link]:
    """Return a path as links, with their scores."""
    linked = [span for span in spans if span[0] < span[1] and span[2] < span[3]]
    scores = dict(zip(linked, pairing.scores(linked), strict=True))
    return [Link(range(*span[:2]), range(*span[2:]), scores.get(span)) for span in spans]


def _band(pairing: Pairing) -> Band:
    """Everything, or if the documents are long what is near the path of coarser ones."""
    n, m = len(pairing.skip_source), len(pairing.skip_target)
    if n * m <= COARSEST_CELLS or min(n, m) <= FEWEST:
        return whole_band(n, m)
    coarser = pairing.coarser()
    spans = cheapest_path(coarser, _band(coarser))[0]
    return _near(spans, 2, pairing, MARGIN)


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
