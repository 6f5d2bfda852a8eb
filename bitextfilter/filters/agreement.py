"""Rules of what must be the same on both sides, and of what translators copy."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.filters.markers import (
    read_emails,
    read_placeholders,
    read_tags,
    read_web_addresses,
)
from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Languages, PairFault

__all__ = ["Agreement", "EmailAddresses", "Placeholders", "Tags", "Unmatched", "WebAddresses"]

Unmatched = tuple[Sequence[str], Sequence[str]]

_NAMED = 3
"""Mismatches that a reason names; it counts the others."""


@dataclass(frozen=True)
class Agreement(PairFault):
    """A rule that finds things on both sides and drops pairs where more than so many differ."""

    allowed: int = 0

    def __post_init__(self) -> None:
        """Raise SettingsError for a number below zero."""
        if self.allowed < 0:
            raise SettingsError(f"{self.name}: allowed={self.allowed} is below 0")

    @abstractmethod
    def unmatched(self, source: str, target: str, languages: Languages) -> Unmatched:
        """Return what only the source has, and what only the target has, as written there."""

    @abstractmethod
    def marked(self, side: Side) -> NDArray[np.bool_]:
        """Say which sentences may hold what the rule looks for, shape ``(n,)``."""

    def suspects(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Look only where a side holds something."""
        return self.marked(pairs.source) | self.marked(pairs.target)

    def fault(self, source: str, target: str, languages: Languages) -> str | None:
        """Name the mismatches: ``1,500≠1,600, 7(target only)``; a copy has none."""
        if source == target:
            return None
        one, other = self.unmatched(source, target, languages)
        count = max(len(one), len(other))
        if count <= self.allowed:
            return None
        named = [_mismatch(*both) for both in zip_longest(one[:_NAMED], other[:_NAMED])]
        more = [f"{count - _NAMED} more"] if count > _NAMED else []
        return ", ".join(named + more)


def _mismatch(one: str | None, other: str | None) -> str:
    if one is not None and other is not None:
        return f"{one}≠{other}"
    return f"{one}(source only)" if other is None else f"{other}(target only)"


@dataclass(frozen=True)
class _Copied(Agreement):
    """A rule of what a translator copies; each occurrence has one on the other side."""

    marks: ClassVar[tuple[str, ...]]
    """One of these is in whatever the rule looks for."""

    @abstractmethod
    def read(self, text: str) -> Counter[str]:
        """Count what *text* holds, in a form that is the same for both sides."""

    def marked(self, side: Side) -> NDArray[np.bool_]:
        """Look for the marks."""
        found: NDArray[np.bool_] = np.any([side.containing(mark) for mark in self.marks], axis=0)
        return found

    def unmatched(self, source: str, target: str, languages: Languages) -> Unmatched:
        """Return what one side has more of."""
        one, other = self.read(source), self.read(target)
        return list((one - other).elements()), list((other - one).elements())


@dataclass(frozen=True)
class EmailAddresses(_Copied):
    """The sides hold the same e-mail addresses, in whatever case; ``allowed`` may differ."""

    name = "email-addresses"
    unit = "addresses without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("@",)

    def read(self, text: str) -> Counter[str]:
        """Find e-mail addresses."""
        return read_emails(text)


@dataclass(frozen=True)
class WebAddresses(_Copied):
    """The sides hold the same web addresses; ``allowed`` may differ.

    An address starts with http, https, ftp or www. The scheme, ``www.``, case, a slash at the end
    and what names a language (``/en-us/``, ``?lang=fr``) make no difference; where the host
    starts with a language, as ``de.wikipedia.org``, the path makes none either.
    """

    name = "web-addresses"
    unit = "addresses without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("://", "www.", "WWW.")

    def read(self, text: str) -> Counter[str]:
        """Find web addresses."""
        return read_web_addresses(text)


@dataclass(frozen=True)
class Placeholders(_Copied):
    """The sides hold the same placeholders of programs, in any order; ``allowed`` may differ.

    ``%s``, ``%1$d``, ``%(name)s``, ``%1``, ``%{x}``, ``${x}``, ``{0}``, ``{name}`` and ``{{x}}``;
    ``%2$s`` is the same as ``%s``. 5 % is none.
    """

    name = "placeholders"
    unit = "placeholders without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("%", "{")

    def read(self, text: str) -> Counter[str]:
        """Find placeholders."""
        return read_placeholders(text)


@dataclass(frozen=True)
class Tags(_Copied):
    """The sides hold the same tags of HTML or XML, in any order; ``allowed`` may differ.

    Attributes make no difference. ``<file>`` counts where it is closed, for it may be a word that
    a translator should translate.
    """

    name = "tags"
    unit = "tags without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("<",)

    def read(self, text: str) -> Counter[str]:
        """Find tags."""
        return read_tags(text)
