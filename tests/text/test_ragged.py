"""Ragged rows against lists of lists."""

from __future__ import annotations

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.text.ragged import Ragged

ROWS = st.lists(st.lists(st.integers(0, 99), max_size=5), min_size=1, max_size=8)


def ragged(rows: list[list[int]]) -> Ragged:
    return Ragged.of(np.array(row, dtype=np.int32) for row in rows)


@given(ROWS, st.data())
def test_rows_come_back_taken_merged_and_padded(rows: list[list[int]], data: st.DataObject) -> None:
    made = ragged(rows)
    assert [row.tolist() for row in made] == rows
    assert len(made) == len(rows)
    places = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9))
    wanted = [rows[place] for place in places]
    array = np.array(places, dtype=np.int64)
    assert [row.tolist() for row in made.take(array)] == wanted
    padded, lengths = made.padded(array)
    assert lengths.tolist() == [len(row) for row in wanted]
    longest = max(map(len, wanted), default=0)
    assert padded.tolist() == [row + [0] * (longest - len(row)) for row in wanted]
    cut = data.draw(st.integers(0, len(rows)))
    merged = made.merged(np.array([cut, len(rows) - cut]))
    assert [row.tolist() for row in merged] == [list(chain(*rows[:cut])), list(chain(*rows[cut:]))]


@given(st.lists(st.lists(st.integers(0, 9))), st.integers(0, 9))
def test_rows_that_hold_a_number(rows: list[list[int]], number: int) -> None:
    assert Ragged.of_lists(rows).holding(number).tolist() == [number in row for row in rows]


@given(st.lists(st.lists(st.integers(0, 9))), st.integers(0, 9))
def test_only_some_numbers_and_no_empty_row(rows: list[list[int]], least: int) -> None:
    ragged = Ragged.of_lists(rows)
    assert ragged.flat.dtype == np.int32
    assert [row.tolist() for row in ragged] == rows
    some = ragged.only(ragged.flat >= least)
    expected = [[number for number in row if number >= least] for row in rows]
    assert [row.tolist() for row in some] == expected
    assert [row.tolist() for row in some.filled(7)] == [row or [7] for row in expected]
