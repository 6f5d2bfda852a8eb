"""``bitext-evaluate neighbours`` and ``words``: sentences and translations that are nearest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bitextfilter import __version__
from bitextfilter.commands.evaluate.options import (
    Languages,
    language_option,
    measurement,
)
from bitextfilter.commands.frame.options import (
    COUNT,
    ModelOptions,
    argument,
    as_column,
    flag,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Bootstrap, Result, record
from bitextfilter.io.files import stream_name
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import TextColumn, strict

if TYPE_CHECKING:
    from bitextfilter.arrays import Vectors
    from bitextfilter.evaluation.neighbourhood import Histograms, Hubs, NearestLines
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
    hubness: bool = flag(
        "--hubness", "Measure hubness by cosine, CSLS and Euclidean distance, instead."
    )
    hubs: int | None = option(
        "--hubs N", "Show the N lines near to the most queries, by each similarity, instead.", COUNT
    )
    where: int | str | None = option("--column COLUMN", "Read a column of a TSV.", as_column)
    language: Languages | None = language_option("queries", "lines of FILE")


@measurement("neighbours", _Settings, row_options("output header errors"), ModelOptions)
def neighbours(run: Run, settings: _Settings) -> Result:
    """Show the lines of FILE nearest, by cosine, to each sentence of a file --of queries.

    A line for each, tab-separated: query, rank, cosine (-1 to 1), number of the line, sentence.
    Nearest first; of equally near ones, the earlier. All lines are compared, exactly.

    --histogram counts, for each query, the lines with a cosine in each of 100 bins: query, low,
    high, count. A bin has its low end and not its high one, the last has both.

    --hubness and --hubs count, by cosine, CSLS and Euclidean distance, the queries that have a line
    among their nearest. --hubness shows, for each, the skew of these counts (0 is symmetric), the
    share of lines near to no query (antihubs), the largest count, and the number of lines. --hubs
    shows the lines with the largest: similarity, rank, queries, number of the line, sentence.

    FILE (default: stdin) may have any size: memory holds --batch-size lines, the queries and
    their nearest lines.

    Example:

        bitext-evaluate neighbours --language en --of queries.txt english.txt.gz
        bitext-evaluate neighbours --language de,en --of queries.de.txt --histogram english.txt
        bitext-evaluate neighbours --language de,en --of german.txt --hubness english.txt
    """
    from bitextfilter.evaluation.neighbourhood import Histograms, Hubs, NearestLines
    from bitextfilter.evaluation.pair_scoring import model_languages

    _check(settings)
    sentences = list(_sentences(run, settings.queries))
    windows = run.good_windows(TextColumn(settings.where), settings.file)
    model, threads = run.model(), run.common.threads
    languages = model_languages(model, settings.language)
    queries = _encoder(run, model, languages[0], settings.queries)(sentences)
    encode = _encoder(run, model, languages[1], settings.file)
    collector: Histograms | Hubs | NearestLines = NearestLines(queries, settings.k, threads)
    if settings.histogram:
        collector = Histograms(queries, threads)
    elif settings.hubness or settings.hubs:
        collector = Hubs(queries, settings.k, threads)
    for window in windows:
        vectors = encode([row.text for row in window])
        collector.add(vectors, [(row.number, row.text) for row in window])
    if not run.counts["rows"] - run.counts["rejected"]:
        raise InputError("no sentences", file=stream_name(settings.file))
    facts = {"file": settings.file, "of": settings.queries, "language": languages}
    facts |= {"model": model.digest, "version": __version__}
    made_by = {"language": ",".join(languages), "model": model.digest}
    records = _records(collector, settings, sentences, made_by)
    columns = dict.fromkeys(records[0], ".2f" if settings.histogram else ".4f")
    return Result("neighbours", columns, {"results": records}, facts)


def _check(settings: _Settings) -> None:
    """Raise UsageError for files or kinds of result that exclude each other."""
    if settings.file == settings.queries == "-":
        raise click.UsageError("only one of QUERIES and FILE can be stdin")
    kinds = [name for name in ("histogram", "hubness", "hubs") if getattr(settings, name)]
    if len(kinds) > 1:
        raise click.UsageError(f"--{kinds[0]} and --{kinds[1]} exclude each other")


def _records(
    collector: Histograms | Hubs | NearestLines,
    settings: _Settings,
    queries: list[str],
    made_by: dict[str, str],
) -> list[dict[str, str | float]]:
    """Return the records of the kind asked for."""
    from bitextfilter.evaluation.neighbourhood import Hubs

    if not isinstance(collector, Hubs):
        return collector.records(queries)
    if settings.hubs:
        return collector.records(settings.hubs)
    found = []
    for name, hubness in collector.hubness().items():
        head, numbers = f"skew = {hubness.skew:.4f}", {"n": len(queries), "k": settings.k}
        found.append({"similarity": name, **record(hubness, head, **numbers, sim=name, **made_by)})
    return found


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
    from bitextfilter.evaluation.pair_scoring import looks_foreign

    checked = False

    def encode(sentences: list[str]) -> Vectors:
        nonlocal checked
        if not checked and looks_foreign(model, language, sentences):
            run.warn(f"{stream_name(file)}: does not look like {language} (--language)")
        checked = True
        return model.encode(sentences, language)

    return encode


@dataclass(frozen=True)
class _Dictionary:
    """The dictionary, the vectors, and the form of the result."""

    file: str = argument("DICTIONARY")
    source: str = option("--source FILE", "Source vectors, word2vec's format.", required=True)
    target: str = option("--target FILE", "Target vectors in the same space.", required=True)
    neighbours: int = option("--neighbours", "Neighbours that CSLS averages over.", COUNT, 10)
    maximum_words: int = option(
        "--maximum-words", "Read this many words of each file, the most frequent.", COUNT, 200_000
    )


@measurement("words", _Dictionary, row_options("output texts errors"), Bootstrap, uses="batch_size")
def words(run: Run, settings: _Dictionary, bootstrap: Bootstrap) -> Result:
    """Measure how well vectors translate the source words of DICTIONARY, pairs of words.

    A source word is right at rank k if one of its translations is among the k target words that
    are best by cosine or by CSLS: precision at 1 and at 5, in percent, 0 to 100, higher is better,
    with 95 % bootstrap intervals. Source words without a vector, or without one of any
    translation, are counted and left out. Memory holds all vectors.

    Writes a line for each similarity and rank, tab-separated: similarity, rank, precision, low,
    high, words, without, signature.

    Example:

        bitext-evaluate words --source en.vec --target de.vec dictionary.tsv
    """
    from bitextfilter.evaluation import neighbourhood as translation
    from bitextfilter.io.vectors import read_word_vectors

    entries, neighbours = run.pairs(settings.file), settings.neighbours
    first, second = (
        translation.Lexicon(*read_word_vectors(path, settings.maximum_words))
        for path in (settings.source, settings.target)
    )
    found = translation.translate_words(first, second, entries, neighbours, bootstrap)
    run.counts.update({"words": found.words, "without vectors": found.without})
    return translation.word_translation_result(found, neighbours, bootstrap)
