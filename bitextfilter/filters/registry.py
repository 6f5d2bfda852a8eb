"""All rules by name, their syntax on the command line, and their descriptions."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from bitextfilter.errors import SettingsError
from bitextfilter.filters import (
    agreement,
    column,
    encoding,
    figures,
    fluency,
    language,
    length,
    likeness,
    patterns,
    shape,
    web,
)
from bitextfilter.filters.rule import Rule

RULES: dict[str, type[Rule]] = {
    rule.name: rule
    for rule in (
        length.Length,
        length.LengthRatio,
        length.LongWord,
        length.AverageWordLength,
        length.LetterWords,
        language.AlphabetRatio,
        language.Script,
        language.Letters,
        language.OnlySymbols,
        language.OnlyNumbers,
        language.Language,
        web.HtmlTags,
        encoding.EscapedUnicode,
        agreement.TerminalPunctuation,
        agreement.Parentheses,
        figures.Numerals,
        figures.NumberInconsistencies,
        figures.Digits,
        figures.NumbersRule,
        figures.DatesRule,
        figures.UnitsRule,
        agreement.EmailAddresses,
        agreement.WebAddresses,
        agreement.Placeholders,
        agreement.Tags,
        shape.Repetition,
        shape.RepeatedWords,
        patterns.Literals,
        patterns.RegularExpression,
        patterns.UnwantedWords,
        likeness.Similarity,
        likeness.LongestCommonSubstring,
        likeness.NgramOverlap,
        likeness.SentenceBleu,
        likeness.ParaphraseScore,
        fluency.Perplexity,
        fluency.CrossEntropy,
        fluency.CrossEntropyGap,
        fluency.CrossEntropyDifference,
        fluency.LanguageModelClassifier,
        encoding.BadEncoding,
        encoding.UnicodeNoise,
        length.Empty,
        likeness.Identical,
        shape.Titles,
        shape.GluedWords,
        shape.SpaceNoise,
        language.ScriptInconsistencies,
        web.Urls,
        web.Breadcrumbs,
        web.Boilerplate,
        column.ColumnRule,
        column.TranslationCost,
        column.ReferenceProbability,
    )
}
"""Every rule by its name."""

_COMPARISON = re.compile(r"([^<>=:,]+?)\s*(>=|<=|>|<)\s*([-+.\w]+)")
_PARAMETER = re.compile(r",(?=[a-z][a-z_-]*=)")


_RECOMMENDED = "recommended"
"""Minimum of a column: the number that the model recommends."""

Recommend = Callable[[str], float]
"""Returns that number for a column by its name in a rule. May raise SettingsError."""

_SHORT = {"min": "minimum", "max": "maximum"}


def parse_rule(text: str, recommend: Recommend | None = None) -> Rule:
    """Make a rule of ``NAME``, ``NAME:key=value,key=value`` or ``COLUMN>=NUMBER``.

    A comma separates parameters only if a key and ``=`` follow it. ``min`` and ``max`` are short
    for ``minimum`` and ``maximum``; ``score:`` for ``column:column=score,``. With *recommend*,
    the minimum of a column may be ``recommended``. Raises SettingsError for an unknown rule or
    parameter, or an invalid value.
    """
    if comparison := _COMPARISON.fullmatch(text.strip()):
        where, sign, number = comparison.groups()
        bound = "minimum" if sign[0] == ">" else "maximum"
        values = {"column": where, bound: number, "exclusive": "no" if sign[1:] else "yes"}
        return make_rule("column", values, recommend)
    name, _, rest = text.partition(":")
    values = {}
    for part in _PARAMETER.split(rest) if rest else ():
        key, equals, value = part.partition("=")
        if not equals:
            raise SettingsError(f"rule {name!r}: {part!r} is not key=value")
        if key in values:
            raise SettingsError(f"rule {name!r}: {key} is given twice")
        values[key] = value
    return make_rule(name.strip(), values, recommend)


def make_rule(name: str, values: Mapping[str, Any], recommend: Recommend | None = None) -> Rule:
    """Make the rule *name* with parameter *values*, as text or typed.

    Names, values and errors are those of ``parse_rule``.
    """
    if name == "score":
        name, values = "column", {"column": "score", **values}
    if name not in RULES:
        raise SettingsError(f"no rule is called {name!r}{_meant(name)}")
    known = _parameters(RULES[name])
    made: dict[str, Any] = {}
    if recommend is not None and issubclass(RULES[name], column.ColumnRule):
        where = str(values.get("column", column.ColumnRule.column))
        least = (key for key in ("minimum", "min") if values.get(key) == _RECOMMENDED)
        values = {**values, **{key: recommend(where) for key in least}}
    for key, value in values.items():
        field = _SHORT.get(key, key).replace("-", "_")
        if field not in known:
            raise SettingsError(
                f"rule {name!r} has no parameter {key!r}: it has {', '.join(known) or 'none'}"
            )
        if field in made:
            raise SettingsError(f"rule {name!r}: {field} is given twice")
        made[field] = _value(f"rule {name!r}: {key}", value, known[field])
    return RULES[name](**made)


def _parameters(rule: type[Rule]) -> dict[str, tuple[type, ...]]:
    """Return the parameters of a rule, with the types of each."""
    hints = typing.get_type_hints(rule)
    return {name: typing.get_args(hints[name]) or (hints[name],) for name in defaults(rule)}


def _value(place: str, value: Any, kinds: tuple[type, ...]) -> Any:
    """Read *value* as one of *kinds*."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if type(None) in kinds and text.lower() in ("none", ""):
        return None
    for kind in kinds:
        if kind is bool and text.lower() in _TRUTHS:
            return _TRUTHS[text.lower()]
        if kind is str:
            return text
        if kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    names = {int: "a whole number", float: "a number", bool: "yes or no", str: "text"}
    expected = " or ".join(names[kind] for kind in kinds if kind in names)
    raise SettingsError(f"{place}={text} is not {expected}")


_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


def _meant(name: str) -> str:
    """Return a hint at rules of similar names."""
    near = get_close_matches(name, RULES)
    return f": perhaps {' or '.join(near)}?" if near else " (--list shows them all)"


def defaults(rule: type[Rule]) -> dict[str, Any]:
    """Return the parameters of a rule with their default values."""
    return {field.name: field.default for field in dataclasses.fields(cast(Any, rule))}


def written(value: Any) -> str:
    """Write a parameter's value in the syntax of rules: ``none``, ``yes``, ``0.5``."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def spelling(rule: Rule) -> str:
    """Return *rule* in the syntax of rules, with all its parameters."""
    return _spelt(rule.name, {name: getattr(rule, name) for name in defaults(type(rule))})


def _spelt(name: str, values: Mapping[str, Any]) -> str:
    texts = ",".join(f"{key}={written(value)}" for key, value in values.items())
    return f"{name}:{texts}" if texts else name


def listing(names: Sequence[str] = ()) -> str:
    """Return Markdown sections on the rules of *names*, or all.

    Each has the text, parameters, value and source of a rule. Raises SettingsError for an unknown
    name.
    """
    for name in names:
        if name not in RULES:
            raise SettingsError(f"no rule is called {name!r}{_meant(name)}")
    return "\n\n".join(section(RULES[name]) for name in names or RULES) + "\n"


def section(rule: type[Rule]) -> str:
    """Return the section on one rule."""
    parts = [
        f"### {rule.name}",
        f"`{_spelt(rule.name, defaults(rule))}`",
        (inspect.getdoc(rule) or "").replace("``", "`"),
        f"Value: {rule.unit}.  \nSource: {rule.origin}.",
    ]
    return "\n\n".join(parts)
