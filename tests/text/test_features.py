"""Surface and spelling features of sentences and words."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.text.features import (
    MOST_WORDS,
    RARITY,
    SURFACE_WIDTH,
    WORD_FEATURES,
    WordReader,
    repeats,
    spellings,
    surface_features,
)
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.ragged import Ragged

ODD = st.text(max_size=30)


def difference(one: str, other: str) -> float:
    a, b = surface_features([one, other])
    return float(np.abs(a - b).sum())


def test_shape() -> None:
    assert surface_features([]).shape == (0, SURFACE_WIDTH)
    rows = surface_features(["", "One, 2."])
    assert rows.shape == (2, SURFACE_WIDTH)
    assert rows.dtype == np.float32
    assert not rows[0].any()


@given(sentences=st.lists(ODD, min_size=1, max_size=5))
def test_a_sentence_is_described_by_itself(sentences: list[str]) -> None:
    rows = surface_features(sentences)
    assert np.array_equal(rows[::-1], surface_features(sentences[::-1]))
    assert np.array_equal(rows, np.concatenate([surface_features([one]) for one in sentences]))
    assert np.array_equal(rows * 4096, np.round(rows * 4096))
    assert rows.min() >= 0


def test_what_a_description_shows() -> None:
    assert difference("It costs 1,500 dollars", "It costs 1.500 dollars") < difference(
        "It costs 1,500 dollars", "It costs 1,600 dollars"
    )
    same = ("Peter met Paul", "Peter met Mary"), ("Peter met paul", "Peter met mary")
    assert difference(*same[0]) > difference(*same[1]) > 0
    assert difference("He is not here", "He is here") > 0.3
    assert difference("all of it all of it", "it is all of it here") > 0.3
    assert difference("The end.", "The end") > 1
    assert difference("cafe\u0301", "caf\u00e9") == 0


def test_bags_show_what_is_in_both() -> None:
    a, b, c = surface_features(
        ["old houses by the sea", "old houses by the lake", "Fisch schmeckt gut"]
    )
    assert a @ b > a @ c


SENTENCES = [
    "Don't panic, Tom!",
    "",
    "the The  the\u00a0cat",
    "100 000 €, 1.5 %",
    "\u200b",
    "Tom! Tom! Tom!",
]


def words(reader: WordReader, sentences: list[str]) -> list[list[str]]:
    return [[reader.words[number] for number in row] for row in reader.read(sentences)[0]]


def test_words_are_those_of_the_normalisation() -> None:
    normalise = Normalisation(lowercase=False, apart=True)
    expected = [normalise(sentence, "en").split() or [""] for sentence in SENTENCES]
    assert words(WordReader(), SENTENCES) == expected
    assert expected[0] == ["Don", "'", "t", "panic", ",", "Tom", "!"]


def test_a_word_keeps_its_number() -> None:
    reader = WordReader()
    first, _ = reader.read(SENTENCES)
    known = list(reader.words)
    assert len(set(known)) == len(known)
    again, _ = reader.read([*SENTENCES[::-1], "new cat"])
    assert reader.words[: len(known)] == known
    assert reader.words[len(known) :] == ["new"]
    for row, other in zip(first, list(again)[-2::-1], strict=True):
        assert row.tolist() == other.tolist()
    assert reader.read([])[0].flat.size == 0


def test_words_after_a_space_are_marked() -> None:
    rows, spaced = WordReader().read(["Tom, don't !", "", "  a", "(b) ."])
    assert rows.lengths.tolist() == [6, 1, 1, 4]
    assert spaced.tolist() == [1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1]
    text = "Tom, don't panic! "
    short, long = (WordReader().read([text * count])[1] for count in (50, 500))
    assert len(long) == MOST_WORDS and long[: len(short)].tolist() == short.tolist()


def test_the_first_words_of_a_long_sentence_are_read() -> None:
    sentence = "".join(f"w{place},\u200b" for place in range(100_000))
    few = Normalisation(lowercase=False, apart=True)(sentence[:20_000], "").split()[:MOST_WORDS]
    reader = WordReader()
    assert words(reader, ["cat", sentence, "w7"]) == [["cat"], few, ["w7"]]
    assert len(reader.words) < MOST_WORDS + 3  # none of the others is kept, or computed
    symbols = "\u2adc" * MOST_WORDS  # whose normal forms are two words each
    assert words(reader, [symbols])[0][:3] == ["\u2add", "\u0338", "\u2add"]
    assert len(words(reader, [symbols])[0]) == MOST_WORDS


def test_what_a_word_looks_like() -> None:
    found = spellings(["", "Tom", "tom", "USA", "1.5", "15", "nicht", "Ü", "!", "don"])
    assert found.features.shape == (10, WORD_FEATURES)
    _, tom, small, usa, dotted, plain, no, umlaut, mark, _ = found.features
    assert tom[0] == small[0] == usa[0] == pytest.approx(np.log(4))
    assert [tom[2], small[2], usa[2], usa[3], tom[3]] == [1, 0, 1, 1, 0]
    assert [dotted[1], plain[1], tom[1]] == [1, 1, 0]
    assert [no[6], tom[6]] == [1, 0]
    assert [umlaut[5], tom[5]] == [1, 0]
    assert [mark[4], tom[4], mark[8:].sum(), tom[8:].sum()] == [1, 0, 1, 0]
    assert not found.features[:, RARITY].any()
    assert found.letters[1] == found.letters[2] != found.letters[3]
    assert found.figures[4] == found.figures[5] != 0
    assert found.figures[1] == found.figures[8] == 0
    assert found.hashes[1] == found.hashes[2] == zlib.crc32(b"tom")
    some = found.take(np.array([4, 1]))
    assert np.array_equal(some.features, found.features[[4, 1]])
    assert some.figures.tolist() == found.figures[[4, 1]].tolist()
    assert some.letters.tolist() == found.letters[[4, 1]].tolist()
    assert some.hashes.tolist() == found.hashes[[4, 1]].tolist()


def test_figures_are_told_apart() -> None:
    found = spellings(["5", "6", "2 016".replace(" ", ""), "2016"]).figures
    assert len(set(found.tolist())) == 3


def test_repeats_are_those_of_a_walk_through_the_sentence() -> None:
    chance = np.random.default_rng(1)
    lengths = chance.integers(0, 9, 40)
    letters = np.array([5, 7, 7, -3, 9])  # two spellings of one word
    rows = Ragged(chance.integers(0, 5, int(lengths.sum())), lengths)
    expected: list[tuple[bool, bool]] = []
    for row in rows:
        row_letters = letters[row].tolist()
        pairs = list(zip([None, *row_letters], row_letters, strict=False))
        expected += [
            (row_letters[i] in row_letters[:i], pairs[i] in pairs[:i]) for i in range(len(row))
        ]
    found = repeats(rows, letters)
    assert found.dtype == np.float32
    assert found.tolist() == [[float(a), float(b)] for a, b in expected]
    assert found.sum() > 20
    assert repeats(Ragged(rows.flat[:0], lengths[:0]), letters).shape == (0, 2)
