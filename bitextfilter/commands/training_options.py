"""The options of commands that train on pairs, and what they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from bitextfilter.commands.options import language_pair

if TYPE_CHECKING:
    from bitextfilter.io.rows import Columns
    from bitextfilter.training.sources import PairFile

__all__ = ["pair_files", "said", "settings_options", "settings_values", "training_options"]

Rows = list[tuple[str, str, str, str]]
"""Name, default, range and meaning of each setting."""

_FOLDER = click.Path(exists=False, file_okay=False, path_type=Path)


def training_options(rows: Callable[[], Rows]) -> list[click.Parameter]:
    """Return -o, the files of pairs, the settings, --quantise and --resume.

    ``rows``: what --list-settings lists.
    """
    return [
        *_file_options(),
        *settings_options(rows),
        click.Option(
            ["--quantise"], is_flag=True, help="Keep matrices as int8: a quarter of the size."
        ),
        click.Option(
            ["--resume"],
            is_flag=True,
            help="Go on with the interrupted training of this model.",
        ),
    ]


def _show(
    rows: Callable[[], Rows], context: click.Context, _: click.Parameter, asked: bool
) -> None:
    """Write the table of settings, and exit."""
    if asked:
        from bitextfilter.settings import table

        click.echo(table(rows()), nl=False)
        context.exit()


def settings_options(rows: Callable[[], Rows], seed: str = "training.seed") -> list[click.Option]:
    """Return --settings, --set, --list-settings and --seed, which every training has.

    Args:
        rows: what --list-settings lists.
        seed: the setting that --seed is short for; none if it is empty.
    """

    options = [
        click.Option(
            ["--settings"],
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Settings (JSON), such as those that a model keeps.",
        ),
        click.Option(
            ["--set", "overrides"],
            multiple=True,
            metavar="NAME=VALUE",
            help="One setting; may be repeated, and goes before --settings.",
        ),
        click.Option(
            ["--list-settings"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=partial(_show, rows),
            help="List the settings with defaults, ranges and meanings, and exit.",
        ),
    ]
    if seed:
        about = f"Short for --set {seed}=N.  [default: 1]"
        number = click.IntRange(min=0)
        options.append(click.Option(["--seed"], type=number, metavar="N", help=about))
    return options


def _file_options() -> list[click.Parameter]:
    return [
        click.Option(["-o", "--output"], required=True, metavar="DIR", help="The new model."),
        click.Option(
            ["--languages"],
            required=True,
            type=language_pair,
            metavar="SOURCE,TARGET",
            help="Such as en,de; one twice (en,en) for paraphrases.",
        ),
        click.Option(
            ["--pairs"],
            multiple=True,
            metavar="FILE[@WEIGHT]",
            help="Training pairs, a TSV; may be repeated. Weight 2 reads a file twice a pass.",
        ),
        click.Option(
            ["--parallel"],
            multiple=True,
            nargs=2,
            metavar="SOURCE TARGET[@WEIGHT]",
            help="Training pairs in two files of as many lines; may be repeated.",
        ),
        click.Option(
            ["--development"], required=True, metavar="FILE", help="Pairs to validate on, a TSV."
        ),
        click.Option(
            ["--segmenter"],
            type=_FOLDER,
            metavar="DIR",
            help="Use a segmenter of bitext-segment learn instead of learning one.",
        ),
    ]


def settings_values(options: dict[str, Any], seed: str = "training.seed") -> dict[str, Any]:
    """The settings: those of --settings, changed by --architecture, --seed and every --set."""
    from bitextfilter.settings import read_settings, with_override

    values = read_settings(options["settings"]) if options["settings"] else {}
    values = values.get("settings", values)  # of a classifier, beside its figures
    values = {n: v for n, v in values.items() if n not in ("material", "validation")}
    if (architecture := options.get("architecture")) is not None:
        values = {**values, "architecture": architecture}
    if options.get("seed") is not None:
        values = with_override(values, f"{seed}={options['seed']}")
    for assignment in options["overrides"]:
        values = with_override(values, assignment)
    return values


def said(option: str) -> bool:
    """Whether the command line has an option."""
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def pair_files(
    tables: Sequence[str],
    parallel: Sequence[tuple[str, str]],
    columns: Columns,
    option: str = "--pairs",
) -> list[PairFile]:
    """The files of --pairs, or what ``option`` is, and --parallel; UsageError without any."""
    from bitextfilter.training.sources import PairFile

    for name in () if tables else ("scol", "tcol"):
        if said(name):
            raise click.UsageError(f"--{name} has no effect without {option} FILE")
    weighted = [_weighted(path, option) for path in tables]
    files = [PairFile(path, weight=weight, columns=columns) for path, weight in weighted]
    for source, text in parallel:
        target, weight = _weighted(text, "--parallel")
        files.append(PairFile(source, target, weight))
    if not files:
        raise click.UsageError("no training pairs: give --pairs FILE or --parallel SOURCE TARGET")
    return files


def _weighted(text: str, option: str) -> tuple[str, float]:
    """Split ``FILE@WEIGHT``; without a weight it is 1."""
    match = re.fullmatch(r"(.+)@([0-9]+(?:\.[0-9]+)?)", text)
    if match is None:
        return text, 1.0
    if float(match[2]) == 0:
        raise click.BadParameter(f"{text}: a weight must be above 0", param_hint=option)
    return match[1], float(match[2])
