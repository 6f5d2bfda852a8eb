"""Repeats in documents: the same sentence twice in a row, as headings or a scanner leave them.

A link of one sentence with two equal ones is hardly a translation: one of the two is left out,
unless the other side repeats itself, too (``No, no.`` and ``Nein.`` ``Nein.``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bitextfilter.arrays import Indices, Integers
from bitextfilter.mining.monotonic import IMPOSSIBLE, LinkCosts, LinkSize, Span

_WORDS = re.compile(r"\w+")


def _words(sentence: str) -> tuple[str, ...]:
    """Return the words of a sentence; of one without any, its marks as one."""
    return tuple(_WORDS.findall(sentence.casefold())) or ("".join(sentence.split()),)


def _echo(words: Sequence[str]) -> int:
    """Return the most words that stand twice in a row: 2 in ``never more, never more``."""
    last: dict[str, int] = {}
    most = before = count = 0
    for place, word in enumerate(words):
        back = place - last.get(word, place)  # 0 for a new word
        count = count + 1 if back == before else 1
        if count >= back > most:
            most = back
        before, last[word] = back, place
    return most


class _Side:
    """The repeats of the groups of sentences of a document."""

    def __init__(self, sentences: Sequence[str], largest: int) -> None:
        words = list(map(_words, sentences))
        self._words, self._largest = words, largest
        same = [len(one) if one == other else 0 for one, other in pairwise(words)]
        self.repeats = np.zeros((largest, len(words) + 1), np.int64)
        """Words of the longest sentence that a group of k has twice in a row, by its end."""
        for count in range(2, largest + 1):
            for stop in range(count, len(words) + 1):
                self.repeats[count - 1, stop] = max(same[stop - count : stop - 1])

    def echoes(self, near: Indices) -> Integers:
        """Return the most words that groups have twice in a row, as ``repeats``, at some ends."""
        found = np.zeros_like(self.repeats)
        for stop in near.tolist():
            for count in range(1, min(self._largest, stop) + 1):
                group = [word for one in self._words[stop - count : stop] for word in one]
                found[count - 1, stop] = _echo(group)
        return found


class Repeats:
    """The links of two documents that only a repeated sentence makes, which are impossible."""

    def __init__(self, sides: tuple[Sequence[str], Sequence[str]], largest: int) -> None:
        """Take the sentences of both documents, and the most of them in a link."""
        source, target = (_Side(side, largest) for side in sides)
        self.any = bool(source.repeats.any() or target.repeats.any())
        """Whether there is a repeat."""
        self._repeats = source.repeats, target.repeats
        self._echoes = tuple(
            side.echoes(np.arange(side.repeats.shape[1]) if other.repeats.any() else np.arange(0))
            for side, other in ((source, target), (target, source))
        )

    def impossible(
        self, size: LinkSize, rows: slice, columns: slice
    ) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
        """Return which links of a size are impossible, by their ends, ``(rows, columns)``."""
        source, target = (
            (repeats[count - 1, part], echoes[count - 1, part])
            for repeats, echoes, count, part in zip(
                self._repeats, self._echoes, size, (rows, columns), strict=True
            )
        )
        one = source[0][:, None] > 2 * target[1]
        return one | (target[0] > 2 * source[1][:, None])


class WithoutRepeats:
    """Costs of links, in which those of :class:`Repeats` are impossible."""

    def __init__(self, costs: LinkCosts, repeats: Repeats) -> None:
        self._costs, self._repeats = costs, repeats
        self.links = costs.links
        self.skip_source, self.skip_target = costs.skip_source, costs.skip_target

    def block(self, rows: slice, columns: slice) -> Integers:
        """Return ``(links, rows, columns)``."""
        found = self._costs.block(rows, columns)
        for number, size in enumerate(self.links):
            found[number][self._repeats.impossible(size, rows, columns)] = IMPOSSIBLE
        return found

    def coarser(self) -> LinkCosts:
        """Return the costs of the documents with every two sentences as one."""
        return self._costs.coarser()

    def scores(self, spans: Sequence[Span]) -> Sequence[float]:
        """Return the scores of links."""
        return self._costs.scores(spans)


def without_repeats(costs: LinkCosts, sides: tuple[Sequence[str], Sequence[str]]) -> LinkCosts:
    """Return costs in which no link is made by a repeated sentence alone."""
    largest = max(max(size) for size in costs.links)
    repeats = Repeats(sides, largest)
    return WithoutRepeats(costs, repeats) if repeats.any else costs
