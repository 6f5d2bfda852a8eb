"""``bitext-evaluate neighbours``: which lines are nearest to some sentences, and how near all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from bitextfilter import __version__
from bitextfilter.commands.evaluate.options import foreign, language_option, languages_of
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import column, error_options, model_options, output_option
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import BadRow, Row, RowReader, TextColumn, strict

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model


_Record = dict[str, Any]


@command(
    "neighbours",
    output_option(),
    error_options(),
    language_option("queries", "lines of FILE"),
    model_options(),
)
@click.argument("file", default="-")
@click.option(
    "--of", "queries", required=True, metavar="QUERIES", help="File of sentences, one a line."
)
@click.option(
    "--neighbours",
    "k",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="How many of the nearest lines to show.",
)
@click.option(
    "--histogram", is_flag=True, help="Count the cosines to all lines, in bins of 0.02, instead."
)
@click.option("--column", "where", type=column, metavar="COLUMN", help="Read a column of a TSV.")
@click.option("--header", is_flag=True, help="The first line names the columns: no sentence.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def neighbours(run: Run, file: str, as_json: bool, **choices: Any) -> None:
    """Show which lines of FILE are nearest, by cosine, to each sentence of a file --of queries.

    A line for each, tab-separated: query, rank, cosine (-1 to 1), number of the line, sentence.
    Nearest first; of equally near ones, the earlier. All lines are compared, exactly.

    --histogram writes, for each query, how many lines have a cosine within each of 100 bins:
    query, low, high, count. A bin has its low end and not its high one, the last has both.

    FILE (default: stdin) may have any size: memory holds --batch-size lines, the queries and
    what is found.

    Example:

        bitext-evaluate neighbours --language en --of queries.txt english.txt.gz
        bitext-evaluate neighbours --language de,en --of queries.de.txt --histogram english.txt
    """
    from bitextfilter.evaluation.result import Result

    if file == choices["queries"] == "-":
        raise click.UsageError("only one of QUERIES and FILE can be stdin")
    sentences = list(_sentences(run, choices["queries"]))
    run.row_settings = dataclasses.replace(run.row_settings, input=file)
    rows = run.rows(TextColumn(choices["where"]))
    output = run.output()
    model = run.model()
    found = _histograms if choices["histogram"] else _nearest
    records = found(run, rows, sentences, (model, choices))
    if not run.counts["rows"] - run.counts["rejected"]:
        raise InputError("no sentences", file=stream_name(file))
    columns = dict.fromkeys(records[0], ".2f" if choices["histogram"] else ".4f")
    facts = {
        "file": file,
        "of": choices["queries"],
        "language": languages_of(model, choices["language"]),
        "model": model.digest,
        "version": __version__,
    }
    output.write(Result("neighbours", columns, {"results": records}, facts).text(as_json))


def _sentences(run: Run, path: str) -> Iterator[str]:
    """Yield the queries; InputError where one has a tab, or where there is none."""
    name, row = stream_name(path), None
    for row in strict(RowReader(run.input(path), name, TextColumn(), remedy="leave it out")):
        if "\t" in row.text:
            problem = "a tab in the sentence"
            raise InputError(problem, file=name, line=row.number, remedy="give one sentence a line")
        yield row.text
    if row is None:
        raise InputError("no sentences", file=name)


def _vectors(
    run: Run, rows: RowReader, model: Model, language: str
) -> Iterator[tuple[list[Row], Any]]:
    """Yield the good rows of each window, and their vectors."""
    first = True
    for window in run.windows(rows):
        good = [row for row in window if not isinstance(row, BadRow)]
        sentences = [row.text for row in good]
        if first and foreign(model, language, sentences):
            run.warn(f"{rows.name}: does not look like {language} (--language)")
        if good:
            yield good, model.encode(sentences, language)
        first = False


How = tuple["Model", dict[str, Any]]


def _encoded(run: Run, sentences: list[str], how: How) -> tuple[Any, str]:
    """Return the vectors of the queries, and the language of the lines."""
    model, choices = how
    first, second = languages_of(model, choices["language"])
    if foreign(model, first, sentences):
        run.warn(f"{stream_name(choices['queries'])}: does not look like {first} (--language)")
    return model.encode(sentences, first), second


def _nearest(run: Run, rows: RowReader, sentences: list[str], how: How) -> list[_Record]:
    """Return the lines nearest to each query."""
    from bitextfilter.evaluation.neighbourhood import NearestLines

    queries, language = _encoded(run, sentences, how)
    nearest = NearestLines[tuple[int, str]](queries, how[1]["k"], run.common.threads)
    for window, vectors in _vectors(run, rows, how[0], language):
        nearest.add(vectors, [(row.number, row.text) for row in window])
    return [
        {"query": query, "rank": rank, "cosine": cosine, "line": number, "sentence": text}
        for query, lines in zip(sentences, nearest, strict=True)
        for rank, (cosine, (number, text)) in enumerate(lines, 1)
    ]


def _histograms(run: Run, rows: RowReader, sentences: list[str], how: How) -> list[_Record]:
    """Return how many lines have a cosine within each bin, query by query."""
    from bitextfilter.evaluation.neighbourhood import EDGES, Histograms

    queries, language = _encoded(run, sentences, how)
    histograms = Histograms(queries, run.common.threads)
    for _, vectors in _vectors(run, rows, how[0], language):
        histograms.add(vectors)
    edges = EDGES.tolist()
    return [
        {"query": query, "low": low, "high": high, "count": count}
        for query, counts in zip(sentences, histograms.counts.tolist(), strict=True)
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]
