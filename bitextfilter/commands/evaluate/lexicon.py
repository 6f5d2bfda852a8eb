"""``bitext-evaluate lexicon``: how much of what differs a lexicon of paraphrases explains."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluate.options import bootstrap_options
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import BadRow

if TYPE_CHECKING:
    from bitextfilter.evaluation.filtering import Bootstrap
    from bitextfilter.evaluation.result import Record


_Entries = list[tuple[str, list[str], dict[int, float]]]
"""A word, the words of a paraphrase, and its scores by column."""

_ORDERS = {"probability": 4, "pmi": 3}
"""Orders of the paraphrases of a word, and the columns of their scores, from 0."""
_COLUMNS = 6


@command(
    "lexicon",
    [option for option in row_options() if option.name != "input"],
    bootstrap_options(),
    uses="rows",
)
@click.argument("file", metavar="PARAPHRASES")
@click.option(
    "--lexicon",
    "path",
    required=True,
    metavar="FILE",
    help="What bitext-paraphrase lexicon wrote, from other paraphrases.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def lexicon(run: Run, file: str, path: str, as_json: bool, **drawn: int) -> None:
    """Measure how much of what differs between held-out PARAPHRASES a lexicon explains.

    Of the words of a source that do not stand in its target, a word is explained at rank k if one
    of its k best paraphrases stands there: recall at 1, 5 and 10, in percent, 0 to 100, higher is
    better, with 95 % bootstrap intervals. The best are those of the highest probability
    p(paraphrase|phrase), or PMI. Beside it stands the same for sources with targets of other
    pairs, by --seed: what common words explain anywhere. Memory holds PARAPHRASES, and the
    lexicon's entries of single words.

    Writes a line for each order and rank, tab-separated: order, rank, recall, low, high, random,
    words, signature.

    Example:

        bitext-evaluate lexicon --lexicon lexicon.tsv held-out.tsv
    """
    from bitextfilter.evaluation.filtering import Bootstrap
    from bitextfilter.evaluation.result import Result
    from bitextfilter.text.vocabulary import plain_words

    run.row_settings = dataclasses.replace(run.row_settings, input=file)
    output, entries = run.output(), _entries(run, path)
    rows = (row for window in run.windows(run.rows()) for row in window)
    pairs = [
        (plain_words(row.source), plain_words(row.target))
        for row in rows
        if not isinstance(row, BadRow)
    ]
    if len(pairs) < 2:
        raise InputError("fewer than two pairs", file=stream_name(file))
    records = _records(entries, pairs, Bootstrap(drawn["resamples"], drawn["seed"]))
    columns = dict.fromkeys(records[0], ".2f")
    output.write(Result("lexicon", columns, {"results": records}, {"file": file}).text(as_json))


def _records(
    entries: _Entries, pairs: list[tuple[list[str], list[str]]], bootstrap: Bootstrap
) -> list[Record]:
    """Return the recall by each order, at each rank."""
    from bitextfilter.evaluation.lexicon import best_first, measure_lexicon
    from bitextfilter.evaluation.result import signature

    records: list[Record] = []
    for order, number in _ORDERS.items():
        best = best_first((word, words, scores[number]) for word, words, scores in entries)
        for row in measure_lexicon(pairs, best, bootstrap):
            value, low, high = row.recall
            figures = {"recall": value, "low": low, "high": high, "random": row.random}
            head = f"recall@{row.rank} = {value:.2f}"
            line = signature(head, n=len(pairs), order=order, **bootstrap.facts)
            by = {"order": order, "rank": row.rank}
            records.append({**by, **figures, "words": row.words, "signature": line})
    return records


def _entries(run: Run, path: str) -> _Entries:
    """The entries of single words: the word, the words of the paraphrase, scores by column."""
    name, entries = stream_name(path), []
    for number, line in enumerate(run.input(path), 1):
        try:
            cells = line.decode().rstrip("\r\n").split("\t")
            scores = {column: float(cells[column]) for column in _ORDERS.values()}
        except (UnicodeDecodeError, ValueError, IndexError) as error:
            message = f"expected {_COLUMNS} columns, scores in the last three"
            remedy = "bitext-paraphrase lexicon writes them"
            raise InputError(message, file=name, line=number, remedy=remedy) from error
        if " " not in cells[0]:
            entries.append((cells[0], cells[1].split(), scores))
    return entries
