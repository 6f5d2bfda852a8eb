"""A grid of settings and filter bounds: a TOML file in which a list is tried value by value.

Its tables are the groups of settings of an encoder's training, ``[[rule]]`` are rules of
bitext-filter, and ``pairs`` and ``sample`` choose the training pairs. A name of several parts
between commas gives them values together: ``"minimum,maximum" = [[0, 10], [10, 20]]``.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitextfilter.errors import SettingsError
from bitextfilter.filters.registry import make_rule
from bitextfilter.filters.rule import Rule
from bitextfilter.io.files import read_toml
from bitextfilter.training.encoder_training import EncoderConfig

MOST_POINTS = 100_000
"""A grid of more points is taken for a mistake."""

_DEFAULT = "default"
"""The value that leaves a name out."""

_DATA = ("pairs", "sample")


@dataclass(frozen=True)
class _Axis:
    """Names that get their values together, and the values to try."""

    names: tuple[str, ...]
    """Such as ``training.margin``, ``length.maximum`` (of a rule) or ``sample``."""
    alternatives: tuple[tuple[Any, ...], ...]
    """Each with a value for each name."""


@dataclass(frozen=True)
class Point:
    """One choice of values."""

    values: Mapping[str, Any]
    """By name."""
    config: EncoderConfig
    rules: tuple[Rule, ...]

    @property
    def pairs(self) -> str | None:
        """The file of pairs to train on, if the grid names files."""
        return self.values.get("pairs")

    @property
    def sample(self) -> int | None:
        """Number of pairs drawn from those that pass the rules; None for all."""
        return self.values.get("sample")

    def cells(self) -> dict[str, str]:
        """Every value as a cell of a table has it."""
        return {name: cell(value) for name, value in self.values.items()}

    def described(self, names: Sequence[str]) -> str:
        """The values of some names in a line, as ``training.margin=0.4 length.maximum=10``."""
        cells = self.cells()
        return " ".join(f"{name}={cells[name]}" for name in names if name in cells)


@dataclass(frozen=True)
class Grid:
    """Axes, and the rules that some of their names belong to."""

    axes: tuple[_Axis, ...]
    rules: Mapping[str, str]
    """The name of each rule by its label: its name, numbered where there are several of it."""

    @property
    def varied(self) -> list[str]:
        """The names that have more than one value to try."""
        return [name for axis in self.axes if len(axis.alternatives) > 1 for name in axis.names]

    @property
    def names(self) -> list[str]:
        """Every name, those that vary first."""
        varied = self.varied
        return varied + [n for axis in self.axes for n in axis.names if n not in varied]

    def points(self) -> Iterator[Point]:
        """Yield every combination; the last axis changes first.

        Raises SettingsError, with the combination, where values do not fit.
        """
        names = [name for axis in self.axes for name in axis.names]
        for chosen in itertools.product(*(axis.alternatives for axis in self.axes)):
            values = dict(zip(names, itertools.chain(*chosen), strict=True))
            values = {name: value for name, value in values.items() if value != _DEFAULT}
            try:
                yield self._point(values)
            except SettingsError as error:
                said = " ".join(f"{name}={cell(value)}" for name, value in values.items())
                raise SettingsError(f"{error} (at {said})" if said else str(error)) from error

    def _point(self, values: dict[str, Any]) -> Point:
        pairs, sample = values.get("pairs", ""), values.get("sample", 1)
        if not isinstance(pairs, str):
            raise SettingsError(f"pairs are the name of a file, not {pairs!r}")
        if pairs == "-":
            raise SettingsError("pairs are read more than once, which stdin cannot be: name a file")
        if type(sample) is not int or sample < 1:
            raise SettingsError(f"sample must be a whole number of at least 1, not {sample!r}")
        settings: dict[str, Any] = {}
        parameters: dict[str, dict[str, Any]] = {label: {} for label in self.rules}
        for name, value in values.items():
            group, _, rest = name.partition(".")
            if group in parameters:
                parameters[group][rest] = value
            elif rest:
                settings.setdefault(group, {})[rest] = value
            elif name not in _DATA:
                settings[name] = value
        rules = [make_rule(self.rules[label], given) for label, given in parameters.items()]
        return Point(values, EncoderConfig.from_dict(settings), tuple(rules))


def read_grid(path: Path) -> Grid:
    """Read the file of a grid.

    Raises NotFoundError, and SettingsError for a file that is no grid or has too many points.
    :meth:`Grid.points` checks the values.
    """
    try:
        grid = _grid(read_toml(path))
        if (count := math.prod(len(axis.alternatives) for axis in grid.axes)) > MOST_POINTS:
            raise SettingsError(f"{count} points, more than {MOST_POINTS}")
    except SettingsError as error:
        text = str(error)
        raise SettingsError(text if text.startswith(f"{path}: ") else f"{path}: {text}") from error
    return grid


def _grid(tables: dict[str, Any]) -> Grid:
    rules = tables.pop("rule", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise SettingsError("rules are tables: [[rule]] and below it name = ...")
    labelled = dict(zip(_labels(rules), rules, strict=True))
    axes = list(_axes("", tables))
    for label, rule in labelled.items():
        rest = {name: value for name, value in rule.items() if name != "name"}
        axes += _axes(f"{label}.", rest)
    grid = Grid(tuple(axes), {label: rule["name"] for label, rule in labelled.items()})
    names = [name for axis in axes for name in axis.names]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingsError(f"{twice} is given twice")
    return grid


def _labels(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    names = [rule.get("name") for rule in rules]
    for name, rule in zip(names, rules, strict=True):
        if not isinstance(name, str):
            raise SettingsError(f"a rule has no name: {dict(rule)}")
    return [
        str(name) if names.count(name) == 1 else f"{name}#{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _axes(before: str, values: Mapping[str, Any]) -> Iterator[_Axis]:
    """Yield an axis for each name; in a table within a table, with its name before."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _axes(f"{before}{key}.", value)
            continue
        names = tuple(before + name.strip() for name in key.split(","))
        given = value if isinstance(value, list) else [value]
        if not given:
            raise SettingsError(f"{before}{key}: an empty list, expected values to try")
        alternatives = []
        for value in given:
            each = tuple(value) if len(names) > 1 and isinstance(value, list) else (value,)
            if len(each) != len(names) or any(isinstance(part, dict | list) for part in each):
                expected = "a value" if len(names) == 1 else f"a list of {len(names)} values"
                raise SettingsError(f"{before}{key}: {value!r} is not {expected}")
            alternatives.append(each)
        yield _Axis(names, tuple(alternatives))


def cell(value: Any) -> str:
    """Return a value as a cell of a table has it: a word as it is, anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return " ".join(text.split())
