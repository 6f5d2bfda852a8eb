"""Copying from the source: See, Liu & Manning 2017, "Get To The Point", equations 8 and 9.

P(w) = p_gen P_vocab(w) + (1 - p_gen) Σ a_i over the source positions i that hold w: the decoder
writes a piece of the vocabulary, or a piece that the source has, by its attention a to the source.
Both sides share one vocabulary of pieces, so that every piece of the source can also be generated:
there is no copying of words outside the vocabulary.

Letters: n sentences, q positions of the decoder, t of the source, c clues, v vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


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
