"""Which columns of a TSV hold the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bitextfilter.errors import InputError

__all__ = [
    "Columns",
    "TemplatedColumns",
    "TemplatedText",
    "TextColumn",
    "Wanted",
    "check_header",
]

_DECIMAL = re.compile(r"[-+]?[0-9]*\.[0-9]+")
_ENDS = (".", "!", "?", "…", "。", "！", "？")
_FEWEST_WORDS, _MANY_WORDS = 4, 8
"""A sentence has so many words and ends like one, or so many words anyway; names have fewer."""


class Wanted(NamedTuple):
    """One column to read: what it is called, its option, and where it is."""

    name: str
    option: str
    where: int | str


@dataclass(frozen=True)
class Columns:
    """The columns of a pair: 1-based, negative from the end, or names of a header."""

    source: int | str = 1
    target: int | str = 2
    blank: bool = False
    """Whether a side may be empty."""

    def wanted(self) -> tuple[Wanted, ...]:
        """Return the two columns, source first."""
        return (Wanted("source", "--scol", self.source), Wanted("target", "--tcol", self.target))


@dataclass(frozen=True)
class TemplatedColumns(Columns):
    """The columns of a pair, and that of the parse of its target, or of a template."""

    template: int | str = 3

    def wanted(self) -> tuple[Wanted, ...]:
        """Return the columns, the template last."""
        return (*super().wanted(), Wanted("template", "--template-column", self.template))


@dataclass(frozen=True)
class TextColumn:
    """One column of sentences, or the whole line where *column* is None."""

    column: int | str | None = None
    blank: bool = False
    """Whether it may be empty."""

    def wanted(self) -> tuple[Wanted, ...]:
        """Return the column, or nothing for the whole line."""
        if self.column is None:
            return ()
        return (Wanted("sentence", "--column", self.column),)


@dataclass(frozen=True)
class TemplatedText(TextColumn):
    """A column of sentences, the first if *column* is None, and one of parses or templates."""

    template: int | str = 2

    def wanted(self) -> tuple[Wanted, ...]:
        """Return the two columns, the sentence first."""
        where = 1 if self.column is None else self.column
        template = Wanted("template", "--template-column", self.template)
        return (Wanted("sentence", "--column", where), template)


def check_header(header: bytes, wanted: Sequence[Wanted], places: Sequence[int], file: str) -> None:
    """Raise InputError if a header looks like a row: a score in it, or two sentences.

    Not where a column is *wanted* by its name, and so the header is one.
    """
    if any(isinstance(column.where, str) for column in wanted):
        return
    fields = header.decode("utf-8", "replace").split("\t")
    sides = [
        fields[place]
        for column, place in zip(wanted, places, strict=True)
        if column.name in ("source", "target") and -len(fields) <= place < len(fields)
    ]
    if any(map(_DECIMAL.fullmatch, fields)) or (len(sides) == 2 and all(map(_is_sentence, sides))):
        option = wanted[0].option if wanted else "--scol"
        raise InputError(
            "the header looks like a row",
            file=file,
            line=1,
            remedy=f"leave out --header, or name a column of it ({option} NAME)",
        )


def _is_sentence(text: str) -> bool:
    words = len(text.split())
    return words >= _MANY_WORDS or (words >= _FEWEST_WORDS and text.rstrip().endswith(_ENDS))
