"""``bitext-evaluate paraphrase``: how well vectors tell paraphrases from other pairs."""

from __future__ import annotations

import dataclasses
import json
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bitextfilter import __version__
from bitextfilter.commands.evaluations.languages import (
    foreign,
    language_option,
    languages_of,
    signed,
)
from bitextfilter.commands.evaluations.settings import bootstrap_options, judged_row_options
from bitextfilter.commands.frame import Run, column, command, model_options
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.columns import Columns, Wanted
from bitextfilter.io.files import stream_name
from bitextfilter.io.parser import REMEDY
from bitextfilter.io.rows import BadRow

if TYPE_CHECKING:
    from bitextfilter.evaluation.paraphrase import Detection
    from bitextfilter.scoring.model import Model
    from bitextfilter.training.labelled_vectors import LabelledVectors
    from bitextfilter.workflows.paraphrase_detection import Facts

__all__ = ["paraphrase"]

_LABELS = {"0": False, "1": True}


@dataclass(frozen=True)
class _Columns(Columns):
    """Where the label and the two sentences stand."""

    label: int | str = 1

    def wanted(self) -> tuple[Wanted, ...]:
        """Return the label before the sides."""
        return (Wanted("label", "--label-column", self.label), *super().wanted())


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
    columns = run.row_settings.columns
    where = _Columns(columns.source, columns.target, label=choices["label"])
    output = run.output()
    pairs = {name: _read(run, name, where) for name in (development, file)}
    results = _measure(run, (pairs[development], pairs[file]), choices)
    made = {"development": development, "file": file, "seed": choices["seed"]}
    output.write((_json(made, results) if as_json else _table(results)).encode())


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


Results = list[tuple[str, "Detection", "Facts", str]]


def _measure(run: Run, sets: tuple[_Pairs, _Pairs], choices: dict[str, Any]) -> Results:
    """Return the figures of each method, with its facts and its signature."""
    from bitextfilter.evaluation.bootstrap import Bootstrap
    from bitextfilter.evaluation.paraphrase import signature
    from bitextfilter.workflows.paraphrase_detection import DetectionPlan, measure_detectors

    model = run.model()
    languages = languages_of(model, choices["language"])
    development, test = (_encoded(run, model, pairs, languages) for pairs in sets)
    seed: int = choices["seed"]
    plan = DetectionPlan(choices["features"], seed, Bootstrap(choices["resamples"], seed))
    run.facts["seed"] = seed
    made = {
        "dev": len(sets[0].labels),
        **signed(choices["language"]),
        "model": model.digest,
        "boot": choices["resamples"],
        "seed": seed,
        "v": __version__,
    }
    try:
        results = list(measure_detectors(development, sets[0].sources, test, plan))
    except SettingsError as error:
        raise InputError(str(error), file=sets[0].file) from error
    return [
        (name, found, facts, signature(found, by=name, **facts, **made))
        for name, found, facts in results
    ]


def _encoded(run: Run, model: Model, pairs: _Pairs, languages: tuple[str, str]) -> LabelledVectors:
    """Encode both sides; warn of one that does not look like its language."""
    import numpy as np

    from bitextfilter.training.labelled_vectors import LabelledVectors

    sides = {"source": pairs.sources, "target": pairs.targets}
    for (name, side), language in zip(sides.items(), languages, strict=True):
        if foreign(model, language, side):
            where = "(--language, --scol, --tcol)"
            run.warn(f"{pairs.file}: the {name} column does not look like {language} {where}")
    source, target = map(model.encode, sides.values(), languages)
    return LabelledVectors(source, target, np.array(pairs.labels, dtype=np.float32))


def _table(results: Results) -> str:
    figures = [f"{name}{end}" for name in ("accuracy", "f1") for end in ("", "_low", "_high")]
    rows = [["method", *figures, "pairs", "paraphrases", "signature"]]
    for name, found, _facts, line in results:
        numbers = [f"{number:.4f}" for number in (*found.accuracy, *found.f1)]
        rows.append([name, *numbers, str(found.pairs), str(found.paraphrases), line])
    return "".join("\t".join(row) + "\n" for row in rows)


def _json(made: dict[str, Any], results: Results) -> str:
    records = [
        {
            "method": name,
            "accuracy": found.accuracy._asdict(),
            "f1": found.f1._asdict(),
            "pairs": found.pairs,
            "paraphrases": found.paraphrases,
            **facts,
            "signature": line,
        }
        for name, found, facts, line in results
    ]
    whole = {"task": "paraphrase", **made, "results": records}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"
