"""The report as one HTML file, which loads nothing.

Its content security policy allows its own style and script, by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined
from numpy.typing import NDArray

from bitextfilter import __version__
from bitextfilter.reports.charts import Chart, Frame, fitted, short, xml_text
from bitextfilter.reports.figures import (
    drops_chart,
    histogram_chart,
    length_charts,
    number,
    reasons_chart,
    short_score,
    sorted_chart,
    spread_chart,
)
from bitextfilter.reports.survey import (
    Fields,
    FilterRun,
    Sample,
    Spread,
    Survey,
    at_tenths,
    cuts_of,
    fields_of,
    near_thresholds,
    ordered_by,
    reasons_of,
    spreads_of,
    thresholds_of,
)

_Fact = tuple[str, int, str | None]
"""A name, a count, and its share of the rows, if shown."""


class SideLanguages(NamedTuple):
    """The languages of both sides, such as ``en``; empty if unknown."""

    source: str = ""
    target: str = ""


@dataclass(frozen=True)
class ScoreView:
    """The view of one score, at *place* in a survey of n > 0 rows with *samples*."""

    survey: Survey
    place: int
    samples: Sequence[Sample]

    @property
    def name(self) -> str:
        """The name of the score."""
        return self.survey.names[self.place]

    @property
    def id(self) -> str:
        """The prefix of its elements' ids and its files' names."""
        return f"score-{self.place + 1}"

    @cached_property
    def _ordered(self) -> NDArray[np.float32]:
        return np.sort(self.survey.scores(self.place))

    @cached_property
    def _sampled(self) -> NDArray[np.float32]:
        values = [sample.scores[self.place] for sample in self.samples]
        return np.array(values, dtype=np.float32)

    @cached_property
    def _spreads(self) -> list[Spread]:
        return spreads_of(self.survey, self.place) if self.survey.labelled else []

    @cached_property
    def charts(self) -> list[Chart]:
        """The charts of this score."""
        made = [
            sorted_chart(self.name, self._ordered, f"{self.id}-sorted"),
            histogram_chart(self.name, self._ordered, f"{self.id}-histogram"),
        ]
        if self.survey.labelled:
            made.append(spread_chart(self.name, self._spreads, f"{self.id}-labels"))
        return made

    @property
    def lead(self) -> str:
        """Range, median and mean in words."""
        last = len(self._ordered) - 1
        low, middle, high = (short_score(self._ordered[i]) for i in (0, last // 2, last))
        mean = float(self._ordered.mean(dtype=np.float64))
        return f"From {low} to {high}; the median is {middle}, the mean {mean:.4g}."

    def tenths(self, each: int) -> list[list[Sample]]:
        """Return *each* samples at each tenth of the corpus sorted by this score."""
        groups = at_tenths(ordered_by(self._sampled), each)
        return [[self.samples[place] for place in places] for places in groups]

    def data(self) -> dict[str, Any]:
        """Return the data of the script; ``samples`` are places in the survey's samples."""
        thresholds = thresholds_of(self._ordered)
        cuts = cuts_of(self.survey, self.place, thresholds)
        order = ordered_by(self._sampled)
        return {
            "name": self.name,
            "thresholds": [float(short_score(value)) for value in thresholds],
            "kept": [counts.tolist() for counts in (cuts.rows, cuts.source, cuts.target)],
            "labels": [
                [spread.label, cuts.labels[:, spread.place].tolist()] for spread in self._spreads
            ],
            "samples": near_thresholds(order, self._sampled[order], thresholds),
        }


@dataclass(frozen=True)
class Report:
    """A report on scored rows, on the rules of a filter run, and on other runs.

    ``each`` is the number of pairs shown at each tenth; ``left_out`` the number of rows left out,
    by reason; ``reasons`` asks for the figure of those against pairs; ``runs`` are manifests with
    their names.
    """

    survey: Survey
    title: str
    languages: SideLanguages = field(default_factory=SideLanguages)
    each: int = 10
    left_out: Mapping[str, int] = field(default_factory=dict)
    reasons: bool = False
    filter_run: FilterRun | None = None
    runs: Sequence[tuple[str, dict[str, Any]]] = ()

    @cached_property
    def _samples(self) -> list[Sample]:
        return self.survey.samples()

    @cached_property
    def scores(self) -> list[ScoreView]:
        """A view of each score; none without rows."""
        count = len(self.survey.names) if len(self.survey) else 0
        return [ScoreView(self.survey, place, self._samples) for place in range(count)]

    @cached_property
    def length_charts(self) -> list[Chart]:
        """The charts of lengths; none without rows."""
        return length_charts(self.survey) if len(self.survey) else []

    @cached_property
    def reason_charts(self) -> list[Chart]:
        """The chart of the reasons against pairs, if there are any."""
        found = self.survey.reasons
        asked = self.reasons and found.any
        return [reasons_chart(found, len(self.survey))] if asked else []

    @cached_property
    def drop_charts(self) -> list[Chart]:
        """The chart of the rules' drops, if there are rules."""
        rules = self.filter_run.rules if self.filter_run else {}
        return [drops_chart(rules)] if rules else []

    @property
    def charts(self) -> list[Chart]:
        """All charts, in the order of the page."""
        scores = [chart for score in self.scores for chart in score.charts]
        return [*scores, *self.length_charts, *self.reason_charts, *self.drop_charts]

    def html(self) -> bytes:
        """Return the page."""
        style, script = resource("report.css"), resource("report.js")
        page = environment().get_template("report.html")
        text = page.render(
            report=self,
            unit=self.survey.unit,
            policy=policy_of(style, script),
            style=style,
            script=script,
            version=__version__,
        )
        return xml_text(text).encode()

    @property
    def contents(self) -> list[tuple[str, str]]:
        """The id and the name of each section."""
        made = [(score.id, score.name) for score in self.scores]
        made += [("lengths-of-sides", "Lengths")] * bool(self.length_charts)
        made += [("reasons", "Reasons against pairs")] * self.reasons
        made += [("rules", "Dropped by rules")] * bool(self.filter_run)
        return made + [("runs", "Runs")] * bool(self.runs)

    @property
    def lead(self) -> str:
        """The source of the pairs shown, in words."""
        rows, shown = len(self.survey), len(self._samples)
        if not rows:
            return "There are no scored rows."
        origin = "all rows" if shown == rows else f"a random sample of {number(shown)} rows"
        return f"The pairs shown are taken from {origin}."

    @property
    def facts(self) -> list[_Fact]:
        """The counts at the top of the page."""
        survey = self.survey
        source, target = (int(survey.lengths(side).sum(dtype="int64")) for side in (0, 1))
        left = ((f"rows {reason}", count) for reason, count in self.left_out.items() if count)
        sums = (f"source {survey.unit}", source), (f"target {survey.unit}", target)
        return [(name, count, None) for name, count in (("rows", len(survey)), *sums, *left)]

    @property
    def outcome(self) -> list[_Fact]:
        """The counts of the filter run."""
        counts = self.filter_run.counts if self.filter_run else {}
        rows = counts.get("rows", 0)
        return [
            (name, count, None if name == "rows" else f"{count / rows:.1%}" if rows else "")
            for name, count in counts.items()
        ]

    def fields(self, run: dict[str, Any]) -> Fields:
        """Return a manifest's fields, without the filter's rules, which have their own section."""
        fields = fields_of(run)
        if self.filter_run and run is self.filter_run.manifest:
            fields = [field for field in fields if not field[0].startswith("facts › rules ›")]
        return fields

    def data(self) -> dict[str, Any]:
        """Return the data of the script, with only the samples that it shows."""
        found = [score.data() for score in self.scores]
        shown = sorted({place for data in found for place in data["samples"]})
        places = {place: new for new, place in enumerate(shown)}
        for data in found:
            data["samples"] = [places[place] for place in data["samples"]]
        samples = [
            [s.number, s.source, s.target, s.label, list(s.scores), list(reasons_of(s.reasons))]
            for s in (self._samples[place] for place in shown)
        ]
        return {"unit": self.survey.unit, "scores": found, "samples": samples}


@cache
def environment() -> Environment:
    """Return the environment of the templates; all text is escaped."""
    made = Environment(
        loader=FunctionLoader(resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "number": number, "score": short_score, "frame": Frame, "fitted": fitted, "short": short,
        "reasons": reasons_of,
    }  # fmt: skip
    made.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "allow_nan": False,
    }
    return made


def resource(name: str) -> str:
    """Return the text of a file of this folder."""
    return (files("bitextfilter.reports") / name).read_text(encoding="utf-8")


def policy_of(style: str, script: str) -> str:
    """Return the content security policy of a page with one style and one script."""
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
