"""Token-weighted averaging of subword vectors: the fast encoder and the baseline."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from bitextfilter.encoders.network import Folded, Network, check_sizes
from bitextfilter.models.recurrent import mean_pool, padding_mask


@dataclass(frozen=True)
class AveragingSettings:
    """Shape of an averaging encoder: ``embedding`` is the width of a vector, and its ``dim``."""

    embedding: int = 512

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check_sizes(embedding=self.embedding)

    @property
    def dim(self) -> int:
        """Width of a sentence vector."""
        return self.embedding


def mean_of_rows(table: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
    """Mean of the rows ``(n, t)`` of a table ``(u, e)``, each over its own length → ``(n, e)``."""
    inside = rows[padding_mask(lengths, rows.shape[1])]
    return embedding_bag(inside, table, lengths.cumsum(0) - lengths, mode="mean")


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
        return vectors * self.log_weight[ids].exp()[..., None]


class AveragingNetwork(Network):
    """Weighted average of subword vectors; one table serves both languages."""

    def __init__(self, settings: AveragingSettings, vocabulary: int) -> None:
        super().__init__(vocabulary, settings.embedding)
        self.average = WeightedAverage(vocabulary)

    def fold(self, tokens: Tensor, side: int) -> Folded:
        """See :meth:`Network.fold`."""
        weighted = self.average.weighted(self.embedding(tokens), tokens)
        return lambda rows, lengths: mean_of_rows(weighted, rows, lengths)

    def forward(self, ids: Tensor, lengths: Tensor, side: int) -> Tensor:
        """Padded ids ``(n, t)``, lengths ``(n,)`` → sentence vectors ``(n, dim)``.

        ``side`` (0 source, 1 target) makes no difference here.
        """
        average: Tensor = self.average(self.dropout(self.embedding(ids)), ids, lengths)
        return average
