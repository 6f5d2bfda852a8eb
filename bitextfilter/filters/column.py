"""Rules that read a number which an earlier command left in a column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.rule import Bounded, Verdict


@dataclass(frozen=True)
class _InColumn(Bounded):
    column: str = "-1"

    def values(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the numbers of the column."""
        return pairs.column(self.column)

    def judge(self, pairs: Pairs) -> Verdict:
        """Hold the numbers against the bounds; what is no number is said to be missing."""
        numbers = self.values(pairs)
        keep, reason = super().judge(pairs)
        missing = f"{self.name}=missing"
        return Verdict(keep, lambda i: missing if np.isnan(numbers[i]) else reason(i))


@dataclass(frozen=True)
class Column(_InColumn):
    """A column holds a number within bounds: also written ``mlp>=0.05``, ``-1>=0.05``, ``3<2``.

    A column is a number, negative from the end, or a name of the header; ``score`` without a
    header is the last one. ``>`` and ``<`` do not allow the bound itself. A row without a number
    there is dropped. ``bitext-models show`` says where to cut a model's scores.
    """

    name = "column"
    unit = "as the column has it"
    origin = "scores of any kind, by this or another program"

    exclusive: bool = False

    @property
    def label(self) -> str:
        """Return the column's name."""
        return f"column {self.column}" if self.column.lstrip("-").isdigit() else self.column

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds, moved by the least step where they are not allowed themselves."""
        low, high = super().bounds
        if not self.exclusive:
            return low, high
        return float(np.nextafter(low, np.inf)), float(np.nextafter(high, -np.inf))

    def judge(self, pairs: Pairs) -> Verdict:
        """Hold the numbers against the bounds; reasons name the column and the bound given."""
        numbers = self.values(pairs)
        keep, _ = super().judge(pairs)
        return Verdict(keep, lambda i: self._said(float(numbers[i])))

    def _said(self, number: float) -> str:
        name = self.label
        if np.isnan(number):
            return f"{name}=missing"
        sign = "=" if self.exclusive else ""
        if number < self.bounds[0]:
            return f"{name}={number:.10g}<{sign}{self.minimum:g}"
        return f"{name}={number:.10g}>{sign}{self.maximum:g}"


@dataclass(frozen=True)
class TranslationCost(_InColumn):
    """A column holds the cost at which a translator made the target, and it is low enough."""

    name = "translation-cost"
    unit = "-log probability a token, natural logarithm, 0 and up: lower is better"
    origin = "Wieting et al. 2017, sections 5.5–5.7 (upper bounds .2 to 1)"

    maximum: float | None = 1


@dataclass(frozen=True)
class ReferenceProbability(_InColumn):
    """A column holds the probability that a person wrote the sentence, and it is high enough."""

    name = "reference-probability"
    unit = "0 to 1, probability"
    origin = "Wieting et al. 2017, sections 5.5–5.7 (lower bounds 0 to .9)"

    minimum: float | None = 0.5
