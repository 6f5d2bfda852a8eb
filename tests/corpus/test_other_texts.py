"""Rows found in other files, against loops over all rows and n-grams."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextfilter.corpus import other_texts
from bitextfilter.corpus.duplicate_keys import DedupSettings, normaliser
from bitextfilter.corpus.other_texts import Ngrams, OtherTexts
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.rows import Columns, RowReader, TextColumn

WORDS = st.sampled_from(["a", "b", "c", "A", "b!", "ä", "漢字", "7"])
SIDE = st.lists(WORDS, min_size=1, max_size=7).map(" ".join)
ROWS = st.lists(st.tuples(SIDE, SIDE), max_size=12)
Rows = Sequence[tuple[str, str]]
PLACES = {"pair": (0, 1), "either": (0, 1), "source": (0,), "target": (1,)}


def ngrams(text: str, n: int) -> list[tuple[str, ...]]:
    """The n-grams of a text, one by one; each Chinese character is a word."""
    for character in "漢字":
        text = text.replace(character, f" {character} ")
    words = text.split()
    return [tuple(words[i : i + n]) for i in range(max(1, len(words) - n + 1))] if words else []


def naive(row: tuple[str, str], others: Rows, by: str, n: int, least: float | None) -> str:
    """The first row of the others with the same texts, or else with a shared n-gram."""
    for number, other in enumerate(others, 1):
        same = [row[place] == other[place] for place in PLACES[by]]
        if any(same) if by == "either" else all(same):
            return f"occurs in f:{number}"
    if least is None:
        return ""
    enough, first = [], []
    for place in PLACES[by]:
        mine = ngrams(row[place], n)
        theirs = [set(ngrams(other[place], n)) for other in others]
        enough.append(sum(any(m in t for t in theirs) for m in mine) / len(mine) >= least)
        numbers = [k for k, t in enumerate(theirs, 1) if enough[-1] and t.intersection(mine)]
        first += numbers[:1]
    if any(enough) if by == "either" else all(enough):
        return f"shares n-grams with f:{min(first)}"
    return ""


def tsv(rows: Rows) -> io.BytesIO:
    return io.BytesIO("".join(f"{a}\t{b}\n" for a, b in rows).encode())


@pytest.mark.parametrize("by", PLACES)
@pytest.mark.parametrize("match", ["exact", "normalised"])
@given(
    rows=ROWS,
    others=ROWS,
    n=st.integers(1, 4),
    least=st.sampled_from([None, 0.01, 0.5, 0.6, 1.0]),
    window=st.integers(1, 5),
)
@settings(max_examples=40)
def test_rows_are_found_as_by_loops(
    by: str, match: str, rows: Rows, others: Rows, n: int, least: float | None, window: int
) -> None:
    settings_ = DedupSettings(match, by)
    known = OtherTexts(settings_, least, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(other_texts, "_WINDOW", window)
        columns = Columns() if len(PLACES[by]) == 2 else TextColumn(PLACES[by][0] + 1)
        known.read(RowReader(tsv(others), "f", columns))
    found = known.matches([[row[place] for place in PLACES[by]] for row in rows])
    said = [known.reason(number) if number else "" for number in found.tolist()]
    plain = str if match == "exact" else normaliser(settings_.ignore)
    clean = [[(plain(a), plain(b)) for a, b in some] for some in (rows, others)]
    assert said == [naive(row, clean[1], by, n, least) for row in clean[0]]


def test_several_files_and_texts_of_one_side() -> None:
    known = OtherTexts(DedupSettings("exact", "either"), 1.0, 2)
    known.read(RowReader(tsv([("a", "b"), ("c", "d")]), "pairs", Columns()))
    known.read(RowReader(io.BytesIO(b""), "empty", Columns()))
    known.read(RowReader(io.BytesIO(b"x\n\nb\nq r s\n"), "texts", TextColumn(blank=True)), side=1)
    known.read(RowReader(tsv([("x", "y")]), "more", Columns()))
    rows = [("a", "z"), ("b", "z"), ("z", "b"), ("z", "x"), ("x", "z"), ("z", "r s"), ("r s", "z")]
    found = known.matches(rows).tolist()
    assert [known.reason(number) if number else "" for number in found] == [
        "occurs in pairs:1",
        "",
        "occurs in pairs:1",
        "occurs in texts:1",
        "occurs in more:1",
        "shares n-grams with texts:4",
        "",
    ]


def test_ngrams_differ_in_words_order_and_ends() -> None:
    """All texts of three words out of four, and shorter ones: no two share an n-gram of 3."""
    texts = [" ".join(words) for n in (1, 2, 3) for words in itertools.product("abcd", repeat=n)]
    known = Ngrams(3)
    known.add(texts, np.arange(1, len(texts) + 1))
    shares, numbers = known.find(texts)
    assert shares.tolist() == [1.0] * len(texts)
    assert numbers.tolist() == list(range(1, len(texts) + 1))
    shares, _ = known.find(["a b c d", "a b c e", "e", "d d d d x y"])
    assert shares.tolist() == [1.0, 0.5, 0.0, 0.5]


def test_a_bad_row_stops_the_reading() -> None:
    known = OtherTexts(DedupSettings())
    with pytest.raises(InputError, match="f:2: 1 column"):
        known.read(RowReader(io.BytesIO(b"a\tb\nc\n"), "f", Columns()))


@pytest.mark.parametrize(
    ("match", "overlap", "ngram"),
    [("near", None, 13), ("exact", 0.0, 13), ("exact", 1.5, 13), ("exact", 0.5, 0)],
)
def test_settings_that_there_are_not(match: str, overlap: float | None, ngram: int) -> None:
    with pytest.raises(SettingsError):
        OtherTexts(DedupSettings(match), overlap, ngram)
