"""Links of aligned documents: their settings; and chunks, neighbours as one pair of longer texts.

Links in order are divided where too many sentences have no counterpart, and at the ends of source
paragraphs; paragraphs are then joined while they are short enough, and long ones are cut between
links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from bitextfilter.settings import Settings, from_0, from_1, setting

if TYPE_CHECKING:
    from bitextfilter.mining.monotonic import Link, LinkSize


class ChunkSide(NamedTuple):
    """What is known of each sentence of one side of a document."""

    paragraphs: Sequence[int]
    """Numbers of their paragraphs, not falling."""
    sizes: Sequence[int]
    """Words, or characters."""


_cost = partial(setting, within=">= 0, <= 100")


@dataclass(frozen=True)
class LinkSettings(Settings):
    """Sizes and costs of links."""

    largest: int = setting(
        5,
        "Up to N sentences of a side may be in a link with one of the other.",
        within=">= 1, <= 10",
        option="--largest N",
    )
    skip: float = _cost(
        0.9, "Cost of leaving out a sentence; a link of unrelated ones costs 1.", option="--skip C"
    )
    length: float = _cost(0.22)
    """Weight of the squared difference of lengths, relative to ten times their sum."""
    more: float = _cost(0.6)
    """Cost of each sentence after the first on the longer side of a link."""
    both: float = _cost(0.66)
    """Cost of each sentence after the first on the shorter side of a link."""
    words: float = _cost(1.45)
    """Cost of the words of a sentence of the mean weight, where nothing covers them."""
    penalty: float = _cost(0.3)
    """Cost, times the size, of a link that the model scorer is sure is no translation."""

    def links(self) -> list[LinkSize]:
        """Return the sizes of links, small ones first."""
        from bitextfilter.mining.monotonic import LinkSize

        counts = range(1, self.largest + 1)
        sizes = [LinkSize(a, b) for a in counts for b in counts if a + b <= self.largest + 1]
        return sorted(sizes, key=lambda size: (sum(size), abs(size.source - size.target)))


@dataclass(frozen=True)
class ChunkSettings:
    """Where chunks end."""

    most: int = from_1(256, "paragraphs: most words of the longer side.", option="--most-words N")
    """A single link may be larger."""
    hole: int = from_0(
        0,
        "paragraphs: sentences without a counterpart that may stand between links.",
        option="--hole N",
    )
    """Of both sides together."""


class Chunk(NamedTuple):
    """Consecutive sentences of either side, and how well they are linked."""

    source: range
    target: range
    links: int
    """Links with sentences of both sides."""
    score: float | None
    """Mean of the links' scores, weighted by the sizes of both sides; None without links."""
    lowest: float | None
    """Lowest score of a link; None without links."""
    unaligned: tuple[float, float]
    """Shares of the sizes of source and target, 0 to 1, that are in no link."""


def paragraph_numbers(lines: Sequence[int], each_line: bool) -> list[int]:
    """Return the number of the paragraph of each sentence, from 0.

    *lines* are the numbers of the sentences' lines. A paragraph ends where a line is missing; if
    *each_line*, each line is one.
    """
    least = 1 if each_line else 2
    numbers = [0] * min(len(lines), 1)
    for before, line in pairwise(lines):
        numbers.append(numbers[-1] + (line - before >= least))
    return numbers


def chunks_of(
    links: Sequence[Link], sides: tuple[ChunkSide, ChunkSide], settings: ChunkSettings
) -> Iterator[Chunk]:
    """Yield the chunks of a document, in order; a link without a score is a hole.

    No chunk begins or ends with a hole, and each link with a score is in one chunk.
    """
    document = _Document(sides)
    for run in _runs(links, settings.hole):
        held: list[Link] = []
        for unit in _paragraphs(run, sides[0].paragraphs):
            fits = document.size(unit[0], unit[-1]) <= settings.most
            for part in [unit] if fits else _single(unit):
                if held and document.size(held[0], part[-1]) > settings.most:
                    yield from document.chunk(held)
                    held = []
                held += part
        yield from document.chunk(held)


def whole_chunk(links: Sequence[Link], sides: tuple[ChunkSide, ChunkSide]) -> Chunk:
    """Return a document, with what has no counterpart at its ends, as one chunk."""
    source, target = (range(len(side.sizes)) for side in sides)
    return _Document(sides).measured(links, source, target)


def _runs(links: Sequence[Link], hole: int) -> Iterator[list[Link]]:
    """Yield the links between larger holes; a run begins and ends with a link with a score."""
    run: list[Link] = []
    waiting: list[Link] = []
    for link in links:
        if link.score is None:
            waiting.append(link)
            continue
        if run and sum(map(_sentences, waiting)) > hole:
            yield run
            run = []
        run += [*(waiting if run else ()), link]
        waiting = []
    if run:
        yield run


def _sentences(link: Link) -> int:
    return len(link.source) + len(link.target)


def _paragraphs(run: Sequence[Link], numbers: Sequence[int]) -> Iterator[list[Link]]:
    """Yield the links of each source paragraph; of several that a link joins, together."""
    unit: list[Link] = []
    last = -1
    for link in run:
        if link.source:
            if unit and numbers[link.source.start] != last:
                yield unit
                unit = []
            last = numbers[link.source.stop - 1]
        unit.append(link)
    yield unit


def _single(unit: Sequence[Link]) -> Iterator[list[Link]]:
    """Yield the links of a paragraph that is too large; a hole goes with the link before it."""
    part: list[Link] = []
    for link in unit:
        if part and link.score is not None:
            yield part
            part = []
        part.append(link)
    yield part


class _Document:
    """Sizes up to each sentence."""

    def __init__(self, sides: tuple[ChunkSide, ChunkSide]) -> None:
        self._ends = tuple([0, *accumulate(side.sizes)] for side in sides)

    def _sizes(self, source: range, target: range) -> tuple[int, int]:
        first, second = self._ends
        return (
            first[source.stop] - first[source.start],
            second[target.stop] - second[target.start],
        )

    def size(self, first: Link, last: Link) -> int:
        """Return the size of the longer side, from one link to another."""
        return max(self._sizes(*_ranges(first, last)))

    def chunk(self, links: Sequence[Link]) -> Iterator[Chunk]:
        """Yield links as a chunk, without the holes at its ends; nothing for holes alone."""
        places = [place for place, link in enumerate(links) if link.score is not None]
        if places:
            inner = links[places[0] : places[-1] + 1]
            yield self.measured(inner, *_ranges(inner[0], inner[-1]))

    def measured(self, links: Sequence[Link], source: range, target: range) -> Chunk:
        """Return the sentences of these ranges as a chunk of these links."""
        scores = [link.score for link in links if link.score is not None]
        linked = [self._sizes(link.source, link.target) for link in links if link.score is not None]
        sums = [sum(side) for side in zip(*linked, strict=True)] if linked else [0, 0]
        total = sum(score * sum(sizes) for score, sizes in zip(scores, linked, strict=True))
        first, second = (
            1 - part / whole if whole else 0.0
            for part, whole in zip(sums, self._sizes(source, target), strict=True)
        )
        score = total / max(sum(sums), 1) if scores else None
        return Chunk(source, target, len(scores), score, min(scores, default=None), (first, second))


def _ranges(first: Link, last: Link) -> tuple[range, range]:
    return (
        range(first.source.start, last.source.stop),
        range(first.target.start, last.target.stop),
    )
