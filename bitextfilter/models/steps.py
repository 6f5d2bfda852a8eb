"""Recurrent cells a step at a time, over inputs already projected, in buffers of their own.

A step is a small matrix product and gate arithmetic. The arithmetic, and the memory taken and
given back for it, would take longer than the product: so it is done in place, and nothing is
allocated.

Letters: n rows, e input width, h hidden width, g = 4h (LSTM) or 3h (GRU) gate inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from bitextfilter.models.device import product_type
from bitextfilter.models.gru import LeakyGru


def factor(weight: Tensor) -> Tensor:
    """Return the transpose of a layer's weight ``(g, e)`` as products take it, ``(e, g)``.

    In bfloat16 where the processor has instructions for it, else in float32.
    """
    return weight.T.to(product_type(weight.device)).contiguous()


class Product:
    """Products of float32 rows ``(n, e)``, always as many, with one matrix ``(e, g)``.

    They are made in the type of the matrix, see :func:`factor`.
    """

    def __init__(self, matrix: Tensor, rows: int) -> None:
        self.matrix = matrix
        self._rows = matrix.new_empty(rows, len(matrix))
        self._product = matrix.new_empty(rows, matrix.shape[1])

    def add_to(self, sums: Tensor, rows: Tensor) -> Tensor:
        """Add the product of *rows* to *sums* ``(n, g)``, in place."""
        if self.matrix.dtype == rows.dtype:
            return sums.addmm_(rows, self.matrix)
        return sums.add_(torch.mm(self._rows.copy_(rows), self.matrix, out=self._product))


class State(ABC):
    """Rows that are being read: fill in ``inputs``, take a step, look at ``hidden``."""

    inputs: Tensor
    """``(n, g)``: the gate inputs of the next step, which uses them up."""
    hidden: Tensor
    """``(n, h)``; the next step overwrites it."""

    @abstractmethod
    def step(self) -> None:
        """Read what the inputs are of."""


class Steps(ABC):
    """One direction of a recurrent layer."""

    bias: Tensor
    """``(g,)``"""
    inward: Tensor
    """``(e, g)``, a :func:`factor`."""

    @abstractmethod
    def start(self, rows: int) -> State:
        """Return *rows* rows of which nothing has been read."""

    def projection(self, rows: int) -> Projection:
        """Return what projects inputs of the layer, *rows* at a time."""
        return Projection(self, rows)


class Projection:
    """Inputs ``(n, e)`` of a layer → gate inputs ``(n, g)``, for always as many rows."""

    def __init__(self, steps: Steps, rows: int) -> None:
        self._bias = steps.bias
        self._product = Product(steps.inward, rows)

    def __call__(self, vectors: Tensor, inputs: Tensor) -> None:
        """Write the gate inputs of *vectors* into *inputs*."""
        self._product.add_to(inputs.copy_(self._bias.expand_as(inputs)), vectors)


class LstmSteps(Steps):
    """Those of torch's LSTM."""

    def __init__(self, cells: nn.LSTM) -> None:
        self.hidden = cells.hidden_size
        parts = dict(cells.named_parameters())
        self.bias = self._sorted(parts["bias_ih_l0"] + parts["bias_hh_l0"])
        self.inward = factor(self._sorted(parts["weight_ih_l0"]))
        self.weight = factor(self._sorted(parts["weight_hh_l0"]))

    def _sorted(self, gates: Tensor) -> Tensor:
        """Move the candidate behind the three gates (torch: i, f, g, o → i, f, o, g)."""
        first, candidate, output = torch.split(gates, [2 * self.hidden, self.hidden, self.hidden])
        return torch.cat([first, output, candidate])

    def start(self, rows: int) -> State:
        """See :meth:`Steps.start`."""
        return LstmState(self, rows)


class LstmState(State):
    """Hidden state and cell of an LSTM."""

    def __init__(self, steps: LstmSteps, rows: int) -> None:
        width = steps.hidden
        self.inputs = steps.bias.new_empty(rows, 4 * width)
        self.hidden = steps.bias.new_zeros(rows, width)
        self._cell, self._squashed = self.hidden.clone(), self.hidden.clone()
        self._gates = self.inputs[:, : 3 * width]
        self._keep, self._forget, self._output, self._candidate = self.inputs.chunk(4, dim=1)
        self._product = Product(steps.weight, rows)

    def step(self) -> None:
        """Step: c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c')."""
        self._product.add_to(self.inputs, self.hidden)
        self._gates.sigmoid_()
        self._cell.mul_(self._forget).addcmul_(self._keep, self._candidate.tanh_())
        torch.tanh(self._cell, out=self._squashed)
        torch.mul(self._output, self._squashed, out=self.hidden)


class GruSteps(Steps):
    """Those of torch's GRU."""

    def __init__(self, cells: nn.GRU) -> None:
        self.hidden = cells.hidden_size
        parts = dict(cells.named_parameters())
        self.bias = parts["bias_ih_l0"]
        self.inward = factor(parts["weight_ih_l0"])
        self.hidden_bias = parts["bias_hh_l0"]
        self.weight = factor(parts["weight_hh_l0"])

    def start(self, rows: int) -> State:
        """See :meth:`Steps.start`."""
        return GruState(self, rows)


class GruState(State):
    """The hidden state of a GRU."""

    def __init__(self, steps: GruSteps, rows: int) -> None:
        width = steps.hidden
        self.inputs = steps.bias.new_empty(rows, 3 * width)
        self.hidden = steps.bias.new_zeros(rows, width)
        self._past, self._bias = torch.empty_like(self.inputs), steps.hidden_bias
        self._new = self._split(self.inputs)
        self._old = self._split(self._past)
        self._product = Product(steps.weight, rows)

    def _split(self, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Return the part of both gates, and that of the candidate."""
        width = self.hidden.shape[1]
        return sums[:, : 2 * width], sums[:, 2 * width :]

    def step(self) -> None:
        """H' = n + σ(z) (h - n) with n = tanh(u + σ(r) u')."""
        self._product.add_to(self._past.copy_(self._bias.expand_as(self._past)), self.hidden)
        (gates, candidate), (past_gates, past_candidate) = self._new, self._old
        reset, update = gates.add_(past_gates).sigmoid_().chunk(2, dim=1)
        candidate.addcmul_(reset, past_candidate).tanh_()
        self.hidden.sub_(candidate).mul_(update).add_(candidate)


class LeakySteps(Steps):
    """Those of :class:`LeakyGru`."""

    def __init__(self, cells: LeakyGru) -> None:
        self.cells = cells
        self.bias = cells.inward.bias
        self.inward = factor(cells.inward.weight)

    def start(self, rows: int) -> State:
        """See :meth:`Steps.start`."""
        return LeakyState(self, rows)


class LeakyState(State):
    """The hidden state of a :class:`LeakyGru`, all in float32."""

    def __init__(self, steps: LeakySteps, rows: int) -> None:
        self.inputs = steps.bias.new_empty(rows, len(steps.bias))
        self.hidden = steps.bias.new_zeros(rows, steps.cells.hidden)
        self._cells = steps.cells

    def step(self) -> None:
        """See :meth:`LeakyGru.step`."""
        self.hidden = self._cells.step(self.inputs, self.hidden)


def steps_of(cells: nn.Module) -> Steps:
    """Return the steps of one direction of a layer."""
    if isinstance(cells, nn.LSTM):
        return LstmSteps(cells)
    if isinstance(cells, LeakyGru):
        return LeakySteps(cells)
    assert isinstance(cells, nn.GRU)
    return GruSteps(cells)
