"""The data of a report: one pass over scored rows, the numbers of its charts, and manifests.

A row takes 4 bytes a score, 8 for its two lengths and 1 for its label; only a random sample keeps
its texts.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers
from bitextfilter.errors import InputError
from bitextfilter.io.files import open_input, read_small
from bitextfilter.io.records import parse_json
from bitextfilter.reports.charts import ChartValues, multiples, nice_step
from bitextfilter.text.words import Counter, count_characters, count_words

TEXT_LENGTH = 400
"""Characters of a side, and of the reasons, that a sample keeps."""


class Sample(NamedTuple):
    """A scored row: 1-based *number*, texts, *scores*, and *label* and *reasons* if any."""

    number: int
    source: str
    target: str
    scores: tuple[float, ...]
    label: str = ""
    reasons: str = ""
    """Those against the pair, with ``; `` between them."""


def shortened(text: str, length: int = TEXT_LENGTH) -> str:
    """Return *text*, cut to *length* characters; a cut text ends in an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


class Reservoir:
    """A uniform sample of *size* rows without replacement.

    Each row draws a number from a generator with *seed*; the rows with the smallest ones are the
    sample, which is thus independent of the number of rows offered at a time.
    """

    def __init__(self, size: int, seed: int) -> None:
        """Start with nothing."""
        self._size = size
        self._random = np.random.default_rng(seed)
        self._kept: list[tuple[float, Sample]] = []
        self._bound = 1.0

    def offer(self, rows: Sequence[Sample]) -> None:
        """Offer the next *rows* of the stream."""
        draws = self._random.random(len(rows))
        for place in np.flatnonzero(draws < self._bound).tolist():
            row = rows[place]
            texts = [shortened(text) for text in (row.source, row.target, row.reasons)]
            row = row._replace(source=texts[0], target=texts[1], reasons=texts[2])
            self._kept.append((float(draws[place]), row))
        if len(self._kept) > 2 * self._size:
            self._drop_excess()

    def _drop_excess(self) -> None:
        self._kept.sort(key=lambda item: (item[0], item[1].number))
        del self._kept[self._size :]
        if len(self._kept) == self._size:
            self._bound = self._kept[-1][0]

    def rows(self) -> list[Sample]:
        """Return the sample, in random order."""
        self._drop_excess()
        return [row for _, row in self._kept]


def ordered_by(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the places of the samples' *scores* (n,) from the lowest to the highest.

    Equal scores keep the random order of the sample.
    """
    return np.argsort(scores, kind="stable")


def at_tenths(order: NDArray[np.int64], count: int) -> list[list[int]]:
    """Return *count* places (all, if there are fewer) about each tenth of a sorted sample.

    Args:
        order: places from the lowest score to the highest (n,).
        count: places at each of 0, 10, ..., 100 %.
    """
    last = max(0, len(order) - count)
    starts = [round(tenth / 10 * len(order) - count / 2) for tenth in range(11)]
    firsts = [min(max(0, start), last) for start in starts]
    return [order[first : first + count].tolist() for first in firsts]


def near_thresholds(
    order: NDArray[np.int64], ordered: NDArray[np.float32], thresholds: NDArray[np.float32]
) -> list[int]:
    """Return the places of the samples nearest to any threshold, from the lowest score up.

    Args:
        order: places of the samples from the lowest score to the highest (n,).
        ordered: their scores (n,).
        thresholds: each gets the two samples just above it and the two just below.
    """
    firsts = np.searchsorted(ordered, thresholds, side="left")
    near = (firsts[:, None] + np.arange(-2, 2)).ravel()
    kept = np.unique(near[(near >= 0) & (near < len(order))])
    places: list[int] = order[kept].tolist()
    return places


LARGEST = 3.4e38
"""The highest score: scores are kept as float32."""
SAMPLE_SIZE = 20_000
MOST_LABELS = 255
OTHER_LABELS = "(other labels)"
NO_LABEL = "(none)"


COUNTS: dict[str, Counter] = {"words": count_words, "characters": count_characters}
"""Units of length: words between white space, or characters."""


def blocks(size: int, step: int = 1 << 20) -> Iterator[slice]:
    """Yield slices that cover *size* rows, *step* at a time."""
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


_REASON = re.compile(r"(?:[^;]+|;(?! ))+")
_OF_A_SIDE = re.compile(r"([^\s=(]+)\((?:source|target)\)")
REASON_LENGTH = 40
"""Characters of the name of a reason."""
MOST_REASONS = 40
OTHER_REASONS = "(other reasons)"


def reasons_of(cell: str) -> Iterator[str]:
    """Yield the reasons of a row, those between ``; ``, without the empty ones."""
    texts = (found[0].strip() for found in _REASON.finditer(cell))
    return (text for text in texts if text)


def reason_name(reason: str) -> str:
    """Return the name of a reason, or all of it if there is no ``=``, cut to 40 characters.

    ``length-ratio`` is that of ``length-ratio=4.2>3``, ``urls`` that of ``urls(source)=0.3>0``.
    """
    found = _OF_A_SIDE.match(reason)
    name = found[1] if found else reason.partition("=")[0].rstrip()
    return shortened(name or reason, REASON_LENGTH)


class ReasonCounts:
    """The numbers of rows with each reason, by its name, and with any.

    The reasons after the first 40 names are one, ``(other reasons)``.
    """

    def __init__(self) -> None:
        """Start with no rows."""
        self.rows: dict[str, int] = {}
        self.any = 0

    def add(self, cells: Iterable[str]) -> None:
        """Count the reasons of the next rows."""
        for cell in filter(None, cells):
            names = {self._known(reason_name(reason)) for reason in reasons_of(cell)}
            for name in names:
                self.rows[name] += 1
            self.any += bool(names)

    def _known(self, name: str) -> str:
        if name not in self.rows and len(self.rows) >= MOST_REASONS:
            name = OTHER_REASONS
        self.rows.setdefault(name, 0)
        return name


class Survey:
    """Scores, lengths and labels of all rows, and a random sample of whole rows.

    ``names`` are those of the scores, ``unit`` that of the lengths; ``labels`` are the distinct
    labels as they came: those after the first 255 are one, ``(other labels)``. ``reasons`` are
    counted, and so are rows without all scores, which are left out: ``unscored``.
    """

    def __init__(self, names: Sequence[str], *, unit: str = "words", seed: int = 1) -> None:
        """Start with no rows; the sample is drawn with *seed*."""
        self.names = tuple(names)
        self.unit = unit
        self.labels: list[str] = []
        self.reasons = ReasonCounts()
        self.unscored = 0
        self._count = COUNTS[unit]
        self._scores = [array("f") for _ in self.names]
        self._lengths = (array("I"), array("I"))
        self._codes = array("B")
        self._code_of: dict[str, int] = {}
        self._reservoir = Reservoir(SAMPLE_SIZE, seed)

    def __len__(self) -> int:
        """Return how many rows there were."""
        return len(self._codes)

    def add(self, rows: Sequence[Sample]) -> None:
        """Take the next rows of the stream."""
        given = len(rows)
        rows = [row for row in rows if all(abs(score) <= LARGEST for score in row.scores)]
        self.unscored += given - len(rows)
        for place, scores in enumerate(self._scores):
            scores.extend([row.scores[place] for row in rows])
        self._lengths[0].extend(self._count([row.source for row in rows]))
        self._lengths[1].extend(self._count([row.target for row in rows]))
        self._codes.extend([self._code(row.label) for row in rows])
        self.reasons.add(row.reasons for row in rows)
        self._reservoir.offer(rows)

    def _code(self, label: str) -> int:
        code = self._code_of.get(label)
        if code is None:
            code = len(self._code_of)
            if code < MOST_LABELS:
                self._code_of[label] = code
            if code == len(self.labels):
                self.labels.append((label or NO_LABEL) if code < MOST_LABELS else OTHER_LABELS)
        return code

    @property
    def labelled(self) -> bool:
        """Whether any row has a label."""
        return any(label != NO_LABEL for label in self.labels)

    def scores(self, place: int) -> NDArray[np.float32]:
        """Return one of the scores of all rows (n,)."""
        return np.frombuffer(self._scores[place], dtype=np.float32)

    def lengths(self, side: int) -> NDArray[np.uint32]:
        """Return the lengths of the source (0) or target (1) of all rows (n,)."""
        return np.frombuffer(self._lengths[side], dtype=np.uint32)

    def codes(self) -> NDArray[np.uint8]:
        """Return the place in ``labels`` of each row's label (n,)."""
        return np.frombuffer(self._codes, dtype=np.uint8)

    def samples(self) -> list[Sample]:
        """Return the random sample, in random order."""
        return self._reservoir.rows()


_STEPS = 400
"""The greatest number of evenly spaced thresholds."""


def quantiles(ordered: ChartValues, portions: ChartValues) -> ChartValues:
    """Return the values at *portions* (0 to 1) of a sorted array (n,), n > 0: values that occur."""
    places = np.rint(portions * (len(ordered) - 1)).astype(np.int64)
    return ordered[places]


def thresholds_of(ordered: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return thresholds to choose from, ascending and distinct, for sorted scores (n,), n > 0.

    They are the hundredths of the corpus, and round values between its 0.1 and 99.9 % (at most
    402), so that neither many equal scores nor far outliers leave gaps.
    """
    hundredths = quantiles(ordered, np.linspace(0, 1, 101))
    low, high = quantiles(ordered, np.array([0.001, 0.999])).astype(float).tolist()
    if high <= low:
        return np.unique(hundredths)
    step = nice_step(high - low, _STEPS)
    even = multiples(step, math.floor(low / step), math.ceil(high / step))
    inside = np.clip(even, float(ordered[0]), float(ordered[-1])).astype(np.float32)
    return np.unique(np.concatenate([hundredths, inside]))


class Cuts(NamedTuple):
    """The rows kept by each of t thresholds: those that score at least as high.

    ``rows``, ``source`` and ``target`` (t,) count rows and their lengths; ``labels``
    (t, labels) the rows with each label.
    """

    rows: Integers
    source: Integers
    target: Integers
    labels: Integers


def cuts_of(survey: Survey, score: int, thresholds: NDArray[np.float32]) -> Cuts:
    """Count the rows that each of the ascending *thresholds* of one score keeps."""
    size, kinds = len(thresholds) + 1, max(1, len(survey.labels))
    totals = np.zeros((3, size))
    labels = np.zeros(size * kinds, dtype=np.int64)
    for block in blocks(len(survey)):
        passed = np.searchsorted(thresholds, survey.scores(score)[block], side="right")
        totals[0] += np.bincount(passed, minlength=size)
        for side in (0, 1):
            weights = survey.lengths(side)[block]
            totals[side + 1] += np.bincount(passed, weights, minlength=size)
        both = passed * kinds + survey.codes()[block]
        labels += np.bincount(both, minlength=size * kinds)
    from_above = totals[:, ::-1].cumsum(axis=1)[:, ::-1].astype(np.int64)
    by_label = labels.reshape(size, kinds)[::-1].cumsum(axis=0)[::-1]
    rows, source, target = from_above[:, 1:]
    return Cuts(rows, source, target, by_label[1:])


class Spread(NamedTuple):
    """The scores of the rows with one label: their number, and their 5, 25, 50, 75 and 95 %."""

    place: int
    """The place of the label in ``Survey.labels``."""
    label: str
    rows: int
    levels: tuple[float, ...]


def spreads_of(survey: Survey, score: int) -> list[Spread]:
    """Return the spread of one score for each label, the highest median first."""
    spreads, portions = [], np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    for code, label in enumerate(survey.labels):
        ordered = np.sort(survey.scores(score)[survey.codes() == code])
        levels = tuple(quantiles(ordered, portions).tolist())
        spreads.append(Spread(code, label, len(ordered), levels))
    return sorted(spreads, key=lambda spread: (-spread.levels[2], spread.label))


def counted(values: ChartValues | NDArray[np.uint32], edges: ChartValues) -> Integers:
    """Count the values between evenly spaced *edges* (k + 1,); those outside are left out.

    A value on an edge counts above it, one on the last edge below.
    """
    bins = len(edges) - 1
    counts = np.zeros(bins, dtype=np.int64)
    for block in blocks(len(values)):
        part = (values[block] - edges[0]) / (edges[-1] - edges[0])
        inside = part[(part >= 0) & (part <= 1)]
        places = np.minimum((inside * bins).astype(np.int64), bins - 1)
        counts += np.bincount(places, minlength=bins)
    return counts


def densities(survey: Survey, width: int, bins: int) -> Integers:
    """Count rows by the lengths of both sides: (source bins, target bins), bins *width* wide.

    The first bin starts at a length of 1; longer rows than the last bin holds are left out.
    """
    total = np.zeros(bins * bins, dtype=np.int64)
    for block in blocks(len(survey)):
        source, target = ((survey.lengths(side)[block] - 1) // width for side in (0, 1))
        inside = (source < bins) & (target < bins)
        total += np.bincount(
            source[inside].astype(np.int64) * bins + target[inside], minlength=bins * bins
        )
    return total.reshape(bins, bins)


Fields = list[tuple[str, str]]

MOST_LEVELS = 8
_REMEDY = "give a file that --manifest wrote"


def read_run(path: str) -> dict[str, Any]:
    """Read a manifest written by any command's --manifest.

    Raises NotFoundError, and InputError for other than a JSON object.
    """
    with open_input(path) as stream:
        data = read_small(stream, path)
    try:
        found = parse_json(data)
    except ValueError as error:
        raise InputError(f"no JSON: {error}", file=path, remedy=_REMEDY) from error
    if not isinstance(found, dict):
        raise InputError("no manifest: a JSON object is expected", file=path, remedy=_REMEDY)
    return found


class FilterRun:
    """The manifest of a bitext-filter run.

    ``rules`` has the numbers of rows that each rule dropped, and that it alone dropped; ``counts``
    those of rows read, kept, dropped and rejected.
    """

    def __init__(self, path: str) -> None:
        """Read *path*. Raises NotFoundError and InputError."""
        self.name = Path(path).name
        self.manifest = read_run(path)
        facts = self.manifest.get("facts")
        rules: Any = facts.get("rules") if isinstance(facts, dict) else None
        try:
            self.rules = {
                name: (int(found["dropped"]), int(found["unique"])) for name, found in rules.items()
            }
            self.counts = {
                name: int(self.manifest["counts"][name])
                for name in ("rows", "kept", "dropped", "rejected")
            }
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = "no drops of rules in it"
            remedy = "give the file that bitext-filter --manifest wrote"
            raise InputError(message, file=path, remedy=remedy) from error


def fields_of(run: dict[str, Any]) -> Fields:
    """Return each value of a manifest after its path: ``facts › seed``, 1."""
    return [(" › ".join(place), text) for place, text in _leaves(run, ())]


def _leaves(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if len(place) == MOST_LEVELS:
        yield place, json.dumps(value, ensure_ascii=False)
    elif isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*place, key))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, inner in enumerate(value, 1):
            yield from _leaves(inner, (*place, str(number)))
    elif isinstance(value, list):
        yield place, shlex.join(map(_shown, value))
    else:
        yield place, _shown(value)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
