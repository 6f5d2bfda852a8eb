"""Networks combined from parts by an expression such as ``word+lstm,trigram``, and averaging.

Letters: n sentences, t positions, u distinct tokens, e width of a token vector and of a part.
``expressions.py`` has the expressions and settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pkgutil import resolve_name

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag

from bitextfilter.encoders.base import CachedNetwork, Inputs, Network, Padded, Tokens, piece_vectors
from bitextfilter.encoders.expressions import (
    PARTS,
    AveragingSettings,
    CombinationSettings,
    parse,
    views_of,
)
from bitextfilter.models.layers import mean_pool, padding_mask, rows_of
from bitextfilter.models.pooling import Standardisation
from bitextfilter.text.ragged import PIECES

CachedPart = Callable[[Padded], Tensor]
"""From places in the distinct tokens, padded, to ``(n, e)``."""


def mean_of_rows(table: Tensor, rows: Tensor, lengths: Tensor, *, sparse: bool = False) -> Tensor:
    """Mean of the rows ``(n, t)`` of a table ``(u, e)``, each over its own length → ``(n, e)``.

    No ``(n, t, e)`` tensor is made. *sparse*: the table's gradient is a sparse tensor, with each
    row once: much faster, where many rows are repeated, than to add up the rows of all tokens.
    """
    inside = rows[padding_mask(lengths, rows.shape[1])]
    starts = lengths.cumsum(0) - lengths
    if sparse:
        distinct, inside = inside.unique(return_inverse=True)  # type: ignore[no-untyped-call]
        table = embedding(distinct, table, sparse=True)
    return embedding_bag(inside, table, starts, mode="mean")


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
        return rows_of(self.log_weight[:, None], ids)[..., 0].exp()


def cached_mean(table: Tensor, tokens: Tokens, weights: Tensor | None = None) -> CachedPart:
    """Sum the vectors of each token's ids once, and return the average over sentences of tokens.

    ``table (v, e)``; ``weights (m,)``: the factor of each id's vector. A token counts as often as
    it has ids.
    """
    starts = tokens.lengths.cumsum(0) - tokens.lengths
    sums = embedding_bag(tokens.ids, table, starts, mode="sum", per_sample_weights=weights)
    counts = tokens.lengths.to(sums.dtype)[:, None]

    def encode(rows: Padded) -> Tensor:
        total = mean_of_rows(sums, rows.ids, rows.lengths)
        return total / mean_of_rows(counts, rows.ids, rows.lengths)

    return encode


class EncoderPart(nn.Module, ABC):
    """One way from the token vectors of a view to a sentence vector: see ``expressions.PARTS``."""

    def __init__(self, vocabulary: int, width: int) -> None:
        """Take the number of ids of its view, and the width of vectors."""
        super().__init__()

    @abstractmethod
    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """Token vectors ``(n, t, e)`` → ``(n, e)``."""

    @abstractmethod
    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """Compute once all that depends on a token alone; ``table (v, e)``: vectors of all ids."""


class Average(EncoderPart):
    """WORD, TRIGRAM: the mean of the vectors of pieces, or of the words' character trigrams.

    Wieting & Gimpel 2018; WORD is AVG, or WA, in the other papers.
    """

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        return mean_pool(vectors, sentences.lengths)

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        return cached_mean(table, tokens)


class Weighted(EncoderPart):
    """The mean of the vectors, each times a learnt scalar of its token."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__(vocabulary, width)
        self.average = WeightedAverage(vocabulary)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        average: Tensor = self.average(vectors, sentences.ids, sentences.lengths)
        return average

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        return cached_mean(table, tokens, self.average.weights(tokens.ids))


class CombinationNetwork(Network):
    """Parts, added and side by side."""

    def __init__(
        self, expression: str, settings: CombinationSettings, sizes: Mapping[str, int]
    ) -> None:
        """``sizes``: how many ids each view has. SettingsError for an unknown expression."""
        self._sums = parse(expression)
        width = settings.embedding
        super().__init__(width * len(self._sums))
        self.views = views_of(expression)
        kinds = {name: PARTS[name] for added in self._sums for name in added}
        types: dict[str, type[EncoderPart]]
        types = {name: resolve_name(part.network) for name, part in kinds.items()}
        self.sequences = tuple({part.view for part in kinds.values() if part.recurrent})
        if not self.sequences:
            self.block_rows = 256
        # Modules of torch make tables and parts known to it, but lose their types: so dicts, too.
        self._tables = [
            {view: piece_vectors(sizes[view], width) for view in self.views}
            for _ in range(2 if settings.tables == "separate" else 1)
        ]
        self.vectors = nn.ModuleList(map(nn.ModuleDict, self._tables))
        self._parts = [
            {name: part(sizes[kinds[name].view], width) for name, part in types.items()}
            for _ in range(2 if settings.composition == "separate" else 1)
        ]
        self.parts = nn.ModuleList(map(nn.ModuleDict, self._parts))
        scaled = [name for name, part in kinds.items() if part.recurrent and settings.gain]
        self._gains = [
            {name: nn.Parameter(torch.full((width,), settings.gain)) for name in scaled}
            for _ in self._parts
        ]
        self.gains = nn.ModuleList(map(nn.ParameterDict, self._gains))
        even = [name for name, part in kinds.items() if part.recurrent and settings.standardise]
        self._standards = [{name: Standardisation(width) for name in even} for _ in range(2)]
        self.standards = nn.ModuleList(map(nn.ModuleDict, self._standards))

    def tables(self) -> tuple[nn.Embedding, ...]:
        """See :meth:`Network.tables`."""
        return tuple(table for tables in self._tables for table in tables.values())

    def piece_tables(self) -> tuple[nn.Embedding, ...]:
        """See :meth:`Network.piece_tables`."""
        return tuple(tables[PIECES] for tables in self._tables if PIECES in tables)

    def _scaled(self, name: str, encoded: Tensor, side: int) -> Tensor:
        """Standardise the vectors ``(n, e)`` of a part, and multiply them by its gains."""
        if name in self._standards[side]:
            encoded = self._standards[side][name](encoded) * encoded.shape[1] ** -0.5
        gains = self._gains[side % len(self._gains)]
        return encoded * gains[name] if name in gains else encoded

    def _tables_and_parts(
        self, side: int
    ) -> tuple[dict[str, nn.Embedding], dict[str, EncoderPart]]:
        """Return the tables and the parts of a side; both sides may share them."""
        return self._tables[side % len(self._tables)], self._parts[side % len(self._parts)]

    def forward(self, inputs: Inputs, side: int) -> Tensor:
        """See :meth:`Network.forward`."""
        tables, parts = self._tables_and_parts(side)
        rate = getattr(self.dropout, "p", 0.0) or getattr(self.dropout, "rate", 0.0)
        vectors: dict[str, Tensor] = {}
        encoded: dict[str, Tensor] = {}
        for name, part in parts.items():
            view = PARTS[name].view
            rows, table = inputs[view], tables[view]
            # Where no dropout changes the vectors, they need not be gathered to be averaged.
            if isinstance(part, Average) and not (self.training and rate > 0):
                encoded[name] = mean_of_rows(
                    table.weight, rows.ids, rows.lengths, sparse=table.sparse
                )
                continue
            if view not in vectors:
                vectors[view] = self.dropout(table(rows.ids))
            encoded[name] = self._scaled(name, part(vectors[view], rows), side)
        return self._combined(encoded)

    def prepare_tokens(self, tokens: Mapping[str, Tokens], side: int) -> CachedNetwork:
        """See :meth:`Network.prepare_tokens`."""
        tables, parts = self._tables_and_parts(side)
        views = {name: PARTS[name].view for name in parts}
        cached = {
            name: (view, parts[name].prepare_tokens(tables[view].weight, tokens[view]))
            for name, view in views.items()
        }
        return lambda inputs: self._combined(
            {
                name: self._scaled(name, encode(inputs[view]), side)
                for name, (view, encode) in cached.items()
            }
        )

    def _combined(self, encoded: Mapping[str, Tensor]) -> Tensor:
        sums = [torch.stack([encoded[n] for n in added]).sum(0) for added in self._sums]
        return torch.cat(sums, dim=1)


class AveragingNetwork(Network):
    """Weighted average of subword vectors; one table serves both languages."""

    sequences = ()
    block_rows = 256

    def __init__(self, settings: AveragingSettings, sizes: Mapping[str, int]) -> None:
        """``sizes``: how many ids each view has."""
        super().__init__(settings.dim)
        self.embedding = piece_vectors(sizes[PIECES], settings.embedding)
        self.average = WeightedAverage(sizes[PIECES])

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
