"""Files of judgements: a sample of a scored corpus, and the labels of its rows.

A sample is a TSV with a header: ``source target``, a column for each score, ``row reason weight``.
``row`` is the line of the pair in its file, ``reason`` the stratum that it was drawn from, and
``weight`` the number of rows of the corpus that it stands for.

A labels file is a TSV with the header ``row pair label scale annotator note``, one label a line.
``pair`` is the digest of the texts (:func:`pair_digest`), by which a label finds its row.

Labels by a program are kept as they come, so that a run can go on after a stop.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import BOM, in_utf_8, locked, naming_input, naming_output, without_ending
from bitextfilter.io.lines import lines_of
from bitextfilter.io.programs import Lines, PoolSettings, ProgramPool, question_line
from bitextfilter.io.records import pair_bytes
from bitextfilter.io.rows import number_of
from bitextfilter.settings import from_0, from_1, setting

SIDES = ("source", "target")
FACTS = ("row", "reason", "weight")
"""The columns of a sample before and after the scores."""

LABEL_COLUMNS = ("row", "pair", "label", "scale", "annotator", "note")

RULE = "rule:"
"""The start of the reason of rows that a rule drops."""

_DIGITS = 16
"""Hexadecimal digits of a pair's digest."""


def pair_digest(source: str, target: str) -> str:
    """Return the digest of a pair: 16 hexadecimal digits of the SHA-256 of both texts."""
    return pair_bytes(in_utf_8(source), in_utf_8(target)).hex()


@dataclass(frozen=True)
class SampleSettings:
    """The number of rows to draw, and their shares."""

    cut: float | None = setting(
        None, "The cut to examine; half of the rows are near.", option="--cut C"
    )
    """Of the first score; None: no rows are drawn for being near it."""
    count: int = from_1(300, "Rows to draw.", option="--count")
    near: float = setting(0.5, "The share of rows near the cut, 0 to 1.", option="--near-cut SHARE")
    per_rule: int = from_1(5, "The most rows of each rule in --dropped.", option="--per-rule")
    seed: int = from_0(1, "Seed of the draw.", option="--seed")


@dataclass(frozen=True)
class Scale:
    """The labels that a row can have: words, or the numbers from ``low`` to ``high``."""

    name: str
    """As on the command line: ``good-bad``, ``0-100`` or ``labels=V,F,A``."""
    words: tuple[str, ...] = ()
    """The labels, the best first; none for numbers."""
    low: float = 0.0
    high: float = 1.0

    def holds(self, label: str) -> bool:
        """Return whether *label* is on the scale."""
        if self.words:
            return label in self.words
        return self.low <= number_of(label.encode()) <= self.high

    @property
    def labels(self) -> str:
        """The labels, for messages."""
        if self.words:
            return f"one of {', '.join(self.words)}"
        return f"a number from {self.low:g} to {self.high:g}"

    def fault(self, label: str) -> str:
        """Return the message for a label that is not on the scale."""
        return f"the label {label!r} is not {self.labels}"


_RANGE = re.compile(r"([0-9]+(?:\.[0-9]+)?)-([0-9]+(?:\.[0-9]+)?)")
_WORD = re.compile(r"[^\s,=]+")


def parse_scale(name: str) -> Scale:
    """Return the scale called *name*; raises SettingsError."""
    if name == "good-bad":
        return Scale(name, ("good", "bad"))
    if found := _RANGE.fullmatch(name):
        low, high = float(found[1]), float(found[2])
        if low < high:
            return Scale(name, (), low, high)
        raise SettingsError(f"scale {name}: {found[1]} is not below {found[2]}")
    words = tuple(name.removeprefix("labels=").split(","))
    if name.startswith("labels=") and all(map(_WORD.fullmatch, words)) and len(words) > 1:
        if len(set(words)) == len(words):
            return Scale(name, words)
        raise SettingsError(f"scale {name}: a label stands twice")
    raise SettingsError(f"scale {name!r} is not good-bad, numbers such as 0-100, or labels=A,B,C")


class SampledRow(NamedTuple):
    """A row of a sample."""

    source: str
    target: str
    scores: tuple[float, ...]
    """NaN where the row has no score."""
    row: int
    """The 1-based line of the pair in its file."""
    reason: str
    """The stratum that it was drawn from."""
    weight: float
    """The number of rows of the corpus that it stands for."""

    @property
    def pair(self) -> str:
        """The digest of the pair."""
        return pair_digest(self.source, self.target)


@dataclass(frozen=True)
class RowSample:
    """The rows of a sample, each pair once."""

    name: str
    """The name of the file in messages."""
    scores: tuple[str, ...]
    """The names of the score columns."""
    rows: Sequence[SampledRow]

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each pair in ``rows``, by its digest."""
        return {row.pair: place for place, row in enumerate(self.rows)}

    @property
    def digest(self) -> str:
        """The digest of all pairs, in order: 16 hexadecimal digits."""
        pairs = "".join(self.places)
        return hashlib.sha256(pairs.encode()).hexdigest()[:_DIGITS]

    def score_columns(self, asked: Sequence[str]) -> Sequence[str]:
        """Return the score columns *asked* for, or all; InputError for one that is not there."""
        known = f"it has {', '.join(self.scores)}" if self.scores else "it has none"
        for name in asked:
            if name not in self.scores:
                message = f"no score column {name!r}"
                raise InputError(message, file=self.name, line=1, remedy=known)
        return asked or self.scores


_DRAWN = "bitext-judge sample writes such a file"


def sample_header(scores: Sequence[str]) -> bytes:
    """Return the header of a sample with these score columns."""
    return in_utf_8("\t".join((*SIDES, *scores, *FACTS)) + "\n")


def read_sample(stream: Iterable[bytes], name: str) -> RowSample:
    """Read a sample; raises InputError naming *name* and the line of the first fault."""
    records = _records(stream, name)
    _, header = next(records, (0, []))
    wide = len(header) - len(FACTS)
    if tuple(header[:2]) != SIDES or tuple(header[max(wide, 2) :]) != FACTS:
        raise InputError("the header is not that of a sample", file=name, line=1, remedy=_DRAWN)
    rows: list[SampledRow] = []
    first: dict[str, int] = {}
    for line, fields in records:
        if len(fields) != len(header):
            message = f"{len(fields)} columns, expected {len(header)} as in the header"
            raise InputError(message, file=name, line=line, remedy=_DRAWN)
        row = _sampled_row(fields, name, line)
        if row.pair in first:
            message = f"the pair of line {first[row.pair]} again"
            raise InputError(message, file=name, line=line, remedy="keep one of both")
        first[row.pair] = line
        rows.append(row)
    if not rows:
        raise InputError("no rows", file=name, remedy=_DRAWN)
    return RowSample(name, tuple(header[2:wide]), rows)


def _sampled_row(fields: Sequence[str], name: str, line: int) -> SampledRow:
    """Return the row of a line of a sample."""
    row, reason, weight = fields[-len(FACTS) :]
    number, mass = _line_number(row), number_of(weight.encode())
    if not number or not 0 < mass < math.inf:
        column, text = ("weight", weight) if number else ("row", row)
        raise InputError(
            f"the {column} {text!r} is no number above 0", file=name, line=line, remedy=_DRAWN
        )
    scores = tuple(number_of(field.encode()) for field in fields[2 : -len(FACTS)])
    return SampledRow(fields[0], fields[1], scores, number, reason, mass)


class Label(NamedTuple):
    """The label that an annotator gave a row, and a note if any."""

    row: int
    pair: str
    label: str
    scale: str
    annotator: str
    note: str = ""

    def line(self) -> bytes:
        """Return the line of a labels file."""
        return in_utf_8("\t".join(" ".join(str(field).split()) for field in self) + "\n")


def labels_text(labels: Iterable[Label]) -> bytes:
    """Return a labels file."""
    header = ("\t".join(LABEL_COLUMNS) + "\n").encode()
    return header + b"".join(label.line() for label in labels)


@dataclass(frozen=True)
class Judgements:
    """The labels of a sample: at least one, on one scale, or several that a reader allows."""

    sample: RowSample
    scale: Scale
    """Of the first label."""
    labels: Mapping[str, Mapping[int, Label]]
    """Each annotator's labels by the place of the row in the sample."""

    @property
    def annotators(self) -> list[str]:
        """Their names, in the order of the files."""
        return list(self.labels)

    @cached_property
    def judged(self) -> list[int]:
        """The places of the rows with a label, ascending."""
        return sorted({place for labels in self.labels.values() for place in labels})

    def of(self, place: int) -> dict[str, Label]:
        """Return the labels of a row by annotator."""
        return {name: each[place] for name, each in self.labels.items() if place in each}


_SAVED = "bitext-judge page and bitext-judge command write such a file"


class LabelReader:
    """Reads labels files of one sample, and checks that they belong to it."""

    def __init__(self, sample: RowSample, mixed: bool = False) -> None:
        """Start without labels; *mixed* labels may be on several scales."""
        self._sample, self._mixed = sample, mixed
        self._scale: Scale | None = None
        self._labels: dict[str, dict[int, Label]] = {}
        self._origins: dict[tuple[str, int], str] = {}
        """Where the label of a row by an annotator stands."""

    def read(self, stream: Iterable[bytes], name: str) -> None:
        """Add the labels of a file; raises InputError naming *name* and the line of a fault."""
        records = _records(stream, name)
        _, header = next(records, (0, []))
        if tuple(header) != LABEL_COLUMNS:
            message = f"the header is not {', '.join(LABEL_COLUMNS)}"
            raise InputError(message, file=name, line=1, remedy=_SAVED)
        for line, fields in records:
            self._add(fields, name, line)

    def judgements(self, name: str) -> Judgements:
        """Return all labels; raises InputError for none, naming the files *name*."""
        if self._scale is None:
            raise InputError("no labels", file=name, remedy=_SAVED)
        return Judgements(self._sample, self._scale, self._labels)

    def _add(self, fields: Sequence[str], name: str, line: int) -> None:
        """Add the label of a line."""
        try:
            label = self._parsed(fields)
            place = self._place(label)
            known = self._origins.get((label.annotator, place))
            if known is not None:
                message = f"{label.annotator} has labelled row {label.row} before ({known})"
                raise LabelFaultError(message, "keep one of both lines")
        except LabelFaultError as fault:
            raise InputError(fault.message, file=name, line=line, remedy=fault.remedy) from None
        self._origins[label.annotator, place] = f"{name}:{line}"
        self._labels.setdefault(label.annotator, {})[place] = label

    def _parsed(self, fields: Sequence[str]) -> Label:
        """Return the label of the fields of a line, on the scale of all labels."""
        if len(fields) != len(LABEL_COLUMNS):
            columns = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
            message = f"{columns}, expected {len(LABEL_COLUMNS)}"
            raise LabelFaultError(message, "columns are separated by tabs")
        row, pair, text, scale, annotator, note = fields
        if not (number := _line_number(row)):
            raise LabelFaultError(f"the row {row!r} is no line number", "copy it from the sample")
        if not (known := self._known_scale(scale)).holds(text):
            raise LabelFaultError(known.fault(text), "correct it, or delete the line")
        if not annotator.strip():
            raise LabelFaultError("the annotator has no name", "write the same name in all lines")
        return Label(number, pair, text, scale, annotator, note)

    def _known_scale(self, name: str) -> Scale:
        try:
            scale = parse_scale(name)
        except SettingsError as error:
            raise LabelFaultError(str(error), "write the scale of the other lines") from None
        self._scale = self._scale or scale
        if name != self._scale.name and not self._mixed:
            message = f"the scale is {name}, in labels before {self._scale.name}"
            raise LabelFaultError(message, "labels of two scales cannot be joined")
        return scale

    def _place(self, label: Label) -> int:
        """Return the place of the labelled row in the sample."""
        place, sample = self._sample.places.get(label.pair), self._sample
        if place is not None and sample.rows[place].row == label.row:
            return place
        if place is None and all(label.row != row.row for row in sample.rows):
            raise LabelFaultError(f"row {label.row} is not in {sample.name}", _OTHER)
        message = f"row {label.row} has another text than in {sample.name}"
        raise LabelFaultError(message, _OTHER)


_OTHER = "give the sample that was labelled"


class LabelFaultError(Exception):
    """A fault of a line, and its remedy."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message, self.remedy = message, remedy


def _line_number(text: str) -> int:
    """Return a line number; 0 for any other text."""
    return int(text) if re.fullmatch("[0-9]{1,15}", text) else 0


def _records(stream: Iterable[bytes], name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is not empty."""
    return ((number, text.split("\t")) for number, text in text_lines(stream, name))


def text_lines(stream: Iterable[bytes], name: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not empty, and of the first.

    Raises InputError for a line that is not UTF-8.
    """
    for number, raw in enumerate(lines_of(stream, name), 1):
        line = without_ending(raw.removeprefix(BOM) if number == 1 else raw)
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"not UTF-8 at byte {error.start + 1} of the line"
            raise InputError(message, file=name, line=number, remedy="save it as UTF-8") from None
        if text or number == 1:
            yield number, text


@dataclass(frozen=True)
class Question:
    """The program to ask, and what is asked of it."""

    command: str
    scale: Scale
    annotator: str
    timeout: float | None = None
    """The most seconds in which it neither reads nor answers."""
    batch: int | None = None
    """Rows given to one run of the program; None: all."""

    @property
    def plan(self) -> str:
        """The line that heads the answers kept, without its end."""
        return " ".join(f"answers on {self.scale.name} of {self.command}".split())


def ask(
    rows: Sequence[SampledRow], question: Question, keep: Callable[[SampledRow, str], None]
) -> None:
    """Ask a program for the labels of *rows*, and *keep* each as it comes.

    Raises WorkerError as ``ProgramPool.answers`` does, InputError for an answer off the scale.
    """
    size = question.batch or max(1, len(rows))
    settings = PoolSettings(question.command, timeout=question.timeout)
    for first in range(0, len(rows), size):
        part = rows[first : first + size]
        lines = Lines(question_line(row.source, row.target) for row in part)
        unanswered = iter(part)
        with ProgramPool(settings) as pool:
            for _, answers in pool.answers([lines]):
                for answer in answers:
                    row = next(unanswered)
                    keep(row, _checked(answer, row, question))


def _checked(answer: bytes, row: SampledRow, question: Question) -> str:
    """Return the label of an answer."""
    label = answer.decode("utf-8", "replace").strip()
    if question.scale.holds(label):
        return label
    message = f"the answer {label[:80]!r} for row {row.row} is not {question.scale.labels}"
    remedy = "print one for each line, and nothing else; --scale names others"
    raise InputError(message, file=question.command, remedy=remedy)


class KeptAnswers:
    """The answers of an unfinished run, in ``NAME.answers`` beside the output NAME."""

    def __init__(self, path: Path, question: Question) -> None:
        """Read the answers kept; raises SettingsError if they are of another command or scale."""
        self._path, self._question = path, question
        self.known: dict[str, str] = {}
        """Labels by the pair's digest."""
        self._stream: BinaryIO | None = None
        data = b""
        if path.exists():
            with naming_input(path):
                data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        self._size = len(whole)
        plan, *lines = whole.decode("utf-8", "replace").split("\n")
        if whole and plan != question.plan:
            raise SettingsError(f"{path} has {plan[:200]}; delete it, or name another output")
        for line in lines:
            pair, _, label = line.partition("\t")
            if question.scale.holds(label):
                self.known[pair] = label

    def add(self, row: SampledRow, label: str) -> None:
        """Keep an answer."""
        with naming_output(self._path):
            if self._stream is None:
                self._stream = open(self._path, "ab")
                self._stream.truncate(self._size)
                if not self._size:
                    self._stream.write(in_utf_8(f"{self._question.plan}\n"))
            self._stream.write(in_utf_8(f"{row.pair}\t{label}\n"))
            self._stream.flush()
        self.known[row.pair] = label

    def close(self) -> None:
        """Close the file, which stays."""
        if self._stream is not None:
            self._stream.close()

    def forget(self) -> None:
        """Remove the file."""
        with naming_output(self._path):
            self._path.unlink(missing_ok=True)


@contextmanager
def kept_answers(output: str, question: Question) -> Iterator[KeptAnswers]:
    """Hold the answers kept beside *output*; waits for another run that has them."""
    path = Path(f"{Path(output).absolute()}.answers")
    with locked(path), closing(KeptAnswers(path, question)) as kept:
        yield kept


def labels_by(question: Question, sample: RowSample, known: dict[str, str]) -> list[Label]:
    """Return the labels of a sample, of which all are *known*."""
    scale, name = question.scale.name, question.annotator
    return [Label(row.row, row.pair, known[row.pair], scale, name) for row in sample.rows]
