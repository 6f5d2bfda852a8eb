"""Recurrent encoders: the bilingual autoencoder's (Kim et al. 2019), and the parts that recur.

The autoencoder (section 3 of the paper) has a bidirectional recurrent network a language over one
table of subword vectors; the sentence embedding is the element-wise maximum over the states (eq. 3,
6), or another pooling. With ``composition=shared`` both languages have the same network. The
decoder they share, of these languages (``training/encoder_learner.py``) or of a third
(``papers/pivot.py``), exists only in training and is not part of a model folder.

With ``average`` (ours, not the paper's) the weighted average of the subword vectors is added to
the scaled maximum: the network starts as an averaging encoder and learns word order on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bitextfilter.encoders.base import (
    LONGEST,
    CachedNetwork,
    Inputs,
    Network,
    Padded,
    Tokens,
    piece_vectors,
)
from bitextfilter.encoders.combination import (
    CachedPart,
    EncoderPart,
    WeightedAverage,
    mean_of_rows,
)
from bitextfilter.encoders.expressions import SHARING
from bitextfilter.errors import SettingsError
from bitextfilter.models.layers import mean_pool, padding_mask
from bitextfilter.models.pooling import (
    POOLINGS,
    MaxPooling,
    MeanPooling,
    Pooling,
    Standardisation,
    mean_of_steps,
)
from bitextfilter.models.recurrent import (
    CELLS,
    BidirectionalRecurrent,
    CachedDirection,
    CachedRecurrent,
    LeakyGru,
    in_blocks,
    reverse_padded,
)
from bitextfilter.models.registry import Architecture
from bitextfilter.settings import Settings, from_1, setting
from bitextfilter.text.ragged import PIECES


@dataclass(frozen=True)
class AutoencoderSettings(Settings):
    """Shape of the recurrent encoders.

    ``hidden`` is the width of one direction, so a sentence vector has ``2 * hidden`` numbers
    (Kim et al. 2019: 512, so 256 a direction).
    """

    embedding: int = from_1(512, "width of a subword vector")
    hidden: int = from_1(256, "width of one direction; a sentence vector is twice as wide")
    layers: int = from_1(1, "recurrent layers")
    cell: str = setting("lstm", "the kind of recurrent unit", choices=CELLS)
    pooling: str = setting(
        "max",
        "the sentence vector from the states: `max` (Kim et al. 2019), `mean`, `last` of either"
        " direction, or a mean weighted by `attention` (Yang et al. 2016)",
        choices=POOLINGS,
    )
    composition: str = setting(
        "separate",
        "an encoder a language (Kim et al. 2019), or one that both share (Artetxe & Schwenk 2019)",
        choices=SHARING,
    )
    standardise: bool = setting(
        False, "batch normalisation of pooled vectors, by language (Ioffe & Szegedy 2015)"
    )
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


def in_parts(encode: CachedPart, pooling: Pooling | None = None) -> CachedPart:
    """Return *encode*, which shall read a row of more than ``LONGEST`` tokens in parts.

    A recurrent network reads a row token by token, but the parts side by side. Each begins with
    the state at the start of a sentence. Their vectors are joined as *pooling* does it, or by the
    mean weighted by their lengths.
    """
    join = (pooling or MeanPooling(0)).joined

    def read(rows: Padded) -> Tensor:
        if rows.ids.shape[1] <= LONGEST:
            return encode(rows)
        vectors = []
        for ids, length in zip(rows.ids, rows.lengths.tolist(), strict=True):
            count = -(-length // LONGEST)
            parts = ids.new_zeros(count * LONGEST)
            parts[:length] = ids[:length]
            lengths = torch.full((count,), LONGEST, device=ids.device)
            lengths[-1] -= count * LONGEST - length
            vectors.append(join(encode(Padded(parts.view(count, LONGEST), lengths)), lengths))
        return torch.cat(vectors)

    return read


def pooled_states(cached: CachedRecurrent, pooling: Pooling) -> CachedPart:
    """Return the function from sentences to the pooled states of a network."""
    return in_parts(
        lambda rows: pooling.of_steps(cached.states(rows.ids, rows.lengths), rows.lengths), pooling
    )


class AutoencoderNetwork(Network):
    """One bidirectional encoder or two, pooled, over one table of subword vectors."""

    def __init__(self, settings: AutoencoderSettings, sizes: Mapping[str, int]) -> None:
        """``sizes``: how many ids each view has."""
        super().__init__(settings.dim)
        self.settings = settings
        self.embedding = piece_vectors(sizes[PIECES], settings.embedding)
        shape = (settings.cell, settings.embedding, settings.hidden, settings.layers)
        count = 2 if settings.composition == "separate" else 1
        self._encoders = [BidirectionalRecurrent(*shape) for _ in range(count)]
        self._poolings = [POOLINGS[settings.pooling](settings.dim) for _ in range(count)]
        self.encoders = nn.ModuleList(self._encoders)
        self.poolings = nn.ModuleList(self._poolings)
        self._standards = [Standardisation(settings.dim) for _ in range(2 * settings.standardise)]
        self.standards = nn.ModuleList(self._standards)
        if settings.average:
            self.average = WeightedAverage(sizes[PIECES])
            self.gain = nn.Parameter(torch.full((settings.dim,), 0.1))
            self.offset = nn.Parameter(torch.zeros(settings.dim))

    def prepare_tokens(self, tokens: Mapping[str, Tokens], side: int) -> CachedNetwork:
        """See :meth:`Network.prepare_tokens`."""
        ids = tokens[PIECES].ids
        vectors = self.embedding(ids)
        cached = CachedRecurrent(self._encoders[-side], vectors, self.threads)
        states = pooled_states(cached, self._poolings[-side])
        weighted = self.average.weighted(vectors, ids) if self.settings.average else vectors

        def encode(inputs: Inputs) -> Tensor:
            rows = inputs[PIECES]
            pooled = self._standardised(states(rows), side)
            if not self.settings.average:
                return pooled
            average = mean_of_rows(weighted, rows.ids, rows.lengths)
            return average + self.gain * pooled + self.offset

        return encode

    def forward(self, inputs: Inputs, side: int) -> Tensor:
        """See :meth:`Network.forward`."""
        ids, lengths = inputs[PIECES].ids, inputs[PIECES].lengths
        vectors = self.dropout(self.embedding(ids))
        # Of side 1, or of both.
        states = self.poolings[-side](self.encoders[-side](vectors, lengths), lengths)
        pooled = self._standardised(states, side)
        if not self.settings.average:
            return pooled
        average: Tensor = self.average(vectors, ids, lengths)
        return average + self.gain * pooled + self.offset

    def _standardised(self, pooled: Tensor, side: int) -> Tensor:
        if not self._standards:
            return pooled
        vectors: Tensor = self.standards[side](pooled)
        return vectors


AUTOENCODER = Architecture(AutoencoderSettings, AutoencoderNetwork)


def _mean_of(direction: CachedDirection) -> CachedPart:
    """Return the function from sentences to the mean of a direction's states."""
    return lambda rows: mean_of_steps(direction.states(rows.ids, rows.lengths), rows.lengths)


class Recurrent(EncoderPart):
    """LSTM: the mean of the states (Wieting & Gimpel 2018)."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__(vocabulary, width)
        self.cells = nn.LSTM(width, width, batch_first=True)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        return mean_pool(self.cells(vectors)[0], sentences.lengths)

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        return in_parts(_mean_of(CachedDirection(self.cells, table[tokens.ids])))


class Bidirectional(EncoderPart):
    """BLSTM: the mean of the states of both directions (Wieting & Gimpel 2018)."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__(vocabulary, width)
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
        ahead = _mean_of(CachedDirection(self.ahead, vectors))
        back = _mean_of(CachedDirection(self.back, vectors, backward=True))
        return in_parts(lambda rows: (ahead(rows) + back(rows)) / 2)


class MaxPooled(EncoderPart):
    """The highest state of a bidirectional LSTM at each place, half the width a direction.

    The encoder of Kim et al. 2019 (eq. 6), without the decoder.
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__(vocabulary, width)
        if width % 2:
            raise SettingsError(f"max-blstm needs an even width, not {width}")
        self.layers = BidirectionalRecurrent("lstm", width, width // 2, 1)
        self.pooling = MaxPooling(width)

    def forward(self, vectors: Tensor, sentences: Padded) -> Tensor:
        """See :meth:`EncoderPart.forward`."""
        pooled: Tensor = self.pooling(self.layers(vectors, sentences.lengths), sentences.lengths)
        return pooled

    def prepare_tokens(self, table: Tensor, tokens: Tokens) -> CachedPart:
        """See :meth:`EncoderPart.prepare_tokens`."""
        return pooled_states(CachedRecurrent(self.layers, table[tokens.ids]), self.pooling)


class Gated(EncoderPart):
    """GRAN: the mean of the vectors, each gated by the state of an LSTM at its place.

    a = x ⊙ σ(W_x x + W_h h + b) (Wieting, Mallinson & Gimpel 2017, eq. 1).
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__(vocabulary, width)
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

        return in_parts(encode)


class GatedByLeakyGru(Gated):
    """GRAN with the gated recurrent unit of Sjöblom, Creutz & Aulamo 2018 instead of an LSTM."""

    def _cells(self, width: int) -> nn.Module:
        return LeakyGru(width, width)
