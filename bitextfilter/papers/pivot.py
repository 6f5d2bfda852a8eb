"""Encoders that meet in a third language: the pivot-based baseline of Kim et al. 2019.

One decoder translates sources and targets into the *pivot*. It is not told which encoder made a
vector, so both encoders learn the same space (Schwenk & Douze 2017). No
source need ever stand beside its translation. Encoders and decoder are from Kim et al.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from bitextfilter.arrays import Integers
from bitextfilter.encoders.base import Inputs, Network, Padded, piece_vectors
from bitextfilter.errors import SettingsError
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES
from bitextfilter.text.vocabulary import END, RESERVED
from bitextfilter.training.data import Corpus, PairTexts, Sentences, inputs_of, padded, read_pairs
from bitextfilter.training.encoder_learner import EncoderLearner
from bitextfilter.training.encoder_training import EncoderTraining, distinct_sample
from bitextfilter.training.loop import Stream
from bitextfilter.training.settings import TrainingSettings, run_length

LOSSES = ("source_pivot", "target_pivot")
"""Names of the two sides' cross-entropies in a history."""

PivotBatch = tuple[tuple[Inputs, Padded], tuple[Inputs, Padded]]
"""Sources with their pivots; targets with their pivots."""

FIXED = {
    **dict.fromkeys(("autoencoding", "ranking", "triplet", "contrastive", "cosine"), 0),
    "decode": "target",
    "decoded_share": 1,
}
"""Settings for which there is nothing to do: no side is written, and no pair has both."""


def check_settings(settings: TrainingSettings) -> None:
    """Raise SettingsError if more is asked for than translation into the pivot."""
    for name, value in FIXED.items():
        if getattr(settings, name) != value:
            raise SettingsError(
                "the architecture pivot is trained by translation into the pivot language alone:"
                f" set training.{name} to {value}"
            )


class PivotLearner(EncoderLearner):
    """Encoders and the decoder of the pivot, which has its own vocabulary and vectors."""

    def __init__(
        self,
        network: Network,
        cell: str,
        counts: Integers,
        settings: TrainingSettings,
        one_language: bool = False,
    ) -> None:
        """``counts (v,)``: how often each entry of the pivot's vocabulary is written.

        With ``one_language`` both sides are read as the source is.
        """
        super().__init__(network, settings, one_language)
        self.add_decoder(cell, counts, languages=1)
        self.pieces = piece_vectors(len(counts), network.piece_tables()[0].embedding_dim)
        self.pieces.sparse = settings.optimiser == "lazy-adam"

    def forward(self, batch: PivotBatch) -> dict[str, Tensor]:
        """The cross-entropies in nats a token, and penalties, unweighted, as scalars."""
        losses = {}
        for side, (sentences, pivots) in enumerate(batch):
            vectors = self.encode(sentences, side)
            losses[LOSSES[side]] = self.written(vectors, pivots, self.pieces, 0)
        return losses | self.penalties()

    def weight(self, name: str) -> float:
        """See :meth:`EncoderLearner.weight`; both cross-entropies count as translation."""
        return super().weight("translation" if name in LOSSES else name)


def pivot_stream(
    corpora: tuple[Corpus, Corpus],
    settings: TrainingSettings,
    views: tuple[str, ...],
    device: torch.device,
) -> Stream:
    """Mini-batches of both kinds, ``batch_size`` pairs of each, on a device.

    *corpora* are sources with pivots, and targets with pivots. In a run as many pairs are read as
    both have together, times ``passes``: of the smaller one each pair more often. Encoders read the
    *views*.
    """

    def kind(side: int, skip: int) -> Iterator[tuple[Inputs, Padded]]:
        corpus = corpora[side]
        for rows in corpus.batches(settings.batch_size, settings.seed + side, skip):
            pivots = padded(corpus.target.views[PIECES], rows, device)
            yield inputs_of(corpus.source, rows, views, device), Padded(*pivots)

    def batches(skip: int) -> Iterator[PivotBatch]:
        return zip(kind(0, skip), kind(1, skip), strict=True)

    rows = sum(float(corpus.weights.sum()) for corpus in corpora) / len(corpora)
    updates, interval = run_length(settings, rows)
    return Stream(updates, batches, interval)


class PivotTraining(EncoderTraining):
    """A run of the architecture pivot.

    The pivot has a segmentation and a vocabulary of its own, which go with the decoder: nothing
    of that language is in the model folder.
    """

    def read(self) -> None:
        """See :meth:`TrainingRun.read`."""
        pivot = self.files.pivot
        assert pivot is not None, "check_files has seen to it"
        check_settings(self.config.training)
        of_source, of_target = (read_pairs(files) for files in pivot.sides)
        self.config = self.given.fitting(sum(of_source.weights + of_target.weights) / 2)
        self.processor = self._make_processor(of_source.sources, of_target.sources)
        self.pivot = TextProcessor.learn(
            (of_source.targets + of_target.targets, []),
            (pivot.language, pivot.language),
            self.config.normalisation,
            self.config.segmentation,
        )
        self.corpora = self._make_corpus(of_source, 0), self._make_corpus(of_target, 1)
        self._sample = distinct_sample(
            of_source.sources, of_target.sources, self.config.training.seed
        )

    def _make_corpus(self, pairs: PairTexts, side: int) -> Corpus:
        """Pairs with the pivot, as ids."""
        language = self.pivot.languages[0]
        written = Sentences(self.pivot.ids(pairs.targets, language))
        texts = self.as_ids(pairs.sources, self.processor.languages[side])
        corpus = Corpus(texts, written, np.array(pairs.weights))
        return self.short(corpus, f"{self.processor.languages[side]}-{language} ")

    def make_learner(self) -> tuple[EncoderLearner, Stream]:
        """See :meth:`TrainingRun.make_learner`."""
        cell, training = self.config.shape.cell, self.config.training
        counts = self._predicted_counts()
        model = PivotLearner(self.network, cell, counts, training, self._one_language)
        views = self.network.views
        return model.to(self._device), pivot_stream(self.corpora, training, views, self._device)

    def _predicted_counts(self) -> Integers:
        """Times the decoder predicts each id of the pivot's vocabulary, ``(v,)``."""
        counts = np.zeros(len(self.pivot.vocabulary), dtype=np.int64)
        counts[len(RESERVED) :] = self.pivot.vocabulary.counts.sum(axis=1)
        counts[END] = sum(map(len, self.corpora))
        return counts
