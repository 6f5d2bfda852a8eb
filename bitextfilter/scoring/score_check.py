"""A check that scores are those of a model: some rows are scored again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bitextfilter.scoring.measures import MEASURES
from bitextfilter.scoring.model import Model

CHECKED_SCORES = 20
"""Rows that are scored again."""
_TOLERANCE = 0.002
"""Difference of scores of one model, beside their rounding: other machines add up differently."""
_EDITED = 0.25
"""Part of the rows that may differ: their texts may have been mended since they were scored."""


class ScoredText(NamedTuple):
    """A row with its score, as it was written."""

    number: int
    """Of its line."""
    source: str
    target: str
    score: str
    """A number, with the decimals that it was rounded to."""


class OtherScore(NamedTuple):
    """A score that is not the model's."""

    row: ScoredText
    own: float
    """The score of the model."""


def can_be_checked(measure: str, model: Model | None = None) -> bool:
    """Whether a model, or any model, can score single pairs by a measure."""
    needs = MEASURES[measure].needs if measure in MEASURES else "collections"
    lacking = model is not None and model.background is None
    return needs != "collections" and not (needs == "neighbours" and lacking)


def by_neighbours(measure: str) -> bool:
    """Whether a score depends on neighbours, too: those that the model stores, or others."""
    return MEASURES[measure].needs == "neighbours"


def by_others(measure: str, model: str) -> str:
    """Return a warning about scores that depend on neighbours, and are not the model's own."""
    return f"the scores by {measure} are of other neighbours, or of another model than {model}"


def other_scores(model: Model, measure: str, rows: Sequence[ScoredText]) -> list[OtherScore]:
    """Return the rows whose scores are not those of a model; none unless they are many.

    ``CHECKED_SCORES`` of the rows, evenly spaced, are scored again by the measure. Raises
    SettingsError if the model has no part for it.
    """
    step = max(1, len(rows) // CHECKED_SCORES)
    some = rows[::step][:CHECKED_SCORES]
    sides = [row.source for row in some], [row.target for row in some]
    scores = model.score(*sides, measure)[measure].tolist()
    others = [
        OtherScore(row, own) for row, own in zip(some, scores, strict=True) if _differs(row, own)
    ]
    return others if len(others) > _EDITED * len(some) else []


def _differs(row: ScoredText, own: float) -> bool:
    score, (_, _, decimals) = float(row.score), row.score.partition(".")
    rounding = 0.5 * 10.0 ** -len(decimals) if not decimals or decimals.isdigit() else 0.0
    return not abs(score - own) <= rounding + _TOLERANCE * max(1.0, abs(own))
