"""Recurrent layers made fast for encoding: input projections are cached, cells run in place.

A step is a small matrix product and gate arithmetic. The arithmetic, and the memory taken and
given back for it, would take longer than the product: so it is done in place, and nothing is
allocated.

Letters: n rows, e input width, h hidden width, g = 4h (LSTM) or 3h (GRU) gate inputs.

The first layer's input projection takes most of its arithmetic when word vectors are wide, and
a window of sentences holds each frequent token many times. So each distinct token is projected
once, and the steps look its projection up. Every matrix product has a shape that does not depend
on the lengths of the rows, so that a row's numbers do not depend on the rows beside it.

A direction that reads backwards is given its rows reversed: both begin at step 0, and what comes
behind the end of a row is computed and not looked at.

Letters: u distinct tokens, n rows, t positions, e input width, h hidden width, g gate inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor, nn

from bitextfilter.io.batches import map_blocks
from bitextfilter.models.device import product_type
from bitextfilter.models.recurrent import BidirectionalRecurrent, LeakyGru


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


class _State(ABC):
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
    def start(self, rows: int) -> _State:
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

    def start(self, rows: int) -> _State:
        """See :meth:`Steps.start`."""
        return LstmState(self, rows)


class LstmState(_State):
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

    def start(self, rows: int) -> _State:
        """See :meth:`Steps.start`."""
        return GruState(self, rows)


class GruState(_State):
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

    def start(self, rows: int) -> _State:
        """See :meth:`Steps.start`."""
        return LeakyState(self, rows)


class LeakyState(_State):
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


PROJECTED_ROWS = 256
"""Tokens projected by one matrix product: always as many, so that none depends on the others."""

Fill = Callable[[int, Tensor], object]
"""Writes the gate inputs of a step into a ``(n, g)``."""

States = Iterable[tuple[int, Tensor]]
"""A step and the states ``(n, h)`` after it, which hold until the next is asked for."""


def in_order(ids: Tensor, lengths: Tensor, backward: bool) -> Tensor:
    """Rows ``(n, t)`` in the order they are read, a step a row: ``(t, n)``."""
    steps = torch.arange(ids.shape[1], device=ids.device)
    if not backward:
        return ids.T.contiguous()
    return ids.gather(1, (lengths[:, None] - 1 - steps).clamp(min=0)).T.contiguous()


def states(steps: Steps, fill: Fill, lengths: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Read all rows, each ``lengths (n,)`` long; beyond its end a row's states mean nothing."""
    state = steps.start(len(lengths))
    for step in range(int(lengths.max())):
        fill(step, state.inputs)
        state.step()
        yield step, state.hidden


def _highest(read: States, lengths: Tensor) -> Tensor:
    """Maximum of the states of each row, ``(n, h)``."""
    shortest, best = int(lengths.min()), torch.empty(0)
    for step, hidden in read:
        if step == 0:
            best = hidden.clone()
        elif step < shortest:
            torch.maximum(best, hidden, out=best)
        else:
            best = torch.where((step < lengths)[:, None], torch.maximum(best, hidden), best)
    return best


def mean(read: States, lengths: Tensor) -> Tensor:
    """Mean of the states of each row, ``(n, h)``."""
    shortest, total = int(lengths.min()), torch.empty(0)
    for step, hidden in read:
        if step == 0:
            total = hidden.clone()
        else:
            total += hidden if step < shortest else hidden * (step < lengths)[:, None]
    return total / lengths[:, None]


class CachedDirection:
    """One direction of a layer over a set of distinct tokens."""

    def __init__(
        self, cells: nn.Module, vectors: Tensor, backward: bool = False, threads: int = 1
    ) -> None:
        """``vectors (u, e)``: the word vectors of the distinct tokens."""
        self._steps, self._backward = steps_of(cells), backward

        def project(rows: Tensor, inputs: Tensor) -> None:
            self._steps.projection(PROJECTED_ROWS)(rows, inputs)

        self._inputs = in_blocks(project, vectors, len(self._steps.bias), threads)

    def states(self, ids: Tensor, lengths: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Read rows ``(n, t)`` of distinct tokens."""
        places = in_order(ids, lengths, self._backward)
        return states(
            self._steps,
            lambda step, inputs: torch.index_select(self._inputs, 0, places[step], out=inputs),
            lengths,
        )

    def highest(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Maximum of the states of rows ``(n, t)``, ``(n, h)``."""
        return _highest(self.states(ids, lengths), lengths)

    def mean(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Mean of the states of rows ``(n, t)``, ``(n, h)``."""
        return mean(self.states(ids, lengths), lengths)


class CachedRecurrent:
    """The layers of a :class:`BidirectionalRecurrent` over a set of distinct tokens."""

    def __init__(self, layers: BidirectionalRecurrent, vectors: Tensor, threads: int = 1) -> None:
        """``vectors (u, e)``: the word vectors of the distinct tokens."""
        self._first = [
            CachedDirection(cells, vectors, bool(side), threads)
            for side, cells in enumerate(layers.directions(0))
        ]
        self._upper = [
            [steps_of(cells) for cells in layers.directions(layer)]
            for layer in range(1, layers.depth)
        ]

    def max_pooled(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Maximum over the last layer's states: ``(n, t)``, ``(n,)`` → ``(n, 2h)``."""
        read: list[States] = [direction.states(ids, lengths) for direction in self._first]
        for layer in self._upper:
            ahead, back = (torch.stack([hidden.clone() for _, hidden in side]) for side in read)
            inputs = (
                torch.cat([ahead, _reversed(back, lengths)], dim=2),
                torch.cat([_reversed(ahead, lengths), back], dim=2),
            )
            read = [
                states(steps, _projecting(steps, rows), lengths)
                for steps, rows in zip(layer, inputs, strict=True)
            ]
        return torch.cat([_highest(side, lengths) for side in read], dim=1)


def _reversed(rows: Tensor, lengths: Tensor) -> Tensor:
    """Reverse ``(t, n, h)`` within each length; what is behind the end means nothing."""
    steps = torch.arange(len(rows), device=rows.device)[:, None]
    places = (lengths - 1 - steps).clamp(min=0)
    return rows.gather(0, places[:, :, None].expand_as(rows))


def _projecting(steps: Steps, rows: Tensor) -> Fill:
    """The inputs of a layer above the first: projected step by step from ``(t, n, e)``."""
    project = steps.projection(rows.shape[1])
    return lambda step, inputs: project(rows[step], inputs)


def in_blocks(
    write: Callable[[Tensor, Tensor], object], rows: Tensor, width: int, threads: int = 1
) -> Tensor:
    """Make ``(m, width)`` of rows ``(m, e)``: *write* is given as many at a time, and the place.

    It is called by *threads* threads side by side.
    """
    starts = range(0, len(rows), PROJECTED_ROWS)
    out = rows.new_empty(len(starts) * PROJECTED_ROWS, width)

    def run(start: int) -> None:
        block = rows[start : start + PROJECTED_ROWS]
        missing = PROJECTED_ROWS - len(block)
        full = torch.cat([block, rows.new_zeros(missing, rows.shape[1])]) if missing else block
        with torch.inference_mode():
            write(full, out[start : start + PROJECTED_ROWS])

    map_blocks(run, starts, threads)
    return out[: len(rows)]
