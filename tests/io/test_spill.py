"""Temporary files, sorting on disk, tables of keys, and sentences on disk."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitextfilter.errors import InputError, NotFoundError, OutputError
from bitextfilter.io import spill
from bitextfilter.io.spill import SentenceFile, Spill, write_distinct

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


SENTENCE = st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.lists(SENTENCE, max_size=9), max_size=5))
def test_each_once_in_order_with_its_copies(tmp_path: Path, windows: list[list[str]]) -> None:
    counts = Counter(sentence for window in windows for sentence in window)
    found = write_distinct(tmp_path / "some", windows)
    assert list(found) == list(counts)
    assert found.copies().tolist() == list(counts.values())
    assert found.characters.tolist() == [len(sentence) for sentence in counts]
    assert found[1:-1] == list(counts)[1:-1]
    assert found[::2] == list(counts)[::2]
    assert list(SentenceFile(tmp_path / "some")) == list(counts)


def test_thousands_in_windows_of_any_size(tmp_path: Path) -> None:
    sentences = [f"sentence {number * number % 7919}" for number in range(20_000)]
    counts = Counter(sentences)
    digests = set()
    for size in (7, 4096, 20_000):
        windows = [sentences[first : first + size] for first in range(0, len(sentences), size)]
        found = write_distinct(tmp_path / str(size), windows)
        assert list(found) == list(counts)
        assert found.copies().tolist() == list(counts.values())
        digests.add(found.digest())
    assert len(digests) == 1
    assert write_distinct(tmp_path / "other", [sorted(sentences)]).digest() not in digests
    assert write_distinct(tmp_path / "more", [sentences, sentences[:1]]).digest() not in digests


def test_what_is_no_place(tmp_path: Path) -> None:
    found = write_distinct(tmp_path / "some", [["a", "b"]])
    for place in (2, -1):
        with pytest.raises(IndexError):
            found[place]
    assert found[5:] == []
    assert found[2:1] == []


def test_missing_or_damaged(tmp_path: Path) -> None:
    write_distinct(tmp_path / "some", [["one", "two"]])
    for name in ("some.starts", "some.copies"):
        kept = (tmp_path / name).read_bytes()
        for damaged in (
            kept[:-8],
            kept[:8] + bytes(8) + kept[16:] if name.endswith("starts") else b"",
        ):
            (tmp_path / name).write_bytes(damaged)
            with pytest.raises(InputError, match="damaged"):
                SentenceFile(tmp_path / "some").copies()
        (tmp_path / name).write_bytes(kept)
    (tmp_path / "some").write_text("one\n")
    with pytest.raises(InputError, match=r"some: its sentences are damaged"):
        SentenceFile(tmp_path / "some")
    (tmp_path / "some").unlink()
    with pytest.raises(NotFoundError, match="some"):
        SentenceFile(tmp_path / "some")
    with pytest.raises(NotFoundError, match="none"):
        SentenceFile(tmp_path / "none")
