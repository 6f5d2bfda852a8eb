"""Encoders combined from parts by an expression such as ``word+lstm,trigram``, and averaging.

Letters: n sentences, t positions, u distinct tokens, e width of a token vector and of a part.

``+`` adds the vectors of parts, ``,`` concatenates sums (Wieting & Gimpel 2018); all parts are
trained together. Each view has one table of token vectors, which its parts share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag

from bitextfilter.encoders.base import CachedNetwork, Inputs, Network, Padded, Tokens, piece_vectors
from bitextfilter.errors import SettingsError
from bitextfilter.models.layers import mean_pool, padding_mask, rows_of
from bitextfilter.models.pooling import Standardisation
from bitextfilter.models.registry import Architecture
from bitextfilter.settings import Settings, setting
from bitextfilter.text.ragged import PIECES, TRIGRAMS

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
    """One way from the token vectors of a ``view`` to a sentence vector."""

    view = PIECES
    recurrent = False

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
    """WORD: the mean of the vectors (Wieting & Gimpel 2018; AVG, WA in the other papers)."""

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        return mean_pool(vectors, sentences.lengths)

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        return cached_mean(table, tokens)


class TrigramAverage(Average):
    """TRIGRAM: the mean of the vectors of the words' character trigrams."""

    view = TRIGRAMS


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


PARTS = {
    "word": f"{__name__}:Average",
    "trigram": f"{__name__}:TrigramAverage",
    "weighted": f"{__name__}:Weighted",
    "lstm": "bitextfilter.encoders.recurrent_encoders:Recurrent",
    "blstm": "bitextfilter.encoders.recurrent_encoders:Bidirectional",
    "max-blstm": "bitextfilter.encoders.recurrent_encoders:MaxPooled",
    "gran": "bitextfilter.encoders.recurrent_encoders:Gated",
    "gran-gru": "bitextfilter.encoders.recurrent_encoders:GatedByLeakyGru",
}
"""The parts by name; a module is imported when a part of it is asked for."""


SHARING = ("shared", "separate")


@dataclass(frozen=True)
class CombinationSettings(Settings):
    """Shape of a combination: ``embedding`` is the width of token vectors and of every part.

    ``tables`` and ``composition``: the two languages share the token vectors, and the weights of
    the parts, or each has its own. A separate table has a row for every piece of the common
    vocabulary.
    """

    embedding: int = setting(300, "width of a token vector, and of each part", within=">= 1")
    tables: str = setting("shared", "token vectors of the two languages", choices=SHARING)
    composition: str = setting("shared", "weights of the parts", choices=SHARING)
    gain: float = setting(
        0.0,
        "factor of recurrent parts at the start; each of their numbers has a learnt one. 0: none",
        within=">= 0",
    )
    standardise: bool = setting(
        False,
        "each number of a recurrent part less its mean, divided by its standard deviation, both of"
        " its language (batch normalisation, Ioffe & Szegedy 2015), and by the root of the width:"
        " of length 1, on average",
    )


def parse(expression: str) -> tuple[tuple[str, ...], ...]:
    """Parse an expression into concatenated sums of parts.

    Raises SettingsError, which lists the parts and the grammar, for anything else.
    """
    sums = tuple(
        tuple(part.strip() for part in added.split("+")) for added in expression.split(",")
    )
    names = [name for added in sums for name in added]
    wrong = next((name for name in names if name not in PARTS), None)
    if wrong is None and len(set(names)) == len(names):
        return sums
    problem = "a part stands twice" if wrong is None else f"no part is called {wrong!r}"
    raise SettingsError(
        f"architecture {expression!r}: {problem}; it is autoencoder, pivot, averaging,"
        f" or parts ({', '.join(PARTS)}), added with + and side by side with a comma:"
        " word+lstm,trigram"
    )


def part_type(name: str) -> type[EncoderPart]:
    """Return the class of one of ``PARTS``."""
    part: type[EncoderPart] = resolve_name(PARTS[name])
    return part


def views_of(expression: str) -> tuple[str, ...]:
    """Return the views that the parts of an expression read."""
    read = {part_type(name).view for added in parse(expression) for name in added}
    return tuple(view for view in (PIECES, TRIGRAMS) if view in read)


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
        types = {name: part_type(name) for added in self._sums for name in added}
        self.sequences = tuple({part.view for part in types.values() if part.recurrent})
        if not self.sequences:
            self.block_rows = 256
        # Modules of torch make tables and parts known to it, but lose their types: so dicts, too.
        self._tables = [
            {view: piece_vectors(sizes[view], width) for view in self.views}
            for _ in range(2 if settings.tables == "separate" else 1)
        ]
        self.vectors = nn.ModuleList(map(nn.ModuleDict, self._tables))
        self._parts = [
            {name: part(sizes[part.view], width) for name, part in types.items()}
            for _ in range(2 if settings.composition == "separate" else 1)
        ]
        self.parts = nn.ModuleList(map(nn.ModuleDict, self._parts))
        scaled = [name for name, part in types.items() if part.recurrent and settings.gain]
        self._gains = [
            {name: nn.Parameter(torch.full((width,), settings.gain)) for name in scaled}
            for _ in self._parts
        ]
        self.gains = nn.ModuleList(map(nn.ParameterDict, self._gains))
        even = [name for name, part in types.items() if part.recurrent and settings.standardise]
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
            rows, table = inputs[part.view], tables[part.view]
            # Where no dropout changes the vectors, they need not be gathered to be averaged.
            if isinstance(part, Average) and not (self.training and rate > 0):
                encoded[name] = mean_of_rows(
                    table.weight, rows.ids, rows.lengths, sparse=table.sparse
                )
                continue
            if part.view not in vectors:
                vectors[part.view] = self.dropout(table(rows.ids))
            encoded[name] = self._scaled(name, part(vectors[part.view], rows), side)
        return self._combined(encoded)

    def prepare_tokens(self, tokens: Mapping[str, Tokens], side: int) -> CachedNetwork:
        """See :meth:`Network.prepare_tokens`."""
        tables, parts = self._tables_and_parts(side)
        cached = {
            name: (part.view, part.prepare_tokens(tables[part.view].weight, tokens[part.view]))
            for name, part in parts.items()
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


@dataclass(frozen=True)
class AveragingSettings(Settings):
    """Shape of an averaging encoder: ``embedding`` is the width of a vector, and its ``dim``."""

    embedding: int = setting(512, "width of subword and sentence vectors", within=">= 1")

    @property
    def dim(self) -> int:
        """Width of a sentence vector."""
        return self.embedding


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


AVERAGING = Architecture(AveragingSettings, AveragingNetwork)
