"""Columns of numbers, of which some may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf, isnan, nan

import numpy as np

from bitextfilter.arrays import Floats
from bitextfilter.io.rows import REMEDY, Columns, Row, WantedColumn, is_blank, number_of

_MOST_SHOWN = 40
_MISSING = "nan"


@dataclass(frozen=True)
class NumberColumns(Columns):
    """Columns of numbers, perhaps after one of labels. An empty number, or NaN, is missing."""

    blank: bool = True
    numbers: tuple[int | str, ...] = ()
    label: int | str | None = None

    def wanted(self) -> tuple[WantedColumn, ...]:
        """Return the columns, that of the labels first."""
        label = () if self.label is None else (WantedColumn("label", "--labels", self.label),)
        return (*label, *(WantedColumn(f"{at} score", "--column", at) for at in self.numbers))

    def fault(self, row: Row) -> tuple[str, str] | None:
        """Return the fault of a row and its remedy, or None."""
        for wanted, text in zip(self.wanted(), row.texts, strict=True):
            if wanted.name == "label" and self.label is not None:
                if is_blank(text):
                    return "the label is empty", REMEDY
            elif not is_blank(text) and text.strip().lower() != _MISSING and isnan(_number(text)):
                reason = f"{text[:_MOST_SHOWN]!r} in column {wanted.where} is not a finite number"
                return reason, f"an empty field says that it is missing; {REMEDY}"
        return None

    def values(self, rows: Sequence[Row]) -> Floats:
        """Return the numbers of ``n`` rows without a fault, ``(n, m)``; NaN for a missing one."""
        count = len(self.numbers)
        found = [list(map(_number, row.texts[-count:])) for row in rows]
        return np.array(found, np.float64).reshape(len(rows), count)


def _number(text: str) -> float:
    """Return a finite number, or NaN."""
    number = number_of(text.encode())
    return nan if isinf(number) else number
