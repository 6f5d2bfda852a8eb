"""Rows with their scores, as bitext-score writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitextfilter.io.rows import BadRow, Row, RowReader

if TYPE_CHECKING:
    from bitextfilter.scoring.score_columns import Columns

__all__ = ["ScoredLines"]


class ScoredLines:
    """Turns windows of rows into lines with scores."""

    def __init__(self, columns: Columns, digits: int, score_only: bool) -> None:
        """Write so many decimals, and with *score_only* nothing but the scores."""
        self._columns, self._measures = columns, columns.measures
        self._digits, self._score_only = digits, score_only

    def first_line(self, rows: RowReader) -> bytes:
        """Return what stands before the rows: the BOM and the header."""
        if not self._score_only:
            return rows.first_line(self._measures)
        return (
            b""
            if rows.header is None or not rows.starts
            else "\t".join(self._measures).encode() + b"\n"
        )

    def lines(self, window: list[Row | BadRow]) -> bytes:
        """Return one line for each row of the window."""
        good = [row for row in window if isinstance(row, Row)]
        scores = self._columns([row.source for row in good], [row.target for row in good])
        values = iter(scores.tolist())
        return b"".join(
            self._line(row, next(values) if isinstance(row, Row) else None) for row in window
        )

    def _line(self, row: Row | BadRow, scores: list[float] | None) -> bytes:
        texts = [""] * len(self._measures) if scores is None else map(self._text, scores)
        columns = "\t".join(texts).encode()
        return columns + b"\n" if self._score_only else row.line + b"\t" + columns + row.ending

    def _text(self, score: float) -> str:
        text = f"{score:.{self._digits}f}"
        return text.removeprefix("-") if not text.strip("-0.") else text
