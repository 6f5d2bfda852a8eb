"""From a line of a TSV to the text of its chosen columns, or to what is wrong with it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from bitextfilter.errors import InputError
from bitextfilter.io.columns import Wanted

__all__ = ["REMEDY", "BadRow", "Row", "RowParser", "is_blank", "number_of", "reject_line"]

REMEDY = "--on-error reject --rejects FILE keeps going"

_BLANK_CATEGORIES = {"Zs", "Zl", "Zp", "Cc", "Cf"}


class Row(NamedTuple):
    """A good row: its 1-based *number*, its bytes, and the text of the chosen columns."""

    number: int
    line: bytes
    """The bytes of the line without its ending (and, on line 1, without the BOM)."""
    ending: bytes
    """``\\n``, ``\\r\\n``, or nothing where the file ends without a newline."""
    texts: tuple[str, ...]

    @property
    def source(self) -> str:
        """The text of the first chosen column."""
        return self.texts[0]

    @property
    def target(self) -> str:
        """The text of the second chosen column."""
        return self.texts[1]

    @property
    def text(self) -> str:
        """The text of the only chosen column."""
        return self.texts[0]


class BadRow(NamedTuple):
    """A row that cannot be used: its number, its bytes, the *reason* and the *remedy*."""

    number: int
    line: bytes
    ending: bytes
    reason: str
    remedy: str
    file: str

    def error(self) -> InputError:
        """Return the error that stops a strict reader at this row."""
        return InputError(self.reason, file=self.file, line=self.number, remedy=self.remedy)


def is_blank(text: str) -> bool:
    """Say whether *text* holds nothing but white space, control and format characters."""
    if text[:1].isalnum():
        return False
    return all(unicodedata.category(character) in _BLANK_CATEGORIES for character in text)


def number_of(field: bytes) -> float:
    """Return the number that a field holds (``inf`` is one), NaN if it holds none."""
    try:
        return math.nan if b"_" in field else float(field)
    except ValueError:
        return math.nan


def reject_line(number: int, reason: str, line: bytes) -> bytes:
    """Return a line of a --rejects file: number, reason, and the row as it was."""
    return f"{number}\t{reason}\t".encode("utf-8", "surrogateescape") + line + b"\n"


class RowParser:
    """Makes rows of lines: Row where a line is good, BadRow where not.

    A row is bad if a chosen column is missing, not UTF-8 or holds a NUL, or, unless *blank* ones
    are let through, if it is empty.
    """

    def __init__(
        self,
        name: str,
        wanted: Sequence[Wanted],
        places: Sequence[int],
        remedy: str = REMEDY,
        blank: bool = False,
    ) -> None:
        """Parse lines of the file called *name*.

        Args:
            name: for messages.
            wanted: the columns to read; none stands for the whole line.
            places: the index of each, negative from the end.
            remedy: what ends the message of a bad row.
            blank: let empty texts through.
        """
        self._name = name
        self._chosen = list(zip(wanted, places, strict=True))
        self._remedy = remedy
        self._blank = blank

    def row(self, number: int, raw: bytes) -> Row | BadRow:
        """Parse the line *raw*, with its ending, that stands at *number*."""
        if raw.endswith(b"\r\n"):
            line, ending = raw[:-2], b"\r\n"
        elif raw.endswith(b"\n"):
            line, ending = raw[:-1], b"\n"
        else:
            line, ending = raw, b""
        try:
            return Row(number, line, ending, self._texts(line))
        except _UnusableError as problem:
            return BadRow(number, line, ending, str(problem), self._remedy, self._name)

    def _texts(self, line: bytes) -> tuple[str, ...]:
        """Return the texts of the chosen columns, or raise what makes the row bad."""
        if not self._chosen:
            return (self._text(line, "line"),)
        fields = line.split(b"\t")
        texts = []
        for wanted, place in self._chosen:
            try:
                field = fields[place]
            except IndexError:
                raise _UnusableError(_missing(wanted, place, len(fields))) from None
            texts.append(self._text(field, wanted.name))
        return tuple(texts)

    def _text(self, field: bytes, name: str) -> str:
        if b"\0" in field:
            raise _UnusableError(f"NUL byte in the {name}")
        try:
            text = field.decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"the {name} is not UTF-8 at its byte {error.start + 1}"
            raise _UnusableError(message) from error
        if not self._blank and is_blank(text):
            raise _UnusableError(f"the {name} is empty")
        return text


class _UnusableError(Exception):
    """Why a row is bad."""


def _missing(wanted: Wanted, place: int, count: int) -> str:
    needed = -place if place < 0 else place + 1
    columns = "1 column" if count == 1 else f"{count} columns"
    return f"{columns}, expected at least {needed} ({wanted.option} {wanted.where})"
