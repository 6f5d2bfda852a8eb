"""Anchors: what is known of the links of two documents before they are aligned.

Links divide the documents into parts; each is aligned by itself, by the costs of the whole, so the
result is the cheapest path through the known links, and time and memory are those of the parts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from operator import index
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers
from bitextfilter.errors import SettingsError
from bitextfilter.mining.monotonic import IMPOSSIBLE, LinkCosts, LinkSize, Span

KnownLink = tuple[Sequence[int], Sequence[int]]
"""Indices of source and of target sentences, rising; of one side only: without a counterpart."""


class Anchors(NamedTuple):
    """Known links, in order, and the sentences that are in none."""

    links: tuple[Span, ...] = ()
    alone: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    """Indices of source and of target sentences."""


NO_ANCHORS = Anchors()


def known_links(given: object) -> list[KnownLink]:
    """Return links given as source and target indices, in any order, and perhaps further members.

    Raises SettingsError for anything else.
    """
    if not isinstance(given, Iterable):
        raise SettingsError(f"anchors must be links, not {given!r}")
    links: list[KnownLink] = []
    for number, link in enumerate(given):
        try:
            links.append((sorted(map(index, link[0])), sorted(map(index, link[1]))))
        except (TypeError, LookupError):
            reason = f"anchors[{number}] must be source and target indices, not {link!r}"
            raise SettingsError(reason) from None
    return links


def anchors_of(known: Sequence[KnownLink]) -> Anchors:
    """Return known links without a :func:`problem` as anchors."""
    links = (Span(s[0], s[-1] + 1, t[0], t[-1] + 1) for s, t in known if s and t)
    source = frozenset(i for s, t in known if not t for i in s)
    target = frozenset(j for s, t in known if not s for j in t)
    return Anchors(tuple(sorted(set(links))), (source, target))


def problem(known: Sequence[KnownLink], sizes: tuple[int, int]) -> tuple[int, int, str] | None:
    """Return why known links of documents of some sizes cannot all hold; None if they can.

    It is the place of a link, that of an earlier one which contradicts it (or the same), and the
    reason. The same link twice is no contradiction.
    """
    for place, link in enumerate(known):
        if reason := _wrong(link, sizes):
            return place, place, reason
    used: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for place, link in enumerate(known):
        for name, numbers, side in zip(("source", "target"), used, link, strict=True):
            for number in side:
                if known[numbers.setdefault(number, place)] != link:
                    return place, numbers[number], f"a {name} sentence stands in two links"
    both = [place for place, (source, target) in enumerate(known) if source and target]
    both.sort(key=lambda place: known[place][0][0])
    for before, after in pairwise(both):
        if known[before][1][0] > known[after][1][0]:
            return max(before, after), min(before, after), "links cross"
    return None


def _wrong(link: KnownLink, sizes: tuple[int, int]) -> str | None:
    """Return the reason why a link cannot hold, whatever others there are."""
    if not any(link):
        return "a link of no sentence"
    for name, side, size in zip(("source", "target"), link, sizes, strict=True):
        if side and not 0 <= min(side) <= max(side) < size:
            return f"no {name} sentence {min(side) if min(side) < 0 else max(side)}"
        if all(link) and list(side) != list(range(side[0], side[0] + len(side))):
            return f"the {name} sentences of a link must be neighbours"
    return None


Ban = Callable[[LinkSize, slice, slice], NDArray[np.bool_]]
"""Function from a size of links, and rows and columns of their ends, to which are impossible."""


def links_of_loners(anchors: Anchors, sizes: tuple[int, int]) -> Ban:
    """Return the ban on links of sentences that are known to have no counterpart."""
    sums = [np.zeros(size + 1, np.int64) for size in sizes]
    for before, alone in zip(sums, anchors.alone, strict=True):
        before[[place + 1 for place in alone]] = 1
        np.cumsum(before, out=before)

    def ban(size: LinkSize, rows: slice, columns: slice) -> NDArray[np.bool_]:
        stops = [np.arange(part.start, part.stop) for part in (rows, columns)]
        source, target = (
            before[ends] > before[np.maximum(ends - count, 0)]
            for before, count, ends in zip(sums, size, stops, strict=True)
        )
        return np.asarray(source[:, None] | target)

    return ban


def moved(spans: Sequence[Span], part: Span, sign: int = 1) -> list[Span]:
    """Return steps within a part as steps of the whole documents; with *sign* -1, the reverse."""
    i, j = sign * part.source_start, sign * part.target_start
    return [Span(a + i, b + i, c + j, d + j) for a, b, c, d in spans]


class PartCosts:
    """Costs of links within a part of two documents, those of the whole; some are impossible."""

    def __init__(self, costs: LinkCosts, part: Span, bans: Sequence[Ban] = ()) -> None:
        self._costs, self._part, self._bans = costs, part, bans
        self.links = costs.links
        self.skip_source = costs.skip_source[part.source_start : part.source_stop]
        self.skip_target = costs.skip_target[part.target_start : part.target_stop]

    def block(self, rows: slice, columns: slice) -> Integers:
        """Return ``(links, rows, columns)``."""
        i, j = self._part.source_start, self._part.target_start
        rows = slice(rows.start + i, rows.stop + i)
        columns = slice(columns.start + j, columns.stop + j)
        found = self._costs.block(rows, columns)
        for number, size in enumerate(self.links):
            for ban in self._bans:
                found[number][ban(size, rows, columns)] = IMPOSSIBLE
        return found

    def coarser(self, part: Span | None = None) -> LinkCosts:
        """Return the costs of the part, or one of its own, with every two sentences as one."""
        return self._costs.coarser(self._part if part is None else moved([part], self._part)[0])


Search = Callable[[LinkCosts, Sequence[Span], Span], list[Span]]
"""Function from the costs of a part, its path so far, and its place, to its path."""


def align_between(
    anchors: Anchors, costs: LinkCosts, before: Sequence[Span], search: Search
) -> list[Span]:
    """Return the path through two documents by *search*, called for each part between anchors.

    *before* is a path around the same anchors, or empty.
    """
    n, m = len(costs.skip_source), len(costs.skip_target)
    if not anchors.links:
        return search(costs, before, Span(0, n, 0, m))
    starts, found = [span.source_start + span.target_start for span in before], list[Span]()
    for one, other in pairwise([Span(0, 0, 0, 0), *anchors.links, Span(n, n, m, m)]):
        part = Span(one.source_stop, other.source_start, one.target_stop, other.target_start)
        if any(part.size):
            a, b, c, d = part
            near = before[bisect_left(starts, a + c) : bisect_left(starts, b + d)]
            found += moved(search(PartCosts(costs, part), moved(near, part, -1), part), part)
        found.append(other)
    return found[:-1]
