"""``bitext-align-words``: the words of each pair that translate each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    COUNT,
    as_amount,
    flag,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.row_reader import RowReader, row_windows
from bitextfilter.io.rows import BadRow, Row

if TYPE_CHECKING:
    from bitextfilter.mining.word_lexicon import Lexicon

_HEURISTICS = (
    "grow-diag-final-and",
    "grow-diag",
    "intersection",
    "union",
    "forward",
    "backward",
)


@dataclass(frozen=True)
class _Settings:
    """The learning, the lexicon, and the form of the output."""

    symmetrise: str = option(
        "--symmetrise", "How both directions become one.", _HEURISTICS, _HEURISTICS[0]
    )
    unaligned: bool = flag("--unaligned", "Append the share of words without a link, too.")
    alignment_only: bool = flag("--alignment-only", "Write the new columns without the rows.")
    max_words: int = option(
        "--max-words N",
        "Leave pairs with a longer side without alignment, up to 1000.",
        click.IntRange(1, 1000),
        100,
    )
    iterations: int | None = option("--iterations N", "Iterations of learning  [default: 5]", COUNT)
    learn_rows: int | None = option(
        "--learn-rows N", "Learn from the first N rows: 500k, 2M  [default: all]", as_amount
    )
    save: str | None = option("--save FILE", "Write the lexicon, compressed by name.")
    load: str | None = option("--load FILE", "Align by a lexicon of --save; learn nothing.")

    def __post_init__(self) -> None:
        """Refuse options without effect."""
        for name in ("iterations", "learn_rows", "save"):
            if self.load is not None and getattr(self, name) is not None:
                raise click.UsageError(f"--load learns nothing: no --{name.replace('_', '-')}")
        if self.learn_rows == 0:
            raise click.UsageError("--learn-rows is above 0")

    @property
    def columns(self) -> list[str]:
        """The names of the new columns."""
        return ["alignment", "unaligned"] if self.unaligned else ["alignment"]


@command("bitext-align-words", _Settings, row_options("pairs files"), uses="batch_size")
def main(run: Run, settings: _Settings) -> None:
    """Append to every pair the words that translate each other, in input order.

    The column alignment has the links in Pharaoh format, as Moses and fast_align write it: 0-0 1-2
    says that the first word of the source goes with the first word of the target, and the second
    with the third. Words stand between white space; text is best tokenised before. They are
    compared in lower case, without punctuation at their ends.

    --unaligned appends the share of the words of both sides without a link, 0 to 1.

    Learns from the input: IBM model 1 with a preference for the diagonal, in both directions, by
    expectation maximisation. Nothing is random. Rows wait in a temporary file (in TMPDIR) as large
    as the input. Memory holds 4 bytes for each word of one side with each of the other in a pair,
    and some 50 bytes a distinct pair of words: for 100,000 pairs of 20 words, up to 1.7 GB. With
    --learn-rows only the first rows take memory. With --load, rows are aligned as they come.

    A bad row, a pair that is too long, and one without any link have an empty alignment.

    Example:

        bitext-align-words --alignment-only < tokenised.tsv > links.txt
        bitext-align-words --learn-rows 200k --save lexicon.zst < pairs.tsv > aligned.tsv
        bitext-align-words --load lexicon.zst --unaligned < pairs.tsv |
            bitext-filter --rule '-1<=0.4' > better.tsv
    """
    from bitextfilter.mining.word_lexicon import read_lexicon

    files = run.row_settings
    taken = (*files.inputs, files.output, files.rejects, settings.load)
    needs_own_file("--save", settings.save, taken)
    rows, output = run.rows(), run.output()
    if not settings.alignment_only:
        output.write(rows.first_line(settings.columns))
    run.counts["too long"] = 0
    if settings.load is not None:
        lexicon, windows = read_lexicon(settings.load), run.windows(rows)
    else:
        lexicon, windows = _learnt(run, settings, rows)
    run.facts.update(word_pairs=len(lexicon), symmetrise=settings.symmetrise)
    for window in windows:
        output.write(b"".join(_lines(run, settings, lexicon, window)))


def _learnt(
    run: Run, settings: _Settings, rows: RowReader
) -> tuple[Lexicon, Iterator[list[Row | BadRow]]]:
    """Read all rows, and return the lexicon that they give, and the rows again."""
    from bitextfilter.io.spill import Records
    from bitextfilter.mining.word_alignment import ITERATIONS
    from bitextfilter.mining.word_lexicon import LexiconLearner

    learner, records = LexiconLearner(), run.enter(Records())
    first = 1 if rows.header is None else 2
    for window in run.windows(rows):
        records.extend([row.line + row.ending for row in window])
        for row in window:
            full = settings.learn_rows is not None and len(learner) >= settings.learn_rows
            if not full and (words := _words(row, settings.max_words)):
                learner.add(words)
    run.note(f"learning from {len(learner)} pairs")
    lexicon = learner.learn(settings.iterations or ITERATIONS)
    if settings.save is not None:
        stream = run.output(settings.save)
        for line in lexicon.lines():
            stream.write(line)
    parse = rows.parser.row
    again = (parse(number, line) for number, line in enumerate(records.lines(), first))
    return lexicon, row_windows(again, run.common.batch_size)


def _words(row: Row | BadRow, most: int) -> tuple[list[str], list[str]] | None:
    """Return the words of both sides; None for a bad row, and for more than *most* on a side."""
    if isinstance(row, BadRow):
        return None
    source, target = row.source.split(), row.target.split()
    return (source, target) if max(len(source), len(target)) <= most else None


def _lines(
    run: Run, settings: _Settings, lexicon: Lexicon, window: Sequence[Row | BadRow]
) -> Iterator[bytes]:
    """Yield the lines of the output."""
    from bitextfilter.mining.word_lexicon import SYMMETRISATIONS, pharaoh, unaligned_share

    pairs = [_words(row, settings.max_words) for row in window]
    found = lexicon.align([pair for pair in pairs if pair is not None])
    for row, pair in zip(window, pairs, strict=True):
        cells = [""] * len(settings.columns)
        if pair is not None:
            links = SYMMETRISATIONS[settings.symmetrise](next(found))
            share = unaligned_share(links, (len(pair[0]), len(pair[1])))
            cells = [pharaoh(links), f"{share:.4f}"][: len(cells)]
        run.counts["too long"] += pair is None and isinstance(row, Row)
        line = "\t".join(cells).encode()
        yield line + b"\n" if settings.alignment_only else row.line + b"\t" + line + row.ending
