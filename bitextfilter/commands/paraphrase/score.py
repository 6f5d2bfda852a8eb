"""``bitext-paraphrase score``: the probability that sentences are references."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import DIGITS, as_column, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.rows import BadRow, TextColumn

NAME = "p_reference"
"""The name of the column."""


@dataclass(frozen=True)
class _Settings:
    """The model, the column of sentences, and the form of the probability."""

    model: str = option("--model DIR", "The folder of bitext-paraphrase train.", required=True)
    where: int | str = option(
        "--column COLUMN", "Column of sentences: a number (-1 the last) or a name.", as_column, 2
    )
    digits: int = option("--digits", "Decimals of the probability.", DIGITS, 4)


@command("score", _Settings, row_options("input output header errors"))
def main(run: Run, settings: _Settings) -> None:
    """Append the probability that a sentence is a reference, not a machine translation: 0 to 1.

    One line for each line of the input, in the same order. A rejected row has an empty
    probability. A probability depends on its sentence and the model alone. Memory is bounded by
    --batch-size.

    Example:

        bitext-paraphrase score --model references < paraphrases.tsv > scored.tsv
    """
    from bitextfilter.encoders.reference_classifier import load_reference_classifier
    from bitextfilter.models.folders import model_digest

    reader, output = run.rows(TextColumn(settings.where)), run.output()
    folder = Path(settings.model)
    classifier = load_reference_classifier(folder, run.common.device, run.common.threads)
    run.facts.update(model=folder.name, digest=model_digest(folder))
    output.write(reader.first_line([NAME]))
    for window in run.windows(reader):
        sentences = [row.text for row in window if not isinstance(row, BadRow)]
        found = iter(classifier.probabilities(sentences).tolist())
        for row in window:
            cell = "" if isinstance(row, BadRow) else f"{next(found):.{settings.digits}f}"
            output.write(row.line + b"\t" + cell.encode() + row.ending)
