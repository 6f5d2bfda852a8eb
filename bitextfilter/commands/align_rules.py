"""Which options of bitext-align go together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

__all__ = ["files_of"]

_MINING = ("--similarity", "--retrieval", "--neighbours-count", "--keep-duplicates")
_MONOTONIC = (
    *("--documents", "--by", "--classifier", "--largest", "--skip"),
    *("--links", "--split", "--keep-going"),
)
_MODEL = ("--model", "--classifier", "--no-column-check")
_COSTS = ("--largest", "--skip")


def files_of(source: str | None, target: str | None, options: dict[str, Any]) -> list[str]:
    """Return SOURCE and TARGET, none with --documents; UsageError for what goes not together."""
    for problem in _problems(_given(), options):
        raise click.UsageError(problem)
    files = [file for file in (source, target) if file is not None]
    if options["documents"] is not None:
        if files:
            raise click.UsageError("--documents takes the place of SOURCE and TARGET")
    elif len(files) < 2:
        instead = ", or --documents LIST," * options["monotonic"]
        raise click.UsageError(f"SOURCE and TARGET{instead} must be given")
    if files == ["-", "-"]:
        raise click.UsageError("only one of SOURCE and TARGET can be stdin")
    return files


def _given() -> set[str]:
    """The options on the command line, by their long names."""
    context = click.get_current_context()
    return {
        parameter.opts[-1]
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name or "") == ParameterSource.COMMANDLINE
    }


def _problems(given: set[str], options: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the options that are given."""
    if not options["monotonic"]:
        yield from (f"{name} needs --monotonic" for name in _MONOTONIC if name in given)
        return
    by = options["by"]
    yield from (f"{name} does not go with --monotonic" for name in _MINING if name in given)
    for names, ways in ((_MODEL, ("words", "length")), (_COSTS, ("length",))):
        yield from (
            f"{name} is not for --by {by}" for name in names if name in given and by in ways
        )
    if "--keep-going" in given and options["documents"] is None:
        yield "--keep-going needs --documents"
    for name in ("--split", "--score-first"):
        if options["links"] and name in given:
            yield f"--links has numbers of lines: it does not go with {name}"
