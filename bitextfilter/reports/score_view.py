"""The view of a score on one corpus, or on two side by side: figures, thresholds and samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.reports.charts import Chart
from bitextfilter.reports.figures import histogram_chart, short_score, sorted_chart, spread_chart
from bitextfilter.reports.survey import (
    Sample,
    Spread,
    Survey,
    at_tenths,
    cuts_of,
    near_thresholds,
    ordered_by,
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
        for number, chart in enumerate(charts(corpus)):
            title = f"{chart.title}: {corpus.name}" if len(corpora) > 1 else chart.title
            named = replace(chart, name=f"{chart.name}{ending}", title=title, corpus=place)
            made.append((number, named))
    return [chart for _, chart in sorted(made, key=lambda item: item[0])]


@dataclass(frozen=True)
class ScoreView:
    """The view of one score, at *place* in the surveys of corpora, each of n > 0 rows.

    ``samples`` are those of the first corpus; ``recommended`` is a cut of the score.
    """

    corpora: Sequence[Corpus]
    place: int
    samples: Sequence[Sample]
    recommended: float | None = None

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
        """The recommended cut, if any row scores as low, and any as high."""
        low, high = self.span
        inside = self.recommended is not None and low <= self.recommended <= high
        return self.recommended if inside else None

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
        """Range, median and mean in words, for each corpus; then the recommended cut, if any."""
        made = []
        for corpus, ordered in zip(self.corpora, self._ordered, strict=True):
            last = len(ordered) - 1
            low, middle, high = (short_score(ordered[i]) for i in (0, last // 2, last))
            mean = float(ordered.mean(dtype=np.float64))
            origin = f"{corpus.name}: from" if len(self.corpora) > 1 else "From"
            made.append(f"{origin} {low} to {high}; the median is {middle}, the mean {mean:.4g}.")
        if self.recommended is not None:
            made.append(f"The recommended cut is {short_score(self.recommended)}.")
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
            "recommended": None if self.cut is None else float(short_score(self.cut)),
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
