"""Word vectors as text: written and read again, and files that are no such thing."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.errors import InputError
from bitextfilter.io import word_vectors
from bitextfilter.io.word_vectors import read_word_vectors, write_word_vectors

WORDS = ["▁der", "#", "%s", "0", "ö"]


def test_what_is_written_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "_WINDOW", 2)
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
