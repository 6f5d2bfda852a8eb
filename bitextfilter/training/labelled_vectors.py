"""Pairs of sentence vectors for the classifier of sentences to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bitextfilter.similarity.classifier import Classifier
from bitextfilter.similarity.classifiers import PairClassifier
from bitextfilter.similarity.pair_classifier import Indices
from bitextfilter.training.labelled_pairs import Noise

__all__ = ["LabelledVectors"]


@dataclass(frozen=True)
class LabelledVectors:
    """Vectors of ``n`` pairs, each ``(n, dim)`` float32, and how much of a translation they are.

    Implements ``LabelledPairs``.
    """

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    worths: NDArray[np.float32]
    """See ``LabelledPairs``."""

    @property
    def labels(self) -> NDArray[np.bool_]:
        """See ``LabelledPairs``."""
        return self.worths > 0.5

    def prepare(self, classifier: PairClassifier) -> None:
        """See ``LabelledPairs``: that is nothing here."""

    def batches(self, rows: Indices, size: int) -> Iterator[Indices]:
        """See ``LabelledPairs``."""
        order = rows[torch.randperm(len(rows)).numpy()]
        return (order[start : start + size] for start in range(0, len(order), size))

    def answers(
        self, classifier: PairClassifier, rows: Indices, noise: Noise | None = None
    ) -> Tensor:
        """See ``LabelledPairs``."""
        assert isinstance(classifier, Classifier)
        sides = [torch.from_numpy(side[rows]) for side in (self.source, self.target)]
        if noise is not None:
            dim = classifier.settings.dim
            sides = [_blurred(side, dim, noise) for side in sides]
        answers: Tensor = classifier(*sides)
        return answers


def _blurred(rows: Tensor, dim: int, noise: Noise) -> Tensor:
    """Add noise to the vectors of rows: of a length from 0 to *noise*, drawn for each by itself."""
    vectors = torch.nn.functional.normalize(rows[:, :dim], dim=1)
    most = noise.training.vector_noise / dim**0.5
    lengths = torch.rand(len(rows), 1, generator=noise.generator) * most
    blur = torch.randn(vectors.shape, generator=noise.generator)
    return torch.hstack([vectors + blur * lengths, rows[:, dim:]])
