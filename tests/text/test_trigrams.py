"""Trigrams of words against a loop over their characters."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, TRIGRAMS
from bitextfilter.text.segment import UNKNOWN, SegmenterSettings
from bitextfilter.text.trigrams import CountedTrigrams, HashedTrigrams, TrigramSettings
from bitextfilter.text.vocabulary import RESERVED

CHARACTERS = st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"])
WORDS = st.lists(st.text(CHARACTERS, min_size=1, max_size=6), max_size=12)
TEXT = ["the cat sat", "a cat", "the mat"]


def processor(settings: TrigramSettings) -> TextProcessor:
    made = TextProcessor.learn(TEXT, TEXT, ("aa", "bb"), Normalisation(), SegmenterSettings("none"))
    made.learn_trigrams(TEXT, TEXT, settings)
    return made


def naive(word: str) -> list[str]:
    marked = f" {word} "
    return [marked[i : i + 3] for i in range(len(word))]


@given(WORDS)
def test_counted_trigrams_are_those_of_a_loop(words: list[str]) -> None:
    made = CountedTrigrams.learn(TEXT, [" ".join(words)], 1000)
    pieces = made.vocabulary
    for word, ids in zip(words, made(words), strict=True):
        assert [pieces.piece(i) for i in ids] == naive(word)
    unknown = made(["\u4e00\u4e00", "cat\u4e00"])
    assert [row.tolist() for row in unknown] == [[UNKNOWN], pieces.ids([" ca", "cat"]).tolist()]


def test_counts_and_the_most_frequent() -> None:
    made = CountedTrigrams.learn(TEXT, ["cat"], 4).vocabulary
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
        TEXT, TEXT, ("aa", "bb"), Normalisation(), SegmenterSettings(kind, merges=9)
    )
    made.learn_trigrams(TEXT, TEXT, TrigramSettings())
    text = ["The  cats sat", "", "dog", "the cat"]
    both = made.read(text, "aa", (PIECES, TRIGRAMS))
    for view in (PIECES, TRIGRAMS):
        alone = made.read(text, "aa", (view,))[view].ids()
        assert [row.tolist() for row in both[view].ids()] == [row.tolist() for row in alone]
    pieces = [row.tolist() for row in both[PIECES].ids()]
    assert pieces == [row.tolist() for row in made.ids(text, "aa")]
