"""Which options of bitext-align go together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from bitextfilter.commands.cuts import RECOMMENDED

__all__ = ["files_of"]

_LARGE = ("--resume", "--dtype", "--index", "--recall", "--index-save", "--index-load", "--stream")
_ENGINES = ("--engine", "--ray-address", "--workers")
_MINING = (
    *("--similarity", "--retrieval", "--neighbours-count", "--keep-duplicates"),
    *_LARGE,
    *_ENGINES,
)
_NOT_STREAMED = ("--retrieval", "--keep-duplicates", "--index", "--recall", "--dtype", "--resume")
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
    elif options["index_load"] is not None:
        if len(files) != 1:
            raise click.UsageError("--index-load takes the place of TARGET: SOURCE alone is given")
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
        yield from _index_problems(given, options)
        return
    by = options["by"]
    if options["min_score"] == RECOMMENDED:
        yield "--min-score recommended does not go with --monotonic: no cut of links is known"
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


def _index_problems(given: set[str], options: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the options of indexes."""
    if "--recall" in given and options["index"] == "exact":
        yield "--recall is for indexes: --index exact finds all"
    if options["index_save"] is not None:
        context = click.get_current_context()
        yield from _save_problems(Path(options["index_save"]), context.params.get("resume"))
    if options["stream"]:
        if options["index_load"] is None:
            yield "--stream needs --index-load"
        others = [name for name in (*_NOT_STREAMED, "--index-save", *_ENGINES) if name in given]
        yield from (f"{name} does not go with --stream" for name in others)


def _save_problems(folder: Path, work: str | None) -> Iterator[str]:
    """What is wrong with a folder that an index is to be saved in, beside that of --resume."""
    if work is not None and os.path.realpath(work) == os.path.realpath(folder):
        yield f"--index-save {folder}: is the folder of --resume"
    if not folder.absolute().parent.is_dir():
        yield f"--index-save {folder}: there is no folder {folder.absolute().parent}"
    if os.path.lexists(folder) and not (work is not None and (folder / "index.json").exists()):
        yield f"--index-save {folder}: is there already"
