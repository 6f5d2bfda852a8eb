"""The result of an evaluation: a table or JSON, a signature for each figure, bootstrap intervals.

Bootstrap (Efron & Tibshirani 1993, chapter 13): the rows of each stratum are drawn anew with
replacement, as many as it has, so that the numbers of clean and noisy rows stay as they are. Equal
rows share a cell: a statistic sees only the number of rows in each cell.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bitextfilter import __version__
from bitextfilter.io.files import in_utf_8
from bitextfilter.io.records import json_bytes
from bitextfilter.settings import from_0, from_1

if TYPE_CHECKING:
    import numpy as np

    from bitextfilter.arrays import Floats

Statistic: TypeAlias = "Callable[[Sequence[Floats]], Floats]"
"""Maps the counts of each stratum's cells to figures, in an array of any shape."""

CONFIDENCE = 0.95

_FEW_ROWS = 8
"""Up to this many rows a cell, drawing single rows is faster than drawing each cell's count."""


@dataclass(frozen=True)
class Bootstrap:
    """The number of resamples, and their seed."""

    resamples: int = from_1(1000, "Resamples of the intervals.", option="--bootstrap N")
    seed: int = from_0(1, "Seed of the resamples.", option="--seed")

    @property
    def facts(self) -> dict[str, int]:
        """Both, as facts of a signature."""
        return {"boot": self.resamples, "seed": self.seed}


class Estimate(NamedTuple):
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def resamples(strata: Sequence[Floats], bootstrap: Bootstrap) -> Iterator[list[Floats]]:
    """Yield the strata drawn anew, each with its own number of rows, one resample at a time."""
    import numpy as np

    generator = np.random.default_rng(bootstrap.seed)
    draws = [_drawer(counts, generator) for counts in strata]
    for _ in range(bootstrap.resamples):
        yield [draw() for draw in draws]


def _drawer(counts: Floats, generator: np.random.Generator) -> Callable[[], Floats]:
    """Return a function that draws a stratum anew; both ways have the same distribution."""
    import numpy as np

    cells, rows = len(counts), int(counts.sum())
    if rows > _FEW_ROWS * cells:
        return lambda: generator.multinomial(rows, counts / rows).astype(np.float64)
    cell_of = np.repeat(np.arange(cells), counts.astype(np.int64))
    return lambda: np.bincount(cell_of[generator.integers(0, rows, rows)], minlength=cells).astype(
        np.float64
    )


def estimates(strata: Sequence[Floats], statistic: Statistic, bootstrap: Bootstrap) -> Floats:
    """Return the figures of the strata, and the ends of their 95 % intervals.

    An undefined figure is NaN. An interval leaves out the resamples in which its figure is
    undefined; where all are, its ends are NaN.

    Args:
        strata: the number of rows in each cell, for each stratum; none is without rows.
        statistic: returns figures of shape ``(...)``.
        bootstrap: resamples and seed.

    Returns:
        Value, low and high end: ``(3, ...)``.
    """
    import numpy as np

    drawn = np.stack([statistic(again) for again in resamples(strata, bootstrap)])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        ends = np.nanquantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return np.concatenate([statistic(strata)[None], ends])


Record = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """Records of one kind, in one or more groups.

    An ``Estimate`` in a record fills three columns: ``auc``, ``auc_low`` and ``auc_high``.
    """

    task: str
    columns: Mapping[str, str]
    """The columns of the table, in order, each with the format of its floats, such as ``.4f``."""
    groups: Mapping[str, Sequence[Record]]
    """Records by the name of their group; the table has all groups, one after the other."""
    facts: Record = field(default_factory=dict)
    """Values that hold for all records."""
    missing: str = "-"
    """The cell of a value that is None or NaN."""

    def text(self, as_json: bool = False) -> bytes:
        """Return the result as UTF-8: a TSV with a header, or one JSON object of unrounded values.

        The record has the cells, or else the facts; a list shows as its length. JSON has null for
        a number that is not finite.
        """
        if as_json:
            whole = _plain({"task": self.task, **self.facts, **self.groups})
            return json_bytes(whole, indent=2)
        rows = [list(self.columns)]
        for record in chain.from_iterable(self.groups.values()):
            values = _flat({**self.facts, **record})
            rows.append([self._cell(values[name], form) for name, form in self.columns.items()])
        return in_utf_8("".join("\t".join(row) + "\n" for row in rows))

    def _cell(self, value: Any, form: str) -> str:
        if value is None or (isinstance(value, float) and isnan(value)):
            return self.missing
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list | tuple):
            return str(len(value))
        return format(value, form) if isinstance(value, float) else str(value)


def interval(*names: str, form: str) -> dict[str, str]:
    """Return the columns of estimates called *names*, whose numbers have the format *form*."""
    return {f"{name}{end}": form for name in names for end in ("", "_low", "_high")}


def record(figure: object, head: str, **facts: str | float) -> dict[str, Any]:
    """Return the fields of a dataclass that has one estimate, and its ``signature(head, **facts)``.

    The estimate gives three values: its own, under the field's name (``value`` for a field called
    ``estimate``), ``low`` and ``high``.
    """
    fields: dict[str, Any] = {}
    for name, value in vars(figure).items():
        if isinstance(value, Estimate):
            ends = {"low": value.low, "high": value.high}
            fields |= {"value" if name == "estimate" else name: value.value, **ends}
        else:
            fields[name] = value
    return fields | {"signature": signature(head, **facts)}


def signature(figure: str = "", **facts: str | float) -> str:
    """Return a line with a figure, the facts it depends on, and the version.

    ``signature("auc = 0.9870", n=1500, boot=1000)`` is ``auc = 0.9870 | n=1500 boot:1000 v:0.1.0``.
    """
    made = " ".join(f"{name}:{fact}" for name, fact in {**facts, "v": __version__}.items())
    return f"{figure} | {made.replace(':', '=', 1)}" if figure else made


def _flat(record: Record) -> dict[str, Any]:
    """Return a record in which each estimate, or None, is three values."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        ends = value if isinstance(value, Estimate) else (value, None, None)
        for end, number in zip(("", "_low", "_high"), ends, strict=True):
            flat.setdefault(f"{name}{end}", number)
    return flat


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    if isinstance(value, Estimate):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value
