"""``bitext-train-language-model``: estimate a language model of n-grams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    column,
    error_options,
    input_option,
    output_option,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import settings_options, settings_values
from bitextfilter.io.rows import BadRow, TextColumn

if TYPE_CHECKING:
    from bitextfilter.text.words import TokenUnits
    from bitextfilter.training.ngrams import Trained


_UNITS = ("tokens", "words", "characters")
_ORDERS = {"characters": 5}


@command(
    "bitext-train-language-model",
    input_option(),
    output_option(),
    error_options(),
    settings_options("training.ngrams.NgramSettings", seed=""),
    batch_size=None,
)
@click.option("--column", "where", type=column, metavar="COLUMN", help="Read a column of a TSV.")
@click.option("--header", is_flag=True, help="The first line names the columns: no sentence.")
@click.option(
    "--unit",
    type=click.Choice(_UNITS),
    default="tokens",
    show_default=True,
    help="Unit of the n-grams; tokens are words and punctuation marks.",
)
@click.option(
    "--lowercase/--keep-case", default=True, show_default=True, help="Lower-case text, or not."
)
def main(
    run: Run,
    where: int | str | None,
    unit: str,
    lowercase: bool,
    **options: Any,
) -> None:
    """Estimate a language model from sentences, one a line, and write it in the ARPA format.

    The probabilities are those of interpolated modified Kneser-Ney smoothing, as KenLM's lmplz
    estimates them. Text is normalised as for an encoder. A comment line of the file has the
    normalisation and the unit: the rules of bitext-filter read it, KenLM passes over it.

    Blank lines are passed over. Memory grows with the text: some 30 bytes a token and 50 an
    n-gram; 300,000 sentences take 0.3 GiB (tokens, order 3) to 0.7 GiB (characters, order 5).

    Example:

        bitext-train-language-model --column 2 -o german.arpa.gz < pairs.tsv
        bitext-filter --rule perplexity:target=german.arpa.gz,maximum=500 < crawl.tsv
    """
    from bitextfilter.settings import from_mapping
    from bitextfilter.text.ngram_model import write_arpa
    from bitextfilter.text.words import TokenUnits
    from bitextfilter.training.ngrams import NgramSettings, TokenCorpus, estimate

    defaults = {"order": _ORDERS[unit]} if unit in _ORDERS else {}
    settings = from_mapping(NgramSettings, settings_values(options), defaults=defaults)
    units = TokenUnits(unit, lowercase)
    sentences, output = _sentences(run, where, units), run.output()
    trained = estimate(TokenCorpus(sentences), settings, units)
    write_arpa(trained.model, output)
    run.facts.update(unit=unit, order=settings.order, lowercase=units.lowercase)
    _tell(run, trained)


def _sentences(run: Run, where: int | str | None, units: TokenUnits) -> Iterator[list[str]]:
    """Yield the tokens of every good row, none for a blank one."""
    rows = run.rows(TextColumn(where, blank=True))
    return (
        units(row.text)
        for window in run.windows(rows)
        for row in window
        if not isinstance(row, BadRow)
    )


def _tell(run: Run, trained: Trained) -> None:
    """Count the n-grams, and say where the text was too small or too even for discounts."""
    for n, level in enumerate(trained.model.levels, 1):
        run.counts[f"{n}-grams"] = len(level.keys)
    if trained.fallbacks:
        lengths = ", ".join(map(str, trained.fallbacks))
        run.warn(
            f"the text gives no discounts for n-grams of length {lengths}: 0.5, 1 and 1.5 are taken"
        )
