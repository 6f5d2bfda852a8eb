"""Bad rows: how many are too many, and a better command where a file is no TSV."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from fractions import Fraction

from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow

__all__ = ["check_number", "remedy"]

JUDGED_FROM = 1000
"""Of fewer rows, a share is judged only when all are read."""


def check_number(
    most: int | Fraction, counts: Mapping[str, int], name: str, last: bool = False
) -> None:
    """Raise InputError if more rows of the input *name* were rejected than *most*, or that share.

    *counts* has the ``rows`` so far and how many of them were ``rejected``; *last* says that there
    are no more.
    """
    rows, bad = counts["rows"], counts["rejected"]
    if isinstance(most, int):
        said, exceeded = str(most), bad > most
    else:
        said, exceeded = f"{float(100 * most):g}%", bad > most * rows
        exceeded = exceeded and (last or rows >= JUDGED_FROM)
    if exceeded:
        message = f"{bad} of {rows} rows are bad, more than --max-bad {said}"
        raise InputError(message, file=name, remedy="--on-error stop shows the first")


def remedy(row: BadRow, inputs: Sequence[str], command: str) -> str:
    """Return what to do about a bad row of *inputs*: convert them, if they are no TSV."""
    if b"\t" in row.line or not row.reason.startswith("1 column,"):
        return row.remedy
    options = _format(row.line) or ("moses" if len(inputs) == 2 else "")
    if not options:
        return row.remedy
    files = "".join(f" {shlex.quote(path)}" for path in inputs if path != "-")
    return f"bitext-convert --from {options}{files} | {command} reads this format"


def _format(line: bytes) -> str:
    """Return the format that a line is of, with its options; nothing if that cannot be seen."""
    if line.lstrip().startswith((b"<?xml", b"<tmx", b"<!DOCTYPE tmx")):
        return "tmx --languages SOURCE,TARGET"
    try:
        record = json.loads(line)
    except ValueError:
        return ""
    if not isinstance(record, dict):
        return ""
    texts = [name for name, value in record.items() if isinstance(value, str)]
    if len(texts) < 2 or {"source", "target"} <= set(texts):
        return "jsonl"
    return f"jsonl --fields {shlex.quote(','.join(texts[:2]))}"
