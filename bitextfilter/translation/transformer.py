"""The Transformer (Vaswani et al. 2017), with layer normalisation before each sublayer.

Kim et al. 2019 evaluate their filters with one of three layers; ours is smaller by default.
Normalising first (Xiong et al. 2020) trains without a long warm-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from bitextfilter.errors import SettingsError
from bitextfilter.models.layers import KeysValues, MultiHeadAttention, padding_mask, sinusoids
from bitextfilter.models.registry import Architecture
from bitextfilter.settings import Settings, setting
from bitextfilter.text.ragged import PIECES
from bitextfilter.translation.network import Decoded, State, TokenRows, TranslationNetwork


@dataclass(frozen=True)
class TransformerSettings(Settings):
    """Shape: ``width`` of every vector, ``heads`` of attention, ``layers`` of either side."""

    width: int = setting(256, "of every vector: a multiple of twice `heads`", within=">= 1")
    heads: int = setting(4, "of attention", within=">= 1")
    layers: int = setting(3, "of either side", within=">= 1")
    feed_forward: int = setting(1024, "width inside a layer", within=">= 1")

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
        return TransformerState(self, sources, width)


class TransformerState(State):
    """The keys and values of every layer."""

    def __init__(self, network: TransformerNetwork, sources: TokenRows, width: int) -> None:
        self._network = network
        self._memory, self._mask = network.encode(sources)
        self._caches = [_Cache() for _ in self._memory]
        first = torch.arange(len(sources.ids), device=sources.ids.device) * width
        self._first = first[:, None]
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
        rows = (self._first + parents).flatten()
        for cache in self._caches:
            cache.select(rows)


TRANSFORMER = Architecture(TransformerSettings, TransformerNetwork)
