"""Compiled reading of text: the numbers that Python gives, whatever the text."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitextfilter.io.compiled import NO_COMPILED
from bitextfilter.text.features import WordReader
from bitextfilter.text.identifier import LIBRARY, NgramIdentifier, group_sums
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TokenCache
from bitextfilter.text.ragged import Ragged, RaggedStore, TokenTable, TokenWindow
from bitextfilter.text.trigrams import CountedTrigrams, KeyTable

TEXTS = st.text(st.characters(exclude_categories=())) | st.text("ab \0\t\x1c\x85\u2028\u3000é")
"""All of Unicode, surrogates too; and much white space of all widths."""


@pytest.fixture(scope="module", params=["compiled", "python"], autouse=True)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each test runs with the libraries, and without."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "python":
            patch.setenv(NO_COMPILED, "1")
        yield request.param


def split(sentence: str) -> list[str]:
    return sentence.replace("\0", " ").split()


class Naive:
    """Numbers tokens one by one."""

    def __init__(self) -> None:
        self.tokens = [""]
        self.told = 0

    def check(self, window: TokenWindow, sentences: Sequence[str]) -> None:
        seen = [""]
        for token in (token for sentence in sentences for token in split(sentence)):
            if token not in seen:
                seen.append(token)
            if token not in self.tokens:
                self.tokens.append(token)
        assert [row.tolist() for row in window.rows] == [
            [seen.index(token) for token in split(sentence)] for sentence in sentences
        ]
        assert window.numbers.tolist() == [self.tokens.index(token) for token in seen]
        assert window.new == self.tokens[self.told :]
        self.told = len(self.tokens)
        kinds = {array.dtype for array in (window.numbers, window.rows.flat, window.rows.lengths)}
        assert kinds == {np.dtype(np.int64)}


@given(st.lists(st.lists(TEXTS, max_size=6), max_size=5))
@example([["a", "b", "c", "d", "e", "f", "g"]])  # no white space between sentences
@example([[], [""], ["", "\0"], ["\0a\0", "a"], ["a" * 5000, "a" * 5001], ["a" * 5000]])
def test_tokens_are_numbered_as_they_appear(windows: list[list[str]]) -> None:
    table, naive = TokenTable(), Naive()
    for sentences in windows:
        naive.check(table.read(sentences), sentences)


def test_white_space_is_that_of_python(way: str) -> None:
    codes = range(sys.maxunicode + 1 if way == "compiled" else 0x3100)
    every = [f"a{chr(code)}a" for code in codes]
    window = TokenTable().read(every)
    spaces = np.flatnonzero(window.rows.lengths == 2).tolist()
    assert spaces == [code for code in codes if len(split(every[code])) == 2]
    assert window.new[1] == "a" and len(window.new) == len(every) - len(spaces) + 2
    assert len(spaces) > 25


def test_a_table_grows() -> None:
    tokens = [f"token-{number}-{'x' * (number % 50)}" for number in range(20_000)]
    table = TokenTable()
    assert table.read([]).new == [""]
    first = table.read([" ".join(tokens[:100])])
    assert first.new == tokens[:100] and first.numbers.tolist() == list(range(101))
    assert table.read(tokens).new == tokens[100:]
    again = table.read(tokens[::-1])
    assert again.new == [] and again.numbers.tolist() == [0, *range(20_000, 0, -1)]


RAGGED = Ragged(np.arange(10), np.array([3, 0, 5, 2]))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float32, np.float64, np.int8])
def test_rows_are_gathered(kind: type) -> None:
    rows = Ragged(RAGGED.flat.astype(kind), RAGGED.lengths)
    taken = rows.take(np.array([2, 1, 0, 2, -1]))
    expected = [[3, 4, 5, 6, 7], [], [0, 1, 2], [3, 4, 5, 6, 7], [8, 9]]
    assert [row.tolist() for row in taken] == expected
    assert taken.flat.dtype == kind
    assert [row.tolist() for row in rows.take(np.array([3, 0], np.int32))] == [[8, 9], [0, 1, 2]]
    assert [row.tolist() for row in rows.take(np.arange(4)[::-2])] == [[8, 9], []]
    assert rows.take(np.zeros(0, np.int64)).flat.size == 0


@pytest.mark.parametrize("place", [4, -5, 1 << 40])
def test_rows_that_are_not_there(place: int) -> None:
    with pytest.raises(IndexError):
        RAGGED.take(np.array([0, place]))


def test_rows_beyond_the_numbers_are_not_read() -> None:
    with pytest.raises(IndexError):
        Ragged(np.arange(3), np.array([2, 1 << 20])).take(np.array([1]))


@given(st.lists(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=9)))
def test_a_store_holds_what_was_appended(parts: list[list[list[int]]]) -> None:
    store, every = RaggedStore(Ragged.of_lists([])), []
    for rows in parts:
        store.append(Ragged.of_lists(rows))
        every += rows
        places = np.arange(len(every))[::-1]
        assert len(store) == len(every)
        assert [row.tolist() for row in store.take(places)] == every[::-1]


def test_sums_are_those_of_a_loop() -> None:
    chance = np.random.default_rng(1)
    groups = Ragged(chance.integers(0, 50, 30), np.array([0, 11, 1, 18, 0]))
    for kind in (np.int8, np.int32):
        rows = chance.integers(-127, 128, (50, 7)).astype(kind)
        found = group_sums(rows, groups)
        assert found.dtype == np.int32
        assert found.tolist() == [rows[row].sum(axis=0).tolist() for row in groups]
    assert group_sums(rows.astype(np.int64), groups).tolist() == found.tolist()
    for flat, lengths in (([50], [1]), ([-1], [1]), ([1], [2]), ([1, 2], [1]), ([1], [-1])):
        given = np.array(flat), len(flat), np.array(lengths), 1
        if library := LIBRARY.open():
            assert library.ngrams_sums(rows, rows.itemsize, *rows.shape, *given, found[:1].copy())


@pytest.mark.parametrize("buckets", [1, 256])
def test_evidence_is_that_of_each_word(buckets: int) -> None:
    weights = np.random.default_rng(2).integers(-127, 128, (buckets, 3)).astype(np.int8)
    identifier = NgramIdentifier(("aa", "ba", "ce"), weights, 0.1)
    words = ["", "a", "x1y", "Straße", "5", "\ud800b", "long" * 500, "中文"]
    together = identifier.evidence(words)
    assert together.dtype == np.int32
    assert together.tolist() == [identifier.evidence([word])[0].tolist() for word in words]
    assert together[6, -1] == 2000 + 2001 + 2000 + 1999
    if buckets == 1:
        assert together[:, :3].tolist() == (together[:, 3:] * weights[0]).tolist()
    assert identifier.evidence([]).shape == (0, 4)


def test_keys_are_found() -> None:
    chance = np.random.default_rng(3)
    keys = np.unique(chance.integers(0, 1 << 63, 1000).astype(np.uint64) * np.uint64(2))
    ids = np.arange(1, len(keys) + 1, dtype=np.int32)
    table = KeyTable(keys, ids)
    asked = np.concatenate([keys[::-1], keys + np.uint64(1), keys[:3]])
    expected = [*ids[::-1].tolist(), *[0] * len(keys), 1, 2, 3]
    assert table.find(asked).tolist() == expected
    assert table.find(asked[:0]).tolist() == []
    assert KeyTable(keys[:0], ids[:0]).find(asked).tolist() == [0] * len(asked)
    assert KeyTable(np.array([7, 7], np.uint64), ids[:2]).find(np.array([7], np.uint64)) == [1]


def test_trigrams_of_the_first_ones_alone() -> None:
    trigrams = CountedTrigrams.learn(["cat cot"], size=4)
    every, some = trigrams(["cat", "xyz"]), trigrams(["cat", "xyz"], 1)
    assert every.lengths.tolist()[1] == some.lengths.tolist()[1] == 1
    assert set(some.flat.tolist()) <= set(every.flat.tolist()) | {1}


@given(st.lists(TEXTS), st.booleans(), st.booleans())
@example(["a\nb", "C,\nd"], True, True)
@example(["ΑΣ", "ΑΣ,", "\u0301a", "\u2581", "e\u0301", "\u00ad", "İ", "\x1c"], True, True)
def test_texts_normalised_together(texts: list[str], lowercase: bool, apart: bool) -> None:
    normalise = Normalisation(lowercase=lowercase, apart=apart)
    assert normalise.each(texts, "en") == [normalise(text, "en") for text in texts]


def test_a_reader_goes_on_after_an_error() -> None:
    bad = [True]

    def cut(word: str) -> list[str]:
        if word == "bad" and bad.pop():
            raise KeyboardInterrupt
        return [word]

    reader, other = WordReader(cut), WordReader()
    for each in (reader, other):
        each.read(["a (b) c"])
    with pytest.raises(KeyboardInterrupt):
        reader.read(["a d", "bad e"])
    bad[:] = [False]
    for sentences in (["b bad e", "d"], ["", "a f"]):
        rows, spaced = reader.read(sentences)
        expected, marks = other.read(sentences)
        assert [[reader.words[place] for place in row] for row in rows] == [
            [other.words[place] for place in row] for row in expected
        ]
        assert spaced.tolist() == marks.tolist()
    assert reader.words == other.words


def test_a_table_of_keys_that_threads_first_use_at_once() -> None:
    keys = np.arange(50_000, dtype=np.uint64) * 7 + 1
    ids = np.arange(1, len(keys) + 1, dtype=np.int32)
    found: list[np.ndarray] = []
    for _ in range(4):
        table, start = KeyTable(keys, ids), threading.Barrier(4)

        def find(table: KeyTable = table, start: threading.Barrier = start) -> None:
            start.wait()
            found.append(table.find(keys))

        threads = [threading.Thread(target=find) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 16 and all(np.array_equal(some, ids) for some in found)


def test_a_cache_of_tokens_after_a_failure() -> None:
    failures = [0]

    def number(tokens: list[str]) -> dict[str, Ragged]:
        if failures[0]:
            failures[0] -= 1
            raise MemoryError
        return {"lengths": Ragged.of_lists([[len(token)] for token in tokens])}

    cache = TokenCache(number)

    def lengths(sentence: str) -> list[int]:
        rows, ids = cache.read([sentence])
        return ids["lengths"].take(rows.flat).flat.tolist()

    assert lengths("a ba ccc") == [1, 2, 3]
    failures[0] = 2
    for _ in range(2):
        if failures[0]:
            with pytest.raises(MemoryError):
                cache.read(["dddd"])
    assert lengths("dddd a eeeee") == [4, 1, 5]
