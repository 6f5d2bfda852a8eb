"""The encoder ``averaging``: subword vectors averaged with learnt weights.

(The shipped models are ``word,trigram``: ``combination.py``.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from bitextfilter.encoders.base import (
    CachedNetwork,
    Inputs,
    Network,
    Padded,
    Tokens,
    piece_vectors,
)
from bitextfilter.models.layers import mean_pool, padding_mask
from bitextfilter.settings import Settings, setting
from bitextfilter.text.ragged import PIECES


@dataclass(frozen=True)
class AveragingSettings(Settings):
    """Shape of an averaging encoder: ``embedding`` is the width of a vector, and its ``dim``."""

    embedding: int = setting(512, "width of subword and sentence vectors", within=">= 1")

    @property
    def dim(self) -> int:
        """Width of a sentence vector."""
        return self.embedding


def mean_of_rows(table: Tensor, rows: Tensor, lengths: Tensor, *, sparse: bool = False) -> Tensor:
    """Mean of the rows ``(n, t)`` of a table ``(u, e)``, each over its own length → ``(n, e)``.

    No ``(n, t, e)`` tensor is made. *sparse*: the table's gradient is a sparse tensor.
    """
    inside = rows[padding_mask(lengths, rows.shape[1])]
    starts = lengths.cumsum(0) - lengths
    return embedding_bag(inside, table, starts, mode="mean", sparse=sparse)


class WeightedAverage(nn.Module):
    """Mean over a sentence of token vectors, each scaled by exp of a learnt scalar of its token."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.log_weight = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, vectors: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
        """``(n, t, e)``, ``(n, t)``, ``(n,)`` → ``(n, e)``."""
        return mean_pool(self.weighted(vectors, ids), lengths)

    def weighted(self, vectors: Tensor, ids: Tensor) -> Tensor:
        """Vectors ``(..., e)`` of tokens ``(...)``, each times its weight."""
        return vectors * self.weights(ids)[..., None]

    def weights(self, ids: Tensor) -> Tensor:
        """Weights of tokens."""
        return self.log_weight[ids].exp()


def cached_mean(
    table: Tensor, tokens: Tokens, weights: Tensor | None = None
) -> Callable[[Padded], Tensor]:
    """Sum the vectors of each token's ids once, to average over sentences as places of tokens.

    ``table (v, e)``; ``weights (m,)``: what the vector of each of the ids is multiplied by. A
    token counts as often as it has ids.
    """
    starts = tokens.lengths.cumsum(0) - tokens.lengths
    sums = embedding_bag(tokens.ids, table, starts, mode="sum", per_sample_weights=weights)
    counts = tokens.lengths.to(sums.dtype)[:, None]

    def encode(rows: Padded) -> Tensor:
        total = mean_of_rows(sums, rows.ids, rows.lengths)
        return total / mean_of_rows(counts, rows.ids, rows.lengths)

    return encode


class AveragingNetwork(Network):
    """Weighted average of subword vectors; one table serves both languages."""

    sequences = ()
    block_rows = 256

    def __init__(self, settings: AveragingSettings, sizes: Mapping[str, int]) -> None:
        """``sizes``: how many ids each view has."""
        super().__init__(settings.dim)
        self.embedding = piece_vectors(sizes[PIECES], settings.embedding)
        self.average = WeightedAverage(sizes[PIECES])

    def piece_tables(self) -> tuple[nn.Embedding, ...]:
        """See :meth:`Network.piece_tables`."""
        return (self.embedding,)

    def prepare_tokens(self, tokens: Mapping[str, Tokens], side: int) -> CachedNetwork:
        """See :meth:`Network.prepare_tokens`."""
        weights = self.average.weights(tokens[PIECES].ids)
        encode = cached_mean(self.embedding.weight, tokens[PIECES], weights)
        return lambda inputs: encode(inputs[PIECES])

    def forward(self, inputs: Inputs, side: int) -> Tensor:
        """See :meth:`Network.forward`; ``side`` makes no difference here."""
        ids, lengths = inputs[PIECES].ids, inputs[PIECES].lengths
        average: Tensor = self.average(self.dropout(self.embedding(ids)), ids, lengths)
        return average
