"""Both directions at once against scanning each: ties, duplicates, small sides, either format."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.models import device
from bitextfilter.search import bidirectional, candidates
from bitextfilter.search.bidirectional import (
    SearchRequest,
    bidirectional_part_search,
    bidirectional_search,
)
from bitextfilter.search.candidates import INTEGERS, fewest
from bitextfilter.similarity.neighbours import scan
from bitextfilter.similarity.vectors import unit_rows

GENERATOR = np.random.default_rng(0)
DIM = 24
B = unit_rows(GENERATOR.standard_normal((1507, DIM)))
A = unit_rows(B[200:1500] + 0.15 * GENERATOR.standard_normal((1300, DIM)))


@pytest.fixture(params=INTEGERS, autouse=True)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.dtype:
    """Whatever this machine is fast with, each format is tried."""
    monkeypatch.setattr(device, "product_type", lambda _: request.param)
    form: torch.dtype = request.param
    return form


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many queries each call of ``scan`` was for."""
    numbers: list[int] = []

    def spy(queries: Vectors, *others: object) -> tuple[Scores, Indices]:
        numbers.append(len(queries))
        return scan(queries, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(bidirectional, "scan", spy)
    return numbers


def check(a: Vectors, b: Vectors, k: int = 10, threads: int = 1) -> None:
    """It finds what scanning finds, both ways, to the last bit."""
    found = bidirectional_search(a, b, k, threads)
    for (cosines, rows), (queries, base) in zip(found, ((a, b), (b, a)), strict=True):
        expected = scan(queries, base, k)
        assert (cosines.dtype, rows.dtype) == (np.float32, np.int64)
        assert np.array_equal(rows, expected[1])
        assert np.array_equal(cosines, expected[0])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("k", [1, 10])
def test_agrees_with_scanning(k: int, threads: int, scanned: list[int]) -> None:
    check(A, B, k, threads)
    assert sum(scanned) < 0.1 * (len(A) + len(B))


@pytest.mark.parametrize("sizes", [(64, 512, 100), (200, 64, 1300), (1024, 4096, 7)])
def test_whatever_the_blocks(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bidirectional, "_BLOCK_ROWS", sizes[0])
    monkeypatch.setattr(candidates, "TILE_COLUMNS", sizes[1])
    monkeypatch.setattr(candidates, "SAMPLE_COLUMNS", sizes[2])
    monkeypatch.setattr(candidates, "SAMPLE_ROWS", 2 * sizes[2])
    check(A, B, 7, 2)


@pytest.mark.parametrize("width", [1, 2, 3, 300])
def test_other_widths(width: int) -> None:
    check(*(unit_rows(GENERATOR.standard_normal((1281, width))) for _ in range(2)))


def test_duplicates_and_ties() -> None:
    """Of each row there are nine copies here and four there, in any order."""
    b = np.repeat(B[:150], 9, axis=0)[GENERATOR.permutation(1350)]
    a = np.repeat(B[:325], 4, axis=0)[GENERATOR.permutation(1300)]
    check(a, b, 10, 2)
    check(a, b, 3)


def test_what_cannot_be_told_apart_is_scanned(
    scanned: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To 300 rows of either side, more than 100 of the other are closer than rounding can tell."""
    monkeypatch.setattr(candidates, "_MOST", 100)
    a, b = A.copy(), B.copy()
    a[5:305] = b[10:310] = unit_rows(A[:1] + 1e-7 * GENERATOR.standard_normal((300, DIM)))
    check(a, b)
    assert min(scanned) >= 300


def test_floors_that_are_too_high_are_noticed(
    scanned: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a sample promises too much, k may be found, and one that is nearer still missed."""
    monkeypatch.setattr(candidates, "MISSED", 0.5)
    monkeypatch.setattr(candidates, "_SAMPLE", 0)
    check(A, B, 3)
    assert sum(scanned) > 100


def test_rows_like_nothing_and_rows_all_alike() -> None:
    a, b = A.copy(), B.copy()
    a[::50] = 0
    b[::40] = 0
    check(a, b)
    check(a, np.zeros_like(b))
    check(np.repeat(A[:1], 1300, axis=0), np.repeat(B[:1], 1300, axis=0))
    check(A, -np.abs(B))


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 11])
def test_small_sides(rows: int) -> None:
    check(A[:rows], B[:30])
    check(A[:40], B[:rows])
    check(A[: fewest(10) - 1], B)


@pytest.mark.parametrize("k", [1, 10])
@pytest.mark.parametrize("rows", [1300, 300])
def test_above_what_is_reached_elsewhere_nothing_is_missed(
    k: int, rows: int, scanned: list[int]
) -> None:
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
    assert rows < fewest(k) or sum(scanned) < 0.15 * (len(a) + len(B))


def test_above_a_certain_floor_what_cannot_be_told_apart_is_scanned(
    scanned: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "_MOST", 100)
    a, b = A.copy(), B.copy()
    a[5:305] = b[10:310] = unit_rows(A[:1] + 1e-7 * GENERATOR.standard_normal((300, DIM)))
    reached = np.full(len(a), 0.5, np.float32), np.full(len(b), 0.5, np.float32)
    found = bidirectional_part_search(a, b, SearchRequest(10, reached))
    assert min(scanned) >= 300
    exact = scan(a, b, 10)
    wanted = exact[0] >= 0.5
    assert np.array_equal(found[0][1][wanted], exact[1][wanted])


def test_torch_keeps_its_number_of_threads() -> None:
    before = torch.get_num_threads()
    bidirectional_search(A, B, 10, before + 1)
    assert torch.get_num_threads() == before
