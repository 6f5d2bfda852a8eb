"""Reader and writer of Translation Memory eXchange files up to version 1.4, as streams.

Source: TMX 1.4b Specification, Localization Industry Standards Association, 2005.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.sax.saxutils import escape, quoteattr

from bitextfilter import __version__
from bitextfilter.corpus.formats.base import (
    FormatSettings,
    Inputs,
    PairReader,
    PairRecord,
    PairWriter,
    UnfitError,
)
from bitextfilter.corpus.formats.xml_units import Unit, UnitParser, UnitReader, plain_language
from bitextfilter.errors import InputError

_CODES = {"bpt", "ept", "it", "ph", "ut"}
"""Elements with codes of another format instead of text; others, as ``hi``, hold text."""


@dataclass
class _Unit(Unit):
    segments: list[tuple[str, str]] = field(default_factory=list)
    """Language and text of each variant."""


class _Parser(UnitParser[_Unit]):
    """Parses the elements ``tu``."""

    root = "tmx"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._language: str | None = None
        self._property = ""
        self._held_back: list[list[str] | None] = []
        """What took the text outside each open element of ``_CODES``."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        if name == "tu":
            self.unit = _Unit(self.line)
        elif name == "tuv":
            language = attributes.get("xml:lang") or attributes.get("lang") or ""
            self._language = plain_language(language)
        elif name == "seg":
            self.text = []
        elif name == "prop":
            self._property, self.text = attributes.get("type", ""), []
        elif name in _CODES:
            self._held_back.append(self.text)
            self.text = None

    def end(self, name: str) -> None:
        """End an element."""
        if name in _CODES:
            self.text = self._held_back.pop()
            return
        text, unit = "".join(self.text or ()), self.unit
        if name in {"seg", "prop"}:
            self.text = None
        if unit is None:
            return
        if name == "seg":
            unit.segments.append((self._language or "", text))
        elif name == "prop" and self._language is None:
            unit.properties.setdefault(self._property, text)
        elif name == "tuv":
            self._language = None
        elif name == "tu":
            self.complete(unit)


class TmxReader(UnitReader[_Unit]):
    """Reads the units with both languages.

    ``en`` also finds ``EN`` or else the first of ``en-GB``, ``en_US``...; ``en-gb`` finds only
    that. ``skipped`` counts the units without a pair.
    """

    def __init__(
        self, stream: BinaryIO, name: str, languages: tuple[str, str], keep: Sequence[str]
    ) -> None:
        """Read *stream*, called *name*; properties to *keep* become other texts of a pair."""
        super().__init__(stream, _Parser(name), keep)
        self._source, self._target = map(plain_language, languages)

    def pair_of(self, unit: _Unit) -> tuple[str, str] | None:
        """Return the texts in the two languages."""
        for language, _ in unit.segments:
            self.note_language(language)
        source, target = _text(unit, self._source), _text(unit, self._target)
        return None if source is None or target is None else (source, target)

    def without_pairs(self) -> InputError:
        """Return the error of a file without the two languages."""
        message = f"no unit is in both {self._source} and {self._target}"
        remedy = f"it has {', '.join(self.languages)} (--languages)"
        return InputError(message, file=self.name, remedy=remedy)


def _text(unit: _Unit, language: str) -> str | None:
    """Return the first text in *language*, else in a variant of it, else None."""
    exact = (text for code, text in unit.segments if code == language)
    variants = (text for code, text in unit.segments if code.startswith(f"{language}-"))
    return next(exact, next(variants, None))


_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters outside XML 1.0's production 2 (Char), even as references."""


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of a translation memory."""
    assert settings.languages is not None
    return TmxReader(*inputs.stream(), settings.languages, settings.keep)


def writer(settings: FormatSettings, _: PairReader) -> PairWriter:
    """Return the writer of a translation memory."""
    assert settings.languages is not None
    return tmx_writer(settings.languages)


def tmx_writer(languages: tuple[str, str]) -> PairWriter:
    """Return a writer of a unit a line, in two *languages*; other texts become its properties.

    It cannot hold characters that XML cannot hold.
    """

    def lines(pair: PairRecord) -> tuple[bytes]:
        properties = "".join(
            f"<prop type={quoteattr(_legal(name, 'name'))}>{_element(text, name)}</prop>"
            for name, text in pair.others.items()
        )
        sides = zip(languages, ("source", "target"), (pair.source, pair.target), strict=True)
        variants = "".join(
            f"<tuv xml:lang={quoteattr(language)}><seg>{_element(text, name)}</seg></tuv>"
            for language, name, text in sides
        )
        return (f"<tu>{properties}{variants}</tu>\n".encode(),)

    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        f'<header creationtool="bitextfilter" creationtoolversion="{__version__}" '
        'segtype="sentence" o-tmf="TSV" adminlang="en" '
        f'srclang={quoteattr(languages[0])} datatype="plaintext"/>\n<body>\n'
    )
    return PairWriter(lines, (head.encode(),), lambda: (b"</body>\n</tmx>\n",))


def _element(text: str, name: str) -> str:
    """Return *text* escaped for an element; a bare ``\\r`` would be read as a line break."""
    return escape(_legal(text, name)).replace("\r", "&#13;")


def _legal(text: str, name: str) -> str:
    if found := _ILLEGAL.search(text):
        reason = f"U+{ord(found[0]):04X} in the {name}, which XML cannot hold"
        raise UnfitError(reason, "bitext-fix --only control drops it")
    return text
