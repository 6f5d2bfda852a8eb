"""Both directions at once against scanning each, by whichever search; above what is reached."""

from __future__ import annotations

import numpy as np
import pytest

from bitextfilter.arrays import Vectors
from bitextfilter.io.compiled import NO_COMPILED
from bitextfilter.search import bidirectional
from bitextfilter.search.bidirectional import (
    FEWEST,
    SearchRequest,
    bidirectional_part_search,
    bidirectional_search,
)
from bitextfilter.search.compiled import kernel
from bitextfilter.similarity.vectors import scan, unit_rows

GENERATOR = np.random.default_rng(0)
DIM = 24
B = unit_rows(GENERATOR.standard_normal((1507, DIM)))
A = unit_rows(B[200:1500] + 0.15 * GENERATOR.standard_normal((1300, DIM)))


@pytest.fixture(params=["torch", "compiled"], autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled search takes small sides here, too, where there is one."""
    if request.param == "torch":
        monkeypatch.setenv(NO_COMPILED, "1")
        assert not kernel()
    monkeypatch.setattr(bidirectional, "LEARNING", (0, 0, 0))
    monkeypatch.setattr(bidirectional, "TURNING", 0)


def check(a: Vectors, b: Vectors, k: int = 10, threads: int = 1) -> None:
    """It finds what scanning finds, both ways, to the last bit."""
    found = bidirectional_search(a, b, k, threads)
    for (cosines, rows), (queries, base) in zip(found, ((a, b), (b, a)), strict=True):
        expected = scan(queries, base, k)
        assert (cosines.dtype, rows.dtype) == (np.float32, np.int64)
        assert np.array_equal(rows, expected[1])
        assert np.array_equal(cosines, expected[0])


@pytest.mark.parametrize(("k", "threads"), [(1, 2), (10, 1), (10, 2)])
def test_agrees_with_scanning(k: int, threads: int) -> None:
    check(A, B, k, threads)


@pytest.mark.parametrize("width", [1, 3, 300])
def test_other_widths(width: int) -> None:
    check(*(unit_rows(GENERATOR.standard_normal((1281, width))) for _ in range(2)))


def test_rows_like_nothing_and_rows_all_alike() -> None:
    a, b = A[: 2 * FEWEST].copy(), B[: 3 * FEWEST].copy()
    a[::50] = 0
    b[::40] = 0
    check(a, b, 2)
    check(a, np.zeros_like(b), 2)
    check(np.repeat(A[:1], len(a), axis=0), np.repeat(B[:1], len(b), axis=0), 2)


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 11])
def test_small_sides(rows: int) -> None:
    check(A[:rows], B[:30])
    check(A[:40], B[:rows])
    check(A[: FEWEST * 10 - 1], B)


@pytest.mark.parametrize("k", [1, 10])
@pytest.mark.parametrize("rows", [1300, 300])
def test_above_what_is_reached_elsewhere_nothing_is_missed(k: int, rows: int) -> None:
    """Some rows know of nothing elsewhere, some of much that is near, some that is nearer yet."""
    a = A[:rows]
    reached = tuple(GENERATOR.uniform(-0.2, 1.0, len(side)).astype(np.float32) for side in (a, B))
    reached[0][::7] = -np.inf
    reached[0][::11] = 1.0
    found = bidirectional_part_search(a, B, SearchRequest(k, (reached[0], reached[1]), threads=2))
    for (cosines, others), (queries, base), least in zip(
        found, ((a, B), (B, a)), reached, strict=True
    ):
        exact = scan(queries, base, k)
        wanted = exact[0] >= least[:, None]
        assert np.array_equal(cosines[wanted], exact[0][wanted])
        assert np.array_equal(others[wanted], exact[1][wanted])
        assert (others[cosines == -np.inf] == -1).all()
