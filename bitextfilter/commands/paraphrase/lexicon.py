"""``bitext-paraphrase lexicon``: words and phrases that say the same, from paraphrases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.rows import BadRow, RowReader

if TYPE_CHECKING:
    from bitextfilter.mining.phrase_table import Entries


@command("lexicon", row_options(), uses="rows")
@click.option(
    "--min-count",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="Leave out what was found less often.",
)
@click.option(
    "--max-words",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    metavar="N",
    help="Leave out pairs with a longer side.",
)
@click.option(
    "--digits", type=click.IntRange(0, 9), default=4, show_default=True, help="Decimals of scores."
)
def main(run: Run, min_count: int, max_words: int, digits: int) -> None:
    """Find phrases of one to three words, and what they are paraphrased as, in paraphrases.

    The words of each pair are aligned (IBM model 1 with a preference for the diagonal, both ways,
    made one), and phrase pairs are taken that no link leads out of. Text is lower-cased, and
    punctuation stands apart: it is aligned, but in no phrase. Words stand between spaces.

    Writes, tab-separated, the highest PMI first: phrase (of the source side), paraphrase, count,
    pmi in nats (from -inf to inf), p(paraphrase|phrase) and p(phrase|paraphrase), 0 to 1. What is
    the same on both sides counts in these, but is left out.

    Memory holds the words of all pairs as numbers, 4 bytes for each word of one side with each of
    the other in a pair, and all distinct pairs of words and of phrases, some 50 bytes each.

    Example:

        bitext-paraphrase lexicon < paraphrases.tsv | bitext-rank --column 5 > by-probability.tsv
    """
    from bitextfilter.mining.phrase_table import entries_of, extract
    from bitextfilter.text.vocabulary import NumberedWords

    rows = run.rows()
    output = run.output()
    words = NumberedWords()
    for source, target in _pairs(run, rows):
        words.add(source, target, max_words)
    run.counts["left out"] = words.left
    if not words.pairs:
        return
    entries = entries_of(extract(*words.sides(), words.readable()), min_count)
    for line in _lines(entries, words.words, digits):
        output.write(line)
    run.counts["entries"] = len(entries.counts)


def _pairs(run: Run, rows: RowReader) -> Iterator[tuple[str, str]]:
    for window in run.windows(rows):
        yield from ((row.source, row.target) for row in window if not isinstance(row, BadRow))


def _lines(entries: Entries, words: list[str], digits: int) -> Iterator[bytes]:
    from bitextfilter.mining.phrase_table import phrase_words

    for phrase, paraphrase, count, *scores in zip(*entries, strict=True):
        texts = (" ".join(words[n] for n in phrase_words(int(key))) for key in (phrase, paraphrase))
        cells = [*texts, str(count), *(f"{score:.{digits}f}" for score in scores)]
        yield "\t".join(cells).encode() + b"\n"
