"""Likeness in letters, against definitions written out."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import SettingsError
from bitextfilter.filters.likeness import (
    LongestCommonSubstring,
    NgramOverlap,
    SentenceBleu,
    Similarity,
)
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import parse_rule

TEXT = st.text(alphabet="abc ", max_size=9)
TOKENS = st.lists(st.sampled_from("abc"), max_size=8)


def distance(one: str, other: str) -> int:
    """Levenshtein distance, by its recursion."""
    if not one or not other:
        return len(one) + len(other)
    rows = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, rows[0] = rows[0], i
        for j, b in enumerate(other, 1):
            last, rows[j] = rows[j], min(rows[j] + 1, rows[j - 1] + 1, last + (a != b))
    return rows[-1]


@given(one=TEXT, other=TEXT)
def test_similarity_is_by_edit_distance(one: str, other: str) -> None:
    longer = max(len(one), len(other))
    expected = 1 - distance(one, other) / longer if longer else 1.0
    (value,) = Similarity().values(Pairs([one], [other]))
    assert value == pytest.approx(expected)


@given(one=TEXT, other=TEXT, maximum=st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]))
def test_longest_common_substring(one: str, other: str, maximum: float) -> None:
    inside = [one[i:j] for i in range(len(one)) for j in range(i + 1, len(one) + 1)]
    size = max((len(part) for part in inside if part in other), default=0)
    ratio = size / max(1, min(len(one), len(other)))
    verdict = LongestCommonSubstring(maximum).check(Pairs([one], [other]))
    assert bool(verdict.keep[0]) is (ratio <= maximum)


def shared(one: list[str], other: list[str], order: int) -> tuple[int, int, int]:
    """How many n-grams are shared, taken away one by one, and how many there are."""
    first = [one[i : i + order] for i in range(len(one) - order + 1)]
    second = [other[i : i + order] for i in range(len(other) - order + 1)]
    rest, count = list(second), 0
    for gram in first:
        if gram in rest:
            rest.remove(gram)
            count += 1
    return count, len(first), len(second)


@given(one=TOKENS, other=TOKENS, order=st.integers(1, 3))
def test_overlap(one: list[str], other: list[str], order: int) -> None:
    count, first, second = shared(one, other, order)
    expected = count / min(first, second) if min(first, second) else 0
    assert NgramOverlap(order=order).value(one, other) == pytest.approx(expected)


@given(reference=TOKENS, candidate=TOKENS)
def test_bleu(reference: list[str], candidate: list[str]) -> None:
    value = SentenceBleu().value(reference, candidate)
    if not candidate:
        assert value == 0
        return
    product = 1.0
    for order in range(1, 5):
        count, _, total = shared(reference, candidate, order)
        product *= (count + 1) / (total + 1)
    r, c = len(reference) + 1, len(candidate)
    penalty = 1.0 if c >= r else math.exp(1 - r / c)
    assert value == pytest.approx(penalty * product**0.25)


def test_settings_that_make_no_sense() -> None:
    for spec in ("similarity:count=bytes", "ngram-overlap:order=0", "similarity:minimum=2"):
        with pytest.raises(SettingsError):
            parse_rule(spec)
