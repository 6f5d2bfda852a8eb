"""``bitext-run``: a whole pipeline from one file."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.exits import tell
from bitextfilter.commands.frame.options import COUNT, argument, flag, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.settings import nearest

if TYPE_CHECKING:
    from bitextfilter.recipes.recipe import Plan, Spelling, Value
    from bitextfilter.recipes.run import Call

_OWN_STATE = {"cache", "resume", "work"}
"""Options that name a folder which is both read and written, and changes no result."""
_WRITTEN = {"index-save", "models", "output", "separate"}
"""Options that name what is written; the help of the others begins with Write."""


@dataclass(frozen=True)
class _Settings:
    """The recipe, and what to do with it."""

    recipe: str = argument("RECIPE")
    data: tuple[str, ...] = option(
        "--data NAME", "Do this data set alone; repeatable.  [default: all]", multiple=True
    )
    variables: tuple[str, ...] = option(
        "--set NAME=TEXT", "Set a variable of the recipe; repeatable.", multiple=True
    )
    jobs: int = option("--jobs N", "Pipes that run side by side.", COUNT, 1)
    dry_run: bool = flag("--dry-run", "Write the plan, as a script of the shell, and run nothing.")
    graph: str | None = option(
        "--graph", "Write the graph of steps and files, and run nothing.", ["mermaid", "dot"]
    )


@command("bitext-run", _Settings, row_options("output"), uses="")
def main(run: Run, settings: _Settings) -> None:
    """Run the pipeline of a recipe: commands and lines of the shell, joined by pipes and files.

    The recipe is TOML: [[step]] tables in their order, whose keys are the options of a command.
    [defaults], [pair.NAME] and [data.NAME] override them; each data set goes through all steps. A
    step without input reads what the step before it writes to stdout.

    A pipe of steps is up to date, and is left alone, if its command lines, the version and the
    content of all files that it reads and writes are as in the record beside its output. All files
    are as by the same pipe in the shell. A step that fails ends all, with its exit code, and leaves
    the outputs of its pipe as they were.

    Writes a table: the rows into and out of each step. The manifest has the manifests of all steps.
    --dry-run shows which pipes would run, and why. Memory is that of the steps.

    Example:

        bitext-run recipe.toml
        bitext-run recipe.toml --dry-run
        bitext-run recipe.toml --data crawl --set out=cleaned --jobs 2 --manifest run.json
        bitext-run recipe.toml --graph mermaid -o recipe.mmd
    """
    from bitextfilter.recipes.recipe import make_plan, read_recipe
    from bitextfilter.recipes.run import graph, script, states

    recipe = read_recipe(settings.recipe, dict(map(_assignment, settings.variables)))
    plan = make_plan(recipe, spell, settings.data)
    if settings.dry_run or settings.graph:
        shown = graph(plan, settings.graph) if settings.graph else script(plan, states(plan))
        run.output().write(shown.encode("utf-8", "surrogateescape"))
    else:
        _run(run, plan, settings.jobs)


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.UsageError(f"--set {text}: expected NAME=TEXT")
    return name, value


def _run(run: Run, plan: Plan, jobs: int) -> None:
    """Run a plan; write the table, and put all records into the manifest."""
    from bitextfilter.io.pipes import ProgramError, Programs
    from bitextfilter.recipes.run import Runner, table

    output = run.output()
    runner = Runner(plan, _caller(run.common.quiet), tell, Programs())
    run.counts.update({"pipes": 0, "up to date": 0})
    places = {id(pipe): place for place, pipe in enumerate(plan.pipes)}
    outcomes = []
    try:
        for outcome in runner.outcomes(jobs):
            run.counts["pipes"] += 1
            run.counts["up to date"] += not outcome.reason
            run.note(f"{outcome.pipe.title}: {'done' if outcome.reason else 'up to date'}")
            outcomes.append(outcome)
    except ProgramError as error:
        tell(f"{run.name}: {plan.file}: {error}")
        raise click.exceptions.Exit(error.code) from error
    outcomes.sort(key=lambda outcome: places[id(outcome.pipe)])
    run.facts["pipes"] = [{"data": one.pipe.data, "steps": [*one.steps]} for one in outcomes]
    output.write(table([row for one in outcomes for row in one.rows()]).encode())


def _caller(quiet: bool) -> Call:
    """Return the function that gives the words which start a command."""
    root = str(Path(__file__).parents[2])
    call = "from bitextfilter.commands.main import main; main()"
    start = [sys.executable, "-c", f"import sys; sys.path[0] = {root!r}; {call}"]

    def words(line: Sequence[str]) -> list[str]:
        return [*start, line[0].removeprefix("bitext-"), *line[1:], *["--quiet"] * quiet]

    return words


def spell(words: Sequence[str], options: Mapping[str, Value], arguments: Sequence[str]) -> Spelling:
    """Return the command line of a step, checked by the command itself.

    Raises WrongOptionError.
    """
    from bitextfilter.recipes.recipe import Spelling, WrongOptionError

    found = _command(words)
    known = _options(found)
    line = Spelling([], [], [], [], ("input" not in known, "output" not in known))
    for name, value in options.items():
        if name in known:
            line.words.extend(_words(name, value, known[name]))
            _note_files(line, name, value, known[name])
        elif name not in ("input", "output"):
            raise WrongOptionError(f"{words[0]} has no option {name}{nearest(name, known)}", name)
    line.may_read.extend(part for word in arguments for part in _paths(word))
    line.words.extend(["--"] * any(a[:1] == "-" != a for a in arguments) + [*map(str, arguments)])
    try:
        found.make_context(words[0], [*line.words])
    except click.UsageError as error:
        name = getattr(getattr(error, "param", None), "opts", [""])[0].lstrip("-")
        raise WrongOptionError(error.format_message().rstrip("."), name) from error
    return line


def _command(words: Sequence[str]) -> click.Command:
    """Return the command of a name, and perhaps of a subcommand. Raises WrongOptionError."""
    from bitextfilter.commands.main import COMMANDS, command_of
    from bitextfilter.recipes.recipe import WrongOptionError

    name = words[0]
    if name not in COMMANDS or name in ("bitext", "bitext-run"):
        raise WrongOptionError(f"no command is called {name}{nearest(name, COMMANDS)}", "command")
    found: click.Command | None = command_of(name)
    if isinstance(found, click.Group):
        group, context = found, click.Context(found)
        inner = group.list_commands(context)
        if len(words) < 2 or words[1] not in inner:
            raise WrongOptionError(f"{name} is followed by one of {', '.join(inner)}", "command")
        found, words = group.get_command(context, words[1]), words[1:]
    if len(words) > 1:
        raise WrongOptionError(f"options of {name} are keys of their own, not words", "command")
    assert found is not None, name
    return found


def _options(found: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by their long names, without the hyphens."""
    return {
        name.removeprefix("--"): one
        for one in found.params
        if isinstance(one, click.Option) and not one.is_eager
        for name in one.opts
        if name.startswith("--")
    }


def _words(name: str, value: Value, known: click.Option) -> list[str]:
    """Return an option and its value as words. Raises WrongOptionError."""
    from bitextfilter.recipes.recipe import WrongOptionError

    values = value if isinstance(value, list) else [value]
    if known.is_flag:
        if value is not True:
            raise WrongOptionError(f"{name} is true or false, not {value!r}", name)
        return [f"--{name}"]
    if any(isinstance(one, bool) for one in values):
        raise WrongOptionError(f"{name} has a value: it cannot be {value!r}", name)
    if known.nargs > 1:
        return [f"--{name}", *map(str, values)]
    if len(values) != 1 and not known.multiple:
        raise WrongOptionError(f"{name} has one value, not {len(values)}", name)
    return [word for one in values for word in (f"--{name}", str(one))]


def _note_files(line: Spelling, name: str, value: Value, known: click.Option) -> None:
    """Add the files in the value of an option to those that the step reads or writes."""
    kind = known.metavar or ""
    if name in _OWN_STATE or known.is_flag:
        return
    files = [str(one) for one in (value if isinstance(value, list) else [value])]
    if not (re.search("FILE|DIR", kind) or name in _WRITTEN):
        parts = {part for text in files for part in re.split("[,=:@]", text)}
        line.may_read.extend(part for part in parts if part and not Path(part).is_dir())
    elif name in _WRITTEN or (known.help or "").startswith("Write"):
        line.writes.extend(files)
    elif kind == "FILE":
        line.reads.extend(files)
        if name == "rules":
            from bitextfilter.filters.rules_file import included_files

            line.may_read.extend(str(path) for file in files for path in included_files(file))
    else:
        line.may_read.extend(part for file in files for part in _paths(file))


def _paths(word: str) -> set[str]:
    """Return the parts of a word that may be paths: of FILE,FILE or NAME=FILE or FILE@WEIGHT."""
    parts = {word, *word.split(","), word.partition("=")[2]}
    return {part for whole in parts for part in (whole, whole.rpartition("@")[0])} - {"", "-"}
