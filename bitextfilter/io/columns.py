"""Which columns of a TSV hold the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Columns", "TemplatedColumns", "TemplatedText", "TextColumn", "Wanted"]


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
