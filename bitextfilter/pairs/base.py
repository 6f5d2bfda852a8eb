"""What all pair classifiers share: settings of their shapes, and the way from logits to scores.

This module does not import torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices, Scores, Vectors
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.models.folders import read_config
from bitextfilter.settings import Settings, current_names, setting
from bitextfilter.text.features import SURFACE_WIDTH, WORD_FEATURES, WORD_FLAGS, Cut, bytes_of

PART = "classifier"
"""The section of the configuration, and the name of the tensors' file."""

PAIR_FEATURES = {"concatenation": 2, "products": 4}
"""The inputs of the classifier of sentence vectors by name, each with its width as a multiple of
the vectors'."""


class ClassifierSettings(Settings):
    """The shape of a classifier; those of both kinds follow."""

    kind: ClassVar[str]
    """A key of ``KINDS``."""
    dim: int
    """Width of the encoder's vectors."""
    minor_error_quality: float
    """Quality of a pair with a minor error, below 1/2 (a translation's is 1); 0: one logit."""
    sum_weight: float
    """Of the sum of two logits beside the logit of the expected quality; see ``joined``."""

    @property
    def logits(self) -> int:
        """The number of logits; see ``Logits``."""
        return 2 if self.minor_error_quality else 1


@dataclass(frozen=True)
class SentenceClassifierSettings(ClassifierSettings):
    """The shape of a classifier. Raises SettingsError for one that cannot be."""

    kind = "sentences"

    dim: int = setting(MISSING, "width of the sentence vectors", within=">= 1")
    features: str = setting("products", "the paper's is concatenation", choices=PAIR_FEATURES)
    hidden: int = setting(512, "units of each hidden layer", within=">= 1")
    surface: int = setting(0, "surface features appended to each vector", within=">= 0")
    layers: int = setting(2, "hidden layers", within=">= 1, <= 16")
    minor_error_quality: float = setting(0.0, "see the base class", within=">= 0, < 0.5")
    sum_weight: float = setting(0.0, "see the base class", within=">= 0")

    @property
    def width(self) -> int:
        """Width of a row: vector and surface features."""
        return self.dim + self.surface

    def __post_init__(self) -> None:
        """Check all fields."""
        super().__post_init__()
        if self.surface not in (0, SURFACE_WIDTH):
            raise SettingsError(
                f"surface is {self.surface}: this version has {SURFACE_WIDTH}, or 0"
            )


@dataclass(frozen=True)
class WordClassifierSettings(ClassifierSettings):
    """The shape of a word classifier. Raises SettingsError for an impossible one."""

    kind = "words"

    dim: int = setting(MISSING, "width of the encoder's vectors", within=">= 1")
    word_length: float = setting(
        1.0, "divides the vectors of words: their mean length", within="> 0"
    )
    width: int = setting(64, "units of a word in its context", within=">= 1")
    meaning: int = setting(128, "width of the projection that compares words alone", within=">= 1")
    word_kinds: int = setting(
        8, "learnt kinds of words, beside the flags of spelling", within=">= 1"
    )
    hidden: int = setting(256, "units of the hidden layer", within=">= 1")
    buckets: int = setting(
        1 << 19, "buckets of the hashes that words are counted by", within=">= 1"
    )
    minor_error_quality: float = setting(0.0, "see the base class", within=">= 0, < 0.5")
    sum_weight: float = setting(0.0, "see the base class", within=">= 0")
    multilingual: bool = setting(
        False,
        "of a model of more than two languages: words of both sides are counted together, and those"
        " of scripts without spaces are cut into pieces",
    )
    spacing: bool = setting(
        False, "the network sees the spaces between words, and words of the other side's text"
    )
    bigrams: int = setting(
        0,
        "buckets of the hashes that bigrams are counted by; 0: the network does not see how"
        " familiar they are",
        within=">= 0",
    )
    language_weight: float = setting(
        0.0,
        "of how far the language of a side is behind the likeliest one, in nats; 0: none is"
        " identified",
        within=">= 0",
    )

    @property
    def word_features(self) -> int:
        """Features of a word by itself."""
        return WORD_FEATURES + self.spacing


COSINES = (-0.2, 1.0, 13)
PLACES = (-3.0, 3.0, 9)
"""First and last point of the kernels for cosines, and for steps and lags, and their number."""
COVERAGE_FEATURES = 4 * COSINES[2] + 2 * PLACES[2] + 4
"""Features of a word for :func:`pooled`."""
COVERAGE_SCALARS = 9
"""Plain numbers of a word's coverage, for the comparison of words."""
FLAGS = WORD_FLAGS.stop - WORD_FLAGS.start
"""Flags of the spelling of a word, and its rarity."""
FLUENCY = 4
"""Numbers of a word among its neighbours."""
WORD_SCALE = 6.0
"""Factor of the vectors of words: their numbers come near 1, where networks learn best."""
SENTENCE_UNITS = 96
"""Units of the layer of the sentence vectors."""


def layer_inputs(settings: WordClassifierSettings) -> dict[str, list[int]]:
    """Return the widths of the parts of what layers read: parts may be wider in a newer network."""
    dim, width, kinds = settings.dim, settings.width, settings.word_kinds
    features, fluent = settings.word_features, FLUENCY * bool(settings.bigrams)
    word = [dim, features]
    side = [(kinds + FLAGS + 1) * COVERAGE_FEATURES, kinds, width, width]
    side += [features, features, features, 1, 2 * fluent]
    return {
        "contexts": word,
        "kinds": word,
        "places": [2, settings.spacing, 2, fluent],
        "hidden": [*side, *side, SENTENCE_UNITS, 1, features],
    }


def word_tensors(settings: WordClassifierSettings) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors of a classifier of words, by name."""
    width, kinds, reads = settings.width, settings.word_kinds, layer_inputs(settings)
    compared = 4 * width + kinds + FLAGS + COVERAGE_SCALARS
    unbiased = {
        "meaning": (settings.meaning, settings.dim),
        "contexts": (3 * width, sum(reads["contexts"])),
        "places": (width + kinds, sum(reads["places"])),
        "kinds_in_context": (kinds, width),
    }
    layers = {
        "kinds": (kinds, sum(reads["kinds"])),
        "wider": (width, 3 * width),
        "query": (width, width),
        "compare": (width, compared),
        "compared": (width, width),
        "sentence": (SENTENCE_UNITS, 2 * settings.dim),
        "hidden": (settings.hidden, sum(reads["hidden"])),
        "out": (settings.logits, settings.hidden),
    }
    shapes: dict[str, tuple[int, ...]] = {"temperature": (), "counts": (2, settings.buckets)}
    if settings.bigrams:
        shapes["bigrams"] = (2 - settings.multilingual, bytes_of(settings.bigrams))
    shapes |= {"network.sides": (2, width), "network.weights": (4,)}
    every = {**unbiased, **layers}
    shapes |= {f"network.{name}.weight": shape for name, shape in every.items()}
    return shapes | {f"network.{name}.bias": shape[:1] for name, shape in layers.items()}


KINDS: dict[str, type[SentenceClassifierSettings] | type[WordClassifierSettings]] = {
    each.kind: each for each in (SentenceClassifierSettings, WordClassifierSettings)
}
"""The settings of classifiers by kind."""


def classifier_settings(folder: Path) -> ClassifierSettings | None:
    """Return the settings of the classifier of a model folder; None without one.

    Raises NotFoundError and ModelError.
    """
    section = read_config(folder).get(PART)
    if section is None:
        return None
    try:
        values = current_names(dict(section))
        return KINDS[values.pop("kind", SentenceClassifierSettings.kind)](**values)
    except (TypeError, ValueError, KeyError, SettingsError) as error:
        raise ModelError(
            f"{folder}: the configuration's classifier is unusable: {error}"
        ) from error


def check_temperature(folder: Path, temperature: float) -> None:
    """Raise ModelError for one of the classifier of a model folder that is not above 0."""
    if not temperature > 0:
        raise ModelError(f"{folder / PART}.safetensors: the temperature must be above 0")


Logits = NDArray[np.floating]
"""``(n, 1)`` or ``(n, 2)``. Column 0: logit that the pair is a translation (minor errors allowed).
Column 1, if present: logit that it has no minor error, given that it is one."""


class VectorRows(Protocol):
    """Vectors in memory or on disk."""

    def __getitem__(self, rows: Indices, /) -> Vectors:
        """Return the vectors at these places, ``(m, dim)``."""


EncodedSide = tuple[VectorRows, Sequence[str]]
"""Sentences of one language, and their vectors ``(n, dim)``."""

PairScorer = Callable[[Indices, Indices], Scores]
"""Scores pairs, given by the places of their sentences on both sides, ``(m,)`` each → ``(m,)``.

From 0 to 1, higher is better: the probability of a translation, or, with two logits, the
expected quality (:func:`expected_quality`)."""

Encode = Callable[[Sequence[str], int], Vectors]
"""Encodes sentences of one side, 0 or 1 → ``(n, dim)``."""

SideScorer = Callable[[EncodedSide, EncodedSide, Indices, Indices], Scores]
"""Scores pairs of two sides, as a ``PairScorer`` does; it may keep words from call to call."""


@dataclass(frozen=True)
class Reading:
    """How classifiers read the words of pairs."""

    encode: Encode
    """Makes the vectors of words."""
    threads: int = 1
    """How many blocks are computed side by side."""
    cut: Cut | None = None
    """Divides words of scripts without spaces, for models of more than two languages."""
    languages: tuple[str, str] | None = None
    """Of the sides; a classifier may lower the scores of text in others."""


class PairScoring(Protocol):
    """A classifier, as it scores pairs."""

    @property
    def settings(self) -> ClassifierSettings:
        """Its shape."""

    def scorer(self, reading: Reading) -> SideScorer:
        """Return a scorer of pairs, which reads their words as *reading* says."""


def scores(
    settings: ClassifierSettings,
    temperature: float,
    logits: Logits,
    offsets: Floats | float = 0.0,
) -> Scores:
    """Return the scores of pairs by their logits, ``(n,)``; see ``PairScorer``.

    *offsets* ``(n,)`` are added to the calibrated logits.
    """
    return sigmoid(joined(settings, logits) / temperature + offsets)


def joined(settings: ClassifierSettings, logits: Logits) -> NDArray[np.floating]:
    """Join the logits of pairs into one each, ``(n,)``: it rises with both.

    A weighted mean: of the logit of the expected quality, which is nearly the lower of the two,
    with weight 1, and of both, each with weight ``sum_weight``.
    """
    quality = expected_quality(logits, settings.minor_error_quality)
    if logits.shape[1] == 1 or not settings.sum_weight:
        return quality
    weight = settings.sum_weight
    both = logits[:, 0].astype(np.float64) + logits[:, 1]
    return np.asarray((quality + weight * both) / (1 + 2 * weight))


def expected_quality(logits: Logits, minor_error_quality: float) -> NDArray[np.floating]:
    """Combine the logits into one: the logit of the pair's expected quality, ``(n,)``.

    A translation has quality 1, one with a minor error q = *minor_error_quality*, any other pair
    0. With logits c, f and σ = sigmoid, the expectation is σ(c) (q + (1 - q) σ(f)). A single
    logit is returned unchanged. Computed one number at a time, as in :func:`sigmoid`.
    """
    if logits.shape[1] == 1:
        return logits[:, 0]
    scores, quality = [], minor_error_quality
    for translation, flawless in np.clip(logits, -300, 300).tolist():
        # With p = σ(c) g and g = q + (1 - q) σ(f), p / (1 - p) = g / (1 / e^c + 1 - g).
        if_right = quality + (1 - quality) / (1 + math.exp(-flawless))
        lost = (1 - quality) / (1 + math.exp(flawless))
        scores.append(math.log(if_right / (math.exp(-translation) + lost)))
    return np.array(scores, dtype=np.float64)


def sigmoid(logits: NDArray[np.floating]) -> Scores:
    """1 / (1 + e^−x), one number at a time: vectorised exponentials may depend on the place."""
    values = [1.0 / (1.0 + math.exp(-min(max(logit, -700.0), 700.0))) for logit in logits.tolist()]
    return np.array(values, dtype=np.float32)
