"""The table of a tuning: a line for each finished point, best first, kept on disk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import read_lines, write_whole
from bitextfilter.io.locks import locked
from bitextfilter.workflows.grid import Point
from bitextfilter.workflows.tuning import Outcome

__all__ = ["HIGHER_IS_BETTER", "Table"]

HIGHER_IS_BETTER = {"recovery_error": False, "pearson": True}
"""What may be measured, and which way."""

_COUNTS = ("trained_pairs", "update", "seconds", "note")


class Table:
    """Points, their figures, and the values that made them.

    A TSV with a header: ``point`` (its key), the figure, ``trained_pairs``, ``update``,
    ``seconds``, ``note``, then a column for each name of the grid. Lines of other grids stay; what
    they have no value for is empty.
    """

    def __init__(self, path: Path, figure: str, names: Sequence[str]) -> None:
        """Read the table at *path*, if there is one, to go on with it.

        Raises:
            SettingsError: it holds something else.
            InputError: a line of it has another number of columns.
        """
        self.path, self.figure = path, figure
        self._names = list(names)
        self._rows: dict[str, dict[str, str]] = {}
        if path.exists():
            self._read()

    def _read(self) -> None:
        lines = read_lines(self.path)
        fixed = ["point", self.figure, *_COUNTS]
        header = next(lines, "").split("\t")
        if header[: len(fixed)] != fixed:
            raise SettingsError(f"{self.path}: no table of {self.figure}; name another file")
        self._names += [name for name in header[len(fixed) :] if name not in self._names]
        for number, line in enumerate(lines, 2):
            cells = line.split("\t")
            if len(cells) != len(header):
                message = f"{len(cells)} columns, expected {len(header)}"
                raise InputError(message, file=str(self.path), line=number, remedy="mend the table")
            self._rows[cells[0]] = dict(zip(header, cells, strict=True))

    def finished(self, key: str) -> bool:
        """Whether there is a figure for this point."""
        return bool(self._rows.get(key, {}).get(self.figure))

    def add(self, point: Point, outcome: Outcome) -> None:
        """Add a line, and write the table anew, whole.

        What other runs have written meanwhile stays; a figure of theirs is not replaced by none.

        Raises:
            SettingsError, InputError: the file is no such table any more.
            OutputError: it cannot be written.
        """
        row = {
            **point.cells(),
            "point": outcome.key,
            self.figure: "" if outcome.figure is None else f"{outcome.figure:.4f}",
            "trained_pairs": str(outcome.pairs),
            "update": str(outcome.update),
            "seconds": f"{outcome.seconds:.1f}",
            "note": " ".join(outcome.note.split()),
        }
        with locked(self.path):
            if self.path.exists():
                self._read()
            if row[self.figure] or not self.finished(outcome.key):
                self._rows[outcome.key] = row
            self._write()

    def try_folder(self) -> None:
        """Raise OutputError where the table could not be written."""
        with locked(self.path):
            pass

    def _write(self) -> None:
        """Write the table, best first; points without a figure come last."""
        columns = ["point", self.figure, *_COUNTS, *self._names]
        rows = [[row.get(name, "") for name in columns] for row in self.best_first()]
        text = "".join("\t".join(cells) + "\n" for cells in [columns, *rows])
        write_whole(self.path, text.encode())

    def best_first(self) -> list[dict[str, str]]:
        """The lines, by column."""
        sign = -1 if HIGHER_IS_BETTER[self.figure] else 1

        def order(row: dict[str, str]) -> tuple[float, str]:
            figure = row[self.figure]
            return (sign * float(figure) if figure else math.inf, row["point"])

        return sorted(self._rows.values(), key=order)
