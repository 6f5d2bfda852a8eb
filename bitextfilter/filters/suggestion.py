"""Bounds for rules, from the values of clean rows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Mask
from bitextfilter.errors import SettingsError
from bitextfilter.filters.registry import defaults, name_of
from bitextfilter.filters.rule import LanguagePair, Rule, sides_of


class FittedRule(NamedTuple):
    """A rule with bounds for n clean rows."""

    rule: Rule
    passes: Mask
    """True for the rows that it keeps, shape ``(n,)``."""
    usable: bool
    """Whether it keeps the share that is asked for."""


class CleanRows:
    """The values of rules for clean rows: 8 bytes a value are held."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Take the rules."""
        self._rules = rules
        self._values: list[list[NDArray[Any]]] = [[] for _ in rules]

    def add(self, values: Sequence[NDArray[Any]]) -> None:
        """Add the values of each rule for some rows, as ``Rule.check`` returns them."""
        for some, more in zip(self._values, values, strict=True):
            some.append(more)

    def fitted(self, share: Fraction) -> list[FittedRule]:
        """Return the rules with the tightest bounds that keep this *share* of the rows, each alone.

        Raises SettingsError without rows.
        """
        found = []
        for rule, parts in zip(self._rules, self._values, strict=True):
            values = np.concatenate(parts) if parts else np.zeros(0)
            if not len(values):
                raise SettingsError("no clean row: bounds need some")
            loss = math.floor((1 - share) * len(values))
            fitted = rule.fitted(values, loss)
            passes = fitted.accepts(values)
            found.append(FittedRule(fitted, passes, len(passes) - int(passes.sum()) <= loss))
        return found


def kept_share(fitted: Sequence[FittedRule]) -> float:
    """Return the share of the rows that all usable rules keep together, 0 to 1."""
    masks = [one.passes for one in fitted if one.usable]
    return float(np.logical_and.reduce(masks).mean()) if masks else 1.0


def rules_file(fitted: Sequence[FittedRule], share: Fraction, languages: LanguagePair) -> str:
    """Return rules in TOML, as ``read_rules`` reads them, with the shares dropped as comments.

    Rules that drop more than the rest of *share* are left out, with a comment.
    """
    rows = len(fitted[0].passes) if fitted else 0
    what = "texts" if sides_of(languages) == 1 else "pairs"
    lines = [
        f"# Bounds from {rows} clean {what}: each rule keeps {percent(share)} of them or more,",
        f"# all together {percent(kept_share(fitted))}.",
    ]
    if languages is not None and sides_of(languages) > 1:
        lines.append(f"languages = {json.dumps(languages)}")
    for rule, passes, usable in fitted:
        lines += ["", *_table(rule, f"drops {percent(1 - passes.mean())}", usable)]
    return "\n".join(lines) + "\n"


def percent(share: float | Fraction) -> str:
    """Write a share, 0 to 1, as percent with four digits: ``99.9 %``."""
    return f"{float(100 * share):.4g} %"


def _table(rule: Rule, drops: str, usable: bool) -> Iterator[str]:
    yield f"[[rule]]    # {drops}" if usable else f"# left out, as it {drops}:"
    values = {key: getattr(rule, key) for key in defaults(type(rule))}
    written = {"name": name_of(rule)} | {
        key: value
        for key, value in values.items()
        if not (value is None and defaults(type(rule))[key] is None)
    }
    for key, value in written.items():
        yield f"{'' if usable else '# '}{key} = {_toml(value)}"


def _toml(value: Any) -> str:
    """Return a parameter's value in TOML; one that is not given is the word none."""
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    if isinstance(value, float):
        return str(int(value))
    text = json.dumps("none" if value is None else value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")
