"""Cuts by name: ``recommended`` is the threshold that a model folder holds for a measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import click

from bitextfilter.commands.frame.options import as_score, option
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import SettingsError
from bitextfilter.scoring.measures import THRESHOLD_MEASURES, default_measure

NO_CUT: Literal["none"] = "none"
RECOMMENDED: Literal["recommended"] = "recommended"

MinScore = float | Literal["recommended"]


def as_min_score(value: str) -> MinScore:
    """Read a score, or ``recommended``."""
    if value == RECOMMENDED:
        return RECOMMENDED
    try:
        return as_score(value)
    except click.BadParameter as error:
        raise click.BadParameter(f"{error.message}, nor is it {RECOMMENDED}") from error


def as_optional_min_score(value: str) -> MinScore | Literal["none"]:
    """Read a score, ``recommended``, or ``none``."""
    return NO_CUT if value == NO_CUT else as_min_score(value)


@dataclass(frozen=True)
class CutMeasure:
    """The measure of scores, for the recommended cut."""

    similarity: str | None = option(
        "--similarity",
        "Measure of the score, for the recommended cut  [default: by header, or bitext-score's]",
        THRESHOLD_MEASURES,
    )


def recommended_cut(run: Run, model: str, measure: str, use: str | None = None) -> float:
    """Return the cut that a model recommends for a measure; stderr and manifest get it too.

    Args:
        run: the run of the command.
        model: name of a shipped model, or a folder.
        measure: measure of the scores, such as ``mlp``.
        use: ``filtering`` or ``mining``; None for mining with ``joint``, else filtering.

    Raises:
        SettingsError: the model recommends none.
    """
    from bitextfilter.models.folders import find_model, model_digest
    from bitextfilter.scoring.thresholds import recommended_threshold

    folder = find_model(model)
    found = recommended_threshold(folder, model_digest(folder), measure, use)
    name = folder.name
    origin = f"for {found.use}, by {found.goal}, model {name} {found.model}"
    cut = f"{measure}>={found.threshold!r} ({origin})"
    run.facts[f"recommended {measure}"] = cut
    run.note(f"the recommended cut is {cut}")
    return found.threshold


def measure_of(model: str, similarity: str | None, column: str | None) -> str:
    """Return the measure of a column of scores.

    It is *similarity* where it is given, else the name of the *column* where it has one, else the
    measure that is the default of ``bitext-score`` with this model. Raises SettingsError for a
    name that is no measure.
    """
    from bitextfilter.models.folders import find_model, read_config

    if similarity is not None:
        return similarity
    if column is None:
        return default_measure("classifier" in read_config(find_model(model)))
    if column not in THRESHOLD_MEASURES:
        raise SettingsError(
            f"the measure of the column {column!r} is unknown: name it with --similarity,"
            f" one of {', '.join(THRESHOLD_MEASURES)}"
        )
    return column
