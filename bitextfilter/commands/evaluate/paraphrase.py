"""``bitext-evaluate paraphrase``: paraphrase detection by sentence vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from bitextfilter.commands.evaluate.options import (
    RATED,
    Languages,
    bootstrap_options,
    language_option,
    measurement,
    signed,
)
from bitextfilter.commands.frame.options import ModelName, argument, as_column, option
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import REMEDY, Row, WantedColumn

if TYPE_CHECKING:
    from bitextfilter.evaluation.result import Bootstrap, Result
    from bitextfilter.scoring.model import Model
    from bitextfilter.training.labelled_pairs import LabelledVectors


@dataclass(frozen=True)
class _Settings:
    """Labels, languages and features."""

    file: str = argument("TEST")
    development: str = option(
        "--development FILE", "Labelled pairs to choose threshold and perceptron on.", required=True
    )
    label: int | str = option(
        "--label-column COLUMN", "Column of the labels: 1 for a paraphrase, or 0.", as_column, 1
    )
    features: str = option(
        "--features",
        "Features of the perceptron: both vectors, or also their differences and products.",
        ["concatenation", "products"],
        "concatenation",
    )
    language: Languages | None = language_option("source column", "target column")


@dataclass(frozen=True)
class _Pairs:
    """The labelled pairs of a file."""

    file: str
    labels: list[bool]
    sources: list[str]
    targets: list[str]


@measurement("paraphrase", _Settings, bootstrap_options(), RATED, ModelName)
def main(run: Run, settings: _Settings, bootstrap: Bootstrap) -> Result:
    """Measure how well the model's vectors separate paraphrases from other pairs.

    Rows of TEST are a label, 1 or 0, and two sentences. Decision rules, chosen on --development:

        majority  the label of most pairs, for every pair
        cosine    pairs whose cosine is at least the threshold of the highest accuracy
        mlp       a perceptron with one hidden layer of 200 units on both vectors

    A line for each, tab-separated: method, accuracy (0 to 1) and the ends of its 95 % interval,
    the same of F1 (of the paraphrases), pairs, paraphrases, signature. --seed is the perceptron's
    too. Memory holds both files and their vectors.

    Example:

        bitext-evaluate paraphrase --language en --development dev.tsv test.tsv
    """
    from bitextfilter.evaluation.pair_scoring import model_languages
    from bitextfilter.papers import paraphrases as detection

    names = settings.development, settings.file
    pairs = [_read(run, name, settings) for name in names]
    model = run.model()
    languages = model_languages(model, settings.language)
    vectors = [_encoded(run, model, each, languages) for each in pairs]
    run.facts["seed"] = bootstrap.seed
    plan = detection.DetectionConfig(settings.features, bootstrap.seed, bootstrap)
    try:
        found = list(detection.measure_detectors(vectors[0], pairs[0].sources, vectors[1], plan))
    except InputError as error:
        raise InputError(error.message, file=pairs[0].file) from error
    chosen = {**signed(settings.language), "model": model.digest}
    known = {"dev": len(pairs[0].labels), **chosen, **bootstrap.facts}
    facts = {"development": names[0], "file": names[1], "seed": bootstrap.seed}
    return detection.detection_result(found, known, facts)


def _label_fault(row: Row) -> tuple[str, str] | None:
    """Return the fault of a row whose label is neither 0 nor 1."""
    if row.texts[0] in ("0", "1"):
        return None
    remedy = f"--label-column says where labels are; {REMEDY}"
    return f"the label {row.texts[0]!r} is neither 0 nor 1", remedy


def _read(run: Run, file: str, settings: _Settings) -> _Pairs:
    """Read a file; InputError unless it has pairs of both kinds."""
    label = WantedColumn("label", "--label-column", settings.label)
    columns = replace(run.row_settings.columns, first=(label,))
    pairs = _Pairs(stream_name(file), [], [], [])
    for row in chain.from_iterable(run.good_windows(columns, file, _label_fault)):
        pairs.labels.append(row.texts[0] == "1")
        pairs.sources.append(row.texts[1])
        pairs.targets.append(row.texts[2])
    if len(set(pairs.labels)) < 2:
        found = f"every label is {pairs.labels[0]:d}" if pairs.labels else "no pairs"
        remedy = "pairs labelled 1 and pairs labelled 0 are needed"
        raise InputError(found, file=pairs.file, remedy=remedy)
    return pairs


def _encoded(run: Run, model: Model, pairs: _Pairs, languages: tuple[str, str]) -> LabelledVectors:
    """Encode both sides; warn of one that does not look like its language."""
    import numpy as np

    from bitextfilter.evaluation.pair_scoring import looks_foreign
    from bitextfilter.training.labelled_pairs import LabelledVectors

    sides = {"source": pairs.sources, "target": pairs.targets}
    for (name, side), language in zip(sides.items(), languages, strict=True):
        if looks_foreign(model, language, side):
            where = "(--language, --scol, --tcol)"
            run.warn(f"{pairs.file}: the {name} column does not look like {language} {where}")
    source, target = map(model.encode, sides.values(), languages)
    return LabelledVectors(source, target, np.array(pairs.labels, dtype=np.float32))
