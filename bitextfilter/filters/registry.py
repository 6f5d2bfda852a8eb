"""All rules by name, their syntax, their descriptions, and sets of them."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

from bitextfilter.errors import DeviceError, SettingsError
from bitextfilter.filters import (
    agreement,
    custom,
    figures,
    fluency,
    language,
    likeness,
    repetition,
    shape,
    web,
)
from bitextfilter.filters.rule import LanguagePair, Rule, sides_of
from bitextfilter.io.rows import SIDES
from bitextfilter.models.folders import CUTS
from bitextfilter.settings import nearest

_MODULES = (shape, repetition, language, likeness, web, agreement, figures, fluency, custom)

RULES: dict[str, type[Rule]] = {
    rule.name: rule
    for module in _MODULES
    for rule in vars(module).values()
    if inspect.isclass(rule) and issubclass(rule, Rule) and "name" in vars(rule)
}
"""Every rule by its name."""

_COMPARISON = re.compile(r"([^<>=:,]+?)\s*(>=|<=|>|<)\s*([-+.\w]+)")
_PARAMETER = re.compile(r",(?=[a-z][a-z_-]*=)")
NamedCut = Callable[[str, str], float]
"""Returns such a number for a column and a cut, by their names. May raise SettingsError."""

_MODULE = "module:"
"""Start of a rule's name that is the path of a class in Python."""

_SHORT = {"min": "minimum", "max": "maximum"}


def parse_rule(text: str, named_cut: NamedCut | None = None) -> Rule:
    """Make a rule of ``NAME``, ``NAME:key=value,key=value`` or ``COLUMN>=NUMBER``.

    ``NAME`` may be ``module:package.Class``: a class of your own, which is imported.

    A comma separates parameters only if a key and ``=`` follow it. ``min`` and ``max`` are short
    for ``minimum`` and ``maximum``; ``score:`` for ``column:column=score,``. With *named_cut*,
    the minimum of a column may be one of ``CUTS``. Raises SettingsError for an unknown rule or
    parameter, or an invalid value.
    """
    if comparison := _COMPARISON.fullmatch(text.strip()):
        where, sign, number = comparison.groups()
        bound = "minimum" if sign[0] == ">" else "maximum"
        values = {"column": where, bound: number, "exclusive": "no" if sign[1:] else "yes"}
        return make_rule("column", values, named_cut)
    before = _MODULE if text.strip().startswith(_MODULE) else ""
    name, _, rest = text.strip().removeprefix(before).partition(":")
    name, values = before + name, {}
    for part in _PARAMETER.split(rest) if rest else ():
        key, equals, value = part.partition("=")
        if not equals:
            raise SettingsError(f"rule {name!r}: {part!r} is not key=value")
        if key in values:
            raise SettingsError(f"rule {name!r}: {key} is given twice")
        values[key] = value
    return make_rule(name.strip(), values, named_cut)


def make_rule(name: str, values: Mapping[str, Any], named_cut: NamedCut | None = None) -> Rule:
    """Make the rule *name* with parameter *values*, as text or typed.

    Names, values and errors are as in ``parse_rule``.
    """
    rule = _rule("column" if name == "score" else name)
    if name == "score":
        values = {"column": "score", **values}
    hints = typing.get_type_hints(rule)
    known = {key: typing.get_args(hints[key]) or (hints[key],) for key in defaults(rule)}
    made: dict[str, Any] = {}
    if named_cut is not None and issubclass(rule, custom.ColumnRule):
        where = str(values.get("column", rule.column))
        least = [key for key in ("minimum", "min") if values.get(key) in CUTS]
        values = {**values, **{key: named_cut(where, str(values[key])) for key in least}}
        if (most := values.get("maximum", values.get("max"))) in CUTS:
            raise SettingsError(f"rule {name!r}: the {most} cut is a minimum, not a maximum")
    for key, value in values.items():
        field = _SHORT.get(key, key).replace("-", "_")
        if field not in known:
            raise SettingsError(
                f"rule {name!r} has no parameter {key!r}: it has {', '.join(known) or 'none'}"
                f"{nearest(field, known)}"
            )
        if field in made:
            raise SettingsError(f"rule {name!r}: {field} is given twice")
        made[field] = _value(f"rule {name!r}: {key}", value, known[field])
    return rule(**made)


def _value(place: str, value: Any, kinds: tuple[type, ...]) -> Any:
    """Read *value* as one of *kinds*."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if type(None) in kinds and text.lower() in ("none", ""):
        return None
    named = [kind for kind in kinds if kind in _KINDS]
    for kind in named:
        with suppress(ValueError, KeyError):
            return _TRUTHS[text.lower()] if kind is bool else kind(text)
    near = nearest(text, CUTS) if float in named and text not in CUTS else ""
    raise SettingsError(
        f"{place}={text} is not {' or '.join(map(_KINDS.__getitem__, named))}{near}"
    )


_KINDS = {int: "a whole number", float: "a number", bool: "yes or no", str: "text"}
_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


def _rule(name: str) -> type[Rule]:
    """Return the rule called *name*; SettingsError names similar ones if there is none."""
    if name.startswith(_MODULE):
        return _imported_rule(name.removeprefix(_MODULE))
    if name not in RULES:
        near = nearest(name.partition("=")[0], rule_names())
        hint = near or " (bitext-filter --list shows them all)"
        raise SettingsError(f"no rule is called {name!r}{hint}")
    return RULES[name]


def _imported_rule(path: str) -> type[Rule]:
    """Import the rule at ``package.module.Class``, which runs the code of that module.

    Raises SettingsError for a module that cannot be imported, or a class that is no rule.
    """
    module, _, name = path.rpartition(".")
    if not module:
        raise SettingsError(f"module:{path}: expected a module and a class, as module:my.rules.Odd")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise SettingsError(f"module:{path}: cannot be imported: {said}") from error
    if not (inspect.isclass(found) and issubclass(found, Rule)) or inspect.isabstract(found):
        raise SettingsError(f"module:{path}: not a rule: bitextfilter.filters.rule has their bases")
    if lacking := [word for word in ("name", "unit", "origin") if not hasattr(found, word)]:
        raise SettingsError(f"module:{path}: the rule has no {', '.join(lacking)}")
    return found


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


def name_of(rule: Rule | type[Rule]) -> str:
    """Return the name by which ``make_rule`` finds a rule."""
    kind = rule if isinstance(rule, type) else type(rule)
    if RULES.get(rule.name) is kind:
        return rule.name
    return f"{_MODULE}{kind.__module__}.{kind.__qualname__}"


def spelling(rule: Rule | type[Rule]) -> str:
    """Return *rule* in the syntax of rules, with all its parameters."""
    names = [field.name for field in dataclasses.fields(cast(Any, rule))]
    texts = ",".join(f"{name}={written(getattr(rule, name))}" for name in names)
    name = name_of(rule)
    return f"{name}:{texts}" if texts else name


def listing(names: Sequence[str] = ()) -> str:
    """Return Markdown sections on the rules of *names*, or all.

    Each has the text, parameters, value and source of a rule. Raises SettingsError for an unknown
    name.
    """
    return "\n".join(
        f"### {rule.name}\n\n`{spelling(rule)}`\n\n"
        f"{(inspect.getdoc(rule) or '').replace('``', '`')}\n\n"
        f"Value: {rule.unit}.  \nSource: {rule.origin}.\n"
        for rule in map(_rule, names or RULES)
    )


DEFAULT = tuple(
    """
    empty length:count=tokens,maximum=200 length-ratio:count=letters,maximum=2.5,added=5
    long-word:maximum=100 letter-words alphabet-ratio:minimum=0.3,exclude_whitespace=yes
    only-symbols only-numbers script identical:words=2 similarity:words=2 repetition:least=24
    bad-encoding unicode-noise escaped-unicode space-noise glued-words urls:count=words
    breadcrumbs boilerplate placeholders tags language
    """.split()  # noqa: SIM905 - a list would be a page long
)
"""Default rules: they keep good bitext of any language."""

_OF_PARAGRAPHS = (
    "length:count=tokens,maximum=1000",
    "repetition:repeats=5",
    "glued-words:maximum=3",
)

PARAGRAPHS = tuple(
    next((one for one in _OF_PARAGRAPHS if one.split(":")[0] == rule.split(":")[0]), rule)
    for rule in DEFAULT
)
"""Default rules for paragraphs: bounds on a whole text are wider than on a sentence."""

_SETS = {"default": DEFAULT, "default-paragraphs": PARAGRAPHS}


def rule_names() -> list[str]:
    """Return the names that a rule may have, and those of sets of rules."""
    return [*_SETS, *RULES, "score"]


def columns_of(rules: Iterable[Rule]) -> list[str]:
    """Return the columns that *rules* read, by their names there, each once."""
    return list(dict.fromkeys(rule.column for rule in rules if isinstance(rule, custom.InColumn)))


class SelectedRule(NamedTuple):
    """A rule, and where it comes from."""

    rule: Rule
    optional: bool = False
    """A default rule: skipped if it cannot run, or if a rule of its name is asked for."""
    file: str | None = None
    """The rules file that names it."""


class RuleSet(NamedTuple):
    """Rules, and the languages of the two sides (ISO 639-1) if they are given."""

    rules: tuple[SelectedRule, ...]
    languages: tuple[str, str] | None


def parse_rules(
    specs: Iterable[str], named_cut: NamedCut | None = None
) -> tuple[SelectedRule, ...]:
    """Make the rules of a command line.

    ``default`` stands for the default ones, ``default-paragraphs`` for those of paragraphs.
    *named_cut* and errors are as in ``parse_rule``.
    """
    return tuple(
        SelectedRule(parse_rule(name, named_cut), optional=spec in _SETS)
        for spec in specs
        for name in _SETS.get(spec, (spec,))
    )


def without(rules: Sequence[SelectedRule], names: Iterable[str]) -> tuple[SelectedRule, ...]:
    """Remove the default rules, and the rules of a file, that have one of these *names*.

    Rules of the command line stay. Raises SettingsError for a name that removes nothing.
    """
    left = tuple(rules)
    for name in names:
        named = [selected for selected in rules if selected.rule.name == name]
        if not named:
            near = nearest(name, (selected.rule.name for selected in rules))
            raise SettingsError(f"no rule is called {name!r} here{near}")
        gone = [selected for selected in named if selected.optional or selected.file is not None]
        if not gone:
            raise SettingsError(f"{name} is asked for by --rule: take one of the two away")
        left = tuple(selected for selected in left if selected not in gone)
    return left


def usable(
    rules: Sequence[SelectedRule], languages: LanguagePair
) -> tuple[list[Rule], dict[str, str]]:
    """Return the rules that can run, and by name why each skipped rule cannot.

    Only optional rules are skipped; errors of others are raised, with their file. An optional
    rule gives way to a rule of its name that is asked for. One that cannot check the language of
    a side is skipped for it, as ``language(target)``. A single language is that of texts of
    one side: rules that compare sides are refused, and those of the default ones left out.
    """
    one = sides_of(languages) == 1
    able: list[Rule] = []
    passed_over: dict[str, str] = {}
    asked = {selected.rule.name for selected in rules if not selected.optional}
    for rule, optional, file in rules:
        if optional and (rule.name in asked or rule in able or (one and not rule.sides_apart)):
            continue
        try:
            if one:
                _refuse_two_sides(rule)
            unable = rule.unable(languages)
            if not (optional and unable):
                rule.prepare(languages)
        except (SettingsError, DeviceError) as error:
            if not optional:
                raise type(error)(f"{file}: " * bool(file) + str(error)) from error
            passed_over[rule.name] = str(error)
            continue
        names = SIDES if sides_of(languages) > 1 else ("",)
        sides = {rule.named(names[side]): why for side, why in unable.items()}
        passed_over |= {name: f"{name}: {why}" for name, why in sides.items()}
        if len(unable) == len(names):
            continue
        if rule in able:
            raise SettingsError(f"{file}: " * bool(file) + f"{rule.name} is given twice")
        able.append(rule)
    return able, passed_over


def _refuse_two_sides(rule: Rule) -> None:
    """Raise SettingsError for a rule, or a parameter, that texts of one side cannot have."""
    if not rule.sides_apart:
        raise SettingsError(f"{rule.name}: compares two sides, and a text has one")
    for name in defaults(type(rule)):
        if name.startswith("target") and getattr(rule, name) is not None:
            instead = name.replace("target", "source")
            raise SettingsError(f"{rule.name}: {name} is of pairs: for a text, give {instead}")
