"""The networks of pair classifiers: their interface for training, and their files."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from bitextfilter.arrays import Floats, Scores
from bitextfilter.errors import SettingsError
from bitextfilter.models.checkpoint import load_parameters, save_tensors
from bitextfilter.models.folders import read_config, write_config
from bitextfilter.pairs import pair_scoring
from bitextfilter.pairs.pair_scoring import Encode, Logits, ScorerFactory
from bitextfilter.pairs.settings import (
    PART,
    ClassifierSettings,
    check_temperature,
    classifier_settings,
)
from bitextfilter.text.features import Cut

OTHER_SHAPE = "the classifier to start from has another shape than the new one"


class PairClassifier(nn.Module, ABC):
    """A network of pairs. ``temperature`` is a buffer that calibration may set."""

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
        """See :meth:`PairScoring.scorer_factory`."""

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
        """See :func:`pair_scoring.scores`."""
        return pair_scoring.scores(self.settings, float(self.temperature), logits, offsets)

    def joined(self, logits: Logits) -> NDArray[np.floating]:
        """See :func:`pair_scoring.joined`."""
        return pair_scoring.joined(self.settings, logits)

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


_KINDS = {
    "sentences": "bitextfilter.pairs.sentence_classifier:SentenceClassifier",
    "words": "bitextfilter.pairs.word_classifier:WordClassifier",
}
"""The classifiers by kind; only those asked for are imported."""


def build_classifier(settings: ClassifierSettings) -> PairClassifier:
    """Return a classifier, randomly initialised by torch's global generator."""
    classifier: PairClassifier = resolve_name(_KINDS[settings.kind])(settings)
    return classifier


def save_classifier(classifier: PairClassifier, folder: Path, bits: int = 32) -> None:
    """Write the tensors (matrices in 32, 8 or 4 *bits* a number); the config gets the settings."""
    save_tensors(folder / f"{PART}.safetensors", classifier.state_dict(), bits)
    section = {"kind": classifier.settings.kind, **asdict(classifier.settings)}
    write_config(folder, {**read_config(folder), PART: section})


def load_classifier(folder: Path) -> PairClassifier | None:
    """Read the classifier of a model folder; None if its configuration has none.

    Raises:
        NotFoundError: no model there, or the tensors are missing.
        ModelError: the model is damaged, or of a newer version.
    """
    settings = classifier_settings(folder)
    if settings is None:
        return None
    classifier = load_parameters(folder, PART, lambda: build_classifier(settings))
    check_temperature(folder, float(classifier.temperature))
    return classifier.eval()
