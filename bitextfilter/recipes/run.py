"""The run of a plan: pipes side by side, records of what is done, and counts of rows."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from bitextfilter.errors import BitextError, OutputError
from bitextfilter.io.files import locked_if_free, naming_output, open_input, open_output
from bitextfilter.io.pipes import Program, Programs
from bitextfilter.io.records import parse_json
from bitextfilter.recipes.plan import (
    Line,
    Pipe,
    Plan,
    changed,
    folders,
    key_of,
    known_steps,
    write_pipe_record,
)

Call = Callable[[Sequence[str]], list[str]]
"""Returns the words that start a command of ours, given its name and perhaps a subcommand."""
Say = Callable[[str], None]

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


@dataclass(frozen=True)
class Runner:
    """Runs pipes; ``call`` starts commands of ours, ``say`` takes messages."""

    plan: Plan
    call: Call
    say: Say
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
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
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
        with locked_if_free(pipe.record) as free:
            if not free:
                raise OutputError(f"{pipe.writes[-1]}: another run is writing it")
            key = key_of(pipe)
            reason = changed(pipe, key)
            if not reason:
                return Outcome(pipe, "", known_steps(pipe))
            steps = self._run(pipe)
            for path in pipe.writes:
                if not Path(path).exists():
                    raise OutputError(f"{self.plan.file}: {pipe.title} has not written {path}")
            write_pipe_record(pipe, key, steps)
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
