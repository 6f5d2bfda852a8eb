"""Shortlists and first floors: who is let go, who is given up, and how sure they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from bitextfilter.arrays import Scores
from bitextfilter.search import candidates
from bitextfilter.search.candidates import (
    Floors,
    Rounded,
    Shortlist,
    collect,
    first_floors,
    sample_floors,
)
from bitextfilter.similarity.vectors import unit_products, unit_rows

GENERATOR = np.random.default_rng(0)
A = unit_rows(GENERATOR.standard_normal((700, 16)))
B = unit_rows(GENERATOR.standard_normal((900, 16)))
ROUNDED = Rounded(A, B, torch.float32)

Add = Callable[..., None]


def probable(floors: Scores) -> Floors:
    return Floors(floors, np.zeros(len(floors), np.bool_))


def shortlist(floors: list[float], k: int, certain: tuple[int, ...] = ()) -> tuple[Shortlist, Add]:
    """A list, and a way to add one row's products to it."""
    first = probable(np.array(floors, np.float32))
    first.certain[list(certain)] = True
    made = Shortlist(first, k, ROUNDED)

    def add(row: int, **products: float) -> None:
        others = np.array([int(name[1:]) for name in products])
        made.add(np.full(len(others), row), others, np.array([*products.values()], np.float32))

    return made, add


def pairs(made: Shortlist) -> list[tuple[int, int]]:
    return list(zip(*(part.tolist() for part in made.pairs()[:2]), strict=True))


def test_only_what_may_be_among_the_nearest_stays() -> None:
    made, add = shortlist([0.1, 0.1], 2)
    add(1, x5=0.5, x6=0.7, x7=0.9)
    add(0, x1=0.3, x2=0.2999999, x3=0.4, x4=0.2)
    add(1, x8=0.8)
    assert pairs(made) == [(0, 3), (0, 1), (0, 2), (1, 7), (1, 8)]
    assert made.floors == pytest.approx([0.3, 0.8], abs=1e-5)


def test_rows_with_too_few_or_a_floor_too_high_are_not_sure() -> None:
    made, add = shortlist([0.1, 0.5, 0.5, np.inf], 2)
    add(0, x1=0.3)
    add(1, x1=0.5, x2=0.6)
    add(2, x1=0.51, x2=0.6)
    assert pairs(made) == [(2, 2), (2, 1)]
    assert made.pairs()[2].tolist() == [False, False, True, False]


def test_above_a_certain_floor_there_may_be_few() -> None:
    made, add = shortlist([0.5, 0.5, np.inf], 2, certain=(0, 1, 2))
    add(0, x1=0.6)
    assert pairs(made) == [(0, 1)]
    assert made.pairs()[2].tolist() == [True, True, False]


def test_it_is_tightened_when_it_holds_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "HELD", 2)
    made, add = shortlist([0.1, 0.1], 1)
    add(0, x1=0.3, x2=0.4, x3=0.2, x4=0.2)
    assert made.floors.tolist() == pytest.approx([0.1, 0.1])
    add(0, x5=0.5)
    assert made.floors == pytest.approx([0.5, 0.1], abs=1e-5)


def test_a_row_with_too_many_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "HELD", 2)
    monkeypatch.setattr(candidates, "_MOST", 4)
    made, add = shortlist([0.1, 0.1], 1)
    add(0, **{f"x{i}": 0.5 for i in range(5)})
    assert np.isinf(made.floors).tolist() == [True, False]
    add(1, x1=0.3)
    assert pairs(made) == [(1, 1)]
    assert made.pairs()[2].tolist() == [False, True]


def test_a_row_given_up_is_not_sure_though_its_floor_was_certain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(candidates, "HELD", 2)
    monkeypatch.setattr(candidates, "_MOST", 4)
    made, add = shortlist([0.1, 0.1], 1, certain=(0, 1))
    add(0, **{f"x{i}": 0.5 for i in range(5)})
    assert pairs(made) == []
    assert made.pairs()[2].tolist() == [False, True]


def test_first_floors_are_what_is_known_else_what_is_probable() -> None:
    reached = np.full(len(A), 0.4, np.float32)
    reached[::2] = -np.inf
    reached[1] = 0.0
    floors = first_floors(ROUNDED, 0, reached, 3)
    sample = sample_floors(ROUNDED, 0, 3)
    assert not floors.certain[::2].any()
    assert not floors.certain[1]
    assert floors.certain[3::2].all()
    assert np.array_equal(floors.values[~floors.certain], sample[~floors.certain])
    assert floors.values[floors.certain] == pytest.approx(0.4, abs=1e-4)
    assert (floors.values[floors.certain] <= 0.4).all()
    assert not first_floors(ROUNDED, 1, None, 3).certain.any()


def test_everything_that_reaches_a_floor_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "HELD", 10**6)
    monkeypatch.setattr(candidates, "TILE_COLUMNS", 128)
    exact = unit_products(A, B)
    floors, rows = np.full(len(A), 0.6, np.float32), GENERATOR.permutation(len(A))[:203]
    own = Shortlist(probable(floors[rows]), 1, ROUNDED)
    opposite = Shortlist(probable(np.full(len(B), 0.7, np.float32)), 1, ROUNDED)
    collect(ROUNDED, rows, own, opposite)
    assert held(own) == reached(exact[rows], 0.6)
    assert held(opposite) == {(j, rows[i]) for i, j in reached(exact[rows], 0.7)}


def held(made: Shortlist) -> set[tuple[int, int]]:
    rows, others, _ = (np.concatenate(part).tolist() for part in zip(*made._parts, strict=True))
    return set(zip(rows, others, strict=True))


def reached(products: Scores, floor: float) -> set[tuple[int, int]]:
    return set(zip(*(part.tolist() for part in np.nonzero(products >= floor)), strict=True))


@pytest.mark.parametrize("threads", [1, 2])
def test_first_floors_are_what_a_sample_reaches(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of nearly all of the other side: the k-th best, or lower as groups hide some."""
    monkeypatch.setattr(candidates, "SAMPLE_COLUMNS", 64)
    monkeypatch.setattr(candidates, "SAMPLE_ROWS", 128)
    floors = sample_floors(ROUNDED, 0, 4, threads)
    best = -np.sort(-unit_products(A, B), axis=1)
    assert (floors <= best[:, 3]).all()
    assert (floors >= best[:, 20]).mean() > 0.95
    assert np.array_equal(floors, sample_floors(ROUNDED, 0, 4))


@pytest.mark.parametrize("k", [1, 3, 10, 50])
@pytest.mark.parametrize("share", [0.001, 0.04, 0.3, 1.0])
def test_the_rank_against_drawing_samples(k: int, share: float) -> None:
    rank = candidates._rank(k, share)
    assert 1 <= rank <= k
    drawn = np.random.default_rng(1).poisson(k * share, 200_000)
    if rank < k:
        assert (drawn >= rank).mean() < 1.3 * candidates.MISSED
    if rank > 1:
        assert (drawn >= rank - 1).mean() > 0.7 * candidates.MISSED
