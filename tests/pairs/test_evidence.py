"""The evidence of pairs, beside a naive reading of each pair alone."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.io.compiled import NO_COMPILED
from bitextfilter.pairs import evidence
from bitextfilter.pairs.evidence import EVIDENCE, PairEvidence
from bitextfilter.text.features import WordReader
from bitextfilter.text.identifier import load_ngram_identifier

LANGUAGES = ("en", "de")
TEXTS = [
    "Photo 3 of 22",
    "Foto 3 von 22, Pages 4 and 22!",
    "The closing days are from 10 h a las 13 horas de la tarde.",
    "Die Öffnungszeiten sind von 10 bis 13 Uhr.",
    "東京は2016年に12月です。",
    "도쿄 2016",
    "",
    "... !!! 1,500",
    "hindi: हिन्दी में",
]


def words_of(text: str) -> list[str]:
    """Return the words as the reader cuts them, without its numbers."""
    reader = WordReader()
    rows, _ = reader.read([text])
    return [reader.words[place] for place in rows.flat]


def length(word: str) -> int:
    def letter(character: str) -> int:
        if re.match("[\u3400-\u9fff]", character):
            return 3
        return 2 if re.match("[\u3040-\u30ff\uac00-\ud7a3]", character) else 1

    return sum(map(letter, word))


def run_of(text: str, own: str, others: Sequence[str]) -> float:
    """Return the largest sum over neighbouring words, in nats by the root of the n-grams."""
    identifier = load_ngram_identifier()
    rows = identifier.evidence(words_of(text)).astype(float)
    best = 0.0
    for other in others:
        gains = rows[:, identifier.place(other)] - rows[:, identifier.place(own)]
        for first in range(len(gains)):
            for last in range(first, len(gains)):
                best = max(best, gains[first : last + 1].sum())
    return best * identifier.scale / math.sqrt(max(1, rows[:, -1].sum()))


def naive(source: str, target: str) -> list[float]:
    known = load_ngram_identifier().languages
    sides = ((source, *LANGUAGES), (target, *LANGUAGES[::-1]))
    values = [run_of(text, own, known) for text, own, _ in sides]
    values += [run_of(text, own, [other]) for text, own, other in sides]
    both = [words_of(source), words_of(target)]
    letters = [sum(map(length, words)) for words in both]
    marks = [sum(len(w) for w in words if not any(map(str.isalnum, w))) for words in both]
    values += [mark / max(1, size) for mark, size in zip(marks, letters, strict=True)]
    values.append(abs(math.log(letters[0] + 5) - math.log(letters[1] + 5)))
    sets = [{w.lower() for w in words if any(map(str.isalpha, w))} for words in both]
    values.append(len(sets[0] & sets[1]) / max(1, min(map(len, sets))))
    numbers = [{re.sub(r"\D", "", w) for w in words} - {""} for words in both]
    values.append(len(numbers[0] ^ numbers[1]) / max(1, len(numbers[0] | numbers[1])))
    return values


def read(pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    every = np.arange(len(pairs))
    return PairEvidence(LANGUAGES)([p[0] for p in pairs], [p[1] for p in pairs], every, every)


@pytest.mark.parametrize("compiled", [True, False])
def test_it_is_what_a_naive_reader_finds(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    if not compiled:
        monkeypatch.setenv(NO_COMPILED, "1")
    assert (NO_COMPILED in os.environ) != compiled
    pairs = [(source, target) for source in TEXTS for target in TEXTS]
    found = read(pairs)
    assert found.shape == (len(pairs), len(EVIDENCE))
    expected = np.array([naive(*pair) for pair in pairs])
    assert found == pytest.approx(expected, abs=1e-12)
    assert (expected.max(axis=0) > 0).all(), "each number is tried"


@given(st.lists(st.tuples(st.sampled_from(TEXTS), st.text(max_size=30)), min_size=1, max_size=8))
def test_a_pair_depends_on_itself_alone(pairs: list[tuple[str, str]]) -> None:
    together = read(pairs)
    for place, pair in enumerate(pairs):
        assert read([pair])[0].tolist() == together[place].tolist()


def test_forgotten_words_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_WORDS", 3)
    monkeypatch.setattr(evidence, "_PAIRS", 2)
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    every, reader = np.arange(len(pairs)), PairEvidence(LANGUAGES)
    for _ in range(2):
        found = reader(TEXTS, TEXTS[::-1], every, every)
        assert found == pytest.approx(np.array([naive(*pair) for pair in pairs]), abs=1e-12)


def test_exchanged_sides_exchange_the_columns() -> None:
    every = np.arange(len(TEXTS))
    there = PairEvidence(("en", "de"))(TEXTS, TEXTS[::-1], every, every)
    back = PairEvidence(("de", "en"))(TEXTS[::-1], TEXTS, every, every)
    order = [1, 0, 3, 2, 5, 4, 6, 7, 8]
    assert there[:, order].tolist() == back.tolist()


def test_a_language_that_the_identifier_does_not_know_has_no_foreign_words() -> None:
    one = np.array([0])
    found = PairEvidence(("en", "qaa"))(["die Sitzung"], ["the meeting"], one, one)
    assert found[0, [1, 3]].tolist() == [0, 0] and found[0, 0] > 0
