"""Charts as PNG and SVG files by matplotlib: equal charts give equal bytes."""

from __future__ import annotations

import io
import warnings
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from bitextfilter.reports.charts import GUIDE, SECOND, Boxes, Chart, Curve, Segments, xml_text

FORMATS = ("png", "svg")
COLOURS = ("#1f5fa8", "#b04a12", "#56606b", "#6f97c7", "#1a1e23")
"""The page's colours on white, in the order of ``charts``."""
SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "bitextfilter",
    "svg.fonttype": "path",
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
}
METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


def plotted(chart: Chart, form: str) -> bytes:
    """Return *chart* as a file of the format ``png`` (200 dots an inch) or ``svg``."""
    target = io.BytesIO()
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        _figure(chart).savefig(target, format=form, dpi=200, metadata=METADATA[form])
    return target.getvalue()


def _figure(chart: Chart) -> Figure:
    rows = len(chart.y.ticks) if chart.y.names else 0
    made = Figure(figsize=(6, max(2.0, 1.0 + 0.3 * rows) if rows else 3.6), layout="constrained")
    axes = made.add_subplot()
    axes.set_title(xml_text(chart.title))
    for mark in chart.marks:
        _draw(mark, axes)
    axes.set_xlim(chart.x.low, chart.x.high)
    axes.set_xticks([value for value, _ in chart.x.ticks], [text for _, text in chart.x.ticks])
    axes.set_xlabel(xml_text(chart.x.label))
    low, high = chart.y.low, chart.y.high
    axes.set_ylim(*((high, low) if chart.y.names else (low, high)))
    names = [xml_text(text) for _, text in chart.y.ticks]
    axes.set_yticks([value for value, _ in chart.y.ticks], names)
    axes.set_ylabel(xml_text(chart.y.label))
    axes.grid(visible=True, axis="x" if chart.y.names else "y", color="#d9dee4", linewidth=0.6)
    if chart.legend:
        made.legend(loc="outside lower center", ncols=len(chart.legend), frameon=False)
    return made


def _draw(mark: Curve | Boxes | Segments, axes: Axes) -> None:
    colour, name = COLOURS[mark.colour], mark.name or "_hidden"
    if isinstance(mark, Curve):
        style = "--" if mark.colour == SECOND else "-"
        axes.plot(mark.x, mark.y, style, color=colour, linewidth=1.5, label=name)
    elif isinstance(mark, Segments):
        width = 0.75 if mark.colour == GUIDE else 1.5
        lines = list(mark.corners.reshape(-1, 2, 2))
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=width, label=name))
    else:
        boxes = list(mark.corners[:, [0, 1, 0, 3, 2, 3, 2, 1]].reshape(-1, 4, 2))
        made = PolyCollection(boxes, facecolors=colour, linewidths=0, label=name)
        if mark.strength is not None:
            made.set_alpha(mark.strength.tolist())
        axes.add_collection(made)
