"""Recurrent layers made fast for encoding: what depends on a token alone is computed once.

The first layer's input projection takes most of its arithmetic when word vectors are wide, and
a window of sentences holds each frequent token many times. So each distinct token is projected
once, and the steps look its projection up. Every matrix product has a shape that does not depend
on the lengths of the rows, so that a row's numbers do not depend on the rows beside it.

A direction that reads backwards is given its rows reversed: both begin at step 0, and what comes
behind the end of a row is computed and not looked at.

Letters: u distinct tokens, n rows, t positions, e input width, h hidden width, g gate inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor, nn

from bitextfilter.io.batches import map_blocks
from bitextfilter.models.recurrent import BidirectionalRecurrent
from bitextfilter.models.steps import Steps, steps_of

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


def highest(read: States, lengths: Tensor) -> Tensor:
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


class FoldedDirection:
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
        return highest(self.states(ids, lengths), lengths)

    def mean(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Mean of the states of rows ``(n, t)``, ``(n, h)``."""
        return mean(self.states(ids, lengths), lengths)


class FoldedRecurrent:
    """The layers of a :class:`BidirectionalRecurrent` over a set of distinct tokens."""

    def __init__(self, layers: BidirectionalRecurrent, vectors: Tensor, threads: int = 1) -> None:
        """``vectors (u, e)``: the word vectors of the distinct tokens."""
        self._first = [
            FoldedDirection(cells, vectors, bool(side), threads)
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
        return torch.cat([highest(side, lengths) for side in read], dim=1)


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
