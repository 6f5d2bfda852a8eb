"""``bitext-evaluate recovery`` and ``contrasts``: translations known by their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluate.options import check_measure, measurement
from bitextfilter.commands.frame.given import VectorFiles, signed_vectors
from bitextfilter.commands.frame.options import (
    COUNT,
    NATURAL,
    ModelOptions,
    argument,
    as_column,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.translators import ScorerOptions, load_scorers
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.result import Bootstrap, Result, signature
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import Columns, Row, WantedColumn
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES
from bitextfilter.settings import none_of

if TYPE_CHECKING:
    from bitextfilter.arrays import Scores
    from bitextfilter.evaluation.recovery import RowScorer
    from bitextfilter.io.vectors import GivenRows
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.model_scorers import ModelScorers

_VECTORS = tuple(name for name in MEASURES if name != "probability")
_BASELINES = ("levenshtein", "random")
_TRANSLATED = tuple(name for name, each in TRANSLATION_MEASURES.items() if each.translators)
_KNOWN = (*_VECTORS, *_BASELINES, *_TRANSLATED)
_MARGINS = tuple(name for name, each in MEASURES.items() if each.needs == "neighbours")
_DEFAULT = ("cosine", *_MARGINS)
_PAIRS = 1 << 14
"""Pairs that the classifier scores at a time."""

_Sides = tuple[Sequence[str], Sequence[str]]
_Facts = dict[str, str | int]


def _similarities(value: str) -> tuple[str, ...]:
    """Parse a comma-separated list of similarities, or ``all``."""
    names = tuple(value.split(","))
    if names == ("all",):
        return names
    for name in names:
        if name not in _KNOWN:
            raise click.BadParameter(none_of(name, (*_KNOWN, "all")))
        if names.count(name) > 1:
            raise click.BadParameter(f"{name!r} is asked for twice")
    return names


@dataclass(frozen=True)
class _Settings:
    """The similarities, and their settings."""

    file: str = argument()
    names: tuple[str, ...] = option(
        "--similarity NAME[,NAME]...",
        f"Similarities: {', '.join((*_VECTORS, *_BASELINES))}; {', '.join(_TRANSLATED)} of "
        "translators; or all that the model has (without translators).",
        _similarities,
        ",".join(_DEFAULT),
    )
    neighbours: int = option(
        "--neighbours", "Neighbours that csls, ratio and distance average over.", COUNT, 10
    )
    seed: int = option("--seed", "Seed of random.", NATURAL, 1)


_ROWS = row_options("output texts errors")


@measurement("recovery", _Settings, _ROWS, ScorerOptions, ModelOptions, VectorFiles)
def recovery(run: Run, settings: _Settings, scorers: ScorerOptions, given: VectorFiles) -> Result:
    """Measure the sentence alignment recovery error on the translations in FILE.

    One side is shuffled, and each sentence takes its best-scoring counterpart: the error is the
    part with a wrong one, in percent, 0 to 100, lower is better; from source to target (forward),
    from target to source (backward), and the mean of both. Pairs that repeat a text are set aside,
    and a tie is an error. Memory holds FILE and its vectors.

    mlp scores every source with every target: about a minute a core for 1,000 pairs, four for
    2,000; translators take hours. stderr shows their progress. --source-vectors and
    --target-vectors take the place of a model.

    Writes a line for each similarity, tab-separated: name, forward, backward, mean, signature.

    Example:

        bitext-evaluate recovery --similarity csls,cosine newstest.de-en.tsv --scol 2 --tcol 1
    """
    from bitextfilter.evaluation.recovery import distinct_pairs, recover

    scorers.check(settings.names)
    rows, vectors = _read(run, settings.file, given)
    sources, targets = ([row.texts[side] for row in rows] for side in (0, 1))
    kept = distinct_pairs(sources, targets)
    run.counts["set aside"] = len(sources) - len(kept)
    if not kept:
        raise InputError("no pairs", file=stream_name(settings.file))
    sides = [sources[i] for i in kept], [targets[i] for i in kept]
    records, known = [], None if vectors is None else (vectors, [rows[i] for i in kept])
    for name, scorer, facts in _scorers(run, sides, settings, scorers, known):
        result = replace(recover(*sides, scorer), set_aside=run.counts["set aside"])
        figure = f"recovery_error = {result.mean:.2f}"
        line = signature(figure, n=result.pairs, sim=name, **facts)
        values = {**asdict(result), "mean": result.mean}
        records.append({"similarity": name, **values, "signature": line})
    names = ("similarity", "forward", "backward", "mean", "signature")
    columns = dict.fromkeys(names, ".2f")
    return Result("recovery", columns, {"results": records}, {"file": settings.file})


def _read(run: Run, file: str, given: VectorFiles) -> tuple[list[Row], GivenRows | None]:
    """Return the good rows of a file, and what reads the vectors given for them."""
    reader, vectors = run.rows(file=file), None
    if given:
        given.check(("device",))
        vectors = given.rows(run, reader)
    windows = run.windows(vectors or reader)
    return [row for window in windows for row in window if isinstance(row, Row)], vectors


def _scorers(
    run: Run,
    sides: _Sides,
    settings: _Settings,
    options: ScorerOptions,
    given: tuple[GivenRows, list[Row]] | None,
) -> Iterator[tuple[str, RowScorer, _Facts]]:
    """Yield the name and the scorer of each similarity, and facts for its signature."""
    from bitextfilter.evaluation.recovery import baseline, vector_scorer

    names, languages = settings.names, None
    made_by: _Facts
    scorer_of: Callable[[str], RowScorer]
    if given is not None:
        vectors, rows = given
        names, made_by = _available(None, names), {**signed_vectors(vectors.files)}
        source, target = (vectors.vectors(rows, side) for side in (0, 1))
        scorer_of = partial(vector_scorer, source=source, target=target, k=settings.neighbours)
    elif names == ("all",) or set(names) & set(_VECTORS):
        model = run.model()
        names, languages = _available(model, names), model.languages
        scorer_of = _vector_scorers(run, model, sides, settings.neighbours)
        made_by = {"model": model.digest}
    asked = [name for name in names if name in _TRANSLATED]
    if asked:
        scorers = load_scorers(run, options, asked, languages).scorers
        translated_by = _signed_scorers(run, options)
    for name in names:
        if name in _BASELINES:
            seed: _Facts = {"seed": settings.seed} if name == "random" else {}
            yield name, baseline(name, *sides, settings.seed), seed
        elif name in _TRANSLATED:
            scorer = _with_progress(run, name, _model_scorer(scorers, sides, name), sides)
            yield name, scorer, translated_by
        else:
            margin: _Facts = {"k": settings.neighbours} if name in _MARGINS else {}
            scorer = scorer_of(name)
            if name == "mlp":
                scorer = _with_progress(run, name, scorer, sides, _PAIRS)
            yield name, scorer, {**margin, **made_by}


def _signed_scorers(run: Run, options: ScorerOptions) -> _Facts:
    """Return the facts about translators and language models for a signature."""
    facts: _Facts = {
        fact: str(run.facts[fact]).replace(", ", ",").replace(" ", ":")
        for fact in ("translators", "language_models")
        if fact in run.facts
    }
    if weights := options.weights:
        facts["weights"] = weights
    return facts


def _available(model: Model | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return *names*, or for ``all`` those there are; SettingsError for one that is not."""
    classifier = model is not None and model.classifier is not None
    if names == ("all",):
        return tuple(n for n in (*_VECTORS, *_BASELINES) if n != "mlp" or classifier)
    if "mlp" in names and not classifier:
        lacking = "a model: vectors are given"
        if model is not None:
            lacking = f"a classifier, and the model {model.name} has none"
        raise SettingsError(f"mlp needs {lacking}")
    return names


def _vector_scorers(
    run: Run, model: Model, sides: _Sides, neighbours: int
) -> Callable[[str], RowScorer]:
    """Encode both sides, and return the function from a similarity's name to its scorer."""
    from bitextfilter.evaluation.recovery import vector_scorer
    from bitextfilter.text.language import check_columns

    if (warning := check_columns(*sides, model.processor)) is not None:
        run.warn(f"{warning} (--scol, --tcol)")
    source, target = (
        model.encode(side, language) for side, language in zip(sides, model.languages, strict=True)
    )
    probabilities = model.pair_scorer((source, sides[0]), (target, sides[1]))
    return lambda name: vector_scorer(name, source, target, probabilities, neighbours)


def _model_scorer(scorers: ModelScorers, sides: _Sides, name: str) -> RowScorer:
    """Return the scorer of rows of translators and language models."""
    from bitextfilter.evaluation.recovery import pair_rows
    from bitextfilter.scoring.model_scorers import SentenceScores

    sentences = SentenceScores(scorers, *sides)
    return pair_rows(
        lambda rows, columns: sentences.score(rows, columns, [name])[:, 0], *map(len, sides)
    )


def _with_progress(
    run: Run, name: str, scorer: RowScorer, sides: _Sides, pairs: int = 1
) -> RowScorer:
    """Return a slow scorer that scores some *pairs* at a time and reports progress on stderr."""
    import numpy as np

    rows, step = len(sides[0]), max(1, pairs // len(sides[0]))
    run.note(f"{name}: {rows} sources, each with {rows} targets")
    bar = run.progress(unit="sources")
    bar.reset(rows)
    bar.set_postfix_str(name, refresh=False)

    def scored(part: slice) -> Scores:
        found, (first, last, _) = [], part.indices(rows)
        for start in range(first, last, step):
            end = min(start + step, last)
            found.append(scorer(slice(start, end)))
            run.advance(end - start)
        return np.concatenate(found)

    return scored


_ALL = "all"


@dataclass(frozen=True)
class _Contrasts:
    """The rows, and the columns of the damaged pair."""

    file: str = argument(default="-")
    worse_source: int | str | None = option(
        "--worse-scol COLUMN", "Column of the damaged source  [default: that of --scol]", as_column
    )
    worse_target: int | str | None = option(
        "--worse-tcol COLUMN", "Column of the damaged target  [default: that of --tcol]", as_column
    )
    kinds: int | str | None = option(
        "--kinds COLUMN", "Column of the kind of damage  [default: one kind, all]", as_column
    )
    similarity: str | None = option(
        "--similarity NAME", "The measure of --model  [default: its default measure]"
    )


def _damaged(run: Run, columns: Columns, file: str) -> list[tuple[str, ...]]:
    """Read the rows with damage; raises InputError if there are none."""
    every = [row.texts for row in chain.from_iterable(run.good_windows(columns, file))]
    rows = [texts for texts in every if texts[:2] != texts[2:4]]
    run.counts["undamaged"] = len(every) - len(rows)
    if not rows:
        raise InputError("no pair is damaged", file=stream_name(file))
    return rows


@measurement(
    "contrasts",
    _Contrasts,
    Bootstrap,
    row_options("output texts errors"),
    ModelOptions,
)
def contrasts(run: Run, settings: _Contrasts, bootstrap: Bootstrap) -> Result:
    """Measure how often a damaged pair scores lower than the same pair without the damage.

    FILE (default: stdin) has both in each row; rows without damage are left out, and counted.
    Writes a line for each kind of damage and for the unweighted mean of the kinds, tab-separated:
    kind, part of the pairs that score lower, 0 to 1, higher is better, with the ends of its 95 %
    interval, part that scores the same, pairs, signature. Memory holds FILE.

    Example:

        bitext-noise --rate mistakes=1 --original < clean.tsv > noisy.tsv
        bitext-evaluate contrasts --scol 5 --tcol 6 --worse-scol 1 --worse-tcol 2 < noisy.tsv
    """
    from bitextfilter.evaluation.recovery import contrasts_result, measure_contrasts

    check_measure(settings.similarity)
    sides = run.row_settings.columns
    if settings.worse_source is None and settings.worse_target is None:
        raise click.UsageError("--worse-scol or --worse-tcol says where the damaged side is")
    worse = (
        WantedColumn("damaged source", "--worse-scol", settings.worse_source or sides.source),
        WantedColumn("damaged target", "--worse-tcol", settings.worse_target or sides.target),
    )
    kind = () if settings.kinds is None else (WantedColumn("kind", "--kinds", settings.kinds),)
    columns = replace(sides, last=(*worse, *kind))
    rows = _damaged(run, columns, settings.file)
    model = run.model()
    measure = settings.similarity or model.default_measure
    better, damaged = (
        model.score([row[at] for row in rows], [row[at + 1] for row in rows], measure)[measure]
        for at in (0, 2)
    )
    kinds = [row[4] if kind else _ALL for row in rows]
    found = measure_contrasts(better, damaged, kinds, bootstrap)
    facts: dict[str, str | float] = {"sim": measure, "model": model.digest}
    return contrasts_result(found, facts, bootstrap)
