"""Positions of a chart's values in its inline SVG."""

from __future__ import annotations

import unicodedata

from bitextfilter.reports.charts import Boxes, Chart, Curve, Segments

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
