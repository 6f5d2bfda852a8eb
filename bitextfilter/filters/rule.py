"""What a rule is: a test of pairs with parameters, and the reason where a pair fails it."""

from __future__ import annotations

import enum
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs, Side

Languages = tuple[str, str] | None
SIDES = ("source", "target")


class Cost(enum.IntEnum):
    """What judging takes: rules run cheapest first."""

    ARRAYS = 0
    """Array arithmetic over the whole batch."""
    PAIRS = 1
    """Python for each pair."""
    MODEL = 2
    """A model of language."""


class Verdict(NamedTuple):
    """What a rule says of a batch of n pairs."""

    keep: NDArray[np.bool_]
    """Which pairs pass, shape ``(n,)``."""
    reason: Callable[[int], str]
    """Why the pair at an index does not, as ``length-ratio=4.2>3``."""


class Rule(ABC):
    """One test of pairs. A subclass is a frozen dataclass whose fields are its parameters.

    What a rule says of a pair depends on that pair and the parameters alone.
    """

    name: ClassVar[str]
    """As written on the command line."""
    unit: ClassVar[str]
    """What its value is, and the range."""
    origin: ClassVar[str]
    """The paper or program that it comes from."""
    cost: ClassVar[Cost] = Cost.ARRAYS
    needs_languages: ClassVar[bool] = False
    """Whether it can only judge pairs whose languages are known."""

    def prepare(self, languages: Languages) -> None:
        """Raise what keeps the rule from judging pairs of these *languages*, if anything does.

        SettingsError where it needs to know them, DeviceError for a package that is missing,
        NotFoundError for a file.
        """
        if self.needs_languages and languages is None:
            raise SettingsError(f"{self.name}: needs to know the languages: --languages en,de")

    @property
    def label(self) -> str:
        """What counts of its drops are kept under."""
        return self.name

    @abstractmethod
    def judge(self, pairs: Pairs) -> Verdict:
        """Say which of the *pairs* pass, and why the others do not."""


@dataclass(frozen=True)
class Bounded(Rule):
    """A rule whose value must lie within bounds, both of them allowed.

    Each side has a value of its own, or the pair has one. A value that is not a number fails.
    """

    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        """Raise SettingsError where no value could pass, or a bound is not a number."""
        low, high = self.bounds
        if math.isnan(low) or math.isnan(high) or low > high:
            raise SettingsError(f"{self.name}: nothing is within {low:g} and {high:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value that pass; infinite where there is no bound."""
        low = -math.inf if self.minimum is None else self.minimum
        return low, math.inf if self.maximum is None else self.maximum

    @abstractmethod
    def values(self, pairs: Pairs) -> NDArray[Any]:
        """Return the value of each pair, shape ``(n,)``, or of each side, shape ``(n, 2)``."""

    def judge(self, pairs: Pairs) -> Verdict:
        """Hold the values against the bounds."""
        values = self.values(pairs)
        low, high = self.bounds
        inside = (values >= low) & (values <= high)
        keep: NDArray[np.bool_] = inside if values.ndim == 1 else np.all(inside, axis=1)
        return Verdict(keep, lambda index: self._reason(values[index], inside[index]))

    def _reason(self, value: NDArray[Any], inside: NDArray[np.bool_]) -> str:
        if value.ndim == 0:
            return f"{self.name}={self._against(float(value))}"
        return " ".join(
            f"{self.name}({side})={self._against(float(value[place]))}"
            for place, side in enumerate(SIDES)
            if not inside[place]
        )

    def _against(self, value: float) -> str:
        low, high = self.bounds
        if value < low:
            return f"{_short(value, low)}<{low:g}"
        return f"{_short(value, high)}>{high:g}" if value > high else "nan"


def _short(value: float, bound: float) -> str:
    """Write *value* with as many digits as it takes to tell it from the bound it breaks."""
    if value.is_integer():
        return f"{value:.0f}"
    texts = (f"{value:.{digits}g}" for digits in range(3, 18))
    return next(text for text in texts if float(text) != bound)


class SideFault(Rule):
    """A rule that looks for a fault in each sentence by itself."""

    cost = Cost.PAIRS

    @abstractmethod
    def fault(self, sentence: str, language: str | None) -> str | None:
        """Return None for a sentence that is fine, else what is wrong (``""`` if all is said)."""

    def suspects(self, side: Side) -> NDArray[np.bool_]:
        """Say which sentences may have the fault, shape ``(n,)``; only they are looked at."""
        return np.ones(len(side), dtype=bool)

    def judge(self, pairs: Pairs) -> Verdict:
        """Look at every suspect."""
        found: dict[int, list[str]] = {}
        for name, side in zip(SIDES, pairs.sides, strict=True):
            for index in np.flatnonzero(self.suspects(side)).tolist():
                detail = self.fault(side.sentences[index], side.language)
                if detail is not None:
                    said = f"{self.name}({name})" + (f"={detail}" if detail else "")
                    found.setdefault(index, []).append(said)
        return _verdict(len(pairs), {index: " ".join(said) for index, said in found.items()})


class PairFault(Rule):
    """A rule that looks for a fault in each pair."""

    cost = Cost.PAIRS

    @abstractmethod
    def fault(self, source: str, target: str, languages: Languages) -> str | None:
        """Return None for a pair that is fine, else what is wrong (``""`` if all is said)."""

    def suspects(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Say which pairs may have the fault, shape ``(n,)``; only they are looked at."""
        return np.ones(len(pairs), dtype=bool)

    def judge(self, pairs: Pairs) -> Verdict:
        """Look at every suspect."""
        found: dict[int, str] = {}
        sources, targets = pairs.source.sentences, pairs.target.sentences
        for index in np.flatnonzero(self.suspects(pairs)).tolist():
            detail = self.fault(sources[index], targets[index], pairs.languages)
            if detail is not None:
                found[index] = self.name + (f"={detail}" if detail else "")
        return _verdict(len(pairs), found)


def _verdict(count: int, found: dict[int, str]) -> Verdict:
    keep = np.ones(count, dtype=bool)
    keep[list(found)] = False
    return Verdict(keep, found.__getitem__)
