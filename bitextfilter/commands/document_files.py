"""The documents that ``bitext-align --monotonic`` reads: two files, a list of files, JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import click

from bitextfilter.commands.frame import Run
from bitextfilter.errors import InputError
from bitextfilter.io.document_list import Listed, Paths, listed
from bitextfilter.io.files import open_input, stream_name
from bitextfilter.io.parser import REMEDY
from bitextfilter.io.rows import BadRow, Row, RowReader, TextColumn, is_blank

__all__ = ["Document", "DocumentPair", "DocumentReader", "without_tab"]

_TABS = f"replace it by a space (its columns would shift); or {REMEDY}"


class Document(NamedTuple):
    """The sentences of one side that are not empty, and the numbers of their lines, from 0."""

    sentences: list[str]
    numbers: list[int]


class DocumentPair(NamedTuple):
    """Two documents to be aligned."""

    name: str
    read: Callable[[], tuple[Document, Document]]
    """Raises BitextError where they cannot be read."""
    output: str | None = None
    """The file that their links go to, if it is not the run's output."""


class DocumentReader:
    """Reads documents for a run, and rejects their bad lines as its row options say."""

    def __init__(self, run: Run, split: tuple[str, str] | None) -> None:
        """Divide lines into sentences of these languages, or take them as they are if None."""
        self._run, self._languages = run, split
        if split is not None:
            from bitextfilter.text.sentences import split_sentences

            split_sentences("", split[0])  # is it installed?
        rejects = run.row_settings.rejects
        if rejects is not None and run.rejects is None:
            run.rejects = run.output(rejects)

    def pair(self, source: str, target: str) -> DocumentPair:
        """Return two files as documents; UsageError if one is written by this run."""
        wanted = Listed(source, target)
        problem = self._paths().problem(wanted)
        if problem is not None:
            raise click.UsageError(problem)
        return DocumentPair(f"{source} and {target}", partial(self._both, wanted, ""))

    def listed(self, path: str) -> Iterator[DocumentPair]:
        """Yield the documents of a list; those whose line is wrong say so when they are read.

        UsageError if the list is written by this run.
        """
        paths, name = self._paths(path), stream_name(path)
        if paths.both():
            raise click.UsageError(f"{path} is written by this run")
        for number, found in listed(self._run.input(path), name):
            place = f"{name}:{number}"
            problem = None if isinstance(found, InputError) else paths.problem(found)
            if problem is not None:
                found = InputError(problem, file=name, line=number)
            if isinstance(found, InputError):
                yield DocumentPair(place, partial(_fail, found))
            else:
                files = [side for side in found[:2] if isinstance(side, str)]
                read = partial(self._both, found, place)
                yield DocumentPair(" and ".join(files) or place, read, found.output)

    def _paths(self, *read: str) -> Paths:
        """What this run writes beside the results of documents, and what it reads."""
        settings = self._run.row_settings
        return Paths([settings.output, settings.rejects, self._run.common.manifest], read)

    def _both(self, pair: Listed, place: str) -> tuple[Document, Document]:
        """Read the source, then the target."""
        return self._side(pair.source, place, 0), self._side(pair.target, place, 1)

    def _side(self, text: str | list[bytes], place: str, side: int) -> Document:
        if isinstance(text, list):
            return self._document(text, f"{place} ({('source', 'target')[side]})", side)
        with open_input(text, self._run.stdin if text == "-" else None) as stream:
            return self._document(stream, stream_name(text), side)

    def _document(self, lines: Iterable[bytes], name: str, side: int) -> Document:
        """The sentences of the lines that are neither blank nor bad."""
        document = Document([], [])
        for row in RowReader(lines, name, TextColumn(blank=True)):
            self._run.counts["rows"] += 1
            found = without_tab(row, name)
            if isinstance(found, BadRow):
                reject = self._run.row_settings.reject
                self._run.reject(
                    found._replace(reason=f"{name}: {found.reason}") if reject else found
                )
            else:
                sentences = self._sentences(found.text, side)
                document.sentences.extend(sentences)
                document.numbers.extend([row.number - 1] * len(sentences))
        return document

    def _sentences(self, text: str, side: int) -> list[str]:
        if self._languages is None:
            return [] if is_blank(text) else [text]
        from bitextfilter.text.sentences import split_sentences

        return split_sentences(text, self._languages[side])


def _fail(error: InputError) -> tuple[Document, Document]:
    raise error


def without_tab(row: Row | BadRow, name: str) -> Row | BadRow:
    """The row, or a bad one if there is a tab in it, which would divide the columns."""
    if isinstance(row, Row) and "\t" in row.text:
        return BadRow(row.number, row.line, row.ending, "a tab in the line", _TABS, name)
    return row
