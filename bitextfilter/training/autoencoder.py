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

from bitextfilter.encoders.network import Network
from bitextfilter.models.recurrent import RecurrentDecoder, padding_mask
from bitextfilter.text.vocabulary import END
from bitextfilter.training.objectives import ranking_loss, sampled_softmax_loss, softmax_loss
from bitextfilter.training.settings import TrainingSettings

SAMPLING_POWER = 0.75
"""Samples follow the unigram counts to this power (Mikolov et al. 2013, section 2.2)."""
ADAPTIVE_CUTOFFS = (2000, 10000)
LARGEST_SCALE = 100.0
"""Bound of the learnt scale of the cosines (Radford et al. 2021, section 2.5)."""


@dataclass(frozen=True)
class Padded:
    """Sentences of one side: ids ``(n, t)`` padded with 0, and lengths ``(n,)``."""

    ids: Tensor
    lengths: Tensor

    def every(self, step: int) -> Padded:
        """Every ``step``-th sentence."""
        return Padded(self.ids[::step], self.lengths[::step])


@dataclass(frozen=True)
class Batch:
    """One mini-batch: pairs, which of them share a text, and what else is autoencoded."""

    sides: tuple[Padded, Padded]
    same: Tensor
    monolingual: dict[int, Padded]
    """By side; a side without an entry autoencodes its half of the pairs."""


class OutputLayer(nn.Module):
    """From decoder states to the loss of the words they should predict."""

    def __init__(self, dim: int, counts: NDArray[np.int64], settings: TrainingSettings) -> None:
        super().__init__()
        self.settings = settings
        size = len(counts)
        if settings.softmax == "adaptive":
            cutoffs = [c for c in ADAPTIVE_CUTOFFS if c < size - 1] or [max(1, size // 2)]
            self.layer: nn.Module = nn.AdaptiveLogSoftmaxWithLoss(dim, size, cutoffs)
            return
        self.layer = nn.Linear(dim, size)
        share = torch.from_numpy((counts + 1.0) ** SAMPLING_POWER)
        share = share / share.sum()
        self.register_buffer("share", share, persistent=False)
        expected = (share * settings.samples).log().float()
        self.register_buffer("log_expected", expected, persistent=False)

    def forward(self, states: Tensor, targets: Tensor) -> Tensor:
        """``(m, d)``, ``(m,)`` → mean loss in nats a token; sampled only while training."""
        layer = self.layer
        if isinstance(layer, nn.AdaptiveLogSoftmaxWithLoss):
            return layer(states.float(), targets).loss  # type: ignore[no-any-return]
        assert isinstance(layer, nn.Linear)
        if self.settings.softmax == "full" or not self.training:
            return softmax_loss(states, targets, layer.weight, layer.bias)
        share = self.get_buffer("share")
        samples = torch.multinomial(share, self.settings.samples, replacement=True)
        return sampled_softmax_loss(
            states, targets, (layer.weight, layer.bias), samples, self.get_buffer("log_expected")
        )


class BilingualTraining(nn.Module):
    """An encoder network with what only its training needs."""

    def __init__(
        self,
        network: Network,
        dim: int,
        cell: str,
        counts: NDArray[np.int64],
        settings: TrainingSettings,
    ) -> None:
        """``counts (v,)``: how often each vocabulary entry is predicted, for the samples."""
        super().__init__()
        self.network = network
        self.settings = settings
        network.dropout.p = settings.dropout
        if settings.ranking:
            self.log_scale = nn.Parameter(torch.tensor(math.log(settings.scale)))
        if settings.decodes:
            width = network.embedding.embedding_dim
            self.decoder = RecurrentDecoder(cell, width, dim)
            self.begin = nn.Parameter(torch.randn(2, width) * width**-0.5)
            self.output = OutputLayer(dim, counts, settings)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The unweighted objectives that take part, by name, as scalars."""
        settings = self.settings
        vectors = [self._encode(side, number) for number, side in enumerate(batch.sides)]
        losses: dict[str, list[Tensor]] = {}
        if settings.ranking:
            scale = self.log_scale.exp().clamp(max=LARGEST_SCALE)
            loss = ranking_loss(vectors[0], vectors[1], scale, settings.margin, batch.same)
            losses["ranking"] = [loss]
        for side in settings.decoded_sides if settings.decodes else ():
            for name, loss in self._decoding(batch, vectors, side).items():
                losses.setdefault(name, []).append(loss)
        return {name: torch.stack(values).mean() for name, values in losses.items()}

    def _decoding(self, batch: Batch, vectors: list[Tensor], side: int) -> dict[str, Tensor]:
        """Translation into and autoencoding of one side, over the decoded share of the pairs."""
        settings = self.settings
        every = round(1 / settings.decoded_share)
        written = batch.sides[side].every(every)
        losses = {}
        if settings.translation:
            losses["translation"] = self._decoded(vectors[1 - side][::every], written, side)
        if settings.autoencoding and side in batch.monolingual:
            other = batch.monolingual[side].every(every)
            losses["autoencoding"] = self._decoded(self._encode(other, side), other, side)
        elif settings.autoencoding:
            losses["autoencoding"] = self._decoded(vectors[side][::every], written, side)
        return losses

    def weighted(self, losses: dict[str, Tensor]) -> Tensor:
        """The one number to minimise: each objective times its weight."""
        return torch.stack([getattr(self.settings, n) * loss for n, loss in losses.items()]).sum()

    def _encode(self, sentences: Padded, side: int) -> Tensor:
        vectors: Tensor = self.network(sentences.ids, sentences.lengths, side)
        return vectors

    def _decoded(self, embedding: Tensor, sentences: Padded, side: int) -> Tensor:
        """Loss of writing ``sentences`` from ``embedding (n, d)``, the end mark included."""
        ids, lengths = sentences.ids, sentences.lengths
        first = self.begin[side].expand(len(ids), 1, -1)
        states = self.decoder(embedding, torch.cat([first, self.network.embedding(ids)], dim=1))
        targets = torch.cat([ids, torch.zeros_like(ids[:, :1])], dim=1)
        targets = targets.scatter(1, lengths[:, None], END)
        inside = padding_mask(lengths + 1, targets.shape[1])
        loss: Tensor = self.output(states[inside], targets[inside])
        return loss
