"""What links between sentences may be, and the scale of what they cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.mining.monotonic import Costs, Step

__all__ = ["LinkSettings", "link_size", "whole"]

Floats = NDArray[np.float64]

UNIT = 2**20


@dataclass(frozen=True)
class LinkSettings:
    """What is a link, and what it costs. Raises SettingsError for what is out of range."""

    largest: int = 5
    """So many sentences of a side may be in a link; with one of the other, and less with more."""
    skip: float = 0.9
    """What leaving out a sentence costs, where linking two unrelated ones costs 1."""
    length: float = 1.0
    """The weight of the squared logarithm of the lengths' ratio."""
    doubt: float = 0.3
    """What is added to the cost, times the size, of a link that a judge is sure is none."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not 1 <= self.largest <= 10:
            raise SettingsError("a link has 1 to 10 sentences of a side")
        if not all(0 <= cost <= 100 for cost in (self.skip, self.length, self.doubt)):
            raise SettingsError("the costs of skips, lengths and doubts are from 0 to 100")

    def links(self) -> list[Step]:
        """Return the sizes that links have, small ones first."""
        sizes = range(1, self.largest + 1)
        steps = [Step(a, b) for a in sizes for b in sizes if a + b <= self.largest + 1]
        return sorted(steps, key=lambda step: (sum(step), abs(step.source - step.target)))


def link_size(step: Step) -> float:
    """Return what a link's unlikeness is multiplied by: more for more sentences.

    It is half of the way from how many sentences follow the first pair to how many pairs there are.
    By the former, n + m - 1, long links cost too little, by the latter, n × m, too much.
    """
    return (step.source * step.target + step.source + step.target - 1) / 2


def whole(costs: Floats) -> Costs:
    """Return costs as whole numbers, 2**20 for that of linking two unrelated sentences."""
    return np.rint(costs * UNIT).astype(np.int64)
