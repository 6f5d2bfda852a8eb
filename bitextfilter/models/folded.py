"""Recurrent layers made fast for encoding: what depends on a token alone is computed once.

The first layer's input projection takes most of its arithmetic when word vectors are wide, and
a window of sentences holds each frequent token many times. So each distinct token is projected
once, and the steps look its projection up. Every matrix product has a shape that does not depend
on the lengths of the rows, so that a row's numbers do not depend on the rows beside it.

Letters: u distinct tokens, n rows, t positions, e input width, h hidden width, g = 4h (LSTM) or
3h (GRU) gate inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from bitextfilter.models.recurrent import BidirectionalRecurrent

PROJECTED_ROWS = 256
"""Tokens projected by one matrix product: always as many, so that none depends on the others."""

Inputs = Callable[[int], Tensor]
"""Gate inputs ``(n, g)`` at a position."""


class Steps:
    """One direction of a recurrent layer, a step at a time over inputs already projected."""

    def __init__(self, cells: nn.LSTM | nn.GRU, backward: bool) -> None:
        self.hidden = cells.hidden_size
        self.is_lstm = isinstance(cells, nn.LSTM)
        self.backward = backward
        parts = dict(cells.named_parameters())
        self.hidden_bias = parts["bias_hh_l0"]
        bias: Tensor = parts["bias_ih_l0"]
        self.bias = self._sorted(bias + self.hidden_bias if self.is_lstm else bias)
        self.weight = self._sorted(parts["weight_hh_l0"]).T.contiguous()
        self.inward = self._sorted(parts["weight_ih_l0"]).T.contiguous()

    def project(self, vectors: Tensor) -> Tensor:
        """Inputs ``(m, e)`` of the layer → gate inputs ``(m, g)``."""
        return torch.addmm(self.bias, vectors, self.inward)

    def states(self, inputs: Inputs, lengths: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
        """States in the order of reading: position, states ``(n, h)``, and who is inside.

        ``lengths (n,)``. A row beyond its end has the state 0; inside is ``(n, 1)``.
        """
        step = self._lstm if self.is_lstm else self._gru
        hidden = cell = self.weight.new_zeros(len(lengths), self.hidden)
        positions = range(int(lengths.max()))
        shortest = int(lengths.min())
        inside = torch.ones_like(lengths, dtype=torch.bool)[:, None]
        for position in reversed(positions) if self.backward else positions:
            hidden, cell = step(inputs(position), hidden, cell)
            if position >= shortest:
                inside = (position < lengths)[:, None]
                hidden, cell = hidden * inside, cell * inside
            elif self.backward:
                inside = torch.ones_like(inside)
            yield position, hidden, inside

    def highest(self, inputs: Inputs, lengths: Tensor) -> Tensor:
        """Maximum of the states over the positions of each row, ``(n, h)``."""
        highest = self.weight.new_full((len(lengths), self.hidden), float("-inf"))
        for _, hidden, inside in self.states(inputs, lengths):
            highest = torch.where(inside, torch.maximum(highest, hidden), highest)
        return highest

    def _sorted(self, gates: Tensor) -> Tensor:
        """Move an LSTM's cell input behind its three gates (torch: i, f, g, o → i, f, o, g)."""
        if not self.is_lstm:
            return gates
        first, cell, output = torch.split(gates, [2 * self.hidden, self.hidden, self.hidden])
        return torch.cat([first, output, cell])

    def _lstm(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        inputs = torch.addmm(inputs, hidden, self.weight)
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
        reset, update = (gates + past_gates).sigmoid_().chunk(2, dim=1)
        new = (candidate + reset * past_candidate).tanh_()
        return new + update * (hidden - new), cell


class FoldedRecurrent:
    """The layers of a :class:`BidirectionalRecurrent` over a set of distinct tokens."""

    def __init__(self, layers: BidirectionalRecurrent, vectors: Tensor) -> None:
        """``vectors (u, e)``: the word vectors of the distinct tokens."""
        self._layers = [
            [Steps(cells, bool(side)) for side, cells in enumerate(layers.directions(layer))]
            for layer in range(layers.depth)
        ]
        self._projected = [_in_blocks(steps.project, vectors) for steps in self._layers[0]]

    def max_pooled(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Maximum over the last layer's states: ``(n, t)``, ``(n,)`` → ``(n, 2h)``."""
        inputs = [self._looked_up(projected, ids) for projected in self._projected]
        for layer, upper in zip(self._layers, self._layers[1:], strict=False):
            states = self._states(layer, inputs, lengths)
            inputs = [_projecting(steps, states) for steps in upper]
        sides = zip(self._layers[-1], inputs, strict=True)
        return torch.cat([steps.highest(given, lengths) for steps, given in sides], dim=1)

    @staticmethod
    def _looked_up(projected: Tensor, ids: Tensor) -> Inputs:
        return lambda position: projected[ids[:, position]]

    @staticmethod
    def _states(layer: list[Steps], inputs: list[Inputs], lengths: Tensor) -> Tensor:
        """States of a whole layer, ``(t, n, 2h)``."""
        shape = (int(lengths.max()), len(lengths), layer[0].hidden)
        sides = []
        for steps, given in zip(layer, inputs, strict=True):
            states = steps.weight.new_empty(shape)
            for position, hidden, _ in steps.states(given, lengths):
                states[position] = hidden
            sides.append(states)
        return torch.cat(sides, dim=2)


def _projecting(steps: Steps, states: Tensor) -> Inputs:
    """The inputs of a layer above the first: projected position by position."""
    return lambda position: steps.project(states[position])


def _in_blocks(function: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """Apply a function of ``(m, e)`` to rows in blocks of one fixed number."""
    parts = []
    for start in range(0, len(rows), PROJECTED_ROWS):
        block = rows[start : start + PROJECTED_ROWS]
        full = torch.cat([block, rows.new_zeros(PROJECTED_ROWS - len(block), rows.shape[1])])
        parts.append(function(full)[: len(block)])
    return torch.cat(parts)
