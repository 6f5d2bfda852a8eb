"""A second opinion on links, dear and better, that is asked for only where it may matter.

A link gets dearer the more it is doubted. To ask about every link that there could be would take
long. So the cheapest path is looked for as if only links asked about were doubted; then those of
that path are asked about; and so on, until all of them are known. Then no path is cheaper, whatever
would be said of other links, since doubts only make them dearer (lazy search of paths: Dellin &
Srinivasa 2016, "A unifying formalism for shortest path problems with expensive edge evaluations").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from bitextfilter.mining.coarse_to_fine import Link, Pairing, near, scored
from bitextfilter.mining.monotonic import IMPOSSIBLE, Costs, Span, Step, cheapest_path

__all__ = ["Doubts", "reconsider"]

Doubts = Callable[[Sequence[Span]], Costs]
"""From links to what they cost more, ``(n,)``, not below 0."""

MARGIN = 8
"""How many sentences to either side of the first path are looked at."""
ROUNDS = 12
"""So often the links of a path are asked about; after that, only links asked about are taken."""


def reconsider(pairing: Pairing, links: Sequence[Link], doubts: Doubts) -> list[Link]:
    """Align two documents again, near the cheapest alignment, with doubts counting, too.

    Args:
        pairing: what links cost without doubts.
        links: the cheapest alignment by that.
        doubts: asked about some of the links, about each once.
    """
    costs = _DoubtedCosts(pairing)
    band = near(links, pairing, MARGIN)
    spans = [link.span for link in links]
    for _ in range(ROUNDS):
        new = costs.unknown(spans)
        if not new:
            break
        costs.learn(new, doubts(new))
        spans = cheapest_path(costs, band)[0]
    if costs.unknown(spans):
        costs.only_known = True
        spans = cheapest_path(costs, band)[0]
    return scored(pairing, spans)


class _DoubtedCosts:
    """What steps cost, with the doubts that are known."""

    def __init__(self, pairing: Pairing) -> None:
        """Know no doubts."""
        self._pairing = pairing
        self._numbers = {step: number for number, step in enumerate(pairing.links)}
        self._doubts: dict[Span, int] = {}
        self._ending: defaultdict[int, list[Span]] = defaultdict(list)
        self._blocks: dict[tuple[int, int, int, int], Costs] = {}
        self.links = pairing.links
        self.skip_source, self.skip_target = pairing.skip_source, pairing.skip_target
        self.only_known = False
        """Whether all other links are impossible."""

    def unknown(self, spans: Iterable[Span]) -> list[Span]:
        """Return the links among the steps of a path that have not been asked about."""
        return [span for span in spans if all(_step(span)) and span not in self._doubts]

    def learn(self, spans: Sequence[Span], doubts: Costs) -> None:
        """Keep what links cost more."""
        for span, doubt in zip(spans, doubts.tolist(), strict=True):
            self._doubts[span] = doubt
            self._ending[span.source_stop].append(span)

    def block(self, rows: slice, columns: slice) -> Costs:
        """Return ``(links, rows, columns)``."""
        key = rows.start, rows.stop, columns.start, columns.stop
        if key not in self._blocks:
            self._blocks[key] = self._pairing.block(rows, columns)
        plain = self._blocks[key]
        found = np.full_like(plain, IMPOSSIBLE) if self.only_known else plain.copy()
        for row in range(rows.start, rows.stop):
            for span in self._ending.get(row, ()):
                if columns.start <= span.target_stop < columns.stop:
                    place = row - rows.start, span.target_stop - columns.start
                    cell = (self._numbers[_step(span)], *place)
                    found[cell] = plain[cell] + self._doubts[span]
        return found


def _step(span: Span) -> Step:
    """How many sentences of either side a step takes."""
    return Step(span.source_stop - span.source_start, span.target_stop - span.target_start)
