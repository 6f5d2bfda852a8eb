"""What rules say of themselves: names, parameters, units, sources."""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from typing import Any, cast

from bitextfilter.filters.registry import RULES
from bitextfilter.filters.rule import Rule

__all__ = ["defaults", "listing", "written"]


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


def listing() -> str:
    """Return a paragraph on each rule: its parameters with their defaults, unit, and source."""
    return "\n\n".join(_paragraph(rule) for rule in RULES.values())


def _paragraph(rule: type[Rule]) -> str:
    values = ",".join(f"{name}={written(value)}" for name, value in defaults(rule).items())
    head = f"{rule.name}:{values}" if values else rule.name
    text = inspect.getdoc(rule) or ""
    lines = [*text.splitlines(), f"Value: {rule.unit}.", f"Source: {rule.origin}."]
    return "\n".join([head, *(textwrap.indent(line, "    ") for line in lines if line)])
