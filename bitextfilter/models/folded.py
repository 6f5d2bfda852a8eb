"""Recurrent layers made fast for encoding: what depends on a token alone is computed once.

The first layer's input projection takes most of its arithmetic when word vectors are wide, and
a window of sentences holds each frequent token many times. So each distinct token is projected
once, and the steps look its projection up. Letters: u distinct tokens, n rows, t positions,
e input width, h hidden width, g = 4h (LSTM) or 3h (GRU) gate inputs.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from bitextfilter.models.recurrent import BidirectionalRecurrent, max_pool

PROJECTED_ROWS = 256
"""Tokens projected by one matrix product: always as many, so that none depends on the others."""


class FoldedDirection:
    """One direction of a recurrent layer over tokens whose input projection is known."""

    def __init__(self, cells: nn.LSTM | nn.GRU, vectors: Tensor, backward: bool) -> None:
        """``vectors (u, e)``: the word vectors of the distinct tokens."""
        self.hidden = cells.hidden_size
        self.is_lstm = isinstance(cells, nn.LSTM)
        self.backward = backward
        parts = dict(cells.named_parameters())
        self.hidden_bias = parts["bias_hh_l0"]
        bias: Tensor = parts["bias_ih_l0"]
        if self.is_lstm:
            bias = bias + self.hidden_bias
        self.weight = self._sorted(parts["weight_hh_l0"]).T.contiguous()
        inwards = self._sorted(parts["weight_ih_l0"]).T.contiguous()
        self.projected = _in_blocks(vectors, inwards, self._sorted(bias))

    def states(self, ids: Tensor) -> Iterator[Tensor]:
        """States ``(n, h)`` at each position of ``ids (n, t)``, in the order of reading."""
        step = self._lstm if self.is_lstm else self._gru
        hidden = cell = self.projected.new_zeros(len(ids), self.hidden)
        positions = range(ids.shape[1])
        for position in reversed(positions) if self.backward else positions:
            hidden, cell = step(self.projected[ids[:, position]], hidden, cell)
            yield hidden

    def _sorted(self, gates: Tensor) -> Tensor:
        """Move an LSTM's cell input behind its three gates (torch: i, f, g, o → i, f, o, g)."""
        if not self.is_lstm:
            return gates
        first, cell, output = torch.split(gates, [2 * self.hidden, self.hidden, self.hidden])
        return torch.cat([first, output, cell])

    def _lstm(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        inputs += hidden @ self.weight
        gates, candidate = torch.split(inputs, [3 * self.hidden, self.hidden], dim=1)
        keep, forget, output = gates.sigmoid_().chunk(3, dim=1)
        cell = forget * cell + keep * candidate.tanh_()
        return output * cell.tanh(), cell

    def _gru(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        split = [2 * self.hidden, self.hidden]
        gates, candidate = torch.split(inputs, split, dim=1)
        past_gates, past_candidate = torch.split(
            hidden @ self.weight + self.hidden_bias, split, dim=1
        )
        # In place in its view: so each row is computed alike. In an array of its own, the last
        # few numbers of the last row would be left to other instructions.
        reset, update = gates.add_(past_gates).sigmoid_().chunk(2, dim=1)
        new = (candidate + reset * past_candidate).tanh_()
        return new + update * (hidden - new), cell


class FoldedRecurrent:
    """The layers of a :class:`BidirectionalRecurrent` over a set of distinct tokens."""

    def __init__(self, layers: BidirectionalRecurrent, vectors: Tensor) -> None:
        """``vectors (u, e)``: the word vectors of the distinct tokens."""
        first = layers.directions(0)
        self._right = FoldedDirection(first[0], vectors, backward=False)
        self._left = FoldedDirection(first[1], vectors, backward=True)
        self._layers = layers

    def max_pooled(self, ids: Tensor) -> Tensor:
        """Maximum over the last layer's states of rows of one length: ``(n, t)`` → ``(n, 2h)``."""
        if self._layers.depth == 1:
            pooled = [_running_maximum(side.states(ids)) for side in (self._right, self._left)]
            return torch.cat(pooled, dim=1)
        right = torch.stack(list(self._right.states(ids)), dim=1)
        left = torch.stack(list(self._left.states(ids))[::-1], dim=1)
        lengths = torch.full((len(ids),), ids.shape[1], device=ids.device)
        states = self._layers(torch.cat([right, left], dim=2), lengths, start=1)
        return max_pool(states, lengths)


def _running_maximum(states: Iterator[Tensor]) -> Tensor:
    highest = next(states)
    for state in states:
        highest = torch.maximum(highest, state)
    return highest


def _in_blocks(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``rows @ weight + bias`` by products of one fixed shape."""
    out = rows.new_empty(len(rows), weight.shape[1])
    for start in range(0, len(rows), PROJECTED_ROWS):
        block = rows[start : start + PROJECTED_ROWS]
        full = torch.cat([block, rows.new_zeros(PROJECTED_ROWS - len(block), rows.shape[1])])
        out[start : start + len(block)] = torch.addmm(bias, full, weight)[: len(block)]
    return out
