"""One page about scored pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitextfilter.api.arguments import checked, is_number
from bitextfilter.api.pairs import (
    Languages,
    Pair,
    check_member,
    check_name,
    language_tags,
    member_number,
    member_place,
    member_text,
    names_of,
    windows_of,
)
from bitextfilter.api.scoring import recommended
from bitextfilter.errors import SettingsError

if TYPE_CHECKING:
    from bitextfilter.reports.page import Corpus
    from bitextfilter.scoring.model import Model

_LARGEST = 3.4e38
"""The highest score: scores are kept as float32."""


@checked(shown=">= 1, <= 100", seed=">= 0")
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
    places = _places(columns, label, reasons)
    names, sides = _names(names, columns), language_tags(languages) or ("", "")
    survey = names, count, seed
    corpora = [_corpus((pairs, "pairs"), title, places, survey)]
    if against is not None:
        corpora.append(_corpus((against, "against"), "against", places, survey))
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


def _places(columns: Sequence[int], label: int | None, reasons: int | None) -> dict[str, list[int]]:
    """Return the places of members, by arguments; SettingsError for what is no place."""
    numbers = list(columns) if isinstance(columns, tuple | list | range) else []
    if not numbers or not all(is_number(number, Integral) for number in numbers):
        raise SettingsError(f"columns must be numbers, as (3,), not {columns!r:.40}")
    single = {"label": label, "reasons": reasons}
    given = {"columns": numbers} | {n: [] if m is None else [m] for n, m in single.items()}
    return {name: [member_place(str(n), name) for n in some] for name, some in given.items()}


def _names(names: Sequence[str], columns: Sequence[int]) -> Sequence[str]:
    """Return the names of scores; SettingsError for another number."""
    if not (given := names_of(names, "names")):
        return ["score"] if len(columns) == 1 else [f"column {number}" for number in columns]
    if len(given) != len(columns):
        raise SettingsError(f"{len(given)} names are given for {len(columns)} columns")
    return given


def _corpus(
    given: tuple[Iterable[Sequence[Any]], str],
    name: str,
    places: Mapping[str, Sequence[int]],
    survey: tuple[Sequence[str], str, int],
) -> Corpus:
    """Read pairs, and their argument's name: the members at *places*, by arguments."""
    from bitextfilter.reports.page import Corpus
    from bitextfilter.reports.survey import Sample, Survey

    names, unit, seed = survey
    check_name("count", unit, ("words", "characters"))
    found, unscored, number = Survey(names, unit=unit, seed=seed), 0, 0
    for window in windows_of(given[0], name=given[1]):
        for place in places["columns"] if number == 0 else ():
            check_member(window, place, "columns")
        samples = []
        for pair in window:
            number += 1
            values = tuple(member_number(pair, place) for place in places["columns"])
            label, reasons = (
                "".join(member_text(pair, at, argument) for at in places[argument])
                for argument in ("label", "reasons")
            )
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
        raise SettingsError(f"names: {problems[0]}") from problems[0]
    return cuts
