"""Indexes of faiss against scanning; what they find is computed again, exactly."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from searches import check_exact, map_here, written_sides

from bitextfilter.errors import DeviceError, ModelError, OutputError, SettingsError
from bitextfilter.io.vectors import VectorFile, VectorWriter
from bitextfilter.search import indexes
from bitextfilter.search.indexes import (
    INDEX_KINDS,
    Index,
    IndexSettings,
    block_tasks,
    build_index,
    exact_cosines,
    search_indexes,
    tune_indexes,
)
from bitextfilter.search.tasks import Sides, find_neighbours
from bitextfilter.similarity.vectors import NO_ROW, scan, unit_rows

pytest.importorskip("faiss")

GENERATOR = np.random.default_rng(2)
CENTRES = GENERATOR.standard_normal((40, 16))
GIVEN = np.repeat(CENTRES, 100, axis=0) + GENERATOR.standard_normal((4000, 16))
BASE = unit_rows(GIVEN.astype(np.float32))
QUERIES = unit_rows(BASE[::10] + 0.1 * GENERATOR.standard_normal((400, 16)))


@pytest.fixture(scope="module")
def base_file(tmp_path_factory: pytest.TempPathFactory) -> VectorFile:
    path = tmp_path_factory.mktemp("base") / "vectors"
    with VectorWriter(path, GIVEN.shape[1], "float32") as writer:
        writer.append(GIVEN.astype(np.float32))
    return VectorFile(path, GIVEN.shape[1], "float32")


def made(kind: str, base: VectorFile, folder: Path, threads: int = 1) -> Index:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexes, "BLOCK", 900)
        build_index(kind, base, folder / kind, threads)
    return Index(folder / kind, kind, threads=threads)


@pytest.mark.parametrize("kind", INDEX_KINDS)
def test_the_nearest_are_among_the_candidates_of_all_lists(
    kind: str, tmp_path: Path, base_file: VectorFile
) -> None:
    index = made(kind, base_file, tmp_path)
    assert index.lists == 1 if kind == "flat" else index.lists > 50
    exact = scan(QUERIES, BASE, 3)
    found = exact_cosines(QUERIES, index.candidates(QUERIES, 3, index.lists), base_file, 3)
    same = found[1] == exact[1]
    assert same.mean() > (0.9 if kind == "ivf-pq" else 0.999)
    assert np.array_equal(found[0][same], exact[0][same])


@pytest.mark.parametrize("kind", ["ivf", "ivf-sq8", "ivf-pq"])
def test_more_lists_find_more(kind: str, tmp_path: Path, base_file: VectorFile) -> None:
    index, exact = made(kind, base_file, tmp_path), scan(QUERIES, BASE, 1)[0][:, 0]
    recalls = []
    for lists in (1, 4, 16, index.lists):
        candidates = index.candidates(QUERIES, 1, lists)
        cosines = exact_cosines(QUERIES, candidates, base_file, 1)[0][:, 0]
        recalls.append((cosines >= exact).mean())
    assert recalls == sorted(recalls) or kind == "ivf-pq"
    assert recalls[0] < recalls[-1]


def test_more_candidates_find_more(tmp_path: Path, base_file: VectorFile) -> None:
    index, exact = made("ivf-pq", base_file, tmp_path), scan(QUERIES, BASE, 1)[0][:, 0]
    recalls = []
    for more in (1, 16):
        candidates = index.candidates(QUERIES, 1, index.lists, more)
        cosines = exact_cosines(QUERIES, candidates, base_file, 1)[0][:, 0]
        recalls.append((cosines >= exact).mean())
    assert recalls[0] < 1
    assert recalls[1] > 0.99


def test_threads_change_nothing(tmp_path: Path, base_file: VectorFile) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    one, two = (made("ivf-sq8", base_file, tmp_path / str(threads), threads) for threads in (1, 2))
    assert np.array_equal(one.candidates(QUERIES, 4, 8), two.candidates(QUERIES, 4, 8))


def test_cosines_of_candidates_against_loops(base_file: VectorFile) -> None:
    candidates = GENERATOR.integers(-1, len(BASE), (400, 9))
    candidates[5] = NO_ROW
    cosines, numbers = exact_cosines(QUERIES, candidates, base_file, 3)
    products = QUERIES.astype(np.float64) @ BASE.T.astype(np.float64)
    for row, some in enumerate(candidates):
        ranked = sorted({(-products[row, one], one) for one in some if one != NO_ROW})[:3]
        ranked += [(np.inf, NO_ROW)] * (3 - len(ranked))
        assert [number for _, number in ranked] == numbers[row].tolist()
        assert cosines[row] == pytest.approx([-value for value, _ in ranked], abs=1e-6)


def test_what_cannot_be(tmp_path: Path, base_file: VectorFile) -> None:
    with pytest.raises(SettingsError, match="'hnsw' is none of flat"):
        build_index("hnsw", base_file, tmp_path / "x")
    with pytest.raises(SettingsError, match="multiple of 4"):
        build_index("ivf-pq", VectorFile(base_file.path, 2, "float32"), tmp_path / "x")
    with pytest.raises(OutputError, match="cannot be written"):
        build_index("flat", base_file, tmp_path / "none" / "x")
    (tmp_path / "x").write_bytes(b"no index")
    with pytest.raises(ModelError, match="damaged index"):
        Index(tmp_path / "x", "flat")
    made("flat", base_file, tmp_path)
    with pytest.raises(DeviceError, match="no such GPU"):
        Index(tmp_path / "flat", "flat", "cuda")


WIDE_B = 7 * GENERATOR.standard_normal((1500, 512)).astype(np.float32)
WIDE_A = (WIDE_B[200:] + 20 * GENERATOR.standard_normal((1300, 512))).astype(np.float32)


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return written_sides(tmp_path, (WIDE_A, WIDE_B), 2, "float16")


@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_what_looks_at_everything_finds_everything(sides: Sides, kind: str) -> None:
    wanted = IndexSettings(kind, 1.0)
    tuned = tune_indexes(sides, wanted)
    assert [some.recall for some in tuned] == [1.0, 1.0]
    tuned = tuned[0]._replace(lists=tuned[0].all_lists), tuned[1]._replace(lists=tuned[1].all_lists)
    work = partial(search_indexes, sides, wanted, tuned)
    found = find_neighbours(sides.neighbours, block_tasks(sides.neighbours), work, map_here, repr)
    check_exact(found, sides)


def test_an_index_that_was_not_finished_is_made_again(sides: Sides) -> None:
    wanted = IndexSettings("ivf", 0.6)
    tuned, folder = tune_indexes(sides, wanted), sides.neighbours.folder
    seal = next(path for path in folder.rglob("*.json") if path.name != "tuned.json")
    index = seal.with_suffix("")
    whole = index.read_bytes()
    index.write_bytes(whole[:100])
    seal.unlink()
    assert tune_indexes(sides, wanted) == tuned
    assert len(index.read_bytes()) == len(whole) and seal.exists()


def test_the_recall_said_is_that_of_the_search(sides: Sides) -> None:
    wanted = IndexSettings("ivf", 0.6)
    tuned = tune_indexes(sides, wanted)
    work = partial(search_indexes, sides, wanted, tuned)
    found = find_neighbours(sides.neighbours, block_tasks(sides.neighbours), work, map_here, repr)
    units = unit_rows(sides.file(0)[:]), unit_rows(sides.file(1)[:])
    for some, (cosines, _), (queries, base) in zip(tuned, found, (units, units[::-1]), strict=True):
        assert 0.6 <= some.recall < 1
        assert some.lists < some.all_lists
        nearest = scan(queries, base, 1)[0][:, 0]
        assert (cosines[:, 0] == nearest).mean() == pytest.approx(some.recall, abs=0.03)
