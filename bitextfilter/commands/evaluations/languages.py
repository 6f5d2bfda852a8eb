"""``--language``: in which languages of the model texts are encoded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bitextfilter.errors import SettingsError

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model

__all__ = ["Languages", "foreign", "language_option", "languages_of", "signed"]

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
