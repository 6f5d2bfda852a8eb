"""The networks of translators: the Transformer; recurrent ones, plain and with a template.

The Transformer (Vaswani et al. 2017) has layer normalisation before each sublayer, which trains
without a long warm-up (Xiong et al. 2020). Kim et al. 2019 evaluate their filters with one of
three layers; ours is smaller by default.

The recurrent network is as in Wieting & Gimpel 2018, section 6, made smaller: a bidirectional LSTM
reads the source, an LSTM of two layers writes the target with bilinear attention. With additive
attention it looks at the source as in Bahdanau et al. and in the model of Wieting et al. 2017. The
decoder is not fed its attention (Luong's input feeding), so that a whole target is trained at once.

A second, small encoder reads the symbols of a template. The decoder starts from both, attends to
both, and joins the results. Iyyer et al. read the template with an LSTM in one direction, and copy
words of the source; here the LSTM has two directions, and copying is a setting of either model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from bitextfilter.errors import SettingsError
from bitextfilter.models.layers import (
    ATTENTIONS,
    Attention,
    KeysValues,
    Memory,
    MultiHeadAttention,
    mean_pool,
    padding_mask,
    sinusoids,
)
from bitextfilter.models.recurrent import CELLS, BidirectionalRecurrent
from bitextfilter.models.registry import Architecture
from bitextfilter.settings import Settings, from_1, setting
from bitextfilter.text.ragged import PIECES
from bitextfilter.translation.network import (
    Copier,
    Decoded,
    State,
    TokenRows,
    TranslationNetwork,
    flat_places,
)


@dataclass(frozen=True)
class TransformerSettings(Settings):
    """Shape: ``width`` of every vector, ``heads`` of attention, ``layers`` of either side."""

    width: int = from_1(256, "of every vector: a multiple of twice `heads`")
    heads: int = from_1(4, "of attention")
    layers: int = from_1(3, "of either side")
    feed_forward: int = from_1(1024, "width inside a layer")

    def __post_init__(self) -> None:
        """Raise SettingsError for values that do not fit."""
        super().__post_init__()
        if self.width % (2 * self.heads):
            raise SettingsError(f"width {self.width} is no multiple of twice heads={self.heads}")


class _Cache:
    """Keys and values of the positions written so far, in memory that grows by steps."""

    STEP = 32

    def __init__(self) -> None:
        self._kept: KeysValues | None = None
        self._length = 0

    def extended(self, new: KeysValues) -> KeysValues:
        """Append keys and values of one position ``(n, heads, 1, d)``; return all of them."""
        if self._length % self.STEP == 0:
            grown = [functional.pad(part, (0, 0, 0, self.STEP)) for part in self._kept or ()]
            empty = [part.new_zeros(*part.shape[:2], self.STEP, part.shape[3]) for part in new]
            self._kept = (grown[0], grown[1]) if grown else (empty[0], empty[1])
        assert self._kept is not None
        for kept, part in zip(self._kept, new, strict=True):
            kept[:, :, self._length] = part[:, :, 0]
        self._length += 1
        keys, values = self._kept
        return keys[:, :, : self._length], values[:, :, : self._length]

    def select(self, rows: Tensor) -> None:
        """Keep these rows, ``(n,)``."""
        for kept in self._kept or ():
            written = kept[:, :, : self._length]
            written.copy_(written[rows])


class Layer(nn.Module):
    """The sublayers of both sides: self-attention and feed-forward."""

    def __init__(self, settings: TransformerSettings, dropout: nn.Module) -> None:
        super().__init__()
        width, inner = settings.width, settings.feed_forward
        self.own = MultiHeadAttention(width, settings.heads)
        self.own_norm, self.feed_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, inner), nn.ReLU(), dropout, nn.Linear(inner, width)
        )
        self.dropout = dropout

    def fed(self, rows: Tensor) -> Tensor:
        """Add the feed-forward sublayer to rows ``(n, t, w)``."""
        out: Tensor = rows + self.dropout(self.feed(self.feed_norm(rows)))
        return out


class EncoderLayer(Layer):
    """A layer of the source side."""

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """``(n, t, w)`` → the same; ``mask (n, 1, 1, t)``."""
        normed = self.own_norm(rows)
        return self.fed(rows + self.dropout(self.own(normed, self.own.project(normed), mask)))


class DecoderLayer(Layer):
    """A layer of the target side, which also attends to the source."""

    def __init__(self, settings: TransformerSettings, dropout: nn.Module) -> None:
        super().__init__(settings, dropout)
        self.across = MultiHeadAttention(settings.width, settings.heads)
        self.across_norm = nn.LayerNorm(settings.width)

    def forward(
        self, rows: Tensor, source: KeysValues, mask: Tensor, cache: _Cache | None = None
    ) -> Tensor:
        """Whole targets ``(n, T, w)``; with a cache one position of hypotheses ``(n * k, 1, w)``.

        ``source``: of n sentences; ``mask (n, 1, 1, t)``.
        """
        normed = self.own_norm(rows)
        own = self.own.project(normed)
        if cache is not None:
            own = cache.extended(own)
        rows = rows + self.dropout(self.own(normed, own, causal=cache is None))
        queries = self.across_norm(rows).reshape(len(mask), -1, rows.shape[2])
        found = self.across(queries, source, mask)
        return self.fed(rows + self.dropout(found.reshape(rows.shape)))


class TransformerNetwork(TranslationNetwork):
    """Encoder and decoder with the same number of layers."""

    def __init__(self, settings: TransformerSettings, sizes: Mapping[str, int]) -> None:
        """``sizes``: the number of ids by view."""
        super().__init__(sizes[PIECES], settings.width)
        self.settings = settings
        self.scale = settings.width**0.5
        layers = range(settings.layers)
        self.encoder = nn.ModuleList(EncoderLayer(settings, self.dropout) for _ in layers)
        self.decoder = nn.ModuleList(DecoderLayer(settings, self.dropout) for _ in layers)
        self.encoder_norm = nn.LayerNorm(settings.width)
        self.decoder_norm = nn.LayerNorm(settings.width)

    def embed(self, ids: Tensor, start: int = 0) -> Tensor:
        """Ids ``(n, t)`` that stand from position *start* on → ``(n, t, w)``."""
        vectors = self.table(ids)
        out: Tensor = self.dropout(vectors * self.scale + sinusoids(start, ids.shape[1], vectors))
        return out

    def encode(self, sources: TokenRows) -> tuple[list[KeysValues], Tensor]:
        """Return keys and values for each decoder layer, and the mask ``(n, 1, 1, t)``."""
        mask = padding_mask(sources.lengths, sources.ids.shape[1])[:, None, None]
        rows = self.embed(sources.ids)
        for layer in self.encoder:
            rows = layer(rows, mask)
        rows = self.encoder_norm(rows)
        layers = (layer for layer in self.decoder if isinstance(layer, DecoderLayer))
        return [layer.across.project(rows) for layer in layers], mask

    def states(self, sources: TokenRows, inputs: Tensor) -> Decoded:
        """See :meth:`TranslationNetwork.states`."""
        memory, mask = self.encode(sources)
        rows = self.embed(inputs)
        for layer, source in zip(self.decoder, memory, strict=True):
            rows = layer(rows, source, mask)
        return Decoded(self.decoder_norm(rows))

    def start(self, sources: TokenRows, width: int) -> State:
        """See :meth:`TranslationNetwork.start`."""
        return TransformerState(self, sources)


class TransformerState(State):
    """The keys and values of every layer."""

    def __init__(self, network: TransformerNetwork, sources: TokenRows) -> None:
        self._network = network
        self._memory, self._mask = network.encode(sources)
        self._caches = [_Cache() for _ in self._memory]
        self._written = 0

    def step(self, tokens: Tensor) -> Decoded:
        """See :meth:`State.step`."""
        rows = self._network.embed(tokens.reshape(-1, 1), self._written)
        layers = zip(self._network.decoder, self._memory, self._caches, strict=True)
        for layer, source, cache in layers:
            rows = layer(rows, source, self._mask, cache)
        self._written += 1
        return Decoded(self._network.decoder_norm(rows).view(*tokens.shape, -1))

    def select(self, parents: Tensor) -> None:
        """See :meth:`State.select`."""
        rows = flat_places(parents)
        for cache in self._caches:
            cache.select(rows)


TRANSFORMER = Architecture(TransformerSettings, TransformerNetwork)


Hidden = tuple[Tensor, ...]
"""Hidden state, and of an LSTM the cell: ``(layers, n, d)`` each."""


Read = tuple[Tensor, Tensor]
"""The output of an encoder: states ``(n, t, d)`` and lengths ``(n,)``."""


@dataclass(frozen=True)
class RecurrentSettings(Settings):
    """Shape: ``width`` of subword vectors; ``hidden`` of a direction of the encoder.

    The decoder is ``2 * hidden`` wide.
    """

    width: int = from_1(256, "of subword vectors")
    hidden: int = from_1(256, "width of one direction of the encoder; the decoder is twice as wide")
    encoder_layers: int = from_1(1, "layers that read")
    decoder_layers: int = from_1(2, "layers that write")
    cell: str = setting("lstm", "the kind of recurrent unit", choices=CELLS)
    attention: str = setting("bilinear", "attention to the source", choices=ATTENTIONS)
    copy: bool = setting(
        False, "also write pieces of the source by the attention to them (See, Liu & Manning 2017)"
    )


class RecurrentTranslationNetwork(TranslationNetwork):
    """Bidirectional encoder, unidirectional decoder with attention."""

    def __init__(
        self, settings: RecurrentSettings, sizes: Mapping[str, int], more: int = 0
    ) -> None:
        """``sizes``: the number of ids by view; ``more``: width of a subclass's second input."""
        super().__init__(sizes[PIECES], settings.width)
        self.settings = settings
        width, dim = settings.width, 2 * settings.hidden
        self.encoder = BidirectionalRecurrent(
            settings.cell, width, settings.hidden, settings.encoder_layers
        )
        self.first = nn.Linear(dim + more, settings.decoder_layers * dim)
        self.decoder = CELLS[settings.cell](width, dim, settings.decoder_layers, batch_first=True)
        self.attention = ATTENTIONS[settings.attention](dim, dim)
        self.combine = nn.Linear(2 * dim + more, width)
        self.copier = Copier(2 * dim + more + width) if settings.copy else None

    def read(self, sources: TokenRows) -> list[Read]:
        """Encode the inputs that the decoder starts from and attends to: here only the source."""
        vectors = self.dropout(self.table(sources.ids))
        return [(self.encoder(vectors, sources.lengths), sources.lengths)]

    def attentions(self) -> list[Attention]:
        """Return one attention for each output of :meth:`read`."""
        return [self.attention]

    def encode(self, sources: TokenRows) -> tuple[list[Memory], Hidden]:
        """Return the memories of the attentions, and the decoder's first hidden state."""
        read = self.read(sources)
        memories = [
            attention.memory(states, padding_mask(lengths, states.shape[1]))
            for attention, (states, lengths) in zip(self.attentions(), read, strict=True)
        ]
        means = torch.cat([mean_pool(*each) for each in read], dim=1)
        first = torch.tanh(self.first(means))
        hidden = torch.stack(first.chunk(self.settings.decoder_layers, dim=1))
        zero = (torch.zeros_like(hidden),) if self.settings.cell == "lstm" else ()
        return memories, (hidden, *zero)

    def decode(self, vectors: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """Word vectors ``(n, T, w)`` → states ``(n, T, d)`` and the last hidden state."""
        if isinstance(self.decoder, nn.LSTM):
            states, last = self.decoder(vectors, (hidden[0], hidden[1]))
            return states, last
        states, only = self.decoder(vectors, hidden[0])
        return states, (only,)

    def attend(
        self, vectors: Tensor, states: Tensor, ids: Tensor, memories: Sequence[Memory]
    ) -> Decoded:
        """h̃ = tanh(W [c; h]) (Luong et al. 2015, eq. 5): ``(n, T, d)`` → ``(n, T, w)``.

        ``vectors (n, T, w)``, the inputs, and ``ids (n, t)``, the source, are for copying; so are
        all contexts c, and with them the template's.
        """
        pairs = zip(self.attentions(), memories, strict=True)
        looks = [attention(states, memory) for attention, memory in pairs]
        joined = torch.cat([*(context for context, _ in looks), states], dim=2)
        out: Tensor = self.dropout(torch.tanh(self.combine(joined)))
        if self.copier is None:
            return Decoded(out)
        clues, (_, scores) = torch.cat([joined, vectors], dim=2), looks[0]
        return Decoded(out, self.copier(clues, scores, ids))

    def states(self, sources: TokenRows, inputs: Tensor) -> Decoded:
        """See :meth:`TranslationNetwork.states`."""
        memories, hidden = self.encode(sources)
        vectors = self.dropout(self.table(inputs))
        states, _ = self.decode(vectors, hidden)
        return self.attend(vectors, states, sources.ids, memories)

    def start(self, sources: TokenRows, width: int) -> State:
        """See :meth:`TranslationNetwork.start`."""
        return RecurrentState(self, sources, width)


class RecurrentState(State):
    """The decoder's hidden state."""

    def __init__(
        self, network: RecurrentTranslationNetwork, sources: TokenRows, width: int
    ) -> None:
        self._network, self._ids = network, sources.ids
        self._memories, hidden = network.encode(sources)
        self._hidden: Hidden = tuple(part.repeat_interleave(width, dim=1) for part in hidden)

    def step(self, tokens: Tensor) -> Decoded:
        """See :meth:`State.step`."""
        network = self._network
        vectors = network.table(tokens)
        states, self._hidden = network.decode(vectors.flatten(0, 1)[:, None], self._hidden)
        states = states.reshape(*tokens.shape, -1)
        return network.attend(vectors, states, self._ids, self._memories)

    def select(self, parents: Tensor) -> None:
        """See :meth:`State.select`."""
        rows = flat_places(parents)
        self._hidden = tuple(part[:, rows] for part in self._hidden)


_LEAST = 4
"""Symbols: none, unknown and the brackets."""


@dataclass(frozen=True)
class ControlledSettings(RecurrentSettings):
    """Shape of the recurrent model and of its encoder of templates.

    ``template_width``: of a symbol's vector and of one direction of that encoder.
    """

    symbols: int = setting(
        128, "rows of the table of template symbols: the rarest of more are unknown", within=">= 4"
    )
    template_width: int = from_1(
        64, "of a symbol's vector, and of one direction of the templates' encoder"
    )


class ControlledNetwork(RecurrentTranslationNetwork):
    """A recurrent network whose decoder also attends to a template of the target."""

    settings: ControlledSettings

    def __init__(self, settings: ControlledSettings, sizes: Mapping[str, int]) -> None:
        width, dim = settings.template_width, 2 * settings.template_width
        super().__init__(settings, sizes, more=dim)
        self.symbols = nn.Embedding(settings.symbols, width)
        self.template_encoder = BidirectionalRecurrent(settings.cell, width, width, 1)
        self.template_attention = ATTENTIONS[settings.attention](2 * settings.hidden, dim)

    def read(self, sources: TokenRows) -> list[Read]:
        """Encode the source and the template; a missing template is the single symbol 0."""
        ids, lengths = sources.ids.new_zeros(len(sources.ids), 1), torch.ones_like(sources.lengths)
        if sources.templates is not None:
            ids, lengths = sources.templates.ids, sources.templates.lengths
        vectors: Tensor = self.dropout(self.symbols(ids))
        return [*super().read(sources), (self.template_encoder(vectors, lengths), lengths)]

    def attentions(self) -> list[Attention]:
        """Return the attentions to the source and to the template."""
        return [self.attention, self.template_attention]


RECURRENT = Architecture(RecurrentSettings, RecurrentTranslationNetwork)
CONTROLLED = Architecture(ControlledSettings, ControlledNetwork)
