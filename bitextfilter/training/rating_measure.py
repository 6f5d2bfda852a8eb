"""A measure of sentence pairs that is taught human ratings: regression on a model's vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

import numpy as np

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.errors import InputError
from bitextfilter.evaluation.pair_scoring import PairMeasure
from bitextfilter.evaluation.sts import RatedPairs, pearson
from bitextfilter.scoring.model import Model
from bitextfilter.similarity.vectors import unit_rows
from bitextfilter.training.rating_regression import RatedVectors, RatingRegression

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
