"""Recipes: the steps of a pipeline in a TOML file, and their options for each data set.

``[[step]]`` tables are the steps, in their order. ``[defaults]``, ``[pair.NAME]`` and
``[data.NAME]`` each override those before, key by key: a table in them has keys of the step of its
name, and any other key is a variable, which stands in texts as ``{name}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bitextfilter.errors import SettingsError
from bitextfilter.io.files import read_toml
from bitextfilter.settings import nearest

Value = str | int | float | bool | list[str | int | float]
"""Value of an option."""

_FIXED = {"name": str, "command": str, "once": bool}
"""Keys that only a step's own table has."""
_OWN = {"shell": str, "skip": bool, "reads": list, "writes": list, "arguments": list}
"""Further keys that are no options, and their types."""
_TYPES: dict[type, str] = {str: "a text", bool: "true or false", list: "a list of texts"}

_FROM_ELSEWHERE = {"here", "data", "pair", "source", "target"}
"""Variables that are known without a text of their own."""
_VARIABLE = re.compile(r"\{(\{?)([a-z][a-z0-9_-]*)\}(\}?)")


@dataclass(frozen=True)
class Step:
    """A step for a data set, with its texts filled in."""

    name: str
    data: str
    """Name of the data set; empty if there is none."""
    command: tuple[str, ...]
    """Name of the command, and perhaps of the subcommand; empty for a line of the shell."""
    shell: str
    options: dict[str, Value]
    """By their names without the leading hyphens; ``input`` and ``output`` too."""
    arguments: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    once: bool
    tables: dict[str, str] = field(compare=False)
    """Tables that the keys come from."""

    @property
    def title(self) -> str:
        """Name of the step and its data set."""
        return f"step {self.name} of {self.data}" if self.data else f"step {self.name}"


@dataclass(frozen=True)
class Recipe:
    """A recipe as its file has it, checked as far as commands need not be known."""

    file: str
    steps: dict[str, dict[str, Any]]
    """The tables of the steps, by name."""
    defaults: dict[str, Any]
    pairs: dict[str, dict[str, Any]]
    data: dict[str, dict[str, Any]]
    variables: Mapping[str, str]
    """Variables that override those of the file."""

    def error(self, table: str, message: str) -> SettingsError:
        """Return an error in a table."""
        return SettingsError(f"{self.file}: [{table}]: {message}")

    def data_sets(self, wanted: Sequence[str] = ()) -> list[str]:
        """Return the names of the data sets, or those *wanted*; one without a name if none are.

        Raises SettingsError for an unknown one.
        """
        for name in wanted:
            if name not in self.data:
                raise SettingsError(
                    f"{self.file}: no data set is called {name}{nearest(name, self.data)}"
                )
        return [name for name in self.data if not wanted or name in wanted] or [""]

    def steps_of(self, data: str) -> list[Step]:
        """Return the steps of a data set, but for skipped ones.

        Raises SettingsError.
        """
        steps = []
        for name, table in self.steps.items():
            whose = "" if table.get("once") else data
            levels = self._levels(whose)
            tables = [(f"step {name}", table)]
            tables += [(f"{at}.{name}", level[name]) for at, level in levels if name in level]
            step = self._step(name, whose, tables, self._variables(whose, levels))
            if step is not None:
                steps.append(step)
        return steps

    def _levels(self, data: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the tables of a data set, the strongest last."""
        levels = [("defaults", self.defaults)]
        if not data:
            return levels
        own = self.data[data]
        if pair := own.get("pair"):
            if pair not in self.pairs:
                raise self.error(
                    f"data.{data}", f"there is no table [pair.{pair}]{nearest(pair, self.pairs)}"
                )
            levels.append((f"pair.{pair}", self.pairs[pair]))
        return [*levels, (f"data.{data}", own)]

    def _variables(self, data: str, levels: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, str]:
        """Return the variables of a data set; each may have those before it in its text."""
        filled = {"here": str(Path(self.file).parent), **({"data": data} if data else {})}
        pair = str(levels[-1][1].get("pair", ""))
        if pair.count("-") == 1:
            filled |= zip(("source", "target"), pair.split("-"), strict=True)
        given = {
            k: (at, v) for at, level in levels for k, v in level.items() if k not in self.steps
        }
        given |= {name: ("--set", value) for name, value in self.variables.items()}
        for name, (table, value) in given.items():
            filled[name] = str(self._filled(value, table, filled))
        return filled

    def _filled(self, value: Any, table: str, variables: Mapping[str, str]) -> Any:
        """Return a value with each ``{name}`` replaced; ``{{name}}`` stands for the text."""
        if isinstance(value, list):
            return [self._filled(one, table, variables) for one in value]
        if not isinstance(value, str):
            return value

        def replace(found: re.Match[str]) -> str:
            opened, name, closed = found.groups()
            if opened and closed:
                return f"{{{name}}}"
            if name not in variables:
                raise self.error(
                    table,
                    f"no variable is called {name}{nearest(name, variables)}; {{{{{name}}}}} is the"
                    f" text {{{name}}}",
                )
            return opened + variables[name] + closed

        return _VARIABLE.sub(replace, value)

    def _step(
        self,
        name: str,
        data: str,
        tables: Sequence[tuple[str, dict[str, Any]]],
        variables: Mapping[str, str],
    ) -> Step | None:
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for number, (at, table) in enumerate(tables):
            for key, value in table.items():
                if number and key in _FIXED:
                    raise self.error(at, f"{key} is for the table of the step alone")
                self._check(at, key, value)
                values[key], origins[key] = self._filled(value, at, variables), at
        if values.get("skip"):
            return None
        options = {key: values[key] for key in values if key not in {*_FIXED, *_OWN}}
        return Step(
            name,
            data,
            tuple(values.get("command", "").split()),
            values.get("shell", ""),
            {key: value for key, value in options.items() if value is not False},
            _texts(values, "arguments"),
            _texts(values, "reads"),
            _texts(values, "writes"),
            values.get("once", False),
            origins,
        )

    def _check(self, table: str, key: str, value: Any) -> None:
        """Raise SettingsError for a value of a wrong type."""
        texts = value if isinstance(value, list) else [value]
        kind = {**_FIXED, **_OWN}.get(key)
        if any("\0" in str(text) for text in texts):
            raise self.error(table, f"{key} has a NUL character")
        if key in ("input", "output") and value == "-":
            raise self.error(table, f"{key} is a file; leave it out for a pipe")
        known = all(isinstance(text, (str, int, float)) for text in texts)
        if kind is None and not known:
            raise self.error(table, f"{key} must be a text, a number, true, false, or a list")
        if kind is not None and not (isinstance(value, kind) and known):
            raise self.error(table, f"{key} must be {_TYPES[kind]}")


def _texts(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(map(str, values.get(key, ())))


def read_recipe(path: str, variables: Mapping[str, str]) -> Recipe:
    """Read a recipe; *variables* override those of the file.

    Raises NotFoundError, and SettingsError naming file and table.
    """
    tables = read_toml(path)
    steps = tables.pop("step", [])
    groups = {name: tables.pop(name, {}) for name in ("defaults", "pair", "data")}
    if tables:
        name = next(iter(tables))
        raise SettingsError(
            f"{path}: {name} is none of [[step]], [defaults], [pair.NAME], [data.NAME]"
        )
    if not isinstance(steps, list) or not steps or not all(isinstance(s, dict) for s in steps):
        raise SettingsError(f"{path}: a recipe has at least one table [[step]]")
    defaults, pairs, data = (_tables(path, *group) for group in groups.items())
    recipe = Recipe(path, dict(_named(path, steps)), defaults, pairs, data, variables)
    for table, values in _overriding(recipe):
        _check_overriding(recipe, table, values)
    known = {*_named_variables(recipe)}
    for name in variables:
        if name in _FROM_ELSEWHERE or name not in known:
            near = nearest(name, known - _FROM_ELSEWHERE)
            raise SettingsError(f"{path}: --set {name}: no variable of this recipe{near}")
    return recipe


def _named_variables(recipe: Recipe) -> Iterator[str]:
    """Yield the variables that the tables of a recipe set, or have in their texts."""
    for _, values in _overriding(recipe):
        yield from (name for name, value in values.items() if not isinstance(value, dict))
    tables = [*recipe.steps.values(), *(values for _, values in _overriding(recipe))]
    yield from (found[2] for found in _VARIABLE.finditer(str(tables)))


def _tables(path: str, name: str, group: Any) -> dict[str, Any]:
    single = name == "defaults"
    if not isinstance(group, dict) or not (
        single or all(isinstance(table, dict) for table in group.values())
    ):
        kind = f"[{name}]" if single else f"[{name}.NAME]"
        raise SettingsError(f"{path}: {name} must be a table {kind}")
    return group


def _named(path: str, steps: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of the steps with their names."""
    names = set()
    for number, table in enumerate(steps, 1):
        at = f"{path}: [step {number}]"
        program = [table[key] for key in ("command", "shell") if table.get(key)]
        if len(program) != 1 or not isinstance(program[0], str):
            raise SettingsError(f"{at}: give it a command, or a line of the shell, as text")
        usual = program[0].removeprefix("bitext-").replace(" ", "-") if "command" in table else ""
        name = table.get("name") or usual or (program[0].split() or [""])[0]
        if not isinstance(name, str):
            raise SettingsError(f"{at}: name must be {_TYPES[str]}")
        if name in names:
            raise SettingsError(f"{at}: another step is called {name}; give it a name of its own")
        names.add(name)
        yield name, table


def _overriding(recipe: Recipe) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables that override the options of steps, with their names."""
    yield "defaults", recipe.defaults
    for kind, tables in (("pair", recipe.pairs), ("data", recipe.data)):
        yield from ((f"{kind}.{name}", table) for name, table in tables.items())


def _check_overriding(recipe: Recipe, table: str, values: Mapping[str, Any]) -> None:
    """Raise SettingsError for a table of no step, and for a variable that is no text."""
    for name, value in values.items():
        if isinstance(value, dict) and name not in recipe.steps:
            raise recipe.error(table, f"no step is called {name}{nearest(name, recipe.steps)}")
        if not isinstance(value, dict) and name in recipe.steps:
            raise recipe.error(table, f"{name} is a step: write {name}.OPTION = VALUE")
        if "\0" in str(value):
            raise recipe.error(table, f"{name} has a NUL character")
        if not isinstance(value, (dict, str, int, float)) or isinstance(value, bool):
            raise recipe.error(table, f"the variable {name} must be a text or a number")
        if name in {"here", "data"} or (name == "pair" and not table.startswith("data.")):
            raise recipe.error(table, f"{name} cannot be set here")
