"""The shapes of pair classifiers: their settings, and what follows from them; without torch."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import ClassVar

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.models.folders import read_config
from bitextfilter.settings import Settings, current_names, setting
from bitextfilter.text.features import SURFACE_WIDTH, WORD_FEATURES, WORD_FLAGS, bytes_of

PART = "classifier"
"""The section of the configuration, and the name of the tensors' file."""

PAIR_FEATURES = {"concatenation": 2, "products": 4}
"""The inputs of the classifier of sentence vectors by name, each with its width as a multiple of
the vectors'."""


class ClassifierSettings(Settings):
    """The shape of a classifier; the dataclasses of both kinds are declared in their modules."""

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
