"""The figures of lengths: of both sides, of their ratio, of the one against the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitextfilter.reports.charts import (
    FIRST,
    GUIDE,
    SECOND,
    Axis,
    Boxes,
    Chart,
    Curve,
    Segments,
    Table,
    axis,
    rows_axis,
)
from bitextfilter.reports.figures import bars, number
from bitextfilter.reports.statistics import counted, densities
from bitextfilter.reports.survey import Survey, blocks

__all__ = ["length_charts"]

CELLS = 40
"""At most how many cells a density has each way."""
SHOWN = 0.995
"""The part of each side's rows that the figures are wide enough for."""


def _most(lengths: NDArray[np.uint32]) -> int:
    place = int(SHOWN * (len(lengths) - 1))
    return int(np.partition(lengths, place)[place])


def length_charts(survey: Survey) -> list[Chart]:
    """The lengths of both sides, their ratio, and the one against the other; n > 0 rows."""
    most = max(_most(survey.lengths(side)) for side in (0, 1))
    most = max(1, most)
    width = int(np.ceil(most / CELLS))
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
        (Boxes(bars(edges, counts)),),
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
    rows = tuple(
        (*(_span(place * width + 1, width) for place in places[i].tolist()), number(int(found[i])))
        for i in order
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


def _span(first: int, width: int) -> str:
    return str(first) if width == 1 else f"{first} to {first + width - 1}"
