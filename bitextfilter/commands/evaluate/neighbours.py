"""``bitext-evaluate neighbours``: nearest lines of sentences, and histograms of cosines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bitextfilter import __version__
from bitextfilter.commands.evaluate.options import Languages, language_option
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    COUNT,
    ModelName,
    argument,
    as_column,
    flag,
    json_flag,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import Row, RowReader, TextColumn, strict

if TYPE_CHECKING:
    from bitextfilter.arrays import Vectors
    from bitextfilter.evaluation.neighbourhood import Histograms, NearestLines
    from bitextfilter.scoring.model import Model


@dataclass(frozen=True)
class _Settings:
    """The files and their languages, and the kind of result."""

    file: str = argument(default="-")
    queries: str = option("--of QUERIES", "File of sentences, one a line.", required=True)
    k: int = option("--neighbours N", "Number of nearest lines to show.", COUNT, 10)
    histogram: bool = flag(
        "--histogram", "Count the cosines to all lines, in bins of 0.02, instead."
    )
    where: int | str | None = option("--column COLUMN", "Read a column of a TSV.", as_column)
    language: Languages | None = language_option("queries", "lines of FILE")
    as_json: bool = json_flag()


@command("neighbours", _Settings, row_options("output header errors"), ModelName)
def main(run: Run, settings: _Settings) -> None:
    """Show the lines of FILE nearest, by cosine, to each sentence of a file --of queries.

    A line for each, tab-separated: query, rank, cosine (-1 to 1), number of the line, sentence.
    Nearest first; of equally near ones, the earlier. All lines are compared, exactly.

    --histogram counts, for each query, the lines with a cosine in each of 100 bins: query, low,
    high, count. A bin has its low end and not its high one, the last has both.

    FILE (default: stdin) may have any size: memory holds --batch-size lines, the queries and
    their nearest lines.

    Example:

        bitext-evaluate neighbours --language en --of queries.txt english.txt.gz
        bitext-evaluate neighbours --language de,en --of queries.de.txt --histogram english.txt
    """
    from bitextfilter.evaluation.result import Result
    from bitextfilter.workflows.pair_scoring import model_languages

    if settings.file == settings.queries == "-":
        raise click.UsageError("only one of QUERIES and FILE can be stdin")
    sentences = list(_sentences(run, settings.queries))
    windows = run.good_windows(TextColumn(settings.where), settings.file)
    output = run.output()
    model = run.model()
    languages = model_languages(model, settings.language)
    collector = _collected(run, settings, (model, languages), sentences, windows)
    records = collector.records(sentences)
    if not run.counts["rows"] - run.counts["rejected"]:
        raise InputError("no sentences", file=stream_name(settings.file))
    columns = dict.fromkeys(records[0], ".2f" if settings.histogram else ".4f")
    facts = {"file": settings.file, "of": settings.queries, "language": languages}
    facts |= {"model": model.digest, "version": __version__}
    output.write(Result("neighbours", columns, {"results": records}, facts).text(settings.as_json))


def _collected(
    run: Run,
    settings: _Settings,
    by: tuple[Model, tuple[str, str]],
    sentences: list[str],
    windows: Iterator[list[Row]],
) -> Histograms | NearestLines:
    """Compare the queries with all lines, by a model and the languages of both."""
    from bitextfilter.evaluation.neighbourhood import Histograms, NearestLines

    (model, languages), threads = by, run.common.threads
    queries = _encoder(run, model, languages[0], settings.queries)(sentences)
    encode = _encoder(run, model, languages[1], settings.file)
    collector: Histograms | NearestLines = NearestLines(queries, settings.k, threads)
    if settings.histogram:
        collector = Histograms(queries, threads)
    for window in windows:
        vectors = encode([row.text for row in window])
        collector.add(vectors, [(row.number, row.text) for row in window])
    return collector


def _sentences(run: Run, path: str) -> Iterator[str]:
    """Yield the queries; InputError for one with a tab, or for none."""
    name, row = stream_name(path), None
    for row in strict(RowReader(run.input(path), name, TextColumn(), remedy="leave it out")):
        if "\t" in row.text:
            problem = "a tab in the sentence"
            raise InputError(problem, file=name, line=row.number, remedy="give one sentence a line")
        yield row.text
    if row is None:
        raise InputError("no sentences", file=name)


def _encoder(run: Run, model: Model, language: str, file: str) -> Callable[[list[str]], Vectors]:
    """Return a function that encodes sentences of *file*, and warns at the first if foreign."""
    from bitextfilter.workflows.pair_scoring import looks_foreign

    checked = False

    def encode(sentences: list[str]) -> Vectors:
        nonlocal checked
        if not checked and looks_foreign(model, language, sentences):
            run.warn(f"{stream_name(file)}: does not look like {language} (--language)")
        checked = True
        return model.encode(sentences, language)

    return encode
