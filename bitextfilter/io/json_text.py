"""JSON of bounded depth, read; and written with any name of a file in it."""

from __future__ import annotations

import json
import re
from typing import Any

from bitextfilter.io.files import in_utf_8

MOST_LEVELS = 100
"""The deepest nesting that is read."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]')
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


def parse_json(text: str | bytes, **parsers: Any) -> Any:
    """Return the value of a JSON text; *parsers* are those of ``json.loads``.

    Raises ValueError for any other text, and for lists and objects more than MOST_LEVELS deep.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text))
    try:
        found = json.loads(text, **parsers)
    except RecursionError:
        raise ValueError(_DEEP) from None
    if text.count("[") + text.count("{") > MOST_LEVELS and _is_deep(text):
        raise ValueError(_DEEP)
    return found


_DEEP = f"its lists and objects are more than {MOST_LEVELS} deep"


def _is_deep(text: str) -> bool:
    """Return whether a text, known to be JSON, is nested too deep."""
    level = 0
    for token in _TOKEN.finditer(text):
        level += _STEP.get(token[0], 0)
        if level > MOST_LEVELS:
            return True
    return False


def json_bytes(value: Any, indent: int | None = None) -> bytes:
    """Return *value* as a line of JSON, encoded as ``in_utf_8`` does."""
    return in_utf_8(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")
