"""Files of other formats instead of rows: the commands that convert them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import click

from bitextfilter.corpus.formats.base import FORMATS, format_of
from bitextfilter.io.files import is_table
from bitextfilter.io.records import parse_json
from bitextfilter.io.rows import UNFIT_REASON, BadRow
from bitextfilter.io.sources import PACKERS, packed_form

_BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1\0": "arrow",
    b"<tmx": "tmx",
    b"<!DOCTYPE tmx": "tmx",
    b"<xliff": "xliff",
    b"<?xml": "tmx",
}
"""Formats by the first bytes of a line, as bitext-convert's options name them."""
_PO = re.compile(rb'(?:msgid|msgctxt) ".*')
_CSV = re.compile(rb'"(?:[^"]|"")*"([,;]).*|[^",;]+([,;])"(?:[^"]|"")*"')


def refuse_table(path: str) -> None:
    """Raise UsageError for an output of rows with the name of a table."""
    if is_table(path):
        remedy = f"bitext-convert --header --to parquet -o {shlex.quote(path)} makes one"
        raise click.UsageError(f"{path} is the name of a table, but rows are written: {remedy}")


def remedy_of(row: BadRow, inputs: Sequence[str], command: str) -> str:
    """Return the remedy for a bad row; for another format, the command that converts it."""
    if row.reason == UNFIT_REASON:
        return f"bitext-convert --from parquet --whitespace makes it a space; or {row.remedy}"
    if row.number == 1 and (form := packed_form(row.line)):
        return f"it is {PACKERS[form]}: unpack it, or let its name end in .{form}"
    table = row.line.startswith((b"PAR1", b"ARROW1\0"))
    if not table and (b"\t" in row.line or not row.reason.startswith("1 column,")):
        return row.remedy
    options = _format(row.line) or _named_format(inputs)
    if not options:
        return row.remedy
    files = "".join(f" {shlex.quote(path)}" for path in inputs if path != "-")
    if table and not files:
        files = " FILE"
    if command == "bitext-convert":
        return f"--from {options} reads this format"
    return f"bitext-convert --from {options}{files} | {command} reads this format"


def _named_format(paths: Sequence[str]) -> str:
    """Return the format of two files that are read as pairs; empty if they are none."""
    if len(paths) != 2:
        return ""
    named = format_of(paths[0]) or "moses"
    return named if FORMATS[named].files == 2 else ""


def _format(line: bytes) -> str:
    """Return the format of a line as bitext-convert's options name it; empty if unknown."""
    start = line.lstrip()[:4096]
    for beginning, options in _BEGINNINGS.items():
        if start.startswith(beginning):
            return "xliff" if beginning == b"<?xml" and b"<xliff" in start else options
    if _PO.fullmatch(start):
        return "po"
    if found := _CSV.fullmatch(start):
        return "csv" if b"," in found.groups() else "csv --delimiter ';'"
    return _json_format(line)


def _json_format(line: bytes) -> str:
    """Return the options for a line of JSON; empty if it is none."""
    try:
        record = parse_json(line)
    except ValueError:
        return ""
    if not isinstance(record, dict):
        return ""
    texts = [name for name, value in record.items() if isinstance(value, str)]
    if len(texts) < 2 or {"source", "target"} <= set(texts):
        return "jsonl"
    return f"jsonl --fields {shlex.quote(','.join(texts[:2]))}"
