"""``bitext-translate``: one line for each line, or the best few of each with their scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame import (
    Run,
    command,
    error_options,
    input_option,
    output_option,
)
from bitextfilter.commands.translations import translated, translator_of
from bitextfilter.io.rows import BadRow, Row, TextColumn

if TYPE_CHECKING:
    from bitextfilter.translation.translator import SearchSettings, Translation

__all__ = ["main"]


@command("bitext-translate", input_option(), output_option(), error_options(), batch_size=2048)
@click.option(
    "--model", required=True, metavar="DIR", help="The folder of bitext-train-translator."
)
@click.option(
    "--beam",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Hypotheses kept while searching; 1 is greedy search.  [default: 5, or --n-best]",
)
@click.option(
    "--n-best",
    type=click.IntRange(1, 100),
    metavar="K",
    help="Write the K best of each line: line number, rank, score, translation.",
)
@click.option("--sample", is_flag=True, help="Draw translations at random instead of searching.")
@click.option(
    "--temperature",
    type=click.FloatRange(min=0, min_open=True),
    metavar="X",
    help="Of --sample: below 1 the likely becomes likelier.  [default: 1]",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Of --sample.  [default: 1]")
@click.option(
    "--max-length",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    metavar="N",
    help="Most subwords of a line that are read, and of a translation.",
)
@click.option("--digits", type=click.IntRange(0, 9), default=4, show_default=True,
              help="Decimals of scores.")  # fmt: skip
def main(run: Run, n_best: int | None, digits: int, **options: Any) -> None:
    """Translate sentences, one a line: one line out for each line in, in their order.

    With --n-best K each line gives up to K rows instead, best first, tab-separated: its number,
    the rank, the score and the translation. A score is the mean natural-log probability of a
    subword, the end mark included: from -inf to 0, higher is better. The translations of a line
    are distinct. No beam finds worse than greedy search does. --sample draws them from the model
    by --seed; the same line gives the same samples.

    A blank line stays blank (with --n-best: rank 1, no score). Of a line of more than
    --max-length subwords only so many are read, and its number is said on stderr. A line that is
    not UTF-8 or holds a NUL stops the run; with --on-error reject it gives a blank line. A
    translation depends on its line alone. Memory is bounded by --batch-size.

    Example:

        bitext-translate --model de-en --beam 1 < text.de > text.en
        bitext-translate --model de-en --n-best 10 -i text.de.gz -o ten.tsv
    """
    settings = _settings(options, n_best)
    rows = run.rows(TextColumn(blank=True))
    output = run.output()
    translator = translator_of(run, run.model_name)
    if settings.sample:
        run.facts["seed"] = settings.seed
    output.write(rows.first_line())
    for window in translated(run, rows, translator, settings):
        for row, translation in window:
            output.writelines(_lines(row, translation, n_best, digits))


def _settings(options: dict[str, Any], n_best: int | None) -> SearchSettings:
    """How to search; UsageError where options contradict each other."""
    from bitextfilter.translation.translator import SearchSettings

    beam, sample = options["beam"], options["sample"]
    if sample and beam is not None:
        raise click.UsageError("--sample goes without --beam")
    for name in () if sample else ("temperature", "seed"):
        if options[name] is not None:
            raise click.UsageError(f"--{name} goes with --sample")
    if n_best is not None and beam is not None and n_best > beam:
        raise click.UsageError(f"--n-best {n_best} needs a --beam of at least as many")
    width = (n_best or 1) if sample else beam or max(5, n_best or 1)
    return SearchSettings(
        width=width,
        maximum_length=options["max_length"],
        sample=sample,
        temperature=options["temperature"] or 1.0,
        seed=1 if options["seed"] is None else options["seed"],
    )


def _lines(
    row: Row | BadRow, translation: Translation, n_best: int | None, digits: int
) -> Iterator[bytes]:
    """What is written for a line: a translation, or rows of the best few."""
    if n_best is None:
        yield translation.best.encode() + row.ending
        return
    ending = row.ending or b"\n"
    if not translation.hypotheses:
        yield f"{row.number}\t1\t\t".encode() + ending
    for rank, found in enumerate(translation.hypotheses[:n_best], 1):
        cells = f"{row.number}\t{rank}\t{found.score:.{digits}f}\t{found.text}"
        yield cells.encode() + ending
