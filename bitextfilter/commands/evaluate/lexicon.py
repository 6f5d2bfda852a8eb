"""``bitext-evaluate lexicon``: the differences between paraphrases that a lexicon explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bitextfilter.commands.evaluate.options import bootstrap_options, measurement
from bitextfilter.commands.frame.options import argument, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name

if TYPE_CHECKING:
    from bitextfilter.evaluation.result import Bootstrap, Result
    from bitextfilter.papers.paraphrases import LexiconEntry

_PMI, _PROBABILITY = 3, 4
"""Columns of the scores, from 0, of six."""


@dataclass(frozen=True)
class _Settings:
    """The paraphrases, the lexicon, and the form of the result."""

    file: str = argument("PARAPHRASES")
    path: str = option(
        "--lexicon FILE", "Output of bitext-paraphrase lexicon, for other pairs.", required=True
    )


@measurement(
    "lexicon", _Settings, row_options("output texts errors"), bootstrap_options(), uses="batch_size"
)
def main(run: Run, settings: _Settings, bootstrap: Bootstrap) -> Result:
    """Measure the differences between held-out PARAPHRASES that a lexicon explains.

    A word of a source that its target lacks is explained at rank k if one of its k best
    paraphrases is in the target: recall at 1, 5 and 10, in percent, 0 to 100, higher is better,
    with 95 % bootstrap intervals. Paraphrases are ranked by p(paraphrase|phrase), or by PMI. The
    baseline is the recall for sources with targets of other pairs, by --seed: common words
    explain some differences anywhere. Memory holds PARAPHRASES, and the lexicon's entries of
    single words.

    Writes a line for each order and rank, tab-separated: order, rank, recall, low, high, random,
    words, signature.

    Example:

        bitext-evaluate lexicon --lexicon lexicon.tsv held-out.tsv
    """
    from bitextfilter.papers.paraphrases import lexicon_result
    from bitextfilter.text.vocabulary import plain_words

    entries, file = _entries(run, settings.path), settings.file
    pairs = [(plain_words(source), plain_words(target)) for source, target in run.pairs(file)]
    if len(pairs) < 2:
        raise InputError("fewer than two pairs", file=stream_name(file))
    return lexicon_result(pairs, entries, bootstrap, file)


def _entries(run: Run, path: str) -> list[LexiconEntry]:
    """Return the entries of single words."""
    from bitextfilter.papers.paraphrases import LexiconEntry

    name, entries = stream_name(path), []
    for number, line in enumerate(run.input(path), 1):
        try:
            cells = line.decode().rstrip("\r\n").split("\t")
            scores = float(cells[_PROBABILITY]), float(cells[_PMI])
        except (UnicodeDecodeError, ValueError, IndexError) as error:
            message = "expected 6 columns, scores in the last three"
            remedy = "bitext-paraphrase lexicon writes them"
            raise InputError(message, file=name, line=number, remedy=remedy) from error
        if " " not in cells[0]:
            entries.append(LexiconEntry(cells[0], cells[1].split(), *scores))
    return entries
