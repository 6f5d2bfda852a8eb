"""Reading sentences through their distinct words, against reading each by itself."""

from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import (
    PIECES,
    TRIGRAMS,
    numbered,
    split_words,
)
from bitextfilter.text.segment import SEGMENTERS, UNKNOWN, SegmenterSettings
from bitextfilter.text.trigrams import TrigramSettings

TEXT = ["Das Haus, das große.", "ein Baum", "Bäume und Häuser!", "1 + 1 = 2"] * 20
AWKWARD = ["", " ", "\0", "a\0b", "\u200b", "e \u0301", "Haus\u00a0Baum", "ΣΑΣ", "\u2581", "日本"]
sentences = st.lists(
    st.lists(st.sampled_from([*" ".join(TEXT[:4]).split(), *AWKWARD]) | st.text(max_size=4)).map(
        " ".join
    ),
    max_size=6,
)


@given(st.lists(st.text()))
@example(["", "a", "", "a b  a", "\0", "x\0y \0 z"])
def test_numbered_and_put_together_again(some: list[str]) -> None:
    rows, words = numbered(some)
    assert words[0] == "" and len(set(words)) == len(words)
    read = [[words[place] for place in row] for row in rows]
    assert read == [sentence.replace("\0", " ").split() for sentence in some]


@given(st.lists(st.text().map(lambda text: Normalisation()(text, "en"))))
def test_split(some: list[str]) -> None:
    words, counts = split_words(some)
    stream = iter(words)
    assert [[next(stream) for _ in range(n)] for n in counts] == [s.split() for s in some]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("apart", [True, False])
@given(text=st.text() | sentences.map(" ".join))
def test_words_are_normalised_by_themselves(text: str, lowercase: bool, apart: bool) -> None:
    normalisation = Normalisation(lowercase=lowercase, apart=apart)
    assert normalisation.by_words
    words = [word for raw in text.split() for word in normalisation(raw, "en").split()]
    assert words == normalisation(text, "en").split()


def test_sacremoses_looks_at_whole_sentences() -> None:
    assert not Normalisation(tokenise=True).by_words
    assert not Normalisation(punctuation=True).by_words


@cache
def learnt(kind: str, tokenise: bool) -> TextProcessor:
    normalisation = Normalisation(apart=not tokenise, tokenise=tokenise)
    settings = SegmenterSettings(kind, vocabulary_size=50, merges=9)
    made = TextProcessor.learn(TEXT, TEXT, ("de", "de"), normalisation, settings)
    made.learn_trigrams(TEXT, TEXT, TrigramSettings())
    return made


@pytest.mark.parametrize("tokenise", [False, True])
@pytest.mark.parametrize("kind", SEGMENTERS)
@given(some=sentences)
@example(some=["", "Das Haus\0Baum", "\0", "\0 \u200b", "Haus"])
def test_read_is_as_sentence_by_sentence(kind: str, tokenise: bool, some: list[str]) -> None:
    made = learnt(kind, tokenise)
    assert made.trigrams is not None
    read = made.read(some, "de", (PIECES, TRIGRAMS))
    for place, sentence in enumerate(made.normalise(some, "de")):
        pieces = made.vocabulary.ids(made.segmenter.segment(sentence)).tolist() or [UNKNOWN]
        trigrams = [i for word in sentence.split() for i in made.trigrams([word]).flat.tolist()]
        expected = {PIECES: pieces, TRIGRAMS: trigrams or [UNKNOWN]}
        for view, ids in expected.items():
            for form in (read[view], read[view].one_by_one()):
                assert list(form.ids())[place].tolist() == ids
    assert set(read[PIECES].one_by_one().tokens.lengths.tolist()) <= {1}
