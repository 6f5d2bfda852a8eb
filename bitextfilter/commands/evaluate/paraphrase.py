"""``bitext-evaluate paraphrase`` and ``lexicon``: paraphrases found, and differences explained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from bitextfilter.commands.evaluate.options import (
    RATED,
    Languages,
    language_option,
    measurement,
    signed,
)
from bitextfilter.commands.frame.options import (
    ModelOptions,
    argument,
    as_column,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Bootstrap, Result
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import REMEDY, Row, WantedColumn

if TYPE_CHECKING:
    from bitextfilter.papers.paraphrases import LexiconEntry
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


@measurement("paraphrase", _Settings, Bootstrap, RATED, ModelOptions)
def paraphrase(run: Run, settings: _Settings, bootstrap: Bootstrap) -> Result:
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


_PMI, _PROBABILITY = 3, 4
"""Columns of the scores, from 0, of six."""


@dataclass(frozen=True)
class _LexiconSettings:
    """The paraphrases, the lexicon, and the form of the result."""

    file: str = argument("PARAPHRASES")
    path: str = option(
        "--lexicon FILE", "Output of bitext-paraphrase lexicon, for other pairs.", required=True
    )


@measurement(
    "lexicon",
    _LexiconSettings,
    row_options("output texts errors"),
    Bootstrap,
    uses="batch_size",
)
def lexicon(run: Run, settings: _LexiconSettings, bootstrap: Bootstrap) -> Result:
    """Measure the differences between held-out PARAPHRASES that a lexicon explains.

    A word of a source that its target lacks is explained at rank k if one of its k best
    paraphrases is in the target: recall at 1, 5 and 10, in percent, 0 to 100, higher is better,
    with 95 % bootstrap intervals. Paraphrases are ranked by p(paraphrase|phrase), or by PMI. The
    baseline is the recall for sources with targets of other pairs, by --seed: common words
    explain some differences anywhere. Memory holds PARAPHRASES, and the lexicon's entries of
    single words.

    Writes a line for each order and rank, tab-separated: order, rank, recall, low, high, random,
    words, signature.

    Example:

        bitext-evaluate lexicon --lexicon lexicon.tsv held-out.tsv
    """
    from bitextfilter.papers.paraphrases import lexicon_result
    from bitextfilter.text.vocabulary import plain_words

    entries, file = _entries(run, settings.path), settings.file
    pairs = [(plain_words(source), plain_words(target)) for source, target in run.pairs(file)]
    if len(pairs) < 2:
        raise InputError("fewer than two pairs", file=stream_name(file))
    return lexicon_result(pairs, entries, bootstrap, file)


def _entries(run: Run, path: str) -> list[LexiconEntry]:
    """Return the entries of single words."""
    from bitextfilter.papers.paraphrases import LexiconEntry

    name, entries = stream_name(path), []
    for number, line in enumerate(run.input(path), 1):
        try:
            cells = line.decode().rstrip("\r\n").split("\t")
            scores = float(cells[_PROBABILITY]), float(cells[_PMI])
        except (UnicodeDecodeError, ValueError, IndexError) as error:
            message = "expected 6 columns, scores in the last three"
            remedy = "bitext-paraphrase lexicon writes them"
            raise InputError(message, file=name, line=number, remedy=remedy) from error
        if " " not in cells[0]:
            entries.append(LexiconEntry(cells[0], cells[1].split(), *scores))
    return entries
