"""The result of an evaluation, written alike by all: as a table, or as JSON, signed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite, isnan
from typing import Any

from bitextfilter import __version__
from bitextfilter.evaluation.filtering import Estimate

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """Records of one kind, perhaps in several groups.

    An ``Estimate`` in a record is three columns: ``auc``, ``auc_low`` and ``auc_high``.
    """

    task: str
    columns: Mapping[str, str]
    """The columns of the table, in order, each with the format of its floats, such as ``.4f``."""
    groups: Mapping[str, Sequence[Record]]
    """Records by the name of their group; in the table all stand below each other."""
    facts: Record = field(default_factory=dict)
    """Values that hold for all records."""
    missing: str = "-"
    """The cell of a value that is None or NaN."""

    def text(self, as_json: bool = False) -> bytes:
        """Return the result as UTF-8: a TSV with a header, or one JSON object of unrounded values.

        A cell is found by its column's name in the record, or else in the facts; a list is counted.
        JSON has null for a number that is not finite.
        """
        if as_json:
            whole = _plain({"task": self.task, **self.facts, **self.groups})
            return (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode()
        rows = [list(self.columns)]
        for record in chain.from_iterable(self.groups.values()):
            values = _flat({**self.facts, **record})
            rows.append([self._cell(values[name], form) for name, form in self.columns.items()])
        return "".join("\t".join(row) + "\n" for row in rows).encode()

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


def signature(figure: str = "", **facts: str | float) -> str:
    """Return a figure in one line with how it was made, and by which version.

    ``signature("auc = 0.9870", n=1500, boot=1000)`` is ``auc = 0.9870 | n=1500 boot:1000 v:0.1.0``.
    """
    made = " ".join(f"{name}:{fact}" for name, fact in {**facts, "v": __version__}.items())
    return f"{figure} | {made.replace(':', '=', 1)}" if figure else made


def _flat(record: Record) -> dict[str, Any]:
    """Return a record with an estimate as three values; those of None are None."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        ends = value if isinstance(value, Estimate) else (value, None, None)
        for end, number in zip(("", "_low", "_high"), ends, strict=True):
            flat.setdefault(f"{name}{end}", number)
    return flat


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, Estimate):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value
