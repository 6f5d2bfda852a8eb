"""``bitext-evaluate recovery``: how well a model finds translations again."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.model_scorers import ScorerOptions, load_scorers, scorer_options
from bitextfilter.commands.frame.options import model_options, row_options, take
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import BadRow

if TYPE_CHECKING:
    from bitextfilter.arrays import Scores
    from bitextfilter.evaluation.recovery import RowScorer
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.model_scorers import ModelScorers


_VECTORS = ("cosine", "euclidean", "csls", "ratio", "distance", "mlp")
_BASELINES = ("levenshtein", "random")
_TRANSLATED = ("translation", "dual", "log-linear")
_MARGINS = ("csls", "ratio", "distance")
_QUICK = ("cosine", *_MARGINS)
"""What is measured where nothing is asked for."""
_PAIRS, _SECONDS = 1 << 14, 20.0
"""Pairs that the classifier scores at a time; seconds between two lines of progress."""

_Sides = tuple[Sequence[str], Sequence[str]]


@dataclasses.dataclass(frozen=True)
class _Choices:
    """What is measured, and with which numbers."""

    names: tuple[str, ...]
    neighbours: int
    seed: int
    scorers: ScorerOptions
    """What --translator, --language-models and --weights say."""


def _similarities(value: str) -> tuple[str, ...]:
    """Read a comma-separated list of similarities, or ``all``."""
    names = tuple(value.split(","))
    if names == ("all",):
        return names
    for name in names:
        if name not in (*_VECTORS, *_BASELINES, *_TRANSLATED):
            known = ", ".join((*_VECTORS, *_BASELINES, *_TRANSLATED))
            raise click.BadParameter(f"{name!r} is none of {known}; all stands alone")
        if names.count(name) > 1:
            raise click.BadParameter(f"{name!r} is asked for twice")
    return names


@command(
    "recovery",
    [option for option in row_options() if option.name != "input"],
    scorer_options(),
    model_options(),
)
@click.argument("file")
@click.option(
    "--similarity",
    "names",
    type=_similarities,
    default=",".join(_QUICK),
    show_default=True,
    metavar="NAME[,NAME]...",
    help=f"What to score with: {', '.join((*_VECTORS, *_BASELINES))}; {', '.join(_TRANSLATED)} of "
    "translators; or all but those that the model can.",
)
@click.option(
    "--neighbours",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Neighbours that csls, ratio and distance take the mean of.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of random."
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def main(run: Run, file: str, as_json: bool, **choices: Any) -> None:
    """Measure the sentence alignment recovery error on the translations in FILE.

    One side is shuffled, and each sentence takes the one that scores best: the error is the part
    that takes a wrong one, in percent, 0 to 100, lower is better; of sources that seek a target
    (forward), of targets that seek a source (backward), and the mean of both. Pairs that repeat
    a text are set aside, and a tie is an error. Memory holds FILE and its vectors.

    mlp scores every source with every target: about a minute a core for 1,000 pairs, four for
    2,000; translators take hours. stderr tells how far they are.

    Writes a line for each similarity, tab-separated: name, forward, backward, mean, signature.

    Example:

        bitext-evaluate recovery --similarity csls,cosine newstest.de-en.tsv --scol 2 --tcol 1
    """
    from bitextfilter.evaluation.recovery import distinct_pairs, recover
    from bitextfilter.evaluation.result import Result, signature

    run.row_settings = dataclasses.replace(run.row_settings, input=file)
    scorers = take(ScorerOptions, choices)
    scorers.check(choices["names"])
    output = run.output()
    sources, targets = _sides(run)
    kept = distinct_pairs(sources, targets)
    run.counts["set aside"] = len(sources) - len(kept)
    if not kept:
        raise InputError("no pairs", file=stream_name(file))
    sides = [sources[i] for i in kept], [targets[i] for i in kept]
    records = []
    for name, scorer, facts in _scorers(run, sides, _Choices(**choices, scorers=scorers)):
        result = dataclasses.replace(recover(*sides, scorer), set_aside=run.counts["set aside"])
        figure = f"recovery_error = {result.mean:.2f}"
        line = signature(figure, n=result.pairs, sim=name, **facts)
        values = {**dataclasses.asdict(result), "mean": result.mean}
        records.append({"similarity": name, **values, "signature": line})
    names = ("similarity", "forward", "backward", "mean", "signature")
    columns = dict.fromkeys(names, ".2f")
    output.write(Result("recovery", columns, {"results": records}, {"file": file}).text(as_json))


def _sides(run: Run) -> tuple[list[str], list[str]]:
    """Read all pairs, rejected rows aside."""
    pairs = [
        row.texts
        for window in run.windows(run.rows())
        for row in window
        if not isinstance(row, BadRow)
    ]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _scorers(
    run: Run, sides: _Sides, choices: _Choices
) -> Iterator[tuple[str, RowScorer, dict[str, str | int]]]:
    """Yield the name, the scorer, and the facts for the signature of each similarity chosen."""
    from bitextfilter.evaluation.recovery import baseline

    names, languages = choices.names, None
    if names == ("all",) or set(names) & set(_VECTORS):
        model = run.model()
        names, languages = _that_model_can(model, names), model.languages
        scorer_of = _vector_scorers(run, model, sides, choices.neighbours)
    asked = [name for name in names if name in _TRANSLATED]
    if asked:
        scorers, _ = load_scorers(run, choices.scorers, asked, languages)
        translated_by: dict[str, str | int] = {
            fact: str(run.facts[fact]).replace(", ", ",").replace(" ", ":")
            for fact in ("translators", "language_models")
            if fact in run.facts
        }
        if weights := choices.scorers.weights:
            translated_by["weights"] = weights
    for name in names:
        if name in _BASELINES:
            seed: dict[str, str | int] = {"seed": choices.seed} if name == "random" else {}
            yield name, baseline(name, *sides, choices.seed), seed
        elif name in _TRANSLATED:
            scorer = _told(run, name, _model_scorer(scorers, sides, name), sides)
            yield name, scorer, translated_by
        else:
            margin: dict[str, str | int] = {"k": choices.neighbours} if name in _MARGINS else {}
            told = name == "mlp"
            scorer = _told(run, name, scorer_of(name), sides, _PAIRS) if told else scorer_of(name)
            yield name, scorer, {**margin, "model": model.digest}


def _that_model_can(model: Model, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return *names*, with ``all`` made those the model can; SettingsError if it cannot."""
    if names == ("all",):
        everything = (*_VECTORS, *_BASELINES)
        return tuple(n for n in everything if n != "mlp" or model.classifier is not None)
    if "mlp" in names and model.classifier is None:
        raise SettingsError(f"mlp needs a classifier, and the model {model.name} has none")
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


def _told(run: Run, name: str, scorer: RowScorer, sides: _Sides, pairs: int = 1) -> RowScorer:
    """Return a slow scorer that goes by rows of some *pairs*, and says on stderr how far it is."""
    import numpy as np

    rows, step = len(sides[0]), max(1, pairs // len(sides[0]))
    run.note(f"{name}: {rows} sources, each with {rows} targets")
    run.progress().reset(total=rows)
    last_said = time.monotonic()

    def told(part: slice) -> Scores:
        nonlocal last_said
        found, (first, last, _) = [], part.indices(rows)
        for start in range(first, last, step):
            end = min(start + step, last)
            found.append(scorer(slice(start, end)))
            run.advance(end - start)
            if time.monotonic() - last_said >= _SECONDS:
                last_said = time.monotonic()
                run.note(f"{name}: {end} of {rows} sources")
        return np.concatenate(found)

    return told
