"""``bitext-train-language-model``: estimate a language model of n-grams."""

from __future__ import annotations

from dataclasses import dataclass

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import as_column, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import TrainingOptions, training_settings
from bitextfilter.io.rows import TextColumn
from bitextfilter.settings import from_mapping

_UNITS = ("tokens", "words", "characters")
_ORDERS = {"characters": 5}


@dataclass(frozen=True)
class _Settings:
    """The text, and the units of the model."""

    where: int | str | None = option("--column COLUMN", "Read a column of a TSV.", as_column)
    unit: str = option(
        "--unit", "Unit of the n-grams; tokens are words and punctuation marks.", _UNITS, "tokens"
    )
    lowercase: bool = option("--lowercase/--keep-case", "Lower-case text, or not.", default=True)


@command(
    "bitext-train-language-model",
    _Settings,
    row_options("input output header errors"),
    training_settings("training.monolingual.NgramSettings", seed=""),
    uses="",
)
def main(run: Run, settings: _Settings, chosen: TrainingOptions) -> None:
    """Estimate a language model from sentences, one a line, and write it in the ARPA format.

    Probabilities are smoothed by interpolated modified Kneser-Ney, as by KenLM's lmplz. Text is
    normalised as for an encoder. A comment line of the file has the normalisation and the unit:
    the rules of bitext-filter read it, KenLM ignores it.

    Blank lines are skipped. Memory grows with the text: some 30 bytes a token and 50 an
    n-gram; 300,000 sentences take 0.3 GiB (tokens, order 3) to 0.7 GiB (characters, order 5).

    Example:

        bitext-train-language-model --column 2 -o german.arpa.gz < pairs.tsv
        bitext-filter --rule perplexity:target=german.arpa.gz,maximum=500 < crawl.tsv
    """
    from bitextfilter.text.ngram_model import write_arpa
    from bitextfilter.text.words import TokenUnits
    from bitextfilter.training.monolingual import NgramSettings, TokenCorpus, estimate

    unit = settings.unit
    defaults = {"order": _ORDERS[unit]} if unit in _ORDERS else {}
    ngrams = from_mapping(NgramSettings, chosen.values(), defaults=defaults)
    units = TokenUnits(unit, settings.lowercase)
    windows = run.good_windows(TextColumn(settings.where, blank=True))
    sentences, output = (units(row.text) for window in windows for row in window), run.output()
    trained = estimate(TokenCorpus(sentences), ngrams, units)
    write_arpa(trained.model, output)
    run.facts.update(unit=unit, order=ngrams.order, lowercase=units.lowercase)
    for n, level in enumerate(trained.model.levels, 1):
        run.counts[f"{n}-grams"] = len(level.keys)
    if trained.fallbacks:
        lengths = ", ".join(map(str, trained.fallbacks))
        run.warn(
            f"the text gives no discounts for n-grams of length {lengths}: 0.5, 1 and 1.5 are taken"
        )
