"""The options of an encoder that is trained by way of a third language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.training_options import pair_files

if TYPE_CHECKING:
    from bitextfilter.io.rows import Columns
    from bitextfilter.workflows.plan import PivotMaterial

__all__ = ["no_pivot", "pivot_material", "pivot_options"]

NEEDED = ("pivot", "source_pivot", "target_pivot")
NOT_USED = ("pairs", "parallel", "source_text", "target_text")


def pivot_options() -> list[click.Parameter]:
    """Return --pivot and its files."""
    return [
        click.Option(
            ["--pivot"],
            metavar="LANGUAGE",
            help="The third language of --architecture pivot, such as fr.",
        ),
        *(
            click.Option(
                [f"--{side}-pivot"],
                multiple=True,
                metavar="FILE[@WEIGHT]",
                help=f"Instead of --pairs, a TSV of {side}s and the same in the third language;"
                " may be repeated.",
            )
            for side in ("source", "target")
        ),
    ]


def pivot_material(options: dict[str, Any], columns: Columns) -> PivotMaterial:
    """The files of --source-pivot and --target-pivot. Raises UsageError unless all is there."""
    from bitextfilter.workflows.plan import PivotMaterial

    for name in NEEDED:
        if not options[name]:
            raise click.UsageError(f"--architecture pivot needs {_written(name)}")
    for name in NOT_USED:
        if options[name]:
            raise click.UsageError(
                f"--architecture pivot reads no {_written(name)}: give --source-pivot and"
                " --target-pivot alone"
            )
    if options["pivot"] in options["languages"]:
        raise click.UsageError(
            f"--pivot is a third language, and {options['pivot']} is one of --languages"
        )
    source, target = (pair_files(options[name], (), columns, _written(name)) for name in NEEDED[1:])
    return PivotMaterial(options["pivot"], (source, target))


def no_pivot(options: dict[str, Any]) -> None:
    """Raise UsageError where an option is given that is for --architecture pivot alone."""
    for name in NEEDED:
        if options[name]:
            raise click.UsageError(f"{_written(name)} is for --architecture pivot alone")


def _written(name: str) -> str:
    return f"--{name.replace('_', '-')}"
