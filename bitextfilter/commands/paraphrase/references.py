"""``bitext-paraphrase train``, ``score``, ``analyse``: references and machine translations."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.evaluate.options import measurement
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    DIGITS,
    argument,
    as_column,
    json_flag,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    TrainingOptions,
    embeddings_option,
    run_environment,
    training_settings,
)
from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Result, signature
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import SIDES, BadRow, TextColumn, number_of, optional
from bitextfilter.models.folders import model_digest

if TYPE_CHECKING:
    from bitextfilter.papers.corpus_statistics import Comparison


@dataclass(frozen=True)
class _Training:
    """The pairs, the new model, and the form of its figures."""

    files: tuple[str, ...] = argument("FILE...", nargs=-1, required=True)
    folder: str = option("-o --output DIR", "The new model.", required=True)
    architecture: str | None = option(
        "--architecture",
        "An LSTM's last state, or the mean of the token vectors.  [default: lstm]",
        ["lstm", "averaging"],
    )
    embeddings: Path | None = embeddings_option()
    as_json: bool = json_flag()


@command(
    "train",
    _Training,
    row_options("texts errors"),
    training_settings("papers.references.ReferenceConfig"),
    uses="threads device",
)
def train(run: Run, settings: _Training, chosen: TrainingOptions) -> None:
    """Train a classifier of references and machine translations.

    Reads pairs of a reference (--scol) and a machine translation of the same sentence (--tcol), as
    bitext-paraphrase make writes them; rows of one reference are its K best. The references
    are split by --seed: one part is measured on (training.held_out), as many choose the epoch, the
    rest is trained on. Written is a line for each class and one for both, tab-separated: class,
    accuracy in percent, sentences. In the two parts held out, the first translation of each
    reference counts. All text is held in memory.

    Example:

        bitext-paraphrase train -o references paraphrases.tsv
        bitext-paraphrase train --set training.negatives=hardest --architecture averaging \\
            -o references ten.tsv
    """
    from bitextfilter.papers.references import ReferenceConfig, train_references

    config = ReferenceConfig.from_dict(chosen.values(settings.architecture))
    environment = run_environment(run, "error {:.2f} %", output=settings.folder)
    output, data = run.output("-"), _read(run, settings.files)
    run.facts["seed"] = config.training.seed
    run.counts["references"] = len(data)
    record = train_references(data, config, environment, settings.embeddings)
    text = json.dumps(record, indent=2) + "\n" if settings.as_json else _table(record)
    output.write(text.encode())


def _read(run: Run, files: tuple[str, ...]) -> dict[str, list[str]]:
    """Return each distinct reference with its distinct translations, in their order."""
    if files.count("-") > 1:
        raise click.UsageError("only one file can be stdin")
    data: dict[str, dict[str, None]] = {}
    for reference, translation in (pair for file in files for pair in run.pairs(file)):
        data.setdefault(reference, {})[translation] = None
    if not data:
        raise InputError("no rows", file=stream_name(files[0]))
    return {reference: list(found) for reference, found in data.items()}


def _table(record: dict[str, Any]) -> str:
    test = record["test"]
    lines = ["class\taccuracy\tsentences\n"]
    for name, times in (("references", 1), ("translations", 1), ("total", 2)):
        lines.append(f"{name}\t{test[name]:.2f}\t{times * test['sentences']}\n")
    return "".join(lines)


@dataclass(frozen=True)
class _Scoring:
    """The model, the column of sentences, and the form of the probability."""

    model: str = option("--model DIR", "The folder of bitext-paraphrase train.", required=True)
    where: int | str = option(
        "--column COLUMN", "Column of sentences: a number (-1 the last) or a name.", as_column, 2
    )
    digits: int = option("--digits", "Decimals of the probability.", DIGITS, 4)


@command("score", _Scoring, row_options("input output header errors"))
def score(run: Run, settings: _Scoring) -> None:
    """Append the probability that a sentence is a reference, not a machine translation: 0 to 1.

    One line for each line of the input, in the same order. A rejected row has an empty
    probability. A probability depends on its sentence and the model alone. Memory is bounded by
    --batch-size.

    Example:

        bitext-paraphrase score --model references < paraphrases.tsv > scored.tsv
    """
    from bitextfilter.encoders.reference_classifier import load_reference_classifier

    reader, output = run.rows(TextColumn(settings.where)), run.output()
    folder = Path(settings.model)
    classifier = load_reference_classifier(folder, run.common.device, run.common.threads)
    run.facts.update(model=folder.name, digest=model_digest(folder))
    output.write(reader.first_line(["p_reference"]))
    for window in run.windows(reader):
        sentences = [row.text for row in window if not isinstance(row, BadRow)]
        found = iter(classifier.probabilities(sentences).tolist())
        for row in window:
            cell = "" if isinstance(row, BadRow) else f"{next(found):.{settings.digits}f}"
            output.write(row.line + b"\t" + cell.encode() + row.ending)


@dataclass(frozen=True)
class _Analysis:
    """The column of probabilities, and the form of the result."""

    probability: int | str | None = option(
        "--probability COLUMN", "Column of the probability of being a reference.", as_column
    )


@measurement("analyse", _Analysis, row_options(), uses="batch_size")
def analyse(run: Run, settings: _Analysis) -> Result:
    """Compare references and machine translations: variety, repetition, rarity, length.

    Reads pairs of a reference (--scol) and a translation (--tcol). A line for each figure,
    tab-separated: name, value of all references, value of all translations, the difference
    (references - translations), and with --probability also Spearman's correlation x 100 of
    that column with the figure over the translations, and their number:

        entropy             of the distribution of tokens, in bits
        trigram_entropy     of the distribution of trigrams of tokens, in bits
        repetition          % of the tokens of 3 characters and more that their sentence
                            has had before
        trigram_repetition  % of the trigrams that their sentence has had before
        idf                 mean over tokens of ln(N / df): df of N sentences have the token
        length              mean number of tokens

    then a signature. Text is lower-cased; punctuation marks are tokens. A cell without a value is
    empty. Memory holds each distinct token (some 330 bytes) and trigram (up
    to 75) a side, and with --probability 4 bytes a token.

    Example:

        bitext-paraphrase analyse < paraphrases.tsv
        bitext-paraphrase analyse --probability -1 < scored.tsv
    """
    figures = _figures(run, settings.probability)
    records = [{"figure": name, **values} for name, values in figures.items()]
    pairs = run.counts["rows"] - run.counts["rejected"]
    facts = {"signature": signature(unit="tokens", case="lower", pairs=pairs)}
    shown = dict.fromkeys((*records[0], "signature"), ".4f")
    return Result("analyse", shown, {"results": records}, facts, "")


def _figures(run: Run, probability: int | str | None) -> dict[str, Comparison]:
    """Return the figures by name."""
    from bitextfilter.papers import corpus_statistics as statistics
    from bitextfilter.text.words import TokenUnits

    units = TokenUnits("tokens")
    tallies = statistics.CorpusTally(units), statistics.CorpusTally(units)
    single, probabilities = statistics.SentenceTally(units), array("d")
    columns = replace(
        run.row_settings.columns,
        blank=True,
        last=optional("probability", "--probability", probability),
    )
    for window in run.good_windows(columns, None, columns.blank_fault(*SIDES)):
        for place, tally in enumerate(tallies):
            tally.add([row.texts[place] for row in window])
        if probability is not None:
            single.add([row.target for row in window])
            probabilities.extend(number_of(row.texts[2].encode()) for row in window)
    if not tallies[0].sentences:
        raise InputError("no rows", file=run.row_settings.names[0])
    figures = statistics.compare_corpora(*tallies)
    if probability is not None:
        statistics.add_correlations(figures, probabilities, single.figures())
        run.counts["without a probability"] = sum(not isfinite(each) for each in probabilities)
    return figures
