"""Runs of lines on disk: each comes back as it was written, whichever is read when."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import OutputError
from bitextfilter.io import spill
from bitextfilter.io.spill import Spill

LINES = st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"") + b"\n"))


@given(st.lists(LINES, max_size=5), st.randoms(use_true_random=False))
def test_runs_are_read_in_any_interleaving(runs: list[list[bytes]], random: object) -> None:
    with Spill() as spilled:
        for run in runs:
            spilled.begin_run()
            spilled.write(run)
        readers = spilled.readers()
        turns = [place for place, run in enumerate(runs) for _ in run]
        random.shuffle(turns)  # type: ignore[attr-defined]
        back: list[list[bytes]] = [[] for _ in runs]
        for place in turns:
            back[place].append(readers[place]())
        assert back == runs
        assert [read() for read in readers] == [b""] * len(runs)


def test_lines_longer_than_any_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "MOST_BUFFER", 16)
    lines = [b"x" * 100_000 + b"\n", b"y\n"] * 3
    with Spill() as spilled:
        for _ in range(2):
            spilled.begin_run()
            spilled.write(lines)
        first, second = spilled.readers()
        assert [line for _ in lines for line in (first(), second())] == [
            line for line in lines for _ in range(2)
        ]


def test_the_file_is_in_the_temporary_folder_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Spill() as spilled:
        spilled.begin_run()
        spilled.write([b"a\n"])
    assert list(tmp_path.iterdir()) == []


def test_arrays_come_back_whole() -> None:
    with Spill() as spilled:
        file = spilled.file()
        for part in ([0.5, -np.inf], [], [np.nan]):
            file.write(np.array(part).data)
        for back in (file.load(np.float64), file.array(np.float64)):
            np.testing.assert_array_equal(back, [0.5, -np.inf, np.nan])
        assert len(spilled.file().load(np.uint8)) == 0


def test_a_full_disk_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_full(buffering: int) -> IO[bytes]:
        return open("/dev/full", "wb", buffering)

    monkeypatch.setattr(tempfile, "TemporaryFile", open_full)
    with Spill() as spilled:
        file = spilled.file()
        for fails in (
            lambda: spilled.write([b"x" * 1_000_000 + b"\n"]),
            lambda: file.write(b"x" * 1_000_000),
        ):
            with pytest.raises(OutputError) as caught:
                fails()
            message = f"a temporary file in {tempfile.gettempdir()} cannot be written: "
            assert str(caught.value).startswith(message)
            assert str(caught.value).endswith("; TMPDIR names another folder")
