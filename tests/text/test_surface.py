"""What a sentence looks like: what a description shows, and that it is each sentence's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.text.features import SURFACE_WIDTH, surface_features

ODD = st.text(max_size=30)


def difference(one: str, other: str) -> float:
    a, b = surface_features([one, other])
    return float(np.abs(a - b).sum())


def test_shape() -> None:
    assert surface_features([]).shape == (0, SURFACE_WIDTH)
    rows = surface_features(["", "One, 2."])
    assert rows.shape == (2, SURFACE_WIDTH)
    assert rows.dtype == np.float32
    assert not rows[0].any()


@given(sentences=st.lists(ODD, min_size=1, max_size=5))
def test_a_sentence_is_described_by_itself(sentences: list[str]) -> None:
    rows = surface_features(sentences)
    assert np.array_equal(rows[::-1], surface_features(sentences[::-1]))
    assert np.array_equal(rows, np.concatenate([surface_features([one]) for one in sentences]))
    assert np.array_equal(rows * 4096, np.round(rows * 4096))
    assert rows.min() >= 0


def test_what_a_description_shows() -> None:
    assert difference("It costs 1,500 dollars", "It costs 1.500 dollars") < difference(
        "It costs 1,500 dollars", "It costs 1,600 dollars"
    )
    same = ("Peter met Paul", "Peter met Mary"), ("Peter met paul", "Peter met mary")
    assert difference(*same[0]) > difference(*same[1]) > 0
    assert difference("He is not here", "He is here") > 0.3
    assert difference("all of it all of it", "it is all of it here") > 0.3
    assert difference("The end.", "The end") > 1
    assert difference("cafe\u0301", "caf\u00e9") == 0


def test_bags_show_what_is_in_both() -> None:
    a, b, c = surface_features(
        ["old houses by the sea", "old houses by the lake", "Fisch schmeckt gut"]
    )
    assert a @ b > a @ c
