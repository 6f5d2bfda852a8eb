"""Vectors on disk: every form, every way of reading, going on after a kill; arrays row by row."""

from __future__ import annotations

import gzip
import hashlib
import io
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.errors import InputError, NotFoundError, OutputError, SettingsError
from bitextfilter.io import vectors as files
from bitextfilter.io.files import open_output
from bitextfilter.io.vectors import (
    FORMS,
    ArrayWriter,
    VectorFile,
    VectorWriter,
    as_kept,
    read_word_vectors,
    write_word_vectors,
)

GENERATOR = np.random.default_rng(0)
ROWS = GENERATOR.standard_normal((40, 12)).astype(np.float32) * np.float32(3)
ROWS[7] = 0
BYTES = {"float32": 48, "float16": 24, "int8": 16}
ERROR = {"float32": 0.0, "float16": 2.0**-11, "int8": 0.5 / 127}
"""At most, of a number, relative to the row's largest."""


def write(path: Path, form: str, rows: np.ndarray = ROWS) -> VectorFile:
    with VectorWriter(path, 12, form) as writer:
        for first in range(0, len(rows), 9):
            writer.append(rows[first : first + 9])
    return VectorFile(path, 12, form)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read(tmp_path: Path, form: str) -> None:
    found = write(tmp_path / "rows", form)
    assert (len(found), found.shape) == (40, (40, 12))
    assert (tmp_path / "rows").stat().st_size == 40 * BYTES[form]
    assert found[:].dtype == np.float32
    largest = np.abs(ROWS).max(axis=1, keepdims=True)
    assert (np.abs(found[:] - ROWS) <= ERROR[form] * largest * 1.001).all()
    places = np.array([39, 0, 7, 7])
    assert np.array_equal(found[places], found[:][places])
    assert np.array_equal(found[5:9], found[:][5:9])
    assert np.array_equal(as_kept(ROWS[3:], form), found[3:])
    assert found[np.zeros(0, np.int64)].shape == (0, 12)


def test_none_at_all(tmp_path: Path) -> None:
    assert write(tmp_path / "rows", "float16", ROWS[:0])[:].shape == (0, 12)


@pytest.mark.parametrize("form", FORMS)
def test_it_goes_on_from_what_is_safe(tmp_path: Path, form: str) -> None:
    path = tmp_path / "rows"
    writer = VectorWriter(path, 12, form)
    writer.append(ROWS[:20])
    writer.sync()
    writer.append(ROWS[20:25])
    writer._file.flush()  # as the system may, before a kill
    writer._file.close()
    path.write_bytes(path.read_bytes() + b"half a row")
    with VectorWriter(path, 12, form) as again:
        assert again.rows == 20
        again.append(ROWS[20:])
    assert path.read_bytes() == write(tmp_path / "whole", form).path.read_bytes()


def test_what_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="float8"):
        VectorWriter(tmp_path / "rows", 12, "float8")
    with (
        pytest.raises(SettingsError, match="too large for float16"),
        VectorWriter(tmp_path / "rows", 12) as writer,
    ):
        writer.append(ROWS * 1e6)
    with (
        pytest.raises(SettingsError, match="not finite"),
        VectorWriter(tmp_path / "more", 12, "int8") as writer,
    ):
        writer.append(np.full((1, 12), np.nan, np.float32))
    with pytest.raises(OutputError, match="rows: cannot be written"):
        VectorWriter(tmp_path / "no" / "rows", 12)
    with pytest.raises(NotFoundError, match="none"):
        VectorFile(tmp_path / "none", 12)
    write(tmp_path / "rows", "float16")
    with pytest.raises(InputError, match="damaged"):
        VectorFile(tmp_path / "rows", 13)
    (tmp_path / "rows.rows").write_text("many")
    with pytest.raises(InputError, match="damaged"):
        VectorWriter(tmp_path / "rows", 12)


def test_a_full_disk_is_named() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no such device")
    writer = VectorWriter.__new__(VectorWriter)
    writer._path, writer._record, writer.rows = full, np.dtype([("numbers", "<f2", (12,))]), 0
    writer._digest = hashlib.sha256()
    writer._file = open(full, "wb", buffering=0)
    with writer._file, pytest.raises(OutputError, match="/dev/full: cannot be written: No space"):
        writer.append(ROWS)


WORDS = ["▁der", "#", "%s", "0", "ö"]


def test_what_is_written_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_WINDOW", 2)
    vectors = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    stream = io.BytesIO()
    write_word_vectors(stream, WORDS, vectors)
    assert stream.getvalue().decode().splitlines()[0] == "5 3"
    (tmp_path / "v.vec").write_bytes(stream.getvalue())
    words, found = read_word_vectors(tmp_path / "v.vec")
    assert words == WORDS
    assert found == pytest.approx(vectors, rel=1e-5)
    words, found = read_word_vectors(tmp_path / "v.vec", 2)
    assert (words, found.shape) == (WORDS[:2], (2, 3))


@pytest.mark.parametrize(
    "text", ["a 1 2\nb 3 4\na 5 6\n", "2 2\na 1 2 \nb 3 4 \n", "a 1 2\r\nb 3 4"]
)
def test_headers_spaces_and_repeated_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "v.vec").write_text(text, newline="")
    words, vectors = read_word_vectors(tmp_path / "v.vec")
    assert (words, vectors.tolist()) == (["a", "b"], [[1, 2], [3, 4]])


@pytest.mark.parametrize("head", ["", "4 2\n"])
def test_no_line_after_the_most_wanted_is_read(head: str, tmp_path: Path) -> None:
    (tmp_path / "v.vec").write_text(f"{head}a 1 2\na 3 4\nb 5 6\nc\n")
    words, vectors = read_word_vectors(tmp_path / "v.vec", 3)
    assert (words, vectors.tolist()) == (["a", "b"], [[1, 2], [5, 6]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 3\n", "v.vec:2: expected a word and 2 numbers"),
        ("a 1 2\nb 3 x\n", "v.vec:2: expected a word and 2 numbers"),
        ("a 1 nan\n", "v.vec:1: expected a word and some numbers"),
        ("2 3\na\n", "v.vec:2: expected a word and some numbers"),
        ("a 1 2\n\n", "v.vec:2: expected"),
        ("", "v.vec: no word vectors"),
        ("0 3\n", "v.vec: no word vectors"),
    ],
)
def test_what_is_no_file_of_vectors(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "v.vec").write_text(text)
    with pytest.raises(InputError) as raised:
        read_word_vectors(tmp_path / "v.vec")
    assert message in str(raised.value)


def expected(rows: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, rows)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["<f4", "<f2"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (9, 512), (4000, 300)])
def test_bytes_are_those_of_numpy(tmp_path: Path, shape: tuple[int, int], kind: str) -> None:
    rows = GENERATOR.standard_normal(shape).astype(kind)
    paths = [tmp_path / "plain.npy", tmp_path / "packed.npy.gz"]
    pipe = io.BytesIO()
    pipe.seekable = lambda: False  # type: ignore[method-assign]
    with open_output(paths[0]) as plain, open_output(paths[1]) as packed:
        for output in (plain, packed, pipe):
            with ArrayWriter(output, tmp_path) as array:
                for part in np.array_split(rows, 3):
                    array.rows.write(part.tobytes())
                array.finish(shape, rows.dtype)
    found = [paths[0].read_bytes(), gzip.decompress(paths[1].read_bytes()), pipe.getvalue()]
    assert found == [expected(rows)] * 3
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_a_packed_output_cannot_be_sought(tmp_path: Path) -> None:
    with open_output(tmp_path / "x.gz") as output:
        assert not output.seekable()
        with pytest.raises(io.UnsupportedOperation, match=r"x\.gz is written from its start"):
            output.seek(0)
