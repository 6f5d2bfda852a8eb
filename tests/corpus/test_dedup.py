"""Duplicates against plain dictionaries and loops over all pairs of rows."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextfilter.corpus.comparison import BY, IGNORABLE, KEEP
from bitextfilter.corpus.dedup import Deduplicator, DedupSettings, duplicates

Rows = Sequence[tuple[str, ...]]

WORDS = [
    "a",
    "A",
    "b",
    "B!",
    "1",
    "2",
    "ä",
    "Ä",
    "a\tb",
    "a b",
    "a  b",
    "",
    "ß",
    "SS",
    "漢",
    "漢。",
]
SIDE = st.lists(st.sampled_from(WORDS), max_size=2).map("".join)
ROWS = st.lists(st.tuples(SIDE, SIDE), max_size=40)
SCORES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e-9, -1e300, float("inf"), float("-inf")])


def plain(text: str, ignored: Sequence[str] = IGNORABLE) -> str:
    """The normalisation, character by character."""

    def left(names: Sequence[str]) -> str:
        kept = ""
        for character in whole:
            category = unicodedata.category(character)
            if category == "Cf" and "space" in names:
                continue
            blank = (
                ("punctuation" in names and category[0] in "PS")
                or ("digits" in names and category in ("Nd", "No"))
                or ("space" in names and (category[0] == "Z" or category == "Cc"))
            )
            kept += " " if blank else character
        return kept

    whole = unicodedata.normalize("NFKC", text)
    if "case" in ignored:
        whole = unicodedata.normalize("NFKC", whole.casefold())
    kept = left(ignored)
    if not kept.strip():
        kept = left([name for name in ignored if name == "space"])
    return " ".join(kept.split()) if "space" in ignored else kept


def naive(
    rows: Rows, chosen: DedupSettings, scores: Sequence[float] | None = None
) -> dict[int, int]:
    """Row by row in order of preference, each held against all that stay."""
    order = sorted(range(len(rows)), key=lambda i: (-scores[i] if scores else 0, i))
    if chosen.match != "exact":
        rows = [tuple(plain(text, chosen.ignore) for text in row) for row in rows]

    def same(one: str, other: str) -> bool:
        if chosen.match != "near":
            return one == other
        grams = [
            {text[i : i + chosen.shingle] for i in range(len(text) - chosen.shingle + 1)} or {text}
            for text in (one, other)
        ]
        return len(grams[0] & grams[1]) / len(grams[0] | grams[1]) >= chosen.similarity

    stay: list[int] = []
    gone = {}
    for row in order:
        for other in stay:
            sides = [same(*texts) for texts in zip(rows[row], rows[other], strict=True)]
            if any(sides) if chosen.by == "either" else all(sides):
                gone[row] = other
                break
        else:
            stay.append(row)
    return gone


def of(rows: Rows, by: str) -> Rows:
    """The texts that are compared."""
    return [{"source": row[:1], "target": row[1:]}.get(by, row) for row in rows]


def streamed(rows: Rows, chosen: DedupSettings, window: int, wait: bool) -> dict[int, int]:
    """The same window by window, at once as long as there is room, and the rest at the end."""
    gone = {}
    with Deduplicator(chosen, wait) as deduplicator:
        for start in range(0, len(rows), window):
            part = rows[start : start + window]
            lines = [2 * line + 7 for line in range(start, start + len(part))]
            decided = deduplicator.add(lines, part)
            assert (decided is None) == deduplicator.waiting
            gone.update((k, v) for k, v in zip(lines, decided or (), strict=False) if v)
        for lines_, keepers in deduplicator.finish().parts():
            assert (np.diff(lines_) > 0).all()
            gone.update(zip(lines_.tolist(), keepers.tolist(), strict=True))
    return {(line - 7) // 2: (keeper - 7) // 2 for line, keeper in gone.items()}


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("match", ["exact", "normalised"])
@given(data=st.data())
def test_first_rows_stay(data: st.DataObject, match: str, by: str) -> None:
    rows = of(data.draw(ROWS), by)
    memory = data.draw(st.sampled_from([1, 1000, 3000, 1 << 20]))
    chosen = DedupSettings(match, by, memory=memory)
    expected = naive(rows, chosen)
    assert duplicates(rows, chosen) == expected
    window, wait = data.draw(st.integers(1, 50)), data.draw(st.booleans())
    assert streamed(rows, chosen, window, wait) == expected


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("match", ["exact", "normalised"])
@given(data=st.data())
def test_best_rows_stay(data: st.DataObject, match: str, by: str) -> None:
    rows = of(data.draw(ROWS), by)
    scores = data.draw(st.lists(SCORES, min_size=len(rows), max_size=len(rows)))
    chosen = DedupSettings(match, by, "best", memory=data.draw(st.sampled_from([1, 1 << 20])))
    assert duplicates(rows, chosen, scores) == naive(rows, chosen, scores)


SENTENCE = st.lists(
    st.sampled_from(["the", "old", "dog", "sleeps", "in", "his", "big", "house"]), max_size=9
)
SENTENCES = st.lists(st.tuples(SENTENCE.map(" ".join), SENTENCE.map(" ".join)), max_size=25)


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("keep", KEEP)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_near_duplicates(data: st.DataObject, keep: str, by: str) -> None:
    """With one MinHash value a band, whatever shares an n-gram is a candidate, nearly always."""
    rows = of(data.draw(SENTENCES), by)
    scores = data.draw(st.lists(SCORES, min_size=len(rows), max_size=len(rows)))
    similarity = data.draw(st.sampled_from([0.05, 0.1]))
    memory = data.draw(st.sampled_from([1, 1 << 20]))
    chosen = DedupSettings("near", by, keep, similarity=similarity, shingle=3, memory=memory)
    if keep == "best":
        assert duplicates(rows, chosen, scores) == naive(rows, chosen, scores)
    else:
        assert duplicates(rows, chosen, scores) == naive(rows, chosen)
