"""Options that subcommands of bitext-evaluate share, and the settings made of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import click

from bitextfilter.commands.frame.options import column, fraction, row_options


def file_options(drops: bool = False) -> list[click.Parameter]:
    """Return --json and the options of rows but -i: files are arguments."""
    rows = [option for option in row_options(drops) if option.name != "input"]
    return [*json_option(), *rows]


def json_option() -> list[click.Parameter]:
    """Return --json."""
    text = "Write one JSON object instead of a table."
    return [click.Option(["--json", "as_json"], is_flag=True, help=text)]


def rated_file_options() -> list[click.Parameter]:
    """Return ``file_options`` for files of a rating or label and then two sentences."""
    options = file_options()
    for option in options:
        option.default = {"scol": 2, "tcol": 3}.get(option.name or "", option.default)
    return options


def bootstrap_options(noise: bool = False) -> list[click.Parameter]:
    """Return --bootstrap and --seed, which is of *noise* too."""
    return [
        click.Option(
            ["--bootstrap", "resamples"],
            type=click.IntRange(min=1),
            default=1000,
            show_default=True,
            metavar="N",
            help="Resamples of the intervals.",
        ),
        click.Option(
            ["--seed"],
            type=click.IntRange(min=0),
            default=1,
            show_default=True,
            help=f"Seed of the resamples{', and of noise' * noise}.",
        ),
    ]


@dataclass(frozen=True)
class Labelling:
    """The columns of label, score and verdict, and the meaning of their values."""

    labels: int | str | None
    column: int | str
    verdict: int | str | None
    clean_label: str
    missing: str
    """``lowest`` or ``skip``: the place of rows without a score."""


def score_options() -> list[click.Parameter]:
    """Return --column and --missing."""
    return [
        click.Option(
            ["--column"],
            type=column,
            default=-1,
            show_default=True,
            metavar="COLUMN",
            help="Column of the score.",
        ),
        click.Option(
            ["--missing"],
            type=click.Choice(["lowest", "skip"]),
            default="lowest",
            show_default=True,
            help="Count rows without a score as the lowest, or leave them out.",
        ),
    ]


def labelling_options() -> list[click.Parameter]:
    """Return the options of ``Labelling``."""
    return [
        click.Option(
            ["--labels"],
            type=column,
            metavar="COLUMN",
            help="Column of the labels: a number, -1 the last, or a name of the header.",
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
        *score_options(),
    ]


@dataclass(frozen=True)
class Suggestion:
    """Options of a suggested threshold."""

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


def _part(value: str) -> float:
    """Parse a part over 0, up to 1."""
    number = float(fraction(value))
    if number == 0:
        raise click.BadParameter("must be more than 0")
    return number


def _share(value: str) -> float:
    """Parse a part over 0 and under 1."""
    number = _part(value)
    if number == 1:
        raise click.BadParameter("must be less than 1")
    return number


def suggestion_options() -> list[click.Parameter]:
    """Return the options of ``Suggestion``, which go with --suggest-threshold."""
    return [
        click.Option(
            ["--noise-share"],
            type=_share,
            metavar="S",
            help="Part of the rows to be cut that is noise"
            "  [default: 0.3; with --labels, as in FILE]",
        ),
        click.Option(
            ["--precision"],
            type=_part,
            metavar="P",
            help="Suggest the lowest cut of this precision, not the one of the highest F1.",
        ),
        click.Option(
            ["--recall"], type=_part, metavar="R", help="Suggest the highest cut of this recall."
        ),
        click.Option(
            ["--count-side"],
            type=click.Choice(["source", "target", "both"]),
            help="The side whose words are counted  [default: target]",
        ),
        click.Option(
            ["--similarity"],
            metavar="NAME",
            help="The measure of --model  [default: its default measure]",
        ),
    ]


Languages = tuple[str, ...]
"""One language for all texts, or one for each of two kinds of text."""


def _languages(value: str) -> Languages:
    """Parse ``en``, or ``de,en``."""
    names = tuple(value.split(","))
    if len(names) > 2 or not all(re.fullmatch("[A-Za-z0-9-]+", name) for name in names):
        raise click.BadParameter("expected a language of the model such as en, or two: de,en")
    return names


def language_option(first: str, second: str) -> list[click.Parameter]:
    """Return --language for two kinds of text, named as in its help."""
    return [
        click.Option(
            ["--language"],
            type=_languages,
            metavar="LANG[,LANG]",
            help=f"Language of all text, or of the {first} and of the {second}"
            "  [default: both of the model]",
        )
    ]


def signed(chosen: Languages | None) -> dict[str, str]:
    """Return the languages as a fact of a signature; none where none are chosen."""
    return {"language": ",".join(chosen)} if chosen else {}


def check_measure(name: str | None) -> None:
    """Raise UsageError for an unknown measure."""
    from bitextfilter.scoring.measures import MEASURES

    if name is not None and name not in MEASURES:
        raise click.UsageError(f"similarity {name!r} is none of {', '.join(MEASURES)}")
