"""Files of rules, which may include others, and those made of the values of clean rows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Mask
from bitextfilter.errors import SettingsError
from bitextfilter.filters.registry import (
    NamedCut,
    RuleSet,
    SelectedRule,
    defaults,
    make_rule,
    name_of,
    parse_rules,
    without,
)
from bitextfilter.filters.rule import LanguagePair, Rule, sides_of
from bitextfilter.io.files import read_toml
from bitextfilter.languages import read_language
from bitextfilter.settings import none_of

_KEYS = ("default", "include", "languages", "rule", "without")


def read_rules(
    path: str | Path, named_cut: NamedCut | None = None, within: Sequence[Path] = ()
) -> RuleSet:
    """Read a TOML file of rules.

    It has a table ``[[rule]]`` for each rule, with its ``name`` and parameters. Above them,
    ``default = true`` adds the default rules, except the ones in ``without = ["language"]``, and
    ``languages = ["en", "de"]`` gives the languages. ``include = "others.toml"``, or a list, reads
    other files first, relative to this one: its settings replace theirs, and its rules their rules
    of that name.

    Args:
        path: the file.
        named_cut: as in ``parse_rule``.
        within: the files that include this one, the outermost first.

    Raises NotFoundError, and SettingsError that names the file and the mistake.
    """
    chain = (*within, Path(path))
    if any(one.resolve() == chain[-1].resolve() for one in within):
        raise SettingsError(f"included by itself: {' > '.join(map(str, chain))}")
    settings = read_toml(path)
    try:
        included = [read_rules(one, named_cut, chain) for one in _included(settings, Path(path))]
        return _rule_set(settings, included, str(path), named_cut)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def included_files(path: str | Path, seen: frozenset[Path] = frozenset()) -> list[Path]:
    """Return the files that a file of rules includes, directly or not; none of a missing one.

    Raises SettingsError for one that is no TOML, or includes other than files.
    """
    if not Path(path).is_file() or Path(path).resolve() in seen:
        return []
    found = _included(read_toml(path), Path(path))
    seen |= {Path(path).resolve()}
    return [*found, *(each for one in found for each in included_files(one, seen))]


def _included(settings: Mapping[str, Any], file: Path) -> list[Path]:
    """Return the paths of the files to include."""
    names = settings.get("include", [])
    names = [names] if isinstance(names, str) else names
    if not _are_words(names):
        raise SettingsError('include is a file, or a list of files: "defaults.toml"')
    return [file.parent / name for name in names]


def _rule_set(
    settings: Mapping[str, Any], included: Sequence[RuleSet], file: str, named_cut: NamedCut | None
) -> RuleSet:
    """Return the rules of a file, after those of the files that it includes."""
    if unknown := set(settings) - set(_KEYS):
        raise SettingsError(none_of(min(unknown), _KEYS))
    names, languages = settings.get("without", []), settings.get("languages")
    if not _are_words(names):
        raise SettingsError('without is a list of names of default rules: ["language"]')
    if languages is not None and not (_are_words(languages) and len(languages) == 2):
        raise SettingsError('languages are two: ["en", "de"]')
    before: tuple[SelectedRule, ...] = ()
    known = None
    for rules, theirs in included:
        before, known = _replaced(before, rules), theirs or known
    before = without(_with_default(before, settings.get("default")), names)
    own = tuple(_own_rules(settings, file, named_cut))
    own_languages = languages and (read_language(languages[0]).tag, read_language(languages[1]).tag)
    return RuleSet(_replaced(before, own), own_languages or known)


def _with_default(rules: tuple[SelectedRule, ...], default: Any) -> tuple[SelectedRule, ...]:
    """Return *rules* with the default ones or without them; as they are if *default* is None."""
    if default is None:
        return rules
    if not isinstance(default, bool):
        raise SettingsError("default is true or false")
    asked = tuple(one for one in rules if not one.optional)
    return (*parse_rules(["default"] if default else []), *asked)


def _own_rules(
    settings: Mapping[str, Any], file: str, named_cut: NamedCut | None
) -> Iterator[SelectedRule]:
    """Yield the rules in the tables of a file."""
    tables = settings.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise SettingsError("rules are tables: [[rule]] and below it name = ...")
    for table in tables:
        if not isinstance(name := table.get("name"), str):
            raise SettingsError(f"a rule has no name: {table}")
        values = {key: value for key, value in table.items() if key != "name"}
        yield SelectedRule(make_rule(name, values, named_cut), file=file)


def _replaced(
    before: tuple[SelectedRule, ...], later: tuple[SelectedRule, ...]
) -> tuple[SelectedRule, ...]:
    """Return the rules of *before* and *later*; a later one replaces those of its name.

    Default rules stay beside a rule of their name, which takes their place when they are used.
    """
    names = {one.rule.name for one in later if not one.optional}
    stay = (one for one in before if one.optional or one.rule.name not in names)
    return (*(one for one in stay if one not in later), *later)


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


class FittedRule(NamedTuple):
    """A rule with bounds for n clean rows."""

    rule: Rule
    passes: Mask
    """True for the rows that it keeps, shape ``(n,)``."""
    usable: bool
    """Whether it keeps the share that is asked for."""


def fitted_rules(
    rules: Sequence[Rule], windows: Sequence[Sequence[NDArray[Any]]], share: Fraction
) -> list[FittedRule]:
    """Return the rules with the tightest bounds that keep this *share* of clean rows, each alone.

    Args:
        rules: of any kind; one without a number stays as it is.
        windows: the values of each rule for some rows, as ``Rule.check`` returns them: 8 bytes a
            value are held.
        share: above 0, up to 1.

    Raises SettingsError without rows.
    """
    held = [*zip(*windows, strict=True)] or [()] * len(rules)
    found = []
    for rule, parts in zip(rules, held, strict=True):
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
