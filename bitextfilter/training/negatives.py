"""Pairs that are no translations, for the classifier to learn from.

Kim et al. 2019, section 4: the worst of a noisy corpus by cosine are negatives, and (table 5) the
last of its best 20, 40, 60 or 80 % are harder ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError

__all__ = ["KINDS", "Negatives", "drawn", "last_of_best", "repaired"]

Pair = tuple[str, str]

KINDS = ("worst", "random", "repaired", "given")
"""``worst`` (of the best P %) and ``random`` rows of a noisy corpus, the positives ``repaired``
with each other's targets, or all rows ``given``."""


@dataclass(frozen=True)
class Negatives:
    """Which pairs serve as negatives."""

    kind: str = "worst"
    """A name in ``KINDS``."""
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
        if text not in KINDS:
            raise SettingsError(f"negatives {text!r} are none of worst:P%, {', '.join(KINDS)}")
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


def repaired(pairs: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """Return *count* pairs of a source and the target of another pair, both chosen by *seed*.

    Each source and each target serves in turn; pairs that are the same as one given are left out,
    so that there may be fewer.
    """
    generator = np.random.default_rng(seed)
    known = set(pairs)
    made: list[Pair] = []
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
