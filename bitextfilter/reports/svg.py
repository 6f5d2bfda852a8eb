"""Charts as inline SVG, whose colours and letters are those of the page."""

from __future__ import annotations

import unicodedata

from bitextfilter.reports.charts import Axis, Boxes, Chart, Curve, Segments
from bitextfilter.reports.markup import Markup, tag

__all__ = ["drawn", "legend"]

WIDTH = 380
HEIGHT = 250
ROW = 22
"""The height of one name on an axis of names."""
LETTER = 6.9
"""About the width of a letter; wide ones are two."""
NAME_WIDTH = 22
TOP, RIGHT, BOTTOM = 24, 20, 42


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _fitted(text: str) -> str:
    """Return *text*, cut where it is wider than an axis has room for."""
    if _width(text) <= NAME_WIDTH:
        return text
    while _width(text) >= NAME_WIDTH:
        text = text[:-1]
    return f"{text}…"


class _Frame:
    """Where on the canvas a chart's values lie."""

    def __init__(self, chart: Chart) -> None:
        widest = max((_width(_fitted(text)) for _, text in chart.y.ticks), default=0)
        self.left = 14 + widest * LETTER
        self.right = float(WIDTH - RIGHT)
        self.top = 8.0 if chart.y.names else float(TOP)
        rows = len(chart.y.ticks) * ROW if chart.y.names else HEIGHT - TOP - BOTTOM
        self.bottom = self.top + rows
        self.height = round(self.bottom + BOTTOM)
        self._x, self._y = chart.x, chart.y

    def x(self, value: float) -> str:
        """Return the place of a value on the x axis."""
        part = (value - self._x.low) / (self._x.high - self._x.low)
        return _short(self.left + min(1.0, max(0.0, part)) * (self.right - self.left))

    def y(self, value: float) -> str:
        """Return the place of a value on the y axis; names run downwards."""
        part = (value - self._y.low) / (self._y.high - self._y.low)
        part = min(1.0, max(0.0, part))
        height = self.bottom - self.top
        return _short(self.top + part * height if self._y.names else self.bottom - part * height)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def drawn(chart: Chart, title: str, text: str) -> Markup:
    """Return *chart* as an svg element; *title* and *text* are the ids of what describes it."""
    frame = _Frame(chart)
    marks = [_mark(mark, frame) for mark in chart.marks]
    return tag(
        "svg",
        tag("g", *_x_axis(chart.x, frame), *_y_axis(chart.y, frame), cls="axes"),
        *marks,
        _cut(chart, frame) if chart.cut else "",
        viewBox=f"0 0 {WIDTH} {frame.height}",
        role="img",
        aria_labelledby=title,
        aria_describedby=text,
    )


def _x_axis(axis: Axis, frame: _Frame) -> list[Markup]:
    base = tag(
        "line",
        x1=_short(frame.left),
        x2=_short(frame.right),
        y1=_short(frame.bottom),
        y2=_short(frame.bottom),
        cls="base",
    )
    texts = [
        tag("text", text, x=frame.x(value), y=_short(frame.bottom + 16), text_anchor="middle")
        for value, text in axis.ticks
    ]
    middle = (frame.left + frame.right) / 2
    name = tag(
        "text", axis.label, x=_short(middle), y=frame.height - 6, text_anchor="middle", cls="name"
    )
    return [base, *texts, name]


def _y_axis(axis: Axis, frame: _Frame) -> list[Markup]:
    made = []
    for value, text in axis.ticks:
        place = float(frame.y(value))
        if not axis.names:
            ends = {"x1": _short(frame.left), "x2": _short(frame.right)}
            made.append(tag("line", **ends, y1=_short(place), y2=_short(place), cls="grid"))
        made.append(
            tag(
                "text",
                _fitted(text),
                x=_short(frame.left - 6),
                y=_short(place + 4),
                text_anchor="end",
            )
        )
    return [*made, tag("text", axis.label, x=2, y=12, cls="name") if axis.label else Markup("")]


def _mark(mark: Curve | Boxes | Segments, frame: _Frame) -> Markup:
    if isinstance(mark, Curve):
        points = zip(mark.x.tolist(), mark.y.tolist(), strict=True)
        path = " ".join(f"{frame.x(x)},{frame.y(y)}" for x, y in points)
        return tag("polyline", points=path, cls=f"curve c{mark.colour}")
    corners = [
        (frame.x(x0), frame.y(y0), frame.x(x1), frame.y(y1))
        for x0, y0, x1, y1 in mark.corners.tolist()
    ]
    if isinstance(mark, Segments):
        path = " ".join(f"M{x0} {y0}L{x1} {y1}" for x0, y0, x1, y1 in corners)
        return tag("path", d=path, cls=f"curve c{mark.colour}")
    if mark.strength is None:
        return tag("path", d="".join(map(_box, corners)), cls=f"box c{mark.colour}")
    return _shaded(mark, corners)


def _box(corners: tuple[str, str, str, str]) -> str:
    x0, y0, x1, y1 = corners
    return f"M{x0} {y0}H{x1}V{y1}H{x0}Z"


def _shaded(mark: Boxes, corners: list[tuple[str, str, str, str]]) -> Markup:
    """Draw boxes of less or more colour, all of about the same in one path."""
    assert mark.strength is not None
    levels = (mark.strength * 10).round().clip(1, 10).astype(int).tolist()
    paths = []
    for level in range(1, 11):
        path = "".join(_box(box) for box, own in zip(corners, levels, strict=True) if own == level)
        if path:
            paths.append(tag("path", d=path, fill_opacity=level / 10))
    return tag("g", *paths, cls=f"box c{mark.colour}", shape_rendering="crispEdges")


def _cut(chart: Chart, frame: _Frame) -> Markup:
    """Return what the page moves when the threshold does: a veil and a line, yet unseen."""
    values = chart.y if chart.cut == "y" else chart.x
    return tag(
        "g",
        tag(
            "rect", cls="veil", x=frame.left, y=frame.top, width=0, height=frame.bottom - frame.top
        ),
        tag("line", cls="across", x1=frame.left, x2=frame.left, y1=frame.top, y2=frame.bottom),
        tag("line", cls="level", x1=frame.left, x2=frame.right, y1=frame.bottom, y2=frame.bottom)
        if chart.cut == "y"
        else "",
        cls="cut",
        display="none",
        data_axis=chart.cut,
        data_low=float(values.low),
        data_high=float(values.high),
        data_box=" ".join(map(_short, (frame.left, frame.top, frame.right, frame.bottom))),
    )


def legend(chart: Chart) -> Markup:
    """Return the names of the series, each behind its colour."""
    items = [
        tag("li", tag("span", cls=f"{_shape(mark)} c{mark.colour}", aria_hidden="true"), mark.name)
        for mark in chart.legend
    ]
    return tag("ul", *items, cls="legend") if items else Markup("")


def _shape(mark: Curve | Boxes | Segments) -> str:
    return "key" if isinstance(mark, Boxes) else "key line"
