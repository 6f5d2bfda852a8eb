"""Negatives: pairs that are no translations, chosen by vectors or at random.

Kim et al. 2019, section 4: the worst of a noisy corpus by cosine are negatives, and (table 5) the
last of its best 20, 40, 60 or 80 % are harder ones.

Letters: m ≥ 1 pairs of a mini-batch, or of a mega-batch of several; d width of a vector.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from bitextfilter.errors import SettingsError
from bitextfilter.training.objectives import HardNegatives

_Pair = tuple[str, str]

_KINDS = ("worst", "random", "repaired", "given")
"""``worst`` (of the best P %) and ``random`` rows of a noisy corpus, the positives ``repaired``
with each other's targets, or all rows ``given``."""


@dataclass(frozen=True)
class Negatives:
    """The choice of pairs as negatives."""

    kind: str = "worst"
    """A name in ``_KINDS``."""
    percent: float = 100.0
    """With ``worst``: the part of the corpus, best first, whose last rows are taken."""

    @classmethod
    def parse(cls, text: str) -> Negatives:
        """Read ``worst``, ``worst:60%``, ``random``, ``repaired`` or ``given``.

        Raises SettingsError for anything else.
        """
        match = re.fullmatch(r"worst:([0-9]+(?:\.[0-9]+)?)%?", text)
        if match and 0 < float(match[1]) <= 100:
            return cls("worst", float(match[1]))
        if text not in _KINDS:
            raise SettingsError(f"negatives {text!r} are none of worst:P%, {', '.join(_KINDS)}")
        return cls(text)


def last_of_best(scores: NDArray[np.float32], percent: float, count: int) -> NDArray[np.int64]:
    """Return the places of the last *count* of the best *percent* of ``(n,)`` scores, ascending.

    Of equal scores the earlier place is the better. Fewer where there are no more.
    """
    best_first = np.argsort(-scores, kind="stable")
    portion = best_first[: math.ceil(len(scores) * percent / 100)]
    return np.sort(portion[max(0, len(portion) - count) :])


def drawn(total: int, count: int, seed: int) -> NDArray[np.int64]:
    """Return *count* different places below *total* (all if fewer), by *seed*, ascending."""
    generator = np.random.default_rng(seed)
    return np.sort(generator.choice(total, min(count, total), replace=False).astype(np.int64))


def repaired(pairs: Sequence[_Pair], count: int, seed: int) -> list[_Pair]:
    """Return *count* pairs of a source and the target of another pair, both chosen by *seed*.

    Each source and each target serves in turn; pairs that are the same as one given are left out,
    so that there may be fewer.
    """
    generator = np.random.default_rng(seed)
    known = set(pairs)
    made: list[_Pair] = []
    while len(pairs) > 1 and len(made) < count:
        order = generator.permutation(len(pairs))
        new = [
            (pairs[one][0], pairs[other][1])
            for one, other in zip(order, np.roll(order, 1), strict=True)
        ]
        wrong = [pair for pair in new if pair not in known]
        if not wrong:
            break
        made += wrong[: count - len(made)]
    return made


_BLOCK_ROWS = 4096
"""Rows searched at a time: a mega-batch of 40 times 100 pairs is one block of 64 MB."""


@torch.no_grad()
def hardest_negatives(
    source: Tensor, target: Tensor, same: Tensor, negatives: str = "same"
) -> tuple[Tensor, Tensor]:
    """Places of the hardest negative of each source and of each target: the highest cosine.

    In a mega-batch (Wieting & Gimpel 2018) the search is over all its mini-batches, which are then
    trained on one by one, each with the negatives found for its rows.

    Args:
        source, target: row-aligned vectors ``(m, d)``.
        same: ``(m, m)``, True where two pairs share a text: neither is a negative of the other.
            Nor is a pair ever its own.
        negatives: ``same``: of the same side, and so language, as in Wieting, Mallinson &
            Gimpel 2017; ``other``: of the other side, as translations are searched for.

    Returns:
        For each source a place among the sources (``same``) or targets (``other``), and for each
        target the reverse: int64 ``(m,)`` each, of equal cosines the first, -1 without a negative.
    """
    units = [functional.normalize(side.float(), dim=1) for side in (source, target)]
    candidates = {"same": units, "other": units[::-1]}[negatives]
    rows = torch.arange(len(source), device=source.device)
    places: tuple[list[Tensor], list[Tensor]] = ([], [])
    for block in torch.split(rows, _BLOCK_ROWS):
        own = same[block] | (block[:, None] == rows)
        for side in (0, 1):
            with torch.autocast(source.device.type, enabled=False):
                cosine = units[side][block] @ candidates[side].T
            places[side].append(_first_highest(cosine.masked_fill(own, float("-inf"))))
    return torch.cat(places[0]), torch.cat(places[1])


def _first_highest(values: Tensor) -> Tensor:
    """Column of each row's highest value, the first of equal ones; -1 where all are -inf."""
    place = values.argmax(1, keepdim=True)
    return place.masked_fill(values.gather(1, place).isneginf(), -1).squeeze(1)


def taken(vectors: Tensor, places: Tensor) -> HardNegatives:
    """The negatives that stand at ``places (n,)`` of ``vectors (m, d)``."""
    return HardNegatives(vectors[places.clamp(min=0)], places >= 0)


def random_partners(same: Tensor, generator: torch.Generator) -> Tensor:
    """A random wrong partner for each of the pairs: one negative a positive.

    Every allowed partner is as likely as any other, and drawn anew for each row (Sjöblom, Creutz &
    Aulamo 2018). ``same (m, m)`` is True where two pairs share a text; a row is never its own
    partner. The generator may lie on another device.

    Returns int64 ``(m,)``, -1 for a row that has no possible partner.
    """
    size = len(same)
    chance = torch.rand(size, size, generator=generator, device=generator.device).to(same.device)
    own = torch.eye(size, dtype=torch.bool, device=same.device)
    return _first_highest(chance.masked_fill(same | own, float("-inf")))
