"""The table that ``bitext-train-classifier`` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bitextfilter.training.calibration import Figures
    from bitextfilter.training.classifier import ClassifierReport

__all__ = ["table"]


def table(report: ClassifierReport) -> str:
    """Return figures and distributions, before and after, a line each."""
    columns = [_column(figures) for figures in (report.before, report.after)]
    rows = [["held-out pairs", "before", "after"]]
    rows += [[name, columns[0][name], columns[1][name]] for name in columns[0]]
    rows.append(["temperature", "1.0000", f"{report.temperature:.4f}"])
    return "".join("\t".join(row) + "\n" for row in rows)


def _column(figures: Figures) -> dict[str, str]:
    names = ("accuracy", "auc", "calibration_error")
    cells = {name.replace("_", " "): f"{getattr(figures, name):.4f}" for name in names}
    for kind, counts in (("positives", figures.positives), ("negatives", figures.negatives)):
        for tenth, count in enumerate(counts):
            cells[f"{kind} {tenth / 10:.1f}-{(tenth + 1) / 10:.1f}"] = str(count)
    return cells
