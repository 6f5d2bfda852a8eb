"""Hold two columns of text against the languages of a model, by the model's own evidence.

No language identifier is needed: the vocabulary knows how often each language used each piece.
"""

from __future__ import annotations

import functools
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.vocabulary import RESERVED, Vocabulary

__all__ = ["check_columns"]

_FEWEST_WORDS = 4
_FEWEST_LETTERS = 20
"""A row says something of its language if it has so many words without a capital, or so many
letters of a script without capitals; names, numbers and codes do not."""
_MOST_ROWS = 500
_FEWEST_ROWS = 10
"""Fewer rows that say something are too few for a verdict."""
_FEWEST_PIECES = 1000
"""A vocabulary that saw fewer pieces of a language is too thin for a verdict."""
_AGREEMENT = 0.8
"""The part of a column's rows that must lean the same way."""
_FOREIGN = 1.8
"""Nats a character of a foreign column, as a multiple of a known language's entropy. Measured
with English and German: their own text, news to web pages, is at most 1.15; French 2.2 and up."""
_SMOOTHING = 0.5
_RARE = 0.01


@dataclass(frozen=True)
class _Evidence:
    """What a vocabulary knows of two languages: ``(ids, 2)`` log probabilities, and entropies."""

    log_probabilities: npt.NDArray[np.float64]
    entropies: npt.NDArray[np.float64]
    """Nats a character of each language, ``(2,)``."""

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> _Evidence:
        """Estimate unigram probabilities from the counts, with additive smoothing."""
        reserved = np.zeros((len(RESERVED), 2))
        counts = np.concatenate([reserved, vocabulary.counts]) + _SMOOTHING
        probabilities = counts / counts.sum(axis=0)
        logarithms = np.log(probabilities)
        lengths = np.array([0] * len(RESERVED) + [len(piece) for piece in vocabulary.pieces])
        return cls(logarithms, -(probabilities * logarithms).sum(0) / (lengths @ probabilities))


def check_columns(
    sources: Sequence[str], targets: Sequence[str], processor: TextProcessor
) -> str | None:
    """Return a one-line warning if two columns do not look like the model's languages.

    Looks at the first few hundred rows. None if all is well, and where there is too little to
    tell: few rows, or rows of names and numbers.
    """
    if processor.vocabulary.counts.sum(axis=0).min() < _FEWEST_PIECES:
        return None
    evidence = _Evidence.of(processor.vocabulary)
    source, target = processor.languages
    first = _verdict(sources, 0, processor, evidence)
    second = _verdict(targets, 1, processor, evidence)
    if source != target and (first, second) == (target, source):
        return (
            f"the columns look swapped: the source column looks like {first},"
            f" the target column like {second}"
        )
    wrong = [
        f"the {name} column looks like {verdict}, not {language}"
        for name, verdict, language in (("source", first, source), ("target", second, target))
        if verdict not in (None, language)
    ]
    return "; ".join(wrong) or None


def _verdict(
    column: Sequence[str], side: int, processor: TextProcessor, evidence: _Evidence
) -> str | None:
    """Return what *column* looks like: a language of the model, or other words; None if unsure."""
    rows = list(islice(filter(_says_something, column), _MOST_ROWS))
    if len(rows) < _FEWEST_ROWS:
        return None
    if (strange := _strange_script(rows, processor.vocabulary)) is not None:
        return f"{strange} script"
    ids = processor.ids(rows, processor.languages[side])
    scores = np.array([evidence.log_probabilities[row].sum(axis=0) for row in ids])
    characters = sum(map(len, processor.normalise(rows, processor.languages[side])))
    if (-scores.sum(axis=0) / characters > _FOREIGN * evidence.entropies).all():
        return "another language"
    leaning = float(np.mean(scores[:, 0] > scores[:, 1]))
    if max(leaning, 1 - leaning) < _AGREEMENT:
        return None
    return processor.languages[0 if leaning > 0.5 else 1]


def _says_something(sentence: str) -> bool:
    words = (word.strip(string.punctuation) for word in sentence.split())
    plain = sum(word.isalpha() and not word[0].isupper() for word in words)
    caseless = sum(c.isalpha() and not (c.islower() or c.isupper()) for c in sentence)
    return plain >= _FEWEST_WORDS or caseless >= _FEWEST_LETTERS


def _strange_script(rows: Iterable[str], vocabulary: Vocabulary) -> str | None:
    """Return the main script of *rows* that neither language uses, if half of the text is so."""
    counts = _scripts((row, 1) for row in rows)
    totals = vocabulary.counts.sum(axis=1).tolist()
    known = _scripts(zip(vocabulary.pieces, totals, strict=True))
    strange = Counter({s: n for s, n in counts.items() if known[s] < _RARE * known.total()})
    return strange.most_common(1)[0][0] if 2 * strange.total() > counts.total() else None


def _scripts(weighted: Iterable[tuple[str, int]]) -> Counter[str]:
    """Count the letters of weighted texts by script."""
    counts: Counter[str] = Counter()
    for text, weight in weighted:
        for character in filter(str.isalpha, text):
            counts[_script(character)] += weight
    return counts


@functools.lru_cache(1 << 14)
def _script(letter: str) -> str:
    """Return the first word of the letter's Unicode name, which nearly always is its script."""
    return unicodedata.name(letter, "unknown").partition(" ")[0].title()
