"""The translation network protocol, and sentences in blocks of fixed shapes.

Letters: n sentences, k hypotheses of each, t source positions, T target positions, w width of a
decoder state, v vocabulary.

A length is rounded up to one of a few fixed lengths, and all blocks of one length have the same
number of rows, some empty: so the shape of a computation depends on its sentence alone.

Copying from the source: See, Liu & Manning 2017, "Get To The Point", equations 8 and 9.

P(w) = p_gen P_vocab(w) + (1 - p_gen) Σ a_i over the source positions i that hold w: the decoder
writes a piece of the vocabulary, or a piece that the source has, by its attention a to the source.
Both sides share one vocabulary of pieces, so that every piece of the source can also be generated:
there is no copying of words outside the vocabulary.

Letters: n sentences, q positions of the decoder, t of the source, c clues, v vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from bitextfilter.arrays import Ids
from bitextfilter.models.layers import ByteDropout, NarrowLinear, narrow_linear_layers


class Copies(NamedTuple):
    """The choice between generating and copying at each of some positions of the decoder."""

    switch: Tensor
    """Logit of p_gen, ``(...)``."""
    attention: Tensor
    """Log of the attention to all places of a piece, where it stands first; elsewhere -inf:
    ``(..., t)``."""
    ids: Tensor
    """The pieces, ``(..., t)``."""

    def mixed(self, logs: Tensor) -> Tensor:
        """Log-probabilities of generated tokens ``(..., v)`` → of generated or copied ones (eq. 9).

        log P(w) = log p_gen + log P_vocab(w) + log(1 + copied / generated).
        """
        switch = self.switch[..., None]
        ratio = self.attention - switch - logs.gather(-1, self.ids)
        gain = -functional.logsigmoid(-ratio)
        return (logs + functional.logsigmoid(switch)).scatter_add(-1, self.ids, gain)


def first_places(ids: Tensor) -> Tensor:
    """Return whether position i of a source holds the piece that stands first at j: ``(n, t, t)``.

    ``ids (n, t)``.
    """
    same = ids[:, :, None] == ids[:, None]
    first = ~same.tril(-1).any(dim=2)
    return same & first[:, None]


class Copier(nn.Module):
    """The switch between generating and copying (eq. 8), linear in clues."""

    def __init__(self, clues: int) -> None:
        """``clues``: their number, c."""
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(clues))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, clues: Tensor, scores: Tensor, ids: Tensor) -> Copies:
        """Return the choices at ``(n, q)`` positions.

        Args:
            clues: contexts, state and input of the decoder, ``(n, q, c)``.
            scores: of the attention to the source, before the softmax, ``(n, q, t)``.
            ids: the source, ``(n, t)``.
        """
        kind = torch.promote_types(scores.dtype, torch.float32)
        with torch.autocast(scores.device.type, enabled=False):  # bfloat16 does not sum to 1
            summed = scores.to(kind).softmax(dim=2) @ first_places(ids).to(kind)
        none = summed == 0
        attention = summed.masked_fill(none, 1.0).log().masked_fill(none, float("-inf"))
        # A product with a vector would depend on the number of rows, in its last bits.
        switch = (clues * self.weight).sum(dim=2) + self.bias
        return Copies(switch, attention, ids[:, None].expand_as(scores))


class TokenRows(NamedTuple):
    """Sentences as ids ``(n, t)``, padded with 0, and their lengths ``(n,)``, at least 1."""

    ids: Tensor
    lengths: Tensor
    templates: TokenRows | None = None
    """The template symbols of each source, for networks that follow templates."""

    def cut(self, most: int) -> list[TokenRows]:
        """Split into parts of at most *most* sentences, in order."""
        parts = zip(torch.split(self.ids, most), torch.split(self.lengths, most), strict=True)
        if self.templates is None:
            return [TokenRows(*part) for part in parts]
        return [
            TokenRows(*part, more)
            for part, more in zip(parts, self.templates.cut(most), strict=True)
        ]


class Decoded(NamedTuple):
    """Positions of the decoder, and the choices to copy there, of networks that copy."""

    states: Tensor
    """``(..., w)``"""
    copies: Copies | None = None

    def at(self, places: slice | Tensor | tuple[slice, slice]) -> Decoded:
        """Return some of the positions."""
        if self.copies is None:
            return Decoded(self.states[places])
        return Decoded(self.states[places], Copies(*(part[places] for part in self.copies)))


class State(ABC):
    """``k`` hypotheses of each of ``n`` sentences while they are written."""

    @abstractmethod
    def step(self, tokens: Tensor) -> Decoded:
        """Read the last tokens ``(n, k)`` → decoder states ``(n, k, w)``."""

    @abstractmethod
    def select(self, parents: Tensor) -> None:
        """Keep these hypotheses, given by their places among the sentence's ``k``: ``(n, k)``."""


class TranslationNetwork(nn.Module, ABC):
    """An encoder of the source, a decoder of the target, and one table of subword vectors.

    The table serves the source, the target, and the output layer (Press & Wolf 2017).
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        """``width``: of a subword vector and of a decoder state."""
        super().__init__()
        self.dropout = ByteDropout(0.0)
        """On vectors and the outputs of layers; the training sets its rate."""
        self.table = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.table.weight, std=width**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self._narrow: NarrowLinear | None = None

    @abstractmethod
    def states(self, sources: TokenRows, inputs: Tensor) -> Decoded:
        """Decoder states ``(n, T, w)`` of given targets: ids ``(n, T)`` that begin with BEGIN."""

    @abstractmethod
    def start(self, sources: TokenRows, width: int) -> State:
        """Return ``width`` empty hypotheses of each sentence."""

    def output(self, states: Tensor) -> Tensor:
        """States ``(..., w)`` → logits ``(..., v)`` of the token to generate."""
        if self._narrow is not None:
            logits: Tensor = self._narrow(states)
            return logits
        return functional.linear(states, self.table.weight, self.bias)

    def predict(self, decoded: Decoded) -> Tensor:
        """Return natural-log probabilities ``(..., v)`` of the next token."""
        logs = self.output(decoded.states).to(self.bias.dtype).log_softmax(dim=-1)
        return logs if decoded.copies is None else decoded.copies.mixed(logs)

    def narrow(self) -> None:
        """Multiply matrices in bfloat16 from now on, except in recurrent layers; for inference."""
        narrow_linear_layers(self)
        self._narrow = NarrowLinear(self.table.weight, self.bias)


LADDER = np.array([8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512])
"""Lengths are rounded up to these; above the last, to its multiples."""

ROWS, FULL = 64, 64
"""Rows of a block of sentences of up to ``FULL`` tokens; halved for each doubling."""


class ShapedBlock(NamedTuple):
    """Some items of one shape."""

    items: NDArray[np.int64]
    """Places of the items, at most ``rows``."""
    rows: int
    shape: tuple[int, ...]
    """The rounded length of each side."""


def rounded(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round lengths up."""
    top = int(LADDER[-1])
    rungs = LADDER[np.minimum(np.searchsorted(LADDER, lengths), len(LADDER) - 1)]
    return np.where(lengths > top, -(-lengths // top) * top, rungs)


def shaped_blocks(lengths: NDArray[np.int64], most: int = ROWS) -> list[ShapedBlock]:
    """Sort items into blocks by the lengths of their sides, ``(n, sides)``.

    Long ones come first, so that threads end together; each item is in exactly one block.
    """
    if not len(lengths):
        return []
    shapes, group = np.unique(rounded(lengths), axis=0, return_inverse=True)
    order = np.lexsort((lengths.sum(1), group.reshape(-1)))
    bounds = np.searchsorted(group.reshape(-1)[order], np.arange(len(shapes) + 1))
    blocks = []
    for number, shape in enumerate(shapes.tolist()):
        rows = max(1, most >> max(0, -(-max(shape) // FULL) - 1).bit_length())
        items = order[bounds[number] : bounds[number + 1]]
        starts = range(0, len(items), rows)
        blocks += [ShapedBlock(items[i : i + rows], rows, tuple(shape)) for i in starts]
    return sorted(blocks, key=lambda block: -sum(block.shape))


def token_rows(
    sentences: Sequence[Ids], block: ShapedBlock, side: int, device: torch.device
) -> TokenRows:
    """Return one side of a block, padded; an empty row is a single token 0."""
    ids = np.zeros((block.rows, block.shape[side]), dtype=np.int64)
    lengths = np.ones(block.rows, dtype=np.int64)
    for row, item in enumerate(block.items):
        ids[row, : len(sentences[item])] = sentences[item]
        lengths[row] = len(sentences[item])
    return TokenRows(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device))
