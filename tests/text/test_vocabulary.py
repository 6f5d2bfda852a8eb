"""Vocabularies, and the words of sentence pairs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.text.segment import UNKNOWN
from bitextfilter.text.vocabulary import (
    BEGIN,
    END,
    PAD,
    RESERVED,
    NumberedWords,
    Vocabulary,
    plain_words,
)

DISTINCT = st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True)


def test_order_is_by_total_count_then_piece() -> None:
    vocabulary = Vocabulary.build([["b", "a"], ["c"]], [["a", "d"], ["b", "b"]])
    assert vocabulary.pieces == ("b", "a", "c", "d")
    assert vocabulary.counts.tolist() == [[1, 2], [1, 1], [1, 0], [0, 1]]
    assert [vocabulary.index.get(piece) for piece in "axb"] == [5, None, 4]


def test_size_cuts_the_rare() -> None:
    sides = ([["a", "a", "b", "b", "c"]], [["a"]])
    assert Vocabulary.build(*sides, size=6).pieces == ("a", "b")
    assert len(Vocabulary.build(*sides, size=6)) == 6


def test_reserved_ids_come_first_and_text_cannot_be_them() -> None:
    vocabulary = Vocabulary.build([list(RESERVED)], [])
    assert [vocabulary.piece(i) for i in (PAD, UNKNOWN, BEGIN, END)] == list(RESERVED)
    assert min(vocabulary.index[piece] for piece in RESERVED) == len(RESERVED)
    for beyond in (-1, len(vocabulary)):
        with pytest.raises(IndexError):
            vocabulary.piece(beyond)


@given(pieces=DISTINCT, data=st.data())
def test_file_round_trip(
    pieces: list[str], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    counts = data.draw(
        st.lists(
            st.tuples(*[st.integers(0, 2**62)] * 2), min_size=len(pieces), max_size=len(pieces)
        )
    )
    path: Path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.tsv"
    Vocabulary(pieces, np.array(counts, dtype=np.int64)).save(path)
    loaded = Vocabulary.load(path)
    assert loaded.pieces == tuple(pieces)
    assert loaded.counts.tolist() == [list(row) for row in counts]
    assert path.read_bytes().count(b"\n") == len(pieces) + 1


@given(pieces=DISTINCT, languages=st.sampled_from([1, 3, 5]), data=st.data())
def test_files_of_other_numbers_of_languages(
    pieces: list[str],
    languages: int,
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    row = st.lists(st.integers(0, 2**33), min_size=languages, max_size=languages)
    counts = data.draw(st.lists(row, min_size=len(pieces), max_size=len(pieces)))
    path: Path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.tsv"
    made = Vocabulary(pieces, np.array(counts, dtype=np.int64).reshape(-1, languages))
    made.save(path)
    loaded = Vocabulary.load(path)
    assert loaded.pieces == tuple(pieces)
    np.testing.assert_array_equal(loaded.counts, np.minimum(made.counts, 2**32 - 1))
    np.testing.assert_array_equal(loaded.of([languages - 1, 0]).counts, loaded.counts[:, [-1, 0]])


def test_damaged_counts_of_three_languages(tmp_path: Path) -> None:
    path, counts = tmp_path / "vocabulary.tsv", tmp_path / "vocabulary.npz"
    Vocabulary(["a", "b"], np.ones((2, 3), np.int64)).save(path)
    whole = counts.read_bytes()
    for content in (whole[:-30], b"", b"PK"):
        counts.write_bytes(content)
        with pytest.raises(ModelError, match=r"vocabulary\.npz: damaged counts"):
            Vocabulary.load(path)
    np.savez_compressed(counts, counts=np.ones((2, 3)))
    with pytest.raises(ModelError, match="not the counts"):
        Vocabulary.load(path)
    np.savez_compressed(counts, counts=np.ones((3, 3), np.uint32))
    with pytest.raises(ModelError, match="too many or too few counts"):
        Vocabulary.load(path)
    counts.unlink()
    with pytest.raises(NotFoundError, match="no such file of counts"):
        Vocabulary.load(path)
    path.write_text("piece\na\tb\n")
    with pytest.raises(ModelError, match="2: expected a piece"):
        Vocabulary.load(path)


@given(st.lists(st.lists(st.sampled_from("abcde"))), st.lists(st.lists(st.sampled_from("cdefg"))))
def test_counts_agree_with_a_naive_count(source: list[list[str]], target: list[list[str]]) -> None:
    vocabulary = Vocabulary.build(source, target)
    flat = Counter(piece for pieces in source + target for piece in pieces)
    assert dict(zip(vocabulary.pieces, vocabulary.counts.sum(axis=1).tolist(), strict=True)) == flat


HEADER = b"piece\tsource\ttarget\n"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"a\t1\t2\n", HEADER[:-1], HEADER + b"a\t1\t2\nb\t1\n", HEADER + b"a\t1\tx\n",
        HEADER + b"a\t1\t\xd9\xa3\n", HEADER + b"a\t1\t9999999999999999999\n",
        HEADER + b"a\t1\t2\t3\nb\t1\n", HEADER + b"a\t1\t2\nb\t3\t4", HEADER + b"\xff\t1\t2\n",
        HEADER + b"a\t1\t2\na\t1\t2\n",
    ],
)  # fmt: skip
def test_damage_is_an_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.tsv"
    path.write_bytes(content)
    with pytest.raises(ModelError):
        Vocabulary.load(path)


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="missing"):
        Vocabulary.load(tmp_path / "vocabulary.tsv")


def test_words_are_numbered_as_they_come() -> None:
    words = NumberedWords()
    words.add("The cat, it sat.", "A CAT sat", 6)
    words.add("one two three four five six seven", "one", 6)
    words.add("the\u200b dog", "€ 5 !", 3)
    assert words.words == ["the", "cat", ",", "it", "sat", ".", "a", "dog", "€", "5", "!"]
    assert words.pairs == 2 and words.left == 1
    source, target = words.sides()
    assert [row.tolist() for row in source] == [[0, 1, 2, 3, 4, 5], [0, 7]]
    assert [row.tolist() for row in target] == [[6, 1, 4], [8, 9, 10]]
    readable = [word for word, kept in zip(words.words, words.readable(), strict=True) if kept]
    assert readable == ["the", "cat", "it", "sat", "a", "dog", "5"]


def test_a_side_without_words_is_left_out() -> None:
    words = NumberedWords()
    words.add("a", "\u200b", 5)
    assert words.pairs == 0 and words.left == 1
    assert plain_words("Don't!") == ["don", "'", "t", "!"]
