"""``bitext-evaluate corpus``: statistics of the sentences of corpora."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.evaluate.rows import full_windows
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import column, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import ColumnPlace, Columns, number_of

if TYPE_CHECKING:
    from bitextfilter.evaluation.corpus_statistics import CorpusTally


@dataclass(frozen=True)
class _Columns(Columns):
    """Where the sentences stand, and after them the score if there is one."""

    blank: bool = True
    sentence: int | str | None = None
    score: int | str | None = None

    @property
    def sides(self) -> tuple[ColumnPlace, ...]:
        """The columns of sentences: both sides, or one column."""
        if self.sentence is None:
            return super().wanted()
        return (ColumnPlace("sentence", "--column", self.sentence),)

    def wanted(self) -> tuple[ColumnPlace, ...]:
        """Return the sides and the score."""
        if self.score is None:
            return self.sides
        return (*self.sides, ColumnPlace("score", "--score-column", self.score))


class _Scores:
    """The mean of the scores that there are."""

    def __init__(self) -> None:
        self._sum, self._count = 0.0, 0

    def add(self, score: float) -> None:
        self._sum += score
        self._count += 1

    @property
    def mean(self) -> float | None:
        return self._sum / self._count if self._count else None


@command("corpus", [option for option in row_options() if option.name != "input"], uses="rows")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--column",
    "sentence",
    type=column,
    metavar="COLUMN",
    help="Read this one column, not both sides; 1 of a plain text.",
)
@click.option(
    "--score-column",
    "score",
    type=column,
    metavar="COLUMN",
    help="Also take the mean of the numbers in this column.",
)
@click.option(
    "--unit",
    type=click.Choice(["tokens", "words", "characters"]),
    default="tokens",
    show_default=True,
    help="What is counted; tokens are words, and punctuation marks apart.",
)
@click.option(
    "--lowercase/--keep-case", default=True, show_default=True, help="Lower-case text, or not."
)
@click.option(
    "--idf-from", metavar="FILE", help="Take the IDF of tokens from FILE, of the same columns."
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def corpus(run: Run, files: tuple[str, ...], as_json: bool, **choices: Any) -> None:
    """Describe the sentences of each FILE by their tokens.

    A line for each side of each FILE, tab-separated: file, side, sentences, tokens, vocabulary
    (distinct tokens), and

        length              mean number of tokens of a sentence
        idf                 mean over tokens of ln(N / df): df of N sentences have the token
        entropy             of the distribution of tokens, in bits
        trigram_entropy     of that of three tokens in a row, in bits
        repetition          % of the tokens of 3 characters and more that their sentence
                            has had before
        trigram_repetition  % of the trigrams that their sentence has had before
        score               mean score, with --score-column

    then a signature. Where nothing is there to be counted, a cell is empty. Text is normalised
    as for a model. Memory holds each distinct token (some 180 bytes) and trigram (up to 75).

    Example:

        bitext-evaluate corpus --score-column -1 europarl.tsv.gz news.tsv.gz
        bitext-evaluate corpus --column 1 --idf-from news.txt talks.txt
    """
    from bitextfilter.evaluation.result import Result, signature

    columns = run.row_settings.columns
    where = _Columns(
        columns.source, columns.target, sentence=choices["sentence"], score=choices["score"]
    )
    if [*files, choices["idf_from"]].count("-") > 1:
        raise click.UsageError("only one file can be stdin")
    output = run.output()
    records, facts = _records(run, files, where, choices), _facts(choices)
    shown = dict.fromkeys((*records[0], "signature"), ".4f")
    facts["signature"] = signature(**facts)
    output.write(Result("corpus", shown, {"results": records}, facts, "").text(as_json))


def _records(
    run: Run, files: tuple[str, ...], where: _Columns, choices: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the statistics of each side of each file."""
    reference: list[CorpusTally] | list[None] = [None] * len(where.sides)
    if choices["idf_from"] is not None:
        reference = _tallies(run, choices["idf_from"], where, choices)[0]
    records = []
    for file in files:
        tallies, scores = _tallies(run, file, where, choices)
        mean = {} if where.score is None else {"score": scores.mean}
        for side, tally, other in zip(where.sides, tallies, reference, strict=True):
            figures = dataclasses.asdict(tally.statistics(other))
            records.append({"file": file, "side": side.name, **figures, **mean})
    return records


def _facts(choices: dict[str, Any]) -> dict[str, str]:
    """Return what the figures depend on."""
    case = "lower" if choices["lowercase"] else "kept"
    return {
        "unit": choices["unit"],
        "case": case,
        "idf": choices["idf_from"] or "own",
    }


def _tallies(
    run: Run, file: str, where: _Columns, choices: dict[str, Any]
) -> tuple[list[CorpusTally], _Scores]:
    """Count the tokens of each side of *file*, and its scores. InputError if it has no rows."""
    from bitextfilter.evaluation.corpus_statistics import CorpusTally
    from bitextfilter.text.units import WORD_MARK, TokenUnits

    units = TokenUnits(choices["unit"], choices["lowercase"])

    def tokens(sentence: str) -> list[str]:
        return [token for token in units(sentence) if token != WORD_MARK]

    sides = len(where.sides)
    tallies = [CorpusTally(tokens if units.unit == "characters" else units) for _ in range(sides)]
    scores = _Scores()
    run.row_settings = dataclasses.replace(run.row_settings, input=file)
    for window in full_windows(run, run.rows(where), where.sides):
        for place, tally in enumerate(tallies):
            tally.add([row.texts[place] for row in window])
        for row in window if where.score is not None else ():
            score = number_of(row.texts[sides].encode())
            if isfinite(score):
                scores.add(score)
            else:
                run.counts["without a score"] += 1
    if not tallies[0].sentences:
        raise InputError("no rows", file=stream_name(file))
    return tallies, scores
