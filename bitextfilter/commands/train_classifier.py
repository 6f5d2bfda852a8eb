"""``bitext-train-classifier``: teach a model which pairs are translations."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.classifier_table import table
from bitextfilter.commands.frame import Run, command, model_options, row_options
from bitextfilter.commands.pair_files import NoisyCorpus, pairs_of
from bitextfilter.commands.training_options import said
from bitextfilter.errors import InputError

if TYPE_CHECKING:
    from bitextfilter.workflows.classifier_training import ClassifierPlan

__all__ = ["main"]

_ROW_OPTIONS = [option for option in row_options() if option.name not in ("input", "output")]
_DEFAULTS: dict[str, dict[str, float]] = {
    "sentences": {"hidden": 512, "epochs": 20, "vector_noise": 1.5, "batch_size": 256},
    "words": {"hidden": 256, "epochs": 3, "vector_noise": 1.0, "batch_size": 128},
}
_FRACTION = click.FloatRange(0, 1, max_open=True)


@command("bitext-train-classifier", _ROW_OPTIONS, model_options())
@click.argument("positives", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", "folder", metavar="FOLDER", help="The new model's folder.")
@click.option("--in-place", is_flag=True, help="Write into the model's own folder.")
@click.option("--noisy", metavar="FILE", help="Noisy pairs: where negatives come from.")
@click.option(
    "--negatives",
    default="worst",
    show_default=True,
    metavar="worst[:P%]|random|repaired|given",
    help="Of --noisy: the worst by cosine (of its best P %), random ones, or all; "
    "or the translations re-paired.",
)
@click.option(
    "--count",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many negatives; not with given.  [default: one for each translation]",
)
@click.option(
    "--nearly",
    multiple=True,
    metavar="FILE",
    help="Pairs with a small mistake, which is a question of its own; may be repeated.",
)
@click.option(
    "--worth",
    type=click.FloatRange(0, 0.5, max_open=True),
    default=0.01,
    show_default=True,
    help="What those of --nearly are to score.",
)
@click.option(
    "--sharpness",
    type=click.FloatRange(0, min_open=True),
    default=1.6,
    show_default=True,
    help="With --nearly: how much more whether a pair is a translation at all is to count.",
)
@click.option(
    "--lenience",
    type=float,
    default=1.5,
    show_default=True,
    help="With --nearly: how far doubts about that are forgiven; 0 for text as in training.",
)
@click.option(
    "--kind",
    type=click.Choice(["sentences", "words"]),
    default="sentences",
    show_default=True,
    help="What it reads: sentences by their vectors (fast), or word by word (finer).",
)
@click.option(
    "--features",
    type=click.Choice(["products", "concatenation"]),
    default="products",
    show_default=True,
    help="Of sentences: both vectors, without or with their difference and product.",
)
@click.option(
    "--width",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="Of words: units of a word in its context.",
)
@click.option(
    "--hidden",
    type=click.IntRange(min=1),
    help="Units of a hidden layer.  [default: 512, of words 256]",
)
@click.option(
    "--surface/--no-surface",
    default=True,
    show_default=True,
    help="Of sentences: describe length, figures, names and spelling beside the vector.",
)
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    help="At most so many times over the pairs.  [default: 20, of words 3]",
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=0.001,
    show_default=True,
    help="Of Adam.",
)
@click.option(
    "--weight-decay",
    type=click.FloatRange(0),
    default=0.01,
    show_default=True,
    help="Of Adam, decoupled.",
)
@click.option(
    "--vector-noise",
    type=click.FloatRange(0),
    help="Noise on the vectors in training, at most so many times as long as they are."
    "  [default: 1.5, of words 1]",
)
@click.option(
    "--label-smoothing",
    type=_FRACTION,
    default=0.02,
    show_default=True,
    help="Part of the labels' certainty that is taken away.",
)
@click.option(
    "--calibrate/--no-calibrate", default=True, show_default=True, help="Fit a temperature, or not."
)
@click.option("--quantise", is_flag=True, help="Keep its matrices as int8: a quarter of the size.")
@click.option(
    "--held-out",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Part of the pairs to measure on.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of everything."
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def main(run: Run, positives: tuple[str, ...], as_json: bool, **choices: Any) -> None:
    """Train a classifier of pairs on the translations in the FILEs, for the score mlp.

    The model gets a network over the vectors of both sentences, or of all their words, and a
    score from 0 to 1: how surely they are good translations. One part of the pairs is held
    out, and accuracy, AUC, calibration error and the scores' distribution over it are written,
    tab-separated: before and after a temperature is fitted. Memory holds the pairs used and their
    vectors.

    Example:

        bitext-train-classifier --noisy crawl.tsv.gz --negatives worst:60% -o my-model clean.tsv
    """
    from bitextfilter.models.checkpoint import check_replaceable
    from bitextfilter.workflows import classifier_training as workflow

    plan, noisy = _plan(choices), choices["noisy"]
    _check_together(plan, {**choices, "positives": positives})
    if choices["folder"] is not None:
        check_replaceable(Path(choices["folder"]))
    output, model = run.output("-"), run.model()
    right = [pair for path in positives for pair in pairs_of(run, path)]
    if not right:
        raise InputError("no translations to learn from", file=positives[0])
    nearly = [pair for path in choices["nearly"] for pair in pairs_of(run, path)]
    corpus = None if noisy is None else NoisyCorpus(run, noisy)
    wrong = workflow.choose_negatives(model, right, corpus, plan)
    examples = workflow.Examples(right, wrong, nearly).apart()
    run.counts.update(positives=len(right), negatives=len(examples.negatives))
    if choices["nearly"]:
        run.counts["nearly"] = len(examples.nearly)
    run.facts["seed"] = plan.training.seed
    classifier, report = workflow.train_on_pairs(model, examples, plan, _notifier(run))
    record = workflow.described(plan, report, examples)
    folder = model.folder if choices["in_place"] else Path(choices["folder"])
    workflow.write_model(model, folder, classifier, record, plan.quantise)
    output.write((json.dumps(record, indent=2) + "\n" if as_json else table(report)).encode())


def _check_together(plan: ClassifierPlan, choices: dict[str, Any]) -> None:
    """Raise UsageError for options that do not go together."""
    noisy = choices["noisy"]
    if (noisy is None) != (plan.negatives.kind == "repaired"):
        raise click.UsageError("--noisy FILE goes with all --negatives but repaired")
    if (choices["folder"] is None) != choices["in_place"]:
        raise click.UsageError("say where the model goes: either -o FOLDER or --in-place")
    if noisy == "-":
        raise click.UsageError("--noisy is read twice: it cannot be stdin")
    if [*choices["positives"], *choices["nearly"]].count("-") > 1:
        raise click.UsageError("only one file can be stdin")
    _check_effects(plan, choices)


def _check_effects(plan: ClassifierPlan, choices: dict[str, Any]) -> None:
    """Raise UsageError for options that have no effect beside the others."""
    kind = choices["kind"]
    if choices["count"] is not None and plan.negatives.kind == "given":
        raise click.UsageError("--count has no effect with --negatives given, which takes all")
    for name in ("worth", "sharpness", "lenience"):
        if said(name) and not choices["nearly"]:
            raise click.UsageError(f"--{name} goes with --nearly FILE")
        if said(name) and name != "worth" and not plan.worth:
            raise click.UsageError(f"--{name} goes with a --worth above 0")
    for name in {"sentences": ["width"], "words": ["features", "surface"]}[kind]:
        if said(name):
            raise click.UsageError(f"--{name} is not for --kind {kind}")


def _plan(choices: dict[str, Any]) -> ClassifierPlan:
    """Return the settings that the options make."""
    from bitextfilter.training.classifier import ClassifierTraining
    from bitextfilter.training.negatives import Negatives
    from bitextfilter.workflows.classifier_training import ClassifierPlan

    given = {**_DEFAULTS[choices["kind"]], **{n: v for n, v in choices.items() if v is not None}}
    given["negatives"] = Negatives.parse(choices["negatives"])
    given["training"] = ClassifierTraining(**_fields(ClassifierTraining, given))
    return ClassifierPlan(**_fields(ClassifierPlan, given))


def _fields(settings: type[Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return what is given of some settings."""
    names = {field.name for field in dataclasses.fields(settings)}
    return {name: value for name, value in given.items() if name in names}


def _notifier(run: Run) -> Callable[[int, float], None]:
    def notify(epoch: int, loss: float) -> None:
        run.note(f"epoch {epoch}: tuning loss {loss:.4f}")

    return notify
