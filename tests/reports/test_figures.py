"""Figures against the rows they show, and as drawn in both ways."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from bitextfilter.reports.charts import (
    WIDTH,
    Boxes,
    Chart,
    Curve,
    Segments,
    axis,
    compact,
    names_axis,
    plotted,
    rows_axis,
)
from bitextfilter.reports.figures import (
    drops_chart,
    histogram_chart,
    length_charts,
    reasons_chart,
    short_score,
    sorted_chart,
    spread_chart,
)
from bitextfilter.reports.page import Corpus, Report, ScoreView, environment
from bitextfilter.reports.survey import ReasonCounts, Sample, Survey, spreads_of

ODD = "$\\no{such_$ </svg> & 漢字 \u202e"


def surveyed(count: int, name: str = "mlp", label: str = "clean") -> Survey:
    choose = random.Random(2)
    made = Survey([name])
    made.add(
        [
            Sample(
                number,
                " ".join("w" * choose.randrange(1, 30)),
                " ".join("v" * choose.randrange(1, 40)),
                (choose.betavariate(0.4, 0.4),),
                choose.choice([label, "copy"]),
                f"{label}=1; copy" if number % 3 == 0 else "",
            )
            for number in range(count)
        ]
    )
    return made


def charts_of(survey: Survey) -> dict[str, Chart]:
    ordered = np.sort(survey.scores(0))
    name = survey.names[0]
    made = [
        sorted_chart(name, ordered, "sorted"),
        histogram_chart(name, ordered, "histogram"),
        spread_chart(name, spreads_of(survey, 0), "labels"),
        *length_charts(survey),
        reasons_chart(survey.reasons, len(survey)),
        drops_chart({survey.labels[0]: (5, 2), "b": (9, 0), "c": (0, 0)}),
    ]
    return {chart.name: chart for chart in made}


CHARTS = charts_of(surveyed(400))
EDGE_CASES = {
    **{f"odd {name}": chart for name, chart in charts_of(surveyed(30, ODD, ODD)).items()},
    **{f"one row: {name}": chart for name, chart in charts_of(surveyed(1)).items()},
}
ALL = {**CHARTS, **EDGE_CASES}


def test_the_sorted_corpus() -> None:
    (curve,) = CHARTS["sorted"].marks
    assert isinstance(curve, Curve)
    ordered = sorted(surveyed(400).scores(0))
    for portion, value in zip(curve.x, curve.y, strict=True):
        assert value == ordered[round(portion * 399)]
    assert CHARTS["sorted"].table.rows[5] == ("50%", short_score(ordered[200]))


@pytest.mark.parametrize("name", ["histogram", "ratios"])
def test_histograms_hold_every_row(name: str) -> None:
    (bars,) = CHARTS[name].marks
    assert isinstance(bars, Boxes)
    assert bars.corners[:, 3].sum() == 400
    assert (bars.corners[1:, 0] >= bars.corners[:-1, 2] - 1e-9).all()
    counts = [int(row[-1].replace(",", "")) for row in CHARTS[name].table.rows]
    assert sum(counts) == 400


def test_the_numbers_of_a_histogram_are_those_of_its_rows() -> None:
    scores = np.sort(np.float32([0, 0.05, 0.31, 0.35, 0.35, 0.99, 1]))
    chart = histogram_chart("mlp", scores, "histogram")
    assert dict(chart.table.rows) == {
        f"{low / 10:g} to {(low + 1) / 10:g}": str(count)
        for low, count in enumerate((2, 0, 0, 3, 0, 0, 0, 0, 0, 2))
    }


def test_a_balanced_cut_is_a_line_up_the_histogram() -> None:
    scores = np.sort(np.float32([0, 0.05, 0.31, 0.35, 1]))
    _, line = histogram_chart("mlp", scores, "histogram", (-1.0, 1.0), 0.25).marks
    assert isinstance(line, Segments)
    assert line.corners[0, [0, 2]].tolist() == [0.25, 0.25] and line.corners[0, 1] == 0
    assert line.name == "balanced cut: 0.25"


def test_of_many_labels_those_with_the_most_rows_are_drawn() -> None:
    survey = Survey(["mlp"])
    rows = [(label, n) for label in range(60) for n in range(1 + label)]
    survey.add([Sample(1, "s", "t", (n / 60,), f"l{label}") for label, n in rows])
    chart = spread_chart("mlp", spreads_of(survey, 0), "labels")
    assert {row[0] for row in chart.table.rows} == {f"l{label}" for label in range(60)}
    assert {text for _, text in chart.y.ticks} == {f"l{label}" for label in range(20, 60)}
    assert "The 40 labels with the most rows are drawn, of 60." in chart.text


def test_ratios_are_of_words() -> None:
    survey = Survey(["a"])
    rows = [("a b", "a b c d"), ("a", "b"), ("a b c", "a"), ("", "a")]
    survey.add([Sample(n, s, t, (0.0,)) for n, (s, t) in enumerate(rows)])
    chart = length_charts(survey)[1]
    (bars,) = chart.marks
    middles = (bars.corners[:, 0] + bars.corners[:, 2]) / 2  # type: ignore[union-attr]
    assert middles == pytest.approx([-1.6, 0, 1])
    mean = (2 * 1 * (1 / 3)) ** (1 / 3)
    assert f"mean is {mean:.2f}; in {1 / 3:.1%} of the rows" in chart.text


def test_lengths_of_both_sides() -> None:
    survey, chart = surveyed(400), CHARTS["lengths"]
    for side in (0, 1):
        shown = {row[0]: int(row[side + 1]) for row in chart.table.rows}
        for span, count in shown.items():
            low, high = map(int, re.findall(r"\d+", span))
            assert count == sum(low <= length <= high for length in survey.lengths(side))
        assert sum(shown.values()) == 400


def test_spreads_are_drawn_in_rows() -> None:
    whiskers, halves, medians = CHARTS["labels"].marks
    assert isinstance(whiskers, Segments) and isinstance(halves, Boxes)
    assert CHARTS["labels"].y in (names_axis(["clean", "copy"]), names_axis(["copy", "clean"]))
    for low, half, middle in zip(whiskers.corners, halves.corners, medians.corners, strict=True):  # type: ignore[union-attr]
        assert low[0] <= half[0] <= middle[0] <= half[2] <= low[2]


def test_drops_are_sorted() -> None:
    chart = drops_chart({"a": (5, 2), "b": (9, 0), "c": (0, 0)})
    assert chart.table.rows == (("b", "9", "0"), ("a", "5", "2"), ("c", "0", "0"))
    total, unique = chart.marks
    assert isinstance(total, Boxes) and isinstance(unique, Boxes)
    assert (total.corners[:, 2].tolist(), unique.corners[:, 2].tolist()) == ([9, 5], [0, 2])
    assert [name for _, name in chart.y.ticks] == ["b", "a"]
    assert [name for _, name in drops_chart({"a": (0, 0), "b": (0, 0)}).y.ticks] == ["a"]
    assert chart.text.startswith("b dropped the most rows, 9; 0 of them")


def test_reasons_are_sorted() -> None:
    found = ReasonCounts()
    found.add(["b=1; a=1", "", "b=2", "c", "b=1; c; b=2", ""])
    chart = reasons_chart(found, 8)
    assert chart.table.rows == (("b", "3", "37.5%"), ("c", "2", "25.0%"), ("a", "1", "12.5%"))
    (bars,) = chart.marks
    assert isinstance(bars, Boxes)
    assert bars.corners[:, 2].tolist() == [3, 2, 1] and not bars.corners[:, 0].any()
    assert [name for _, name in chart.y.ticks] == ["b", "c", "a"]
    assert all(row < bar[1] < bar[3] < row + 1 for row, bar in enumerate(bars.corners))
    assert [text for _, text in chart.x.ticks] == ["0", "1", "2", "3"]
    assert chart.text == "4 of 8 rows have a reason, 50.0%. The most, 3, have b."


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-0.3, 2.7), (5, 5), (0, 0), (-1e30, 1e30), (1e-20, 3e-20)]
)
def test_ticks_lie_on_the_axis(low: float, high: float) -> None:
    made = axis("x", low, high)
    values = [value for value, _ in made.ticks]
    assert 2 <= len(values) <= 7
    assert made.low <= low <= high <= made.high
    assert all(made.low - 1e-6 <= value <= made.high + 1e-6 * abs(made.high) for value in values)
    assert len({text for _, text in made.ticks}) == len(values)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 12, 1e7])
def test_rows_are_whole(most: float) -> None:
    made = rows_axis(most)
    assert made.high > most and all(value == int(value) for value, _ in made.ticks)


def test_numbers_on_axes() -> None:
    assert list(map(compact, (0, 0.25, 999, 1500, 2e6, 3.5e9, -1000))) == [
        "0", "0.25", "999", "1.5k", "2M", "3.5G", "-1k"
    ]  # fmt: skip
    assert list(map(short_score, (0.55, -0.0, 1e-5, 2.0))) == ["0.55", "0", "0.00001", "2"]


PARTS = environment().get_template("reports/parts.html").module


def drawn(chart: Chart) -> str:
    return str(PARTS.svg(chart)).strip()  # type: ignore[attr-defined]


def paths(element: ElementTree.Element) -> list[float]:
    """Every x that a path or a line goes to."""
    words = re.findall(r"[MLHV][^MLHVZ]*", element.get("d", ""))
    points = [word[1:].split() for word in words if word[0] in "ML"]
    return [float(x) for x, _ in points]


@pytest.mark.parametrize("chart", ALL.values(), ids=ALL)
def test_svg_is_well_formed_and_stays_inside(chart: Chart) -> None:
    text = drawn(chart)
    root = ElementTree.fromstring(text)
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", f"{chart.name}-title")
    assert all(0 <= x <= WIDTH for part in root.iter() for x in paths(part))
    words = [part.text or "" for part in root.iter("text")]
    assert chart.x.label in words
    assert "nan" not in text and "inf" not in text.replace("infinite", "")
    assert (len(list(root.iter("rect"))) == 1) == bool(chart.cut)
    assert PARTS.legend(chart).count("<li>") == len(chart.legend)


def test_a_cut_knows_where_values_lie() -> None:
    """The box in which the page moves the line is that of the axis."""
    for name in ("sorted", "histogram", "labels"):
        root = ElementTree.fromstring(drawn(CHARTS[name]))
        (cut,) = (part for part in root if part.get("class") == "cut")
        left, _, right, bottom = map(float, (cut.get("data-box") or "").split())
        (base,) = (part for part in root.iter("line") if part.get("class") == "base")
        assert float(base.get("x1") or 0) == left and float(base.get("x2") or 0) == right
        assert float(base.get("y1") or 0) == bottom
        values = CHARTS[name].y if name == "sorted" else CHARTS[name].x
        assert (float(cut.get("data-low") or 0), float(cut.get("data-high") or 0)) == (
            values.low,
            values.high,
        )


@pytest.mark.gate("odd labels", "odd lengths", "odd reasons", "one row: sorted", "one row: ratios")
@pytest.mark.parametrize("chart", EDGE_CASES.values(), ids=EDGE_CASES)
def test_a_plot_is_well_formed(chart: Chart) -> None:
    if chart is EDGE_CASES["odd labels"]:  # no warning either, of letters that the font lacks
        assert plotted(chart, "png").startswith(b"\x89PNG\r\n")
    data = plotted(chart, "svg")
    assert ElementTree.fromstring(data).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"<dc:date>" not in data


@pytest.mark.parametrize(("name", "form"), [("density", "png"), ("labels", "svg")])
def test_plots_are_the_same_each_time(name: str, form: str) -> None:
    data = plotted(CHARTS[name], form)
    assert plotted(CHARTS[name], form) == data
    assert data.startswith(b"\x89PNG\r\n") == (form == "png")


@pytest.mark.gate(0)
def test_plots_are_the_same_in_every_process() -> None:
    chart = "drops_chart({'a': (5, 2), 'b': (9, 0)})"
    imports = "from bitextfilter.reports import charts, figures; import sys"
    program = f"{imports}; sys.stdout.buffer.write(charts.plotted(figures.{chart}, 'svg'))"
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, capture_output=True, timeout=60, check=True)
    assert done.stdout == plotted(drops_chart({"a": (5, 2), "b": (9, 0)}), "svg")


def corpus_of(name: str, scores: list[float], label: str = "") -> Corpus:
    survey = Survey(["mlp"])
    survey.add([Sample(n, "a b", "c", (score,), label) for n, score in enumerate(scores)])
    return Corpus(survey, name)


def test_every_chart_has_a_file_of_its_own() -> None:
    report = Report([corpus_of("a", [0, 1], "x"), corpus_of("b", [2, 3])], "title")
    names = [chart.name for chart in report.charts]
    score = ["score-1-sorted", "score-1-histogram", "score-1-labels"]
    kinds = (*score, "lengths", "ratios", "density")
    expected = [name for kind in kinds for name in (kind, f"{kind}-against")]
    expected.remove("score-1-labels-against")
    assert names == expected


def test_axes_are_those_of_both() -> None:
    view = ScoreView([corpus_of("a", [0, 1]), corpus_of("b", [-2, 3])], 0, [])
    assert view.span == (-2, 3)
    assert {(chart.x.low, chart.x.high) for chart in view.charts if chart.cut == "x"} == {(-2, 3)}
    assert {(chart.y.low, chart.y.high) for chart in view.charts if chart.cut == "y"} == {(-2, 3)}


def test_a_cut_that_no_row_reaches_is_said_but_not_marked() -> None:
    for cut, marked in ((0.5, True), (1.5, False), (-0.5, False)):
        view = ScoreView([corpus_of("a", [0, 1])], 0, [], cut)
        assert view.leads[-1] == f"The balanced cut is {cut}."
        assert (view.cut is not None) == marked
        data = view.data()
        assert (data["balanced"] in data["thresholds"]) == marked
        assert (len(view.charts[1].legend) == 1) == marked
