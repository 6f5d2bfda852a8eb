"""Documents as commands read them: files of lines, HTML pages, and lines of other files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bitextfilter.commands.frame.run import Run
from bitextfilter.io.files import open_input, stream_name
from bitextfilter.io.rows import REMEDY, BadRow, Row, RowReader, TextColumn, is_blank

if TYPE_CHECKING:
    from bitextfilter.io.given_vectors import GivenVectors
    from bitextfilter.scoring.model import Model

_TABS = f"replace it by a space (its columns would shift); or {REMEDY}"


class ReadDocument(NamedTuple):
    """Sentences of one document, blank ones left out, and the numbers of their lines, from 0."""

    sentences: list[str]
    numbers: list[int]


class SentenceReader:
    """Reads sentences of documents for a run, and rejects bad lines as its row options say."""

    def __init__(
        self, run: Run, split: tuple[str, str] | None, vectors: Sequence[GivenVectors] = ()
    ) -> None:
        """Divide lines into sentences of these languages; None: a line is a sentence.

        *vectors* of the lines of both sides are checked, if there are any.
        """
        self._run, self._languages, self._vectors = run, split, vectors
        if split is not None:
            from bitextfilter.text.words import split_sentences

            split_sentences("", split[0])  # is it installed?
        rejects = run.row_settings.rejects
        if rejects is not None and run.rejects is None:
            run.rejects = run.output(rejects)

    def of_file(self, path: str, side: int) -> ReadDocument:
        """Return the sentences of a file, plain text or an HTML page, of side 0 or 1."""
        from bitextfilter.text.pages import document_lines

        name = stream_name(path)
        with open_input(path, self._run.stdin if path == "-" else None) as stream:
            lines = stream if self._vectors else document_lines(stream, name)
            return self.of_lines(lines, name, side)

    def of_lines(self, lines: Iterable[bytes], name: str, side: int) -> ReadDocument:
        """Return the sentences of the lines that are neither blank nor bad."""
        document = ReadDocument([], [])
        for row in self._rows(RowReader(lines, name, TextColumn(blank=True)), side):
            self._run.counts["rows"] += 1
            found = without_tab(row, name)
            if isinstance(found, BadRow):
                reject_line_of(self._run, found, name)
                continue
            sentences = self._divided(found.text, side)
            document.sentences.extend(sentences)
            document.numbers.extend([row.number - 1] * len(sentences))
        return document

    def _rows(self, reader: RowReader, side: int) -> Iterable[Row | BadRow]:
        if not self._vectors:
            return reader
        from bitextfilter.io.given_vectors import GivenRows

        return GivenRows(reader, [self._vectors[side]])

    def _divided(self, text: str, side: int) -> list[str]:
        if self._languages is None:
            return [] if is_blank(text) else [text]
        from bitextfilter.text.words import split_sentences

        return split_sentences(text, self._languages[side])


def without_tab(row: Row | BadRow, name: str) -> Row | BadRow:
    """Return the row, or a bad one if its text has a tab, which would shift the columns."""
    if isinstance(row, Row) and "\t" in row.text:
        return BadRow(row.number, row.line, row.ending, "a tab in the line", _TABS, name)
    return row


def reject_line_of(run: Run, row: BadRow, name: str) -> None:
    """Reject a line of one of several files: the reason that is kept names its file."""
    keep = run.row_settings.reject
    run.reject(row._replace(reason=f"{name}: {row.reason}") if keep else row)


def warn_of_languages(
    run: Run, model: Model, sides: Sequence[Sequence[str]], name: str = ""
) -> bool:
    """Warn of texts that seem to be in other languages than the model's; returns whether so."""
    from bitextfilter.scoring.column_languages import CHECKED_ROWS, column_doubt

    first, second = (side[:CHECKED_ROWS] for side in sides)
    warning = column_doubt(first, second, model.processor)
    if warning is not None:
        run.warn(name + warning)
    return warning is not None
