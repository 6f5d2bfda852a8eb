"""``bitext-paraphrase analyse``: differences between references and machine translations."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

from bitextfilter.commands.evaluate.options import measurement
from bitextfilter.commands.frame.options import as_column, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.rows import SIDES, number_of, optional

if TYPE_CHECKING:
    from bitextfilter.evaluation.result import Result
    from bitextfilter.papers.corpus_statistics import Comparison


@dataclass(frozen=True)
class _Settings:
    """The column of probabilities, and the form of the result."""

    probability: int | str | None = option(
        "--probability COLUMN", "Column of the probability of being a reference.", as_column
    )


@measurement("analyse", _Settings, row_options(), uses="batch_size")
def main(run: Run, settings: _Settings) -> Result:
    """Compare references and machine translations: variety, repetition, rarity, length.

    Reads pairs of a reference (--scol) and a translation (--tcol). A line for each figure,
    tab-separated: name, value of all references, value of all translations, the difference
    (references - translations), and with --probability also Spearman's correlation x 100 of
    that column with the figure over the translations, and their number:

        entropy             of the distribution of tokens, in bits
        trigram_entropy     of the distribution of trigrams of tokens, in bits
        repetition          % of the tokens of 3 characters and more that their sentence
                            has had before
        trigram_repetition  % of the trigrams that their sentence has had before
        idf                 mean over tokens of ln(N / df): df of N sentences have the token
        length              mean number of tokens

    then a signature. Text is lower-cased; punctuation marks are tokens. A cell without a value is
    empty. Memory holds each distinct token (some 330 bytes) and trigram (up
    to 75) a side, and with --probability 4 bytes a token.

    Example:

        bitext-paraphrase analyse < paraphrases.tsv
        bitext-paraphrase analyse --probability -1 < scored.tsv
    """
    from bitextfilter.evaluation.result import Result, signature

    figures = _figures(run, settings.probability)
    records = [{"figure": name, **values} for name, values in figures.items()]
    pairs = run.counts["rows"] - run.counts["rejected"]
    facts = {"signature": signature(unit="tokens", case="lower", pairs=pairs)}
    shown = dict.fromkeys((*records[0], "signature"), ".4f")
    return Result("analyse", shown, {"results": records}, facts, "")


def _figures(run: Run, probability: int | str | None) -> dict[str, Comparison]:
    """Return the figures by name."""
    from bitextfilter.papers import corpus_statistics as statistics
    from bitextfilter.text.words import TokenUnits

    units = TokenUnits("tokens")
    tallies = statistics.CorpusTally(units), statistics.CorpusTally(units)
    single, probabilities = statistics.SentenceTally(units), array("d")
    columns = replace(
        run.row_settings.columns,
        blank=True,
        last=optional("probability", "--probability", probability),
    )
    for window in run.good_windows(columns, None, columns.blank_fault(*SIDES)):
        for place, tally in enumerate(tallies):
            tally.add([row.texts[place] for row in window])
        if probability is not None:
            single.add([row.target for row in window])
            probabilities.extend(number_of(row.texts[2].encode()) for row in window)
    if not tallies[0].sentences:
        raise InputError("no rows", file=run.row_settings.names[0])
    figures = statistics.compare_corpora(*tallies)
    if probability is not None:
        statistics.add_correlations(figures, probabilities, single.figures())
        run.counts["without a probability"] = sum(not isfinite(each) for each in probabilities)
    return figures
