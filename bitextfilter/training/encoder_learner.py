"""Encoders as they are trained: with noise, penalties, and a decoder that they share."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bitextfilter.encoders.network import Inputs, Network, Padded
from bitextfilter.errors import SettingsError
from bitextfilter.models.recurrent import RecurrentDecoder, padding_mask
from bitextfilter.text.processor import PIECES
from bitextfilter.text.vocabulary import END
from bitextfilter.training.learner import Learner
from bitextfilter.training.output import OutputLayer
from bitextfilter.training.regularisation import (
    drift_penalty,
    scrambled,
    variational_mask,
    weight_penalty,
)
from bitextfilter.training.settings import TrainingSettings

__all__ = ["EncoderLearner", "VariationalDropout"]


class VariationalDropout(nn.Module):
    """Dropout of the same numbers at every position of a sentence (Gal & Ghahramani 2016)."""

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
    """An encoder network with what only its training needs, whatever the objectives."""

    network: Network
    settings: TrainingSettings

    def __init__(self, network: Network, settings: TrainingSettings, one_language: bool) -> None:
        """With ``one_language`` both sides are read as the source is."""
        super().__init__()
        self.network = network
        self.settings = settings
        self.read_as = (0, 0) if one_language else (0, 1)
        rate = settings.dropout
        network.dropout = nn.Dropout(rate)
        if settings.dropout_kind == "variational":
            network.dropout = VariationalDropout(rate)
        for table in network.piece_tables():  # of trigrams, a mini-batch holds most
            table.sparse = settings.optimiser == "lazy-adam"
        for number, table in enumerate(network.tables() if settings.drift else ()):
            self.register_buffer(f"initial{number}", table.weight.detach().clone())

    def add_decoder(self, cell: str, counts: NDArray[np.int64], languages: int) -> None:
        """Make a decoder of so many languages, each with a begin mark of its own.

        ``counts (v,)``: how often it writes each id, for the samples. SettingsError if the
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
            pieces = sentences[PIECES]
            mixed = scrambled(
                pieces.ids, pieces.lengths, self.settings.scramble, torch.default_generator
            )
            sentences = {**sentences, PIECES: Padded(mixed, pieces.lengths)}
        vectors: Tensor = self.network(sentences, self.read_as[side])
        return vectors

    def written(
        self, embedding: Tensor, sentences: Padded, table: nn.Embedding, language: int
    ) -> Tensor:
        """Cross-entropy of writing sentences from vectors, in nats a token, end marks included.

        Args:
            embedding: vectors ``(n, d)``, the decoder's initial states.
            sentences: what it is to write, ``(n, t)``.
            table: the vectors of what it has written so far.
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
        """What the parameters cost by themselves."""
        tables, penalties = self.network.tables(), {}
        if self.settings.drift:
            each = [
                drift_penalty(table.weight, self.get_buffer(f"initial{number}"), 1.0)
                for number, table in enumerate(tables)
            ]
            penalties["drift"] = torch.stack(each).sum()
        if self.settings.composition:
            aside = {id(table.weight) for table in tables}
            rest = [p for p in self.network.parameters() if id(p) not in aside]
            if rest:
                penalties["composition"] = weight_penalty(rest, 1.0)
        return penalties

    def weighted(self, losses: dict[str, Tensor]) -> Tensor:
        """The one number to minimise: each objective times its weight."""
        return torch.stack([self.weight(name) * loss for name, loss in losses.items()]).sum()

    def weight(self, name: str) -> float:
        """The weight of an objective or a penalty."""
        weight: float = getattr(self.settings, name)
        return weight
