"""The window over a stream of pairs, against slices of a list."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus import noise
from bitextfilter.corpus.noise import PairWindow, WordRange

Pair = tuple[str, str]

WORDS = WordRange(2, 3)


def pairs_of(lengths: list[int]) -> list[Pair]:
    """Pairs that differ, with so many words in the target."""
    return [(f"{i} {i}", " ".join([str(i)] * length)) for i, length in enumerate(lengths)]


@given(st.lists(st.integers(1, 4), max_size=15), st.integers(1, 6))
def test_neighbours_and_others_are_those_around(lengths: list[int], reach: int) -> None:
    pairs = pairs_of(lengths)
    fits = [length in (2, 3) for length in lengths]

    def around(place: int, far: int) -> list[Pair]:
        places = range(max(0, place - far), min(len(pairs), place + far + 1))
        return [pairs[other] for other in places if other != place and fits[other]]

    stream = PairWindow(iter(pairs), reach, WORDS)
    for place, pair in enumerate(stream):
        assert pair == pairs[place]
        assert stream.fits() == fits[place]
        assert stream.neighbours() == around(place, min(2, reach))
        drawn = {other for seed in range(9) for other in stream.others(random.Random(seed))}
        assert drawn <= set(around(place, reach))
        assert bool(drawn) == bool(around(place, reach))
    assert not pairs or pair == pairs[-1]


def test_long_text_shortens_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_MOST_TEXT", 100)
    read = []

    def long() -> Iterator[Pair]:
        for number in range(50):
            read.append(number)
            yield "ab " * 40, f"{number} {number}"

    stream = PairWindow(long(), 20, WordRange(1, 99))
    for number, _ in enumerate(stream):
        assert len(read) == min(50, number + 3)
        near = {number + step for step in (-2, -1, 1, 2)} & set(range(50))
        assert {int(target.split()[0]) for _, target in stream.neighbours()} == near
        assert {int(pair[1].split()[0]) for pair in stream.others(random.Random(1))} <= near
    assert number == 49
