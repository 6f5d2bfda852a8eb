"""Checks of first rows: the languages of two columns, and scores.

The languages are told, or compared with those that are expected. Scores are compared with those of
a model: some rows are scored again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from bitextfilter.errors import SettingsError
from bitextfilter.io.records import parse_json
from bitextfilter.io.rows import Row
from bitextfilter.languages import find_language
from bitextfilter.models.folders import CONFIG, ModelName, shipped_models
from bitextfilter.scoring.measures import MEASURES
from bitextfilter.scoring.model import Model
from bitextfilter.text.identifier import load_ngram_identifier
from bitextfilter.text.input_checks import kind_of_column, swapped_columns
from bitextfilter.text.language import check_columns, main_language, told_languages
from bitextfilter.text.processor import TextProcessor


class _Sides(Protocol):
    @property
    def source(self) -> str: ...

    @property
    def target(self) -> str: ...


def sides(rows: Sequence[_Sides]) -> tuple[list[str], list[str]]:
    """Return the sources and the targets of rows."""
    return [row.source for row in rows], [row.target for row in rows]


def languages_of_rows(model: str, rows: Sequence[Row]) -> tuple[str, str]:
    """Return the two languages of rows as :func:`languages_of_texts`."""
    return languages_of_texts(model, *sides(rows))


def languages_of_texts(
    model: str, sources: Sequence[str], targets: Sequence[str]
) -> tuple[str, str]:
    """Return the two languages of pairs, by a model of more, which is given by its name.

    Raises SettingsError where the text does not tell.
    """
    name = ModelName.parse(model)
    processor = TextProcessor.load(name.folder, name.config)
    told = told_languages(sources, targets, processor)
    if told is None:
        raise SettingsError(
            f"{model} is a model of {len(processor.known)} languages, and the rows do not tell"
            " which two they are in; give --languages SOURCE,TARGET"
        )
    return told


def rows_doubt(rows: Sequence[Row], processor: TextProcessor) -> str:
    """Return a warning of rows whose columns are in other languages than a processor's, or empty.

    Columns without text, such as web addresses, are in none.
    """
    texts = sides(rows)
    if not {kind_of_column(column) for column in texts} <= {"text", ""}:
        return ""
    doubt = column_doubt(*texts, processor) or swapped_columns(*texts, processor.languages)
    return doubt and f"{doubt} (--scol and --tcol choose columns)"


def column_doubt(
    sources: Sequence[str], targets: Sequence[str], processor: TextProcessor
) -> str | None:
    """Return a one-line warning if two columns do not look like a processor's languages.

    The shipped identifier tells two languages that it knows, :func:`check_columns` others. Names
    the option that reads the columns as they look, if there is one. None if all is well, or the
    evidence is too little.
    """
    own, known = processor.languages, load_ngram_identifier().languages
    seen: list[str] = []
    for column, language in zip((sources, targets), own, strict=True):
        told = main_language(column) if find_language(language, known) else None
        seen.append(language if told is None else find_language(told, own) or told)
    source, target = seen
    if (source, target) == own:
        if all(find_language(language, known) for language in own):
            return None
        return check_columns(sources, targets, processor)
    looks = [
        f"the {name} column looks like {told}, not {language}"
        for name, told, language in zip(("source", "target"), seen, own, strict=True)
        if told != language
    ]
    if (target, source) == own:
        looks = [
            f"the columns look swapped: the source column looks like {source}, the target column"
            f" like {target}"
        ]
    reading = _reading(source, target, processor)
    return "; ".join([*looks, *([f"{reading} reads them so"] if reading else [])])


def _reading(source: str, target: str, processor: TextProcessor) -> str | None:
    """Return the options by which columns of two languages are read; None if nothing reads them."""
    models = {"": processor.known} | {
        name: tuple(parse_json((folder / CONFIG).read_text("utf-8"))["languages"])
        for name, folder in shipped_models().items()
    }
    for name, known in sorted(models.items(), key=lambda item: (item[0] != "", len(item[1]))):
        pair = find_language(source, known), find_language(target, known)
        if source != target and None not in pair:
            model = f"--model {name}" if name else ""
            languages = "" if name and pair == known else f"--languages {pair[0]},{pair[1]}"
            return f"{model} {languages}".strip()
    return None


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
    scores = model.score(*sides(some), measure)[measure].tolist()
    others = [
        OtherScore(row, own) for row, own in zip(some, scores, strict=True) if _differs(row, own)
    ]
    return others if len(others) > _EDITED * len(some) else []


def _differs(row: ScoredText, own: float) -> bool:
    score, (_, _, decimals) = float(row.score), row.score.partition(".")
    rounding = 0.5 * 10.0 ** -len(decimals) if not decimals or decimals.isdigit() else 0.0
    return not abs(score - own) <= rounding + _TOLERANCE * max(1.0, abs(own))
