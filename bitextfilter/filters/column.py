"""Rules on the numbers of a column, such as scores of an earlier command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bitextfilter.arrays import Floats
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.rule import Bounded, Rule, RuleResult


def columns_of(rules: Iterable[Rule]) -> list[str]:
    """Return the columns that *rules* read, by their names there, each once."""
    return list(dict.fromkeys(rule.column for rule in rules if isinstance(rule, _InColumn)))


@dataclass(frozen=True)
class _InColumn(Bounded):
    column: str = "-1"

    def values(self, pairs: Pairs) -> Floats:
        """Return the numbers of the column."""
        return pairs.column(self.column)

    def check(self, pairs: Pairs) -> RuleResult:
        """Compare the numbers with the bounds; a row without a number fails as missing."""
        numbers = self.values(pairs)
        keep, reason = super().check(pairs)
        missing = f"{self.name}=missing"
        return RuleResult(keep, lambda i: missing if np.isnan(numbers[i]) else reason(i))


@dataclass(frozen=True)
class ColumnRule(_InColumn):
    """The number in a column is within bounds: also written ``mlp>=0.05``, ``-1>=0.05``, ``3<2``.

    A column is a number, negative from the end, or a name of the header; ``score`` without a
    header is the last one. ``>`` and ``<`` exclude the bound itself. A row without a number there
    fails. ``bitext-models show`` gives the recommended bounds of a model's scores.
    """

    name = "column"
    unit = "that of the column"
    origin = "scores of any kind, by this or another program"

    exclusive: bool = False

    @property
    def label(self) -> str:
        """Name of the column."""
        return f"column {self.column}" if self.column.lstrip("-").isdigit() else self.column

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds; excluded ones are moved inwards by the least step."""
        low, high = super().bounds
        if not self.exclusive:
            return low, high
        return float(np.nextafter(low, np.inf)), float(np.nextafter(high, -np.inf))

    def check(self, pairs: Pairs) -> RuleResult:
        """Compare the numbers with the bounds; reasons name the column and the bound given."""
        numbers = self.values(pairs)
        keep, _ = super().check(pairs)
        return RuleResult(keep, lambda i: self._reason_of(float(numbers[i])))

    def _reason_of(self, number: float) -> str:
        name = self.label
        if np.isnan(number):
            return f"{name}=missing"
        sign = "=" if self.exclusive else ""
        if number < self.bounds[0]:
            return f"{name}={number:.10g}<{sign}{self.minimum:g}"
        return f"{name}={number:.10g}>{sign}{self.maximum:g}"


@dataclass(frozen=True)
class TranslationCost(_InColumn):
    """The translator's cost of the target, in a column, is low enough."""

    name = "translation-cost"
    unit = "-log probability a token, natural logarithm, 0 and up: lower is better"
    origin = "Wieting et al. 2017, sections 5.5–5.7 (upper bounds .2 to 1)"

    maximum: float | None = 1


@dataclass(frozen=True)
class ReferenceProbability(_InColumn):
    """The probability that a person wrote the sentence, in a column, is high enough."""

    name = "reference-probability"
    unit = "0 to 1, probability"
    origin = "Wieting et al. 2017, sections 5.5–5.7 (lower bounds 0 to .9)"

    minimum: float | None = 0.5
