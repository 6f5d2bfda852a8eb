"""Train encoders by way of a third language: sources and targets are never seen as pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.vocabulary import END, RESERVED
from bitextfilter.training.data import Corpus, Sentences
from bitextfilter.training.encoder_learner import EncoderLearner
from bitextfilter.training.loop import Stream
from bitextfilter.training.pivot import PivotLearner, check_settings, stream_of
from bitextfilter.training.sources import read_pairs
from bitextfilter.workflows.encoder_training import EncoderTraining, distinct_sample

__all__ = ["PivotTraining"]

Pairs = tuple[list[str], list[str], list[float]]
"""Sentences of one side, the same in the pivot, and weights."""


class PivotTraining(EncoderTraining):
    """A run of the architecture pivot.

    The pivot has a segmentation and a vocabulary of its own, which go with the decoder: nothing
    of that language is in the model folder.
    """

    def _read(self) -> None:
        """Read what is trained on."""
        pivot = self.material.pivot
        assert pivot is not None, "check_material has seen to it"
        check_settings(self.plan.training)
        of_source, of_target = (read_pairs(files) for files in pivot.sides)
        self.plan = self.given.fitting(sum(map(sum, (of_source[2], of_target[2]))) / 2)
        self.processor = self._make_processor(of_source[0], of_target[0])
        self.pivot = TextProcessor.learn(
            [*of_source[1], *of_target[1]],
            [],
            (pivot.language, pivot.language),
            self.plan.normalisation,
            self.plan.segmentation,
        )
        self.corpora = self._make_corpus(of_source, 0), self._make_corpus(of_target, 1)
        self._sample = distinct_sample(of_source[0], of_target[0], self.plan.training.seed)

    def _make_corpus(self, pairs: Pairs, side: int) -> Corpus:
        """Pairs with the pivot, as ids."""
        texts, pivots, weights = pairs
        language = self.pivot.languages[0]
        written = Sentences(self.pivot.ids(pivots, language))
        corpus = Corpus(self._sentences(texts, side), written, np.array(weights))
        return self._short(corpus, f"{self.processor.languages[side]}-{language} ")

    def _learning(self) -> tuple[EncoderLearner, Stream]:
        """See :meth:`EncoderTraining._learning`."""
        counts = self._predicted_counts()
        model = PivotLearner(
            self.network, self.settings.cell, counts, self.plan.training, self._one_language
        ).to(self._device)
        views = self.network.views
        return model, stream_of(self.corpora, self.plan.training, views, self._device)

    def _predicted_counts(self) -> NDArray[np.int64]:
        """How often the decoder predicts each id of the pivot's vocabulary, ``(v,)``."""
        counts = np.zeros(len(self.pivot.vocabulary), dtype=np.int64)
        counts[len(RESERVED) :] = self.pivot.vocabulary.counts.sum(axis=1)
        counts[END] = sum(map(len, self.corpora))
        return counts
