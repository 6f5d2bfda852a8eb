"""HTML that cannot be anything else than what was meant: all text is escaped, always."""

from __future__ import annotations

import html
import json
import re
from typing import Any

__all__ = ["Markup", "cleaned", "embedded", "joined", "tag"]

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID = {"input"}


class Markup(str):
    """Text that is HTML already. Only this module makes it."""

    __slots__ = ()


def cleaned(text: str) -> str:
    """Return *text* with U+FFFD for what XML cannot hold: control characters and surrogates."""
    return _UNPRINTABLE.sub("\ufffd", text)


def _escaped(value: object) -> str:
    return value if isinstance(value, Markup) else html.escape(cleaned(str(value)))


def tag(_name: str, *children: object, **attributes: object) -> Markup:
    """Return an element of *children*, which are escaped unless they are Markup.

    Attributes: ``cls`` is class, ``_`` stands for a hyphen, True makes one without a value, and
    None or False leaves it out.
    """
    words = [_name]
    for key, value in attributes.items():
        key = "class" if key == "cls" else key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(key)
        elif value is not None and value is not False:
            words.append(f'{key}="{_escaped(value)}"')
    start = f"<{' '.join(words)}>"
    return Markup(start if _name in _VOID else f"{start}{joined(*children)}</{_name}>")


def joined(*children: object) -> Markup:
    """Return *children* one after the other, escaped unless they are Markup."""
    return Markup("".join(map(_escaped, children)))


def embedded(data: Any) -> Markup:
    """Return *data* as JSON that may stand in a script element: nothing in it can end that."""
    text = cleaned(json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
