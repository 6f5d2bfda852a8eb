"""``bitext-evaluate words``: how well word vectors of two languages translate words."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluate.options import bootstrap_options
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.rows import BadRow

if TYPE_CHECKING:
    from bitextfilter.evaluation.filtering import Bootstrap
    from bitextfilter.evaluation.result import Result
    from bitextfilter.evaluation.word_translation import Translations


@command(
    "words",
    [option for option in row_options() if option.name != "input"],
    bootstrap_options(),
    uses="rows",
)
@click.argument("file", metavar="DICTIONARY")
@click.option("--source", required=True, metavar="FILE", help="Source vectors, word2vec's format.")
@click.option("--target", required=True, metavar="FILE", help="Target vectors in the same space.")
@click.option(
    "--neighbours",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Neighbours that CSLS takes the mean of.",
)
@click.option(
    "--maximum-words",
    type=click.IntRange(min=1),
    default=200_000,
    show_default=True,
    help="Read so many words of each file, the most frequent.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def words(run: Run, file: str, source: str, target: str, as_json: bool, **choices: int) -> None:
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
    from bitextfilter.evaluation.filtering import Bootstrap
    from bitextfilter.evaluation.word_translation import Lexicon, translate_words
    from bitextfilter.io.word_vectors import read_word_vectors

    run.row_settings = dataclasses.replace(run.row_settings, input=file)
    output = run.output()
    rows = (row for window in run.windows(run.rows()) for row in window)
    entries = [(row.source, row.target) for row in rows if not isinstance(row, BadRow)]
    sides = [
        Lexicon(*read_word_vectors(path, choices["maximum_words"])) for path in (source, target)
    ]
    bootstrap = Bootstrap(choices["resamples"], choices["seed"])
    result = translate_words(sides[0], sides[1], entries, choices["neighbours"], bootstrap)
    run.counts.update({"words": result.words, "without vectors": result.without})
    output.write(_result(result, choices["neighbours"], bootstrap).text(as_json))


def _result(found: Translations, neighbours: int, bootstrap: Bootstrap) -> Result:
    """Return a record for each similarity and rank."""
    from bitextfilter.evaluation.result import Result, signature

    records = []
    for row in found.precisions:
        precision = row.precision
        line = signature(
            f"precision@{row.rank} = {precision.value:.2f}",
            n=found.words,
            without=found.without,
            sim=row.similarity,
            **({"k": neighbours} if row.similarity == "csls" else {}),
            **bootstrap.facts,
        )
        figures = {"precision": precision.value, "low": precision.low, "high": precision.high}
        by = {"similarity": row.similarity, "rank": row.rank}
        records.append({**by, **figures, "signature": line})
    names = "similarity", "rank", "precision", "low", "high", "words", "without", "signature"
    facts = {"words": found.words, "without": found.without}
    return Result("words", dict.fromkeys(names, ".2f"), {"results": records}, facts)
