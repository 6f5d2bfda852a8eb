"""``bitext-evaluate paraphrase``: how well vectors tell paraphrases from other pairs."""

from __future__ import annotations

import dataclasses
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.evaluate.options import (
    bootstrap_options,
    foreign,
    judged_row_options,
    language_option,
    languages_of,
    signed,
)
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import column, model_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import REMEDY, BadRow, ColumnPlace, Columns

if TYPE_CHECKING:
    from bitextfilter.evaluation.result import Record
    from bitextfilter.scoring.model import Model
    from bitextfilter.training.labelled_pairs import LabelledVectors


_LABELS = {"0": False, "1": True}


@dataclass(frozen=True)
class _Columns(Columns):
    """Where the label and the two sentences stand."""

    label: int | str = 1

    def wanted(self) -> tuple[ColumnPlace, ...]:
        """Return the label before the sides."""
        return (ColumnPlace("label", "--label-column", self.label), *super().wanted())


@dataclass(frozen=True)
class _Pairs:
    """The pairs of a file, and what they are."""

    file: str
    labels: array[int]
    sources: list[str]
    targets: list[str]


@command(
    "paraphrase",
    bootstrap_options(),
    language_option("source column", "target column"),
    judged_row_options(),
    model_options(),
)
@click.argument("file", metavar="TEST")
@click.option(
    "--development",
    required=True,
    metavar="FILE",
    help="Labelled pairs that threshold and perceptron are chosen on.",
)
@click.option(
    "--label-column",
    "label",
    type=column,
    default=1,
    show_default=True,
    metavar="COLUMN",
    help="Column of the labels: 1 for a paraphrase, 0 for none.",
)
@click.option(
    "--features",
    type=click.Choice(["concatenation", "products"]),
    default="concatenation",
    show_default=True,
    help="What the perceptron sees: both vectors, or also their differences and products.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def paraphrase(run: Run, file: str, development: str, as_json: bool, **choices: Any) -> None:
    """Measure how well the model's vectors tell paraphrases from other pairs.

    Rows of TEST are a label, 1 or 0, and two sentences. What decides is chosen on --development:

        majority  what most pairs are, said of every pair
        cosine    pairs whose cosine is at least the threshold of the highest accuracy
        mlp       a perceptron with one hidden layer of 200 units on both vectors

    A line for each, tab-separated: method, accuracy (0 to 1) and the ends of its 95 % interval,
    the same of F1 (of the paraphrases), pairs, paraphrases, signature. --seed is the perceptron's
    too. Memory holds both files and their vectors.

    Example:

        bitext-evaluate paraphrase --language en --development dev.tsv test.tsv
    """
    from bitextfilter.evaluation.result import Result, interval

    columns = run.row_settings.columns
    where = _Columns(columns.source, columns.target, label=choices["label"])
    output = run.output()
    pairs = {name: _read(run, name, where) for name in (development, file)}
    records = _measure(run, (pairs[development], pairs[file]), choices)
    facts = {"development": development, "file": file, "seed": choices["seed"]}
    shown = {"method": "", **interval("accuracy", "f1", form=".4f")}
    shown |= dict.fromkeys(("pairs", "paraphrases", "signature"), "")
    output.write(Result("paraphrase", shown, {"results": records}, facts).text(as_json))


def _read(run: Run, file: str, where: _Columns) -> _Pairs:
    """Read a file; InputError unless it has pairs of both kinds."""
    run.row_settings = dataclasses.replace(run.row_settings, input=file)
    pairs = _Pairs(stream_name(file), array("b"), [], [])
    reader = run.rows(where)
    for window in run.windows(reader):
        for row in window:
            if isinstance(row, BadRow):
                continue
            label, source, target = row.texts
            if label not in _LABELS:
                problem = f"the label {label!r} is neither 0 nor 1"
                remedy = f"--label-column says where labels are; {REMEDY}"
                run.reject(BadRow(row.number, row.line, row.ending, problem, remedy, reader.name))
                continue
            pairs.labels.append(_LABELS[label])
            pairs.sources.append(source)
            pairs.targets.append(target)
    if len(set(pairs.labels)) < 2:
        found = f"every label is {pairs.labels[0]}" if pairs.labels else "no pairs"
        remedy = "pairs labelled 1 and pairs labelled 0 are needed"
        raise InputError(found, file=pairs.file, remedy=remedy)
    return pairs


def _measure(run: Run, sets: tuple[_Pairs, _Pairs], choices: dict[str, Any]) -> list[Record]:
    """Return the figures of each method, with its facts and its signature."""
    from bitextfilter.evaluation.filtering import Bootstrap
    from bitextfilter.evaluation.result import signature
    from bitextfilter.workflows.paraphrase_detection import DetectionConfig, measure_detectors

    model = run.model()
    languages = languages_of(model, choices["language"])
    development, test = (_encoded(run, model, pairs, languages) for pairs in sets)
    seed: int = choices["seed"]
    plan = DetectionConfig(choices["features"], seed, Bootstrap(choices["resamples"], seed))
    run.facts["seed"] = seed
    made: dict[str, str | float] = {
        "dev": len(sets[0].labels),
        **signed(choices["language"]),
        "model": model.digest,
        **plan.bootstrap.facts,
    }
    try:
        results = list(measure_detectors(development, sets[0].sources, test, plan))
    except SettingsError as error:
        raise InputError(str(error), file=sets[0].file) from error
    return [
        {
            "method": name,
            **dataclasses.asdict(found),
            **facts,
            "signature": signature(
                f"accuracy = {found.accuracy.value:.4f}",
                n=found.pairs,
                paraphrases=found.paraphrases,
                by=name,
                **{fact: f"{v:.4f}" if isinstance(v, float) else v for fact, v in facts.items()},
                **made,
            ),
        }
        for name, found, facts in results
    ]


def _encoded(run: Run, model: Model, pairs: _Pairs, languages: tuple[str, str]) -> LabelledVectors:
    """Encode both sides; warn of one that does not look like its language."""
    import numpy as np

    from bitextfilter.training.labelled_pairs import LabelledVectors

    sides = {"source": pairs.sources, "target": pairs.targets}
    for (name, side), language in zip(sides.items(), languages, strict=True):
        if foreign(model, language, side):
            where = "(--language, --scol, --tcol)"
            run.warn(f"{pairs.file}: the {name} column does not look like {language} {where}")
    source, target = map(model.encode, sides.values(), languages)
    return LabelledVectors(source, target, np.array(pairs.labels, dtype=np.float32))
