"""Trigrams of words, longer n-grams and bigrams, against loops and dictionaries."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.text.features import HIGHEST, IN_A_BYTE, bigrams, level_table
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, TRIGRAMS, Ragged
from bitextfilter.text.segment import UNKNOWN, SegmenterSettings
from bitextfilter.text.trigrams import CountedTrigrams, HashedTrigrams, TrigramSettings
from bitextfilter.text.vocabulary import RESERVED

CHARACTERS = st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"])
WORDS = st.lists(st.text(CHARACTERS, min_size=1, max_size=6), max_size=12)
MIXED = st.text(st.sampled_from("abé東京タワー서울북\u0e01я"), min_size=1, max_size=8)
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


def naive_longer(word: str, longest: int, apart: str = "") -> list[str]:
    """N-grams of 4 characters, then of 5 and so on; none with a character *apart*."""
    marked = f" {word} "
    every = (marked[i : i + n] for n in range(4, longest + 1) for i in range(len(marked) - n + 1))
    return [ngram for ngram in every if not re.search(apart or "(?!)", ngram)]


@given(WORDS, st.integers(3, 6))
def test_longer_ngrams_are_those_of_a_loop(words: list[str], longest: int) -> None:
    made = CountedTrigrams.learn([], [" ".join(words)], size=1000, longest=longest)
    expected = [naive(word) + naive_longer(word, longest) for word in words]
    pieces = made.vocabulary
    for word, ids, ngrams in zip(words, made(words), expected, strict=True):
        assert [pieces.piece(i) for i in ids] == ngrams, word
    total = Counter(ngram for ngrams in expected for ngram in ngrams)
    assert dict(zip(pieces.pieces, pieces.counts[:, 1].tolist(), strict=True)) == total
    hashed = HashedTrigrams(1 << 20, longest=longest)(words)
    assert hashed.lengths.tolist() == list(map(len, expected))


@given(st.lists(MIXED, min_size=1), st.integers(4, 6))
def test_syllabic_characters_are_in_no_longer_ngram(words: list[str], longest: int) -> None:
    made = CountedTrigrams.learn([" ".join(words)], size=1000, syllabic=True, longest=longest)
    for word, ids in zip(words, made(words), strict=True):
        ngrams = naive_syllabic(word) + naive_longer(word, longest, SYLLABIC.pattern)
        assert [made.vocabulary.piece(i) for i in ids] == ngrams


SYLLABIC = re.compile(
    "[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)


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


@pytest.mark.parametrize("longest", [3, 5])
@pytest.mark.parametrize("kind", ["counted", "hashed"])
def test_a_processor_keeps_them(tmp_path: Path, kind: str, longest: int) -> None:
    made = processor(TrigramSettings(kind, 50, longest))
    made.save(tmp_path)
    loaded = TextProcessor.load(tmp_path, made.config())
    assert loaded.sizes() == made.sizes() and list(made.sizes()) == [PIECES, TRIGRAMS]
    for text in (["the cats", "", "the the"], []):
        one, other = (p.read(text, "aa", (TRIGRAMS,))[TRIGRAMS] for p in (made, loaded))
        np.testing.assert_array_equal(one.ids().flat, other.ids().flat)
        assert len(one.ids()) == len(text)
    lengths = made.read(["the the", "", "cat"], "bb", (TRIGRAMS,))[TRIGRAMS].ids().lengths
    assert lengths.tolist() == ([6, 1, 3] if longest == 3 else [12, 1, 6])


def test_damage_is_refused(tmp_path: Path) -> None:
    made = processor(TrigramSettings())
    made.save(tmp_path)
    with pytest.raises(ModelError, match="trigrams -3"):
        TextProcessor.load(tmp_path, {**made.config(), "trigrams": -3})
    with pytest.raises(ModelError, match="longest n-grams of 9"):
        TextProcessor.load(tmp_path, {**made.config(), "trigrams": 3, "longest": 9})
    path = tmp_path / "trigrams.tsv"
    path.write_text(path.read_text().replace("cat\t", "at\t"))
    with pytest.raises(ModelError, match="three to six characters"):
        TextProcessor.load(tmp_path, made.config())


@pytest.mark.parametrize("wrong", [{"kind": "other"}, {"size": 0}, {"longest": 7}])
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


@pytest.mark.parametrize("longest", [3, 5])
def test_trigrams_of_further_languages(longest: int) -> None:
    old = CountedTrigrams.learn(TEXT, ["mat"], size=30, longest=longest)
    first = len(old.vocabulary.pieces)
    text = ["dog dogs", "the dogs"]
    more = old.extended(text, size=6)
    assert more.vocabulary.pieces[:first] == old.vocabulary.pieces
    assert (more.vocabulary.counts[:first, :2] == old.vocabulary.counts).all()
    assert (more.vocabulary.counts[first:, :2] == 0).all()
    alone = CountedTrigrams.learn(text, [], size=100, longest=longest).vocabulary
    counts = dict(zip(alone.pieces, alone.counts[:, 0].tolist(), strict=True))
    wanted = [piece for piece in alone.pieces if piece not in old.vocabulary.pieces][:6]
    assert sorted(more.vocabulary.counts[first:, 2], reverse=True) == [counts[p] for p in wanted]
    for piece, count in zip(more.vocabulary.pieces, more.vocabulary.counts[:, 2], strict=True):
        assert count == counts.get(piece, 0)
    words = ["the", "dogs", "cat", "x"]
    for one, other in zip(old(words), more(words, first), strict=True):
        assert one.tolist() == other.tolist()
    assert max(map(max, more(words))) >= len(RESERVED) + first


def test_only_further_languages_read_their_trigrams(tmp_path: Path) -> None:
    old = processor(TrigramSettings(size=8))
    more = old.extended({"cc": ["dog dogs", "the dogs"]}, 6)
    assert more.known == ("aa", "bb", "cc")
    assert more.first_trigrams == {"aa": 8, "bb": 8}
    more.save(tmp_path)
    again = TextProcessor.load(tmp_path, more.config())
    sentences = ["the dogs", "a cat", "dog"]
    for read in (more, again, again.of_pair(("bb", "cc"))):
        for one, other in zip(
            old.ids(sentences, "aa", TRIGRAMS), read.ids(sentences, "aa", TRIGRAMS), strict=True
        ):
            assert one.tolist() == other.tolist()
        assert max(map(max, read.ids(sentences, "cc", TRIGRAMS))) >= len(RESERVED) + 8
    assert more.vocabulary.counts[:, :2].tolist() == old.vocabulary.counts.tolist()
    index = more.vocabulary.index["the"] - len(RESERVED)
    assert more.vocabulary.counts[index, 2] == 1
    with pytest.raises(SettingsError, match="counts no trigrams"):
        processor(TrigramSettings("hashed", 8)).extended({"cc": ["a"]}, 6)


HASHES = np.array([0, 7, 2**32 - 1, 12345, 99])


def sentences() -> list[list[int]]:
    chance = np.random.default_rng(1)
    return [chance.integers(0, 5, chance.integers(0, 9)).tolist() for _ in range(200)]


def counted_bigrams(rows: list[list[int]]) -> list[tuple[int, int]]:
    return [both for row in rows for both in pairwise([-1, *row, -1])]


def test_equal_bigrams_have_equal_keys_and_others_do_not() -> None:
    rows = sentences()
    found = bigrams(Ragged.of_lists(rows), HASHES)
    assert found.lengths.tolist() == [len(row) + 1 for row in rows]
    expected = counted_bigrams(rows)
    assert len(found.flat) == len(expected)
    by_key: dict[int, set[tuple[int, int]]] = {}
    for key, both in zip(found.flat.tolist(), expected, strict=True):
        by_key.setdefault(key, set()).add(both)
    assert all(len(some) == 1 for some in by_key.values())
    assert len(by_key) == len(set(expected))
    assert min(by_key) >= 0
    order = bigrams(Ragged.of_lists([[1, 2], [2, 1]]), HASHES).flat
    assert order[1] != order[4]


def test_levels_are_those_of_the_counts() -> None:
    rows, buckets = sentences(), 1 << 16
    found = bigrams(Ragged.of_lists(rows), HASHES).flat
    table = level_table(found, buckets)
    assert table.shape == (buckets // IN_A_BYTE,)
    counts = Counter(found.tolist())
    for key, count in counts.items():
        place = key % buckets
        level = table[place // IN_A_BYTE] >> (2 * (place % IN_A_BYTE)) & 3
        assert level == sum(count >= least for least in (2, 8, 32))
    used = sum(count >= 2 for count in counts.values())
    assert sum(np.count_nonzero(table >> 2 * place & 3) for place in range(IN_A_BYTE)) == used


def test_buckets_need_not_fill_the_last_byte() -> None:
    assert level_table(np.array([5, 5, 0, 0]), 6).tolist() == [0, 0]  # more than a quarter
    assert level_table(np.array([5, 5]), 6).tolist() == [0, 1 << 2]


def test_bigrams_in_one_bucket_have_the_higher_level() -> None:
    keys = np.array([1] * 2 + [17] * 32 + [33] * 9)
    assert level_table(keys, 16).tolist() == [HIGHEST << 2, 0, 0, 0]
    assert level_table(keys[:0], 4).tolist() == [0]


def test_a_full_table_has_the_most_frequent_bigrams_alone() -> None:
    keys = np.repeat(np.arange(12), np.arange(12) + 1)
    levels = [level_table(keys, 16)[place // 4] >> (2 * (place % 4)) & 3 for place in range(12)]
    assert levels == [0] * 8 + [1] * 4  # of the counts 9, 10, 11 and 12
    tied = np.repeat(np.arange(12), 3)
    assert not level_table(tied, 16).any()
