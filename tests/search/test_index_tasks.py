"""How an index is measured: against the exact nearest, to the last bit."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from searches import check_exact, map_here, written_sides

from bitextfilter.search.index_tasks import (
    IndexSettings,
    block_tasks,
    search_indexes,
    tune_indexes,
)
from bitextfilter.search.tasks import Sides, find_neighbours
from bitextfilter.similarity.neighbours import scan
from bitextfilter.similarity.vectors import unit_rows

pytest.importorskip("faiss")


GENERATOR = np.random.default_rng(5)
B = 7 * GENERATOR.standard_normal((1500, 512)).astype(np.float32)
A = (B[200:] + 20 * GENERATOR.standard_normal((1300, 512))).astype(np.float32)


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return written_sides(tmp_path, (A, B), 2, "float16")


@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_what_looks_at_everything_finds_everything(sides: Sides, kind: str) -> None:
    wanted = IndexSettings(kind, 1.0)
    tuned = tune_indexes(sides, wanted)
    assert [some.recall for some in tuned] == [1.0, 1.0]
    tuned = tuned[0]._replace(lists=tuned[0].all_lists), tuned[1]._replace(lists=tuned[1].all_lists)
    work = partial(search_indexes, sides, wanted, tuned)
    found = find_neighbours(sides.neighbours, block_tasks(sides.neighbours), work, map_here, repr)
    check_exact(found, sides)


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
