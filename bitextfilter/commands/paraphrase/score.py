"""``bitext-paraphrase score``: the probability that sentences are references."""

from __future__ import annotations

from pathlib import Path

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import column, error_options, input_option, output_option
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.rows import BadRow, TextColumn

NAME = "p_reference"
"""The name of the column."""


@command("score", input_option(), output_option(), error_options(), batch_size=8192)
@click.option(
    "--model", required=True, metavar="DIR", help="The folder of bitext-paraphrase train."
)
@click.option(
    "--column",
    "where",
    type=column,
    default=2,
    show_default=True,
    metavar="COLUMN",
    help="Column of the sentences: a number, -1 the last, or a name of the header.",
)
@click.option("--header", is_flag=True, help="The first line names the columns.")
@click.option("--digits", type=click.IntRange(0, 9), default=4, show_default=True,
              help="Decimals of the probability.")  # fmt: skip
def main(run: Run, where: int | str, digits: int) -> None:
    """Append the probability that a sentence is a reference, not a machine translation: 0 to 1.

    One line for each line of the input, in the same order. A rejected row has an empty
    probability. A probability depends on its sentence and the model alone. Memory is bounded by
    --batch-size.

    Example:

        bitext-paraphrase score --model references < paraphrases.tsv > scored.tsv
    """
    from bitextfilter.encoders.reference_classifier import load_reference_classifier
    from bitextfilter.models.folders import model_digest

    rows, output = run.rows(TextColumn(where)), run.output()
    folder = Path(run.model_name or "")
    classifier = load_reference_classifier(folder, run.common.device, run.common.threads)
    run.facts.update(model=folder.name, digest=model_digest(folder))
    output.write(rows.first_line([NAME]))
    for window in run.windows(rows):
        sentences = [row.text for row in window if not isinstance(row, BadRow)]
        found = iter(classifier.probabilities(sentences).tolist())
        for row in window:
            cell = "" if isinstance(row, BadRow) else f"{next(found):.{digits}f}"
            output.write(row.line + b"\t" + cell.encode() + row.ending)
