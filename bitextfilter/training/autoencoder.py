"""The whole network as it is trained: the encoders, the decoder they share, the objectives.

Every mini-batch holds as many translations as autoencodings (Kim et al. 2019, section 3.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bitextfilter.encoders.base import Inputs, Network, Padded
from bitextfilter.text.ragged import PIECES
from bitextfilter.training.encoder_learner import EncoderLearner
from bitextfilter.training.negatives import hardest_negatives, random_partners, taken
from bitextfilter.training.objectives import (
    HardNegatives,
    contrastive_loss,
    margin_loss,
    ranking_loss,
)
from bitextfilter.training.settings import TrainingSettings

LARGEST_SCALE = 100.0
"""Bound of the learnt scale of the cosines (Radford et al. 2021, section 2.5)."""


@dataclass(frozen=True)
class NegativeBatch:
    """A negative for each pair of a mini-batch, found among other pairs, if there is one."""

    sentences: Inputs
    present: Tensor


@dataclass(frozen=True)
class Batch:
    """One mini-batch: pairs, a matrix of those that share a text, and monolingual sentences."""

    sides: tuple[Inputs, Inputs]
    same: Tensor
    monolingual: dict[int, Inputs]
    """By side; a side without an entry autoencodes its half of the pairs."""
    negatives: tuple[NegativeBatch, NegativeBatch] | None = None
    """Of the sources and of the targets; None: they are searched for among the pairs."""


class BilingualTraining(EncoderLearner):
    """An encoder network with the parts that only its training needs."""

    def __init__(
        self,
        network: Network,
        cell: str,
        counts: NDArray[np.int64],
        settings: TrainingSettings,
        one_language: bool = False,
    ) -> None:
        """``counts (v,)``: how often each vocabulary entry is predicted, for the samples.

        With ``one_language`` both sides of a pair are read as the source is. SettingsError if
        the network has no vectors of pieces, and a decoder is to write them.
        """
        super().__init__(network, settings, one_language)
        if settings.ranking:
            self.log_scale = nn.Parameter(torch.tensor(math.log(settings.scale)))
        if settings.decodes:
            self.add_decoder(cell, counts, languages=2)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The unweighted objectives that take part, by name, as scalars."""
        settings = self.settings
        vectors = [self.encode(sentences, side) for side, sentences in enumerate(batch.sides)]
        losses: dict[str, list[Tensor]] = {}
        if settings.ranking:
            scale = self.log_scale.exp().clamp(max=LARGEST_SCALE)
            loss = ranking_loss(vectors[0], vectors[1], scale, settings.margin, batch.same)
            losses["ranking"] = [loss]
        if settings.triplet:
            losses["triplet"] = [self._triplet(batch, vectors)]
        if settings.contrastive:
            losses["contrastive"] = [self._contrastive(batch, vectors)]
        for side in settings.decoded_sides if settings.decodes else ():
            for name, loss in self._decoding(batch, vectors, side).items():
                losses.setdefault(name, []).append(loss)
        return {name: torch.stack(values).mean() for name, values in losses.items()} | (
            self.penalties()
        )

    def _triplet(self, batch: Batch, vectors: list[Tensor]) -> Tensor:
        """The margin loss, with negatives from the batch or searched for among the pairs."""
        settings = self.settings
        of_side = (0, 1) if settings.negatives == "same" else (1, 0)
        sides = (0, 1) if settings.triplet_sides == "both" else (0,)
        if batch.negatives is None:
            places = hardest_negatives(vectors[0], vectors[1], batch.same, settings.negatives)
            found = [taken(vectors[of_side[side]], places[side]) for side in sides]
        else:
            given = [batch.negatives[side] for side in sides]
            found = [
                HardNegatives(self.encode(each.sentences, of_side[side]), each.present)
                for side, each in zip(sides, given, strict=True)
            ]
        second = found[1] if len(found) > 1 else None
        return margin_loss(vectors[0], vectors[1], found[0], second, settings.triplet_margin)

    def _contrastive(self, batch: Batch, vectors: list[Tensor]) -> Tensor:
        """The contrastive loss; each pair has one random negative."""
        partners = random_partners(batch.same, torch.default_generator)
        found = partners >= 0
        source = torch.cat([vectors[0], vectors[0][found]])
        target = torch.cat([vectors[1], vectors[1][partners[found]]])
        positive = torch.arange(len(source), device=source.device) < len(vectors[0])
        return contrastive_loss(source, target, positive, self.settings.contrastive_margin)

    def _decoding(self, batch: Batch, vectors: list[Tensor], side: int) -> dict[str, Tensor]:
        """Translation into and autoencoding of one side, over the decoded share of the pairs."""
        settings = self.settings
        every = round(1 / settings.decoded_share)
        written = batch.sides[side][PIECES].every(every)
        losses = {}
        if settings.translation:
            losses["translation"] = self._decoded(vectors[1 - side][::every], written, side)
        if settings.autoencoding and side in batch.monolingual:
            other = {view: rows.every(every) for view, rows in batch.monolingual[side].items()}
            vectors_of_other = self.encode(other, side)
            losses["autoencoding"] = self._decoded(vectors_of_other, other[PIECES], side)
        elif settings.autoencoding:
            losses["autoencoding"] = self._decoded(vectors[side][::every], written, side)
        return losses

    def _decoded(self, embedding: Tensor, sentences: Padded, side: int) -> Tensor:
        """Loss of writing ``sentences`` of a side from ``embedding (n, d)``."""
        table = self.network.piece_tables()[-self.read_as[side]]
        return self.written(embedding, sentences, table, side)
