"""Indexes of faiss against scanning; what they find is computed again, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.arrays import Vectors
from bitextfilter.errors import DeviceError, ModelError, OutputError, SettingsError
from bitextfilter.search.faiss_index import (
    INDEX_KINDS,
    Index,
    build_index,
    exact_cosines,
)
from bitextfilter.similarity.neighbours import NO_ROW, scan
from bitextfilter.similarity.vectors import unit_rows

pytest.importorskip("faiss")

GENERATOR = np.random.default_rng(2)
CENTRES = GENERATOR.standard_normal((40, 16))
BASE = unit_rows(np.repeat(CENTRES, 100, axis=0) + GENERATOR.standard_normal((4000, 16)))
QUERIES = unit_rows(BASE[::10] + 0.1 * GENERATOR.standard_normal((400, 16)))


def blocks() -> Iterator[Vectors]:
    for first in range(0, len(BASE), 900):
        yield BASE[first : first + 900]


def made(kind: str, folder: Path, threads: int = 1) -> Index:
    build_index(kind, blocks, BASE.shape, folder / kind, threads)
    return Index(folder / kind, kind, threads=threads)


@pytest.mark.parametrize("kind", INDEX_KINDS)
def test_the_nearest_are_among_the_candidates_of_all_lists(kind: str, tmp_path: Path) -> None:
    index = made(kind, tmp_path)
    assert index.lists == 1 if kind == "flat" else index.lists > 50
    exact = scan(QUERIES, BASE, 3)
    found = exact_cosines(
        QUERIES, index.candidates(QUERIES, 3, index.lists), lambda rows: BASE[rows], 3
    )
    same = found[1] == exact[1]
    assert same.mean() > (0.9 if kind == "ivf-pq" else 0.999)
    assert np.array_equal(found[0][same], exact[0][same])


@pytest.mark.parametrize("kind", ["ivf", "ivf-sq8", "ivf-pq"])
def test_more_lists_find_more(kind: str, tmp_path: Path) -> None:
    index, exact = made(kind, tmp_path), scan(QUERIES, BASE, 1)[0][:, 0]
    recalls = []
    for lists in (1, 4, 16, index.lists):
        candidates = index.candidates(QUERIES, 1, lists)
        cosines = exact_cosines(QUERIES, candidates, lambda rows: BASE[rows], 1)[0][:, 0]
        recalls.append((cosines >= exact).mean())
    assert recalls == sorted(recalls) or kind == "ivf-pq"
    assert recalls[0] < recalls[-1]


def test_more_candidates_find_more(tmp_path: Path) -> None:
    index, exact = made("ivf-pq", tmp_path), scan(QUERIES, BASE, 1)[0][:, 0]
    recalls = []
    for more in (1, 16):
        candidates = index.candidates(QUERIES, 1, index.lists, more)
        cosines = exact_cosines(QUERIES, candidates, lambda rows: BASE[rows], 1)[0][:, 0]
        recalls.append((cosines >= exact).mean())
    assert recalls[0] < 1
    assert recalls[1] > 0.99


def test_threads_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    one, two = (made("ivf-sq8", tmp_path / str(threads), threads) for threads in (1, 2))
    assert np.array_equal(one.candidates(QUERIES, 4, 8), two.candidates(QUERIES, 4, 8))


def test_cosines_of_candidates_against_loops() -> None:
    candidates = GENERATOR.integers(-1, len(BASE), (400, 9))
    candidates[5] = NO_ROW
    cosines, numbers = exact_cosines(QUERIES, candidates, lambda rows: BASE[rows], 3)
    products = QUERIES.astype(np.float64) @ BASE.T.astype(np.float64)
    for row, some in enumerate(candidates):
        ranked = sorted({(-products[row, one], one) for one in some if one != NO_ROW})[:3]
        ranked += [(np.inf, NO_ROW)] * (3 - len(ranked))
        assert [number for _, number in ranked] == numbers[row].tolist()
        assert cosines[row] == pytest.approx([-value for value, _ in ranked], abs=1e-6)


def test_what_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="'hnsw' is none of flat"):
        build_index("hnsw", blocks, BASE.shape, tmp_path / "x")
    with pytest.raises(SettingsError, match="multiple of 4"):
        build_index("ivf-pq", blocks, (4000, 15), tmp_path / "x")
    with pytest.raises(OutputError, match="cannot be written"):
        build_index("flat", blocks, BASE.shape, tmp_path / "none" / "x")
    (tmp_path / "x").write_bytes(b"no index")
    with pytest.raises(ModelError, match="damaged index"):
        Index(tmp_path / "x", "flat")
    made("flat", tmp_path)
    with pytest.raises(DeviceError, match="no such GPU"):
        Index(tmp_path / "flat", "flat", "cuda")
