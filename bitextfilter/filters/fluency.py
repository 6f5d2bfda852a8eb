"""Fluency by n-gram language models, and rules on the cross-entropy of each side."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats
from bitextfilter.errors import DeviceError, ModelError, SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.rule import Bounded, Cost, Languages
from bitextfilter.io.files import open_input
from bitextfilter.text.ngram_model import arpa_units, read_arpa
from bitextfilter.text.units import TokenUnits

_BITS = math.log2(10)
"""Bits in one unit of log10."""

_MAGIC = b"mmap lm "
"""What a binary file of KenLM starts with."""


class LanguageModel:
    """A model of sentences: of which tokens, and how probable they are."""

    def __init__(self, units: TokenUnits, score: Callable[[Sequence[list[str]]], Floats]) -> None:
        """Take what *tokens* are, and what gives the log10 probability of n sentences, ``(n,)``."""
        self._units = units
        self._score = score

    def scores(self, sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """Return log10 probabilities, and the number of tokens and the end mark, each ``(n,)``."""
        tokens = [self._units(sentence) for sentence in sentences]
        counts = np.fromiter(map(len, tokens), dtype=np.float64, count=len(tokens)) + 1
        return self._score(tokens), counts


@functools.lru_cache(maxsize=8)
def load_language_model(
    path: str, units: str | None = None, lowercase: bool | None = None
) -> LanguageModel:
    """Load a language model from an ARPA file, or from a binary file of KenLM.

    KenLM scores where it is installed, else our own reader does, which knows no binary files; the
    two agree to some six digits. Where *units* or *lowercase* is None, it is as the head of the
    file says, or else words as they are. Raises NotFoundError, ModelError for a damaged file, and
    DeviceError for a binary file without KenLM.
    """
    with open_input(path) as stream:
        binary = stream.read(len(_MAGIC)) == _MAGIC
    said = None if binary else arpa_units(path)
    said = said or TokenUnits("words", lowercase=False)
    made_of = TokenUnits(units or said.unit, said.lowercase if lowercase is None else lowercase)
    return LanguageModel(made_of, _kenlm_scorer(path, binary) or read_arpa(path).scores)


def _kenlm_scorer(path: str, binary: bool) -> Callable[[Sequence[list[str]]], Floats] | None:
    """Return KenLM's scores of a file; None where KenLM cannot give them but we can."""
    try:
        import kenlm
    except ImportError as error:
        if not binary:
            return None
        remedy = "pip install 'bitextfilter[kenlm]', or give the ARPA file"
        raise DeviceError(f"{path}: binary models need KenLM: {remedy}") from error
    quiet = kenlm.Config()
    quiet.show_progress = False
    quiet.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        model = kenlm.Model(path, quiet)
    except (OSError, RuntimeError) as error:
        if not binary:
            return None
        raise ModelError(f"{path}: KenLM cannot read it: {str(error).splitlines()[0]}") from error

    def scores(sentences: Sequence[list[str]]) -> Floats:
        return np.array([model.score(" ".join(tokens)) for tokens in sentences], dtype=np.float64)

    return scores


@dataclass(frozen=True)
class _Fluency(Bounded):
    """A value of each side that has a model; a side without one passes."""

    source: str | None = None
    target: str | None = None
    units: str | None = None
    lowercase: bool | None = None

    cost = Cost.MODEL

    def __post_init__(self) -> None:
        """Raise SettingsError where models or bounds are missing, or the unit is unknown."""
        super().__post_init__()
        if self.source is None and self.target is None:
            raise SettingsError(f"{self.name}: needs a language model: source=FILE or target=FILE")
        if self.minimum is None and self.maximum is None:
            raise SettingsError(f"{self.name}: needs a bound, such as maximum=NUMBER")
        if self.units is not None:
            TokenUnits(self.units)

    def prepare(self, languages: Languages) -> None:
        """Load the models; raises what ``load_language_model`` does."""
        super().prepare(languages)
        for path in self.files():
            if path is not None:
                load_language_model(path, self.units, self.lowercase)

    def values(self, pairs: Pairs) -> NDArray[Any]:
        """Return the value of each side, ``(n, 2)``; without a model, one that passes."""
        passing = next((bound for bound in self.bounds if math.isfinite(bound)), 0.0)
        values = np.full((len(pairs), 2), passing, dtype=np.float64)
        for place, side in enumerate(pairs.sides):
            if (self.source, self.target)[place] is not None:
                values[:, place] = self.side(place, side.sentences)
        return values

    @abstractmethod
    def side(self, place: int, sentences: Sequence[str]) -> Floats:
        """Return the value of each sentence of the source (0) or the target (1), ``(n,)``."""

    def files(self) -> tuple[str | None, ...]:
        """Return the files of all models: first those of source and target."""
        return self.source, self.target

    def needs_both(self) -> None:
        """Raise SettingsError where a side has no model."""
        if self.source is None or self.target is None:
            raise SettingsError(f"{self.name}: needs two models: source=FILE,target=FILE")

    def scores(self, number: int, sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """Return log10 probabilities by one of the files, and numbers of tokens, each ``(n,)``."""
        path = self.files()[number]
        assert path is not None
        return load_language_model(path, self.units, self.lowercase).scores(sentences)

    def entropies(self, number: int, sentences: Sequence[str]) -> Floats:
        """Return bits a token by one of the files, ``(n,)``."""
        logprobs, tokens = self.scores(number, sentences)
        return -_BITS * logprobs / tokens


@dataclass(frozen=True)
class Perplexity(_Fluency):
    """A language model is not too perplexed by a side: it reads like the text it was made from.

    ``source`` and ``target`` are its files (ARPA, or binary of KenLM), one or both. Those by
    bitext-train-language-model say what their tokens are; others are taken to be of words as they
    are; ``units`` (tokens, words or characters) and ``lowercase`` say otherwise. Unknown words
    count; a blank side has the perplexity of the mark of the end alone.
    """

    name = "perplexity"
    unit = "perplexity a token, the mark of the end included, 1 and up"
    origin = "Wieting et al. 2017, sections 5.5–5.7 (3-grams, upper bounds 25 to 200); KenLM"

    def side(self, place: int, sentences: Sequence[str]) -> Floats:
        """Return the perplexities."""
        return np.exp2(self.entropies(place, sentences))


@dataclass(frozen=True)
class CrossEntropy(_Fluency):
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

    def side(self, place: int, sentences: Sequence[str]) -> Floats:
        """Return the cross-entropies."""
        logprobs, counts = self.scores(place, sentences)
        if self.per == "word":
            counts = np.array([len(sentence.split()) + 1.0 for sentence in sentences])
        return -_BITS * logprobs / counts


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
class CrossEntropyDifference(_Fluency):
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

    def side(self, place: int, sentences: Sequence[str]) -> Floats:
        """Return the differences."""
        return self.entropies(place, sentences) - self.entropies(place + 2, sentences)


@dataclass(frozen=True)
class LanguageModelClassifier(_Fluency):
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

    def side(self, place: int, sentences: Sequence[str]) -> Floats:
        """Return the probabilities."""
        own, tokens = self.scores(place, sentences)
        other, _ = self.scores(1 - place, sentences)
        against = np.minimum(other - own, 300.0)  # 10 to the power of more is no number
        return np.where(tokens > 1, 1 / (1 + 10**against), 1.0)
