"""Rules on the cross-entropy of each side by language models of n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.filters.fluency import BITS, Fluency, Values
from bitextfilter.filters.pairs import Pairs

__all__ = ["CrossEntropy", "CrossEntropyDifference", "CrossEntropyGap", "LanguageModelClassifier"]


@dataclass(frozen=True)
class CrossEntropy(Fluency):
    """A language model needs few bits for a side: the logarithm of the perplexity.

    Per token of the model, or (``per=word``) per word between spaces, so that models of
    characters and of words can be held against one bound. Models as for ``perplexity``.
    """

    name = "cross-entropy"
    unit = "bits a token or word, the mark of the end included, 0 and up"
    origin = "OpusFilter CrossEntropyFilter (bits a word, below 50)"

    per: str = "token"

    def __post_init__(self) -> None:
        """Raise SettingsError for what is counted by neither tokens nor words, too."""
        super().__post_init__()
        if self.per not in ("token", "word"):
            raise SettingsError(f"{self.name}: per={self.per} is neither token nor word")

    def side(self, place: int, sentences: Sequence[str]) -> Values:
        """Return the cross-entropies."""
        logprobs, counts = self.scores(place, sentences)
        if self.per == "word":
            counts = np.array([len(sentence.split()) + 1.0 for sentence in sentences])
        return -BITS * logprobs / counts


@dataclass(frozen=True)
class CrossEntropyGap(CrossEntropy):
    """Two language models find both sides about as hard, however hard that is.

    The difference of the cross-entropies; it needs a model of each side, both of one kind.
    """

    name = "cross-entropy-gap"
    unit = "bits a word or token, 0 and up"
    origin = "OpusFilter CrossEntropyFilter (diff_threshold, 10)"

    maximum: float | None = 15
    per: str = "word"

    def __post_init__(self) -> None:
        """Raise SettingsError where a model is missing, too."""
        super().__post_init__()
        self.needs_both()

    def values(self, pairs: Pairs) -> NDArray[Any]:
        """Return the differences, ``(n,)``."""
        return np.abs(np.diff(super().values(pairs), axis=1)[:, 0])


@dataclass(frozen=True)
class CrossEntropyDifference(Fluency):
    """A side is more like the text that is wanted than like text in general.

    The cross-entropy by a model of the text that is wanted (``source``, ``target``) less that by
    a model of other text of the same language (``source-general``, ``target-general``), which
    was made in the same way and should be of the same size.
    """

    name = "cross-entropy-difference"
    unit = "bits a token, of either sign: below 0 is more like what is wanted"
    origin = "Moore & Lewis 2010; OpusFilter CrossEntropyDifferenceFilter"

    maximum: float | None = 0
    source_general: str | None = None
    target_general: str | None = None

    def __post_init__(self) -> None:
        """Raise SettingsError where a side has one model and not the other, too."""
        super().__post_init__()
        wanted, general = self.files()[:2], self.files()[2:]
        if [path is None for path in wanted] != [path is None for path in general]:
            raise SettingsError(
                f"{self.name}: a side needs two models: source=FILE,source-general=FILE"
            )

    def files(self) -> tuple[str | None, ...]:
        """Return the models of the text that is wanted, then those of other text."""
        return self.source, self.target, self.source_general, self.target_general

    def side(self, place: int, sentences: Sequence[str]) -> Values:
        """Return the differences."""
        return self.entropies(place, sentences) - self.entropies(place + 2, sentences)


@dataclass(frozen=True)
class LanguageModelClassifier(Fluency):
    """Of the models of both sides, its own finds each side more probable than the other does.

    The probability of a side's own model, when both are as likely beforehand (naive Bayes): it
    tells languages apart, or kinds of text. Models of characters do best. A blank side passes.
    """

    name = "language-model-classifier"
    unit = "0 to 1: probability of its own model, of each side"
    origin = "Vatanen et al. 2010; OpusFilter LMClassifierFilter"

    minimum: float | None = 0.5

    def __post_init__(self) -> None:
        """Raise SettingsError where a model is missing, too."""
        super().__post_init__()
        self.needs_both()

    def side(self, place: int, sentences: Sequence[str]) -> Values:
        """Return the probabilities."""
        own, tokens = self.scores(place, sentences)
        other, _ = self.scores(1 - place, sentences)
        against = np.minimum(other - own, 300.0)  # 10 to the power of more is no number
        return np.where(tokens > 1, 1 / (1 + 10**against), 1.0)
