"""Scores of a corpus that others may use, in a Parquet file without its texts.

A row is a pair: ``pair``, 64 bits of a hash of both texts, ascending, and a float32 column for each
measure, rounded as it is printed. Equal pairs are one row, with the lowest score if a program gave
them several. The metadata has a JSON object, ``bitextfilter-scores``: the fields of
:class:`ScoreFacts`, and ``format``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bitextfilter import __version__
from bitextfilter.arrays import Scores
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.arrow_file import GROUP_ROWS, ArrowTable, write_numbers
from bitextfilter.io.files import BOM, in_utf_8
from bitextfilter.io.ranking import ScoredRows
from bitextfilter.io.records import json_bytes, pair_bytes, parse_json
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Row
from bitextfilter.io.spill import ExternalSort
from bitextfilter.models.folders import CUTS, ModelName
from bitextfilter.scoring.calibration import load_calibration
from bitextfilter.scoring.score_columns import cell
from bitextfilter.scoring.thresholds import NamedCut, named_cut

KEY, PAIR = "bitextfilter-scores", "pair"
_FORMAT = 1
_MEMORY = 1 << 26
"""Bytes of scores that wait in memory until they are sorted."""
_WINDOW = 1 << 13

PairNumbers = NDArray[np.uint64]


def pair_numbers(digests: Sequence[bytes]) -> PairNumbers:
    """Return the :func:`~bitextfilter.io.records.pair_bytes` of ``n`` pairs as numbers ``(n,)``."""
    return np.frombuffer(b"".join(digests), ">u8").astype(np.uint64)


@dataclass(frozen=True)
class ScoreFacts:
    """How the scores of a file were made. Raises ValueError for invalid fields."""

    measures: tuple[str, ...]
    """The names of the columns of scores."""
    digits: int
    """Decimals that scores are printed with."""
    rows: int = 0
    """Scored rows of the corpus, equal ones too."""
    model: str = ""
    digest: str = ""
    """Of the model; empty where there is none."""
    languages: tuple[str, ...] = ()
    """Of source and target."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """All else that the scores depend on: digests of further models, options, a program."""
    right_share: float | None = None
    """Share of right rows in the crawl that probabilities are of."""
    cuts: tuple[NamedCut, ...] = ()
    version: str = __version__
    """Of bitextfilter."""

    def __post_init__(self) -> None:
        """Check the fields that are used."""
        numbers = [n or 0.0 for cut in self.cuts for n in (cut.threshold, cut.right, cut.wrong)]
        faults = {
            "measures": not self.measures or not all(isinstance(n, str) for n in self.measures),
            "digits": type(self.digits) is not int or not 0 <= self.digits <= 9,
            "settings": not isinstance(self.settings, Mapping),
            "right_share": self.right_share is not None and not 0 < self.right_share < 1,
            "cuts": not all(map(math.isfinite, numbers)),
        }
        if fault := next(filter(faults.get, faults), None):
            raise ValueError(f"invalid {fault}")

    def to_json(self) -> bytes:
        """Return its text."""
        return json_bytes({"format": _FORMAT, **asdict(self)}).strip()

    @classmethod
    def of(cls, text: bytes) -> ScoreFacts:
        """Read its text; fields that this version does not know are left out. Raises ValueError."""
        found = parse_json(text)
        if not isinstance(found, dict) or type(found.get("format")) is not int:
            raise ValueError("they have no format")
        if found["format"] > _FORMAT:
            raise ValueError(
                f"format {found['format']} is newer than {_FORMAT}; update bitextfilter"
            )
        try:
            known = {one.name: found[one.name] for one in fields(cls) if one.name in found}
            lists = {name: tuple(known.get(name, ())) for name in ("measures", "languages")}
            cuts = tuple(NamedCut(**cut) for cut in known.get("cuts", ()))
            return cls(**{**known, **lists, "cuts": cuts})
        except (TypeError, AttributeError, OverflowError) as error:
            raise ValueError(str(error)) from error

    @property
    def origin(self) -> tuple[object, ...]:
        """All that a score depends on, besides pair and measure."""
        return self.digest, self.languages, dict(self.settings), self.digits

    def cut(self, measure: str, name: str, file: str) -> NamedCut:
        """Return a cut by its name; SettingsError with the name of the *file* if it has none."""
        for cut in self.cuts:
            if (cut.measure, cut.name) == (measure, name):
                return cut
        raise SettingsError(f"{file} has no {name} cut of {measure}: give a number")


def model_facts(model: str, measures: Sequence[str]) -> dict[str, Any]:
    """Return the fields of :class:`ScoreFacts` that a model has for some measures, by its name."""
    if not model:
        return {}
    name, cuts = ModelName.parse(model), list[NamedCut]()
    for measure, cut in product(measures, CUTS):
        with suppress(SettingsError):
            cuts.append(named_cut(model, measure, cut))
    calibration = load_calibration(name.folder)
    share = calibration.right_share if calibration and "probability" in measures else None
    return {"languages": name.pair() or (), "right_share": share, "cuts": tuple(cuts)}


class RowsToShare(AbstractContextManager["RowsToShare"]):
    """An output of scored rows, from which their scores are taken as they pass, as printed."""

    def __init__(
        self, output: BinaryIO, places: Sequence[int | str], header: bool, scores: slice
    ) -> None:
        """Write rows to *output*, the first a *header* or not.

        *places* of source and target are among the columns before the scores: indices, negative
        from the end, or names in the header. *scores* are columns from the end.
        """
        self._output, self._places, self._header, self._scores = output, places, header, scores
        count = (scores.stop or 0) - scores.start
        self._sort = ExternalSort([np.uint64, *[np.float32] * count], _MEMORY)
        self._rest, self._starts, self._rows = b"", True, 0

    def __exit__(self, *_: object) -> None:
        self._sort.close()

    def write(self, data: bytes) -> int:
        """Write, and take the scores of all lines that are whole."""
        self._output.write(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._take(lines)
        return len(data)

    def _take(self, lines: list[bytes]) -> None:
        if self._starts and lines:
            self._starts = False
            lines[0] = lines[0].removeprefix(BOM)
            if self._header:
                names = lines.pop(0).decode(errors="replace").split("\t")
                self._places = [p if isinstance(p, int) else names.index(p) for p in self._places]
        digests, numbers = [], []
        for line in lines:
            columns = line.removesuffix(b"\r").split(b"\t")
            scores, texts = columns[self._scores], columns[: self._scores.start]
            if scores[0]:  # else the row was rejected
                source, target = (texts[int(place)] for place in self._places)
                digests.append(pair_bytes(source, target))
                numbers.append([*map(float, scores)])
        if digests:
            self._rows += len(digests)
            self._sort.add(pair_numbers(digests), *np.array(numbers, np.float32).T)

    def end(self, stream: BinaryIO, facts: ScoreFacts) -> None:
        """Write the file of the scores to *stream*, when all rows are written."""
        self._take([self._rest] if self._rest else [])
        kinds = {PAIR: np.uint64, **dict.fromkeys(facts.measures, np.float32)}
        text = replace(facts, rows=self._rows).to_json()
        write_numbers(stream, kinds, self._groups(), {KEY: text})

    def _groups(self) -> Iterator[list[NDArray[Any]]]:
        """Yield distinct pairs and their scores, GROUP_ROWS at a time, whatever the sort yields."""
        held: list[NDArray[Any]] = []
        for keys, *scores in self._sort.parts():
            starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            part = [keys[starts], *(np.minimum.reduceat(column, starts) for column in scores)]
            held = [np.concatenate(both) for both in zip(held, part, strict=True)] if held else part
            while len(held[0]) >= GROUP_ROWS:
                yield [column[:GROUP_ROWS] for column in held]
                held = [column[GROUP_ROWS:] for column in held]
        if held:
            yield held


class SharedScores:
    """The scores of some files by one measure: 12 bytes a pair in memory."""

    def __init__(self, paths: Sequence[str], measure: str | None = None) -> None:
        """Read the files, of the same origin; *measure* may be None where each has but one.

        Raises NotFoundError, DeviceError without pyarrow, InputError for anything else than such
        files, SettingsError for a measure that they lack, or that is not named.
        """
        self._rows = self._missing = 0
        self.name = ", ".join(paths)
        self._files: list[tuple[PairNumbers, Scores]] = []
        for path in paths:
            with ArrowTable(path) as table:
                facts = _facts_of(table, path)
                if not self._files:
                    self.facts, self.measure = facts, _chosen(facts, measure, path)
                elif facts.origin != self.facts.origin:
                    message = f"its scores are of another model or other settings than {paths[0]}"
                    raise InputError(message, file=path)
                self._files.append(_loaded(table, _chosen(facts, self.measure, path), path))

    def find(self, pairs: Sequence[Sequence[str]]) -> list[str]:
        """Return the score of each of ``n`` pairs, as it was printed; empty for none."""
        sides = ((in_utf_8(source), in_utf_8(target)) for source, target, *_ in pairs)
        keys = pair_numbers([pair_bytes(*pair) for pair in sides])
        values, found = np.zeros(len(keys), np.float32), np.zeros(len(keys), np.bool_)
        order = np.argsort(keys)  # neighbours are then near each other in memory
        for own, scores in self._files:
            places = np.searchsorted(own, keys[order])
            inside = places < len(own)
            rows, places = order[inside], places[inside]
            new = (own[places] == keys[rows]) & ~found[rows]
            values[rows[new]], found[rows[new]] = scores[places[new]], True
        self._rows += len(keys)
        self._missing += int((~found).sum())
        each = zip(values.tolist(), found.tolist(), strict=True)
        return [cell(score, self.facts.digits) if known else "" for score, known in each]

    def windows(self, reader: RowReader, sides: Sequence[str]) -> Iterator[ScoredRows]:
        """Yield the rows of a reader of source and target with their score as one more column.

        *sides*: those whose texts are wanted.
        """
        wanted = [("source", "target").index(side) for side in sides]
        for window in reader.lines(_WINDOW):
            good, bad = list[Row](), list[tuple[int, BadRow]]()
            for row in window.rows(reader.parser):
                if isinstance(row, BadRow):
                    bad.append((len(good), row))
                else:
                    good.append(row)
            cells = self.find([row.texts for row in good])
            each = zip(good, cells, strict=True)
            lines = [row.line + b"\t" + score.encode() + row.ending for row, score in each]
            scores = [float(score or "nan") for score in cells]
            texts = [[row.texts[side] for row in good] for side in wanted]
            yield ScoredRows(lines, scores, texts, bad)

    def warning(self) -> str:
        """Return a line about the pairs that were not found; empty if all were."""
        if not self._missing:
            return ""
        many = self._missing > 0.9 * self._rows
        reason = ": another corpus, changed texts, or source and target exchanged?" if many else ""
        return f"{self._missing} of {self._rows} rows have no score in {self.name}{reason}"


def _facts_of(table: ArrowTable, path: str) -> ScoreFacts:
    """Return the facts of a file. Raises InputError."""
    text = table.fact(KEY)
    if text is None:
        raise InputError("not a file of bitext-score --share", file=path)
    try:
        return ScoreFacts.of(text)
    except ValueError as error:
        raise InputError(f"the facts of its scores: {error}", file=path) from error


def _chosen(facts: ScoreFacts, measure: str | None, path: str) -> str:
    """Return the measure, the only one where none is named. Raises SettingsError."""
    known = ", ".join(facts.measures)
    if measure is None and len(facts.measures) > 1:
        raise SettingsError(f"{path} has scores by {known}: name one of them")
    if measure is not None and measure not in facts.measures:
        raise SettingsError(f"{path} has no scores by {measure}, only by {known}")
    return measure or facts.measures[0]


def _loaded(table: ArrowTable, measure: str, path: str) -> tuple[PairNumbers, Scores]:
    """Return the numbers of all pairs and their scores. Raises InputError."""
    keys, scores = np.empty(table.rows, np.uint64), np.empty(table.rows, np.float32)
    start = 0
    for columns in table.numbers({PAIR: np.uint64, measure: np.float32}):
        if (stop := start + len(columns[0])) <= table.rows:
            keys[start:stop], scores[start:stop] = columns
        start = stop
    if start != table.rows or (keys[1:] <= keys[:-1]).any():
        raise InputError("its pairs are not in order, or not all there", file=path)
    return keys, scores
