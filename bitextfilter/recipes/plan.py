"""The plan of a recipe: pipes of steps, the files between them, and what is up to date.

A pipe is up to date if its record, a hidden file beside its output, has the same command lines,
version and digests of all files that it reads and writes.

A plan as a script of the shell, as a graph, and its outcome as a table.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from bitextfilter import __version__
from bitextfilter.errors import InputError, NotFoundError, SettingsError
from bitextfilter.io.drafts import beside
from bitextfilter.io.files import COMPRESSIONS
from bitextfilter.io.records import file_digest, folder_files, read_record, write_record
from bitextfilter.recipes.recipe import Recipe, Step, Value

ENVIRONMENT = ("BITEXTFILTER_MODEL", "BITEXTFILTER_ON_ERROR")
"""Variables of the environment that results depend on."""


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
    def reads(self) -> list[str]:
        """All files and folders that the steps read, as they are now."""
        return [*dict.fromkeys(path for line in self.lines for path in line.reads)]

    @property
    def writes(self) -> list[str]:
        """All files and folders that the steps write, the main one last."""
        return [path for line in self.lines for path in line.writes]

    @property
    def record(self) -> Path:
        """Path of its record."""
        return beside(Path(self.writes[-1]), "run.json")


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
                if _real(path) not in writers and not Path(path).exists():
                    place = f"{recipe.file}: {line.step.title}"
                    raise NotFoundError(f"{place}: {path}: no such file, and no step writes it")
    return Plan(recipe.file, pipes, before)


def _pipes(recipe: Recipe, steps: Sequence[Step], spell: Spell) -> list[Pipe]:
    """Join steps to pipes: an output ends one; an input, or a file that it writes, begins one."""
    pipes: list[Pipe] = []
    open_pipe = False
    for step in steps:
        line = _line(recipe, step, spell)
        if open_pipe and ("input" in step.options or _reads_of(line, pipes[-1])):
            _end(recipe, pipes[-1], f"{step.name}, the next step, reads a file")
            open_pipe = False
        if not open_pipe:
            pipes.append(Pipe())
        pipes[-1].lines.append(line)
        open_pipe = "output" not in step.options
    if open_pipe:
        _end(recipe, pipes[-1], "no step follows")
    return pipes


def _reads_of(line: Line, pipe: Pipe) -> bool:
    """Return whether a step reads a file that the steps of a pipe write."""
    written = {_real(path) for path in pipe.writes}
    return any(_real(path) in written for path in (*line.needs, *line.may_read))


def _end(recipe: Recipe, pipe: Pipe, reason: str) -> None:
    """Raise SettingsError if the stdout of the last step of a pipe is lost."""
    step = pipe.lines[-1].step
    if not step.writes:
        raise recipe.error(
            f"step {step.name}",
            f"its output is lost, as {reason}: give it an output, or name what it writes in writes",
        )


def _line(recipe: Recipe, step: Step, spell: Spell) -> Line:
    """Return the command line of a step, with its files."""
    spelling = _spelling(recipe, step, spell) if step.command else _shell_spelling(recipe, step)
    files = [step.options.get(name) for name in ("input", "output")]
    stdin, stdout = (
        str(file) if piped and file is not None else None
        for file, piped in zip(files, spelling.piped, strict=True)
    )
    own = {_real(path) for path in step.writes}

    def foreign(*paths: str) -> tuple[str, ...]:
        return tuple(path for path in paths if _real(path) not in own)

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
        raise recipe.error(
            step.tables["arguments"], "write the arguments into the line of the shell"
        )
    return Spelling([], [], [], [], (True, True))


def _real(path: str) -> str:
    return os.path.realpath(path)


def _writers(recipe: Recipe, pipes: Sequence[Pipe]) -> dict[str, int]:
    """Return the pipe that writes each file. Raises SettingsError if there are two."""
    writers: dict[str, int] = {}
    for number, pipe in enumerate(pipes):
        for path in pipe.writes:
            other = writers.setdefault(_real(path), number)
            if other != number or [*map(_real, pipe.writes)].count(_real(path)) > 1:
                titles = dict.fromkeys((pipes[other].title, pipe.title))
                raise SettingsError(
                    f"{recipe.file}: {path} is written twice, by {' and '.join(titles)}"
                )
    return writers


def _before(recipe: Recipe, number: int, pipe: Pipe, writers: Mapping[str, int]) -> set[int]:
    """Return the pipes that write what a pipe reads."""
    named = [path for line in pipe.lines for path in (*line.needs, *line.may_read)]
    read = [path for path in named if _real(path) in writers]
    for path in read:
        if writers[_real(path)] == number:
            raise SettingsError(f"{recipe.file}: {pipe.title} reads {path}, and writes it")
    return {writers[_real(path)] for path in read}


def key_of(pipe: Pipe) -> dict[str, Any]:
    """Return all that the result of a pipe depends on. Raises NotFoundError."""
    return {
        "version": __version__,
        "steps": [[line.stdin, line.whole, line.stdout] for line in pipe.lines],
        "environment": {name: os.environ.get(name) for name in ENVIRONMENT},
        "reads": {path: content_digest(path) for path in pipe.reads},
    }


def content_digest(path: str) -> str:
    """Return the SHA-256 of a file, or of the names and the files of a folder.

    Devices and pipes have no content to compare. Raises NotFoundError.
    """
    if Path(path).is_dir():
        files = folder_files(Path(path)).items()
        text = "".join(f"{name}\0{file_digest(file)}\n" for name, file in files)
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    if Path(path).exists() and not Path(path).is_file():
        return "no file"
    return file_digest(path)


def changed(pipe: Pipe, key: Mapping[str, Any]) -> str:
    """Return the reason why a pipe must run; empty if it is up to date."""
    try:
        known = read_record(pipe.record)
    except FileNotFoundError:
        return "new"
    except InputError:
        return "its record is damaged"
    for path in pipe.writes:
        if not Path(path).exists():
            return f"{path} is missing"
        if known["writes"].get(path) != content_digest(path):
            return f"{path} has changed"
    was = known["key"]
    for name, digest in key["reads"].items():
        if was["reads"].get(name) != digest:
            return f"{name} has changed"
    return "" if was == key else next(f"other {n}" for n in key if was.get(n) != key[n])


def write_pipe_record(pipe: Pipe, key: Mapping[str, Any], steps: Sequence[Any]) -> dict[str, Any]:
    """Record that a pipe is done, with facts about its *steps*; returns the record.

    Raises NotFoundError where a step did not write a file. Also raises OutputError.
    """
    writes = {path: content_digest(path) for path in pipe.writes}
    record = {"key": dict(key), "writes": writes, "steps": [*steps]}
    write_record(pipe.record, record)
    return record


def known_steps(pipe: Pipe) -> list[dict[str, Any]]:
    """Return the facts about the steps of a pipe that is up to date."""
    steps: list[dict[str, Any]] = read_record(pipe.record)["steps"]
    return steps


def states(plan: Plan) -> dict[int, str]:
    """Return why each pipe must run, in order; empty where it is up to date."""
    found: dict[int, str] = {}
    for number in TopologicalSorter(plan.before).static_order():
        waits = [other for other in sorted(plan.before[number]) if found[other]]
        if waits:
            found[number] = f"follows {plan.pipes[waits[0]].title}"
        else:
            found[number] = changed(plan.pipes[number], key_of(plan.pipes[number]))
    return found


def folders(pipes: Iterable[Pipe]) -> Iterator[str]:
    """Yield the folders that outputs need and that are not there, each once."""
    needed = (str(Path(path).parent) for pipe in pipes for path in pipe.writes)
    return (folder for folder in dict.fromkeys(needed) if not Path(folder).is_dir())


_PACKERS = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "zst": "zstd"}


def script(plan: Plan, states: Mapping[int, str]) -> str:
    """Return the script of bash that does the same; the comments are the states of the pipes."""
    parts = ["set -euo pipefail"]
    if missing := [*folders(plan.pipes)]:
        parts[0] += f"\n{shlex.join(['mkdir', '-p', *missing])}"
    for number, state in states.items():
        pipe = plan.pipes[number]
        parts.append(
            f"# {pipe.title}: {f'to do: {state}' if state else 'up to date'}\n{line_of(pipe)}"
        )
    return "\n\n".join(parts) + "\n"


def line_of(pipe: Pipe) -> str:
    """Return the line of the shell that does the same as a pipe."""
    parts = [_line_text(line) for line in pipe.lines]
    stdin, stdout = pipe.lines[0].stdin, pipe.lines[-1].stdout
    if stdin is not None:
        if packer := _packer(stdin):
            parts.insert(0, f"{packer} -dc {shlex.quote(stdin)}")
        else:
            parts[0] += f" < {shlex.quote(stdin)}"
    elif pipe.lines[0].step.shell:
        parts[0] += " < /dev/null"
    if stdout is not None:
        if packer := _packer(stdout):
            parts.append(f"{packer} -c")
        parts[-1] += f" > {shlex.quote(stdout)}"
    return " \\\n    | ".join(parts)


def _line_text(line: Line) -> str:
    return shlex.join(line.whole if line.step.command else ["sh", "-c", line.step.shell])


def _packer(path: str) -> str | None:
    form = COMPRESSIONS.get(Path(path).suffix.lower())
    return None if form is None else _PACKERS[form]


def mermaid(plan: Plan) -> str:
    """Return the graph of steps and files in the language of Mermaid."""
    nodes, edges = _graph(plan)
    lines = ["flowchart LR"]
    for name, (text, is_file) in nodes.items():
        shown = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        lines.append(f'    {name}[/"{shown}"/]' if is_file else f'    {name}["{shown}"]')
    return "\n".join([*lines, *(f"    {one} --> {other}" for one, other in edges)]) + "\n"


def dot(plan: Plan) -> str:
    """Return the graph of steps and files in the language of Graphviz."""
    nodes, edges = _graph(plan)
    lines = ["digraph recipe {", "    rankdir=LR;"]
    for name, (text, is_file) in nodes.items():
        shown = text.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'    {name} [label="{shown}", shape={"note" if is_file else "box"}];')
    return "\n".join([*lines, *(f"    {one} -> {other};" for one, other in edges), "}"]) + "\n"


_Nodes = dict[str, tuple[str, bool]]


def _graph(plan: Plan) -> tuple[_Nodes, list[tuple[str, str]]]:
    """Return the text of each node, with whether it is a file, and the edges."""
    files: dict[str, str] = {}
    nodes: _Nodes = {}
    edges: list[tuple[str, str]] = []

    def file(path: str) -> str:
        name = files.setdefault(path, f"f{len(files)}")
        nodes[name] = path, True
        return name

    for number, pipe in enumerate(plan.pipes):
        steps = [f"s{number}_{place}" for place in range(len(pipe.lines))]
        for name, line in zip(steps, pipe.lines, strict=True):
            of = f" of {pipe.data}" if pipe.data else ""
            nodes[name] = f"{line.step.name}{of}", False
            edges += [(file(path), name) for path in line.reads]
            edges += [(name, file(path)) for path in line.writes]
        edges += pairwise(steps)
    return nodes, [*dict.fromkeys(edges)]


def table(rows: Sequence[Sequence[object]]) -> str:
    """Return rows as a TSV with the header of an outcome."""
    header = ("data", "step", "state", "rows in", "rows out", "seconds")
    lines = [
        "\t".join("" if cell is None else str(cell) for cell in row) for row in (header, *rows)
    ]
    return "\n".join(lines) + "\n"
