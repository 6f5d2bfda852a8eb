"""``bitext-paraphrase lexicon``: a lexicon of phrases and their paraphrases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import COUNT, DIGITS, option, row_options
from bitextfilter.commands.frame.run import Run

if TYPE_CHECKING:
    from bitextfilter.mining.word_alignment import Entries


@dataclass(frozen=True)
class _Settings:
    """The entries to keep, and the form of scores."""

    min_count: int = option("--min-count N", "Leave out rarer entries.", COUNT, 2)
    max_words: int = option("--max-words N", "Leave out pairs with a longer side.", COUNT, 60)
    digits: int = option("--digits", "Decimals of scores.", DIGITS, 4)


@command("lexicon", _Settings, row_options(), uses="batch_size")
def main(run: Run, settings: _Settings) -> None:
    """Extract phrases of one to three words and their paraphrases from paraphrase pairs.

    The words of each pair are aligned (IBM model 1 with a preference for the diagonal, both ways,
    made one); phrase pairs are taken that no link leads out of. Text is lower-cased, and
    punctuation stands apart: it is aligned, but in no phrase. Words stand between spaces.

    Writes, tab-separated, the highest PMI first: phrase (of the source side), paraphrase, count,
    pmi in nats (from -inf to inf), p(paraphrase|phrase) and p(phrase|paraphrase), 0 to 1. Equal
    phrases count in these, but are left out.

    Memory holds the words of all pairs as numbers, 4 bytes for each word of one side with each of
    the other in a pair, and all distinct pairs of words and of phrases, some 50 bytes each.

    Example:

        bitext-paraphrase lexicon < paraphrases.tsv | bitext-rank --column 5 > by-probability.tsv
    """
    from bitextfilter.mining.word_alignment import entries_of, extract
    from bitextfilter.text.vocabulary import NumberedWords

    windows, output, words = run.good_windows(), run.output(), NumberedWords()
    for row in chain.from_iterable(windows):
        words.add(row.source, row.target, settings.max_words)
    run.counts["left out"] = words.left
    if not words.pairs:
        return
    entries = entries_of(extract(*words.sides(), words.readable()), settings.min_count)
    for line in _lines(entries, words.words, settings.digits):
        output.write(line)
    run.counts["entries"] = len(entries.counts)


def _lines(entries: Entries, words: list[str], digits: int) -> Iterator[bytes]:
    from bitextfilter.mining.word_alignment import phrase_words

    for phrase, paraphrase, count, *scores in zip(*entries, strict=True):
        texts = (" ".join(words[n] for n in phrase_words(int(key))) for key in (phrase, paraphrase))
        cells = [*texts, str(count), *(f"{score:.{digits}f}" for score in scores)]
        yield "\t".join(cells).encode() + b"\n"
