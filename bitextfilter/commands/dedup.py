"""``bitext-dedup``: each pair once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from math import isnan
from typing import TYPE_CHECKING, BinaryIO

import click

from bitextfilter.commands.frame.command import command, needs_none_of
from bitextfilter.commands.frame.formats import read_others
from bitextfilter.commands.frame.options import (
    COUNT,
    NumberRange,
    as_amount,
    as_column,
    flag,
    is_given,
    needs_own_file,
    option,
    options_of,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.corpus.duplicate_keys import MATCH, DedupSettings
from bitextfilter.corpus.formats.base import format_of
from bitextfilter.io.files import without_ending
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import SIDES, BadRow, Columns, Fault, Row, number_of, optional
from bitextfilter.settings import none_of
from bitextfilter.text.wording import IGNORABLE

if TYPE_CHECKING:
    from bitextfilter.corpus.dedup import DedupWindow
    from bitextfilter.corpus.other_texts import AgainstSettings, OtherTexts
    from bitextfilter.io.spill import Records


def _ignorable(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """Read the parts to ignore: names separated by commas."""
    names = tuple(value.split(",")) if isinstance(value, str) else value
    if unknown := [name for name in names if name not in IGNORABLE]:
        raise click.BadParameter(none_of(unknown[0], IGNORABLE))
    return names


def _least_words(value: str) -> tuple[int, ...]:
    """Read three numbers of words, which ascend from 1."""
    words = [int(word) if word.isdecimal() else 0 for word in value.split(",")]
    if len(words) != 3 or words[0] < 1 or words != sorted(words):
        raise click.BadParameter(f"{value!r} is not three numbers that ascend from 1, as 3,6,8")
    return tuple(words)


def _bytes(value: str) -> int:
    """Read an amount of memory, above 0."""
    if not (number := as_amount(value)):
        raise click.BadParameter("memory must be above 0")
    return number


@dataclass(frozen=True)
class _Settings(DedupSettings):
    """The duplicates, the rows to keep, and the file of the groups."""

    column: int | str | None = option(
        "--column COLUMN", "Column of the score; higher is better  [default: -1]", as_column
    )
    groups: str | None = option(
        "--groups FILE", "Write the groups of duplicates: number, line, kept or dropped, the row."
    )

    def __post_init__(self) -> None:
        """Refuse options without effect."""
        super().__post_init__()
        near = ("near",)
        for name, matches in {"ignore": MATCH[1:], "similarity": near, "shingle": near}.items():
            if is_given(name) and self.match not in matches:
                raise click.UsageError(f"--{name} is for --match {' or '.join(matches)}")
        if self.column is not None and self.keep == "first":
            raise click.UsageError("--column is for --keep best")


_OPTIONS = options_of(
    _Settings,
    "match by keep column ignore languages similarity shingle memory groups",
    {"ignore": {"type": _ignorable}, "memory": {"type": _bytes, "default": "1G"}},
)


@dataclass(frozen=True)
class _Others:
    """The files whose rows are dropped."""

    against: tuple[str, ...] = option(
        "--against FILE",
        "Drop the rows of which a side is in FILE, in any column; repeatable.",
        multiple=True,
    )
    against_source: tuple[str, ...] = option(
        "--against-source FILE",
        "Drop the rows whose source is in FILE, a plain text; repeatable.",
        multiple=True,
    )
    against_target: tuple[str, ...] = option(
        "--against-target FILE", "The same for the target.", multiple=True
    )
    against_match: str = option(
        "--against-match", "Texts that are found in these files  [default: near]", MATCH, "near"
    )
    against_by: str = option(
        "--against-by",
        "Side to find: any in any column, either or one in its own, or both in a row  "
        "[default: any]",
        ("any", "either", "source", "target", "pair"),
        "any",
    )
    against_words: tuple[int, ...] = option(
        "--against-words N,N,N",
        "Fewest words of a text that is found alone: as it is, nearly so, within another  "
        "[default: 3,6,8]",
        _least_words,
        "3,6,8",
    )
    overlap: float = option(
        "--overlap SHARE",
        "Least share of the n-grams of the shorter of two near texts, above 0, up to 1  "
        "[default: 0.7]",
        NumberRange(0, 1, min_open=True),
        0.7,
    )
    ngram: int = option("--ngram N", "Words of these n-grams  [default: 2]", COUNT, 2)
    only_against: bool = flag("--only-against", "Drop these rows alone: keep duplicates.")

    def __post_init__(self) -> None:
        """Refuse options without effect."""
        near, others = ("overlap", "ngram"), ("against_match", "against_by", "against_words")
        if not self.files:
            needs_none_of(("only_against", *others, *near), "needs --against FILE")
        if self.against_match != "near":
            needs_none_of(near, "is for --against-match near")
        if "-" in self.files:
            raise click.UsageError("--against needs a file, not stdin")
        for path in self.files:
            if (form := format_of(path)) not in (None, "tsv", "parquet", "arrow"):
                raise click.UsageError(
                    f"--against reads rows or lines of text, not {form}: bitext-convert {path} -o"
                    f" {path}.tsv makes some"
                )

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all these files."""
        return (*self.against, *self.against_source, *self.against_target)

    def check(self, settings: _Settings) -> None:
        """Refuse settings that other files have no part in."""
        wanted = self.against_by
        if settings.by in SIDES and wanted not in ("any", settings.by):
            raise click.UsageError(f"--against-by {wanted} does not go with --by {settings.by}")
        for side in SIDES:
            if getattr(self, f"against_{side}"):
                if wanted not in (side, "any", "either"):
                    raise click.UsageError(f"--against-{side} is not for --against-by {wanted}")
                if settings.by not in (side, "pair", "either"):
                    raise click.UsageError(f"--against-{side} is not for --by {settings.by}")
        if self.only_against and (settings.keep == "best" or settings.groups is not None):
            raise click.UsageError("--only-against keeps duplicates: no --keep best or --groups")

    def definition(self, settings: _Settings) -> AgainstSettings:
        """Return the definition of the texts that occur in these files."""
        from bitextfilter.corpus.other_texts import AgainstSettings, Likeness

        equal, alike, within = self.against_words
        likeness = Likeness(self.ngram, self.overlap, alike, within)
        against = self.against_match, self.against_by
        return AgainstSettings(*against, equal, likeness, settings.ignore, settings.languages)


@command(
    "bitext-dedup", _OPTIONS, _Others, row_options("pairs files", drops=True), uses="batch_size"
)
def main(run: Run, settings: _Settings, others: _Others) -> None:
    """Keep one of the pairs that are duplicates of each other, in input order.

    A row is dropped if it matches a kept row; --rejects FILE names that row. Rows match

        exact        if their texts are equal, byte for byte
        normalised   if they are equal but for case, punctuation and white space (--ignore)
        near         if their normalised character n-grams have a Jaccard similarity of
                     --similarity or more, on each side, and their numbers are the same; needs
                     bitextfilter[near]

    The first row of equals is kept, or, with --keep best, the row with the highest score. Rows
    without a score come last.

    Memory stays near --memory for any number of rows. Rows are written as they come while their
    keys fit in half of it, some 9 million in 1G; later rows, and all rows with --keep best,
    --match near or --groups, wait in temporary files (in TMPDIR).

    Rows of which a side is in a file of --against, such as a test set, are dropped first, also
    with small changes, or within a longer text; texts of less than 3 words only with their
    translation. These files take memory beside --memory.

    Example:

        bitext-dedup < pairs.tsv > unique.tsv
        bitext-score < pairs.tsv | bitext-dedup --match normalised --keep best > best.tsv
        bitext-dedup corpus/*.tsv.gz > unique.tsv
        bitext-dedup --match near --by source --groups groups.tsv --rejects gone.tsv < pairs.tsv
        bitext-dedup --against test.tsv --against dev.en --against dev.de < pairs.tsv > train.tsv
    """
    others.check(settings)
    files, score = run.row_settings, settings.column
    taken = (*files.inputs, files.output, files.rejects, *others.files)
    needs_own_file("--groups", settings.groups, taken)
    needs_own_file("--rejects", files.rejects, others.files)
    score = -1 if score is None and settings.keep == "best" else score
    sides = (settings.by,) if settings.by in SIDES else SIDES
    last = optional("score", "--column", score)
    compared = replace(files.columns, blank=score is not None, sides=sides, last=last)
    rows = run.rows(compared)
    found = {settings.match, others.against_match if others.files else "exact"}
    if settings.languages is not None and found == {"exact"}:
        run.warn("--languages has no effect: --match exact compares capitals as they are")
    run.facts.update(_facts(settings))
    run.counts.update(kept=0, dropped=0)
    known = _known_texts(run, settings, others) if others.files else None
    if others.only_against and known is not None:
        _subtract(run, settings, rows, known)
    else:
        _deduplicate(run, settings, rows, known)


def _known_texts(run: Run, settings: _Settings, others: _Others) -> OtherTexts:
    """Read the files whose rows are dropped. A bad row of theirs stops the run."""
    from bitextfilter.corpus.other_texts import OtherTexts

    wanted = others.definition(settings)
    known = OtherTexts(wanted, (settings.by,) if settings.by in SIDES else SIDES)
    run.facts.update(against=list(others.files), only_against=others.only_against)
    run.facts.update(against_match=wanted.match, against_by=wanted.by, against_words=wanted.words)
    if wanted.match == "near":
        run.facts.update(near=asdict(wanted.likeness))
    run.counts["in other files"] = 0
    for path in others.against:
        read_others(run, known, path, None)
    for side, paths in zip(SIDES, (others.against_source, others.against_target), strict=True):
        for path in paths:
            read_others(run, known, path, side)
    return known


def _subtract(run: Run, settings: DedupSettings, rows: RowReader, known: OtherTexts) -> None:
    """Write the rows that are not in other files."""
    output = run.output()
    output.write(rows.first_line())
    for window in _windows(run, settings, rows):
        found = (-known.find(window.texts)).tolist()
        _write(run, output, window.items, dict(zip(window.lines, found, strict=True)), known)


def _deduplicate(run: Run, settings: _Settings, rows: RowReader, known: OtherTexts | None) -> None:
    """Write the rows kept, at once or when all are read, and the groups."""
    from bitextfilter.corpus.dedup import Deduplicator, decided_windows
    from bitextfilter.io.spill import Records

    output = run.output()
    groups = None if settings.groups is None else run.output(settings.groups)
    deduplicator = run.enter(Deduplicator(settings, groups is not None, known))
    waiting = _WaitingLines(run, settings, rows, run.enter(Records()))
    output.write(rows.first_line())
    windows = _windows(run, settings, rows)
    for window, keepers in decided_windows(deduplicator, windows, waiting.hold, waiting.held):
        _write(run, output, window.items, keepers, known)
    if groups is not None and waiting.first:
        for group, line, kept in deduplicator.groups():
            fate = "kept" if kept else "dropped"
            groups.write(f"{group}\t{line}\t{fate}\t".encode() + waiting.row(line) + b"\n")
            run.counts["groups"] = group
    if not run.counts["unscored"]:
        del run.counts["unscored"]
    elif run.counts["unscored"] == run.counts["rows"] - run.counts["rejected"]:
        run.warn("no row has a score: --column names theirs")


def _windows(
    run: Run, settings: DedupSettings, rows: RowReader
) -> Iterator[DedupWindow[Row | BadRow]]:
    """Yield the rows, with the texts and scores to compare."""
    from bitextfilter.corpus.dedup import DedupWindow

    for window in run.windows(rows, again=True, fault=_fault(settings)):
        run.counts["rows"] += len(window)
        good = [row for row in window if isinstance(row, Row)]
        texts = [row.texts[: settings.sides] for row in good]
        scores = None
        if settings.keep == "best":
            scores = [number_of(row.texts[-1].encode()) for row in good]
            run.counts["unscored"] += sum(map(isnan, scores))
        yield DedupWindow(window, [row.number for row in good], texts, scores)


def _fault(settings: DedupSettings) -> Fault | None:
    """Return the fault of rows with a blank side; a reader of scores accepts them."""
    names = SIDES if settings.sides == 2 else (settings.by,)
    return None if settings.keep == "first" else Columns(sides=names).blank_fault(*names)


def _write(
    run: Run,
    output: BinaryIO,
    window: Iterable[Row | BadRow],
    keepers: Mapping[int, int],
    known: OtherTexts | None,
) -> None:
    """Write the rows kept of a window.

    *keepers* has the lines that others duplicate; below 0, numbers of *known* texts.
    """
    kept = []
    for row in window:
        if isinstance(row, BadRow):
            run.reject(row)
        elif keeper := keepers.get(row.number, 0):
            if keeper < 0 and known is not None:
                run.counts["in other files"] += 1
                run.drop(row, known.reason(-keeper))
            else:
                run.drop(row, f"duplicate of line {keeper}")
        else:
            kept.append(row.line + row.ending)
    output.write(b"".join(kept))
    run.counts["kept"] += len(kept)


class _WaitingLines:
    """Rows on disk as they were read, from line ``first`` on."""

    def __init__(
        self, run: Run, settings: DedupSettings, rows: RowReader, records: Records
    ) -> None:
        self._run, self._settings, self._rows = run, settings, rows
        self._records = records
        self.first = 0

    def hold(self, window: DedupWindow[Row | BadRow]) -> None:
        """Append the rows of a window. A bad row that stops the run does so now."""
        if not self.first:
            self.first = window.items[0].number
            self._run.note(f"rows wait in {tempfile.gettempdir()} until all are read")
        for row in window.items:
            if isinstance(row, BadRow) and not self._run.row_settings.reject:
                self._run.reject(row)
        self._records.extend([row.line + row.ending for row in window.items])

    def held(self) -> Iterator[DedupWindow[Row | BadRow]]:
        """Yield the rows again."""
        from bitextfilter.corpus.dedup import DedupWindow

        parse = self._rows.parser.row
        rows = (
            parse(number, line) for number, line in enumerate(self._records.lines(), self.first)
        )
        self._run.progress().reset(total=len(self._records))
        for window in self._run.windows(rows, again=True, fault=_fault(self._settings)):
            yield DedupWindow(window, [window[-1].number])

    def row(self, line: int) -> bytes:
        """Return the row of a line, without its ending."""
        return without_ending(self._records[line - self.first])


def _facts(settings: DedupSettings) -> dict[str, str | int | float]:
    """Return the settings that matter, for the manifest."""
    facts: dict[str, str | int | float] = {
        "match": settings.match,
        "by": settings.by,
        "keep": settings.keep,
    }
    if settings.match != "exact":
        facts["ignore"] = ",".join(settings.ignore)
        if settings.languages is not None:
            facts["languages"] = ",".join(settings.languages)
    if settings.match == "near":
        facts["similarity"], facts["shingle"] = settings.similarity, settings.shingle
        facts["rensa"] = version("rensa")
    return facts
