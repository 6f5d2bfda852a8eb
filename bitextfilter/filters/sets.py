"""Sets of rules: the default ones, those of a command line, and those of a TOML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bitextfilter.errors import DeviceError, SettingsError
from bitextfilter.filters.registry import Recommend, make_rule, parse_rule
from bitextfilter.filters.rule import Rule
from bitextfilter.io.files import read_toml

DEFAULT = (
    "empty",
    "length:count=tokens,maximum=200",
    "length-ratio:count=tokens,maximum=3",
    "long-word:maximum=100",
    "letter-words",
    "alphabet-ratio:minimum=0.3",
    "only-symbols",
    "only-numbers",
    "script",
    "identical",
    "similarity",
    "repetition",
    "bad-encoding",
    "unicode-noise",
    "escaped-unicode",
    "space-noise",
    "glued-words",
    "urls",
    "breadcrumbs",
    "boilerplate",
    "placeholders",
    "tags",
    "language",
)
"""Default rules: they keep good bitext of any language."""


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


def default_rules() -> tuple[SelectedRule, ...]:
    """Return the default rules, all optional."""
    return tuple(SelectedRule(parse_rule(spec), optional=True) for spec in DEFAULT)


def parse_rules(
    specs: Iterable[str], recommend: Recommend | None = None
) -> tuple[SelectedRule, ...]:
    """Make the rules of a command line; ``default`` stands for the default ones.

    *recommend* and errors are those of ``parse_rule``.
    """
    rules: list[SelectedRule] = []
    for spec in specs:
        asked = spec != "default"
        rules += [SelectedRule(parse_rule(spec, recommend))] if asked else default_rules()
    return tuple(rules)


def without(rules: Sequence[SelectedRule], names: Iterable[str]) -> tuple[SelectedRule, ...]:
    """Remove the default rules, and the rules of a file, that have one of these *names*.

    Rules of the command line stay. Raises SettingsError for a name that removes nothing.
    """
    left = tuple(rules)
    for name in names:
        named = [selected for selected in rules if selected.rule.name == name]
        if not named:
            raise SettingsError(f"no rule is called {name!r} here")
        gone = [selected for selected in named if selected.optional or selected.file is not None]
        if not gone:
            raise SettingsError(f"{name} is asked for by --rule: take one of the two away")
        left = tuple(selected for selected in left if selected not in gone)
    return left


def usable(
    rules: Sequence[SelectedRule], languages: tuple[str, str] | None
) -> tuple[list[Rule], dict[str, str]]:
    """Return the rules that can run, and by name why each skipped rule cannot.

    Only optional rules are skipped; errors of others are raised, with their file. An optional
    rule gives way to a rule of its name that is asked for.
    """
    able, passed_over = [], {}
    asked = {selected.rule.name for selected in rules if not selected.optional}
    for rule, optional, file in rules:
        if optional and (rule.name in asked or rule in able):
            continue
        try:
            rule.prepare(languages)
        except (SettingsError, DeviceError) as error:
            if not optional:
                raise type(error)(f"{file}: {error}" if file else str(error)) from error
            passed_over[rule.name] = str(error)
            continue
        if rule in able:
            raise SettingsError(
                f"{file}: {rule.name} is given twice" if file else f"{rule.name} is given twice"
            )
        able.append(rule)
    return able, passed_over


def read_rules(path: str | Path, recommend: Recommend | None = None) -> RuleSet:
    """Read a TOML file of rules.

    It has a table ``[[rule]]`` for each rule, with its ``name`` and parameters. Above them,
    ``default = true`` adds the default rules, except those of ``without = ["language"]``, and
    ``languages = ["en", "de"]`` gives the languages. Raises NotFoundError, and SettingsError that
    names the file and the mistake.
    """
    settings = read_toml(path)
    try:
        return _rule_set(settings, str(path), recommend)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def _rule_set(settings: Mapping[str, Any], file: str, recommend: Recommend | None) -> RuleSet:
    if unknown := set(settings) - {"default", "languages", "rule", "without"}:
        raise SettingsError(f"{min(unknown)!r} is none of default, languages, rule, without")
    tables = settings.get("rule", [])
    default = settings.get("default", False)
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise SettingsError("rules are tables: [[rule]] and below it name = ...")
    if not isinstance(default, bool):
        raise SettingsError("default is true or false")
    names = settings.get("without", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SettingsError('without is a list of names of default rules: ["language"]')
    rules = without(default_rules() if default else (), names)
    read = [SelectedRule(_of_table(table, recommend), file=file) for table in tables]
    return RuleSet((*rules, *read), _languages(settings.get("languages")))


def _of_table(table: Mapping[str, Any], recommend: Recommend | None) -> Rule:
    name = table.get("name")
    if not isinstance(name, str):
        raise SettingsError(f"a rule has no name: {dict(table)}")
    return make_rule(name, {key: table[key] for key in table if key != "name"}, recommend)


def _languages(value: Any) -> tuple[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(v, str) for v in value):
        raise SettingsError('languages are two: ["en", "de"]')
    return value[0], value[1]
