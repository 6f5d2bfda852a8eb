"""Words as numbers."""

from __future__ import annotations

from bitextfilter.text.vocabulary import NumberedWords, plain_words


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
