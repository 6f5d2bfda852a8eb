"""Vocabularies, and trigrams of words against a loop over their characters."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, TRIGRAMS
from bitextfilter.text.segment import UNKNOWN, SegmenterSettings
from bitextfilter.text.vocabulary import (
    BEGIN,
    END,
    PAD,
    RESERVED,
    CountedTrigrams,
    HashedTrigrams,
    NumberedWords,
    TrigramSettings,
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
        b"",
        b"a\t1\t2\n",
        HEADER[:-1],
        HEADER + b"a\t1\t2\nb\t1\n",
        HEADER + b"a\t1\tx\n",
        HEADER + b"a\t1\t\xd9\xa3\n",
        HEADER + b"a\t1\t9999999999999999999\n",
        HEADER + b"a\t1\t2\t3\nb\t1\n",
        HEADER + b"a\t1\t2\nb\t3\t4",
        HEADER + b"\xff\t1\t2\n",
        HEADER + b"a\t1\t2\na\t1\t2\n",
    ],
)
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


CHARACTERS = st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"])
WORDS = st.lists(st.text(CHARACTERS, min_size=1, max_size=6), max_size=12)
TEXT = ["the cat sat", "a cat", "the mat"]


def processor(settings: TrigramSettings) -> TextProcessor:
    made = TextProcessor.learn(
        (TEXT, TEXT), ("aa", "bb"), Normalisation(), SegmenterSettings("none")
    )
    made.learn_trigrams((TEXT, TEXT), settings)
    return made


def naive(word: str) -> list[str]:
    marked = f" {word} "
    return [marked[i : i + 3] for i in range(len(word))]


@given(WORDS)
def test_counted_trigrams_are_those_of_a_loop(words: list[str]) -> None:
    made = CountedTrigrams.learn(TEXT, [" ".join(words)], size=1000)
    pieces = made.vocabulary
    for word, ids in zip(words, made(words), strict=True):
        assert [pieces.piece(i) for i in ids] == naive(word)
    unknown = made(["\u4e00\u4e00", "cat\u4e00"])
    assert [row.tolist() for row in unknown] == [
        [UNKNOWN],
        [pieces.index.get(p, UNKNOWN) for p in [" ca", "cat"]],
    ]


SYLLABIC = re.compile(
    "[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
MIXED = st.text(st.sampled_from("abé東京タワー서울북\u0e01я"), min_size=1, max_size=8)


def naive_syllabic(word: str) -> list[str]:
    """Trigrams around letters; a syllabic character alone, and with the next."""
    found = []
    for i, trigram in enumerate(naive(word)):
        if not SYLLABIC.match(word[i]):
            found.append(trigram)
            continue
        found.append(f"\u3000{word[i]}\u3000")
        if i + 1 < len(word):
            found.append(f"{word[i : i + 2]}\u3000")
    return found


@given(st.lists(MIXED, min_size=1))
def test_syllabic_characters_are_read_alone_and_in_twos(words: list[str]) -> None:
    made = CountedTrigrams.learn([" ".join(words)], size=1000, syllabic=True)
    pieces = made.vocabulary
    for word, ids in zip(words, made(words), strict=True):
        assert [pieces.piece(i) for i in ids] == naive_syllabic(word)
    hashed = HashedTrigrams(1 << 20, syllabic=True)(words)
    assert hashed.lengths.tolist() == [len(naive_syllabic(word)) for word in words]


def test_counts_and_the_most_frequent() -> None:
    made = CountedTrigrams.learn(TEXT, ["cat"], size=4).vocabulary
    total = Counter(t for s in [*TEXT, "cat"] for w in s.split() for t in naive(w))
    assert made.pieces == tuple(sorted(total, key=lambda t: (-total[t], t))[:4])
    source = Counter(t for s in TEXT for w in s.split() for t in naive(w))
    assert made.counts[:, 0].tolist() == [source[piece] for piece in made.pieces]
    assert made.counts[:, 1].tolist() == [int(piece in naive("cat")) for piece in made.pieces]


@given(WORDS)
def test_hashed_trigrams_are_a_function_of_the_trigram(words: list[str]) -> None:
    made = HashedTrigrams(1 << 20)
    known: dict[str, int] = {}
    for word, ids in zip(words, made(words), strict=True):
        for trigram, number in zip(naive(word), ids.tolist(), strict=True):
            assert known.setdefault(trigram, number) == number
            assert len(RESERVED) <= number < len(made)


def test_hashes_spread() -> None:
    words = [chr(0x4E00 + i) for i in range(20_000)]
    places = np.bincount(HashedTrigrams(100)(words).flat - len(RESERVED), minlength=100)
    assert places.min() > 140 and places.max() < 270  # 200 expected, a deviation is 14


@pytest.mark.parametrize("kind", ["counted", "hashed"])
def test_a_processor_keeps_them(tmp_path: Path, kind: str) -> None:
    made = processor(TrigramSettings(kind, 50))
    made.save(tmp_path)
    loaded = TextProcessor.load(tmp_path, made.config())
    assert loaded.sizes() == made.sizes() and list(made.sizes()) == [PIECES, TRIGRAMS]
    for text in (["the cats", "", "the the"], []):
        one, other = (p.read(text, "aa", (TRIGRAMS,))[TRIGRAMS] for p in (made, loaded))
        np.testing.assert_array_equal(one.ids().flat, other.ids().flat)
        assert len(one.ids()) == len(text)
    lengths = made.read(["the the", "", "cat"], "bb", (TRIGRAMS,))[TRIGRAMS].ids().lengths
    assert lengths.tolist() == [6, 1, 3]


def test_damage_is_refused(tmp_path: Path) -> None:
    made = processor(TrigramSettings())
    made.save(tmp_path)
    with pytest.raises(ModelError, match="trigrams -3"):
        TextProcessor.load(tmp_path, {**made.config(), "trigrams": -3})
    path = tmp_path / "trigrams.tsv"
    path.write_text(path.read_text().replace("cat\t", "cats\t"))
    with pytest.raises(ModelError, match="three characters"):
        TextProcessor.load(tmp_path, made.config())


@pytest.mark.parametrize("wrong", [{"kind": "other"}, {"size": 0}])
def test_settings_that_make_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        TrigramSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["none", "bpe"])
def test_both_ways_of_reading_agree_with_each_alone(kind: str) -> None:
    made = TextProcessor.learn(
        (TEXT, TEXT), ("aa", "bb"), Normalisation(), SegmenterSettings(kind, merges=9)
    )
    made.learn_trigrams((TEXT, TEXT), TrigramSettings())
    text = ["The  cats sat", "", "dog", "the cat"]
    both = made.read(text, "aa", (PIECES, TRIGRAMS))
    for view in (PIECES, TRIGRAMS):
        alone = made.read(text, "aa", (view,))[view].ids()
        assert [row.tolist() for row in both[view].ids()] == [row.tolist() for row in alone]
    pieces = [row.tolist() for row in both[PIECES].ids()]
    assert pieces == [row.tolist() for row in made.ids(text, "aa")]
