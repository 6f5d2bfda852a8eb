"""The charts of a report: scores, lengths of the sides, reasons, and drops of each rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bitextfilter.reports.charts import (
    FIRST,
    GUIDE,
    INK,
    PALE,
    SECOND,
    Axis,
    Boxes,
    Chart,
    ChartValues,
    Curve,
    Segments,
    Table,
    axis,
    names_axis,
    rows_axis,
)
from bitextfilter.reports.survey import (
    ReasonCounts,
    Spread,
    Survey,
    blocks,
    counted,
    densities,
    quantiles,
)

MOST_DRAWN = 40
"""The most labels in a figure."""
BINS = 50
"""The bars of a score's histogram."""
_CELLS = 40
"""The greatest number of cells of a density, each way."""
SHOWN = 0.995
"""The part of each side's rows that fits into the charts."""


def number(value: float) -> str:
    """Write a count with separators."""
    return f"{round(value):,}"


def short_score(value: float) -> str:
    """Format a float32 score with the fewest digits that identify it."""
    text = np.format_float_positional(np.float32(value), trim="-")
    return "0" if text == "-0" else text


def _corners(*sides: ChartValues | NDArray[np.int64] | float) -> NDArray[np.float64]:
    """Return the rows of x0, y0, x1 and y1 (n, 4); a number is the same in each."""
    return np.stack(np.broadcast_arrays(*sides), axis=1).astype(np.float64)


def _bars(edges: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the corners of a histogram's bars (n, 4), from *edges* (k + 1,) and *counts* (k,)."""
    filled = counts > 0
    return _corners(edges[:-1][filled], 0, edges[1:][filled], counts[filled])


def _ends(ordered: NDArray[np.float32], span: tuple[float, float] | None) -> tuple[float, float]:
    """Return the ends of a score's axis: *span*, or else its lowest and highest value."""
    return span or (float(ordered[0]), float(ordered[-1]))


def sorted_chart(
    name: str, ordered: NDArray[np.float32], file: str, span: tuple[float, float] | None = None
) -> Chart:
    """Make the chart of a score over the sorted corpus: Kim et al. 2019, figure 3.

    Args:
        name: the score's.
        ordered: all scores from the lowest to the highest (n,), n > 0.
        file: the figure's name.
        span: the ends of the score's axis; None for the lowest and the highest score.
    """
    portions = np.linspace(0, 1, 401)
    values = quantiles(ordered, portions).astype(np.float64)
    tenths = [short_score(value) for value in quantiles(ordered, np.linspace(0, 1, 11))]
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
        axis(name, *_ends(ordered, span)),
        (Curve(portions, values),),
        Table(("portion", name), rows),
        cut="y",
    )


def histogram_chart(
    name: str,
    ordered: NDArray[np.float32],
    file: str,
    span: tuple[float, float] | None = None,
    cut: float | None = None,
) -> Chart:
    """Make the histogram of a score, as ``sorted_chart``; a balanced *cut* is a line."""
    across = axis(name, *_ends(ordered, span))
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
    up = axis("rows", 0, 1.05 * float(counts.max()))
    marks: tuple[Boxes | Segments, ...] = (Boxes(_bars(edges, counts)),)
    if cut is not None:
        line = np.array([[cut, 0, cut, up.high]])
        marks += (Segments(line, SECOND, f"balanced cut: {short_score(cut)}"),)
    return Chart(
        file,
        f"Histogram of {name}",
        text,
        across,
        up,
        marks,
        Table((name, "rows"), rows),
        cut="x",
    )


def spread_chart(
    name: str, spreads: Sequence[Spread], file: str, span: tuple[float, float] | None = None
) -> Chart:
    """Make the box plot of a score by label: 5 to 95 %, the middle half, the median.

    Of more than 40 labels, those with the most rows are drawn. The table has all.
    """
    drawn = set(sorted(spreads, key=lambda spread: -spread.rows)[:MOST_DRAWN])
    shown = [spread for spread in spreads if spread in drawn]
    levels = np.array([spread.levels for spread in shown])
    rows = np.arange(len(shown), dtype=np.float64)
    whiskers = _corners(levels[:, 0], rows + 0.5, levels[:, 4], rows + 0.5)
    halves = _corners(levels[:, 1], rows + 0.25, levels[:, 3], rows + 0.75)
    medians = _corners(levels[:, 2], rows + 0.15, levels[:, 2], rows + 0.85)
    table = tuple(
        (s.label, number(s.rows), *(short_score(level) for level in s.levels)) for s in spreads
    )
    best, worst = spreads[0], spreads[-1]
    text = (
        f"{best.label} has the highest median {name}, {short_score(best.levels[2])}, "
        f"{worst.label} the lowest, {short_score(worst.levels[2])}."
    )
    if len(shown) < len(spreads):
        text += f" The {len(shown)} labels with the most rows are drawn, of {len(spreads)}."
    return Chart(
        file,
        f"{name} by label",
        text,
        axis(name, *(span or (float(levels.min()), float(levels.max())))),
        names_axis([spread.label for spread in shown]),
        (
            Segments(whiskers, name="5 to 95%"),
            Boxes(halves, PALE, name="middle half"),
            Segments(medians, INK, name="median"),
        ),
        Table(("label", "rows", "5%", "25%", "median", "75%", "95%"), table),
        cut="x",
    )


def _named_bars(counts: ChartValues, margin: float) -> NDArray[np.float64]:
    """Return the corners of bars of *counts* (n,), each in the row of its name."""
    rows = np.arange(len(counts), dtype=np.float64)
    return _corners(0, rows + margin, counts, rows + (1 - margin))


def _most_first(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


def drops_chart(rules: Mapping[str, tuple[int, int]]) -> Chart:
    """Make the chart of the rows that each rule dropped, in total and alone.

    Rules without drops stand only in the table.
    """
    names = _most_first({name: dropped for name, (dropped, _) in rules.items()})
    busy = [name for name in names if rules[name][0]] or names[:1]
    counts = np.array([rules[name] for name in busy], dtype=np.float64)
    total, unique = _named_bars(counts[:, 0], 0.15), _named_bars(counts[:, 1], 0.3)
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


def reasons_chart(found: ReasonCounts, rows: int) -> Chart:
    """Make the chart of the rows with each reason; *rows* in all, of which some have a reason."""
    names = _most_first(found.rows)
    counts = np.array([found.rows[name] for name in names], dtype=np.float64)
    table = tuple(
        (name, number(found.rows[name]), f"{found.rows[name] / rows:.1%}") for name in names
    )
    text = (
        f"{number(found.any)} of {number(rows)} rows have a reason, {found.any / rows:.1%}. The "
        f"most, {table[0][1]}, have {names[0]}."
    )
    return Chart(
        "reasons",
        "Rows with each reason",
        text,
        rows_axis(float(counts.max())),
        names_axis(names),
        (Boxes(_named_bars(counts, 0.2)),),
        Table(("reason", "rows", "part of the rows"), table),
    )


def longest(survey: Survey) -> int:
    """Return the length that 99.5 % of the rows' sides have at most; n > 0 rows."""
    place = int(SHOWN * (len(survey) - 1))
    return max(1, *(int(np.partition(survey.lengths(side), place)[place]) for side in (0, 1)))


def length_charts(survey: Survey, most: int | None = None) -> list[Chart]:
    """Make the charts of lengths, of their ratio, and of both sides together; n > 0 rows.

    The axes of lengths end at *most*; None for the ``longest``.
    """
    most = most or longest(survey)
    width = int(np.ceil(most / _CELLS))
    return [
        _lengths_chart(survey, width, most),
        _ratios_chart(survey),
        _density_chart(survey, width, most),
    ]


def _lengths_chart(survey: Survey, width: int, most: int) -> Chart:
    edges = np.arange(0, most // width + 2) * float(width) + 0.5
    sides = [counted(survey.lengths(side), edges) for side in (0, 1)]
    middles = [float(np.median(survey.lengths(side))) for side in (0, 1)]
    text = (
        f"Half of the sources have up to {middles[0]:g} {survey.unit}, half of the targets up to "
        f"{middles[1]:g}. The longest 0.5% may be left out."
    )
    steps = np.repeat(edges, 2)
    curves = tuple(
        Curve(steps, np.concatenate([[0], np.repeat(counts, 2), [0]]).astype(float), colour, name)
        for name, colour, counts in zip(("source", "target"), (FIRST, SECOND), sides, strict=True)
    )
    rows = tuple(
        (f"{low + 0.5:.0f} to {high - 0.5:.0f}", number(source), number(target))
        for low, high, source, target in zip(edges[:-1], edges[1:], *sides, strict=True)
    )
    return Chart(
        "lengths",
        "Length of the sides",
        text,
        axis(f"{survey.unit} of a side", 0, float(edges[-1])),
        rows_axis(float(max(counts.max() for counts in sides))),
        curves,
        Table((survey.unit, "source", "target"), rows),
    )


def _ratios_chart(survey: Survey) -> Chart:
    edges = (np.arange(-20, 22) - 0.5) / 5
    counts = np.zeros(len(edges) - 1, dtype=np.int64)
    total, uneven = 0.0, 0
    for block in blocks(len(survey)):
        source, target = (survey.lengths(side)[block] for side in (0, 1))
        both = (source > 0) & (target > 0)
        ratios = np.clip(np.log2(target[both]) - np.log2(source[both]), -4, 4)
        counts += counted(ratios, edges)
        total += float(ratios.sum())
        uneven += int((np.abs(ratios) > 1).sum())
    rows = max(1, int(counts.sum()))
    powers = ("1:16", "1:8", "1:4", "1:2", "1:1", "2:1", "4:1", "8:1", "16:1")
    ticks = tuple(zip(map(float, range(-4, 5)), powers, strict=True))
    table = tuple(
        (f"{2**low:.2f} to {2**high:.2f}", number(count))
        for low, high, count in zip(edges[:-1], edges[1:], counts.tolist(), strict=True)
        if count
    )
    return Chart(
        "ratios",
        "Target to source length",
        f"The geometric mean is {2 ** (total / rows):.2f}; in {uneven / rows:.1%} of the rows one "
        "side is more than twice as long as the other.",
        Axis(f"target {survey.unit} : source {survey.unit}", edges[0], edges[-1], ticks),
        rows_axis(float(counts.max())),
        (Boxes(_bars(edges, counts)),),
        Table(("target : source", "rows"), table),
    )


def _density_chart(survey: Survey, width: int, most: int) -> Chart:
    bins = int(np.ceil(most / width))
    counts = densities(survey, width, bins)
    places = np.argwhere(counts > 0)
    found = counts[counts > 0]
    corners = np.concatenate([places, places + 1], axis=1) * float(width) + 0.5
    strength = np.log1p(found) / np.log1p(found.max(initial=1))
    high = bins * width + 0.5
    guides = np.array(
        [[0.5, 0.5, high, high], [0.5, 0.5, high / 2, high], [0.5, 0.5, high, high / 2]]
    )
    inside = found.sum() / len(survey)
    order = np.argsort(-found, kind="stable")[:20]
    firsts = places[order] * width + 1
    rows = tuple(
        (*(str(n) if width == 1 else f"{n} to {n + width - 1}" for n in both), number(count))
        for both, count in zip(firsts.tolist(), found[order].tolist(), strict=True)
    )
    return Chart(
        "density",
        "Source against target length",
        f"How many rows have which two lengths, darker for more; {inside:.1%} of the rows are "
        "shown. The lines mark equal lengths and one side twice as long.",
        axis(f"source {survey.unit}", 0.5, high),
        axis(f"target {survey.unit}", 0.5, high),
        (Boxes(corners, strength=strength), Segments(guides, GUIDE)),
        Table((f"source {survey.unit}", f"target {survey.unit}", "rows"), rows),
    )
