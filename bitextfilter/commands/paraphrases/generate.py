"""``bitext-paraphrase generate``: sentences said in other words by a translation model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bitextfilter.commands.frame import (
    Run,
    command,
    error_options,
    input_option,
    output_option,
)
from bitextfilter.commands.translation import (
    found_lines,
    load,
    output_lines,
    search_options,
    search_settings,
    text_of,
)
from bitextfilter.io.rows import BadRow, Row, TextColumn

if TYPE_CHECKING:
    from bitextfilter.translation.translator import Translation

__all__ = ["generate"]


@command(
    "generate",
    input_option(),
    output_option(),
    error_options(),
    search_options("paraphrase", "5, or --n-best + 1"),
    batch_size=2048,
)
def generate(run: Run, digits: int, **options: Any) -> None:
    """Say sentences in other words, one a line: one line out for each line in, in their order.

    The model is one of bitext-train-translator with --languages en,en or the like, trained on
    paraphrases. What is the sentence again, but for case, spaces and punctuation, is not offered,
    unless the search found nothing else: the summary counts such lines as copies.

    With --n-best K each line gives up to K rows instead, best first, tab-separated: its number,
    the rank, the score and the paraphrase. A score is the mean natural-log probability of a
    subword, the end mark included: from -inf to 0, higher is better. --sample draws paraphrases
    from the model by --seed, K of them.

    Lines that are blank, too long or bad are treated as bitext-translate does. A paraphrase
    depends on its line alone. Memory is bounded by --batch-size.

    Example:

        bitext-paraphrase generate --model en-en < text > other-words
        bitext-paraphrase generate --model en-en --n-best 5 -i text.gz -o five.tsv
    """
    from bitextfilter.corpus.comparison import normaliser

    settings = search_settings(options, spare=1)
    rows = run.rows(TextColumn(blank=True))
    output = run.output()
    translator = load(run, settings)
    wording = normaliser(("case", "space", "punctuation"))
    run.counts["copies"] = 0

    def find(window: Sequence[Row | BadRow]) -> list[Translation]:
        sentences = [text_of(row) for row in window]
        found = translator.translate(sentences, settings)
        return [
            _others(run, sentence, translation, wording)
            for sentence, translation in zip(sentences, found, strict=True)
        ]

    output.write(rows.first_line())
    for row, translation in found_lines(run, rows, find):
        for line in output_lines(row, translation, options["n_best"], digits):
            output.write(line)


def _others(
    run: Run, sentence: str, found: Translation, wording: Callable[[str], str]
) -> Translation:
    """Leave out what is worded as the sentence is; where all is, that stays and is counted."""
    same = wording(sentence)
    others = [other for other in found.hypotheses if wording(other.text) != same]
    if others:
        return found._replace(hypotheses=others)
    run.counts["copies"] += bool(found.hypotheses)
    return found
