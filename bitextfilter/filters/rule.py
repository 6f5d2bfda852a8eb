"""Interface of rules: tests of pairs with parameters, and the reason why a pair fails."""

from __future__ import annotations

import enum
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Mask
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.io.rows import SIDES
from bitextfilter.settings import Settings

LanguagePair = tuple[str, ...] | None
"""Tags of source and target, or of the only side, as ``pt-BR``, if they are known."""


LONGEST = 10_000
"""Characters of a side that are compared where the time grows with their square."""


def sides_of(languages: LanguagePair) -> int:
    """Return the number of sides: one for a single language, else two."""
    return len(SIDES) if languages is None else len(languages)


class Cost(enum.IntEnum):
    """Effort of a rule: the cheapest rules run first."""

    ARRAYS = 0
    """Array arithmetic over the whole batch."""
    PAIRS = 1
    """Python for each pair."""
    MODEL = 2
    """A model of language."""


class RuleResult(NamedTuple):
    """Result of a rule for a batch of n pairs."""

    keep: Mask
    """True for pairs that pass, shape ``(n,)``."""
    reason: Callable[[int], str]
    """Return why the pair at an index fails, as ``length-ratio=4.2>3``."""
    values: NDArray[Any]
    """Value of each pair, shape ``(n,)``, or of each side, ``(n, sides)``: 1 and 0 for kept and
    dropped where the rule has no number. NaN: no value."""


PATIENCE = 10.0
"""Seconds of the processor that a regular expression of the user's own has for one sentence."""


class SlowRuleError(InputError):
    """A pair on which a regular expression takes too long; a verdict would depend on the machine.

    ``index`` is the pair's index in its batch.
    """

    def __init__(self, name: str, index: int) -> None:
        super().__init__(
            f"{name}: a regular expression takes more than {PATIENCE:g} seconds here",
            remedy="simplify the expression (possessive ++ and *+ never go back), or leave out the "
            "row",
        )
        self.index = index

    def __reduce__(self) -> Any:
        """Return the parts for another process."""
        return type(self), (self.message.partition(":")[0], self.index)


class Rule(Settings, ABC):
    """A test of pairs. A subclass is a frozen dataclass whose fields are its parameters.

    The result for a pair depends on that pair and the parameters alone. The docstring is the help:
    its first paragraph completes "keeps a pair if".
    """

    name: ClassVar[str]
    """Name on the command line."""
    unit: ClassVar[str]
    """Unit and range of the value."""
    origin: ClassVar[str]
    """Paper or program that the rule comes from."""
    cost: ClassVar[Cost] = Cost.ARRAYS
    needs_languages: ClassVar[bool] = False
    """True for a rule that needs the languages of the pairs."""
    sides_apart: ClassVar[bool] = False
    """True for a rule that looks at each side by itself; texts of one side have no other rules."""
    in_row: ClassVar[bool] = False
    """True for a rule whose value is in the row already."""

    def __post_init__(self) -> None:
        """Raise SettingsError for a parameter out of its range."""
        try:
            super().__post_init__()
        except SettingsError as error:
            raise SettingsError(f"{self.name}: {error}") from error

    def prepare(self, languages: LanguagePair) -> None:
        """Load the models and libraries of the rule for pairs of these *languages*.

        Raises SettingsError for unknown languages that it needs, DeviceError for a missing
        package, and NotFoundError for a missing file.
        """
        if self.needs_languages and languages is None:
            raise SettingsError(f"{self.name}: needs to know the languages: --languages en,de")

    def unable(self, languages: LanguagePair) -> dict[int, str]:
        """Return the sides whose language the rule cannot check → why. They pass."""
        return {}

    @property
    def label(self) -> str:
        """Name in reasons and in the counts of drops."""
        return self.name

    @abstractmethod
    def check(self, pairs: Pairs) -> RuleResult:
        """Test the *pairs*."""

    def sure(self, pairs: Pairs) -> Mask | None:
        """Return pairs that pass for certain, ``(n,)``, found without a look at each; None: none.

        The others may pass, too.
        """
        return None

    def decide(self, pairs: Pairs) -> RuleResult:
        """Test the *pairs* as ``check`` does, without their values: those that are not sure."""
        sure = self.sure(pairs)
        if sure is None:
            return self.check(pairs)
        places = np.flatnonzero(~sure)
        try:
            keep, reason, _ = self.check(pairs.at(places))
        except SlowRuleError as slow:
            slow.index = int(places[slow.index])
            raise
        sure[places] = keep
        whole = lambda index: reason(int(np.searchsorted(places, index)))  # noqa: E731
        return RuleResult(sure, whole, np.empty(0))

    def accepts(self, values: NDArray[Any]) -> Mask:
        """Return which pairs pass, ``(n,)``, by the values of ``check``."""
        return np.asarray((values != 0) if values.ndim == 1 else (values != 0).all(axis=1))

    def fitted(self, values: NDArray[Any], loss: int) -> Rule:
        """Return this rule with the tightest bounds that drop at most *loss* of these pairs.

        *values* are those of ``check``, of good pairs. A rule without a number stays as it is.
        """
        return self

    def named(self, side: str) -> str:
        """Return the name with that of a side, as ``length(source)``."""
        return f"{self.name}({side})" if side else self.name


@dataclass(frozen=True)
class Bounded(Rule):
    """A rule whose value must lie within bounds, both included.

    The pair has one value, or each side has one. NaN fails.
    """

    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        """Raise SettingsError for bounds that no value is within, or a bound of NaN, too."""
        super().__post_init__()
        low, high = self.bounds
        if not low <= high:
            raise SettingsError(f"{self.name}: nothing is within {low:g} and {high:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest value that pass; infinite without a bound."""
        low = -math.inf if self.minimum is None else self.minimum
        return low, math.inf if self.maximum is None else self.maximum

    def fitted(self, values: NDArray[Any], loss: int) -> Rule:
        """Return this rule with other bounds, on the sides where it has some.

        Two bounds may each drop half of the *loss*. Bounds are rounded outwards. One that would
        have to be infinite, or has no values, stays as it is.
        """
        rows = values.reshape(len(values), -1)
        rows = rows[:, ~np.isnan(rows).all(axis=0)]
        low, high = map(math.isfinite, self.bounds)
        below = loss // 2 if high else loss
        bounds = {}
        if low and rows.size and math.isfinite(least := -greatest(-rows, below)):
            bounds["minimum"] = _outwards(least, ROUND_FLOOR)
        if high and rows.size and math.isfinite(most := greatest(rows, loss - below * low)):
            bounds["maximum"] = _outwards(most, ROUND_CEILING)
        return replace(self, **bounds)

    @abstractmethod
    def values(self, pairs: Pairs) -> NDArray[Any]:
        """Return the value of each pair, shape ``(n,)``, or of each side, shape ``(n, 2)``."""

    def against(self, value: float) -> str:
        """Write a *value* that fails, and the bound: ``4.2>3``.

        The value has as few digits, from three on, as tell it from the bound.
        """
        low, high = self.bounds
        if math.isnan(value):
            return "nan"
        sign, bound = ("<", low) if value < low else (">", high)
        if value.is_integer():
            return f"{value:.0f}{sign}{bound:g}"
        texts = (f"{value:.{digits}g}" for digits in range(3, 18))
        return next(f"{text}{sign}{bound:g}" for text in texts if float(text) != bound)

    def of_side(self, side: BatchSide, index: int, value: float) -> str:
        """Write the *value* of the side of the pair at an index, which fails, and the bound."""
        return self.against(value)

    def inside(self, values: NDArray[Any]) -> Mask:
        """Return which *values* of any shape are within the bounds."""
        low, high = self.bounds
        return np.asarray((values >= low) & (values <= high))

    def accepts(self, values: NDArray[Any]) -> Mask:
        """Return which pairs have all their values within the bounds, ``(n,)``."""
        inside = self.inside(values)
        return inside if values.ndim == 1 else np.asarray(inside.all(axis=1))

    def check(self, pairs: Pairs) -> RuleResult:
        """Compare the values with the bounds."""
        values = self.values(pairs)
        inside, keep = self.inside(values), self.accepts(values)
        if values.ndim == 1:
            reason = lambda i: f"{self.label}={self.against(float(values[i]))}"  # noqa: E731
            return RuleResult(keep, reason, values)

        def reasons(index: int) -> str:
            sides = zip(pairs.side_names, pairs.sides, values[index], inside[index], strict=True)
            return " ".join(
                f"{self.named(name)}={self.of_side(side, index, float(value))}"
                for name, side, value, good in sides
                if not good
            )

        return RuleResult(keep, reasons, values)


def greatest(values: NDArray[Any], loss: int) -> float:
    """Return the least bound that at most *loss* of n rows exceed with any of their values.

    *values* have the shape ``(n,)`` or ``(n, sides)``, n above *loss*.
    """
    worst = values.reshape(len(values), -1).max(axis=1)
    return float(np.partition(worst, len(worst) - 1 - loss)[len(worst) - 1 - loss])


def _outwards(value: float, rounding: str) -> float:
    """Return *value* with three digits, or all before the point, rounded up or down."""
    if value.is_integer():
        return value
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    return float(Decimal(value).quantize(Decimal(1).scaleb(-places), rounding))


class SideBounded(Bounded):
    """A rule that computes the value of each side from that side alone."""

    sides_apart = True

    @abstractmethod
    def side_values(self, side: BatchSide) -> NDArray[Any]:
        """Return the value of each sentence, shape ``(n,)``."""

    def values(self, pairs: Pairs) -> NDArray[Any]:
        """Return the values of the sides, shape ``(n, sides)``."""
        return np.stack([self.side_values(side) for side in pairs.sides], axis=1)


class SideFault(Rule):
    """A rule that looks for a fault in each sentence by itself."""

    cost = Cost.PAIRS
    sides_apart = True

    @abstractmethod
    def fault(self, sentence: str) -> str | None:
        """Return the fault (``""``: the rule's name says it), or None for a good sentence."""

    def suspects(self, side: BatchSide) -> Mask:
        """Return the sentences that may have the fault, shape ``(n,)``; only they are read."""
        return np.ones(len(side), dtype=bool)

    def faulty(self, side: BatchSide) -> Mask:
        """Return the sentences that have the fault, shape ``(n,)``."""
        found = np.zeros(len(side), dtype=bool)
        for index in np.flatnonzero(self.suspects(side)).tolist():
            try:
                found[index] = self.fault(side.sentences[index]) is not None
            except TimeoutError as error:
                raise SlowRuleError(self.name, index) from error
        return found

    def faulty_sides(self, pairs: Pairs) -> Mask:
        """Return the sides that have the fault, shape ``(n, sides)``."""
        return np.stack([self.faulty(side) for side in pairs.sides], axis=1)

    def check(self, pairs: Pairs) -> RuleResult:
        """Look for the fault in every sentence; name it only where the reason is asked for."""
        faulty = self.faulty_sides(pairs)

        def reason(index: int) -> str:
            sides = zip(pairs.side_names, pairs.sides, faulty[index], strict=True)
            faults = {name: self.fault(side.sentences[index]) for name, side, bad in sides if bad}
            return " ".join(
                self.named(name) + (f"={fault}" if fault else "") for name, fault in faults.items()
            )

        good = np.logical_not(faulty).astype(np.int64)
        return RuleResult(self.accepts(good), reason, good)


class RowFault(Rule):
    """A rule that looks for a fault in each pair, or in each text of one side."""

    cost = Cost.PAIRS

    @abstractmethod
    def fault_at(self, pairs: Pairs, index: int) -> str | None:
        """Return the fault (``""``: the rule's name says it), or None for a good pair."""

    def suspects(self, pairs: Pairs) -> Mask:
        """Return the pairs that may have the fault, shape ``(n,)``; only they are read."""
        return np.ones(len(pairs), dtype=bool)

    def check(self, pairs: Pairs) -> RuleResult:
        """Look for the fault in every suspect."""
        found: dict[int, str] = {}
        for index in np.flatnonzero(self.suspects(pairs)).tolist():
            try:
                fault = self.fault_at(pairs, index)
            except TimeoutError as error:
                raise SlowRuleError(self.name, index) from error
            if fault is not None:
                found[index] = self.name + (f"={fault}" if fault else "")
        keep = np.ones(len(pairs), dtype=bool)
        keep[list(found)] = False
        return RuleResult(keep, found.__getitem__, keep.astype(np.int64))


class PairFault(RowFault):
    """A rule that looks for a fault in the two sides of each pair."""

    @abstractmethod
    def fault(self, source: str, target: str, languages: LanguagePair) -> str | None:
        """Return the fault (``""``: the rule's name says it), or None for a good pair."""

    def fault_at(self, pairs: Pairs, index: int) -> str | None:
        """Return the fault of the pair at an index."""
        source, target = (side.sentences[index] for side in pairs.sides)
        return self.fault(source, target, pairs.languages)
