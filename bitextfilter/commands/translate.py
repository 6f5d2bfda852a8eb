"""``bitext-translate``: the best translation of each line, or the n best with their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.translators import (
    SearchOptions,
    TranslatorName,
    found_windows,
    load_translation_model,
    output_lines,
    search_options,
    text_of,
)
from bitextfilter.io.rows import BadRow, Row, TextColumn

if TYPE_CHECKING:
    from bitextfilter.translation.translator import Translation


@command(
    "bitext-translate",
    search_options("translation", "5, or --n-best"),
    row_options("input output errors"),
    TranslatorName,
    batch_size=2048,
)
def main(run: Run, search: SearchOptions) -> None:
    """Translate sentences, one a line: a line for each input line, in order.

    With --n-best K each line gives up to K rows instead, best first, tab-separated: its number,
    the rank, the score and the translation. A score is the mean natural-log probability of a
    subword, the end mark included: from -inf to 0, higher is better. The translations of a line
    are distinct. A beam never ends with a lower score than greedy search. --sample draws them from
    the model by --seed; the same line gives the same samples.

    A blank line stays blank (with --n-best: rank 1, no score). A line is truncated to
    --max-length subwords, and a message on stderr names it. A line that is not UTF-8 or holds a
    NUL stops the run; with --on-error reject it gives a blank line. A translation depends on its
    line alone. Memory is bounded by --batch-size.

    Example:

        bitext-translate --model de-en --beam 1 < text.de > text.en
        bitext-translate --model de-en --n-best 10 -i text.de.gz -o ten.tsv
    """
    settings = search.settings()
    reader = run.rows(TextColumn(blank=True))
    output = run.output()
    translator = load_translation_model(run, run.model_name, settings)

    def find(window: Sequence[Row | BadRow]) -> list[Translation]:
        return translator.translate([text_of(row) for row in window], settings)

    output.write(reader.first_line())
    for window in found_windows(run, reader, find):
        for row, translation in window:
            output.writelines(output_lines(row, translation, search))
