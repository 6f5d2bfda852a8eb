"""Joining what was found in parts, against sorting all of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.similarity.neighbours import (
    NO_ROW,
    Neighbours,
    merge_neighbours,
    no_neighbours,
)

PAIRS = st.dictionaries(st.integers(0, 12), st.sampled_from([-0.5, 0.0, 0.25, 0.5]), max_size=6)


def as_found(rows: list[dict[int, float]]) -> Neighbours:
    """Each row's numbers and cosines, best first, filled up."""
    made = no_neighbours(len(rows), max(map(len, rows), default=0))
    for place, row in enumerate(rows):
        for column, (number, cosine) in enumerate(sorted(row.items(), key=lambda x: (-x[1], x[0]))):
            made[0][place, column], made[1][place, column] = cosine, number
    return made


@given(st.lists(st.tuples(PAIRS, PAIRS), min_size=1, max_size=5), st.integers(1, 8))
def test_against_sorting(rows: list[tuple[dict[int, float], dict[int, float]]], k: int) -> None:
    """A number that is in both has one cosine."""
    second = [{n: one.get(n, c) for n, c in two.items()} for one, two in rows]
    found = merge_neighbours(as_found([one for one, _ in rows]), as_found(second), k)
    for place, one in enumerate(one for one, _ in rows):
        ranked = sorted((-cosine, number) for number, cosine in {**one, **second[place]}.items())
        ranked = (ranked + [(np.inf, NO_ROW)] * k)[:k]
        assert list(zip(-found[0][place], found[1][place], strict=True)) == ranked


@pytest.mark.parametrize("k", [1, 4])
def test_of_no_rows_and_of_nothing(k: int) -> None:
    assert merge_neighbours(no_neighbours(0, 2), no_neighbours(0, 3), k)[0].shape == (0, k)
    found = merge_neighbours(no_neighbours(3, 0), no_neighbours(3, 2), k)
    assert (found[1] == NO_ROW).all()
    assert (found[0] == -np.inf).all()
