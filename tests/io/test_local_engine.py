"""The local engine: in this process or in others, in order, errors in their turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tasks import Job, until_error

from bitextfilter.errors import InputError
from bitextfilter.io.workers import LocalEngine


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_order(tmp_path: Path, processes: int) -> None:
    found = list(LocalEngine(processes).map(Job(tmp_path), range(20)))
    assert found == [2 * n for n in range(20)]
    assert 1 <= len(list(tmp_path.glob("prepared-*"))) <= processes


@pytest.mark.parametrize("processes", [1, 2])
def test_errors_come_in_their_turn(tmp_path: Path, processes: int) -> None:
    def tasks() -> Iterator[int]:
        yield from range(5)
        raise InputError("cannot be read any further", file="pairs.tsv", line=6)

    found, error = until_error(LocalEngine(processes).map(Job(tmp_path), tasks()))
    assert (found, str(error)) == ([0, 2, 4, 6, 8], "pairs.tsv:6: cannot be read any further")
    (tmp_path / "bad-3").touch()
    found, error = until_error(LocalEngine(processes).map(Job(tmp_path), tasks()))
    assert (found, str(error)) == ([0, 2, 4], "pairs.tsv:3: bad row; leave it out")
