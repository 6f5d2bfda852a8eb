"""A page to label the rows of a sample, as one HTML file, which loads nothing."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bitextfilter.judge.judgements import Judgements, RowSample, SampledRow, Scale
from bitextfilter.reports.page import SideLanguages, rendered

_NUMBER = re.compile(r"\d+(?:[.,:/'\u00a0\u202f\u066b\u066c]\d+)*")

Segments = list[tuple[str, int]]
"""Consecutive parts of a text, and 1 for those to mark, else 0."""


def marked_numbers(source: str, target: str) -> tuple[Segments, Segments]:
    """Divide both texts into parts; numbers whose digits the other side lacks are marked.

    ``1,000`` and ``1.000`` have the same digits, as have those of any script.
    """
    numbers = [Counter(map(_digits, _NUMBER.findall(text))) for text in (source, target)]
    return (
        _segments(source, numbers[0] - numbers[1]),
        _segments(target, numbers[1] - numbers[0]),
    )


def _digits(number: str) -> str:
    return "".join(str(unicodedata.decimal(c)) for c in number if c.isdecimal())


def _segments(text: str, others: Counter[str]) -> Segments:
    """Divide *text*; the last numbers in excess are marked."""
    left, marks = Counter(others), set()
    for found in reversed(list(_NUMBER.finditer(text))):
        if left[digits := _digits(found[0])] > 0:
            left[digits] -= 1
            marks.add(found.start())
    parts: Segments = []
    place = 0
    for found in _NUMBER.finditer(text):
        if found.start() in marks:
            parts += [(text[place : found.start()], 0), (found[0], 1)]
            place = found.end()
    parts.append((text[place:], 0))
    return [part for part in parts if part[0]]


@dataclass(frozen=True)
class JudgePage:
    """The page of a sample, for one annotator at a time.

    It shows neither scores nor reasons, unless ``scores``.
    """

    sample: RowSample
    scale: Scale
    title: str
    annotator: str = ""
    """The name of the annotator; the page asks for it if empty."""
    scores: bool = False
    """Show the scores of each pair."""
    languages: SideLanguages = field(default_factory=SideLanguages)
    earlier: Judgements | None = None
    """Labels of before, on the same scale."""

    def html(self) -> bytes:
        """Return the page."""
        return rendered("judge/judge", page=self)

    def data(self) -> dict[str, Any]:
        """Return the data of the script."""
        scale = self.scale
        return {
            "digest": self.sample.digest,
            "scale": {
                "name": scale.name,
                "words": scale.words,
                "low": scale.low,
                "high": scale.high,
            },
            "annotator": self.annotator,
            "scores": self.sample.scores if self.scores else (),
            "rows": [self._row(row) for row in self.sample.rows],
            "labels": self._labels(),
        }

    def _row(self, row: SampledRow) -> list[Any]:
        scores = [None if score != score else score for score in row.scores]
        numbers = [number if number is None or abs(number) < 1e308 else None for number in scores]
        sides = marked_numbers(row.source, row.target)
        return [row.row, row.pair, *sides, numbers if self.scores else []]

    def _labels(self) -> Mapping[str, list[tuple[int, str, str]]]:
        """Return the labels of before: place, label and note, by annotator.

        Labels of others than the annotator, if that is known, are not on the page.
        """
        every = self.earlier.labels if self.earlier else {}
        labels = {name: own for name, own in every.items() if self.annotator in ("", name)}
        return {
            name: [(place, each.label, each.note) for place, each in sorted(own.items())]
            for name, own in labels.items()
        }
