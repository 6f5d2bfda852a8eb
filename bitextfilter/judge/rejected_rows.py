"""Rows that bitext-filter drops, and the rule that drops each first: its --rejects files."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Indices, Keys
from bitextfilter.errors import InputError
from bitextfilter.io.files import lines_of, without_ending


class RejectedRow(NamedTuple):
    """A row of a rejects file: its 1-based number in the file it came from, and its bytes."""

    number: int
    reasons: str
    """Of all rules that it fails: ``length-ratio=4.2>3; score=0.1<0.5``."""
    line: bytes

    @property
    def rule(self) -> str:
        """The name of the first rule."""
        found = re.match(r"[^\s=<>(;]+", self.reasons)
        return found[0] if found else "unknown"


_REMEDY = "bitext-filter --rejects FILE writes such a file"


def rejected_rows(stream: Iterable[bytes], name: str) -> Iterator[RejectedRow]:
    """Yield the rows of a rejects file; raises InputError at a line that is none."""
    for line, raw in enumerate(lines_of(stream, name), 1):
        number, *rest = without_ending(raw).split(b"\t", 2)
        if len(rest) != 2 or not number.isdigit():
            message = "not a rejected row: number, reason, row"
            raise InputError(message, file=name, line=line, remedy=_REMEDY)
        yield RejectedRow(int(number), rest[0].decode("utf-8", "replace"), rest[1])


def _key(number: int, line: bytes) -> int:
    """Return 64 bits of a hash of a row and its number."""
    data = b"%d\t" % number + line
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


class RuleTable:
    """The rule of each rejected row: 18 bytes a row, and as much while it is made."""

    def __init__(self) -> None:
        """Start without rows."""
        self._keys, self._rules = array("Q"), array("H")
        self._names: dict[str, int] = {}
        self._order: Indices | None = None
        self._met = bytearray()

    @property
    def names(self) -> list[str]:
        """The names of the rules; the first has the number 1."""
        return list(self._names)

    def add(self, row: RejectedRow, usable: bool = True) -> None:
        """Add the next row; an *unusable* one, without two texts, has no rule."""
        rule = self._names.setdefault(row.rule, len(self._names) + 1) if usable else 0
        self._keys.append(_key(row.number, row.line))
        self._rules.append(rule)
        self._met.append(not usable)

    def rules(self, rows: Sequence[tuple[int, bytes]]) -> list[int]:
        """Return the rules of the corpus' *rows*, each a number and its bytes; 0 for none."""
        keys: Keys = np.frombuffer(self._keys, np.uint64)
        if not len(keys):
            return [0] * len(rows)
        if self._order is None:
            self._order = np.argsort(keys, kind="stable")
        wanted = np.array([_key(*row) for row in rows], np.uint64)
        places = np.searchsorted(keys, wanted, sorter=self._order)
        found = self._order[np.minimum(places, len(keys) - 1)]
        rules = np.where(keys[found] == wanted, np.frombuffer(self._rules, np.uint16)[found], 0)
        for place in found[rules > 0].tolist():
            self._met[place] = True
        numbers: list[int] = rules.tolist()
        return numbers

    def others(self) -> Iterator[tuple[int, int]]:
        """Yield the place and the rule of each usable row that is not among the corpus' rows."""
        for place, (met, rule) in enumerate(zip(self._met, self._rules, strict=True)):
            if not met:
                yield place, rule
