"""Encodings of single bytes in which UTF-8 is misread."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass


def table(encoding: str) -> str:
    """Return the characters of the bytes 0x80 to 0xFF; C1 controls where there are none."""
    single = (bytes([value]) for value in range(0x80, 0x100))
    return "".join(byte.decode(encoding, "ignore") or byte.decode("latin-1") for byte in single)


def any_of(signs: str) -> str:
    """Return the pattern of one of some *signs*."""
    return f"[{re.escape(signs)}]"


@dataclass(frozen=True)
class Encoding:
    """An encoding of single bytes in which UTF-8 may be misread."""

    characters: str
    """Those of the bytes 0x80 to 0xFF."""

    @functools.cached_property
    def codes(self) -> dict[int, int]:
        """Characters above ASCII → their bytes."""
        return {ord(one): 0x80 + place for place, one in [*enumerate(self.characters)][::-1]}

    @functools.cached_property
    def leads(self) -> tuple[str, str, str]:
        """The first characters of sequences of two, three and four."""
        return self.characters[0x42:0x60], self.characters[0x60:0x70], self.characters[0x70:0x75]

    @functools.cached_property
    def sequence(self) -> re.Pattern[str]:
        """One character above ASCII in UTF-8."""
        return re.compile(sequence_of(*self.leads, self.characters[:0x40]))

    @functools.cached_property
    def runs(self) -> re.Pattern[str]:
        """Characters above ASCII in UTF-8, side by side."""
        return re.compile(f"(?:{self.sequence.pattern})+")

    @functools.cached_property
    def long_run(self) -> re.Pattern[str]:
        """Four of them."""
        return re.compile(f"(?:{self.sequence.pattern}){{4}}")

    def covered(self, text: str) -> int:
        """Return the number of characters of *text* in sequences."""
        return len("".join(self.sequence.findall(text)))

    def read(self, text: str) -> str | None:
        """Return the UTF-8 that *text* is in this encoding, or None."""
        codes = self.codes
        try:
            return bytes([code if code < 0x80 else codes[code] for code in map(ord, text)]).decode()
        except (KeyError, UnicodeDecodeError):
            return None


def sequence_of(two: str, three: str, four: str, more: str) -> str:
    """Return the pattern of sequences by the first signs of those of *two* and so on."""
    more = any_of(more)
    return f"{any_of(two)}{more}|{any_of(three)}{more}{{2}}|{any_of(four)}{more}{{3}}"


_NAMES = "latin-1 cp1252 cp1251 cp1250 cp1253 cp1254 cp1257 iso8859-2 iso8859-15 mac-roman cp437"
ENCODINGS = [Encoding(table(name)) for name in _NAMES.split()]
"""In the order of trial."""
CENTRAL = [Encoding(table(name)) for name in ("cp1250", "iso8859-2")]
"""Encodings of Central Europe, which read many letters differently."""
FREQUENT = ENCODINGS[:4]
"""Those that win over others where both readings look as good."""
_PARTS, _PAGES = (3, 4, 5, 6, 7, 8, 10, 11, 13, 14, 16), (850, 852, 1255, 1256, 1258)
LEFT_ALONE = [
    Encoding(table(name))
    for name in (*(f"iso8859-{n}" for n in _PARTS), *(f"cp{n}" for n in _PAGES), "mac-latin2")
]
"""Encodings of which no misreading is undone, and none taken for that of another."""
