"""The run of a recipe's plan: pipes side by side, and what is up to date.

A pipe is up to date if its record, a hidden file beside its output, has the same command lines,
version and digests of all files that it reads and writes. A plan is also shown as a script of the
shell and as a graph, and its outcome as a table.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from bitextfilter import __version__
from bitextfilter.errors import BitextError, InputError, OutputError
from bitextfilter.io.drafts import beside
from bitextfilter.io.files import (
    COMPRESSIONS,
    locked_if_free,
    naming_output,
    open_input,
    open_output,
)
from bitextfilter.io.pipes import Program, Programs
from bitextfilter.io.records import file_digest, folder_files, parse_json, read_record, write_record
from bitextfilter.recipes.recipe import Line, Pipe, Plan

ENVIRONMENT = ("BITEXTFILTER_MODEL", "BITEXTFILTER_ON_ERROR")
"""Variables of the environment that results depend on."""


def key_of(pipe: Pipe) -> dict[str, Any]:
    """Return all that the result of a pipe depends on. Raises NotFoundError."""
    return {
        "version": __version__,
        "steps": [[line.stdin, line.whole, line.stdout] for line in pipe.lines],
        "environment": {name: os.environ.get(name) for name in ENVIRONMENT},
        "reads": {path: content_digest(path) for line in pipe.lines for path in line.reads},
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


def _record(pipe: Pipe) -> Path:
    """Return the path of a pipe's record."""
    return beside(Path(pipe.writes[-1]), "run.json")


def changed(pipe: Pipe, key: Mapping[str, Any]) -> str:
    """Return the reason why a pipe must run; empty if it is up to date."""
    try:
        known = read_record(_record(pipe))
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


Call = Callable[[Sequence[str]], list[str]]
"""Returns the words that start a command of ours, given its name and perhaps a subcommand."""

_ONE_FOR_ONE = {"bitext-fix", "bitext-score", "bitext-translate"}
"""Commands that write a row for each row that they read."""
_WRITTEN = ("kept", "pairs", "links")
"""Counts of rows that are written."""


class Outcome(NamedTuple):
    """A pipe that is done."""

    pipe: Pipe
    reason: str
    """Why it ran; empty if it was up to date."""
    steps: list[dict[str, Any]]
    """Facts about its steps, such as their manifests."""

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the rows of the table: data set, step, state, rows in and out, and seconds."""
        for line, facts in zip(self.pipe.lines, self.steps, strict=True):
            state = "done" if self.reason else "up to date"
            counts = (facts[name] for name in ("rows in", "rows out", "seconds"))
            yield self.pipe.data, line.step.name, state, *counts


_SECONDS = 0.1
"""That long a step is waited for: Python may miss a signal that comes as a longer wait begins."""


@dataclass(frozen=True)
class Runner:
    """Runs pipes; ``call`` starts commands of ours, ``say`` takes messages."""

    plan: Plan
    call: Call
    say: Callable[[str], None]
    programs: Programs

    def outcomes(self, jobs: int) -> Iterator[Outcome]:
        """Run the plan, *jobs* pipes at a time, and yield each that is done.

        Raises ProgramError for the first step that fails, after all others were ended.
        """
        order = TopologicalSorter(self.plan.before)
        order.prepare()
        running: dict[Future[Outcome], int] = {}
        with ThreadPoolExecutor(jobs) as pool:
            try:
                while order.is_active():
                    for number in order.get_ready():
                        running[pool.submit(self.made, self.plan.pipes[number])] = number
                    for future in wait(running, _SECONDS, FIRST_COMPLETED).done:
                        outcome = future.result()
                        order.done(running.pop(future))
                        yield outcome
            except BaseException as error:
                self.programs.stop(error)
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def made(self, pipe: Pipe) -> Outcome:
        """Run a pipe, unless it is up to date."""
        for folder in folders([pipe]):
            with naming_output(folder):
                Path(folder).mkdir(parents=True, exist_ok=True)
        with locked_if_free(record := _record(pipe)) as free:
            if not free:
                raise OutputError(f"{pipe.writes[-1]}: another run is writing it")
            key = key_of(pipe)
            reason = changed(pipe, key)
            if not reason:
                return Outcome(pipe, "", read_record(record)["steps"])
            steps = self._run(pipe)
            for path in pipe.writes:
                if not Path(path).exists():
                    raise OutputError(f"{self.plan.file}: {pipe.title} has not written {path}")
            writes = {path: content_digest(path) for path in pipe.writes}
            write_record(record, {"key": key, "writes": writes, "steps": steps})
            return Outcome(pipe, reason, steps)

    def _run(self, pipe: Pipe) -> list[dict[str, Any]]:
        """Run a pipe, and return the facts about its steps."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            manifests = [folder / f"{place}.json" for place in range(len(pipe.lines))]
            programs = [self._program(*one) for one in zip(pipe.lines, manifests, strict=True)]
            stdin, stdout = pipe.lines[0].stdin, pipe.lines[-1].stdout
            source = stack.enter_context(open_input(stdin)) if stdin else None
            sink = stack.enter_context(open_output(stdout)) if stdout else None
            self.programs.join(programs, source, sink)
            return facts_of(pipe.lines, manifests)

    def _program(self, line: Line, manifest: Path) -> Program:
        """Return the program of a step, which writes a manifest for the table too."""
        step = line.step
        words = ["/bin/sh", "-c", step.shell]
        if step.command:
            own = [] if "manifest" in step.options else ["--manifest", str(manifest)]
            words = [*self.call(step.command), *own, *line.words]
        before = f"{step.data}: " if step.data else ""
        return Program(step.title, words, lambda message: self.say(before + message))


def facts_of(lines: Sequence[Line], manifests: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the facts about each step: command line, manifest, rows in and out, seconds.

    A step's rows out are the next one's rows in; the last one's are the rows kept or written.
    """
    facts: list[dict[str, Any]] = []
    for line, path in zip(lines, manifests, strict=True):
        own = line.step.options.get("manifest")
        manifest: dict[str, Any] = {}
        with suppress(OSError, ValueError, BitextError):
            manifest = parse_json(Path(str(own) if own else path).read_bytes())
        counts = manifest.get("counts", {})
        names = ("rows",) if {*line.step.command} & _ONE_FOR_ONE else _WRITTEN
        written = next((counts[name] for name in names if name in counts), None)
        facts.append(
            {
                "step": line.step.name,
                "command": shlex.join(line.whole) if line.step.command else line.step.shell,
                "rows in": counts.get("rows"),
                "rows out": written,
                "seconds": manifest.get("seconds"),
                "manifest": {name: manifest[name] for name in manifest if name != "command"},
            }
        )
    for one, following in pairwise(facts):
        if following["rows in"] is not None:
            one["rows out"] = following["rows in"]
    return facts


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


_LANGUAGES = {
    "mermaid": (
        "flowchart LR",
        '    {0}["{1}"]',
        '    {0}[/"{1}"/]',
        "    {} --> {}",
        "",
        str.maketrans({"&": "&amp;", '"': "&quot;", "<": "&lt;"}),
    ),
    "dot": (
        "digraph recipe {\n    rankdir=LR;",
        '    {0} [label="{1}", shape=box];',
        '    {0} [label="{1}", shape=note];',
        "    {} -> {};",
        "}\n",
        str.maketrans({"\\": "\\\\", '"': '\\"'}),
    ),
}
"""Of each language of graphs: head, step, file, edge, end, and how texts are written."""


def graph(plan: Plan, language: str) -> str:
    """Return the graph of steps and files in the language of Mermaid, or of Graphviz: ``dot``."""
    nodes, edges = _graph(plan)
    head, step, file, edge, end, escapes = _LANGUAGES[language]
    lines = [head]
    for name, (text, is_file) in nodes.items():
        lines.append((file if is_file else step).format(name, text.translate(escapes)))
    return "\n".join([*lines, *(edge.format(*each) for each in edges)]) + "\n" + end


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
