"""Recurrent layers: for training, and made fast for encoding with cached input projections.

The input projection is most of a layer's arithmetic when word vectors are wide, and a window of
sentences repeats its frequent tokens: so encoding projects each distinct token once. A step is a
small matrix product and gate arithmetic; the latter, with its allocations, would take longer than
the product, so it is done in place. Every product has a shape that does not depend on the lengths
of the rows, so that a row's numbers do not depend on the rows beside it.

A backward direction gets its rows reversed: both begin at step 0. States beyond the end of a row
are computed and ignored.

Letters: n rows, t positions, u distinct tokens, e input width, h hidden width a direction,
d = 2h, g = 4h (LSTM) or 3h (GRU) gate inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from bitextfilter.io.workers import map_blocks
from bitextfilter.models.device import product_type
from bitextfilter.models.pooling import States

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}


def reverse_padded(values: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each row of ``(n, t, e)`` within its length; padding stays at the end."""
    positions = torch.arange(values.shape[1], device=values.device)
    mirrored = lengths[:, None] - 1 - positions
    index = torch.where(mirrored >= 0, mirrored, positions)
    return values.gather(1, index[:, :, None].expand_as(values))


class BidirectionalRecurrent(nn.Module):
    """Layers of a forward and a backward LSTM or GRU whose states are concatenated.

    The directions are separate modules. The backward one reads each sentence of a padded batch
    reversed within its length: it sees no padding, and is faster on a CPU than packing.
    """

    def __init__(self, cell: str, width: int, hidden: int, layers: int) -> None:
        super().__init__()
        widths = [width] + [2 * hidden] * (layers - 1)
        self.forwards = nn.ModuleList(CELLS[cell](e, hidden, batch_first=True) for e in widths)
        self.backwards = nn.ModuleList(CELLS[cell](e, hidden, batch_first=True) for e in widths)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.forwards)

    def directions(self, layer: int) -> tuple[nn.LSTM | nn.GRU, nn.LSTM | nn.GRU]:
        """Return the forward and the backward cells of a layer."""
        ahead, back = self.forwards[layer], self.backwards[layer]
        assert isinstance(ahead, (nn.LSTM, nn.GRU)) and isinstance(back, (nn.LSTM, nn.GRU))
        return ahead, back

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """``(n, t, e)``, ``(n,)`` → states ``(n, t, 2h)``; ignore those beyond a length."""
        for layer in range(self.depth):
            ahead, back = self.directions(layer)
            right = ahead(vectors)[0]
            left = reverse_padded(back(reverse_padded(vectors, lengths))[0], lengths)
            vectors = torch.cat([right, left], dim=2)
        return vectors


class RecurrentDecoder(nn.Module):
    """One unidirectional recurrent layer that starts from the sentence embedding, no attention.

    The embedding is the initial hidden state (and cell of an LSTM): Kim et al. 2019, section 3.
    """

    def __init__(self, cell: str, width: int, hidden: int) -> None:
        super().__init__()
        self.cells = CELLS[cell](width, hidden, batch_first=True)

    def forward(self, embedding: Tensor, inputs: Tensor) -> Tensor:
        """``(n, d)`` and word vectors ``(n, t, e)`` → hidden states ``(n, t, d)``."""
        state = embedding[None].contiguous()
        if isinstance(self.cells, nn.LSTM):
            return self.cells(inputs, (state, state))[0]  # type: ignore[no-any-return]
        return self.cells(inputs, state)[0]  # type: ignore[no-any-return]


_SLOPE = 0.01
"""The slope of the leaky ReLU below 0: torch's default; the paper states none."""


class LeakyGru(nn.Module):
    """One layer, read from left to right, with a leaky ReLU f:

    r = σ(W_r x + U_r h),  z = σ(W_z x + U_z h)
    c = z ⊙ f(W_h x + U_h (r ⊙ h) + b)
    h' = (1 − z) ⊙ h + c
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.inward = nn.Linear(width, 3 * hidden)
        """W_r, W_z, W_h stacked; the paper has a bias for the last only, ours are all learnt."""
        self.gates = nn.Linear(hidden, 2 * hidden, bias=False)
        self.candidate = nn.Linear(hidden, hidden, bias=False)

    def step(self, inputs: Tensor, hidden: Tensor) -> Tensor:
        """Projected inputs ``(n, 3h)`` and states ``(n, h)`` → the next states ``(n, h)``."""
        size = self.hidden
        gates = torch.sigmoid(inputs[:, : 2 * size] + self.gates(hidden))
        reset, update = gates.chunk(2, dim=1)
        new = leaky_relu(inputs[:, 2 * size :] + self.candidate(reset * hidden), _SLOPE)
        return (1 - update) * hidden + update * new

    def forward(self, vectors: Tensor) -> Tensor:
        """``(n, t, e)`` → states ``(n, t, h)``."""
        hidden = vectors.new_zeros(len(vectors), self.hidden)
        states = []
        for inputs in self.inward(vectors).unbind(1):
            hidden = self.step(inputs, hidden)
            states.append(hidden)
        return torch.stack(states, dim=1)


_PROJECTED_ROWS = 256
"""Tokens projected by one matrix product: always the same number: none depends on others."""

Fill = Callable[[int, Tensor], object]
"""Writes the gate inputs of a step into a ``(n, g)``."""


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


class State(NamedTuple):
    """Rows being read: fill in ``inputs``, take a step, use ``hidden``."""

    inputs: Tensor
    """``(n, g)``: the gate inputs of the next step, which overwrites them."""
    hidden: Tensor
    """``(n, h)``; the next step overwrites it."""
    step: Callable[[], object]
    """Takes a step."""


class _Steps(ABC):
    """The weights of one direction of a recurrent layer."""

    bias: Tensor
    """``(g,)``"""

    def __init__(self, width: int, inward: Tensor) -> None:
        """Take h, and the weight of the inputs ``(g, e)``."""
        self.width, self._inward = width, self._factor(inward)

    @staticmethod
    def _factor(weight: Tensor) -> Tensor:
        """Return a weight ``(g, e)`` as a factor of products, ``(e, g)``.

        In bfloat16 where the processor has instructions for it, else in float32.
        """
        return weight.T.to(product_type(weight.device)).contiguous()

    def _room(self, rows: int) -> tuple[Tensor, Tensor]:
        """Return gate inputs and hidden states of rows before their first step."""
        return self.bias.new_empty(rows, len(self.bias)), self.bias.new_zeros(rows, self.width)

    @abstractmethod
    def start(self, rows: int) -> State:
        """Return the state of *rows* rows before their first step."""

    def projection(self, rows: int) -> Callable[[Tensor, Tensor], object]:
        """Return a function that writes the projections of *rows* inputs into a ``(n, g)``."""
        product = Product(self._inward, rows)
        return lambda vectors, inputs: product.add_to(
            inputs.copy_(self.bias.expand_as(inputs)), vectors
        )


class _LstmSteps(_Steps):
    """The weights of torch's LSTM."""

    def __init__(self, cells: nn.LSTM) -> None:
        parts = {name: self._sorted(gates) for name, gates in cells.named_parameters()}
        super().__init__(cells.hidden_size, parts["weight_ih_l0"])
        self.bias = parts["bias_ih_l0"] + parts["bias_hh_l0"]
        self._weight = self._factor(parts["weight_hh_l0"])

    @staticmethod
    def _sorted(gates: Tensor) -> Tensor:
        """Move the candidate behind the three gates (torch: i, f, g, o → i, f, o, g)."""
        keep, forget, candidate, output = gates.chunk(4)
        return torch.cat([keep, forget, output, candidate])

    def start(self, rows: int) -> State:
        """See :meth:`_Steps.start`; c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c')."""
        inputs, hidden = self._room(rows)
        cell, squashed = hidden.clone(), hidden.clone()
        gates = inputs[:, : 3 * self.width]
        keep, forget, output, candidate = inputs.chunk(4, dim=1)
        product = Product(self._weight, rows)

        def step() -> None:
            product.add_to(inputs, hidden)
            gates.sigmoid_()
            cell.mul_(forget).addcmul_(keep, candidate.tanh_())
            torch.tanh(cell, out=squashed)
            torch.mul(output, squashed, out=hidden)

        return State(inputs, hidden, step)


class _GruSteps(_Steps):
    """The weights of torch's GRU."""

    def __init__(self, cells: nn.GRU) -> None:
        parts = dict(cells.named_parameters())
        super().__init__(cells.hidden_size, parts["weight_ih_l0"])
        self.bias, self._hidden_bias = parts["bias_ih_l0"], parts["bias_hh_l0"]
        self._weight = self._factor(parts["weight_hh_l0"])

    def start(self, rows: int) -> State:
        """See :meth:`_Steps.start`; h' = n + σ(z) (h - n) with n = tanh(u + σ(r) u')."""
        inputs, hidden = self._room(rows)
        past, bias = torch.empty_like(inputs), self._hidden_bias.expand_as(inputs)
        sizes = [2 * self.width, self.width]
        gates, candidate = torch.split(inputs, sizes, dim=1)
        past_gates, past_candidate = torch.split(past, sizes, dim=1)
        product = Product(self._weight, rows)

        def step() -> None:
            product.add_to(past.copy_(bias), hidden)
            reset, update = gates.add_(past_gates).sigmoid_().chunk(2, dim=1)
            candidate.addcmul_(reset, past_candidate).tanh_()
            hidden.sub_(candidate).mul_(update).add_(candidate)

        return State(inputs, hidden, step)


class _LeakySteps(_Steps):
    """The weights of a :class:`LeakyGru`; its steps are all in float32."""

    def __init__(self, cells: LeakyGru) -> None:
        super().__init__(cells.hidden, cells.inward.weight)
        self._cells, self.bias = cells, cells.inward.bias

    def start(self, rows: int) -> State:
        """See :meth:`_Steps.start`."""
        inputs, hidden = self._room(rows)
        return State(inputs, hidden, lambda: hidden.copy_(self._cells.step(inputs, hidden)))


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

    def states(self, ids: Tensor, lengths: Tensor) -> list[States]:
        """Read rows ``(n, t)`` of distinct tokens: both directions of the last layer."""
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
        return read


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
