"""Options of bitext-evaluate's subcommands by what they are for, and what they say."""

from __future__ import annotations

from dataclasses import dataclass

import click

from bitextfilter.commands.amounts import fraction
from bitextfilter.commands.frame import column, row_options

__all__ = [
    "Labelling",
    "Suggesting",
    "bootstrap_options",
    "check_measure",
    "judged_row_options",
    "labelling_options",
    "suggestion_options",
]


@dataclass(frozen=True)
class Labelling:
    """Where rows say what they are and how they score."""

    labels: int | str | None
    column: int | str
    verdict: int | str | None
    clean_label: str
    missing: str


@dataclass(frozen=True)
class Suggesting:
    """By what a threshold is suggested."""

    noise_share: float | None
    precision: float | None
    recall: float | None
    count_side: str | None
    similarity: str | None

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides whose words are counted."""
        side = self.count_side or "target"
        return ("source", "target") if side == "both" else (side,)


def part(value: str) -> float:
    """Read a part over 0, up to 1."""
    number = float(fraction(value))
    if number == 0:
        raise click.BadParameter("must be more than 0")
    return number


def share(value: str) -> float:
    """Read a part over 0 and under 1."""
    number = part(value)
    if number == 1:
        raise click.BadParameter("must be less than 1")
    return number


def check_measure(name: str | None) -> None:
    """Raise UsageError if there is no measure of that *name*."""
    from bitextfilter.scoring.scorers import MEASURES

    if name is not None and name not in MEASURES:
        raise click.UsageError(f"similarity {name!r} is none of {', '.join(MEASURES)}")


def labelling_options() -> list[click.Parameter]:
    """Return --labels, --column, --verdict, --clean-label and --missing."""
    return [
        click.Option(
            ["--labels"],
            type=column,
            metavar="COLUMN",
            help="Column of the labels: a number, -1 the last, or a name of the header.",
        ),
        click.Option(
            ["--column"],
            type=column,
            default=-1,
            show_default=True,
            metavar="COLUMN",
            help="Column of the score.",
        ),
        click.Option(
            ["--verdict"],
            type=column,
            metavar="COLUMN",
            help="Column of a verdict: rows whose verdict is not keep count as the lowest.",
        ),
        click.Option(
            ["--clean-label"],
            default="clean",
            show_default=True,
            metavar="LABEL",
            help="The label of clean rows; every other is a kind of noise.",
        ),
        click.Option(
            ["--missing"],
            type=click.Choice(["lowest", "skip"]),
            default="lowest",
            show_default=True,
            help="Count rows without a score as the lowest, or leave them out.",
        ),
    ]


def bootstrap_options(noise: bool = False) -> list[click.Parameter]:
    """Return --bootstrap and --seed, which is of *noise* too."""
    return [
        click.Option(
            ["--bootstrap", "resamples"],
            type=click.IntRange(min=1),
            default=1000,
            show_default=True,
            metavar="N",
            help="Resamples that the intervals are made of.",
        ),
        click.Option(
            ["--seed"],
            type=click.IntRange(min=0),
            default=1,
            show_default=True,
            help=f"Seed of the resamples{', and of noise' * noise}.",
        ),
    ]


def judged_row_options() -> list[click.Parameter]:
    """Return the options of rows but -i, for files of a judgement and then two sentences."""
    options = [option for option in row_options() if option.name != "input"]
    for option in options:
        option.default = {"scol": 2, "tcol": 3}.get(option.name or "", option.default)
    return options


def suggestion_options() -> list[click.Parameter]:
    """Return the options that go with --suggest-threshold."""
    return [
        click.Option(
            ["--noise-share"],
            type=share,
            metavar="S",
            help="Part of the rows to be cut that is noise"
            "  [default: 0.3; with --labels, as in FILE]",
        ),
        click.Option(
            ["--precision"],
            type=part,
            metavar="P",
            help="Suggest the lowest cut of this precision, not the one of the highest F1.",
        ),
        click.Option(
            ["--recall"],
            type=part,
            metavar="R",
            help="Suggest the highest cut of this recall.",
        ),
        click.Option(
            ["--count-side"],
            type=click.Choice(["source", "target", "both"]),
            help="The side whose words are counted  [default: target]",
        ),
        click.Option(
            ["--similarity"],
            metavar="NAME",
            help="What --model scores by  [default: its default measure]",
        ),
    ]
