"""Rules of fluency: perplexity and cross-entropy by n-gram language models."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Mask
from bitextfilter.errors import DeviceError, ModelError, SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.rule import Bounded, Cost, LanguagePair
from bitextfilter.io.files import open_input
from bitextfilter.settings import setting
from bitextfilter.text.words import TokenUnits

_BITS = math.log2(10)
"""Bits in one unit of log10."""

_PER = ("token", "word")

_MAGIC = b"mmap lm "
"""First bytes of a binary file of KenLM."""


class LanguageModel(NamedTuple):
    """An n-gram model of sentences, and the unit of its tokens."""

    units: TokenUnits
    score: Callable[[Sequence[list[str]]], Floats]
    """Returns the log10 probabilities of n sentences of tokens, ``(n,)``."""

    def scores(self, sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """Return log10 probabilities and numbers of tokens, end mark included, each ``(n,)``."""
        return self.of_tokens(list(map(self.units, sentences)))

    def of_tokens(self, tokens: Sequence[list[str]]) -> tuple[Floats, Floats]:
        """Return the same of sentences of *tokens* by ``units``."""
        counts = np.fromiter(map(len, tokens), dtype=np.float64, count=len(tokens)) + 1
        return self.score(tokens), counts


@functools.lru_cache(maxsize=8)
def load_language_model(
    path: str, units: str | None = None, lowercase: bool | None = None
) -> LanguageModel:
    """Load a language model from an ARPA file, or from a binary file of KenLM.

    KenLM scores if it is installed, else our reader of ARPA files; the two agree to some six
    digits. *units* and *lowercase* default to those in the head of the file, else to words as
    they are. Raises NotFoundError, ModelError for a damaged file, and DeviceError for a binary
    file without KenLM.
    """
    from bitextfilter.text.ngram_model import arpa_units, read_arpa

    with open_input(path) as stream:
        binary = stream.read(len(_MAGIC)) == _MAGIC
    own = (None if binary else arpa_units(path)) or TokenUnits("words", lowercase=False)
    tokens = TokenUnits(units or own.unit, own.lowercase if lowercase is None else lowercase)
    return LanguageModel(tokens, _kenlm_scorer(path, binary) or read_arpa(path).scores)


def _kenlm_scorer(path: str, binary: bool) -> Callable[[Sequence[list[str]]], Floats] | None:
    """Return KenLM's scorer of a file; None if only our reader can score it."""
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
    except (OSError, RuntimeError, ValueError) as error:  # the last: a message that is not UTF-8
        if not binary:
            return None
        raise ModelError(f"{path}: KenLM cannot read it: {str(error).splitlines()[0]}") from error

    def scores(sentences: Sequence[list[str]]) -> Floats:
        return np.array([model.score(" ".join(tokens)) for tokens in sentences], dtype=np.float64)

    return scores


@dataclass(frozen=True)
class _Fluency(Bounded):
    """A rule with a value for each side that has a language model; other sides pass."""

    source: str | None = None
    target: str | None = None
    units: str | None = None
    lowercase: bool | None = None

    cost = Cost.MODEL
    sides_apart = True
    needs_both: ClassVar[bool] = False
    """True for a rule that needs a model for each side."""

    def __post_init__(self) -> None:
        """Raise SettingsError for a missing model or bound, or an unknown unit."""
        super().__post_init__()
        if self.source is None and self.target is None:
            raise SettingsError(f"{self.name}: needs a language model: source=FILE or target=FILE")
        if self.minimum is None and self.maximum is None:
            raise SettingsError(f"{self.name}: needs a bound, such as maximum=NUMBER")
        if self.units is not None:
            TokenUnits(self.units)
        if self.needs_both and None in (self.source, self.target):
            raise SettingsError(f"{self.name}: needs two models: source=FILE,target=FILE")

    def prepare(self, languages: LanguagePair) -> None:
        """Load the models: raise the errors of ``load_language_model``."""
        super().prepare(languages)
        for path in self.files():
            if path is not None:
                load_language_model(path, self.units, self.lowercase)

    def values(self, pairs: Pairs) -> NDArray[Any]:
        """Return the value of each side, ``(n, sides)``; NaN for a side without a model."""
        values = np.full((len(pairs), len(pairs.sides)), np.nan)
        for place, side in enumerate(pairs.sides):
            if (self.source, self.target)[place] is not None:
                values[:, place] = self.side(place, side.sentences)
        return values

    def inside(self, values: NDArray[Any]) -> Mask:
        """Return which values are within the bounds; a side without a model passes."""
        inside = super().inside(values)
        for place, path in enumerate((self.source, self.target)):
            if path is None and place < values.shape[-1]:
                inside[:, place] = True
        return inside

    @abstractmethod
    def side(self, place: int, sentences: Sequence[str]) -> Floats:
        """Return the value of each sentence of the source (0) or the target (1), ``(n,)``."""

    def files(self) -> tuple[str | None, ...]:
        """Return the files of all models: those of source and target first."""
        return self.source, self.target

    def scores(self, sentences: Sequence[str], *numbers: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield log10 probabilities, and numbers of tokens, each ``(n,)``, by some of the files."""
        tokens: dict[TokenUnits, list[list[str]]] = {}
        for path in (self.files()[number] for number in numbers):
            assert path is not None
            model = load_language_model(path, self.units, self.lowercase)
            if model.units not in tokens:
                tokens[model.units] = list(map(model.units, sentences))
            yield model.of_tokens(tokens[model.units])

    def entropies(self, sentences: Sequence[str], *numbers: int) -> Iterator[Floats]:
        """Yield bits a token by some of the files, each ``(n,)``."""
        for logprobs, counts in self.scores(sentences, *numbers):
            yield -_BITS * logprobs / counts


@dataclass(frozen=True)
class Perplexity(_Fluency):
    """The perplexity of each side, by its language model, is low enough.

    ``source`` and ``target`` are the model files (ARPA, or binary of KenLM), one or both. Files by
    bitext-train-language-model state the unit of their tokens; of others it is words as they are.
    ``units`` (tokens, words or characters) and ``lowercase`` override it. Unknown words count; a
    blank side has the perplexity of the end mark alone.
    """

    name = "perplexity"
    unit = "perplexity a token, end mark included, 1 and up"
    origin = "Wieting et al. 2017, sections 5.5–5.7 (3-grams, upper bounds 25 to 200); KenLM"

    def side(self, place: int, sentences: Sequence[str]) -> Floats:
        (entropies,) = self.entropies(sentences, place)
        return np.exp2(entropies)


@dataclass(frozen=True)
class CrossEntropy(_Fluency):
    """The cross-entropy of each side, by its language model, is low enough.

    It is in bits a token of the model, or a word between spaces (``per=word``): then models of
    characters and of words can share a bound. Models are given as for ``perplexity``.
    """

    name = "cross-entropy"
    unit = "bits a token or word, end mark included, 0 and up"
    origin = "OpusFilter CrossEntropyFilter (bits a word, below 50)"

    per: str = setting("token", choices=_PER)

    def side(self, place: int, sentences: Sequence[str]) -> Floats:
        ((logprobs, counts),) = self.scores(sentences, place)
        if self.per == "word":
            counts = np.array([len(sentence.split()) + 1.0 for sentence in sentences])
        return -_BITS * logprobs / counts


@dataclass(frozen=True)
class CrossEntropyGap(CrossEntropy):
    """The cross-entropies of the two sides, by their language models, differ little.

    Each side needs a model, both of one kind.
    """

    name = "cross-entropy-gap"
    sides_apart, needs_both = False, True
    unit = "bits a word or token, 0 and up"
    origin = "OpusFilter CrossEntropyFilter (diff_threshold, 10)"

    maximum: float | None = 15
    per: str = setting("word", choices=_PER)

    def values(self, pairs: Pairs) -> NDArray[Any]:
        """Return the differences, ``(n,)``."""
        return np.abs(np.diff(super().values(pairs), axis=1)[:, 0])


@dataclass(frozen=True)
class CrossEntropyDifference(_Fluency):
    """Each side is more like in-domain text than like general text.

    The value is the cross-entropy by an in-domain model (``source``, ``target``) less that by a
    general model of the same language (``source-general``, ``target-general``), trained in the
    same way on about as much text.
    """

    name = "cross-entropy-difference"
    unit = "bits a token, of either sign: below 0 is more like in-domain text"
    origin = "Moore & Lewis 2010; OpusFilter CrossEntropyDifferenceFilter"

    maximum: float | None = 0
    source_general: str | None = None
    target_general: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted, general = self.files()[:2], self.files()[2:]
        if [path is None for path in wanted] != [path is None for path in general]:
            raise SettingsError(
                f"{self.name}: a side needs two models: source=FILE,source-general=FILE"
            )

    def files(self) -> tuple[str | None, ...]:
        """Return the in-domain models, then the general ones."""
        return self.source, self.target, self.source_general, self.target_general

    def side(self, place: int, sentences: Sequence[str]) -> Floats:
        wanted, general = self.entropies(sentences, place, place + 2)
        return wanted - general


@dataclass(frozen=True)
class LanguageModelClassifier(_Fluency):
    """Each side is more probable by its own language model than by the other side's.

    The value is the posterior probability of the side's own model, with equal priors. It separates
    languages or kinds of text; models of characters do best. A blank side passes.
    """

    name = "language-model-classifier"
    sides_apart, needs_both = False, True
    unit = "0 to 1: probability of its own model, of each side"
    origin = "Vatanen et al. 2010; OpusFilter LMClassifierFilter"

    minimum: float | None = 0.5

    def side(self, place: int, sentences: Sequence[str]) -> Floats:
        (own, tokens), (other, _) = self.scores(sentences, place, 1 - place)
        against = np.minimum(other - own, 300.0)  # 10 to the power of more is no number
        return np.where(tokens > 1, 1 / (1 + 10**against), 1.0)
