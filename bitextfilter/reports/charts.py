"""Charts as data: axes and marks, their positions on the page, and PNG and SVG files of them.

Files are drawn by matplotlib, which is imported when it is needed: equal charts give equal bytes.
"""

from __future__ import annotations

import io
import math
import re
import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import DeviceError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIRST, SECOND, GUIDE, PALE, INK = range(5)
"""Colours of marks: two for data, one for guides, a pale first one, and one for text."""

ChartValues = NDArray[np.floating[Any]]

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def xml_text(text: str) -> str:
    """Return *text* with U+FFFD in place of control characters and surrogates, invalid in XML."""
    return _UNPRINTABLE.sub("\ufffd", text)


@dataclass(frozen=True)
class Axis:
    """A linear axis from *low* to *high*, with ticks at values and their texts."""

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    names: bool = False
    """Whether the ticks are names, each in a row of its own, the first on top."""


@dataclass(frozen=True)
class Curve:
    """A line through points; a *name* stands in the legend."""

    x: ChartValues
    y: ChartValues
    colour: int = FIRST
    name: str = ""
    filled: ClassVar = False


@dataclass(frozen=True)
class Boxes:
    """Filled rectangles: rows of x0, y0, x1, y1; *strength* (n,), 0 to 1, is their opacity."""

    corners: ChartValues
    colour: int = FIRST
    name: str = ""
    strength: ChartValues | None = None
    filled: ClassVar = True


@dataclass(frozen=True)
class Segments:
    """Straight lines: rows of x0, y0, x1, y1."""

    corners: ChartValues
    colour: int = FIRST
    name: str = ""
    filled: ClassVar = False


@dataclass(frozen=True)
class Table:
    """The numbers of a chart as text, for readers who cannot see it: a head and rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Chart:
    """A chart: file *name*, title, description, axes, marks and numbers.

    ``cut`` is the axis that shows a threshold of the score: ``x``, ``y`` or none; ``corpus`` the
    place of the corpus that it is about.
    """

    name: str
    title: str
    text: str
    x: Axis
    y: Axis
    marks: tuple[Curve | Boxes | Segments, ...]
    table: Table
    cut: str = ""
    corpus: int = 0

    @property
    def legend(self) -> list[Curve | Boxes | Segments]:
        """The marks that have a name."""
        return [mark for mark in self.marks if mark.name]


def nice_step(width: float, most: int) -> float:
    """Return the least of 1, 2, 2.5 and 5 times a power of ten for at most *most* steps.

    *width* is positive.
    """
    rough = width / most
    power = 10.0 ** math.floor(math.log10(rough))
    return next(
        (factor * power for factor in (1, 2, 2.5, 5) if factor * power >= rough * (1 - 1e-9)),
        10 * power,
    )


def multiples(step: float, first: int, last: int) -> NDArray[np.float64]:
    """Return *first* to *last* times *step*, rounded so that 3 times 0.1 is 0.3."""
    digits = max(0, 3 - math.floor(math.log10(step)))
    return np.round(np.arange(first, last + 1) * step, digits)


def compact(value: float) -> str:
    """Write a number for an axis: ``0.25``, ``1200`` as ``1.2k``, ``3000000`` as ``3M``."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.4g}{unit}"
    return f"{value:.6g}"


def axis(label: str, low: float, high: float, *, portion: bool = False) -> Axis:
    """Make an axis with round ticks; a *portion* is from 0 to 1, shown in per cent."""
    if high <= low:
        margin = abs(low) * 0.05 or 0.5
        low, high = low - margin, high + margin
    step = nice_step(high - low, 5)
    first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    values = multiples(step, first, last).tolist()
    texts = [f"{round(100 * v)}%" if portion else compact(v) for v in values]
    return Axis(label, low, high, tuple(zip(values, texts, strict=True)))


def rows_axis(most: float) -> Axis:
    """Make an axis for numbers of rows, with some room above the highest."""
    made = axis("rows", 0, 1.05 * max(1.0, most))
    return replace(made, ticks=tuple(tick for tick in made.ticks if tick[0] == round(tick[0])))


def names_axis(names: Sequence[str]) -> Axis:
    """Make an axis with a row for each name: row i is from i to i + 1."""
    ticks = tuple((place + 0.5, name) for place, name in enumerate(names))
    return Axis("", 0, max(1, len(names)), ticks, names=True)


WIDTH = 380
HEIGHT = 250
ROW = 22
"""The height of a row on an axis of names."""
LETTER = 6.9
"""The approximate width of a letter; wide letters count twice."""
NAME_WIDTH = 22
TOP, RIGHT, BOTTOM = 24, 20, 42


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fitted(text: str) -> str:
    """Return *text*, cut to the width of an axis' labels."""
    if _width(text) <= NAME_WIDTH:
        return text
    while _width(text) >= NAME_WIDTH:
        text = text[:-1]
    return f"{text}…"


def short(value: float) -> str:
    """Format a position on the canvas."""
    return f"{value:.1f}".removesuffix(".0")


def _part(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


class Frame:
    """The plotting area of a chart."""

    width = WIDTH

    def __init__(self, chart: Chart) -> None:
        """Leave room for the axes of *chart*."""
        widest = max((_width(fitted(text)) for _, text in chart.y.ticks), default=0)
        self.left = 14 + widest * LETTER
        self.right = float(WIDTH - RIGHT)
        self.top = 8.0 if chart.y.names else float(TOP)
        rows = len(chart.y.ticks) * ROW if chart.y.names else HEIGHT - TOP - BOTTOM
        self.bottom = self.top + rows
        self.height = round(self.bottom + BOTTOM)
        self._x, self._y = chart.x, chart.y

    def x(self, value: float) -> str:
        """Return the position of a value on the x axis."""
        part = _part(value, self._x.low, self._x.high)
        return short(self.left + part * (self.right - self.left))

    def y(self, value: float) -> str:
        """Return the position of a value on the y axis; names run downwards."""
        part = _part(value, self._y.low, self._y.high)
        height = self.bottom - self.top
        return short(self.top + part * height if self._y.names else self.bottom - part * height)

    def path(self, mark: Curve | Boxes | Segments) -> str:
        """Return the path of a mark."""
        if isinstance(mark, Boxes):
            return "".join(self._boxes(mark))
        if isinstance(mark, Curve):
            points = zip(mark.x.tolist(), mark.y.tolist(), strict=True)
            return "M" + "L".join(f"{self.x(x)} {self.y(y)}" for x, y in points)
        return " ".join(
            f"M{self.x(x0)} {self.y(y0)}L{self.x(x1)} {self.y(y1)}"
            for x0, y0, x1, y1 in mark.corners.tolist()
        )

    def shades(self, mark: Boxes) -> list[tuple[float, str]]:
        """Return each opacity with the path of all its boxes."""
        assert mark.strength is not None
        levels = (mark.strength * 10).round().clip(1, 10).astype(int).tolist()
        paths = dict.fromkeys(range(1, 11), "")
        for level, box in zip(levels, self._boxes(mark), strict=True):
            paths[level] += box
        return [(level / 10, path) for level, path in paths.items() if path]

    def _boxes(self, mark: Boxes) -> list[str]:
        return [
            f"M{self.x(x0)} {self.y(y0)}H{self.x(x1)}V{self.y(y1)}H{self.x(x0)}Z"
            for x0, y0, x1, y1 in mark.corners.tolist()
        ]


FORMATS = ("png", "svg")
COLOURS = ("#1f5fa8", "#b04a12", "#56606b", "#6f97c7", "#1a1e23")
"""The page's colours on white."""
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


def check_plots() -> None:
    """Raise DeviceError where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        remedy = "pip install 'bitextfilter[report]'"
        message = f"--plots needs {error.name}, which is not installed; {remedy}"
        raise DeviceError(message) from error


def plotted(chart: Chart, form: str) -> bytes:
    """Return *chart* as a file of the format ``png`` (200 dots an inch) or ``svg``."""
    import matplotlib as mpl

    target = io.BytesIO()
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        _figure(chart).savefig(target, format=form, dpi=200, metadata=METADATA[form])
    return target.getvalue()


def _figure(chart: Chart) -> Figure:
    from matplotlib.figure import Figure

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
    from matplotlib.collections import LineCollection, PolyCollection

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
