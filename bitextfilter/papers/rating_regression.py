"""Ratings of sentence pairs, predicted from their vectors by softmax regression.

Tai, Socher & Manning 2015, section 4.2, without their hidden layer, as SentEval measures SICK
(Conneau & Kiela 2018; Sjöblom et al. 2018 report it). A rating is a distribution over the whole
numbers of the scale; the prediction is the mean of the predicted distribution.

Letters: n pairs, d width of a vector, c whole numbers of the scale.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
import torch
from torch import Tensor, nn

from bitextfilter.arrays import Floats, Scores, Vectors
from bitextfilter.errors import InputError
from bitextfilter.evaluation.pair_scoring import PairMeasure
from bitextfilter.evaluation.sts import RatedPairs, pearson
from bitextfilter.scoring.model import Model
from bitextfilter.similarity.vectors import unit_rows


@dataclass(frozen=True)
class RatedVectors:
    """Pairs of vectors and their ratings."""

    source: Vectors
    """``(n, d)``"""
    target: Vectors
    """``(n, d)``"""
    ratings: Floats
    """``(n,)``, finite."""


EPOCHS, PATIENCE, BATCH_SIZE, LEARNING_RATE, WEIGHT_DECAY = 200, 10, 64, 0.001, 1e-4
"""Ours; SentEval's differ between tasks."""


def rating_distributions(ratings: Floats, scale: Floats) -> Floats:
    """Return distributions ``(n, c)`` over whole numbers, each with the mean of its rating.

    A rating r between k and k + 1 is k with probability k + 1 − r, and k + 1 with r − k (eq. 15).
    Ratings beyond the *scale* ``(c,)``, ascending, count as its end.
    """
    distance = np.abs(np.clip(ratings, scale[0], scale[-1])[:, None] - scale)
    found: Floats = np.clip(1 - distance, 0, None)
    return found


class RatingRegression:
    """Ratings of pairs of vectors."""

    def __init__(self, dim: int, scale: Floats) -> None:
        """Take d, and the whole numbers ``(c,)`` that ratings lie between."""
        self._layer = nn.Linear(2 * dim, len(scale))
        self._scale = scale

    @staticmethod
    def _features(source: Vectors, target: Vectors) -> Tensor:
        """Return [|u − v|; u ⊙ v], ``(n, 2d)``."""
        return torch.from_numpy(np.hstack([np.abs(source - target), source * target]))

    def predict(self, source: Vectors, target: Vectors) -> Floats:
        """Return ratings ``(n,)`` of pairs of vectors ``(n, d)``, within the scale."""
        with torch.inference_mode():
            chances = self._layer(self._features(source, target)).double().softmax(dim=1)
        return np.asarray(chances.numpy() @ self._scale)

    def fit(self, pairs: RatedVectors, error: Callable[[], float], seed: int) -> int:
        """Learn, and keep the state of the lowest *error*, asked for after each epoch.

        The loss is the cross-entropy with the distributions of the ratings: but for a constant
        their Kullback-Leibler divergence (eq. 16). Returns the epoch that is kept, from 1.
        """
        wanted = torch.from_numpy(rating_distributions(pairs.ratings, self._scale)).float()
        inputs = self._features(pairs.source, pairs.target)
        generator = torch.Generator().manual_seed(seed)
        nn.init.zeros_(self._layer.weight)
        nn.init.zeros_(self._layer.bias)
        optimiser = torch.optim.AdamW(
            self._layer.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY
        )
        lowest, kept, state = float("inf"), 0, copy.deepcopy(self._layer.state_dict())
        for epoch in range(1, EPOCHS + 1):
            order = torch.randperm(len(inputs), generator=generator)
            for rows in torch.split(order, BATCH_SIZE):
                optimiser.zero_grad()
                loss = nn.functional.cross_entropy(self._layer(inputs[rows]), wanted[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            found = error()
            if found < lowest:
                lowest, kept, state = found, epoch, copy.deepcopy(self._layer.state_dict())
            elif epoch - kept >= PATIENCE:
                break
        self._layer.load_state_dict(state)
        return kept


_WIDEST = 100
"""Whole numbers of a scale, at most."""


class RatingMeasure(PairMeasure):
    """Ratings that a :class:`RatingRegression` predicts."""

    def __init__(
        self,
        model: Model,
        languages: tuple[str, ...] | None,
        training: RatedPairs,
        development: RatedPairs,
        seed: int,
    ) -> None:
        """Learn the ratings of *training*; the best epoch is chosen by those of *development*.

        Raises SettingsError for a language that the model lacks, and InputError for ratings of a
        wider scale than 100, or ratings that are all the same.
        """
        super().__init__(model, "cosine", languages)
        for name, pairs in (("--regression", training), ("--development", development)):
            if np.ptp(pairs.ratings) == 0:
                raise InputError(f"{name}: all ratings are the same: nothing can be learnt")
        low, high = floor(min(training.ratings)), ceil(max(training.ratings))
        if high - low > _WIDEST:
            raise InputError(
                f"--regression: ratings from {low} to {high}, but at most {_WIDEST} apart are"
                " learnt; divide them"
            )
        taught, stopping = (
            RatedVectors(*self._vectors(pairs.sources, pairs.targets), np.array(pairs.ratings))
            for pairs in (training, development)
        )
        self._regression = RatingRegression(taught.source.shape[1], np.arange(low, high + 1.0))

        def error() -> float:
            found = self._regression.predict(stopping.source, stopping.target)
            return -(pearson(found, stopping.ratings) or 0.0)

        self.epoch = self._regression.fit(taught, error, seed)

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> Scores:
        """Predict the ratings of ``n`` sources and targets → ``(n,)``, within the scale."""
        return self._regression.predict(*self._vectors(sources, targets)).astype(np.float32)

    def _vectors(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode both sides, and scale each vector to the length √d."""
        first, second = map(self._model.encode, (sources, targets), self._languages)
        length = np.float32(first.shape[1] ** 0.5)
        return unit_rows(first) * length, unit_rows(second) * length
