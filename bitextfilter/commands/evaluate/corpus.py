"""``bitext-evaluate corpus``: statistics of the sentences of corpora."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.evaluate.options import measurement
from bitextfilter.commands.frame.options import argument, as_column, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Result, signature
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import SIDES, number_of, optional

if TYPE_CHECKING:
    from bitextfilter.papers.corpus_statistics import CorpusTally


@dataclass(frozen=True)
class _Settings:
    """The columns to read, and the units to count."""

    files: tuple[str, ...] = argument("FILE...", nargs=-1, required=True)
    sentence: int | str | None = option(
        "--column COLUMN", "Read this one column, not both sides; 1 of a plain text.", as_column
    )
    score: int | str | None = option(
        "--score-column COLUMN", "Also take the mean of the numbers in this column.", as_column
    )
    unit: str = option(
        "--unit",
        "Unit counted; tokens are words and single punctuation marks.",
        ["tokens", "words", "characters"],
        "tokens",
    )
    lowercase: bool = option("--lowercase/--keep-case", "Lower-case text, or not.", default=True)
    idf_from: str | None = option(
        "--idf-from FILE", "Take the IDF of tokens from FILE, of the same columns."
    )

    @property
    def sides(self) -> tuple[str, ...]:
        """The names of the columns of sentences."""
        return SIDES if self.sentence is None else ("sentence",)

    @property
    def facts(self) -> dict[str, str]:
        """The facts of the signature."""
        case = "lower" if self.lowercase else "kept"
        return {"unit": self.unit, "case": case, "idf": self.idf_from or "own"}


@measurement("corpus", _Settings, row_options("output texts errors"), uses="batch_size")
def corpus(run: Run, settings: _Settings) -> Result:
    """Describe the sentences of each FILE by their tokens.

    A line for each side of each FILE, tab-separated: file, side, sentences, tokens, vocabulary
    (distinct tokens), and

        length              mean number of tokens of a sentence
        idf                 mean over tokens of ln(N / df): df of N sentences have the token
        entropy             of the distribution of tokens, in bits
        trigram_entropy     of the distribution of trigrams of tokens, in bits
        repetition          % of the tokens of 3 characters and more that their sentence
                            has had before
        trigram_repetition  % of the trigrams that their sentence has had before
        score               mean score, with --score-column

    then a signature. A cell without a value is empty. Text is normalised
    as for a model. Memory holds each distinct token (some 180 bytes) and trigram (up to 75).

    Example:

        bitext-evaluate corpus --score-column -1 europarl.tsv.gz news.tsv.gz
        bitext-evaluate corpus --column 1 --idf-from news.txt talks.txt
    """
    if [*settings.files, settings.idf_from].count("-") > 1:
        raise click.UsageError("only one file can be stdin")
    facts, records = settings.facts, _records(run, settings)
    shown = dict.fromkeys((*records[0], "signature"), ".4f")
    facts["signature"] = signature(**facts)
    return Result("corpus", shown, {"results": records}, facts, "")


def _records(run: Run, settings: _Settings) -> list[dict[str, Any]]:
    """Return the statistics of each side of each file."""
    reference: list[CorpusTally] | list[None] = [None] * len(settings.sides)
    if settings.idf_from is not None:
        reference = _tallies(run, settings.idf_from, settings)[0]
    records = []
    for file in settings.files:
        tallies, mean = _tallies(run, file, settings)
        for side, tally, other in zip(settings.sides, tallies, reference, strict=True):
            figures = asdict(tally.statistics(other))
            if settings.score is not None:
                figures["score"] = mean
            records.append({"file": file, "side": side, **figures})
    return records


def _tallies(run: Run, file: str, settings: _Settings) -> tuple[list[CorpusTally], float | None]:
    """Count the tokens of each side of *file*; also return the mean score, if any.

    Raises InputError if there are no rows.
    """
    from bitextfilter.papers.corpus_statistics import CorpusTally
    from bitextfilter.text.words import WORD_MARK, TokenUnits

    units = TokenUnits(settings.unit, settings.lowercase)

    def characters(sentence: str) -> list[str]:
        return [token for token in units(sentence) if token != WORD_MARK]

    tokens = characters if settings.unit == "characters" else units
    tallies = [CorpusTally(tokens) for _ in settings.sides]
    total, scored = 0.0, 0
    columns = replace(
        run.row_settings.columns,
        blank=True,
        first=optional("sentence", "--column", settings.sentence),
        sides=settings.sides,
        last=optional("score", "--score-column", settings.score),
    )
    for window in run.good_windows(columns, file, columns.blank_fault(*settings.sides)):
        for place, tally in enumerate(tallies):
            tally.add([row.texts[place] for row in window])
        for row in window if settings.score is not None else ():
            score = number_of(row.texts[-1].encode())
            if isfinite(score):
                total, scored = total + score, scored + 1
            else:
                run.counts["without a score"] += 1
    if not tallies[0].sentences:
        raise InputError("no rows", file=stream_name(file))
    return tallies, total / scored if scored else None
