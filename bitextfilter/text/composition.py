"""Unicode's normal forms, in time that grows with the length of any text; without numpy."""

from __future__ import annotations

import unicodedata
from itertools import groupby
from typing import Literal

import regex

_LONG = 1000
"""Characters of a text from which on its runs of marks are sorted first."""

_RUN = regex.compile(r"[\p{M}\uff9e\uff9f]{32,}")
"""Marks, and the two half-width signs that NFKC makes marks."""


def normal_form(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """Return *text* in a normal form, exactly as ``unicodedata.normalize`` does.

    That orders the marks of a character by insertion, which takes hours for a million of them;
    sorting by their classes first changes no normal form.
    """
    if len(text) > _LONG and not text.isascii():
        text = _RUN.sub(lambda run: _in_order(run[0], "NFD" if form == "NFC" else "NFKD"), text)
    return unicodedata.normalize(form, text)


def _in_order(run: str, form: Literal["NFD", "NFKD"]) -> str:
    """Return marks, decomposed, by their combining classes; class 0 keeps the others apart."""
    marks = (part for mark in run for part in unicodedata.normalize(form, mark))
    return "".join(
        "".join(sorted(group, key=unicodedata.combining) if moves else group)
        for moves, group in groupby(marks, key=lambda mark: unicodedata.combining(mark) > 0)
    )
