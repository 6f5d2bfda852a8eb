"""Where training sentences come from: TSV files, pairs of plain files, monolingual files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from bitextfilter.errors import InputError
from bitextfilter.io.files import open_input, read_lines
from bitextfilter.io.rows import Columns, RowReader, is_blank, strict
from bitextfilter.text.parses import template_of


@dataclass(frozen=True)
class PairFile:
    """One file of pairs, or two of the same number of lines.

    ``weight``: how often it is read in a pass (a fraction reads that share of it).
    """

    source: str
    target: str | None = None
    """None: ``source`` is a TSV."""
    weight: float = 1.0
    columns: Columns = field(default_factory=Columns)

    def read(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs.

        Raises:
            NotFoundError: a file cannot be opened.
            InputError: a bad row, or two files of different length.
        """
        for source, target, *_ in self.texts():
            yield source, target

    def texts(self) -> Iterator[tuple[str, ...]]:
        """Yield the pairs, each with the template of its target where the columns have one.

        Raises what :meth:`read` does; InputError, too, for what is no parse.
        """
        if self.target is not None:
            yield from _two_files(self.source, self.target)
            return
        with open_input(self.source) as stream:
            for row in strict(RowReader(stream, self.source, self.columns, remedy="mend the row")):
                templates = (self._template(row.number, text) for text in row.texts[2:])
                yield (*row.texts[:2], *templates)

    def _template(self, number: int, text: str) -> str:
        try:
            return template_of(text)
        except InputError as error:
            raise InputError(error.message, file=self.source, line=number) from error


def _two_files(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of two files side by side."""
    for number, (left, right) in enumerate(zip_longest(read_lines(source), read_lines(target)), 1):
        if left is None or right is None:
            short, long = (source, target) if left is None else (target, source)
            raise InputError(
                f"ends here, {long} goes on",
                file=short,
                line=number,
                remedy="the two files must have the same number of lines",
            )
        if is_blank(left) or is_blank(right):
            raise InputError(
                "empty line",
                file=source if is_blank(left) else target,
                line=number,
                remedy="take the line out of both files",
            )
        yield left, right


def read_pairs(files: Sequence[PairFile]) -> tuple[list[str], list[str], list[float]]:
    """All pairs of some files: sources, targets and weights, row by row.

    Raises what :meth:`PairFile.read` does, and InputError if there is no pair at all.
    """
    return read_templated(files)[:3]


def read_templated(
    files: Sequence[PairFile],
) -> tuple[list[str], list[str], list[float], list[str]]:
    """All pairs of some files and their templates, if there are any: see :func:`read_pairs`."""
    sources: list[str] = []
    targets: list[str] = []
    weights: list[float] = []
    templates: list[str] = []
    for file in files:
        for source, target, *template in file.texts():
            sources.append(source)
            targets.append(target)
            weights.append(file.weight)
            templates += template
    if not sources:
        raise InputError("no pairs to train on", file=files[0].source)
    return sources, targets, weights, templates


def read_monolingual(paths: Sequence[str]) -> list[str]:
    """The sentences of plain text files; empty lines are passed over."""
    return [line for path in paths for line in read_lines(path) if not is_blank(line)]
