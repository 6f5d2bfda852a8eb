"""The section of one score: its figures, a threshold to move, and pairs along the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.reports.charts import Chart
from bitextfilter.reports.figures import (
    histogram_chart,
    score_text,
    sorted_chart,
    spread_chart,
)
from bitextfilter.reports.markup import Markup, tag
from bitextfilter.reports.parts import Languages, figures, pairs
from bitextfilter.reports.samples import Sample, at_tenths, near_thresholds, ordered_by
from bitextfilter.reports.statistics import Spread, cuts_of, spreads_of, thresholds_of
from bitextfilter.reports.survey import Survey

__all__ = ["ScoreView"]

PARTS = (10, 30, 60)
"""Per cent of the target words that a button keeps: the cuts of the filtering tasks' papers."""


@dataclass(frozen=True)
class ScoreView:
    """One score of a survey of n > 0 rows: number *place*, beside the *samples* of all."""

    survey: Survey
    place: int
    samples: Sequence[Sample]

    @property
    def name(self) -> str:
        """The name of the score."""
        return self.survey.names[self.place]

    @property
    def id(self) -> str:
        """What the ids of its elements, and the names of its files, start with."""
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
        """Its figures."""
        made = [
            sorted_chart(self.name, self._ordered, f"{self.id}-sorted"),
            histogram_chart(self.name, self._ordered, f"{self.id}-histogram"),
        ]
        if self.survey.labelled:
            made.append(spread_chart(self.name, self._spreads, f"{self.id}-labels"))
        return made

    def data(self) -> tuple[dict[str, Any], list[int]]:
        """Return what the script needs, and the places of the samples that it shows."""
        thresholds = thresholds_of(self._ordered)
        cuts = cuts_of(self.survey, self.place, thresholds)
        order = ordered_by(self._sampled)
        near = near_thresholds(order, self._sampled[order], thresholds)
        found = {
            "name": self.name,
            "thresholds": [float(score_text(value)) for value in thresholds],
            "kept": [counts.tolist() for counts in (cuts.rows, cuts.source, cuts.target)],
            "labels": [
                [spread.label, cuts.labels[:, spread.place].tolist()] for spread in self._spreads
            ],
            "samples": near,
        }
        return found, near

    def section(self, languages: Languages, each: int) -> Markup:
        """Return the section, with *each* pairs at each tenth of the corpus."""
        low, middle, high = (
            score_text(self._ordered[place])
            for place in (0, (len(self._ordered) - 1) // 2, len(self._ordered) - 1)
        )
        mean = float(self._ordered.mean(dtype=np.float64))
        text = f"From {low} to {high}; the median is {middle}, the mean {mean:.4g}."
        return tag(
            "section",
            tag("h2", self.name, id=f"{self.id}-name"),
            tag("p", text, cls="lead"),
            self._threshold(),
            figures(self.charts, *([self._labels()] if self.survey.labelled else [])),
            self._around(),
            self._tenths(languages, each),
            id=self.id,
            aria_labelledby=f"{self.id}-name",
            data_score=self.place,
        )

    def _threshold(self) -> Markup:
        """Return the slider and what it shows, hidden until the script fills it in."""
        slider, field = f"{self.id}-slider", f"{self.id}-threshold"
        unit = self.survey.unit
        buttons = [tag("button", f"{part}%", type="button", data_part=part) for part in PARTS]
        kept = [
            tag("div", tag("dt", name), tag("dd", tag("b"), " ", tag("span")))
            for name in ("rows kept", f"source {unit} kept", f"target {unit} kept")
        ]
        return tag(
            "div",
            tag("h3", "Choose a threshold"),
            tag(
                "div",
                tag("label", f"Keep pairs whose {self.name} is at least", for_=field),
                tag("input", type="number", step="any", id=field),
                tag("span", f"or the best of the target {unit}:", id=f"{self.id}-parts"),
                tag("span", *buttons, role="group", aria_labelledby=f"{self.id}-parts"),
                cls="controls",
            ),
            tag("input", type="range", min=0, id=slider, aria_label=f"Threshold of {self.name}"),
            tag("dl", *kept, cls="facts yield"),
            tag("p", cls="unseen", role="status", aria_live="polite"),
            cls="card threshold",
            hidden=True,
        )

    def _labels(self) -> Markup:
        names = ("label", "rows", "kept", "part kept")
        head = tag("tr", *(tag("th", name, scope="col") for name in names))
        caption = f"What the threshold of {self.name} keeps of each label"
        made = tag("table", tag("caption", caption, cls="unseen"), tag("thead", head), tag("tbody"))
        return tag(
            "div",
            tag("h3", "Kept of each label"),
            tag("div", made, cls="scroll", tabindex="0", role="region", aria_label=caption),
            cls="card labels",
            hidden=True,
        )

    def _around(self) -> Markup:
        sides = [
            tag("div", tag("h4", title, cls=kind), tag("ol", cls=f"pairs {kind}"))
            for kind, title in (("kept", "Just kept"), ("dropped", "Just dropped"))
        ]
        title = tag("h3", "Pairs at the threshold")
        return tag("div", title, tag("div", *sides, cls="sides"), cls="around", hidden=True)

    def _tenths(self, languages: Languages, each: int) -> Markup:
        """Return pairs at each tenth of the corpus sorted by this score."""
        groups = at_tenths(ordered_by(self._sampled), each)
        choices, lists = [], []
        for tenth, places in enumerate(groups):
            ident = f"{self.id}-{10 * tenth}"
            choice = tag(
                "input", type="radio", name=f"{self.id}-tenth", id=f"{ident}-choice", value=tenth
            )
            label = tag("label", f"{10 * tenth}%", for_=f"{ident}-choice")
            choices.append(tag("span", choice, label))
            heading = tag("h4", f"At {10 * tenth}% of the corpus")
            shown = pairs([self.samples[place] for place in places], self.survey.names, languages)
            lists.append(tag("div", heading, shown, data_tenth=tenth))
        legend = tag("legend", "Place in the corpus, from the worst pair (0%) to the best (100%)")
        chooser = tag("fieldset", legend, *choices, hidden=True)
        return tag("div", tag("h3", "Pairs along the corpus"), chooser, *lists, cls="tenths")
