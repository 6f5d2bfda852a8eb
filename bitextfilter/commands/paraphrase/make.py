"""``bitext-paraphrase make``: paraphrases by translating the foreign side of bitext."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import pop_settings, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.searching import (
    SearchOptions,
    found_windows,
    load_translation_model,
    text_of,
)
from bitextfilter.io.files import BOM
from bitextfilter.io.rows import REMEDY, BadRow, Row, RowReader

if TYPE_CHECKING:
    from bitextfilter.filters.rule import Bounded
    from bitextfilter.translation.translator import Hypothesis, Translation


TEXTS = ("reference", "translation", "rank", "score")
"""The names of the first columns; those of the rules follow."""


class _Pair(NamedTuple):
    """One line of output, before the rules have measured it."""

    row: Row
    rank: int
    found: Hypothesis


@command("make", row_options(), batch_size=2048)
@click.option(
    "--translator", required=True, metavar="DIR", help="The folder of bitext-train-translator."
)
@click.option(
    "--n-best",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    metavar="K",
    help="Pair each reference with its K best translations.",
)
@click.option(
    "--beam",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Hypotheses kept while searching; 1 is greedy search.  [default: 5, or --n-best]",
)
@click.option(
    "--max-length",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    metavar="N",
    help="Most subwords of a sentence that are read, and of a translation.",
)
@click.option(
    "--model", metavar="NAME|DIR", help="Also append the paraphrase score, by this encoder."
)
@click.option("--digits", type=click.IntRange(0, 9), default=4, show_default=True,
              help="Decimals of scores.")  # fmt: skip
def main(run: Run, translator: str, **options: Any) -> None:
    """Translate the foreign side of sentence pairs, and pair it with the other, the reference.

    Reads pairs of a foreign sentence (--scol) and its reference (--tcol). Writes a row for each
    translation, tab-separated, best first: reference, translation, rank (from 1), and

        score       mean natural-log probability of a subword, -inf to 0; the cost is -score
        length      words of the translation
        overlap1    0 to 1: words that both share / words of the shorter side
        overlap2    the same of two words in a row, overlap3 of three
        bleu        0 to 1: smoothed sentence BLEU of the translation
        paraphrase  -1 to 1, with --model: cosine of the two sentence vectors

    each as bitext-filter has it (rules length, ngram-overlap, sentence-bleu, paraphrase-score).
    --header names these columns, in place of those read; other columns are not written.
    A rejected row has no translation. Of a sentence of more than --max-length subwords only so
    many are read, and its line is said on stderr. Memory is bounded by --batch-size.

    Example:

        bitext-paraphrase make --translator de-en --scol 2 --tcol 1 < en-de.tsv > pairs.tsv
        bitext-paraphrase make --translator de-en --n-best 10 --beam 50 -i de-en.tsv.gz -o ten.tsv
    """
    search = pop_settings(SearchOptions, options)
    settings = search.settings()
    rules = _rules(run)
    rows, output = run.rows(), run.output()
    model = load_translation_model(run, translator, settings)

    def find(window: Sequence[Row | BadRow]) -> list[Translation]:
        return model.translate([text_of(row) for row in window], settings)

    output.write(_first_line(rows, rules))
    run.counts["pairs"] = 0
    for window in found_windows(run, rows, find):
        pairs = list(_pairs(run, rows, window, search.n_best or 1))
        run.counts["pairs"] += len(pairs)
        output.writelines(_lines(pairs, rules, search.digits))


def _rules(run: Run) -> dict[str, Bounded]:
    """Return the prepared rules by the names of their columns."""
    from bitextfilter.filters.length import Length
    from bitextfilter.filters.likeness import NgramOverlap, ParaphraseScore, SentenceBleu
    from bitextfilter.models.folders import find_model, model_digest

    rules: dict[str, Bounded] = {"length": Length()}
    rules |= {f"overlap{order}": NgramOverlap(order=order) for order in (1, 2, 3)}
    rules["bleu"] = SentenceBleu()
    if run.model_name is not None:
        rules["paraphrase"] = ParaphraseScore(model=run.model_name)
        rules["paraphrase"].prepare(None)
        run.facts["paraphrase_model"] = Path(run.model_name).name
        run.facts["paraphrase_digest"] = model_digest(find_model(run.model_name))
    return rules


def _first_line(rows: RowReader, names: Mapping[str, object]) -> bytes:
    """Return the BOM, if any, and the new header."""
    first = rows.first_line()
    if rows.header is None:
        return first
    mark = BOM if first.startswith(BOM) else b""
    return mark + "\t".join([*TEXTS, *names]).encode() + (rows.header_ending or b"\n")


def _pairs(
    run: Run, rows: RowReader, window: Sequence[tuple[Row | BadRow, Translation]], n_best: int
) -> Iterator[_Pair]:
    """Yield the references of a window with their translations; a row without any is bad."""
    for row, translation in window:
        if isinstance(row, BadRow):
            continue
        if not translation.hypotheses:
            problem = "nothing in the source to translate"
            run.reject(BadRow(row.number, row.line, row.ending, problem, REMEDY, rows.name))
        for rank, found in enumerate(translation.hypotheses[:n_best], 1):
            yield _Pair(row, rank, found)


def _lines(pairs: Sequence[_Pair], rules: Mapping[str, Bounded], digits: int) -> Iterator[bytes]:
    """Measure some pairs, and yield their lines."""
    from bitextfilter.filters.pairs import Pairs

    sides = [pair.row.target for pair in pairs], [pair.found.text for pair in pairs]
    measured = [rule.values(Pairs(*sides)) for rule in rules.values()]
    columns = [values if values.ndim == 1 else values[:, 1] for values in measured]
    for place, (row, rank, found) in enumerate(pairs):
        numbers = (column[place].item() for column in columns)
        cells = [row.target, found.text, str(rank), f"{found.score:.{digits}f}"]
        cells += (str(n) if isinstance(n, int) else f"{n:.{digits}f}" for n in numbers)
        yield "\t".join(cells).encode() + (row.ending or b"\n")
