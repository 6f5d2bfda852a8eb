"""Bad rows: the number that stops a run, and the remedies in messages."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from fractions import Fraction

from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow

_FEWEST = 1000
"""A share is checked from this number of rows on, and at the end."""


def check_share(
    most: int | Fraction, counts: Mapping[str, int], name: str, last: bool = False
) -> None:
    """Raise InputError if more rows than *most*, a number or a share, were rejected.

    Args:
        most: the value of --max-bad.
        counts: the ``rows`` so far, and how many of them were ``rejected``.
        name: of the input.
        last: whether all rows have been read.
    """
    rows, bad = counts["rows"], counts["rejected"]
    if isinstance(most, int):
        limit, exceeded = str(most), bad > most
    else:
        limit = f"{float(100 * most):g}%"
        exceeded = bad > most * rows and (last or rows >= _FEWEST)
    if exceeded:
        message = f"{bad} of {rows} rows are bad, more than --max-bad {limit}"
        raise InputError(message, file=name, remedy="--on-error stop shows the first")


def remedy(row: BadRow, inputs: Sequence[str], command: str) -> str:
    """Return the remedy for a bad row; for another format, the command that converts it."""
    if b"\t" in row.line or not row.reason.startswith("1 column,"):
        return row.remedy
    options = _format(row.line) or ("moses" if len(inputs) == 2 else "")
    if not options:
        return row.remedy
    files = "".join(f" {shlex.quote(path)}" for path in inputs if path != "-")
    return f"bitext-convert --from {options}{files} | {command} reads this format"


def _format(line: bytes) -> str:
    """Return the format of a line as bitext-convert's options name it; empty if unknown."""
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
