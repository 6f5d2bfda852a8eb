"""Recurrent layers made fast for encoding: what depends on a token alone is computed once.

The first layer's input projection takes most of its arithmetic when word vectors are wide, and
a window of sentences holds each frequent token many times. So each distinct token is projected
once, and the steps look its projection up. Every matrix product has a shape that does not depend
on the lengths of the rows, so that a row's numbers do not depend on the rows beside it.

Letters: u distinct tokens, n rows, t positions, e input width, h hidden width, g = 4h (LSTM) or
3h (GRU) gate inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from bitextfilter.models.gru import LeakyGru
from bitextfilter.models.recurrent import BidirectionalRecurrent

PROJECTED_ROWS = 256
"""Tokens projected by one matrix product: always as many, so that none depends on the others."""

Inputs = Callable[[int], Tensor]
"""Gate inputs ``(n, g)`` at a position."""


class Steps(ABC):
    """One direction of a recurrent layer, a step at a time over inputs already projected."""

    hidden: int
    bias: Tensor
    """``(g,)``"""
    inward: Tensor
    """``(e, g)``"""

    def project(self, vectors: Tensor) -> Tensor:
        """Inputs ``(m, e)`` of the layer → gate inputs ``(m, g)``."""
        return torch.addmm(self.bias, vectors, self.inward)

    @abstractmethod
    def step(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Gate inputs ``(n, g)``, states and cells ``(n, h)`` → the next states and cells."""

    def states(
        self, inputs: Inputs, lengths: Tensor, backward: bool = False
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """States in the order of reading: position, states ``(n, h)``, and who is inside.

        ``lengths (n,)``. A row beyond its end has the state 0; inside is ``(n, 1)``.
        """
        hidden = cell = self.inward.new_zeros(len(lengths), self.hidden)
        positions = range(int(lengths.max()))
        shortest = int(lengths.min())
        inside = torch.ones_like(lengths, dtype=torch.bool)[:, None]
        for position in reversed(positions) if backward else positions:
            hidden, cell = self.step(inputs(position), hidden, cell)
            if position >= shortest:
                inside = (position < lengths)[:, None]
                hidden, cell = hidden * inside, cell * inside
            elif backward:
                inside = torch.ones_like(inside)
            yield position, hidden, inside

    def highest(self, inputs: Inputs, lengths: Tensor, backward: bool = False) -> Tensor:
        """Maximum of the states over the positions of each row, ``(n, h)``."""
        highest = self.inward.new_full((len(lengths), self.hidden), float("-inf"))
        for _, hidden, inside in self.states(inputs, lengths, backward):
            highest = torch.where(inside, torch.maximum(highest, hidden), highest)
        return highest

    def mean(self, inputs: Inputs, lengths: Tensor, backward: bool = False) -> Tensor:
        """Mean of the states over the positions of each row, ``(n, h)``."""
        total = self.inward.new_zeros(len(lengths), self.hidden)
        for _, hidden, _ in self.states(inputs, lengths, backward):
            total += hidden
        return total / lengths[:, None]


class LstmSteps(Steps):
    """Those of torch's LSTM."""

    def __init__(self, cells: nn.LSTM) -> None:
        self.hidden = cells.hidden_size
        parts = dict(cells.named_parameters())
        self.bias = self._sorted(parts["bias_ih_l0"] + parts["bias_hh_l0"])
        self.weight = self._sorted(parts["weight_hh_l0"]).T.contiguous()
        self.inward = self._sorted(parts["weight_ih_l0"]).T.contiguous()

    def _sorted(self, gates: Tensor) -> Tensor:
        """Move the cell input behind the three gates (torch: i, f, g, o → i, f, o, g)."""
        first, cell, output = torch.split(gates, [2 * self.hidden, self.hidden, self.hidden])
        return torch.cat([first, output, cell])

    def step(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """See :meth:`Steps.step`."""
        inputs = torch.addmm(inputs, hidden, self.weight)
        gates, candidate = torch.split(inputs, [3 * self.hidden, self.hidden], dim=1)
        keep, forget, output = gates.sigmoid_().chunk(3, dim=1)
        cell = forget * cell + keep * candidate.tanh_()
        return output * cell.tanh(), cell


class GruSteps(Steps):
    """Those of torch's GRU; the cell is not used."""

    def __init__(self, cells: nn.GRU) -> None:
        self.hidden = cells.hidden_size
        parts = dict(cells.named_parameters())
        self.bias: Tensor = parts["bias_ih_l0"]
        self.hidden_bias: Tensor = parts["bias_hh_l0"]
        self.weight = parts["weight_hh_l0"].T.contiguous()
        self.inward = parts["weight_ih_l0"].T.contiguous()

    def step(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """See :meth:`Steps.step`."""
        split = [2 * self.hidden, self.hidden]
        gates, candidate = torch.split(inputs, split, dim=1)
        past_gates, past_candidate = torch.split(
            hidden @ self.weight + self.hidden_bias, split, dim=1
        )
        reset, update = (gates + past_gates).sigmoid_().chunk(2, dim=1)
        new = (candidate + reset * past_candidate).tanh_()
        return new + update * (hidden - new), cell


class LeakySteps(Steps):
    """Those of :class:`LeakyGru`; the cell is not used."""

    def __init__(self, cells: LeakyGru) -> None:
        self.hidden = cells.hidden
        self.bias = cells.inward.bias
        self.inward = cells.inward.weight.T.contiguous()
        self._cells = cells

    def step(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """See :meth:`Steps.step`."""
        return self._cells.step(inputs, hidden), cell


def steps_of(cells: nn.Module) -> Steps:
    """The steps of one direction of a layer."""
    if isinstance(cells, nn.LSTM):
        return LstmSteps(cells)
    if isinstance(cells, LeakyGru):
        return LeakySteps(cells)
    assert isinstance(cells, nn.GRU)
    return GruSteps(cells)


def looked_up(projected: Tensor, ids: Tensor) -> Inputs:
    """Gate inputs of padded rows ``(n, t)`` of distinct tokens that are projected ``(u, g)``."""
    return lambda position: projected[ids[:, position]]


class FoldedRecurrent:
    """The layers of a :class:`BidirectionalRecurrent` over a set of distinct tokens."""

    def __init__(self, layers: BidirectionalRecurrent, vectors: Tensor) -> None:
        """``vectors (u, e)``: the word vectors of the distinct tokens."""
        self._layers = [
            [steps_of(cells) for cells in layers.directions(layer)] for layer in range(layers.depth)
        ]
        self._projected = [in_blocks(steps.project, vectors) for steps in self._layers[0]]

    def max_pooled(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Maximum over the last layer's states: ``(n, t)``, ``(n,)`` → ``(n, 2h)``."""
        inputs = [looked_up(projected, ids) for projected in self._projected]
        for layer, upper in zip(self._layers, self._layers[1:], strict=False):
            states = self._states(layer, inputs, lengths)
            inputs = [_projecting(steps, states) for steps in upper]
        ahead, back = self._layers[-1]
        highest = [ahead.highest(inputs[0], lengths), back.highest(inputs[1], lengths, True)]
        return torch.cat(highest, dim=1)

    @staticmethod
    def _states(layer: list[Steps], inputs: list[Inputs], lengths: Tensor) -> Tensor:
        """States of a whole layer, ``(t, n, 2h)``."""
        shape = (int(lengths.max()), len(lengths), layer[0].hidden)
        sides = []
        for side, (steps, given) in enumerate(zip(layer, inputs, strict=True)):
            states = steps.inward.new_empty(shape)
            for position, hidden, _ in steps.states(given, lengths, bool(side)):
                states[position] = hidden
            sides.append(states)
        return torch.cat(sides, dim=2)


def _projecting(steps: Steps, states: Tensor) -> Inputs:
    """The inputs of a layer above the first: projected position by position."""
    return lambda position: steps.project(states[position])


def in_blocks(function: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """Apply a function of ``(m, e)`` to rows in blocks of one fixed number."""
    parts = []
    for start in range(0, len(rows), PROJECTED_ROWS):
        block = rows[start : start + PROJECTED_ROWS]
        full = torch.cat([block, rows.new_zeros(PROJECTED_ROWS - len(block), rows.shape[1])])
        parts.append(function(full)[: len(block)])
    return torch.cat(parts)
