"""What bitext-convert is asked for, and whether that makes sense."""

from __future__ import annotations

from dataclasses import dataclass

import click
from click.core import ParameterSource

from bitextfilter.commands.options import language_pair, needs_own_file
from bitextfilter.commands.run import Run

__all__ = ["FORMATS", "Choices", "check", "languages", "names", "split", "two"]

FORMATS = ("tsv", "moses", "tmx", "jsonl")


def two(value: str) -> tuple[str, str]:
    """Read two names."""
    names = tuple(value.split(","))
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise click.BadParameter("expected two names, as in source,target")
    return names


def languages(value: str) -> tuple[str, str]:
    """Read two different languages."""
    return two(",".join(language_pair(value)))


def names(value: str) -> tuple[str, ...]:
    """Read names, perhaps none."""
    return tuple(value.split(",")) if value else ()


@dataclass(frozen=True)
class Choices:
    """What to convert, and how."""

    source: str
    target: str
    languages: tuple[str, str] | None
    fields: tuple[str, str] | None
    keep: tuple[str, ...]
    whitespace: bool


_USED: dict[str, tuple[set[str], set[str]]] = {
    "scol": ({"tsv"}, set()),
    "tcol": ({"tsv"}, set()),
    "header": ({"tsv"}, {"tsv"}),
    "input": ({"tsv", "tmx", "jsonl"}, set()),
    "output": (set(), {"tsv", "tmx", "jsonl"}),
    "languages": ({"tmx"}, {"tmx"}),
    "fields": ({"jsonl"}, {"jsonl"}),
    "keep": ({"tmx", "jsonl"}, set()),
    "whitespace": (set(), {"tsv", "moses"}),
}
"""The formats that an option has a meaning for: read, or written."""


def check(choices: Choices) -> None:
    """Raise UsageError for options that mean nothing, or are missing."""
    context = click.get_current_context()
    if choices.source == choices.target:
        raise click.UsageError(f"--from {choices.source} --to {choices.target} changes nothing")
    for name, (read, written) in _USED.items():
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and choices.source not in read and choices.target not in written:
            places = [f"--from {f}" for f in sorted(read)] + [f"--to {f}" for f in sorted(written)]
            raise click.UsageError(f"--{name} is for {', '.join(places)}")
    if choices.keep and choices.target == "moses":
        raise click.UsageError("--keep makes columns, and moses files have none")
    if "tmx" in (choices.source, choices.target) and choices.languages is None:
        raise click.UsageError("tmx needs --languages SOURCE,TARGET")


def split(run: Run, choices: Choices, files: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the FILEs to read (-i if there are none) and those to write."""
    count = 2 * (choices.source == "moses"), 2 * (choices.target == "moses")
    place = len(files) - count[1]
    read, write = list(files[:place]), list(files[place:])
    if place != count[0] and not (place == 1 and not count[0]):
        number = sum(count) if count[0] else f"{count[1]} or {count[1] + 1}"
        raise click.UsageError(f"expected {number} FILEs, those to read before those to write")
    settings = run.row_settings
    if read and settings.input != "-":
        raise click.UsageError("one input can be read: --input or FILE")
    if "-" in write or read == ["-", "-"]:
        raise click.UsageError("moses takes two files: - is but one stream")
    needs_own_file("the second FILE to write", write[-1] if write else None, write[:1])
    for option, path in (("--rejects", settings.rejects), ("--manifest", run.common.manifest)):
        needs_own_file(option, path, files)
    return read or [settings.input], write
