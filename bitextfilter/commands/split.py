"""``bitext-split``: training, development and test set, with no text in two of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.first_rows import refuse_table
from bitextfilter.commands.frame.options import (
    NATURAL,
    as_column,
    as_most_bad,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.corpus.duplicate_keys import MATCH
from bitextfilter.io.files import open_outputs
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import SIDES, Row, optional
from bitextfilter.text.wording import IGNORABLE

if TYPE_CHECKING:
    from bitextfilter.corpus.selection import SplitSettings, Splitter

BY = ("either", "source", "target", "pair", "none")


def _part(text: str) -> tuple[str, int | Fraction]:
    """Read ``NAME=N`` or ``NAME=SHARE``."""
    name, _, size = text.partition("=")
    name = _name(name)
    try:
        return name, as_most_bad(size)
    except click.BadParameter:
        message = f"{text!r} is not NAME=N or NAME=SHARE, such as dev=1000 or test=1%"
        raise click.BadParameter(message) from None


def _name(text: str) -> str:
    """Read the name of a part, which is a part of the name of a file."""
    if not re.fullmatch(r"\w[\w.-]*", text):
        raise click.BadParameter(f"{text!r} is no name of letters, digits and hyphens")
    return text


def _pattern(text: str) -> str:
    """Read the pattern of the outputs."""
    if "{}" not in text:
        raise click.BadParameter(f"{text!r} has no {{}}, for the names of the parts")
    return text


@dataclass(frozen=True)
class _Settings:
    """The parts, and the rows that must not be in two of them."""

    parts: tuple[tuple[str, int | Fraction], ...] = option(
        "--part NAME=N|SHARE",
        "A part: at most N rows (1000, 10k), or about this share of all (1%); repeatable.",
        _part,
        multiple=True,
        required=True,
    )
    rest: str = option("--rest NAME", "The part of all other rows.", _name, "train")
    pattern: str = option(
        "-o --output PATTERN",
        "Write each part to PATTERN with the name of the part for {}, compressed by name.",
        _pattern,
        required=True,
    )
    by: str = option(
        "--by", "Keep rows with the same text of this side, or of either, together.", BY, "either"
    )
    match: str = option(
        "--match",
        "Texts that are the same: equal ones, or equal but for all that bitext-dedup can --ignore.",
        MATCH[:2],
        "normalised",
    )
    group: int | str | None = option(
        "--group COLUMN", "Keep rows with the same text in COLUMN together: documents.", as_column
    )
    seed: int = option("--seed", "Another seed, other parts.", NATURAL, 1)

    def __post_init__(self) -> None:
        """Refuse names that stand twice, and rows without a key."""
        if double := next((name for name in self.names if self.names.count(name) > 1), None):
            raise click.UsageError(f"two parts are called {double}")
        if sum(size for _, size in self.parts if isinstance(size, Fraction)) > 1:
            raise click.UsageError("the shares of the parts are more than 100 % together")
        if self.by == "none" and self.group is None:
            raise click.UsageError("--by none needs --group COLUMN")

    @property
    def names(self) -> list[str]:
        """The names of all parts, the rest behind the others."""
        return [*(name for name, _ in self.parts), self.rest]

    @property
    def paths(self) -> list[str]:
        """The file of each part."""
        return [self.pattern.replace("{}", name) for name in self.names]

    def definition(self) -> SplitSettings:
        """Return the parts and groups."""
        from bitextfilter.corpus.selection import Part, SplitSettings

        parts = tuple(Part(name, size) for name, size in self.parts)
        ignore = None if self.match == "exact" else IGNORABLE
        return SplitSettings(parts, self.by, self.group is not None, ignore, self.seed)


@command(
    "bitext-split",
    _Settings,
    row_options("input scol tcol header errors files"),
    uses="batch_size",
)
def main(run: Run, settings: _Settings) -> None:
    """Divide rows into parts, such as training, development and test set.

    No text is in two parts: rows with the same source or the same target, but for case,
    punctuation, digits and white space, are in one part (--by, --match). So are the rows of a
    document with --group. Within a part, rows keep their order and their bytes.

    The part is decided by a hash of the text, so it does not depend on the order of the rows. By
    shares, and by source, target, pair or group alone, it depends on the row alone: rows that are
    added later change nothing, each row is written at once, and memory is bounded by --batch-size.

    Parts of N rows take the groups with the least hashes that fit. For these, and where rows have
    several keys (by either; --group beside a side), all rows wait in a temporary file (in TMPDIR)
    as large as the input, with some 200 bytes a row in memory. Then a group with more rows than a
    part of a share shall have goes to the rest.

    All files appear, or none. The summary counts the rows of each.

    Example:

        bitext-split --part dev=1000 --part test=1% -o 'part-{}.tsv' < pairs.tsv
        bitext-split --part test=5% --by source --group 3 --rest train -o '{}.tsv.gz' -i pairs.tsv
    """
    from bitextfilter.corpus.selection import Splitter

    files = run.row_settings
    for path in settings.paths:
        refuse_table(path)
        needs_own_file("--output", path, (*files.inputs, files.rejects))
    definition = settings.definition()
    sides = SIDES if settings.by in ("pair", "either") else (settings.by,)
    columns = replace(files.columns, sides=sides, last=optional("group", "--group", settings.group))
    rows, outputs = run.rows(columns), run.enter(open_outputs(settings.paths))
    for output in outputs:
        output.write(rows.first_line())
    writer = _Writer(run, settings.names, outputs)
    run.facts.update(seed=settings.seed, by=settings.by, match=settings.match)
    divide = _at_once if definition.at_once else _at_the_end
    divide(run, rows, Splitter(definition), writer)
    writer.check(definition)


class _Writer:
    """Writes the rows of each part, and counts them."""

    def __init__(self, run: Run, names: Sequence[str], outputs: Sequence[BinaryIO]) -> None:
        self._run, self._outputs = run, outputs
        self._names = [f"in {name}" for name in names]
        run.counts.update(dict.fromkeys(self._names, 0))

    def write(self, lines: Iterable[bytes], parts: Sequence[int]) -> None:
        """Write lines, with their endings, to the parts of these numbers."""
        shares: list[list[bytes]] = [[] for _ in self._outputs]
        for line, part in zip(lines, parts, strict=True):
            shares[part].append(line)
        for name, output, share in zip(self._names, self._outputs, shares, strict=True):
            output.write(b"".join(share))
            self._run.counts[name] += len(share)

    def check(self, settings: SplitSettings) -> None:
        """Warn of parts that have fewer rows than they shall have, or none."""
        for name, (_, size) in zip(self._names, settings.parts, strict=False):
            rows = self._run.counts[name]
            if isinstance(size, int) and rows < size:
                self._run.warn(f"{rows} rows are {name}, not {size}: no further group fits")
            elif not rows and size:
                self._run.warn(f"no row is {name}")


def _at_once(run: Run, rows: RowReader, splitter: Splitter, writer: _Writer) -> None:
    """Write rows as they come."""
    for window in run.windows(rows):
        good = [row for row in window if isinstance(row, Row)]
        parts = splitter.by_share(splitter.keys([row.texts for row in good]))
        writer.write([row.line + row.ending for row in good], parts.tolist())


def _at_the_end(run: Run, rows: RowReader, splitter: Splitter, writer: _Writer) -> None:
    """Write rows when all are read."""
    import numpy as np

    from bitextfilter.io.spill import Records

    records, keys = run.enter(Records()), [splitter.keys([])]
    for window in run.windows(rows):
        good = [row for row in window if isinstance(row, Row)]
        keys.append(splitter.keys([row.texts for row in good]))
        records.extend([row.line + row.ending for row in good])
    parts, groups, largest = splitter.decide(np.concatenate(keys))
    run.note(f"{len(parts)} rows are {groups} groups, of at most {largest} rows")
    lines = records.lines()
    for start in range(0, len(parts), run.common.batch_size):
        part = parts[start : start + run.common.batch_size].tolist()
        writer.write(islice(lines, len(part)), part)
