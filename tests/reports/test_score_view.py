"""Views of scores: cuts and charts of corpora side by side."""

from __future__ import annotations

from bitextfilter.reports.page import Corpus, Report, ScoreView
from bitextfilter.reports.survey import Sample, Survey


def corpus(name: str, scores: list[float], label: str = "") -> Corpus:
    survey = Survey(["mlp"])
    survey.add([Sample(n, "a b", "c", (score,), label) for n, score in enumerate(scores)])
    return Corpus(survey, name)


def test_every_chart_has_a_file_of_its_own() -> None:
    report = Report([corpus("a", [0, 1], "x"), corpus("b", [2, 3])], "title")
    names = [chart.name for chart in report.charts]
    score = ["score-1-sorted", "score-1-histogram", "score-1-labels"]
    kinds = (*score, "lengths", "ratios", "density")
    expected = [name for kind in kinds for name in (kind, f"{kind}-against")]
    expected.remove("score-1-labels-against")
    assert names == expected


def test_axes_are_those_of_both() -> None:
    view = ScoreView([corpus("a", [0, 1]), corpus("b", [-2, 3])], 0, [])
    assert view.span == (-2, 3)
    assert {(chart.x.low, chart.x.high) for chart in view.charts if chart.cut == "x"} == {(-2, 3)}
    assert {(chart.y.low, chart.y.high) for chart in view.charts if chart.cut == "y"} == {(-2, 3)}


def test_a_cut_that_no_row_reaches_is_said_but_not_marked() -> None:
    for recommended, marked in ((0.5, True), (1.5, False), (-0.5, False)):
        view = ScoreView([corpus("a", [0, 1])], 0, [], recommended)
        assert view.leads[-1] == f"The recommended cut is {recommended}."
        assert (view.cut is not None) == marked
        data = view.data()
        assert (data["recommended"] in data["thresholds"]) == marked
        assert (len(view.charts[1].legend) == 1) == marked
