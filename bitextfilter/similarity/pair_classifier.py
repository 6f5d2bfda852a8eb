"""The pair classifiers: their interface, their files, and scores from their logits."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from bitextfilter.arrays import Floats, Indices, Scores, Vectors
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.models.checkpoint import load_parameters, save_tensors
from bitextfilter.models.folders import read_config, write_config
from bitextfilter.settings import Settings, current_names
from bitextfilter.text.features import Cut

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

ScorerFactory = Callable[[EncodedSide, EncodedSide], PairScorer]
"""Makes a scorer of pairs from two sides; it may cache words from call to call."""


OTHER_SHAPE = "the classifier to start from has another shape than the new one"


class ClassifierSettings(Settings):
    """The shape of a classifier; the dataclasses of both kinds are declared in their modules."""

    kind: ClassVar[str]
    """A key of ``_KINDS``."""
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


class PairClassifier(nn.Module, ABC):
    """A network of pairs. ``temperature`` is a buffer that calibration may set."""

    settings_type: ClassVar[type[Any]]
    settings: Any
    temperature: Tensor

    def __init__(self, settings: ClassifierSettings) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("temperature", torch.ones(()))

    @property
    @abstractmethod
    def output_layer(self) -> nn.Linear:
        """The layer of the logits."""

    @abstractmethod
    def scorer_factory(
        self,
        encode: Encode,
        threads: int = 1,
        cut: Cut | None = None,
        languages: tuple[str, str] | None = None,
    ) -> ScorerFactory:
        """Return a factory of scorers of pairs.

        Args:
            encode: makes the vectors of words.
            threads: how many blocks are computed side by side.
            cut: divides words of scripts without spaces, for models of more than two languages.
            languages: of the sides; a classifier may lower the scores of text in others.
        """

    def carried(
        self, settings: ClassifierSettings, change: NDArray[np.float32] | None
    ) -> PairClassifier:
        """Return a copy for other vectors, to be trained on.

        Args:
            settings: of the copy.
            change: ``(other dim, dim)``; the copy reads a word's other vector as
                ``vector @ change``, both in units of their ``word_length``. None for vectors of
                the same encoder.

        The copy joins its outputs as *settings* say. Raises SettingsError where its shape would
        have to differ, or the kind has no copies for another encoder.
        """
        own = replace(self.settings, sum_weight=settings.sum_weight)
        if change is not None or settings != own:
            raise SettingsError(OTHER_SHAPE)
        copied = copy.deepcopy(self)
        copied.settings = own
        copied.temperature.fill_(1)
        return copied

    def offsets(
        self, sides: tuple[Sequence[str], Sequence[str]], languages: tuple[str, str], cut: Cut
    ) -> Floats:
        """Return the numbers that scorers add to the calibrated logits of ``n`` pairs: ``(n,)``.

        Training that keeps them takes them from here; *languages* and *cut* are as for
        :meth:`scorer_factory`. By default they are 0.
        """
        return np.zeros(len(sides[0]))

    def scale_offsets(self, factor: float) -> None:
        """Multiply the offsets of all pairs by a *factor* from now on; 0 stays 0."""

    def scores(self, logits: Logits, offsets: Floats | float = 0.0) -> Scores:
        """Return the scores of pairs by their logits, ``(n,)``; see ``PairScorer``.

        *offsets* ``(n,)`` are added to the calibrated logits.
        """
        return sigmoid(self.joined(logits) / float(self.temperature) + offsets)

    def joined(self, logits: Logits) -> NDArray[np.floating]:
        """Join the logits of pairs into one each, ``(n,)``: it rises with both.

        A weighted mean: of the logit of the expected quality, which is nearly the lower of the two,
        with weight 1, and of both, each with weight ``sum_weight``.
        """
        joined = expected_quality(logits, self.settings.minor_error_quality)
        if logits.shape[1] == 1 or not self.settings.sum_weight:
            return joined
        weight = self.settings.sum_weight
        both = logits[:, 0].astype(np.float64) + logits[:, 1]
        return np.asarray((joined + weight * both) / (1 + 2 * weight))

    def joined_with_gradients(self, logits: Tensor) -> Tensor:
        """As :meth:`joined`, for training."""
        if logits.shape[1] == 1:
            return logits[:, 0]
        translation, flawless = logits.T
        least = math.log1p(-self.settings.minor_error_quality)
        lost = least + logsigmoid(-flawless)
        kept = least + logsigmoid(flawless)
        if minor := self.settings.minor_error_quality:
            kept = torch.logaddexp(torch.full_like(kept, math.log(minor)), kept)
        weight: float = self.settings.sum_weight
        quality: Tensor = kept - torch.logaddexp(-translation, lost)
        both: Tensor = translation + flawless
        return (quality + both * weight) / (1 + 2 * weight)


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


_KINDS = {
    "sentences": "bitextfilter.similarity.sentence_classifier:SentenceClassifier",
    "words": "bitextfilter.similarity.word_classifier:WordClassifier",
}
"""The classifiers by kind; only those asked for are imported."""
_PART = "classifier"
"""The section of the configuration, and the name of the tensors' file."""


def build_classifier(settings: ClassifierSettings) -> PairClassifier:
    """Return a classifier, randomly initialised by torch's global generator."""
    classifier: PairClassifier = resolve_name(_KINDS[settings.kind])(settings)
    return classifier


def save_classifier(classifier: PairClassifier, folder: Path, bits: int = 32) -> None:
    """Write the tensors (matrices in 32, 8 or 4 *bits* a number); the config gets the settings."""
    save_tensors(folder / f"{_PART}.safetensors", classifier.state_dict(), bits)
    section = {"kind": classifier.settings.kind, **asdict(classifier.settings)}
    write_config(folder, {**read_config(folder), _PART: section})


def load_classifier(folder: Path) -> PairClassifier | None:
    """Read the classifier of a model folder; None if its configuration has none.

    Raises:
        NotFoundError: no model there, or the tensors are missing.
        ModelError: the model is damaged, or of a newer version.
    """
    section = read_config(folder).get(_PART)
    if section is None:
        return None
    try:
        values = current_names(dict(section))
        kind: type[PairClassifier] = resolve_name(_KINDS[values.pop("kind", "sentences")])
        settings = kind.settings_type(**values)
    except (TypeError, ValueError, KeyError, SettingsError) as error:
        raise ModelError(
            f"{folder}: the configuration's classifier is unusable: {error}"
        ) from error
    classifier = load_parameters(folder, _PART, lambda: kind(settings))
    if not float(classifier.temperature) > 0:
        raise ModelError(f"{folder / _PART}.safetensors: the temperature must be above 0")
    return classifier.eval()
