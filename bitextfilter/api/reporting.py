"""One page about scored pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitextfilter.api.pairs import (
    Languages,
    Pair,
    language_tags,
    member_number,
    member_place,
    windows_of,
)
from bitextfilter.api.scoring import recommended
from bitextfilter.errors import SettingsError

if TYPE_CHECKING:
    from bitextfilter.reports.page import Corpus
    from bitextfilter.scoring.model import Model

_LARGEST = 3.4e38
"""The highest score: scores are kept as float32."""


def report(
    pairs: Iterable[Pair],
    *,
    columns: Sequence[int] = (-1,),
    names: Sequence[str] = (),
    against: Iterable[Pair] | None = None,
    model: Model | str | Path | None = None,
    label: int | None = None,
    reasons: int | None = None,
    title: str = "pairs",
    languages: Languages | None = None,
    count: str = "words",
    shown: int = 10,
    seed: int = 1,
) -> str:
    """Return a page in HTML about scored pairs, as ``bitext-report`` writes it.

    Pairs without all scores are counted and left out.

    Args:
        pairs: source, target, more.
        columns: members of a pair that are its scores, from 1, or from -1 for the last.
        names: of the scores, in this order; none for ``score``, or ``column 3``.
        against: pairs whose figures stand beside these.
        model: marks the cuts that it recommends for the measures in ``names``.
        label, reasons: members that are a label, and the reasons against a pair.
        title, languages, count: of the page; of both sides; unit of lengths, or ``characters``.
        shown, seed: pairs shown for each tenth, and the seed of the sample.

    Raises SettingsError for a bad value, or if the model recommends no cut for any name.
    """
    names, sides = _names(names, columns, shown), language_tags(languages) or ("", "")
    places = [[member_place(str(n)) for n in columns], *map(_one_place, (label, reasons))]
    survey = names, count, seed
    corpora = [_corpus(pairs, title, places, survey)]
    corpora += [] if against is None else [_corpus(against, "against", places, survey)]
    cuts = {} if model is None else _cuts(model, names)
    return _page(corpora, title, cuts, (sides, shown, reasons is not None))


def _page(
    corpora: Sequence[Corpus],
    title: str,
    cuts: Mapping[str, float],
    form: tuple[tuple[str, str], int, bool],
) -> str:
    """Return the page; its *form*: languages, pairs shown, and whether pairs have reasons."""
    from bitextfilter.reports.page import Report, SideLanguages

    sides, shown, reasons = form
    page = Report(corpora, title, SideLanguages(*sides), shown, cuts, reasons)
    return page.html().decode()


def _names(names: Sequence[str], columns: Sequence[int], shown: int) -> Sequence[str]:
    """Return the names of scores; SettingsError for another number, or of pairs shown."""
    if not 1 <= shown <= 100:
        raise SettingsError(f"1 to 100 pairs of each tenth are shown, not {shown}")
    if not names:
        return ["score"] if len(columns) == 1 else [f"column {number}" for number in columns]
    if len(names) != len(columns):
        raise SettingsError(f"{len(names)} names are given for {len(columns)} columns")
    return names


def _one_place(member: int | None) -> list[int]:
    return [] if member is None else [member_place(str(member))]


def _corpus(
    pairs: Iterable[Sequence[Any]],
    name: str,
    places: Sequence[Sequence[int]],
    survey: tuple[Sequence[str], str, int],
) -> Corpus:
    """Read pairs: the members at the *places* of scores, label and reasons."""
    from bitextfilter.reports.page import Corpus
    from bitextfilter.reports.survey import Sample, Survey

    names, unit, seed = survey
    if unit not in ("words", "characters"):
        raise SettingsError(f"count {unit!r} is none of words, characters")
    found, unscored, number = Survey(names, unit=unit, seed=seed), 0, 0
    for window in windows_of(pairs):
        samples = []
        for pair in window:
            number += 1
            values = tuple(member_number(pair, place) for place in places[0])
            label, reasons = ("".join(str(pair[at]) for at in some) for some in places[1:])
            if all(abs(value) <= _LARGEST for value in values):
                samples.append(Sample(number, pair[0], pair[1], values, label, reasons))
            else:
                unscored += 1
        found.add(samples)
    return Corpus(found, name, {"rejected": 0, "unscored": unscored})


def _cuts(model: Model | str | Path, names: Sequence[str]) -> dict[str, float]:
    """Return the recommended cuts by the names of scores; SettingsError if there is none."""
    cuts, problems = dict[str, float](), list[SettingsError]()
    for name in names:
        try:
            cuts[name] = recommended(model, name).threshold
        except SettingsError as error:
            problems.append(error)
    if not cuts:
        raise problems[0]
    return cuts
