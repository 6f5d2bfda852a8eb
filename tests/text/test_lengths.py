"""Lengths of texts against counting by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.units import count_characters, count_subwords, count_words

TEXTS = ["", " \u3000\n", "one", " two  words\u2028", "你好，世界。", "a\u0301 b"]


def test_words_and_characters() -> None:
    assert count_words(TEXTS) == [0, 0, 1, 2, 1, 2]
    assert count_characters(TEXTS) == [0, 0, 3, 8, 6, 3]
    assert count_words([]) == count_characters([]) == []


@given(st.lists(st.text(), max_size=5))
def test_against_one_character_at_a_time(texts: list[str]) -> None:
    assert count_characters(texts) == [sum(not c.isspace() for c in text) for text in texts]
    starts = [
        sum(not c.isspace() and (i == 0 or text[i - 1].isspace()) for i, c in enumerate(text))
        for text in texts
    ]
    assert count_words(texts) == starts


def test_subwords_are_the_pieces_of_a_language() -> None:
    sides = ["lower lowest low"] * 9, ["nieder niederste"] * 9
    settings = SegmenterSettings("bpe", vocabulary_size=12)
    processor = TextProcessor.learn(*sides, ("en", "de"), Normalisation(), settings)
    count = count_subwords(processor, "en")
    texts = ["", "lower slow", "low\n"]
    assert count(texts) == [len(pieces) for pieces in processor.segmenter.segment_all(texts)]
    assert count(texts)[0] == 0 and count(texts)[1] > 2
