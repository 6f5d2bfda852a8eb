"""Encoders as they are trained: with noise, penalties, and a shared decoder.

Letters: n sentences, t positions, w width of a subword vector.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bitextfilter.encoders.base import Inputs, Network, Padded
from bitextfilter.errors import SettingsError
from bitextfilter.models.layers import padding_mask
from bitextfilter.models.recurrent import RecurrentDecoder
from bitextfilter.text.ragged import PIECES
from bitextfilter.text.vocabulary import END
from bitextfilter.training.loop import Learner
from bitextfilter.training.objectives import OutputLayer
from bitextfilter.training.settings import TrainingSettings


def scrambled(
    ids: Tensor, lengths: Tensor, probability: float, generator: torch.Generator
) -> Tensor:
    """Put the tokens of some sentences into random order (Wieting & Gimpel 2018, section 4).

    *ids* are padded, ``(n, t)``, and so is the new tensor; padding stays behind a sentence's end.
    *probability* is that of each sentence to be scrambled, theirs is 0.3. The *generator* may lie
    on another device.
    """
    count, longest = ids.shape
    chance = torch.rand(count, longest + 1, generator=generator, device=generator.device)
    chance = chance.to(ids.device)
    position = torch.arange(longest, device=ids.device)
    moved = (chance[:, :1] < probability) & (position < lengths[:, None])
    # Tokens that move have keys below 1, all others keep their place behind or among themselves.
    order = torch.where(moved, chance[:, 1:], 1.0 + position).argsort(dim=1, stable=True)
    return ids.gather(1, order)


def variational_mask(n: int, width: int, rate: float, generator: torch.Generator) -> Tensor:
    """Dropout mask that is the same at every position of a sentence (Gal & Ghahramani 2016).

    ``(n, 1, width)``: 0 for a share of *rate*, in [0, 1), of the numbers, else 1 / (1 - rate), so
    that the expected value stays. It lies on the generator's device.
    """
    kept = torch.rand(n, 1, width, generator=generator, device=generator.device) >= rate
    return kept / (1 - rate)


def squared_norm(parameters: Iterable[Tensor]) -> Tensor:
    """Sum of the squares of at least one parameter."""
    return torch.stack([parameter.square().sum() for parameter in parameters]).sum()


class VariationalDropout(nn.Module):
    """Dropout by :func:`variational_mask`."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, vectors: Tensor) -> Tensor:
        """``(n, t, w)`` → the same shape."""
        if not self.training or not self.rate:
            return vectors
        mask = variational_mask(len(vectors), vectors.shape[2], self.rate, torch.default_generator)
        return vectors * mask.to(vectors)


class EncoderLearner(Learner):
    """An encoder network with the parts that only its training needs, for any objectives."""

    network: Network
    settings: TrainingSettings

    def __init__(self, network: Network, settings: TrainingSettings, one_language: bool) -> None:
        """With ``one_language`` both sides are read as the source is."""
        super().__init__()
        self.network = network
        self.settings = settings
        self.read_as = (0, 0) if one_language else (0, 1)
        dropout = VariationalDropout if settings.dropout_kind == "variational" else nn.Dropout
        network.dropout = dropout(settings.dropout)
        for table in network.piece_tables():  # of trigrams, a mini-batch holds most
            table.sparse = settings.optimiser == "lazy-adam"
        for number, table in enumerate(network.tables() if settings.drift else ()):
            self.register_buffer(f"initial{number}", table.weight.detach().clone())

    def add_decoder(self, cell: str, counts: NDArray[np.int64], languages: int) -> None:
        """Make a decoder of several languages, each with a begin mark of its own.

        ``counts (v,)``: times it writes each id, for the samples. SettingsError if the
        network has no vectors of pieces.
        """
        if not self.network.piece_tables():
            raise SettingsError(
                "a decoder needs vectors of pieces, and this architecture has none; set"
                " training.translation and training.autoencoding to 0, or add a part that"
                " reads pieces, such as word"
            )
        width = self.network.piece_tables()[0].embedding_dim
        self.decoder = RecurrentDecoder(cell, width, self.network.dim)
        self.begin = nn.Parameter(torch.randn(languages, width) * width**-0.5)
        self.output = OutputLayer(self.network.dim, counts, self.settings)

    def encode(self, sentences: Inputs, side: int) -> Tensor:
        """Sentence vectors ``(n, d)`` of one side, with the noise of training while it trains."""
        if self.training and self.settings.scramble and PIECES in sentences:
            ids, lengths = sentences[PIECES].ids, sentences[PIECES].lengths
            mixed = scrambled(ids, lengths, self.settings.scramble, torch.default_generator)
            sentences = {**sentences, PIECES: Padded(mixed, lengths)}
        vectors: Tensor = self.network(sentences, self.read_as[side])
        return vectors

    def written(
        self, embedding: Tensor, sentences: Padded, table: nn.Embedding, language: int
    ) -> Tensor:
        """Cross-entropy of writing sentences from vectors, in nats a token, end marks included.

        Args:
            embedding: vectors ``(n, d)``, the decoder's initial states.
            sentences: its targets, ``(n, t)``.
            table: vectors of its inputs, the tokens before.
            language: whose begin mark it starts from.
        """
        ids, lengths = sentences.ids, sentences.lengths
        first = self.begin[language].expand(len(ids), 1, -1)
        states = self.decoder(embedding, torch.cat([first, table(ids)], dim=1))
        targets = torch.cat([ids, torch.zeros_like(ids[:, :1])], dim=1)
        targets = targets.scatter(1, lengths[:, None], END)
        inside = padding_mask(lengths + 1, targets.shape[1])
        loss: Tensor = self.output(states[inside], targets[inside])
        return loss

    def penalties(self) -> dict[str, Tensor]:
        """The penalties of the parameters themselves, unweighted.

        ‖W_initial − W‖² of the vectors of tokens and ‖W_c‖² of all other parameters (Wieting,
        Mallinson & Gimpel 2017; their weights are 0 in all their experiments).
        """
        tables, penalties = self.network.tables(), {}
        if self.settings.drift:
            penalties["drift"] = squared_norm(
                table.weight - self.get_buffer(f"initial{number}")
                for number, table in enumerate(tables)
            )
        if self.settings.composition:
            aside = {id(table.weight) for table in tables}
            rest = [p for p in self.network.parameters() if id(p) not in aside]
            if rest:
                penalties["composition"] = squared_norm(rest)
        return penalties

    def weighted(self, losses: dict[str, Tensor]) -> Tensor:
        """The one number to minimise: each objective times its weight."""
        return torch.stack([self.weight(name) * loss for name, loss in losses.items()]).sum()

    def weight(self, name: str) -> float:
        """The weight of an objective or a penalty."""
        return float(getattr(self.settings, name))
