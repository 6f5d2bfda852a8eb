"""The documents that ``bitext-align --monotonic`` reads: two files, a list of files, JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from bitextfilter.commands.frame import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import lines_of, open_input, stream_name
from bitextfilter.io.parser import REMEDY
from bitextfilter.io.rows import BadRow, Row, RowReader, TextColumn

__all__ = ["Document", "DocumentPair", "DocumentReader"]

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
        self._run, self._languages = run, split or (None, None)
        rejects = run.row_settings.rejects
        if rejects is not None and run.rejects is None:
            run.rejects = run.output(rejects)

    def pair(self, source: str, target: str, output: str | None = None) -> DocumentPair:
        """Return two files as documents."""
        read = partial(self._read_files, source, target)
        return DocumentPair(f"{source} and {target}", read, output)

    def listed(self, path: str) -> Iterator[DocumentPair]:
        """Yield the documents of a list: a line is a row of files, or a JSON object.

        Raises InputError where a line says no documents, or a file for the links that an earlier
        line has, and where there are no lines.
        """
        name, seen, outputs = stream_name(path), False, set()
        for number, line in enumerate(lines_of(self._run.input(path), name), start=1):
            if not line.strip():
                continue
            seen = True
            parse = self._object if line.lstrip().startswith(b"{") else self._row
            pair = parse(line, name, number)
            if pair.output is not None:
                place = os.path.realpath(pair.output)
                if place in outputs:
                    problem = f"{pair.output} would be written twice"
                    raise InputError(problem, file=name, line=number)
                outputs.add(place)
            yield pair
        if not seen:
            raise InputError("no documents", file=name)

    def _row(self, line: bytes, name: str, number: int) -> DocumentPair:
        """A row of a source file, a target file, and perhaps an output."""
        columns = line.decode("utf-8", "surrogateescape").rstrip("\r\n").split("\t")
        if len(columns) not in (2, 3) or not all(columns):
            remedy = "a row has a source file, a target file, and perhaps a file for the links"
            problem = "an empty column" if not all(columns) else f"{len(columns)} columns"
            raise InputError(problem, file=name, line=number, remedy=remedy)
        return self.pair(*columns)

    def _object(self, line: bytes, name: str, number: int) -> DocumentPair:
        """A JSON object of two texts, or lists of sentences, and perhaps an output."""
        remedy = 'an object has "source" and "target", each a text or a list of sentences'

        def error(problem: str) -> InputError:
            return InputError(problem, file=name, line=number, remedy=remedy)

        try:
            found = json.loads(line)
        except ValueError as problem:
            raise error(f"no JSON: {problem}") from problem
        sides = []
        for side in ("source", "target"):
            text = found.get(side)
            lines = text.split("\n") if isinstance(text, str) else text
            if not isinstance(lines, list) or not all(isinstance(each, str) for each in lines):
                raise error(f"no {side}")
            sides.append([f"{each}\n".encode("utf-8", "surrogatepass") for each in lines])
        output = found.get("output")
        if not isinstance(output, str | None):
            raise error("an output that is no name of a file")
        place = f"{name}:{number}"
        return DocumentPair(place, partial(self._read_lines, sides, place), output)

    def _read_files(self, source: str, target: str) -> tuple[Document, Document]:
        return self._read(source, 0), self._read(target, 1)

    def _read(self, path: str, side: int) -> Document:
        with open_input(path, self._run.stdin if path == "-" else None) as stream:
            return self._document(stream, stream_name(path), side)

    def _read_lines(self, sides: list[list[bytes]], place: str) -> tuple[Document, Document]:
        source = self._document(sides[0], f"{place} (source)", 0)
        return source, self._document(sides[1], f"{place} (target)", 1)

    def _document(self, lines: Iterable[bytes], name: str, side: int) -> Document:
        """The sentences of the lines that are neither blank nor bad."""
        document = Document([], [])
        for row in RowReader(lines, name, TextColumn(blank=True)):
            self._run.counts["rows"] += 1
            found = _without_tab(row, name)
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
        language = self._languages[side]
        if language is None:
            return [text] if text.strip() else []
        from bitextfilter.text.sentences import split_sentences

        return split_sentences(text, language)


def _without_tab(row: Row | BadRow, name: str) -> Row | BadRow:
    """The row, or a bad one if there is a tab in it, which would divide the columns."""
    if isinstance(row, Row) and "\t" in row.text:
        return BadRow(row.number, row.line, row.ending, "a tab in the line", _TABS, name)
    return row
