"""Encoders combined from parts by an expression such as ``word+lstm,trigram``.

Letters: n sentences, t positions, u distinct tokens, e width of a token vector and of a part.

``+`` adds the vectors of parts, ``,`` concatenates sums (Wieting & Gimpel 2018); all parts are
trained together. Each view has one table of token vectors, which its parts share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bitextfilter.encoders.averaging import WeightedAverage, cached_mean, mean_of_rows
from bitextfilter.encoders.base import CachedNetwork, Inputs, Network, Padded, Tokens, piece_vectors
from bitextfilter.errors import SettingsError
from bitextfilter.models.layers import max_pool, mean_pool, padding_mask
from bitextfilter.models.recurrent import (
    BidirectionalRecurrent,
    CachedDirection,
    CachedRecurrent,
    LeakyGru,
    in_blocks,
    reverse_padded,
)
from bitextfilter.settings import Settings, setting
from bitextfilter.text.ragged import PIECES, TRIGRAMS

CachedPart = Callable[[Padded], Tensor]
"""From places in the distinct tokens, padded, to ``(n, e)``."""


class EncoderPart(nn.Module, ABC):
    """One way from the token vectors of a ``view`` to a sentence vector."""

    view = PIECES
    recurrent = False

    @abstractmethod
    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """Token vectors ``(n, t, e)`` → ``(n, e)``."""

    @abstractmethod
    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """Do once what depends on a token alone; ``table (v, e)``: the vectors of all ids."""


class Average(EncoderPart):
    """WORD: the mean of the vectors (Wieting & Gimpel 2018; AVG, WA in the other papers)."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()

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
        super().__init__()
        self.average = WeightedAverage(vocabulary)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        average: Tensor = self.average(vectors, sentences.ids, sentences.lengths)
        return average

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        return cached_mean(table, tokens, self.average.weights(tokens.ids))


class Recurrent(EncoderPart):
    """LSTM: the mean of the states (Wieting & Gimpel 2018)."""

    recurrent = True

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.cells = nn.LSTM(width, width, batch_first=True)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        return mean_pool(self.cells(vectors)[0], sentences.lengths)

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        direction = CachedDirection(self.cells, table[tokens.ids])
        return lambda rows: direction.mean(rows.ids, rows.lengths)


class Bidirectional(EncoderPart):
    """BLSTM: the mean of the states of both directions (Wieting & Gimpel 2018)."""

    recurrent = True

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.ahead = nn.LSTM(width, width, batch_first=True)
        self.back = nn.LSTM(width, width, batch_first=True)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        backward = reverse_padded(vectors, sentences.lengths)
        # The order of the states does not matter to their mean.
        return mean_pool((self.ahead(vectors)[0] + self.back(backward)[0]) / 2, sentences.lengths)

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        vectors = table[tokens.ids]
        ahead = CachedDirection(self.ahead, vectors)
        back = CachedDirection(self.back, vectors, backward=True)

        def encode(rows: Padded) -> Tensor:
            return (ahead.mean(rows.ids, rows.lengths) + back.mean(rows.ids, rows.lengths)) / 2

        return encode


class MaxPooled(EncoderPart):
    """The highest state of a bidirectional LSTM at each place, half the width a direction.

    The encoder of Kim et al. 2019 (eq. 6), without the decoder.
    """

    recurrent = True

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        if width % 2:
            raise SettingsError(f"max-blstm needs an even width, not {width}")
        self.layers = BidirectionalRecurrent("lstm", width, width // 2, 1)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        return max_pool(self.layers(vectors, sentences.lengths), sentences.lengths)

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        cached = CachedRecurrent(self.layers, table[tokens.ids])
        return lambda rows: cached.max_pooled(rows.ids, rows.lengths)


class Gated(EncoderPart):
    """GRAN: the mean of the vectors, each gated by the state of an LSTM at its place.

    a = x ⊙ σ(W_x x + W_h h + b) (Wieting, Mallinson & Gimpel 2017, eq. 1).
    """

    recurrent = True

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.cells = self._cells(width)
        self.from_vector = nn.Linear(width, width)
        self.from_state = nn.Linear(width, width, bias=False)

    def _cells(self, width: int) -> nn.Module:
        return nn.LSTM(width, width, batch_first=True)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        states = self.cells(vectors)
        states = states if isinstance(states, Tensor) else states[0]
        gates = torch.sigmoid(self.from_vector(vectors) + self.from_state(states))
        return mean_pool(vectors * gates, sentences.lengths)

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        vectors = table[tokens.ids]
        direction = CachedDirection(self.cells, vectors)
        gate_inputs = in_blocks(
            lambda rows, out: out.copy_(self.from_vector(rows)), vectors, vectors.shape[1]
        )
        weight = self.from_state.weight.T.contiguous()

        def encode(rows: Padded) -> Tensor:
            inside = padding_mask(rows.lengths, rows.ids.shape[1])
            total = vectors.new_zeros(len(rows.ids), vectors.shape[1])
            # Rows with a gap between them: of rows without, torch computes the sigmoids in one
            # go, and those at the end in another way.
            gates = vectors.new_empty(len(rows.ids), vectors.shape[1] + 1)[:, :-1]
            for position, hidden in direction.states(rows.ids, rows.lengths):
                ids = rows.ids[:, position]
                torch.addmm(gate_inputs[ids], hidden, weight, out=gates).sigmoid_()
                total += vectors[ids] * gates * inside[:, position, None]
            return total / rows.lengths[:, None]

        return encode


class GatedByLeakyGru(Gated):
    """GRAN with the gated recurrent unit of Sjöblom, Creutz & Aulamo 2018 instead of an LSTM."""

    def _cells(self, width: int) -> nn.Module:
        return LeakyGru(width, width)


PARTS: dict[str, type[EncoderPart]] = {
    "word": Average,
    "trigram": TrigramAverage,
    "weighted": Weighted,
    "lstm": Recurrent,
    "blstm": Bidirectional,
    "max-blstm": MaxPooled,
    "gran": Gated,
    "gran-gru": GatedByLeakyGru,
}
"""Name → class, made of (how many ids its view has, width)."""


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


def views_of(expression: str) -> tuple[str, ...]:
    """Return the views that the parts of an expression read."""
    read = {PARTS[name].view for added in parse(expression) for name in added}
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
        parts = [PARTS[name] for added in self._sums for name in added]
        self.sequences = tuple({part.view for part in parts if part.recurrent})
        if not self.sequences:
            self.block_rows = 256
        tables = 2 if settings.tables == "separate" else 1
        compositions = 2 if settings.composition == "separate" else 1
        self.vectors = nn.ModuleList(
            nn.ModuleDict({view: piece_vectors(sizes[view], width) for view in self.views})
            for _ in range(tables)
        )
        self.parts = nn.ModuleList(
            nn.ModuleDict(
                {
                    name: PARTS[name](sizes[PARTS[name].view], width)
                    for added in self._sums
                    for name in added
                }
            )
            for _ in range(compositions)
        )

    def tables(self) -> tuple[nn.Embedding, ...]:
        """See :meth:`Network.tables`."""
        return tuple(self._table(side, v) for side in range(len(self.vectors)) for v in self.views)

    def piece_tables(self) -> tuple[nn.Embedding, ...]:
        """See :meth:`Network.piece_tables`."""
        sides = range(len(self.vectors)) if PIECES in self.views else ()
        return tuple(self._table(side, PIECES) for side in sides)

    def forward(self, inputs: Inputs, side: int) -> Tensor:
        """See :meth:`Network.forward`."""
        parts = self._parts(side)
        vectors: dict[str, Tensor] = {}
        encoded: dict[str, Tensor] = {}
        for name, part in parts.items():
            rows, table = inputs[part.view], self._table(side, part.view)
            if isinstance(part, Average) and not self._noisy():
                encoded[name] = mean_of_rows(
                    table.weight, rows.ids, rows.lengths, sparse=table.sparse
                )
                continue
            if part.view not in vectors:
                vectors[part.view] = self.dropout(table(rows.ids))
            encoded[name] = part(vectors[part.view], rows)
        return self._combined(encoded)

    def prepare_tokens(self, tokens: Mapping[str, Tokens], side: int) -> CachedNetwork:
        """See :meth:`Network.prepare_tokens`."""
        cached: dict[str, tuple[str, CachedPart]] = {}
        for name, part in self._parts(side).items():
            table = self._table(side, part.view).weight
            cached[name] = part.view, part.prepare_tokens(table, tokens[part.view])
        return lambda inputs: self._combined(
            {name: encode(inputs[view]) for name, (view, encode) in cached.items()}
        )

    def _table(self, side: int, view: str) -> nn.Embedding:
        tables = self.vectors[side if len(self.vectors) > 1 else 0]
        assert isinstance(tables, nn.ModuleDict)
        table = tables[view]
        assert isinstance(table, nn.Embedding)
        return table

    def _parts(self, side: int) -> dict[str, EncoderPart]:
        parts = self.parts[side if len(self.parts) > 1 else 0]
        assert isinstance(parts, nn.ModuleDict)
        return {name: part for name, part in parts.items() if isinstance(part, EncoderPart)}

    def _noisy(self) -> bool:
        """Return True where dropout changes the vectors before they are averaged."""
        rate = getattr(self.dropout, "p", 0.0) or getattr(self.dropout, "rate", 0.0)
        return self.training and rate > 0

    def _combined(self, encoded: Mapping[str, Tensor]) -> Tensor:
        sums = [torch.stack([encoded[n] for n in added]).sum(0) for added in self._sums]
        return torch.cat(sums, dim=1)
