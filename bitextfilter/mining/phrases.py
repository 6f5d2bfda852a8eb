"""Phrase pairs of aligned sentence pairs (Koehn, Och & Marcu 2003)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from bitextfilter.mining.word_alignment import Alignments

__all__ = ["Spans", "consistent_spans", "symmetrised"]

Links = set[tuple[int, int]]

NEIGHBOURS = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


class Spans(NamedTuple):
    """A phrase pair: first word, and the one behind the last, of the source and the target."""

    source: tuple[int, int]
    target: tuple[int, int]


def symmetrised(alignments: Alignments) -> Links:
    """One alignment of two: grow-diag-final-and (Koehn et al. 2005).

    The links of both directions; then, again and again, those of either that are neighbours of one
    there is (diagonally, too) and join a word without a link; last, those of either that join two
    words without a link.
    """
    links = alignments.forward & alignments.backward
    union = alignments.forward | alignments.backward
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    waiting = sorted(links, reverse=True)
    while waiting:
        i, j = waiting.pop()
        for down, right in NEIGHBOURS:
            new = i + down, j + right
            if new in union and (new[0] not in sources or new[1] not in targets):
                waiting.append(new)
                _add(new, links, sources, targets)
    for new in chain(sorted(alignments.forward), sorted(alignments.backward)):
        if new[0] not in sources and new[1] not in targets:
            _add(new, links, sources, targets)
    return links


def _add(new: tuple[int, int], links: Links, sources: set[int], targets: set[int]) -> None:
    links.add(new)
    sources.add(new[0])
    targets.add(new[1])


def consistent_spans(links: Links, lengths: tuple[int, int], most: int) -> Iterator[Spans]:
    """Phrase pairs of up to *most* words a side that are consistent with an alignment.

    At least one link lies within, and none leads from within to without. Words without a link may
    stand at either end.

    Args:
        links: places of source and target words.
        lengths: words of the source and of the target.
        most: words of a phrase.
    """
    of_source: list[list[int]] = [[] for _ in range(lengths[0])]
    of_target: list[list[int]] = [[] for _ in range(lengths[1])]
    for i, j in links:
        of_source[i].append(j)
        of_target[j].append(i)
    for i in range(lengths[0]):
        found: list[int] = []
        for end in range(i + 1, min(i + most, lengths[0]) + 1):
            found += of_source[end - 1]
            if not found:
                continue
            j, stop = min(found), max(found) + 1
            back = [k for each in of_target[j : min(stop, j + most)] for k in each]
            if stop - j <= most and min(back) >= i and max(back) < end:
                for wide in _widened((j, stop), of_target, most):
                    yield Spans((i, end), wide)


def _widened(
    span: tuple[int, int], linked: list[list[int]], most: int
) -> Iterator[tuple[int, int]]:
    """The span, and wider ones by words without a link, up to *most* words."""
    first = span[0]
    while True:
        stop = span[1]
        while stop - first <= most:
            yield first, stop
            if stop == len(linked) or linked[stop]:
                break
            stop += 1
        first -= 1
        if first < 0 or linked[first] or span[1] - first > most:
            return
