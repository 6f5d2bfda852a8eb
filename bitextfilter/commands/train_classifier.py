"""``bitext-train-classifier``: teach a model which pairs are translations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    COUNT,
    ModelOptions,
    argument,
    flag,
    json_flag,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    TrainingOptions,
    TrainingReporter,
    graded_pairs,
    graded_rows,
    training_settings,
    weighted,
)
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.models.folders import check_replaceable, is_foreign, naming_pair

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model
    from bitextfilter.training.classifier_training import (
        ClassifierConfig,
        Contrast,
        Examples,
    )


@dataclass(frozen=True)
class _Settings:
    """The pairs to learn from, and the new model."""

    positives: tuple[str, ...] = argument("FILE...", nargs=-1, required=True)
    folder: str | None = option("-o --output FOLDER", "The new model's folder.")
    in_place: bool = flag("--in-place", "Write into the model's own folder.")
    noisy: str | None = option("--noisy FILE", "Noisy pairs, the source of negatives.")
    negatives: str = option(
        "--negatives worst[:P%]|random|repaired|given",
        "Of --noisy: the worst by cosine (of its best P %), random ones, or all; or the "
        "translations re-paired.",
        default="worst",
    )
    count: int | None = option(
        "--count N", "Number of negatives; not with given.  [default: one a translation]", COUNT
    )
    nearly: tuple[str, ...] = option(
        "--nearly FILE", "Pairs with a minor error, a separate output; repeatable.", multiple=True
    )
    contrasts: tuple[str, ...] = option(
        "--contrasts FILE",
        "Pairs with a mistake and the same without, by bitext-noise --original; repeatable.",
        multiple=True,
    )
    graded: tuple[str, ...] = option(
        "--graded FILE[@WEIGHT]",
        "Pairs with a grade in the last column, 0 to 1, higher is better; repeatable.",
        multiple=True,
    )
    text: tuple[str, ...] = option(
        "--text FILE",
        "More pairs, whose words and bigrams are counted alone; with --kind words; repeatable.",
        multiple=True,
    )
    kind: str = option(
        "--kind",
        "Input of the classifier: sentence vectors (fast), or all words (finer).",
        ["sentences", "words"],
        "sentences",
    )
    start: str | None = option(
        "--start NAME|DIR",
        "Train the classifier of a model further that has the same encoder or, with --kind words,"
        " a language in common.",
    )
    quantise: bool = flag("--quantise", "Keep its matrices as int8: a quarter of the size.")
    as_json: bool = json_flag()


@command(
    "bitext-train-classifier",
    _Settings,
    row_options("texts errors"),
    training_settings("training.classifier_training.ClassifierConfig"),
    ModelOptions,
)
def main(run: Run, settings: _Settings, chosen: TrainingOptions) -> None:
    """Train a classifier of pairs on the translations in the FILEs, for the score mlp.

    The model gets a network over the vectors of both sentences, or of all their words. Its score
    is the probability of a good translation, 0 to 1. Writes accuracy, AUC, calibration error and
    the scores' distribution over a held-out part of the pairs, tab-separated: before and after
    calibration. Memory holds the pairs used and their vectors.

    Example:

        bitext-train-classifier --noisy crawl.tsv.gz --negatives worst:60% -o my-model clean.tsv
    """
    from bitextfilter.scoring.model import load
    from bitextfilter.training import classifier_training as workflow
    from bitextfilter.training.loop import Course
    from bitextfilter.training.start import check_start

    plan = _plan(settings, chosen)
    output, model = run.output("-"), run.model(any_languages=True)
    _check_model(model)
    if settings.in_place and is_foreign(model.folder):
        raise SettingsError(f"{model.folder}: is of another library, and stays as it is: give -o")
    start = None if settings.start is None else load(naming_pair(settings.start))
    if start is not None:
        check_start(start, model, plan.kind)
    examples = _examples(run, model, settings, plan)
    asked = {"positives", "negatives", *(n for n in _MORE if getattr(settings, n))}
    run.counts.update({n: count for n, count in examples.counts().items() if n in asked})
    run.facts["seed"] = plan.training.seed
    reporter = TrainingReporter(run, "tuning loss {:.4f}")
    classifier, report = workflow.train_on_pairs(model, examples, plan, Course(reporter), start)
    record = workflow.described(plan, report, examples)
    folder = model.folder if settings.folder is None else Path(settings.folder)
    model = workflow.with_background(model, examples.positives, plan.training.seed)
    workflow.write_model(model, folder, classifier, record, 8 if plan.quantise else 32)
    text = json.dumps(record, indent=2) + "\n" if settings.as_json else workflow.table(report)
    output.write(text.encode())


def _check_model(model: Model) -> None:
    """Raise SettingsError for a model of shorter vectors, or of two languages exchanged."""
    from bitextfilter.models.folders import ModelName

    if (width := ModelName.parse(model.name).width) is not None:
        raise SettingsError(f"a classifier takes whole vectors; leave @{width} out of {model.name}")
    if model.exchanged and len(model.processor.known) == 2:
        own = ",".join(model.processor.known)
        raise SettingsError(
            f"a classifier of {model.folder.name} reads {own} in this order: --scol and --tcol"
            " exchange the columns"
        )


def _examples(run: Run, model: Model, settings: _Settings, plan: ClassifierConfig) -> Examples:
    """Read all files. Raises InputError if there are no translations."""
    from bitextfilter.training.classifier_training import Examples, choose_negatives

    right = [pair for path in settings.positives for pair in run.pairs(path)]
    if not right:
        raise InputError("no translations to learn from", file=settings.positives[0])
    nearly = [pair for path in settings.nearly for pair in run.pairs(path)]
    wrong = choose_negatives(model, right, _noisy_corpus(run, settings.noisy), plan)
    contrasts = [each for path in settings.contrasts for each in _contrasts(run, path)]
    graded = [graded_pairs(run, path) for path in settings.graded]
    text = [pair for path in settings.text for pair in run.pairs(path)]
    return Examples(right, wrong, nearly, contrasts, graded, text).apart()


def _contrasts(run: Run, path: str) -> Iterator[Contrast]:
    """Read the damaged pairs of a file, and the same without damage."""
    from bitextfilter.training.classifier_training import Contrast

    for row in graded_rows(run, path, "--contrasts", ("better source", "better target")):
        source, target, quality, *better = row.texts
        if [source, target] != better:
            yield Contrast((source, target), float(quality), (better[0], better[1]))


_MORE = ("nearly", "contrasts", "graded", "text")
"""Kinds of examples that may be given."""


def _noisy_corpus(
    run: Run, path: str | None
) -> Callable[[], Iterator[list[tuple[str, str]]]] | None:
    """A function that reads a file from its beginning; its rows are counted once."""
    if path is None:
        return None
    readings = count()

    def windows() -> Iterator[list[tuple[str, str]]]:
        for window in run.good_windows(file=path, again=next(readings) > 0):
            yield [(row.source, row.target) for row in window]

    return windows


def _plan(settings: _Settings, chosen: TrainingOptions) -> ClassifierConfig:
    """Return the configuration. Raises UsageError for options that do not go together."""
    from bitextfilter.training.classifier_training import ClassifierConfig, Negatives

    plan = ClassifierConfig.from_dict(
        chosen.values(),
        kind=settings.kind,
        negatives=Negatives.parse(settings.negatives),
        count=settings.count,
        quantise=settings.quantise,
        start=settings.start and Path(settings.start).name,
    )
    if (settings.noisy is None) != (plan.negatives.kind == "repaired"):
        raise click.UsageError("--noisy FILE goes with all --negatives but repaired")
    if (settings.folder is None) != settings.in_place:
        raise click.UsageError("say where the model goes: either -o FOLDER or --in-place")
    if settings.noisy == "-":
        raise click.UsageError("--noisy is read twice: it cannot be stdin")
    graded = tuple(weighted(text, "--graded")[0] for text in settings.graded)
    given = (settings.positives, settings.nearly, settings.contrasts, graded, settings.text)
    if [path for paths in given for path in paths].count("-") > 1:
        raise click.UsageError("only one file can be stdin")
    _check_effects(plan, settings)
    if settings.folder is not None:
        check_replaceable(Path(settings.folder))
    return plan


def _check_effects(plan: ClassifierConfig, settings: _Settings) -> None:
    """Raise UsageError for options that have no effect beside the others."""
    if settings.count is not None and plan.negatives.kind == "given":
        raise click.UsageError("--count has no effect with --negatives given, which takes all")
    if settings.text and plan.kind != "words":
        raise click.UsageError("--text has no effect without --kind words")
    if plan.training.start_share and settings.start is None:
        raise click.UsageError("training.start_share has no effect without --start")
    usual, quality = type(plan)(), plan.minor_error_quality
    weights = {
        "minor_error_quality": (quality or usual.minor_error_quality, usual.minor_error_quality),
        "training.logit_scale": (plan.training.logit_scale, usual.training.logit_scale),
        "training.logit_bias": (plan.training.logit_bias, usual.training.logit_bias),
    }
    for part in ("comparison_weight", "margin"):
        own, default = (getattr(each.training, part) for each in (plan, usual))
        if own != default and not settings.contrasts:
            raise click.UsageError(f"training.{part} has no effect without --contrasts FILE")
    for name, (value, default) in weights.items():
        if value != default and not (settings.nearly or settings.contrasts or settings.graded):
            raise click.UsageError(
                f"{name} has no effect without --nearly, --contrasts or --graded"
            )
        if value != default and name != "minor_error_quality" and not quality:
            raise click.UsageError(f"{name} has no effect without minor_error_quality above 0")
