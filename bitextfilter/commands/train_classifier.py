"""``bitext-train-classifier``: teach a model which pairs are translations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import model_options, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    NoisyCorpus,
    TrainingReporter,
    pairs_of,
    settings_options,
    settings_values,
)
from bitextfilter.errors import InputError

if TYPE_CHECKING:
    from bitextfilter.workflows.classifier_training import ClassifierConfig


_ROW_OPTIONS = [option for option in row_options() if option.name not in ("input", "output")]


@command(
    "bitext-train-classifier",
    _ROW_OPTIONS,
    settings_options("workflows.classifier_training.ClassifierConfig"),
    model_options(),
)
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
    help="Pairs with a minor error (trained as a separate output); may be repeated.",
)
@click.option(
    "--kind",
    type=click.Choice(["sentences", "words"]),
    default="sentences",
    show_default=True,
    help="Input of the classifier: sentence vectors (fast), or all words (finer).",
)
@click.option("--quantise", is_flag=True, help="Keep its matrices as int8: a quarter of the size.")
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
    from bitextfilter.models.folders import check_replaceable
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
    reporter = TrainingReporter(run, "tuning loss {:.4f}")
    classifier, report = workflow.train_on_pairs(model, examples, plan, reporter)
    record = workflow.described(plan, report, examples)
    folder = model.folder if choices["in_place"] else Path(choices["folder"])
    workflow.write_model(model, folder, classifier, record, plan.quantise)
    from bitextfilter.workflows.classifier_training import table

    output.write((json.dumps(record, indent=2) + "\n" if as_json else table(report)).encode())


def _check_together(plan: ClassifierConfig, choices: dict[str, Any]) -> None:
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


def _check_effects(plan: ClassifierConfig, choices: dict[str, Any]) -> None:
    """Raise UsageError for options that have no effect beside the others."""
    if choices["count"] is not None and plan.negatives.kind == "given":
        raise click.UsageError("--count has no effect with --negatives given, which takes all")
    usual, quality = type(plan)(), plan.minor_error_quality
    weights = {
        "minor_error_quality": (quality or usual.minor_error_quality, usual.minor_error_quality),
        "training.logit_scale": (plan.training.logit_scale, usual.training.logit_scale),
        "training.logit_bias": (plan.training.logit_bias, usual.training.logit_bias),
    }
    for name, (value, default) in weights.items():
        if value != default and not choices["nearly"]:
            raise click.UsageError(f"{name} has no effect without --nearly FILE")
        if value != default and name != "minor_error_quality" and not quality:
            raise click.UsageError(f"{name} has no effect without minor_error_quality above 0")


def _plan(choices: dict[str, Any]) -> ClassifierConfig:
    """Return the settings, and which pairs are negatives."""
    from bitextfilter.training.negatives import Negatives
    from bitextfilter.workflows.classifier_training import ClassifierConfig

    return ClassifierConfig.from_dict(
        settings_values(choices),
        kind=choices["kind"],
        negatives=Negatives.parse(choices["negatives"]),
        count=choices["count"],
        quantise=choices["quantise"],
    )
