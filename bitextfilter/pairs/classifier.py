"""The networks of pair classifiers: their interface for training, their files, and an MLP.

:class:`SentenceClassifier` is of sentence vectors, with surface comparisons of both sides. Kim et
al. 2019: q(a, b) in (0, 1) from two hidden layers of 512 ReLU units over [a; b], and one sigmoid.
Ours differs: each vector is first scaled to the length √d, so that the inputs of all encoders are
of one size; the input may also have |a − b| and a ⊙ b; surface features may be appended to the
vectors (some are treated like the vector, the rest is compared); the logit is divided by a
temperature, 1 until calibrated; and there may be a second logit (see ``Logits``).
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from bitextfilter.arrays import Floats, Indices, Scores, Vectors
from bitextfilter.errors import SettingsError
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.checkpoint import load_parameters, save_tensors
from bitextfilter.models.device import one_torch_thread
from bitextfilter.models.folders import read_config, write_config
from bitextfilter.models.layers import Outputs
from bitextfilter.pairs import base
from bitextfilter.pairs.base import (
    PAIR_FEATURES,
    PART,
    ClassifierSettings,
    EncodedSide,
    Logits,
    Reading,
    SentenceClassifierSettings,
    SideScorer,
    check_temperature,
    classifier_settings,
)
from bitextfilter.similarity.vectors import on_grid, unit_rows
from bitextfilter.text.features import (
    FIGURE_BAG,
    NAME_BAG,
    SURFACE,
    WORD_BAG,
    Cut,
    surface_features,
)

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
    def scorer(self, reading: Reading) -> SideScorer:
        """See :meth:`PairScoring.scorer`."""

    def carried(
        self, settings: ClassifierSettings, change: NDArray[np.float32] | None, alike: bool = False
    ) -> PairClassifier:
        """Return a copy for other vectors, to be trained on.

        Args:
            settings: of the copy.
            change: ``(other dim, dim)``; the copy reads a word's other vector as
                ``vector @ change``, both in units of their ``word_length``. None for vectors of
                the same encoder.
            alike: whether the other encoder's vectors of sentences can be read as they are.

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

        Training that keeps them takes them from here; *languages* and *cut* are as in
        :class:`Reading`. By default they are 0.
        """
        return np.zeros(len(sides[0]))

    def scale_offsets(self, factor: float) -> None:
        """Multiply the offsets of all pairs by a *factor* from now on; 0 stays 0."""

    def scores(self, logits: Logits, offsets: Floats | float = 0.0) -> Scores:
        """See :func:`base.scores`."""
        return base.scores(self.settings, float(self.temperature), logits, offsets)

    def joined(self, logits: Logits) -> NDArray[np.floating]:
        """See :func:`base.joined`."""
        return base.joined(self.settings, logits)

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
    "sentences": "bitextfilter.pairs.classifier:SentenceClassifier",
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


COMPARISONS = 13
"""Width of a comparison of surfaces."""

_MOST = 256 * 3
_LOGS = torch.tensor([math.log1p(count) for count in range(_MOST + 1)], dtype=torch.float64)


def compare_surfaces(a: Tensor, b: Tensor) -> Tensor:
    """Compare surface features ``(n, SURFACE_WIDTH)`` of both sides → ``(n, COMPARISONS)``.

    log(1 + count) of the figures, names (against the words of the other side) and words found in
    both sides, or in one only; and the common words relative to the words of either side, 0 to 2.
    Exact: a row does not depend on the others.
    """
    words, others = a[:, WORD_BAG], b[:, WORD_BAG]
    counts = torch.cat(
        [
            _shared(a[:, FIGURE_BAG], b[:, FIGURE_BAG]),
            _shared(a[:, NAME_BAG], others),
            _shared(b[:, NAME_BAG], words)[:, :2],
            _shared(words, others),
        ],
        dim=1,
    )
    both = counts[:, -3:-2]
    parts = [2 * both / side.sum(dim=1, keepdim=True).clamp(min=1) for side in (words, others)]
    return torch.cat([_LOGS[counts.long()].to(a.dtype), *parts], dim=1)


def _shared(a: Tensor, b: Tensor) -> Tensor:
    """Count the items in both bags, in the first only, and in the second only → ``(n, 3)``."""
    both = torch.minimum(a, b).sum(dim=1)
    return torch.stack([both, a.sum(dim=1) - both, b.sum(dim=1) - both], dim=1)


_BLOCK_ROWS = 512


def concatenation(a: Tensor, b: Tensor) -> Tensor:
    """[a; b], the paper's input: two times ``(n, d)`` → ``(n, 2d)``."""
    return torch.cat([a, b], dim=1)


def products(a: Tensor, b: Tensor) -> Tensor:
    """[a; b; |a − b|; a ⊙ b]: two times ``(n, d)`` → ``(n, 4d)``."""
    return torch.cat([a, b, (a - b).abs(), a * b], dim=1)


_INPUTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "concatenation": concatenation,
    "products": products,
}
"""The inputs by name: see ``PAIR_FEATURES``."""


class SentenceClassifier(PairClassifier):
    """Hidden layers and one logit, or two."""

    settings: SentenceClassifierSettings

    def __init__(self, settings: SentenceClassifierSettings) -> None:
        super().__init__(settings)
        self._features, times = _INPUTS[settings.features], PAIR_FEATURES[settings.features]
        inputs = times * settings.dim
        if settings.surface:
            inputs += times * SURFACE.stop + COMPARISONS
        sizes = [inputs, *[settings.hidden] * settings.layers, settings.logits]
        self.layers = nn.ModuleList(Outputs(inward, outward) for inward, outward in pairwise(sizes))

    @property
    def output_layer(self) -> nn.Linear:
        """See :meth:`PairClassifier.output_layer`."""
        layer = self.layers[-1]
        assert isinstance(layer, nn.Linear)
        return layer

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Logits ``(n, 1 or 2)`` to pairs of rows ``(n, width)``, for training: no temperature."""
        dim = self.settings.dim
        units = [nn.functional.normalize(rows[:, :dim], dim=1) for rows in (a, b)]
        hidden = self._input(units, [a[:, dim:], b[:, dim:]])
        for layer in self.layers[:-1]:
            hidden = torch.relu(layer(hidden))
        logits: Tensor = self.layers[-1](hidden)
        return logits

    def _input(self, units: list[Tensor], surfaces: list[Tensor]) -> Tensor:
        """Return the network's input from unit vectors and surface features of both sides."""
        rows = [unit * math.sqrt(self.settings.dim) for unit in units]
        if not self.settings.surface:
            return self._features(*rows)
        features = [
            torch.hstack([row, surface[:, SURFACE]])
            for row, surface in zip(rows, surfaces, strict=True)
        ]
        return torch.hstack([self._features(*features), compare_surfaces(*surfaces)])

    def scorer(self, reading: Reading) -> SideScorer:
        """See :meth:`PairClassifier.scorer`."""
        return lambda source, target, i, j: self.probabilities(
            self._rows_at(source, i), self._rows_at(target, j), reading.threads
        )

    def _rows_at(self, side: EncodedSide, places: Indices) -> Vectors:
        """Return the rows of some sentences of a side; surface features are computed once each."""
        vectors, sentences = side
        distinct, rows = np.unique(places, return_inverse=True)
        return self.rows(vectors[distinct], [sentences[place] for place in distinct])[rows]

    def rows(self, vectors: Vectors, sentences: Sequence[str]) -> Vectors:
        """Return vectors and, if the settings ask for them, surface features, ``(n, width)``."""
        return (
            np.hstack([vectors, surface_features(sentences)]) if self.settings.surface else vectors
        )

    def probabilities(self, a: Vectors, b: Vectors, threads: int = 1) -> Scores:
        """Score row i of ``a`` with row i of ``b`` → ``(n,)``, as ``PairScorer`` defines it.

        Equal to :meth:`forward` with temperature and sigmoid, except for rounding: each layer's
        sums are exact here, so that a result does not depend on the other rows (see
        :mod:`bitextfilter.similarity.vectors`).

        Raises:
            ValueError: the arrays are not both ``(n, width)``.
        """
        width = self.settings.width
        if a.shape != b.shape or a.shape[1:] != (width,):
            raise ValueError(f"expected two (n, {width}), not {a.shape} and {b.shape}")
        layers = []
        for layer in self.layers:
            weight, bias = (p.detach().double().cpu().numpy() for p in layer.parameters())
            layers.append((on_grid(weight).T, bias))

        def block(first: int) -> Scores:
            rows = slice(first, first + _BLOCK_ROWS)
            hidden = self._exact_features(a[rows], b[rows])
            for weight, bias in layers[:-1]:
                hidden = np.maximum(on_grid(hidden) @ weight + bias, 0.0)
            weight, bias = layers[-1]
            return self.scores(np.asarray(on_grid(hidden) @ weight + bias))

        with one_torch_thread():
            parts = map_blocks(block, range(0, len(a), _BLOCK_ROWS), threads)
        return np.concatenate([np.zeros(0, dtype=np.float32), *parts])

    def _exact_features(self, a: Vectors, b: Vectors) -> NDArray[np.float64]:
        """The input of some rows, as float64."""
        dim = self.settings.dim
        units = [torch.from_numpy(unit_rows(rows[:, :dim]).astype(np.float64)) for rows in (a, b)]
        surfaces = [torch.from_numpy(rows[:, dim:].astype(np.float64)) for rows in (a, b)]
        features: NDArray[np.float64] = self._input(units, surfaces).numpy()
        return features
