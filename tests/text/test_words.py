"""Words of sentences, split and numbered."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.words import numbered, split_words


@given(st.lists(st.text()))
@example(["", "a", "", "a b  a", "\0", "x\0y \0 z"])
def test_numbered_and_put_together_again(sentences: list[str]) -> None:
    rows, words = numbered(sentences)
    assert words[0] == "" and len(set(words)) == len(words)
    read = [[words[place] for place in row] for row in rows]
    assert read == [sentence.replace("\0", " ").split() for sentence in sentences]


@given(st.lists(st.text().map(lambda text: Normalisation()(text, "en"))))
def test_split(sentences: list[str]) -> None:
    words, counts = split_words(sentences)
    stream = iter(words)
    assert [[next(stream) for _ in range(n)] for n in counts] == [s.split() for s in sentences]
