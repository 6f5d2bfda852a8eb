"""Figures of ``measure.py``, kept in a TSV, and as tables in Markdown."""

from __future__ import annotations

import statistics
from pathlib import Path

Key = tuple[str, str, str, str]
"""Table, set, system, figure."""


class Results:
    """Figures in a file, which is written anew with each, so that a run that is cut keeps them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.figures: dict[Key, float] = {}
        if path.exists():
            for line in path.read_text("utf-8").removesuffix("\n").split("\n"):
                table, name, system, figure, value = line.split("\t")
                self.figures[table, name, system, figure] = float(value)

    def add(self, table: str, name: str, system: str, figure: str, value: float) -> None:
        """Set a figure."""
        self.figures[table, name, system, figure] = value
        lines = ("\t".join(key) + f"\t{number:.6g}\n" for key, number in self.figures.items())
        self.path.write_text("".join(lines), encoding="utf-8", newline="\n")


def markdown(figures: dict[Key, float], rows: int) -> str:
    """Return all tables; a system's mean is over the sets that all of its column's cells have."""
    titles = {
        "recovery": "Error by CSLS, %, mean of both directions, all rows",
        "sample": f"The same, of the first {rows} rows",
        "crawl": "AUC of people's labels",
        "rules": "Per cent of right rows kept / of wrong rows dropped",
        "documents": "Links of sentences",
        "speed": "Cost",
    }
    parts = [f"{title}\n\n{_table(figures, name)}" for name, title in titles.items()]
    return "\n".join(parts)


def _table(figures: dict[Key, float], table: str) -> str:
    """A line for each system; a column for each set, or each figure where there is one set."""
    own = {key[1:]: value for key, value in figures.items() if key[0] == table}
    one_set = len({name for name, _, _ in own}) == 1
    columns = list(dict.fromkeys(figure if one_set else name for name, _, figure in own))
    cells: dict[str, dict[str, list[float]]] = {}
    for (name, system, figure), value in own.items():
        row = cells.setdefault(system, {})
        row.setdefault(figure if one_set else name, []).append(value)
    mean = not one_set
    lines = [["system", *columns, *(["mean"] if mean else [])]]
    lines.append(["---", *("---:" for _ in lines[0][1:])])
    for system, row in cells.items():
        lines.append([system, *(_cell(row.get(one)) for one in columns)])
        if mean:
            known = [row[one] for one in columns if one in row]
            means = [statistics.fmean(each) for each in zip(*known, strict=True)]
            lines[-1].append(f"{_cell(means)} ({len(known)})")
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(values: list[float] | None) -> str:
    if values is None:
        return "–"
    return " / ".join(f"{one:.0f}" if one >= 100 else f"{one:.3g}" for one in values)
