"""Options that subcommands of bitext-evaluate share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.options import column, fraction, row_options
from bitextfilter.errors import SettingsError

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model


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


def _part(value: str) -> float:
    """Read a part over 0, up to 1."""
    number = float(fraction(value))
    if number == 0:
        raise click.BadParameter("must be more than 0")
    return number


def share(value: str) -> float:
    """Read a part over 0 and under 1."""
    number = _part(value)
    if number == 1:
        raise click.BadParameter("must be less than 1")
    return number


def check_measure(name: str | None) -> None:
    """Raise UsageError if there is no measure of that *name*."""
    from bitextfilter.scoring.measures import MEASURES

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
            type=_part,
            metavar="P",
            help="Suggest the lowest cut of this precision, not the one of the highest F1.",
        ),
        click.Option(
            ["--recall"],
            type=_part,
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


Languages = tuple[str, ...]
"""One language for all texts, or one for each of two kinds of text."""


def _languages(value: str) -> Languages:
    """Read ``en``, or ``de,en``."""
    names = tuple(value.split(","))
    if len(names) > 2 or not all(re.fullmatch("[A-Za-z0-9-]+", name) for name in names):
        raise click.BadParameter("expected a language of the model such as en, or two: de,en")
    return names


def language_option(first: str, second: str) -> list[click.Parameter]:
    """Return --language for two kinds of text, by what help calls them."""
    return [
        click.Option(
            ["--language"],
            type=_languages,
            metavar="LANG[,LANG]",
            help=f"Language of all text, or of the {first} and of the {second}"
            "  [default: both of the model]",
        )
    ]


def languages_of(model: Model, chosen: Languages | None) -> tuple[str, str]:
    """Return the languages of both kinds of text: those chosen, or the model's.

    Raises SettingsError for one that the model does not know.
    """
    first, *_, second = 2 * (chosen or model.languages)
    for language in (first, second):
        if language not in model.languages:
            known = " and ".join(dict.fromkeys(model.languages))
            raise SettingsError(f"the model knows {known}, not {language!r} (--language)")
    return first, second


def signed(chosen: Languages | None) -> dict[str, str]:
    """Return what a signature says of the languages: nothing where none are chosen."""
    return {"language": ",".join(chosen)} if chosen else {}


def foreign(model: Model, language: str, sentences: Sequence[str]) -> bool:
    """Say whether *sentences* do not look like a language of the model; no if it cannot be told."""
    from bitextfilter.text.language import check_columns

    first = language == model.languages[0]
    columns: tuple[Sequence[str], Sequence[str]] = (sentences, []) if first else ([], sentences)
    return check_columns(*columns, model.processor) is not None
