"""The rules of a run of ``bitext-filter``: of its options and of its file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.cuts import default_model, measure_of, recommended_cut
from bitextfilter.commands.frame import Run
from bitextfilter.errors import SettingsError

if TYPE_CHECKING:
    from bitextfilter.filters.rule import Rule
    from bitextfilter.filters.sets import Choice

__all__ = ["Choices", "chosen"]

Languages = tuple[str, str] | None


@dataclass(frozen=True)
class Choices:
    """Which rules, and for which languages."""

    specs: tuple[str, ...]
    file: str | None
    without: tuple[str, ...]
    languages: Languages
    folder: str | None
    similarity: str | None


def chosen(run: Run, choices: Choices) -> tuple[list[Rule], Languages]:
    """Return the rules that can run, and the languages if they are known."""
    from bitextfilter.filters.sets import usable, without

    rules, languages = _named(run, choices)
    if choices.similarity and not any(fact.startswith("recommended") for fact in run.facts):
        raise click.UsageError("--similarity is for a recommended cut, and no rule has one")
    if languages is None and choices.folder is not None:
        languages = _languages_of(choices.folder)
    try:
        wanted = without(rules, choices.without)
    except SettingsError as error:
        raise click.UsageError(f"--without: {error}") from error
    try:
        able, passed_over = usable(wanted, languages)
    except SettingsError as error:
        if choices.file is None:
            raise click.UsageError(f"--rule: {error}") from error
        raise
    for reason in dict.fromkeys(passed_over.values()):
        run.note(f"passed over: {reason}")
    run.facts["languages"] = ",".join(languages) if languages else None
    run.facts["passed over"] = dict(passed_over)
    return able, languages


def _named(run: Run, choices: Choices) -> tuple[tuple[Choice, ...], Languages]:
    """Return the rules of --rule and --rules, and the languages given with them."""
    from bitextfilter.filters.sets import parse_rules, read_rules

    recommend = partial(_recommended, run, choices)
    specs = choices.specs or (("default",) if choices.file is None else ())
    try:
        rules = parse_rules(specs, recommend)
    except SettingsError as error:
        raise click.UsageError(f"--rule: {error}") from error
    if choices.file is None:
        return rules, choices.languages
    read = read_rules(choices.file, recommend)
    return (*rules, *read.choices), choices.languages or read.languages


def _recommended(run: Run, choices: Choices, column: str) -> float:
    """Return where the scores in a column are to be cut, by its name or --similarity."""
    model = choices.folder or default_model()
    plain = column == "score" or column.lstrip("-").isdigit()
    if plain and run.row_settings.header and choices.similarity is None:
        raise SettingsError(
            f"column {column}: name it as the header does, or say with --similarity what it is of"
        )
    measure = measure_of(model, choices.similarity, None if plain else column)
    return recommended_cut(run, model, measure)


def _languages_of(model: str) -> tuple[str, str]:
    from bitextfilter.models.checkpoint import read_config
    from bitextfilter.models.folders import find

    source, target = read_config(find(model))["languages"]
    return source, target
