"""``bitext-paraphrase make``: paraphrases by translating the foreign side of bitext."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import option, options_of, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.translators import (
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


_TEXTS = ("reference", "translation", "rank", "score")
"""The names of the first columns; the columns of the rules follow."""


class _Pair(NamedTuple):
    """One line of output, before the rules have measured it."""

    row: Row
    rank: int
    found: Hypothesis


@dataclass(frozen=True)
class _Settings:
    """The translator, and the encoder of the paraphrase score, if any."""

    translator: str = option(
        "--translator DIR", "The folder of bitext-train-translator.", required=True
    )
    model: str | None = option(
        "--model NAME|DIR", "Also append the paraphrase score, by this encoder."
    )


_SEARCH = options_of(
    SearchOptions,
    "beam n_best max_length digits",
    {
        "n_best": {"help": "Pair each reference with its K best translations.  [default: 1]"},
        "beam": {
            "help": "Hypotheses kept while searching; 1 is greedy search.  "
            "[default: 5, or --n-best]"
        },
        "max_length": {"help": "Most subwords of a sentence that are read, and of a translation."},
    },
)


@command("make", _Settings, _SEARCH, row_options(), batch_size=2048)
def main(run: Run, models: _Settings, search: SearchOptions) -> None:
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
    settings = search.settings()
    rules = _rules(run, models.model)
    reader, output = run.rows(), run.output()
    model = load_translation_model(run, models.translator, settings)

    def find(window: Sequence[Row | BadRow]) -> list[Translation]:
        return model.translate([text_of(row) for row in window], settings)

    output.write(_first_line(reader, rules))
    run.counts["pairs"] = 0
    for window in found_windows(run, reader, find):
        pairs = list(_pairs(run, reader, window, search.n_best or 1))
        run.counts["pairs"] += len(pairs)
        output.writelines(_lines(pairs, rules, search.digits))


def _rules(run: Run, model: str | None) -> dict[str, Bounded]:
    """Return the prepared rules by the names of their columns."""
    from bitextfilter.filters.likeness import NgramOverlap, ParaphraseScore, SentenceBleu
    from bitextfilter.filters.shape import Length
    from bitextfilter.models.folders import find_model, model_digest

    rules: dict[str, Bounded] = {"length": Length()}
    rules |= {f"overlap{order}": NgramOverlap(order=order) for order in (1, 2, 3)}
    rules["bleu"] = SentenceBleu()
    if model is not None:
        rules["paraphrase"] = ParaphraseScore(model=model)
        rules["paraphrase"].prepare(None)
        run.facts["paraphrase_model"] = Path(model).name
        run.facts["paraphrase_digest"] = model_digest(find_model(model))
    return rules


def _first_line(reader: RowReader, names: Mapping[str, object]) -> bytes:
    """Return the BOM, if any, and the new header."""
    first = reader.first_line()
    if reader.header is None:
        return first
    mark = BOM if first.startswith(BOM) else b""
    return mark + "\t".join([*_TEXTS, *names]).encode() + (reader.header_ending or b"\n")


def _pairs(
    run: Run, reader: RowReader, window: Sequence[tuple[Row | BadRow, Translation]], n_best: int
) -> Iterator[_Pair]:
    """Yield the references of a window with their translations; a row without any is bad."""
    for row, translation in window:
        if isinstance(row, BadRow):
            continue
        if not translation.hypotheses:
            problem = "nothing in the source to translate"
            run.reject(BadRow(row.number, row.line, row.ending, problem, REMEDY, reader.name))
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
