"""What a given translation costs a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from bitextfilter.models.recurrent import padding_mask
from bitextfilter.text.vocabulary import BEGIN, END
from bitextfilter.translation.blocks import Ids
from bitextfilter.translation.network import Rows, TranslationNetwork

__all__ = ["PairScorer", "dual_cross_entropy", "log_probabilities", "shifted"]


POSITIONS = 8
"""Of which the logits are held at a time."""


def shifted(targets: Rows) -> tuple[Tensor, Tensor]:
    """What the decoder reads, ``(n, T + 1)``, and what it should write of each: END comes last."""
    ids = targets.ids
    inputs = functional.pad(ids, (1, 0), value=BEGIN)
    outputs = functional.pad(ids, (0, 1)).scatter(1, targets.lengths[:, None], END)
    return inputs, outputs


def log_probabilities(network: TranslationNetwork, sources: Rows, targets: Rows) -> Tensor:
    """Mean natural-log probability of a target's tokens, the end mark included: float64 ``(n,)``.

    1/(T+1) Σ log p(y_i | y_<i, x), from -inf to 0, higher is better: the length-normalised
    posterior that Kim et al. 2019 compare with (table 1).
    """
    inputs, outputs = shifted(targets)
    states = network.states(sources, inputs)
    inside = padding_mask(targets.lengths + 1, inputs.shape[1])
    total = torch.zeros(len(inputs), dtype=torch.float64, device=inputs.device)
    for start in range(0, inputs.shape[1], POSITIONS):
        part = slice(start, start + POSITIONS)
        logs = network.output(states[:, part]).log_softmax(dim=2)
        steps = logs.gather(2, outputs[:, part, None])[:, :, 0].double()
        total += steps.masked_fill(~inside[:, part], 0.0).sum(dim=1)
    return total / (targets.lengths + 1)


def dual_cross_entropy(
    forward: NDArray[np.float64], backward: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Dual conditional cross-entropy of pairs (Junczys-Dowmunt 2018, eq. 1 and 2): ``(n,)``.

    exp(-(|H_A - H_B| + (H_A + H_B) / 2)), from 0 to 1, higher is better: both models must find the
    pair likely, and equally so.

    Args:
        forward, backward: :func:`log_probabilities` of the targets given the sources and of the
            sources given the targets, -H_A and -H_B, ``(n,)`` each.
    """
    distance = np.abs(forward - backward) - (forward + backward) / 2
    score: NDArray[np.float64] = np.exp(-distance)
    return score


class PairScorer:
    """Scores pairs of sentences that have been read, by their places."""

    def __init__(
        self,
        costs: Callable[[tuple[Sequence[Ids], Sequence[Ids]]], NDArray[np.float64]],
        sides: tuple[Sequence[Ids], Sequence[Ids]],
        longest: int | None,
    ) -> None:
        self._costs = costs
        self._sides = tuple([ids[:longest] for ids in side] for side in sides)
        self.cut = tuple(
            np.array([len(ids) for ids in side]) > (longest or np.inf) for side in sides
        )
        """Of each side, the sentences that were not read to their ends: ``(n,)``."""

    def __call__(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """See :func:`log_probabilities`: of sources and targets at places ``(n,)``."""
        left, right = self._sides
        return self._costs(([left[row] for row in rows], [right[column] for column in columns]))
