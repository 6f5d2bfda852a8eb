"""The figures of a report: of a score, and of what each rule dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bitextfilter.reports.charts import (
    INK,
    PALE,
    Boxes,
    Chart,
    Curve,
    Segments,
    Table,
    axis,
    names_axis,
)
from bitextfilter.reports.statistics import Spread, counted, quantiles

__all__ = [
    "bars",
    "drops_chart",
    "histogram_chart",
    "number",
    "score_text",
    "sorted_chart",
    "spread_chart",
]

BINS = 50

Scores = NDArray[np.float32]


def number(value: float) -> str:
    """Write a count with separators."""
    return f"{round(value):,}"


def score_text(value: float) -> str:
    """Write a float32 score as short as tells it from others."""
    text = np.format_float_positional(np.float32(value), trim="-")
    return "0" if text == "-0" else text


def bars(edges: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the corners of a histogram's bars (n, 4), from *edges* (k + 1,) and *counts* (k,)."""
    filled = counts > 0
    zeros = np.zeros(int(filled.sum()))
    return np.stack([edges[:-1][filled], zeros, edges[1:][filled], counts[filled]], axis=1)


def sorted_chart(name: str, ordered: Scores, file: str) -> Chart:
    """The score over the sorted corpus: Kim et al. 2019, figure 3.

    Args:
        name: the score's.
        ordered: all scores from the lowest to the highest (n,), n > 0.
        file: the figure's name.
    """
    portions = np.linspace(0, 1, 401)
    values = quantiles(ordered, portions).astype(np.float64)
    tenths = [score_text(value) for value in quantiles(ordered, np.linspace(0, 1, 11))]
    text = (
        f"A rising curve: {name} from {tenths[0]} at the worst pair through {tenths[5]} "
        f"in the middle to {tenths[10]} at the best."
    )
    rows = tuple((f"{10 * tenth}%", value) for tenth, value in enumerate(tenths))
    return Chart(
        file,
        f"{name} over the sorted corpus",
        text,
        axis("portion of the rows, worst first", 0, 1, portion=True),
        axis(name, float(ordered[0]), float(ordered[-1])),
        (Curve(portions, values),),
        Table(("portion", name), rows),
        cut="y",
    )


def histogram_chart(name: str, ordered: Scores, file: str) -> Chart:
    """How many rows have which score."""
    across = axis(name, float(ordered[0]), float(ordered[-1]))
    edges = np.linspace(across.low, across.high, BINS + 1)
    counts = counted(ordered, edges)
    peak = int(counts.argmax())
    text = (
        f"A histogram of {number(len(ordered))} rows; the most, {number(counts[peak])}, "
        f"lie between {edges[peak]:.4g} and {edges[peak + 1]:.4g}."
    )
    coarse = counts.reshape(10, -1).sum(axis=1)
    spans = zip(edges[:-1:5], edges[5::5], coarse, strict=True)
    rows = tuple((f"{low:.4g} to {high:.4g}", number(count)) for low, high, count in spans)
    return Chart(
        file,
        f"Histogram of {name}",
        text,
        across,
        axis("rows", 0, 1.05 * float(counts.max())),
        (Boxes(bars(edges, counts)),),
        Table((name, "rows"), rows),
        cut="x",
    )


def spread_chart(name: str, spreads: Sequence[Spread], file: str) -> Chart:
    """A score by label: from 5 to 95 % of its rows, the middle half boxed, the median marked."""
    levels = np.array([spread.levels for spread in spreads])
    rows = np.arange(len(spreads), dtype=np.float64)
    whiskers = np.stack([levels[:, 0], rows + 0.5, levels[:, 4], rows + 0.5], axis=1)
    halves = np.stack([levels[:, 1], rows + 0.25, levels[:, 3], rows + 0.75], axis=1)
    medians = np.stack([levels[:, 2], rows + 0.15, levels[:, 2], rows + 0.85], axis=1)
    table = tuple(
        (s.label, number(s.rows), *(score_text(level) for level in s.levels)) for s in spreads
    )
    best, worst = spreads[0], spreads[-1]
    text = (
        f"The highest median {name}, {score_text(best.levels[2])}, is that of {best.label}, "
        f"the lowest, {score_text(worst.levels[2])}, that of {worst.label}."
    )
    return Chart(
        file,
        f"{name} by label",
        text,
        axis(name, float(levels.min()), float(levels.max())),
        names_axis([spread.label for spread in spreads]),
        (
            Segments(whiskers, name="5 to 95%"),
            Boxes(halves, PALE, name="middle half"),
            Segments(medians, INK, name="median"),
        ),
        Table(("label", "rows", "5%", "25%", "median", "75%", "95%"), table),
        cut="x",
    )


def drops_chart(rules: Mapping[str, tuple[int, int]]) -> Chart:
    """What each rule dropped: in total, and what no other rule would have dropped.

    Rules that dropped nothing stand in the table alone.
    """
    names = sorted(rules, key=lambda name: (-rules[name][0], name))
    busy = [name for name in names if rules[name][0]] or names[:1]
    counts = np.array([rules[name] for name in busy], dtype=np.float64)
    rows = np.arange(len(busy), dtype=np.float64)
    zeros = np.zeros(len(busy))
    total = np.stack([zeros, rows + 0.15, counts[:, 0], rows + 0.85], axis=1)
    unique = np.stack([zeros, rows + 0.3, counts[:, 1], rows + 0.7], axis=1)
    table = tuple((name, number(rules[name][0]), number(rules[name][1])) for name in names)
    return Chart(
        "drops",
        "Rows dropped by each rule",
        f"{names[0]} dropped the most rows, {table[0][1]}; {table[0][2]} of them no other rule "
        "would have dropped.",
        axis("rows", 0, 1.05 * float(counts.max(initial=1))),
        names_axis(busy),
        (Boxes(total, PALE, "in total"), Boxes(unique, name="by this rule alone")),
        Table(("rule", "dropped", "by this rule alone"), table),
    )
