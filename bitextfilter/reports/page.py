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

from jinja2 import Environment, FunctionLoader, StrictUndefined

from bitextfilter import __version__
from bitextfilter.reports.charts import Chart, Frame, fitted, short, xml_text
from bitextfilter.reports.figures import (
    drops_chart,
    length_charts,
    longest,
    number,
    reasons_chart,
    short_score,
)
from bitextfilter.reports.score_view import Corpus, ScoreView, side_by_side
from bitextfilter.reports.survey import (
    Fields,
    FilterRun,
    Sample,
    Survey,
    fields_of,
    reasons_of,
)

_Fact = tuple[str, int, str | None]
"""A name, a count, and its share of the rows, if shown."""


class SideLanguages(NamedTuple):
    """The languages of both sides, such as ``en``; empty if unknown."""

    source: str = ""
    target: str = ""


@dataclass(frozen=True)
class Report:
    """A report on scored rows, on the rules of a filter run, and on other runs.

    ``corpora`` are one, or two side by side; pairs are shown of the first alone, ``each`` of them
    at each tenth. ``reasons`` asks for the figure of those against pairs; ``recommended`` has cuts
    by the names of scores; ``runs`` are manifests with their names.
    """

    corpora: Sequence[Corpus]
    title: str
    languages: SideLanguages = field(default_factory=SideLanguages)
    each: int = 10
    recommended: Mapping[str, float] = field(default_factory=dict)
    reasons: bool = False
    filter_run: FilterRun | None = None
    runs: Sequence[tuple[str, dict[str, Any]]] = ()

    @property
    def survey(self) -> Survey:
        """The survey of the first corpus."""
        return self.corpora[0].survey

    @cached_property
    def _samples(self) -> list[Sample]:
        return self.survey.samples()

    @property
    def _empty(self) -> list[str]:
        """The names of the corpora without rows."""
        return [corpus.name for corpus in self.corpora if not len(corpus.survey)]

    @cached_property
    def scores(self) -> list[ScoreView]:
        """A view of each score; none where a corpus has no rows."""
        names = () if self._empty else self.survey.names
        return [
            ScoreView(self.corpora, place, self._samples, self.recommended.get(name))
            for place, name in enumerate(names)
        ]

    @cached_property
    def length_charts(self) -> list[Chart]:
        """The charts of lengths; none where a corpus has no rows."""
        if self._empty:
            return []
        most = max(longest(corpus.survey) for corpus in self.corpora)
        return side_by_side(self.corpora, lambda corpus: length_charts(corpus.survey, most))

    @cached_property
    def reason_charts(self) -> list[Chart]:
        """The charts of the reasons against pairs, if there are any."""
        return side_by_side(self.corpora if self.reasons else (), _reason_charts)

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
        rows, shown, several = len(self.survey), len(self._samples), len(self.corpora) > 1
        if self._empty:
            return f"There are no scored rows{f' in {self._empty[0]}' * several}."
        origin = "all rows" if shown == rows else f"a random sample of {number(shown)} rows"
        origin += f" of {self.corpora[0].name}" * several
        return f"The pairs shown are taken from {origin}."

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
        names = [corpus.name for corpus in self.corpora]
        unit = self.survey.unit
        return {"unit": unit, "corpora": names, "scores": found, "samples": samples}


def _reason_charts(corpus: Corpus) -> list[Chart]:
    found = corpus.survey.reasons
    return [reasons_chart(found, len(corpus.survey))] if found.any else []


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
