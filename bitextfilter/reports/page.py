"""The report as one HTML file: the scores of one corpus, or of two side by side.

It shows figures, thresholds and samples, and loads nothing: its content security policy allows its
own style and script, by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    longest,
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


@dataclass(frozen=True)
class Corpus:
    """A scored corpus and its *name*.

    ``left_out`` has the number of rows left out, by reason; ``commands`` for each score the command
    line that cuts the corpus by it, but for the threshold at the end.
    """

    survey: Survey
    name: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    commands: Sequence[str] = ()

    @property
    def facts(self) -> list[tuple[str, int, None]]:
        """Names and counts: rows, lengths of the sides, and rows left out."""
        survey = self.survey
        source, target = (int(survey.lengths(side).sum(dtype="int64")) for side in (0, 1))
        left = ((f"rows {reason}", count) for reason, count in self.left_out.items() if count)
        sums = (f"source {survey.unit}", source), (f"target {survey.unit}", target)
        return [(name, count, None) for name, count in (("rows", len(survey)), *sums, *left)]


def side_by_side(corpora: Sequence[Corpus], charts: Callable[[Corpus], list[Chart]]) -> list[Chart]:
    """Return the charts of each corpus: the first of all, then the second of all, and so on.

    Of several corpora, each title has the corpus' name, and all files but the first corpus' end in
    ``-against``. A corpus without a chart that another one has is passed over.
    """
    made = []
    for place, corpus in enumerate(corpora):
        ending = "-against" * bool(place)
        for place_on_page, chart in enumerate(charts(corpus)):
            title = f"{chart.title}: {corpus.name}" if len(corpora) > 1 else chart.title
            named = replace(chart, name=f"{chart.name}{ending}", title=title, corpus=place)
            made.append((place_on_page, named))
    return [chart for _, chart in sorted(made, key=lambda item: item[0])]


@dataclass(frozen=True)
class ScoreView:
    """The view of one score, at *place* in the surveys of corpora, each of n > 0 rows.

    ``samples`` are those of the first corpus; ``balanced`` is a cut of the score.
    """

    corpora: Sequence[Corpus]
    place: int
    samples: Sequence[Sample]
    balanced: float | None = None

    @property
    def name(self) -> str:
        """The name of the score."""
        return self.corpora[0].survey.names[self.place]

    @property
    def id(self) -> str:
        """The prefix of its elements' ids and its files' names."""
        return f"score-{self.place + 1}"

    @cached_property
    def _ordered(self) -> list[NDArray[np.float32]]:
        return [np.sort(corpus.survey.scores(self.place)) for corpus in self.corpora]

    @cached_property
    def _sampled(self) -> NDArray[np.float32]:
        values = [sample.scores[self.place] for sample in self.samples]
        return np.array(values, dtype=np.float32)

    @cached_property
    def _spreads(self) -> list[list[Spread]]:
        surveys = [corpus.survey for corpus in self.corpora]
        return [spreads_of(each, self.place) if each.labelled else [] for each in surveys]

    @property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest score of any corpus."""
        lows, highs = zip(*((one[0], one[-1]) for one in self._ordered), strict=True)
        return float(min(lows)), float(max(highs))

    @property
    def cut(self) -> float | None:
        """The balanced cut, if any row scores as low, and any as high."""
        low, high = self.span
        inside = self.balanced is not None and low <= self.balanced <= high
        return self.balanced if inside else None

    @cached_property
    def charts(self) -> list[Chart]:
        """The charts of this score."""
        return side_by_side(self.corpora, self._charts)

    def _charts(self, corpus: Corpus) -> list[Chart]:
        place = self.corpora.index(corpus)
        ordered, spreads = self._ordered[place], self._spreads[place]
        span = self.span if len(self.corpora) > 1 else None
        made = [
            sorted_chart(self.name, ordered, f"{self.id}-sorted", span),
            histogram_chart(self.name, ordered, f"{self.id}-histogram", span, self.cut),
        ]
        if spreads:
            made.append(spread_chart(self.name, spreads, f"{self.id}-labels", span))
        return made

    @property
    def leads(self) -> list[str]:
        """Range, median and mean in words, for each corpus; then the balanced cut, if any."""
        made = []
        for corpus, ordered in zip(self.corpora, self._ordered, strict=True):
            last = len(ordered) - 1
            low, middle, high = (short_score(ordered[i]) for i in (0, last // 2, last))
            mean = float(ordered.mean(dtype=np.float64))
            origin = f"{corpus.name}: from" if len(self.corpora) > 1 else "From"
            made.append(f"{origin} {low} to {high}; the median is {middle}, the mean {mean:.4g}.")
        if self.balanced is not None:
            made.append(f"The balanced cut is {short_score(self.balanced)}.")
        return made

    def tenths(self, each: int) -> list[list[Sample]]:
        """Return *each* samples at each tenth of the first corpus sorted by this score."""
        groups = at_tenths(ordered_by(self._sampled), each)
        return [[self.samples[place] for place in places] for places in groups]

    @property
    def _thresholds(self) -> NDArray[np.float32]:
        together = np.sort(np.concatenate(self._ordered))
        chosen = [] if self.cut is None else [np.float32(self.cut)]
        return np.union1d(thresholds_of(together), np.array(chosen, dtype=np.float32))

    def data(self) -> dict[str, Any]:
        """Return the data of the script; ``samples`` are places in the survey's samples."""
        thresholds = self._thresholds
        order = ordered_by(self._sampled)
        return {
            "name": self.name,
            "thresholds": [float(short_score(value)) for value in thresholds],
            "balanced": None if self.cut is None else float(short_score(self.cut)),
            "corpora": [self._cuts(place, thresholds) for place in range(len(self.corpora))],
            "samples": near_thresholds(order, self._sampled[order], thresholds),
        }

    def _cuts(self, place: int, thresholds: NDArray[np.float32]) -> dict[str, Any]:
        """Return what each threshold keeps of a corpus, and the start of the line that cuts it."""
        corpus = self.corpora[place]
        cuts = cuts_of(corpus.survey, self.place, thresholds)
        return {
            "kept": [counts.tolist() for counts in (cuts.rows, cuts.source, cuts.target)],
            "labels": [
                [one.label, cuts.labels[:, one.place].tolist()] for one in self._spreads[place]
            ],
            "command": corpus.commands[self.place] if corpus.commands else "",
        }


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
    at each tenth. ``reasons`` asks for the figure of those against pairs; ``cuts`` has cuts
    by the names of scores; ``runs`` are manifests with their names.
    """

    corpora: Sequence[Corpus]
    title: str
    languages: SideLanguages = field(default_factory=SideLanguages)
    each: int = 10
    cuts: Mapping[str, float] = field(default_factory=dict)
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
            ScoreView(self.corpora, place, self._samples, self.cuts.get(name))
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
        return rendered("reports/report", report=self, unit=self.survey.unit)

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


def rendered(name: str, **values: Any) -> bytes:
    """Return a page of a template, such as ``judge/judge``, for *values*.

    It has the script ``judge/judge.js``, and the style of the report followed by its own. Its
    content security policy allows these alone, by their digests.
    """
    styles = dict.fromkeys(("reports/report.css", f"{name}.css"))
    style, script = "".join(map(_resource, styles)), _resource(f"{name}.js")
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    policy = (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    own = {"policy": policy, "style": style, "script": script, "version": __version__}
    text = environment().get_template(f"{name}.html").render(**own, **values)
    return xml_text(text).encode()


@cache
def environment() -> Environment:
    """Return the environment of the templates; all text is escaped."""
    made = Environment(
        loader=FunctionLoader(_resource),
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


def _resource(name: str) -> str:
    """Return the text of a file of the package."""
    return (files("bitextfilter") / name).read_text(encoding="utf-8")
