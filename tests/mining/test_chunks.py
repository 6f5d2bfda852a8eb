"""Chunks of aligned documents, against what must hold of any and a naive reference."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from bitextfilter.mining.chunks import (
    Chunk,
    ChunkSettings,
    ChunkSide,
    chunks_of,
    paragraph_numbers,
    whole_chunk,
)
from bitextfilter.mining.monotonic import Link

Sides = tuple[ChunkSide, ChunkSide]


def made(seed: int) -> tuple[list[Link], Sides]:
    """Random links of documents, each sentence in one, with paragraphs and sizes."""
    chooser = random.Random(seed)
    links: list[Link] = []
    i = j = 0
    for _ in range(chooser.randint(0, 40)):
        n, m = chooser.choice([(1, 1)] * 5 + [(1, 2), (3, 1), (1, 0), (0, 1), (2, 0)])
        score = chooser.random() if n and m else None
        links.append(Link(range(i, i + n), range(j, j + m), score))
        i, j = i + n, j + m
    sides = []
    for number in (i, j):
        paragraphs = [0]
        for _ in range(number):
            paragraphs.append(paragraphs[-1] + (chooser.random() < 0.3))
        sizes = [chooser.randint(1, 20) for _ in range(number)]
        sides.append(ChunkSide(paragraphs[1 : number + 1], sizes))
    return links, (sides[0], sides[1])


def inside(chunk: Chunk, link: Link) -> bool:
    return set(link.source) <= set(chunk.source) and set(link.target) <= set(chunk.target)


def size(chunk: Chunk, sides: Sides) -> int:
    return max(
        sum(side.sizes[place] for place in places)
        for side, places in zip(sides, (chunk.source, chunk.target), strict=True)
    )


@pytest.mark.parametrize("hole", [0, 1, 3])
@pytest.mark.parametrize("most", [1, 25, 60, 10_000])
def test_chunks_hold_each_link_once_in_order(hole: int, most: int) -> None:
    for seed in range(60):
        links, sides = made(seed)
        scored = [link for link in links if link.score is not None]
        chunks = list(chunks_of(links, sides, ChunkSettings(most, hole)))
        held = [[link for link in scored if inside(chunk, link)] for chunk in chunks]
        assert [link for part in held for link in part] == scored
        for chunk, part in zip(chunks, held, strict=True):
            assert chunk.links == len(part) > 0
            assert chunk.source == range(part[0].source.start, part[-1].source.stop)
            assert chunk.target == range(part[0].target.start, part[-1].target.stop)
            assert size(chunk, sides) <= most or chunk.links == 1
            check_holes(part, hole)
            check_numbers(chunk, part, sides)


def check_holes(part: list[Link], hole: int) -> None:
    for before, after in pairwise(part):
        gaps = after.source.start - before.source.stop, after.target.start - before.target.stop
        assert sum(gaps) <= hole


def check_numbers(chunk: Chunk, part: list[Link], sides: Sides) -> None:
    words = [
        (
            link.score,
            sum(sides[0].sizes[i] for i in link.source)
            + sum(sides[1].sizes[j] for j in link.target),
        )
        for link in part
    ]
    mean = sum((score or 0) * weight for score, weight in words) / sum(w for _, w in words)
    assert chunk.score == pytest.approx(mean)
    assert chunk.lowest == min(score or 0 for score, _ in words)
    for place, side in enumerate(sides):
        linked = {i for link in part for i in (link.source, link.target)[place]}
        whole = (chunk.source, chunk.target)[place]
        lost = sum(side.sizes[i] for i in whole if i not in linked)
        share = lost / sum(side.sizes[i] for i in whole)
        assert chunk.unaligned[place] == pytest.approx(share)


def test_paragraphs_stay_whole_where_they_fit() -> None:
    links = [Link(range(i, i + 1), range(i, i + 1), 0.5) for i in range(8)]
    side = ChunkSide([0, 0, 0, 1, 1, 2, 2, 2], [10] * 8)

    def sources(most: int, holes: tuple[int, ...] = ()) -> list[tuple[int, int]]:
        given = [link for link in links if link.source.start not in holes]
        given += [Link(range(i, i + 1), range(i, i), None) for i in holes]
        given += [Link(range(i + 1, i + 1), range(i, i + 1), None) for i in holes]
        given.sort(key=lambda link: (link.source.start, link.target.start))
        found = chunks_of(given, (side, side), ChunkSettings(most))
        return [(chunk.source.start, chunk.source.stop) for chunk in found]

    assert sources(80) == [(0, 8)]
    assert sources(79) == [(0, 5), (5, 8)]
    assert sources(49) == [(0, 3), (3, 5), (5, 8)]
    assert sources(20) == [(0, 2), (2, 3), (3, 5), (5, 7), (7, 8)]
    assert sources(80, (4,)) == [(0, 4), (5, 8)]
    assert sources(80, (0, 7)) == [(1, 7)]


def test_a_link_joins_the_paragraphs_it_stands_in() -> None:
    links = [Link(range(3), range(1), 0.5), Link(range(3, 4), range(1, 2), 0.9)]
    sides = ChunkSide([0, 1, 1, 2], [5] * 4), ChunkSide([0, 0], [6, 6])
    found = list(chunks_of(links, sides, ChunkSettings(15)))
    assert [chunk.source for chunk in found] == [range(3), range(3, 4)]


def test_a_whole_document_counts_its_ends() -> None:
    links = [
        Link(range(1), range(0), None),
        Link(range(1, 2), range(1), 0.5),
        Link(range(2, 2), range(1, 2), None),
    ]
    sides = ChunkSide([0, 0], [30, 10]), ChunkSide([0, 0], [10, 10])
    found = whole_chunk(links, sides)
    assert found == Chunk(range(2), range(2), 1, 0.5, 0.5, (0.75, 0.5))
    nothing = ChunkSide([], []), ChunkSide([], [])
    assert whole_chunk([], nothing) == Chunk(range(0), range(0), 0, None, None, (0.0, 0.0))
    assert list(chunks_of([], nothing, ChunkSettings())) == []


def test_paragraphs_end_at_missing_lines() -> None:
    assert paragraph_numbers([0, 1, 3, 4, 8], False) == [0, 0, 1, 1, 2]
    assert paragraph_numbers([2, 2, 3, 3, 5], True) == [0, 0, 1, 1, 2]
    assert paragraph_numbers([4], False) == [0]
    assert paragraph_numbers([], True) == []
