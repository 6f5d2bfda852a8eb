"""What encoders are put together from: ways from the token vectors of a sentence to one vector.

Letters: n sentences, t positions, u distinct tokens, e width of a token vector, and of what comes
out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from bitextfilter.encoders.averaging import WeightedAverage, folded_mean
from bitextfilter.encoders.network import Padded, Tokens
from bitextfilter.errors import SettingsError
from bitextfilter.models.folded import FoldedDirection, FoldedRecurrent, in_blocks
from bitextfilter.models.gru import LeakyGru
from bitextfilter.models.recurrent import (
    BidirectionalRecurrent,
    max_pool,
    mean_pool,
    padding_mask,
    reverse_padded,
)
from bitextfilter.text.processor import PIECES, TRIGRAMS

FoldedPart = Callable[[Padded], Tensor]
"""From places in the distinct tokens, padded, to ``(n, e)``."""


class Part(nn.Module, ABC):
    """One way; what it reads is its ``view``."""

    view = PIECES
    recurrent = False

    @abstractmethod
    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """Token vectors ``(n, t, e)`` → ``(n, e)``."""

    @abstractmethod
    def fold(self, table: Tensor, tokens: Tokens) -> FoldedPart:
        """Do once what depends on a token alone; ``table (v, e)``: the vectors of all ids."""


class Average(Part):
    """WORD: the mean of the vectors (Wieting & Gimpel 2018; AVG, WA in the other papers)."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`Part.forward`."""
        return mean_pool(vectors, sentences.lengths)

    def fold(self, table: Tensor, tokens: Tokens) -> FoldedPart:
        """See :meth:`Part.fold`."""
        return folded_mean(table, tokens)


class TrigramAverage(Average):
    """TRIGRAM: the mean of the vectors of the words' character trigrams."""

    view = TRIGRAMS


class Weighted(Part):
    """The mean of the vectors, each times a learnt scalar of its token."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.average = WeightedAverage(vocabulary)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`Part.forward`."""
        average: Tensor = self.average(vectors, sentences.ids, sentences.lengths)
        return average

    def fold(self, table: Tensor, tokens: Tokens) -> FoldedPart:
        """See :meth:`Part.fold`."""
        return folded_mean(table, tokens, self.average.weights(tokens.ids))


class Recurrent(Part):
    """LSTM: the mean of the states (Wieting & Gimpel 2018)."""

    recurrent = True

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.cells = nn.LSTM(width, width, batch_first=True)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`Part.forward`."""
        return mean_pool(self.cells(vectors)[0], sentences.lengths)

    def fold(self, table: Tensor, tokens: Tokens) -> FoldedPart:
        """See :meth:`Part.fold`."""
        direction = FoldedDirection(self.cells, table[tokens.ids])
        return lambda rows: direction.mean(rows.ids, rows.lengths)


class Bidirectional(Part):
    """BLSTM: the mean of the states of both directions (Wieting & Gimpel 2018)."""

    recurrent = True

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.ahead = nn.LSTM(width, width, batch_first=True)
        self.back = nn.LSTM(width, width, batch_first=True)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`Part.forward`."""
        backward = reverse_padded(vectors, sentences.lengths)
        # The order of the states does not matter to their mean.
        return mean_pool((self.ahead(vectors)[0] + self.back(backward)[0]) / 2, sentences.lengths)

    def fold(self, table: Tensor, tokens: Tokens) -> FoldedPart:
        """See :meth:`Part.fold`."""
        vectors = table[tokens.ids]
        ahead = FoldedDirection(self.ahead, vectors)
        back = FoldedDirection(self.back, vectors, backward=True)

        def encode(rows: Padded) -> Tensor:
            return (ahead.mean(rows.ids, rows.lengths) + back.mean(rows.ids, rows.lengths)) / 2

        return encode


class MaxPooled(Part):
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
        """See :meth:`Part.forward`."""
        return max_pool(self.layers(vectors, sentences.lengths), sentences.lengths)

    def fold(self, table: Tensor, tokens: Tokens) -> FoldedPart:
        """See :meth:`Part.fold`."""
        folded = FoldedRecurrent(self.layers, table[tokens.ids])
        return lambda rows: folded.max_pooled(rows.ids, rows.lengths)


class Gated(Part):
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
        """See :meth:`Part.forward`."""
        states = self.cells(vectors)
        states = states if isinstance(states, Tensor) else states[0]
        gates = torch.sigmoid(self.from_vector(vectors) + self.from_state(states))
        return mean_pool(vectors * gates, sentences.lengths)

    def fold(self, table: Tensor, tokens: Tokens) -> FoldedPart:
        """See :meth:`Part.fold`."""
        vectors = table[tokens.ids]
        direction = FoldedDirection(self.cells, vectors)
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


PARTS: dict[str, type[Part]] = {
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
