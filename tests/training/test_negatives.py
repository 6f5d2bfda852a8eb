"""Choosing negatives, against naive choices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import SettingsError
from bitextfilter.training.classifier_training import Negatives, drawn, last_of_best, repaired


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("worst", Negatives("worst", 100)),
        ("worst:60%", Negatives("worst", 60)),
        ("worst:12.5", Negatives("worst", 12.5)),
        ("random", Negatives("random")),
        ("repaired", Negatives("repaired")),
        ("given", Negatives("given")),
    ],
)
def test_parse(text: str, expected: Negatives) -> None:
    assert Negatives.parse(text) == expected


@pytest.mark.parametrize("text", ["", "best", "worst:0%", "worst:101%", "worst:x", "random:5%"])
def test_parse_refuses(text: str) -> None:
    with pytest.raises(SettingsError, match="negatives"):
        Negatives.parse(text)


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 100), st.integers(1, 40))
def test_last_of_best(scores: list[int], percent: int, count: int) -> None:
    ranked = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    best = ranked[: -(-len(scores) * percent // 100)]
    found = last_of_best(np.array(scores, dtype=np.float32), percent, count)
    assert found.tolist() == sorted(best[-count:])


def test_drawn() -> None:
    assert drawn(5, 9, seed=1).tolist() == [0, 1, 2, 3, 4]
    places = drawn(1000, 50, seed=1)
    assert len(set(places.tolist())) == 50
    assert places.tolist() == sorted(places) == drawn(1000, 50, seed=1).tolist()
    assert places.tolist() != drawn(1000, 50, seed=2).tolist()


def test_repaired() -> None:
    pairs = [(f"s{i}", f"t{i}") for i in range(10)]
    made = repaired(pairs, 25, seed=1)
    assert len(made) == 25
    assert not set(made) & set(pairs)
    for start in (0, 10):
        for side in (0, 1):
            used = {pair[side] for pair in made[start : start + 10]}
            assert used == {pair[side] for pair in pairs}
    assert made == repaired(pairs, 25, seed=1) != repaired(pairs, 25, seed=2)


def test_repaired_makes_no_translation() -> None:
    assert repaired([("a", "x")], 5, seed=1) == []
    assert repaired([("a", "x"), ("b", "x")], 5, seed=1) == []
    made = repaired([("a", "x"), ("b", "x"), ("c", "y")], 50, seed=1)
    assert set(made) <= {("a", "y"), ("b", "y"), ("c", "x")}
    assert len(made) == 50
