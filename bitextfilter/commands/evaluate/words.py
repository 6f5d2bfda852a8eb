"""``bitext-evaluate words``: word translation by the word vectors of two languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bitextfilter.commands.evaluate.options import bootstrap_options, measurement
from bitextfilter.commands.frame.options import COUNT, argument, option, row_options
from bitextfilter.commands.frame.run import Run

if TYPE_CHECKING:
    from bitextfilter.evaluation.result import Bootstrap, Result


@dataclass(frozen=True)
class _Settings:
    """The dictionary, the vectors, and the form of the result."""

    file: str = argument("DICTIONARY")
    source: str = option("--source FILE", "Source vectors, word2vec's format.", required=True)
    target: str = option("--target FILE", "Target vectors in the same space.", required=True)
    neighbours: int = option("--neighbours", "Neighbours that CSLS averages over.", COUNT, 10)
    maximum_words: int = option(
        "--maximum-words", "Read this many words of each file, the most frequent.", COUNT, 200_000
    )


@measurement(
    "words", _Settings, row_options("output texts errors"), bootstrap_options(), uses="batch_size"
)
def main(run: Run, settings: _Settings, bootstrap: Bootstrap) -> Result:
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
