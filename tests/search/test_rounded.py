"""Rounded products: the bounds hold, in either format, and are near what they bound."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.search.candidates import INTEGERS, Rounded
from bitextfilter.similarity.vectors import unit_products, unit_rows

GENERATOR = np.random.default_rng(0)

form = pytest.mark.parametrize("form", INTEGERS)


def sides(dim: int) -> tuple[Vectors, Vectors]:
    base = GENERATOR.standard_normal((300, dim)) + 0.5
    return unit_rows(base + 0.3 * GENERATOR.standard_normal((300, dim))), unit_rows(base)


def products(both: Rounded) -> Scores:
    room = both.sides[0].new_empty(300 * 300 + 5)
    return both.values(both.products(*both.sides, room))


@form
@pytest.mark.parametrize("dim", [2, 64, 700])
def test_no_product_of_like_pairs_is_below_the_floor(form: torch.dtype, dim: int) -> None:
    """A pair whose cosine is that of another or higher reaches the other's floor."""
    a, b = sides(dim)
    both = Rounded(a, b, form)
    exact, found = unit_products(a, b).ravel(), products(both).ravel()
    order = np.argsort(exact)
    lowest_above = np.minimum.accumulate(found[order][::-1])[::-1]
    floors = both.floors(found[order])
    assert (lowest_above >= floors)[np.isfinite(floors)].all()
    assert np.isfinite(floors).mean() > 0.5
    assert (found[order] - floors)[np.isfinite(floors)].max() < (
        0.03 if form.itemsize == 2 else 1e-3
    )


@form
def test_floors_allow_for_the_worst(form: torch.dtype) -> None:
    """Two pairs are equally near; one product comes out too high, the other too low."""
    a, b = sides(8)
    both = Rounded(a, b, form)
    error = 16 * 2.0**-24
    for exact, side in zip((a, b), both.sides, strict=True):
        error += np.linalg.norm(side.double().numpy() - exact, axis=1).max()
    high = GENERATOR.uniform(0.1, 1, 10_000)
    floors = both.floors(torch.from_numpy(high).to(form).float().numpy())
    assert (torch.from_numpy(high - 2 * error).to(form).float().numpy() >= floors).all()


@form
def test_nothing_positive_has_no_floor(form: torch.dtype) -> None:
    both = Rounded(*sides(8), form)
    values = np.array([-0.5, 0.0, 1e-9, 0.5], np.float32)
    assert np.isinf(both.floors(values)).tolist() == [True, True, True, False]


@form
def test_bits_stand_in_the_order_of_positive_numbers(form: torch.dtype) -> None:
    both = Rounded(*sides(8), form)
    values = np.array([-1, -1e-3, -0.0, 1e-30, 0.125, 0.25, 0.5, 1, np.inf], np.float32)
    bits = both.bits(values)
    assert bits.dtype.itemsize == form.itemsize
    assert (np.diff(bits[3:].astype(np.int64)) > 0).all()
    assert (bits[:3] < bits[3]).all()
    assert np.array_equal(both.values(bits[4:]), values[4:])


def test_float32_is_kept_as_it_is() -> None:
    a, b = sides(64)
    both = Rounded(a, b, torch.float32)
    assert np.array_equal(both.sides[0].numpy(), a)
    assert np.abs(products(both) - unit_products(a, b)).max() < 1e-6
