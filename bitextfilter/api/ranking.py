"""The best pairs, a diverse sample of them, parts for training and tests, and a page about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bitextfilter.api.pairs import (
    Languages,
    Pair,
    check_member,
    check_name,
    checked,
    is_number,
    languages_as,
    member_number,
    member_place,
    member_text,
    names_of,
    windows_of,
)
from bitextfilter.api.scoring import DEFAULT_MODEL, cut_of, loaded_model, named_cut
from bitextfilter.errors import SettingsError
from bitextfilter.scoring.measures import CUT_MEASURES

if TYPE_CHECKING:
    from bitextfilter.corpus.selection import SampleSettings, SplitSettings
    from bitextfilter.io.ranking import SelectionSettings
    from bitextfilter.reports.page import Corpus
    from bitextfilter.scoring.model import Model

_UNITS = ("words", "characters", "subwords")
_SIDES: dict[str, tuple[int, ...]] = {"source": (0,), "target": (1,), "both": (0, 1)}
_BUDGETS = {"top_lines": ">= 0", "top_words": ">= 0", "top_fraction": ">= 0, <= 1"}


@checked(**_BUDGETS, sample=">= 0", seed=">= 0")
def rank(
    pairs: Iterable[Pair],
    *,
    top_lines: int | None = None,
    top_words: int | None = None,
    top_fraction: float | None = None,
    min_score: float | Literal["lenient", "balanced", "strict"] | None = None,
    right_share: float | str | None = None,
    count_side: str = "target",
    count: str = "words",
    order: str = "ranked",
    fold: tuple[int, int] | None = None,
    sample: int | None = None,
    seed: int = 1,
    similarity: str | None = None,
    model: Model | str | Path | None = None,
) -> list[Pair]:
    """Return pairs ordered by score, their last member, best first, as ``bitext-rank`` does.

    Equal scores stay in order; pairs without a score (None, NaN) come last. All bounds hold.

    Args:
        pairs: source, target, perhaps more, score.
        top_lines, top_words, top_fraction: most pairs, most words in total, largest share, 0 to 1.
        min_score: lowest score, or ``lenient``, ``balanced`` or ``strict``: a cut of ``model``.
        right_share: part of the pairs that is right, 0 to 1, or ``estimate``, for scores
            that are probabilities: ``min_score`` is one in such a corpus.
        count_side, count: words are those of ``source``, ``target`` or ``both``; ``characters``
            (without white space) or ``subwords`` of ``model`` may take their place.
        order: ``ranked``, or ``input`` for the order of the pairs.
        fold: ``(i, k)`` first takes the i-th of k equal parts; 1 is the worst.
        sample, seed: then so many are drawn of those that pass ``min_score``.
        similarity, model: of the scores; None for the default measure of the model, and en-de.

    Raises SettingsError for a bad value, or no known cut; InputError for scores of other models.
    """
    check_name("similarity", similarity, CUT_MEASURES)
    rows = [pair for window in windows_of(pairs, 3) for pair in window]
    if isinstance(min_score, str):
        min_score = cut_of(rows, -1, min_score, similarity, model)
    if right_share is not None:
        min_score = _moved(rows, min_score, right_share, model)
    choice = _selection((top_lines, top_words, top_fraction), min_score, fold, (sample, seed))
    keys = [-member_number(row, -1) for row in rows]
    return _kept(rows, keys, choice, _Unit(count_side, count, model), order)


def _moved(
    rows: Sequence[Pair],
    least: float | None,
    share: float | str,
    model: Model | str | Path | None,
) -> float:
    """Return the least score that is a probability *least* in a corpus with the right *share*."""
    import numpy as np

    from bitextfilter.scoring.calibration import ESTIMATE, corpus_cut

    if isinstance(share, str):
        check_name("right_share", share, (ESTIMATE,))
    loaded = loaded_model(model)
    if least is None or loaded.calibration is None:
        raise SettingsError("right_share needs min_score, and a model with a calibration")
    scores = np.array([member_number(row, -1) for row in rows], np.float64)
    return corpus_cut(loaded.calibration.right_share, scores, least, share).least


@checked()
def with_scores(
    pairs: Iterable[Sequence[Any]], path: str | Path, similarity: str | None = None
) -> Iterator[tuple[Any, ...]]:
    """Yield pairs with their score as the last member, as ``bitext-rank --scores`` finds it.

    None for a pair that the file lacks.

    Args:
        pairs: source, target, perhaps more.
        path: a file of ``bitext-score --share``.
        similarity: the measure; None for the only one.

    Raises NotFoundError for no such file, InputError for another kind of file, SettingsError for a
    measure that it lacks, DeviceError without pyarrow.
    """
    from bitextfilter.scoring.shared_scores import SharedScores

    windows = windows_of(pairs)
    shared = SharedScores([str(path)], similarity)
    return (
        (*pair, float(score) if score else None)
        for window in windows
        for pair, score in zip(window, shared.find(window), strict=True)
    )


@checked(**_BUDGETS, clusters=">= 1", drop_similar=">= -1, <= 1", seed=">= 0")
def sample(
    pairs: Iterable[Pair],
    model: Model | str | Path = DEFAULT_MODEL,
    *,
    top_lines: int | None = None,
    top_words: int | None = None,
    top_fraction: float | None = None,
    count_side: str = "target",
    count: str = "words",
    clusters: int | None = None,
    drop_similar: float | None = None,
    seed: int = 1,
) -> list[Pair]:
    """Return a sample of pairs that is good and diverse, in their order, as ``bitext-sample`` does.

    Pairs of similar meaning form clusters; the sample takes the best of each by the score, their
    last member, then the second best of each, and so on. All bounds hold.

    Args:
        pairs: source, target, perhaps more, score.
        model: a model or its name, for the vectors.
        top_lines, top_words, top_fraction, count_side, count: as for :func:`rank`.
        clusters: how many; None for three times the square root of the pairs, at most 4096.
        drop_similar: leave out a pair with this cosine or more, -1 to 1, to a better one in its
            cluster.
        seed: of the clusters.

    Raises SettingsError for a bad value, or if nothing is left out.
    """
    from bitextfilter.corpus.selection import SampleSettings

    if {top_lines, top_words, top_fraction, drop_similar} == {None}:
        raise SettingsError("nothing says how much to keep: top_lines, top_words, top_fraction")
    choice = _selection((top_lines, top_words, top_fraction), -math.inf)
    loaded = loaded_model(model)
    settings = SampleSettings(clusters, drop_similar, seed, loaded.threads)
    rows, places = _diverse(pairs, loaded, settings)
    return _kept(rows, places, choice, _Unit(count_side, count, loaded), "input")


def _diverse(
    pairs: Iterable[Pair], model: Model, settings: SampleSettings
) -> tuple[list[Pair], Iterable[float]]:
    """Return pairs, and the place of each in the diverse order."""
    import numpy as np

    from bitextfilter.corpus.selection import diverse_order
    from bitextfilter.search.kmeans import PairVectors

    rows: list[Pair] = []
    with PairVectors(model.encoder.dim) as vectors:
        for window in windows_of(pairs, 3):
            sides = ([pair[side] for pair in window] for side in (0, 1))
            vectors.add(*(model.encode_side(texts, side) for side, texts in enumerate(sides)))
            rows += window
        scores = np.array([member_number(row, -1) for row in rows], np.float64)
        return rows, diverse_order(vectors, scores, settings).places


@checked(seed=">= 0")
def split(
    pairs: Iterable[Pair],
    parts: Mapping[str, int | float | Fraction],
    *,
    rest: str = "train",
    by: str = "either",
    match: str = "normalised",
    group: int | None = None,
    seed: int = 1,
) -> dict[str, list[Pair]]:
    """Divide pairs into parts with no text in two of them, as ``bitext-split`` does.

    Returns the pairs of each part, in order, those of ``rest`` last.

    Args:
        pairs: source, target, perhaps more.
        parts: names → the most pairs of the part, an int, or its share of all, a float or
            Fraction: ``{"dev": 1000, "test": 0.01}``.
        rest: the name of the part of all other pairs.
        by: pairs with the same ``source``, ``target``, ``either`` of them, or both (``pair``) are
            in one part; with ``none``, ``group`` alone counts.
        match: ``exact`` or ``normalised``: texts that are the same.
        group: member, from 1, or from -1 for the last, whose text keeps pairs together: a document.
        seed: another seed, other parts.

    Raises SettingsError for a bad value, or shares of more than all.
    """
    from bitextfilter.corpus.selection import Part, SplitSettings
    from bitextfilter.text.wording import IGNORABLE

    check_name("match", match, ("exact", "normalised"))
    if rest in parts:
        raise SettingsError(f"rest must be no part called {rest!r}, which parts has")
    made = tuple(Part(name, _part_size(name, size)) for name, size in parts.items())
    ignore = None if match == "exact" else IGNORABLE
    rows, numbers = _divided(pairs, SplitSettings(made, by, group is not None, ignore, seed), group)
    found: dict[str, list[Pair]] = {name: [] for name in (*parts, rest)}
    for row, number in zip(rows, numbers, strict=True):
        found[[*found][number]].append(row)
    return found


def _divided(
    pairs: Iterable[Pair], settings: SplitSettings, group: int | None
) -> tuple[list[Pair], list[int]]:
    """Return pairs, and the number of the part of each."""
    import numpy as np

    from bitextfilter.corpus.selection import Splitter

    splitter, rows, keys = Splitter(settings), list[Pair](), []
    places = _SPLIT_SIDES[settings.by]
    if group is not None:
        places = (*places, member_place(str(group), "group"))
    for window in windows_of(pairs):
        texts = ([member_text(pair, place, "group") for place in places] for pair in window)
        keys.append(splitter.keys([*texts]))
        rows += window
    every = np.concatenate(keys or [splitter.keys([])])
    numbers = splitter.by_share(every) if settings.at_once else splitter.decide(every).parts
    return rows, numbers.tolist()


_SPLIT_SIDES: dict[str, tuple[int, ...]] = {
    "either": (0, 1),
    "pair": (0, 1),
    "source": (0,),
    "target": (1,),
    "none": (),
}


def _part_size(name: str, size: Any) -> int | Fraction:
    """Return a number of pairs as an int, and a share of them as a Fraction."""
    if is_number(size, Integral) and size >= 0:
        return int(size)
    if isinstance(size, float | Fraction) and 0 <= size <= 1:
        return Fraction(str(size))
    raise SettingsError(f"parts: {name!r} is a number of pairs, or a share of 0 to 1, not {size!r}")


def _selection(
    most: tuple[int | None, int | None, float | None],
    least: float | None,
    fold: tuple[int, int] | None = None,
    drawn: tuple[int | None, int] = (None, 1),
) -> SelectionSettings:
    """Return the bounds of a selection: lines, words and share, and the lowest score."""
    from bitextfilter.io.ranking import SelectionSettings

    lines, words, fraction = most
    if fold is not None and not 1 <= fold[0] <= fold[1]:
        raise SettingsError(f"fold {fold} is not a part such as (3, 10)")
    share = None if fraction is None else Fraction(str(fraction))
    return SelectionSettings(lines, words, share, least, fold, *drawn)


class _Unit(NamedTuple):
    """The side and the unit that are counted; the model is for subwords."""

    side: str
    name: str
    model: Model | str | Path | None

    def sizes(self, rows: Sequence[Sequence[Any]]) -> list[int]:
        """Return the sizes of pairs."""
        from bitextfilter.text.words import count_characters, count_words

        texts = [[row[side] for row in rows] for side in _SIDES[self.side]]
        if self.name == "subwords":
            loaded = loaded_model(self.model or None)
            named = zip(texts, _SIDES[self.side], strict=True)
            counts = [loaded.processor.lengths(t, loaded.languages[at]) for t, at in named]
        else:
            counts = [*map(count_words if self.name == "words" else count_characters, texts)]
        return [*map(sum, zip(*counts, strict=True))]


def _kept(
    rows: Sequence[Pair],
    keys: Iterable[float],
    choice: SelectionSettings,
    unit: _Unit,
    order: str,
) -> list[Pair]:
    """Return the selected rows, the lowest key first, NaN last; or in the order of the input."""
    import numpy as np

    from bitextfilter.io.ranking import select_rows

    check_name("order", order, ("ranked", "input"))
    check_name("count_side", unit.side, _SIDES)
    check_name("count", unit.name, _UNITS)
    sizes = np.zeros(len(rows), np.uint32)
    if choice.size is not None:
        sizes = np.array(unit.sizes(rows), np.uint32)
    negated = np.fromiter(keys, np.float64, len(rows))
    places = negated.argsort(kind="stable").astype(np.uint64)
    chosen = places[select_rows(choice, negated, sizes, places).decisions == 0].tolist()
    return [rows[place] for place in (chosen if order == "ranked" else sorted(chosen))]


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
        model: marks its balanced cuts for the measures in ``names``.
        label, reasons: members that are a label, and the reasons against a pair.
        title, languages, count: of the page; of both sides; unit of lengths, or ``characters``.
        shown, seed: pairs shown for each tenth, and the seed of the sample.

    Raises SettingsError for a bad value, or if the model has no cut for any name.
    """
    from bitextfilter.reports.page import Report, SideLanguages

    places = _places(columns, label, reasons)
    names, sides = _names(names, columns), languages_as("tag", languages) or ("", "")
    survey = names, count, seed
    corpora = [_corpus((pairs, "pairs"), title, places, survey)]
    if against is not None:
        corpora.append(_corpus((against, "against"), "against", places, survey))
    cuts = {} if model is None else _cuts(model, names)
    page = Report(corpora, title, SideLanguages(*sides), shown, cuts, reasons is not None)
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
    found, number = Survey(names, unit=unit, seed=seed), 0
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
            samples.append(Sample(number, pair[0], pair[1], values, label, reasons))
        found.add(samples)
    return Corpus(found, name, {"rejected": 0, "unscored": found.unscored})


def _cuts(model: Model | str | Path, names: Sequence[str]) -> dict[str, float]:
    """Return the balanced cuts by the names of scores; SettingsError if there is none."""
    cuts, problems = dict[str, float](), list[SettingsError]()
    for name in names:
        try:
            cuts[name] = named_cut(model, measure=name).threshold
        except SettingsError as error:
            problems.append(error)
    if not cuts:
        raise SettingsError(f"names: {problems[0]}") from problems[0]
    return cuts
