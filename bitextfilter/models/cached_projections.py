"""Recurrent layers made fast for encoding: cached input projections, and cells in place.

The input projection is most of a layer's arithmetic when word vectors are wide, and a window of
sentences repeats its frequent tokens: so each distinct token is projected once. A step is a small
matrix product and gate arithmetic; the latter, with its allocations, would take longer than the
product, so it is done in place. Every product has a shape that does not depend on the lengths of
the rows, so that a row's numbers do not depend on the rows beside it.

A backward direction gets its rows reversed: both begin at step 0. States beyond the end of a row
are computed and ignored.

Letters: u distinct tokens, n rows, t positions, e input width, h hidden width, g = 4h (LSTM) or
3h (GRU) gate inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from bitextfilter.io.batches import map_blocks
from bitextfilter.models.device import product_type
from bitextfilter.models.recurrent import BidirectionalRecurrent, LeakyGru

_PROJECTED_ROWS = 256
"""Tokens projected by one matrix product: always the same number: none depends on others."""

Fill = Callable[[int, Tensor], object]
"""Writes the gate inputs of a step into a ``(n, g)``."""

States = Iterable[tuple[int, Tensor]]
"""Steps and the states ``(n, h)`` after them; each holds until the next is asked for."""


def _factor(weight: Tensor) -> Tensor:
    """Return a layer's weight ``(g, e)`` as a factor of products, ``(e, g)``.

    In bfloat16 where the processor has instructions for it, else in float32.
    """
    return weight.T.to(product_type(weight.device)).contiguous()


class Product:
    """Products of float32 rows ``(n, e)``, n fixed, with one matrix ``(e, g)``, in its type."""

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
    """Rows being read: fill in ``inputs``, take a step, use ``hidden``."""

    def __init__(self, steps: Any, rows: int) -> None:
        self.inputs = steps.bias.new_empty(rows, len(steps.bias))
        """``(n, g)``: the gate inputs of the next step, which overwrites them."""
        self.hidden = steps.bias.new_zeros(rows, steps.width)
        """``(n, h)``; the next step overwrites it."""

    @abstractmethod
    def step(self) -> None:
        """Take a step."""


class _Steps(ABC):
    """The weights of one direction of a recurrent layer."""

    bias: Tensor
    """``(g,)``"""
    inward: Tensor
    """``(e, g)``, a factor."""
    width: int
    """h"""
    state: ClassVar[type[_State]]

    def start(self, rows: int) -> _State:
        """Return the state of *rows* rows before their first step."""
        return self.state(self, rows)

    def projection(self, rows: int) -> Callable[[Tensor, Tensor], object]:
        """Return a function that writes the projections of *rows* inputs into a ``(n, g)``."""
        product = Product(self.inward, rows)
        return lambda vectors, inputs: product.add_to(
            inputs.copy_(self.bias.expand_as(inputs)), vectors
        )


class _LstmState(_State):
    """Hidden state and cell of an LSTM."""

    def __init__(self, steps: _LstmSteps, rows: int) -> None:
        super().__init__(steps, rows)
        self._cell, self._squashed = self.hidden.clone(), self.hidden.clone()
        self._gates = self.inputs[:, : 3 * steps.width]
        self._keep, self._forget, self._output, self._candidate = self.inputs.chunk(4, dim=1)
        self._product = Product(steps.weight, rows)

    def step(self) -> None:
        """Step: c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c')."""
        self._product.add_to(self.inputs, self.hidden)
        self._gates.sigmoid_()
        self._cell.mul_(self._forget).addcmul_(self._keep, self._candidate.tanh_())
        torch.tanh(self._cell, out=self._squashed)
        torch.mul(self._output, self._squashed, out=self.hidden)


class _LstmSteps(_Steps):
    """The weights of torch's LSTM."""

    state = _LstmState

    def __init__(self, cells: nn.LSTM) -> None:
        self.width = cells.hidden_size
        parts = dict(cells.named_parameters())
        self.bias = self._sorted(parts["bias_ih_l0"] + parts["bias_hh_l0"])
        self.inward = _factor(self._sorted(parts["weight_ih_l0"]))
        self.weight = _factor(self._sorted(parts["weight_hh_l0"]))

    def _sorted(self, gates: Tensor) -> Tensor:
        """Move the candidate behind the three gates (torch: i, f, g, o → i, f, o, g)."""
        first, candidate, output = torch.split(gates, [2 * self.width, self.width, self.width])
        return torch.cat([first, output, candidate])


class _GruState(_State):
    """The hidden state of a GRU."""

    def __init__(self, steps: _GruSteps, rows: int) -> None:
        super().__init__(steps, rows)
        self._past, self._bias = torch.empty_like(self.inputs), steps.hidden_bias
        sizes = [2 * steps.width, steps.width]
        self._new, self._old = (torch.split(x, sizes, dim=1) for x in (self.inputs, self._past))
        self._product = Product(steps.weight, rows)

    def step(self) -> None:
        """Step: h' = n + σ(z) (h - n) with n = tanh(u + σ(r) u')."""
        self._product.add_to(self._past.copy_(self._bias.expand_as(self._past)), self.hidden)
        (gates, candidate), (past_gates, past_candidate) = self._new, self._old
        reset, update = gates.add_(past_gates).sigmoid_().chunk(2, dim=1)
        candidate.addcmul_(reset, past_candidate).tanh_()
        self.hidden.sub_(candidate).mul_(update).add_(candidate)


class _GruSteps(_Steps):
    """The weights of torch's GRU."""

    state = _GruState

    def __init__(self, cells: nn.GRU) -> None:
        self.width = cells.hidden_size
        parts = dict(cells.named_parameters())
        self.bias, self.hidden_bias = parts["bias_ih_l0"], parts["bias_hh_l0"]
        self.inward = _factor(parts["weight_ih_l0"])
        self.weight = _factor(parts["weight_hh_l0"])


class _LeakyState(_State):
    """The hidden state of a :class:`LeakyGru`, all in float32."""

    def __init__(self, steps: _LeakySteps, rows: int) -> None:
        super().__init__(steps, rows)
        self._cells = steps.cells

    def step(self) -> None:
        """See :meth:`LeakyGru.step`."""
        self.hidden = self._cells.step(self.inputs, self.hidden)


class _LeakySteps(_Steps):
    """The weights of a :class:`LeakyGru`."""

    state = _LeakyState

    def __init__(self, cells: LeakyGru) -> None:
        self.cells, self.width = cells, cells.hidden
        self.bias, self.inward = cells.inward.bias, _factor(cells.inward.weight)


def steps_of(cells: nn.Module) -> _Steps:
    """Return the weights of one direction of a layer."""
    if isinstance(cells, nn.LSTM):
        return _LstmSteps(cells)
    if isinstance(cells, LeakyGru):
        return _LeakySteps(cells)
    assert isinstance(cells, nn.GRU)
    return _GruSteps(cells)


def in_order(ids: Tensor, lengths: Tensor, backward: bool) -> Tensor:
    """Return rows ``(n, t)`` in the order of reading, a step a row: ``(t, n)``."""
    steps = torch.arange(ids.shape[1], device=ids.device)
    if not backward:
        return ids.T.contiguous()
    return ids.gather(1, (lengths[:, None] - 1 - steps).clamp(min=0)).T.contiguous()


def _states(steps: _Steps, fill: Fill, lengths: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Read all rows, each ``lengths (n,)`` long; ignore a row's states beyond its end."""
    state = steps.start(len(lengths))
    for step in range(int(lengths.max())):
        fill(step, state.inputs)
        state.step()
        yield step, state.hidden


def _highest(read: States, lengths: Tensor) -> Tensor:
    """Return the maximum of the states of each row, ``(n, h)``."""
    shortest, best = int(lengths.min()), torch.empty(0)
    for step, hidden in read:
        if step == 0:
            best = hidden.clone()
        elif step < shortest:
            torch.maximum(best, hidden, out=best)
        else:
            best = torch.where((step < lengths)[:, None], torch.maximum(best, hidden), best)
    return best


class CachedDirection:
    """One direction of a layer over a set of distinct tokens."""

    def __init__(
        self, cells: nn.Module, vectors: Tensor, backward: bool = False, threads: int = 1
    ) -> None:
        """``vectors (u, e)``: the word vectors of the distinct tokens."""
        self._steps, self._backward = steps_of(cells), backward

        def project(rows: Tensor, inputs: Tensor) -> None:
            self._steps.projection(_PROJECTED_ROWS)(rows, inputs)

        self._inputs = in_blocks(project, vectors, len(self._steps.bias), threads)

    def states(self, ids: Tensor, lengths: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Read rows ``(n, t)`` of distinct tokens."""
        places = in_order(ids, lengths, self._backward)
        return _states(
            self._steps,
            lambda step, inputs: torch.index_select(self._inputs, 0, places[step], out=inputs),
            lengths,
        )

    def highest(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return the maximum of the states of rows ``(n, t)``, ``(n, h)``."""
        return _highest(self.states(ids, lengths), lengths)

    def mean(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return the mean of the states of rows ``(n, t)``, ``(n, h)``."""
        shortest, total = int(lengths.min()), torch.empty(0)
        for step, hidden in self.states(ids, lengths):
            if step == 0:
                total = hidden.clone()
            else:
                total += hidden if step < shortest else hidden * (step < lengths)[:, None]
        return total / lengths[:, None]


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
        """Return the maximum over the last layer's states: ``(n, t)``, ``(n,)`` → ``(n, 2h)``."""
        read: list[States] = [direction.states(ids, lengths) for direction in self._first]
        for layer in self._upper:
            ahead, back = (torch.stack([hidden.clone() for _, hidden in side]) for side in read)
            inputs = (
                torch.cat([ahead, _reversed(back, lengths)], dim=2),
                torch.cat([_reversed(ahead, lengths), back], dim=2),
            )
            read = [
                _states(steps, _projecting(steps, rows), lengths)
                for steps, rows in zip(layer, inputs, strict=True)
            ]
        return torch.cat([_highest(side, lengths) for side in read], dim=1)


def _reversed(rows: Tensor, lengths: Tensor) -> Tensor:
    """Reverse ``(t, n, h)`` within each length; ignore the numbers beyond."""
    steps = torch.arange(len(rows), device=rows.device)[:, None]
    places = (lengths - 1 - steps).clamp(min=0)
    return rows.gather(0, places[:, :, None].expand_as(rows))


def _projecting(steps: _Steps, rows: Tensor) -> Fill:
    """Project the inputs ``(t, n, e)`` of a layer above the first step by step."""
    project = steps.projection(rows.shape[1])
    return lambda step, inputs: project(rows[step], inputs)


def in_blocks(
    write: Callable[[Tensor, Tensor], object], rows: Tensor, width: int, threads: int = 1
) -> Tensor:
    """Make ``(m, width)`` of rows ``(m, e)`` in blocks of a fixed number of rows.

    *write* gets a block and its place in the result; *threads* call it side by side.
    """
    starts = range(0, len(rows), _PROJECTED_ROWS)
    out = rows.new_empty(len(starts) * _PROJECTED_ROWS, width)

    def run(start: int) -> None:
        block = rows[start : start + _PROJECTED_ROWS]
        missing = _PROJECTED_ROWS - len(block)
        full = torch.cat([block, rows.new_zeros(missing, rows.shape[1])]) if missing else block
        with torch.inference_mode():
            write(full, out[start : start + _PROJECTED_ROWS])

    map_blocks(run, starts, threads)
    return out[: len(rows)]
