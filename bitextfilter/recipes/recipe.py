"""Recipes: the steps of a pipeline in a TOML file, and the plan that they make.

``[[step]]`` tables are the steps, in their order. ``[defaults]``, ``[pair.NAME]`` and
``[data.NAME]`` each override those before, key by key: a table in them has keys of the step of its
name, and any other key is a variable, which stands in texts as ``{name}``. A plan has pipes of
steps for each data set, and the files between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import groupby
from os.path import realpath
from pathlib import Path
from typing import Any, NamedTuple

from bitextfilter.errors import NotFoundError, SettingsError
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
                near = nearest(name, self.data)
                raise SettingsError(f"{self.file}: no data set is called {name}{near}")
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
                near = nearest(pair, self.pairs)
                raise self.error(f"data.{data}", f"there is no table [pair.{pair}]{near}")
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
                near = f"{nearest(name, variables)}; {{{{{name}}}}} is the text {{{name}}}"
                raise self.error(table, f"no variable is called {name}{near}")
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
        own = {*_FIXED, *_OWN}
        arguments, reads, writes = (
            tuple(map(str, values.get(key, ()))) for key in ("arguments", "reads", "writes")
        )
        return Step(
            name,
            data,
            tuple(values.get("command", "").split()),
            values.get("shell", ""),
            {key: one for key, one in values.items() if key not in own and one is not False},
            arguments,
            reads,
            writes,
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


def read_recipe(path: str, variables: Mapping[str, str]) -> Recipe:
    """Read a recipe; *variables* override those of the file.

    Raises NotFoundError, and SettingsError naming file and table.
    """
    tables = read_toml(path)
    steps = tables.pop("step", [])
    groups = {name: tables.pop(name, {}) for name in ("defaults", "pair", "data")}
    if tables:
        every = "[[step]], [defaults], [pair.NAME], [data.NAME]"
        raise SettingsError(f"{path}: {next(iter(tables))} is none of {every}")
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
    if isinstance(group, dict) and (single or all(isinstance(t, dict) for t in group.values())):
        return group
    raise SettingsError(f"{path}: {name} must be a table [{name}{'' if single else '.NAME'}]")


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


class Spelling(NamedTuple):
    """A command line, without the name of the command, and the files in it."""

    words: list[str]
    reads: list[str]
    """Files that must exist."""
    may_read: list[str]
    """Words that may name files, or models and the like."""
    writes: list[str]
    piped: tuple[bool, bool]
    """Whether its input is stdin, and its output stdout, as it has no option for them."""


class WrongOptionError(SettingsError):
    """An unknown option, or a value that does not fit; ``name`` is its name."""

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name


Spell = Callable[[Sequence[str], Mapping[str, Value], Sequence[str]], Spelling]
"""Returns the spelling of a command with options and arguments. Raises WrongOptionError."""


@dataclass(frozen=True)
class Line:
    """The command line of a step."""

    step: Step
    words: tuple[str, ...]
    """The words after the name of the command; none for a line of the shell."""
    stdin: str | None
    """File that is the stdin, if any."""
    stdout: str | None
    """File that takes the stdout, if any."""
    needs: tuple[str, ...]
    """Files and folders that the step reads."""
    may_read: tuple[str, ...]
    """Further files and folders that it reads where they exist."""
    writes: tuple[str, ...]
    """Files and folders that it writes, the main one last."""

    @property
    def named(self) -> dict[str, str]:
        """The paths that the step may read, by their real ones."""
        return {realpath(path): path for path in (*self.needs, *self.may_read)}

    @property
    def reads(self) -> list[str]:
        """All files and folders that the step reads, as they are now."""
        there = (path for path in self.may_read if Path(path).exists())
        return [*dict.fromkeys([*self.needs, *there])]

    @property
    def whole(self) -> list[str]:
        """The command line; one word for a line of the shell."""
        return [*self.step.command, *self.words] or [self.step.shell]


@dataclass
class Pipe:
    """Steps joined by stdin and stdout."""

    lines: list[Line] = field(default_factory=list)

    @property
    def data(self) -> str:
        """Name of the data set."""
        return self.lines[0].step.data

    @property
    def title(self) -> str:
        """Names of the steps and the data set."""
        names = " | ".join(line.step.name for line in self.lines)
        return f"{names} of {self.data}" if self.data else names

    @property
    def writes(self) -> list[str]:
        """All files and folders that the steps write, the main one last."""
        return [path for line in self.lines for path in line.writes]


@dataclass(frozen=True)
class Plan:
    """All pipes of a recipe, those before which others need not be made first."""

    file: str
    pipes: list[Pipe]
    before: dict[int, set[int]]
    """For each pipe the ones that write what it reads, by their places."""


def make_plan(recipe: Recipe, spell: Spell, data: Sequence[str] = ()) -> Plan:
    """Make the plan of a recipe for all data sets, or those in *data*.

    Raises SettingsError for unknown steps and options, two steps that write one file, a step
    without output, and a cycle; NotFoundError for a file that nothing writes.
    """
    pipes: list[Pipe] = []
    for number, name in enumerate(recipe.data_sets(data)):
        for once, steps in groupby(recipe.steps_of(name), lambda step: step.once):
            if number == 0 or not once:
                pipes += _pipes(recipe, list(steps), spell)
    writers = _writers(recipe, pipes)
    before = {n: _before(recipe, n, pipe, writers) for n, pipe in enumerate(pipes)}
    try:
        order = [*TopologicalSorter(before).static_order()]
    except CycleError as error:
        names = " → ".join(pipes[number].title for number in error.args[1])
        raise SettingsError(f"{recipe.file}: steps wait for each other: {names}") from None
    for number in order:
        for line in pipes[number].lines:
            for path in line.needs:
                if realpath(path) not in writers and not Path(path).exists():
                    place = f"{recipe.file}: {line.step.title}"
                    raise NotFoundError(f"{place}: {path}: no such file, and no step writes it")
    return Plan(recipe.file, pipes, before)


def _pipes(recipe: Recipe, steps: Sequence[Step], spell: Spell) -> list[Pipe]:
    """Join steps to pipes: an output ends one; an input, or a file that it writes, begins one."""
    pipes: list[Pipe] = []
    open_pipe = False
    for step in steps:
        line = _line(recipe, step, spell)
        written = {*map(realpath, pipes[-1].writes)} if open_pipe else set()
        if open_pipe and ("input" in step.options or not written.isdisjoint(line.named)):
            _end(recipe, pipes[-1], f"{step.name}, the next step, reads a file")
            open_pipe = False
        if not open_pipe:
            pipes.append(Pipe())
        pipes[-1].lines.append(line)
        open_pipe = "output" not in step.options
    if open_pipe:
        _end(recipe, pipes[-1], "no step follows")
    return pipes


def _end(recipe: Recipe, pipe: Pipe, reason: str) -> None:
    """Raise SettingsError if the stdout of the last step of a pipe is lost."""
    step = pipe.lines[-1].step
    if not step.writes:
        remedy = "give it an output, or name what it writes in writes"
        raise recipe.error(f"step {step.name}", f"its output is lost, as {reason}: {remedy}")


def _line(recipe: Recipe, step: Step, spell: Spell) -> Line:
    """Return the command line of a step, with its files."""
    spelling = _spelling(recipe, step, spell)
    files = [step.options.get(name) for name in ("input", "output")]
    stdin, stdout = (
        str(file) if piped and file is not None else None
        for file, piped in zip(files, spelling.piped, strict=True)
    )
    own = {*map(realpath, step.writes)}

    def foreign(*paths: str) -> tuple[str, ...]:
        return tuple(path for path in paths if realpath(path) not in own)

    return Line(
        step,
        tuple(spelling.words),
        stdin,
        stdout,
        foreign(*spelling.reads, *step.reads, *([stdin] if stdin else [])),
        foreign(*spelling.may_read),
        (*spelling.writes, *step.writes, *([stdout] if stdout else [])),
    )


def _spelling(recipe: Recipe, step: Step, spell: Spell) -> Spelling:
    if not step.command:
        return _shell_spelling(recipe, step)
    try:
        return spell(step.command, step.options, step.arguments)
    except WrongOptionError as error:
        table = step.tables.get(error.name, f"step {step.name}")
        raise recipe.error(table, str(error)) from error


def _shell_spelling(recipe: Recipe, step: Step) -> Spelling:
    """Return the spelling of a line of the shell, whose files are its stdin and stdout."""
    for name, value in step.options.items():
        if name not in ("input", "output"):
            raise recipe.error(step.tables[name], f"a line of the shell has no option {name}")
        if not isinstance(value, str):
            raise recipe.error(step.tables[name], f"{name} must be a text")
    if step.arguments:
        message = "write the arguments into the line of the shell"
        raise recipe.error(step.tables["arguments"], message)
    return Spelling([], [], [], [], (True, True))


def _writers(recipe: Recipe, pipes: Sequence[Pipe]) -> dict[str, int]:
    """Return the pipe that writes each file. Raises SettingsError if there are two."""
    writers: dict[str, int] = {}
    for number, pipe in enumerate(pipes):
        for path in pipe.writes:
            other = writers.setdefault(realpath(path), number)
            if other != number or [*map(realpath, pipe.writes)].count(realpath(path)) > 1:
                titles = dict.fromkeys((pipes[other].title, pipe.title))
                by = " and ".join(titles)
                raise SettingsError(f"{recipe.file}: {path} is written twice, by {by}")
    return writers


def _before(recipe: Recipe, number: int, pipe: Pipe, writers: Mapping[str, int]) -> set[int]:
    """Return the pipes that write what a pipe reads."""
    named = {real: path for line in pipe.lines for real, path in line.named.items()}
    found = {path: writers[real] for real, path in named.items() if real in writers}
    if own := next((path for path in found if found[path] == number), None):
        raise SettingsError(f"{recipe.file}: {pipe.title} reads {own}, and writes it")
    return {*found.values()}
