"""How well the words of one sentence are covered by those of another, counted by kinds of words.

Kernel pooling (Xiong et al. 2017; Dai et al. 2018): instead of one number for the best match of a
word, how far it lies on a scale; summed over the words, that is a soft histogram. Ours has hats
for kernels, which cost no exponential, and a histogram for each of some learnt kinds of words: so
that a negation or a name without a counterpart is seen among many words that have one.

Letters: n pairs, t words a sentence (rows i of either side, columns j of the other), k kernels,
c kinds, f features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from bitextfilter.models.recurrent import padding_mask

__all__ = ["FEATURES", "SCALARS", "Covering", "Extent", "covering", "density", "pooled", "swapped"]

FAR = -1e4
"""Added to what lies outside: after a softmax it is 0."""

_COSINES = (-0.2, 1.0, 13)
_PLACES = (-3.0, 3.0, 9)
_SHARPNESS = 2.0
_SPREAD = 6.0
_FAREST = 4.0

FEATURES = 4 * _COSINES[2] + 2 * _PLACES[2] + 4
"""Features of a word for :func:`pooled`."""
SCALARS = 9
"""Plain numbers of a word: the same, for the comparison of words."""


class Extent:
    """How long ``n`` sentences are, of at most ``t`` words."""

    def __init__(self, lengths: Tensor, words: int) -> None:
        """``lengths (n,)``, at least 1; ``words``: t."""
        self.lengths = lengths
        self.inside = padding_mask(lengths, words).to(lengths.dtype)
        """``(n, t)``: 1 for a word, 0 for none."""
        self.outside = (1 - self.inside) * FAR
        """``(n, t)``: 0 for a word, ``FAR`` for none."""
        edges = pad(self.inside, (1, 1))
        self.first = self.inside - edges[:, :-2] * self.inside
        self.last = self.inside - edges[:, 2:] * self.inside

    def swapped(self) -> Extent:
        """Of sources with targets behind them: the targets with the sources behind them."""
        return Extent(swapped(self.lengths), self.inside.shape[1])


@dataclass(frozen=True)
class Covering:
    """How the words of one side are covered by the other's."""

    attention: Tensor
    """``(n, t, t)``: how much each word looks at each of the other side's; rows add up to 1."""
    features: Tensor
    """``(n, t, FEATURES)``, from 0 to 1."""
    scalars: Tensor
    """``(n, t, SCALARS)``, from -6 to 6."""


def covering(scores: Tensor, alike: Tensor, side: Extent, other: Extent) -> Covering:
    """Say how the words of one side are covered.

    Args:
        scores: how well word i and word j go together, ``(n, t, t)``.
        alike: ``(4, n, t, t)``: 1 where words are spelt alike; 1 where their figures are; the
            cosines of words by themselves, and in their contexts.
        side: how long the sentences of this side are.
        other: those of the other.
    """
    outside, cosines = other.outside[:, None, :], alike[2:]
    attention = torch.softmax(_SHARPNESS * scores + outside, dim=2)
    spelling, figures = alike[:2].amax(dim=3)
    nearest = [*(cosines + outside).amax(dim=3), *(cosines * attention).sum(dim=3)]
    step, lag = _places(attention, side, other)
    sure = attention.amax(dim=2)
    far = step.abs().clamp(max=_FAREST) / _FAREST
    features = [_hats(torch.stack(nearest, dim=2), _COSINES).flatten(2)]
    features.append(_hats(torch.stack([step, lag], dim=2), _PLACES).flatten(2))
    features.append(torch.stack([spelling, figures, sure, far], dim=2))
    scalars = [spelling, figures, sure, lag.clamp(-6, 6), step.clamp(-3, 3), *nearest]
    return Covering(attention, torch.cat(features, dim=2), torch.stack(scalars, dim=2))


def _places(attention: Tensor, side: Extent, other: Extent) -> tuple[Tensor, Tensor]:
    """From each word's counterpart to the next one's, and how far it lies off, each ``(n, t)``.

    The step is in words; the lag is of the places as parts of their sentences, times ``_SPREAD``.
    """
    places = torch.arange(attention.shape[2], device=attention.device, dtype=attention.dtype)
    expected = attention @ places
    step = torch.cat([expected.diff(dim=1) * side.inside[:, 1:], expected[:, :1] * 0], dim=1)
    lag = expected / other.lengths[:, None] - places / side.lengths[:, None]
    return step, lag * _SPREAD


def _hats(values: Tensor, scale: tuple[float, float, int]) -> Tensor:
    """How near values ``(...)`` are to each point of an even scale, 1 to 0 → ``(..., k)``.

    Between two points both count, in sum 1; beyond the ends the last one does.
    """
    first, last, points = scale
    at = (values - first) * ((points - 1) / (last - first))
    at = at.clamp(0, points - 1)[..., None]
    numbers = torch.arange(points, device=values.device, dtype=values.dtype)
    return torch.relu(1 - (at - numbers).abs())


def density(kinds: Tensor) -> Tensor:
    """How many words are of each kind ``(n, t, c)`` → log(1 + their number), ``(n, c)``."""
    return torch.log1p(kinds.sum(dim=1))


def pooled(kinds: Tensor, features: Tensor, lengths: Tensor) -> Tensor:
    """Average the features ``(n, t, f)`` over the words of each kind ``(n, t, c)`` → ``(n, c f)``.

    Kinds that hardly a word has are drawn to 0: their average is over a twentieth more of the
    sentence's ``lengths (n,)`` than it has words.
    """
    sums = kinds.transpose(1, 2) @ features
    words = kinds.sum(dim=1)[:, :, None]
    return (sums / (words + 0.05 * lengths[:, None, None])).flatten(1)


def swapped(rows: Tensor) -> Tensor:
    """Put the second half of the rows before the first."""
    first, second = rows.chunk(2)
    return torch.cat([second, first])
