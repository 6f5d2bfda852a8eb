"""The parts that pages are put together from: figures, tables, pairs of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bitextfilter.reports.charts import Chart, Table
from bitextfilter.reports.figures import score_text
from bitextfilter.reports.markup import Markup, tag
from bitextfilter.reports.samples import Sample
from bitextfilter.reports.svg import drawn, legend

__all__ = ["Languages", "facts", "figure", "figures", "pairs", "table", "template"]


@dataclass(frozen=True)
class Languages:
    """The languages of the two sides, such as ``en``; empty where they are not known."""

    source: str = ""
    target: str = ""


def table(content: Table, caption: str) -> Markup:
    """Return a table whose *caption* is for screen readers; numbers stand to the right."""
    head = tag("tr", *(tag("th", name, scope="col") for name in content.head))
    rows = [
        tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest))
        for first, *rest in content.rows
    ]
    made = tag(
        "table",
        tag("caption", caption, cls="unseen"),
        tag("thead", head),
        tag("tbody", *rows),
    )
    return tag("div", made, cls="scroll", tabindex="0", role="region", aria_label=caption)


def figure(chart: Chart, wide: bool = False) -> Markup:
    """Return a chart with its title, what it shows in words, and its numbers: seen if *wide*."""
    title, text = f"{chart.name}-title", f"{chart.name}-text"
    numbers = tag(
        "details",
        tag("summary", "Numbers", tag("span", f" of {chart.title}", cls="unseen")),
        table(chart.table, chart.title),
        open=wide,
    )
    return tag(
        "figure",
        tag("figcaption", tag("h3", chart.title, id=title)),
        legend(chart),
        drawn(chart, title, text),
        tag("div", tag("p", chart.text, id=text, cls="note"), numbers),
        cls="card wide" if wide else "card",
    )


def figures(charts: Sequence[Chart], *others: Markup) -> Markup:
    """Return charts, and *others* after them, side by side where there is room."""
    return tag("div", *map(figure, charts), *others, cls="figures")


def facts(pairs_: Sequence[tuple[str, str]], **attributes: str) -> Markup:
    """Return names and values, the values large."""
    groups = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs_]
    return tag("dl", *groups, **{"cls": "facts", **attributes})


def pairs(samples: Sequence[Sample], names: Sequence[str], languages: Languages) -> Markup:
    """Return a list of samples: line, scores and label, then the two texts."""
    return tag("ol", *(_pair(sample, names, languages) for sample in samples), cls="pairs")


def _pair(sample: Sample, names: Sequence[str], languages: Languages) -> Markup:
    scores = [
        tag("span", f"{name}: {score_text(score)}")
        for name, score in zip(names, sample.scores, strict=True)
    ]
    label = tag("span", sample.label, cls="label") if sample.label else ""
    return tag(
        "li",
        tag("p", tag("span", f"line {sample.number:,}"), *scores, label, cls="origin"),
        tag("p", sample.source, lang=languages.source, dir="auto"),
        tag("p", sample.target, lang=languages.target, dir="auto"),
    )


def template(languages: Languages) -> Markup:
    """Return the empty pair that the script fills in."""
    sides = [tag("p", lang=code, dir="auto") for code in (languages.source, languages.target)]
    return tag("template", tag("li", tag("p", cls="origin"), *sides), id="pair")
