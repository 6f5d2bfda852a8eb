"""Settings: declared once, checked in one way, listed with their meanings.

A group of settings is a frozen dataclass derived from :class:`Settings`, whose fields are made by
:func:`setting`, with the options of some on the command line. Files and assignments come in
through :func:`from_mapping`, which refuses unknown names, and values without effect.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bitextfilter.errors import SettingsError
from bitextfilter.io.files import naming_input, read_small
from bitextfilter.io.records import parse_json

_Settings = TypeVar("_Settings")

_FORMER_NAMES = {
    "worth": "minor_error_quality",
    "sharpness": "logit_scale",
    "lenience": "logit_bias",
}
"""Settings of files and models by their names in former versions."""

_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", lambda value: type(value) is int),
    "float": ("a number", lambda value: type(value) in (int, float) and math.isfinite(value)),
    "str": ("a word", lambda value: isinstance(value, str)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
}

_BOUNDS: dict[str, tuple[str, Callable[[Any, float], bool]]] = {
    ">": ("above", operator.gt),
    ">=": ("at least", operator.ge),
    "<": ("below", operator.lt),
    "<=": ("at most", operator.le),
}


@dataclass(frozen=True)
class Declaration:
    """The meaning and the range of a setting."""

    meaning: str
    choices: tuple[str, ...]
    bounds: tuple[tuple[str, float], ...]
    needs: tuple[str, ...]

    @property
    def range(self) -> str:
        """The range in words; empty if any value is allowed."""
        bounds = [f"{_BOUNDS[sign][0]} {bound:g}" for sign, bound in self.bounds]
        return ", ".join(self.choices or bounds)

    def fault(self, value: Any) -> str:
        """Return the fault of a value of the right type; empty if it is in the range."""
        if self.choices:
            return "" if value in self.choices else none_of(value, self.choices)
        fits = all(_BOUNDS[sign][1](value, bound) for sign, bound in self.bounds)
        return "" if fits else f"must be {self.range}, not {value!r}"


def setting(
    default: Any,
    meaning: str = "",
    *,
    choices: Iterable[str] = (),
    within: str = "",
    needs: str | tuple[str, ...] = (),
    **option: Any,
) -> Any:
    """Declare a setting: a field of a dataclass.

    Args:
        default: its value if not given.
        meaning: for lists of settings.
        choices: the words allowed.
        within: the bounds of a number, such as ``> 0, <= 1``.
        needs: conditions of its effect, all of a tuple: the ``name`` of a setting that must be
            above 0, or ``name=value``; ``|`` separates alternatives.
        option: ``option``, its name on the command line and the placeholder of its value;
            ``help``, if that is not *meaning*; and further arguments of ``click.Option``.
    """
    bounds = [bound.split() for bound in within.split(",") if bound]
    declared = Declaration(
        meaning,
        tuple(choices),
        tuple((sign, float(number)) for sign, number in bounds),
        (needs,) if isinstance(needs, str) else needs,
    )
    metadata = {"setting": declared, "option": {"option": "", "help": meaning, **option}}
    return dataclasses.field(default=default, metadata=metadata)


from_0 = partial(setting, within=">= 0")
from_1 = partial(setting, within=">= 1")
share = partial(setting, within=">= 0, <= 1")
part = partial(setting, within=">= 0, < 1")
"""Settings in the ranges that are most frequent."""


def _declared(kind: Any) -> Iterator[tuple[str, str, Declaration]]:
    """Yield name, type and declaration of each setting of a dataclass."""
    for field in dataclasses.fields(kind):
        if "setting" in field.metadata:
            yield field.name, str(field.type), field.metadata["setting"]


class Settings:
    """Base of the groups of settings."""

    @classmethod
    def rows(cls) -> list[tuple[str, str, str, str]]:
        """Return the rows of all settings: see :func:`group_rows`."""
        return group_rows(cls())

    def __post_init__(self) -> None:
        """Raise SettingsError for a value of another type, none of the choices, or out of range."""
        for name, kind, declared in _declared(self):
            value = getattr(self, name)
            needed, is_one = _KINDS.get(kind, ("", lambda _: True))
            if not is_one(value):
                raise SettingsError(f"{name} must be {needed}, not {value!r}")
            if fault := declared.fault(value):
                raise SettingsError(f"{name} {fault}")


_MOST = 8
"""Names that a suggestion has at most."""


def nearest(name: object, known: Iterable[str]) -> str:
    """Return a suggestion for messages: the known names that *name* begins, or the most similar.

    Empty where there are none.
    """
    plain = {each.casefold(): each for each in known}
    text = str(name).casefold()
    near = [each for each in plain if text and each.startswith(text)]
    if not near or len(near) > _MOST:
        near = difflib.get_close_matches(text, list(plain), 1)
    names = [plain[each] for each in near]
    either = f"{', '.join(names[:-1])} or {names[-1]}" if names[1:] else "".join(names)
    return f"; did you mean {either}?" if names else ""


def none_of(name: object, known: Iterable[str]) -> str:
    """Return the fault of a name that is not known, with all that are, and a suggestion."""
    names = list(known)
    return f"{name!r} is none of {', '.join(names)}{nearest(name, names)}"


def _unmet(kind: Any, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings without effect, each with its first unmet need."""
    found = {}
    for name, _, declared in _declared(kind):
        unmet = (need for need in declared.needs if not _holds(values, need))
        if (first := next(unmet, None)) is not None:
            found[name] = first
    return found


def _holds(values: Mapping[str, Any], need: str) -> bool:
    """Return whether a need is met."""
    name, equals, wanted = need.partition("=")
    if equals:
        return str(values[name]) in wanted.split("|")
    return any(values[each] for each in name.split("|"))


def _said(need: str, group: str) -> str:
    """Return a need in words."""
    name, equals, values = need.partition("=")
    if equals:
        return f"{group}{name}={' or '.join(values.split('|'))}"
    return f"{' or '.join(group + each for each in name.split('|'))} above 0"


def from_mapping(
    kind: type[_Settings],
    values: Mapping[str, Any],
    group: str = "",
    defaults: Mapping[str, Any] | None = None,
) -> _Settings:
    """Build a group of settings from names and values.

    A setting without effect gets the default of its dataclass.

    Args:
        kind: the dataclass.
        values: the given ones.
        group: its name in messages.
        defaults: override the dataclass's own.

    Raises:
        SettingsError: an unknown name, a value that does not fit, or one without effect that
            differs from the default.
    """
    if not isinstance(values, Mapping):
        raise SettingsError(f"settings are names and values, not {values!r}")
    before = f"{group}." if group else ""
    given = _known(kind, values, before)
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    own = {f.name: f.default for f in fields if f.default is not dataclasses.MISSING}
    usual = {**own, **(defaults or {})}
    unmet = _unmet(kind, {**usual, **given})
    for name, need in unmet.items():
        if name in given and given[name] not in (usual[name], own[name]):
            raise SettingsError(
                f"{before}{name}={json.dumps(given[name])} has no effect without"
                f" {_said(need, before)}: set that, or leave {before}{name} out"
            )
    try:
        return kind(**{**usual, **given, **{name: own[name] for name in unmet}})
    except SettingsError as error:
        raise SettingsError(f"{before}{error}") from error


def from_groups(
    kinds: Mapping[str, type[Any]],
    values: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    others: Iterable[str] = (),
) -> dict[str, Any]:
    """Build groups of settings, by name, from nested names and values.

    Args:
        kinds: the dataclass of each group.
        values: settings by group.
        defaults: by group: see :func:`from_mapping`.
        others: further names that *values* may have; they are ignored.

    Raises:
        SettingsError: a name that is no group, or see :func:`from_mapping`.
    """
    names = [*others, *kinds]
    if unknown := sorted(set(values).difference(names)):
        raise SettingsError(
            f"{unknown[0]!r} is no group of settings: {', '.join(names)}"
            f"{nearest(unknown[0], names)}"
        )
    usual = defaults or {}
    return {
        name: from_mapping(kind, values.get(name, {}), name, usual.get(name))
        for name, kind in kinds.items()
    }


def _known(kind: Any, values: Mapping[str, Any], before: str) -> dict[str, Any]:
    """Return the values by today's names, whole numbers as ints.

    Raises SettingsError for an unknown name.
    """
    types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    values = current_names(values)
    for name in values:
        if name not in types:
            raise SettingsError(
                f"{before}{name} is no setting{nearest(name, types) or ';'} there are"
                f" {', '.join(types)}"
            )
    whole = {n for n, v in values.items() if types[n] == "int" and isinstance(v, float)}
    return {n: int(v) if n in whole and v.is_integer() else v for n, v in values.items()}


def current_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by today's names; of two names of one setting, the last counts."""
    return {_FORMER_NAMES.get(name, name): value for name, value in values.items()}


def read_settings(path: Path) -> dict[str, Any]:
    """Read a settings file (JSON). Raises NotFoundError or SettingsError."""
    try:
        with naming_input(path), path.open("rb") as stream:
            values = parse_json(read_small(stream, str(path)))
    except ValueError as error:
        raise SettingsError(f"{path}: not a settings file: {error}") from error
    if not isinstance(values, dict):
        raise SettingsError(f"{path}: settings are an object of names and values")
    return values


def with_override(values: dict[str, Any], assignment: str) -> dict[str, Any]:
    """Return settings with one more, written ``group.name=value`` (JSON, or a word).

    Raises SettingsError if the assignment has another form.
    """
    path, equals, text = assignment.partition("=")
    group, dot, name = path.partition(".")
    if not equals or (dot and not name):
        raise SettingsError(f"{assignment!r} is not of the form group.name=value")
    try:
        value = parse_json(text)
    except ValueError:
        value = text
    if not dot:
        return {**values, group: value}
    before = values.get(group, {})
    if not isinstance(before, dict):
        raise SettingsError(f"{group} is {before!r}, which has no {name}")
    return {**values, group: {**before, name: value}}


def group_rows(
    settings: object, group: str = "", of: str = "", other: object | None = None
) -> list[tuple[str, str, str, str]]:
    """Return name, default (in Markdown), range and meaning of each setting of a group.

    Args:
        settings: the defaults.
        group: prefix of the names.
        of: prefix of the meanings, such as the only architecture with these settings.
        other: other defaults, shown where they differ.
    """
    before = f"{group}." if group else ""
    rows = []
    for name, _, declared in _declared(settings):
        value, second = (_cell(getattr(each, name)) for each in (settings, other or settings))
        shown = value if value == second else f"{value} ({second})"
        needs = " and ".join(_said(need, "") for need in declared.needs)
        meaning = f"{of}: {declared.meaning}" if of else declared.meaning
        meaning += f" (with {needs})" if needs else ""
        rows.append((before + name, shown, declared.range, meaning))
    return rows


def _cell(value: Any) -> str:
    """Return a value as --set takes it, in Markdown; empty for an empty one."""
    text = value if isinstance(value, str) else json.dumps(value)
    return f"`{text}`" if text else ""


def settings_table(rows: Iterable[tuple[str, str, str, str]]) -> str:
    """Return settings as a table in Markdown."""
    lines = ["| setting | default | range | meaning |", "|---|---|---|---|"]
    for name, value, values, meaning in rows:
        lines.append(f"| `{name}` | {value} | {values} | {meaning} |")
    return "\n".join(lines) + "\n"
