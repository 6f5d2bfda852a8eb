"""Repetitions against their definition: one regular expression over each whole sentence."""

from __future__ import annotations

import random

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.repetition import RepeatedWords, Repetition


def naive(sentence: str, rule: Repetition) -> bool:
    piece = rf"(\S.{{{rule.shortest - 1},{rule.longest - 1}}}?)"
    return regex.search(rf"{piece}(?: *\1){{{rule.repeats},}}", sentence) is not None


def decided(rule: Repetition | RepeatedWords, sentences: list[str]) -> list[bool]:
    """Whether each sentence repeats something, as the second side of a pair."""
    return (~rule.check(Pairs([""] * len(sentences), sentences)).keep).tolist()


RULES = [Repetition(), Repetition(1, 1, 9), Repetition(3, 2, 30), Repetition(1, 5, 101)]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_repetition_is_the_regular_expression(rule: Repetition) -> None:
    draw = random.Random(3)
    sentences = []
    for _ in range(1500):
        piece = "".join(draw.choices("ab c", k=draw.choice([1, 2, 3, 5, 12, 40, 101, 102])))
        joint = draw.choice(["", " ", "  ", "\u00a0"])
        copies = [piece] * draw.randint(1, 5)
        if draw.random() < 0.3:
            copies[-1] = copies[-1][:-1]
        sentences.append(draw.choice(["", "x", "a "]) + joint.join(copies) + draw.choice(["", "b"]))
    expected = [naive(sentence, rule) for sentence in sentences]
    assert 100 < sum(expected) < 1400
    assert decided(rule, sentences) == expected


@given(st.lists(st.text("ab .", max_size=30), max_size=5))
def test_repetition_of_any_text(sentences: list[str]) -> None:
    for rule in RULES:
        assert decided(rule, sentences) == [naive(sentence, rule) for sentence in sentences]


@given(st.lists(st.lists(st.sampled_from(["a", "A", "b", "ab", "a,"]), max_size=12), max_size=4))
def test_repeated_words_are_equal_halves(sentences: list[list[str]]) -> None:
    def doubled(words: list[str]) -> bool:
        low = [word.lower() for word in words]
        return any(
            low[start : start + size] == low[start + size : start + 2 * size]
            for size in range(2, len(low) // 2 + 1)
            for start in range(len(low) - 2 * size + 1)
        )

    texts = [" ".join(words) for words in sentences]
    assert decided(RepeatedWords(), texts) == [doubled(words) for words in sentences]


def test_settings_that_nothing_can_have() -> None:
    for make in (
        lambda: Repetition(repeats=0),
        lambda: Repetition(shortest=0),
        lambda: Repetition(shortest=5, longest=4),
        lambda: RepeatedWords(shortest=0),
        lambda: RepeatedWords(shortest=31),
    ):
        with pytest.raises(SettingsError):
            make()
