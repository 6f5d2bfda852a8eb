"""The encoders of the shared-decoder bilingual autoencoder (Kim et al. 2019, section 3).

A bidirectional recurrent network a language over one table of subword vectors; the sentence
embedding is the element-wise maximum over the states (eq. 3, 6). The decoder they share, of these
languages (``training/autoencoder.py``) or of a third (``training/pivot.py``), exists only in
training and is not part of a model folder.

With ``average`` (ours, not the paper's) the weighted average of the subword vectors is added to
the scaled maximum: the network starts as an averaging encoder and learns word order on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bitextfilter.encoders.averaging import WeightedAverage, mean_of_rows
from bitextfilter.encoders.base import (
    CachedNetwork,
    Inputs,
    Network,
    Tokens,
    piece_vectors,
)
from bitextfilter.errors import SettingsError
from bitextfilter.models.layers import max_pool
from bitextfilter.models.recurrent import CELLS, BidirectionalRecurrent, CachedRecurrent
from bitextfilter.settings import Settings, setting
from bitextfilter.text.ragged import PIECES


@dataclass(frozen=True)
class AutoencoderSettings(Settings):
    """Shape of the recurrent encoders.

    ``hidden`` is the width of one direction, so a sentence vector has ``2 * hidden`` numbers
    (Kim et al. 2019: 512, so 256 a direction).
    """

    embedding: int = setting(512, "width of a subword vector", within=">= 1")
    hidden: int = setting(
        256, "width of one direction; a sentence vector is twice as wide", within=">= 1"
    )
    layers: int = setting(1, "recurrent layers", within=">= 1")
    cell: str = setting("lstm", "the kind of recurrent unit", choices=CELLS)
    average: bool = setting(
        False,
        "add the weighted average of the subword vectors to the scaled maximum; `embedding` must"
        " be twice `hidden`",
    )

    def __post_init__(self) -> None:
        """Raise SettingsError for values that do not fit."""
        super().__post_init__()
        if self.average and self.embedding != self.dim:
            raise SettingsError(
                f"average adds word vectors to the states: embedding ({self.embedding})"
                f" must be twice hidden ({self.hidden})"
            )

    @property
    def dim(self) -> int:
        """Width of a sentence vector."""
        return 2 * self.hidden


class AutoencoderNetwork(Network):
    """Two max-pooled bidirectional encoders over one table of subword vectors."""

    def __init__(self, settings: AutoencoderSettings, sizes: Mapping[str, int]) -> None:
        """``sizes``: how many ids each view has."""
        super().__init__(settings.dim)
        self.settings = settings
        self.embedding = piece_vectors(sizes[PIECES], settings.embedding)
        shape = (settings.cell, settings.embedding, settings.hidden, settings.layers)
        self.encoders = nn.ModuleList(BidirectionalRecurrent(*shape) for _ in range(2))
        if settings.average:
            self.average = WeightedAverage(sizes[PIECES])
            self.gain = nn.Parameter(torch.full((settings.dim,), 0.1))
            self.offset = nn.Parameter(torch.zeros(settings.dim))

    def piece_tables(self) -> tuple[nn.Embedding, ...]:
        """See :meth:`Network.piece_tables`."""
        return (self.embedding,)

    def prepare_tokens(self, tokens: Mapping[str, Tokens], side: int) -> CachedNetwork:
        """See :meth:`Network.prepare_tokens`."""
        ids = tokens[PIECES].ids
        vectors = self.embedding(ids)
        encoder = self.encoders[side]
        assert isinstance(encoder, BidirectionalRecurrent)
        cached = CachedRecurrent(encoder, vectors, self.threads)
        if not self.settings.average:
            return lambda inputs: cached.max_pooled(inputs[PIECES].ids, inputs[PIECES].lengths)
        weighted = self.average.weighted(vectors, ids)

        def encode(inputs: Inputs) -> Tensor:
            rows, lengths = inputs[PIECES].ids, inputs[PIECES].lengths
            average = mean_of_rows(weighted, rows, lengths)
            return average + self.gain * cached.max_pooled(rows, lengths) + self.offset

        return encode

    def forward(self, inputs: Inputs, side: int) -> Tensor:
        """See :meth:`Network.forward`."""
        ids, lengths = inputs[PIECES].ids, inputs[PIECES].lengths
        vectors = self.dropout(self.embedding(ids))
        pooled = max_pool(self.encoders[side](vectors, lengths), lengths)
        if not self.settings.average:
            return pooled
        average: Tensor = self.average(vectors, ids, lengths)
        return average + self.gain * pooled + self.offset
