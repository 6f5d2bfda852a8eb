"""What rules say of themselves: names, parameters, units, sources."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, cast

from bitextfilter.errors import SettingsError
from bitextfilter.filters.registry import RULES
from bitextfilter.filters.rule import Rule

__all__ = ["defaults", "listing", "section", "spelling", "written"]


def defaults(rule: type[Rule]) -> dict[str, Any]:
    """Return the parameters of a rule with their default values."""
    return {field.name: field.default for field in dataclasses.fields(cast(Any, rule))}


def written(value: Any) -> str:
    """Write a parameter's value as it is read: ``none``, ``yes``, ``0.5``."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def spelling(rule: Rule) -> str:
    """Return how *rule* is written, with all its parameters."""
    values = ((name, getattr(rule, name)) for name in defaults(type(rule)))
    texts = ",".join(f"{name}={written(value)}" for name, value in values)
    return f"{rule.name}:{texts}" if texts else rule.name


def listing(names: Sequence[str] = ()) -> str:
    """Return a Markdown section on each rule of *names*, or all: text, parameters, value, source.

    Raises SettingsError for a name that no rule has.
    """
    for name in names:
        if name not in RULES:
            near = "".join(f"; is it {other}?" for other in get_close_matches(name, RULES, 1))
            raise SettingsError(f"no rule is called {name!r}{near}")
    return "\n\n".join(section(RULES[name]) for name in names or RULES) + "\n"


def section(rule: type[Rule]) -> str:
    """Return the section on one rule."""
    values = ",".join(f"{name}={written(value)}" for name, value in defaults(rule).items())
    spec = f"{rule.name}:{values}" if values else rule.name
    parts = [
        f"### {rule.name}",
        f"`{spec}`",
        (inspect.getdoc(rule) or "").replace("``", "`"),
        f"Value: {rule.unit}.  \nSource: {rule.origin}.",
    ]
    return "\n\n".join(parts)
