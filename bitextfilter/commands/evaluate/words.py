"""``bitext-evaluate words``: word translation by the word vectors of two languages."""

from __future__ import annotations

import click

from bitextfilter.commands.evaluate.options import bootstrap_options, file_options
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import pop_settings
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import pairs_of

_COUNT = click.IntRange(min=1)


@command("words", file_options(), bootstrap_options(), uses="rows")
@click.argument("file", metavar="DICTIONARY")
@click.option("--source", required=True, metavar="FILE", help="Source vectors, word2vec's format.")
@click.option("--target", required=True, metavar="FILE", help="Target vectors in the same space.")
@click.option(
    "--neighbours",
    type=_COUNT,
    default=10,
    show_default=True,
    help="Neighbours that CSLS averages over.",
)
@click.option(
    "--maximum-words",
    type=_COUNT,
    default=200_000,
    show_default=True,
    help="Read this many words of each file, the most frequent.",
)
def main(run: Run, file: str, source: str, target: str, as_json: bool, **options: int) -> None:
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
    from bitextfilter.evaluation import word_translation as translation
    from bitextfilter.evaluation.result import Bootstrap
    from bitextfilter.io.vector_file import read_word_vectors

    output, entries, neighbours = run.output(), pairs_of(run, file), options["neighbours"]
    first, second = (
        translation.Lexicon(*read_word_vectors(path, options["maximum_words"]))
        for path in (source, target)
    )
    bootstrap = pop_settings(Bootstrap, options)
    found = translation.translate_words(first, second, entries, neighbours, bootstrap)
    run.counts.update({"words": found.words, "without vectors": found.without})
    result = translation.word_translation_result(found, neighbours, bootstrap)
    output.write(result.text(as_json))
