"""Pooling: one vector from the states of a bidirectional network, whole or step by step.

Kim et al. 2019 take the maximum (eq. 6); the others are for comparison. Step by step, no number
depends on the rows beside or on their padding.

Letters: n rows, t positions, h width of a direction, d = 2h.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from bitextfilter.models.layers import max_pool, mean_pool, padding_mask

States = Iterable[tuple[int, Tensor]]
"""Steps from 0 on, and the states ``(n, h)`` after them; each holds until the next is asked for."""


def mean_of_steps(read: States, lengths: Tensor) -> Tensor:
    """Return the mean of the states of each row, ``(n, h)``."""
    shortest, total = int(lengths.min()), torch.empty(0)
    for step, hidden in read:
        if step == 0:
            total = hidden.clone()
        else:
            total += hidden if step < shortest else hidden * (step < lengths)[:, None]
    return total / lengths[:, None]


class Pooling(nn.Module, ABC):
    """One vector a row."""

    def __init__(self, dim: int) -> None:
        """Take d."""
        super().__init__()

    @abstractmethod
    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """States ``(n, t, d)``, forward beside backward, and lengths ``(n,)`` → ``(n, d)``."""

    @abstractmethod
    def of_steps(self, read: Sequence[States], lengths: Tensor) -> Tensor:
        """Return the same from the two directions; the backward one reads from a row's end."""

    def joined(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Return the vector ``(1, d)`` of a row from those of its parts ``(n, d)``.

        The mean, weighted by their lengths ``(n,)``, unless overridden.
        """
        return (vectors * (lengths / lengths.sum())[:, None]).sum(dim=0, keepdim=True)


class _OfDirections(Pooling):
    """A pooling of each direction for itself."""

    def of_steps(self, read: Sequence[States], lengths: Tensor) -> Tensor:
        """See :meth:`Pooling.of_steps`."""
        return torch.cat([self.of_direction(side, lengths) for side in read], dim=1)

    @abstractmethod
    def of_direction(self, read: States, lengths: Tensor) -> Tensor:
        """Return the half ``(n, h)`` of one direction."""


class MaxPooling(_OfDirections):
    """The highest state at each place."""

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """See :meth:`Pooling.forward`."""
        return max_pool(states, lengths)

    def of_direction(self, read: States, lengths: Tensor) -> Tensor:
        """See :meth:`_OfDirections.of_direction`."""
        shortest, best = int(lengths.min()), torch.empty(0)
        for step, hidden in read:
            if step == 0:
                best = hidden.clone()
            elif step < shortest:
                torch.maximum(best, hidden, out=best)
            else:
                best = torch.where((step < lengths)[:, None], torch.maximum(best, hidden), best)
        return best

    def joined(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """See :meth:`Pooling.joined`; here the maximum."""
        return vectors.amax(dim=0, keepdim=True)


class MeanPooling(_OfDirections):
    """The mean of the states."""

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """See :meth:`Pooling.forward`."""
        return mean_pool(states, lengths)

    def of_direction(self, read: States, lengths: Tensor) -> Tensor:
        """See :meth:`_OfDirections.of_direction`."""
        return mean_of_steps(read, lengths)


class LastPooling(_OfDirections):
    """The last state of each direction: the forward one's at the end, the other's at the start."""

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """See :meth:`Pooling.forward`."""
        half = states.shape[2] // 2
        rows = torch.arange(len(states), device=states.device)
        return torch.cat([states[rows, lengths - 1, :half], states[:, 0, half:]], dim=1)

    def of_direction(self, read: States, lengths: Tensor) -> Tensor:
        """See :meth:`_OfDirections.of_direction`."""
        last = torch.empty(0)
        for step, hidden in read:
            if step == 0:
                last = hidden.clone()
            else:
                last = torch.where((step < lengths)[:, None], hidden, last)
        return last


class AttentionPooling(Pooling):
    """The mean of the states, weighted by softmax(u · tanh(W h + b)), u learnt.

    Yang et al. 2016, "Hierarchical Attention Networks for Document Classification", eq. 5 to 7.
    u starts at 0, so with the plain mean.
    """

    def __init__(self, dim: int) -> None:
        """Take d."""
        super().__init__(dim)
        self.inward = nn.Linear(dim, dim)
        self.query = nn.Parameter(torch.zeros(dim))

    def _scores(self, states: Tensor) -> Tensor:
        """States ``(..., d)`` → ``(...)``."""
        return torch.tanh(self.inward(states)) @ self.query

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """See :meth:`Pooling.forward`."""
        inside = padding_mask(lengths, states.shape[1])
        scores = self._scores(states).masked_fill(~inside, float("-inf"))
        return (scores.softmax(dim=1)[:, :, None] * states).sum(dim=1)

    def of_steps(self, read: Sequence[States], lengths: Tensor) -> Tensor:
        """See :meth:`Pooling.of_steps`."""
        ahead, back = (torch.stack([hidden.clone() for _, hidden in side]) for side in read)
        rows = torch.arange(len(lengths), device=lengths.device)
        places = [(lengths - 1 - step).clamp(min=0) for step in range(len(ahead))]
        states = [torch.cat([a, back[p, rows]], dim=1) for a, p in zip(ahead, places, strict=True)]
        scores = [
            self._scores(both).masked_fill(step >= lengths, float("-inf"))
            for step, both in enumerate(states)
        ]
        highest = torch.stack(scores).amax(dim=0)
        total, sums = torch.zeros_like(highest), torch.zeros_like(states[0])
        for score, both in zip(scores, states, strict=True):
            weight = (score - highest).exp()
            total += weight
            sums += weight[:, None] * both
        return sums / total[:, None]


_MOMENTUM, _LEAST = 0.01, 1e-5
"""Share of a mini-batch in the running moments; added to a variance."""


class Standardisation(nn.Module):
    """Numbers less their mean, divided by their standard deviation.

    Batch normalisation (Ioffe & Szegedy 2015) without a learnt map: moments of the mini-batch in
    training, and afterwards their running means, whatever the rows beside.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, dim: int) -> None:
        """Take d."""
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("variance", torch.ones(dim))

    def forward(self, vectors: Tensor) -> Tensor:
        """``(n, d)`` → the same shape; rows of float32 at least."""
        vectors = vectors if vectors.dtype == torch.float64 else vectors.float()
        if self.training and len(vectors) > 1:
            moments = self.mean, self.variance
            return batch_norm(vectors, *moments, training=True, momentum=_MOMENTUM, eps=_LEAST)
        return (vectors - self.mean) * (self.variance + _LEAST).rsqrt()


POOLINGS: dict[str, type[Pooling]] = {
    "max": MaxPooling,
    "mean": MeanPooling,
    "last": LastPooling,
    "attention": AttentionPooling,
}
