"""What keeps a network from learning its training text by heart: noise and penalties.

Letters: n sentences, t positions, w width of a subword vector.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


def scrambled(
    ids: Tensor, lengths: Tensor, probability: float, generator: torch.Generator
) -> Tensor:
    """Put the tokens of some sentences into random order (Wieting & Gimpel 2018, section 4).

    Args:
        ids: padded, ``(n, t)``; what stands behind a sentence's end stays there.
        lengths: ``(n,)``.
        probability: of each sentence to be scrambled, 0 to 1; theirs is 0.3.
        generator: where the chance comes from, on its own device.

    Returns:
        A new tensor ``(n, t)``.
    """
    count, longest = ids.shape
    chance = torch.rand(count, longest + 1, generator=generator, device=generator.device)
    chance = chance.to(ids.device)
    position = torch.arange(longest, device=ids.device)
    moved = (chance[:, :1] < probability) & (position < lengths[:, None])
    # Tokens that move have keys below 1, all others keep their place behind or among themselves.
    order = torch.where(moved, chance[:, 1:], 1.0 + position).argsort(dim=1, stable=True)
    return ids.gather(1, order)


def variational_mask(n: int, width: int, rate: float, generator: torch.Generator) -> Tensor:
    """A dropout mask that is the same at every position of a sentence (Gal & Ghahramani 2016).

    Args:
        n: sentences.
        width: numbers of the vectors that it is multiplied with.
        rate: share of them that is zeroed, in [0, 1).
        generator: where the chance comes from; the mask lies on its device.

    Returns:
        ``(n, 1, width)``: 0, or 1 / (1 - rate), so that the expected value stays.
    """
    kept = torch.rand(n, 1, width, generator=generator, device=generator.device) >= rate
    return kept / (1 - rate)


def drift_penalty(parameter: Tensor, initial: Tensor, weight: float) -> Tensor:
    """``weight`` times the squared distance of subword vectors from where they started.

    λ_w ‖W_initial − W‖² of Wieting, Mallinson & Gimpel 2017 (0 in all their experiments).
    """
    return weight * (parameter - initial).square().sum()


def weight_penalty(parameters: Iterable[Tensor], weight: float) -> Tensor:
    """``weight`` times the sum of the squares of at least one parameter.

    λ_c ‖W_c‖² over the composition's parameters, that is all but the subword vectors (Wieting,
    Mallinson & Gimpel 2017; 0 in all their experiments).
    """
    return weight * torch.stack([parameter.square().sum() for parameter in parameters]).sum()
