"""What pairs of sentences are to the training of a classifier, of whichever kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bitextfilter.similarity.classifiers import PairClassifier
from bitextfilter.similarity.pair_classifier import Indices
from bitextfilter.training.classifier_settings import ClassifierTraining

__all__ = ["LabelledPairs", "Noise"]


@dataclass(frozen=True)
class Noise:
    """How much noise pairs get in training, and what draws it."""

    training: ClassifierTraining
    generator: torch.Generator


class LabelledPairs(Protocol):
    """``n`` pairs as a kind of classifiers takes them, and whether they are translations."""

    @property
    def labels(self) -> NDArray[np.bool_]:
        """``(n,)``."""
        ...

    @property
    def worths(self) -> NDArray[np.float32]:
        """``(n,)``: 1 for a translation, the classifier's worth for nearly one, 0 for any other."""
        ...

    def prepare(self, classifier: PairClassifier) -> None:
        """Tell a fresh classifier what it is to know of all pairs."""
        ...

    def batches(self, rows: Indices, size: int) -> Iterator[Indices]:
        """Yield all of some rows in an order drawn by torch, at most *size* at a time."""
        ...

    def answers(
        self, classifier: PairClassifier, rows: Indices, noise: Noise | None = None
    ) -> Tensor:
        """Return the answers ``(rows, 1 or 2)`` to some pairs: as they are, or with noise."""
        ...
