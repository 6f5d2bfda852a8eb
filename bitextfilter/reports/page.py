"""The report as one HTML file that needs nothing else and lets nothing else in.

The policy in its head allows the file's own style and script, by their digests, and nothing
besides: no network, no other script, no markup made of strings while it is read.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from string import Template
from typing import Any

from bitextfilter import __version__
from bitextfilter.reports.charts import Chart, Table
from bitextfilter.reports.figures import drops_chart, number
from bitextfilter.reports.lengths import length_charts
from bitextfilter.reports.markup import Markup, embedded, joined, tag
from bitextfilter.reports.parts import Languages, facts, figure, figures, table, template
from bitextfilter.reports.runs import FilterRun, fields_of
from bitextfilter.reports.samples import Sample
from bitextfilter.reports.scores import ScoreView
from bitextfilter.reports.survey import Survey

__all__ = ["Report"]


@dataclass(frozen=True)
class Report:
    """What a report tells: of the rows, of the filter's rules, and of other runs.

    ``each`` is how many pairs are shown at each tenth; ``left_out`` how many rows were not looked
    at, by reason; ``runs`` are manifests under their names.
    """

    survey: Survey
    title: str
    languages: Languages = field(default_factory=Languages)
    each: int = 10
    left_out: Mapping[str, int] = field(default_factory=dict)
    filter_run: FilterRun | None = None
    runs: Sequence[tuple[str, dict[str, Any]]] = ()

    @cached_property
    def _samples(self) -> list[Sample]:
        return self.survey.samples()

    @cached_property
    def _scores(self) -> list[ScoreView]:
        count = len(self.survey.names) if len(self.survey) else 0
        return [ScoreView(self.survey, place, self._samples) for place in range(count)]

    @cached_property
    def _lengths(self) -> list[Chart]:
        return length_charts(self.survey) if len(self.survey) else []

    @cached_property
    def _drops(self) -> list[Chart]:
        rules = self.filter_run.rules if self.filter_run else {}
        return [drops_chart(rules)] if rules else []

    @property
    def charts(self) -> list[Chart]:
        """Every figure, in the order of the page."""
        scores = [chart for score in self._scores for chart in score.charts]
        return [*scores, *self._lengths, *self._drops]

    def html(self) -> bytes:
        """Return the page."""
        style, script = _resource("report.css"), _resource("report.js")
        sections = self._sections()
        contents = [tag("li", tag("a", name, href=f"#{ident}")) for ident, name, _ in sections]
        page = Template(_resource("template.html")).substitute(
            policy=_policy(style, script),
            title=joined(self.title),
            style=style,
            script=script,
            facts=self._facts(),
            lead=joined(self._lead()),
            contents=joined(*contents),
            sections=joined(*(section for _, _, section in sections)),
            pair=template(self.languages),
            data=embedded(self._data()),
            version=joined(__version__),
        )
        return page.encode()

    def _sections(self) -> list[tuple[str, str, Markup]]:
        """Return the sections, each with its id and name."""
        made = [
            (score.id, score.name, score.section(self.languages, self.each))
            for score in self._scores
        ]
        if self._lengths:
            made.append(_section("lengths-of-sides", "Lengths", figures(self._lengths)))
        if self.filter_run:
            made.append(_section("rules", "Dropped by rules", *self._rules(self.filter_run)))
        if self.runs:
            runs = [self._run(name, run) for name, run in self.runs]
            made.append(_section("runs", "Runs", *runs))
        return made

    def _lead(self) -> str:
        rows, shown = len(self.survey), len(self._samples)
        if not rows:
            return "There are no scored rows."
        origin = "all rows" if shown == rows else f"a random sample of {number(shown)} rows"
        return f"The pairs shown are taken from {origin}."

    def _facts(self) -> Markup:
        survey = self.survey
        sums = [int(survey.lengths(side).sum(dtype="int64")) for side in (0, 1)]
        shown = [("rows", len(survey))]
        shown += [(f"source {survey.unit}", sums[0]), (f"target {survey.unit}", sums[1])]
        shown += [(f"rows {reason}", count) for reason, count in self.left_out.items() if count]
        return facts([(name, number(value)) for name, value in shown])

    def _rules(self, run: FilterRun) -> list[Markup]:
        rows = run.counts["rows"]
        names = ("rows", "kept", "dropped", "rejected")
        shown = [
            (name, _with_part(run.counts[name], rows) if name != "rows" else number(rows))
            for name in names
        ]
        charts = [figure(chart, wide=True) for chart in self._drops]
        text = "" if charts else tag("p", "No rule was applied.", cls="note")
        return [facts(shown), *charts, joined(text)]

    def _run(self, name: str, run: dict[str, Any]) -> Markup:
        """Return a manifest; that of the filter without the rules, which have their own section."""
        fields = fields_of(run)
        if self.filter_run and run is self.filter_run.manifest:
            fields = [field for field in fields if not field[0].startswith("facts › rules ›")]
        content = table(Table(("field", "value"), tuple(fields)), f"Manifest {name}")
        return tag("details", tag("summary", name), content, cls="card run", open=True)

    def _data(self) -> dict[str, Any]:
        """Return what the script works on; of the samples, those that it shows."""
        found, shown = [], set()
        for score in self._scores:
            data, near = score.data()
            found.append(data)
            shown.update(near)
        places = {place: new for new, place in enumerate(sorted(shown))}
        for data in found:
            data["samples"] = [places[place] for place in data["samples"]]
        samples = [
            [s.number, s.source, s.target, s.label, list(s.scores)]
            for s in (self._samples[place] for place in places)
        ]
        return {
            "unit": self.survey.unit,
            "scores": found,
            "samples": samples,
        }


def _with_part(count: int, total: int) -> Markup:
    part = f"{count / total:.1%}" if total else ""
    return joined(number(count), " ", tag("small", part))


def _section(ident: str, name: str, *content: Markup) -> tuple[str, str, Markup]:
    title = tag("h2", name, id=f"{ident}-name")
    made = tag("section", title, *content, id=ident, aria_labelledby=f"{ident}-name")
    return ident, name, made


def _resource(name: str) -> str:
    return (files("bitextfilter.reports") / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
