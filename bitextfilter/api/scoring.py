"""Models, their recommended cuts, explanations of scores, and recovery."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitextfilter.api.arguments import checked
from bitextfilter.api.pairs import (
    Languages,
    check_name,
    language_pair,
    member_number,
    names_of,
    sentence_sides,
)
from bitextfilter.errors import InputError, SettingsError

if TYPE_CHECKING:
    from bitextfilter.arrays import Scores
    from bitextfilter.evaluation.recovery import Recovery, RowScorer
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.thresholds import Threshold

DEFAULT_MODEL = "en-de"
_DEVICE = re.compile("auto|cpu|cuda(:[0-9]+)?")
_CHECKED = 1000
"""First pairs among which some are scored again."""


@checked(threads=">= 1")
def load(
    name_or_folder: str | Path,
    device: str = "cpu",
    threads: int = 1,
    *,
    languages: Languages | None = None,
) -> Model:
    """Load a model by the name of a shipped one, or from its folder.

    Args:
        name_or_folder: such as ``en-de``, or a path. The languages of a model of more than two may
            stand at its end, as ``multi:cs,pl``. ``en-de@128`` has vectors of 128 numbers, and no
            classifier.
        device: ``cpu`` or ``cuda[:n]``: where sentences are encoded.
        threads: how many blocks are computed side by side.
        languages: of source and target, in any usual spelling, as ``("cs-CZ", "pol")``.

    Raises:
        NotFoundError: no such model, or a file of it is missing; names the known models.
        ModelError: the model is damaged, or of a newer version.
        DeviceError: the device is not there.
        SettingsError: the languages are not the model's; it has more than two, and none are given;
            or vectors have fewer numbers than are asked for.
    """
    from bitextfilter.scoring.model import load as load_model

    if not _DEVICE.fullmatch(device):
        raise SettingsError(f"device must be cpu, cuda or cuda:N, not {device!r:.40}")
    name = str(name_or_folder)
    if languages is None:
        _check_languages(name)
    else:
        name += f":{','.join(language_pair(languages))}"
    return load_model(name, device, threads)


def _check_languages(name: str) -> None:
    """Raise SettingsError for a model of more than two languages, or of none, in Python's words."""
    from bitextfilter.models.folders import all_languages_of, languages_of

    with suppress(SettingsError):  # of another library, and without languages
        if languages_of(name) is not None:
            return
    known = all_languages_of(name)
    *_, first, second = ("en", "de", *known)
    one = f"is a model of {len(known)} languages ({', '.join(known)})" if known else "names none"
    raise SettingsError(
        f'{name} {one}: load("{name}", languages=("{first}", "{second}")) names two'
    )


@checked()
def recommended(
    model: Model | str | Path = DEFAULT_MODEL, measure: str | None = None, use: str | None = None
) -> Threshold:
    """Return the threshold that a model recommends, as ``--min-score recommended`` takes it.

    Its ``threshold`` is the least score of a pair that is kept; ``precision``, ``recall`` and
    ``noise_share``, 0 to 1, and ``rows`` tell how it was estimated.

    Args:
        model: a model, its name, with languages at its end if it has more than two, or its folder.
        measure: a measure of :meth:`Model.score`, or ``joint``, that of ``mine``; None for the
            default of the model.
        use: ``filtering`` or ``mining``; None for mining with ``joint``, else filtering.

    Raises SettingsError if there is none, NotFoundError for no such model.
    """
    from bitextfilter.scoring.measures import THRESHOLD_MEASURES
    from bitextfilter.scoring.thresholds import USES, measure_of, recommended_threshold

    check_name("measure", measure, THRESHOLD_MEASURES)
    check_name("use", use, USES)
    name = str(model) if isinstance(model, str | Path) else model.name
    return recommended_threshold(name, measure_of(name, measure, None), use)


def cut_of(
    pairs: Sequence[Sequence[Any]],
    place: int,
    similarity: str | None,
    model: Model | str | Path | None,
) -> float:
    """Return the recommended cut of scores by a model, that of the default measure if not named.

    Raises InputError if the scores of the pairs, their members at *place*, are of another model. A
    UserWarning tells where margins may be.
    """
    from bitextfilter.scoring import row_checks as check

    model = DEFAULT_MODEL if model is None else model
    loaded = load(model) if isinstance(model, str | Path) else model
    found = recommended(loaded, similarity)
    rows = []
    for index, pair in enumerate(pairs[:_CHECKED]):
        if isfinite(score := member_number(pair, place)):
            rows.append(check.ScoredText(index, pair[0], pair[1], repr(score)))
    checked_here = check.can_be_checked(found.measure, loaded)
    if checked_here and (others := check.other_scores(loaded, found.measure, rows)):
        row, own = others[0]
        place_of = f"pairs[{row.number}] has the score {float(row.score):.4f}"
        message = f"{place_of}, but {own:.4f} by {found.measure} of {loaded.name}"
        if not check.by_neighbours(found.measure):
            raise InputError(message, remedy="model= names the model of the scores")
        warning = check.by_others(found.measure, loaded.name)
        warnings.warn(f"{warning} ({message})", stacklevel=4)
    return found.threshold


@checked()
def explain(
    model: Model,
    sources: Sequence[str],
    targets: Sequence[str],
    similarity: str | None = None,
) -> list[list[str]]:
    """Return what weighs against each of ``n`` pairs, as ``bitext-score --explain`` does.

    A reason is ``source-words=7 red(+1.2)``: without the seventh word, red, the score's logit is
    higher by 1.2; a negation on one side alone, a fragment, another language, or a rule of
    ``bitext-filter`` that the pair fails. A pair is scored once for each word.

    Args:
        model: a model of both languages.
        sources, targets: sentences, as many.
        similarity: a measure of :meth:`Model.score`; None for the default of the model.

    Raises SettingsError if the model has no part for the measure, ValueError if the sides differ
    in number.
    """
    from bitextfilter.filters.explanations import Explainer

    measure = model.default_measure if similarity is None else similarity
    model.check([measure])
    sides = sentence_sides(sources, targets, paired=True)

    def score(some: Sequence[str], others: Sequence[str]) -> Scores:
        return model.score(some, others, measure)[measure]

    return Explainer(score, measure, model.languages)(*sides)


@checked(neighbours=">= 1")
def recovery(
    model: Model,
    sources: Iterable[str],
    targets: Iterable[str],
    measures: str | Sequence[str] = ("cosine", "csls"),
    *,
    neighbours: int = 10,
) -> dict[str, Recovery]:
    """Measure how well a model recovers ``n`` translations, as ``bitext-evaluate recovery`` does.

    Returns for each measure the errors in percent, ``forward``, ``backward`` and ``mean``, the
    number of ``pairs``, and the number ``set_aside`` because they repeat a text.

    Args:
        model: a model of both languages.
        sources, targets: ``n`` sentences and their translations.
        measures: ``cosine``, ``euclidean``, ``csls``, ``ratio``, ``distance``; ``mlp`` takes a
            minute for 1,000 pairs.
        neighbours: neighbours in a margin.

    Raises:
        InputError: there are no pairs.
        SettingsError: a measure is unknown, or needs a classifier that the model lacks.
        ValueError: the sides differ in number.
    """
    from bitextfilter.evaluation.recovery import distinct_pairs, recover

    names, sides = names_of(measures, "measures"), sentence_sides(sources, targets, paired=True)
    kept = distinct_pairs(*sides)
    if not kept:
        raise InputError("no pairs to find")
    source, target = ([side[place] for place in kept] for side in sides)
    scorers = _row_scorers(model, (source, target), names, neighbours)
    aside = len(sides[0]) - len(kept)
    return {n: replace(recover(source, target, by), set_aside=aside) for n, by in scorers}


def _row_scorers(
    model: Model, sides: tuple[list[str], list[str]], names: Sequence[str], neighbours: int
) -> Iterator[tuple[str, RowScorer]]:
    from bitextfilter.evaluation.recovery import MATRICES, vector_scorer

    for name in names:
        if name not in MATRICES or (name == "mlp" and model.classifier is None):
            known = ", ".join(MATRICES)
            raise SettingsError(f"measures: {name!r} is no measure of {model.name}: {known}")
    source, target = map(model.encode, sides, model.languages)
    classify = model.pair_scorer((source, sides[0]), (target, sides[1]))
    for name in names:
        yield name, vector_scorer(name, source, target, classify, neighbours)
