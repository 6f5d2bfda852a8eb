"""Reader and writer of Translation Memory eXchange files up to version 1.4, as streams.

Source: TMX 1.4b Specification, Localization Industry Standards Association, 2005.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from bitextfilter import __version__
from bitextfilter.corpus.formats import PairReader, PairRecord, PairWriter, UnfitError
from bitextfilter.errors import InputError
from bitextfilter.io.files import LINE_BYTES
from bitextfilter.io.rows import BadRow

_CHUNK = 1 << 16
_MOST_LEVELS = 100
_TAG_BYTES = 1 << 20
"""The longest tag or comment: the parser holds it, and reads it anew with each piece."""
_ELEMENT = 100
"""Characters that an element counts as, beside its text."""
_MOST_NAMES = 20

_CODES = {"bpt", "ept", "it", "ph", "ut"}
"""Elements with codes of another format instead of text; others, as ``hi``, hold text."""


@dataclass
class _Unit:
    """A translation unit, perhaps incomplete."""

    line: int
    segments: list[tuple[str, str]] = field(default_factory=list)
    """Language and text of each variant."""
    properties: dict[str, str] = field(default_factory=dict)
    fault: str = ""


class _Parser:
    """Parses units from pieces of XML; ``ready`` has the complete ones."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.ready: list[_Unit] = []
        self._unit: _Unit | None = None
        self._language: str | None = None
        self._property = ""
        self._text: list[str] | None = None
        self._codes = 0
        self._level = self._held = self._fed = 0
        """Elements that are open; characters since the last unit ended; bytes fed."""
        self._expat = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped

    def feed(self, data: bytes) -> None:
        """Take the next piece; an empty one is the end.

        Raises InputError for invalid XML, and for anything too large to be held.
        """
        try:
            self._expat.Parse(data, not data)
        except expat.ExpatError as error:
            message = f"not well-formed XML: {expat.ErrorString(error.code)}"
            raise InputError(message, file=self._name, line=error.lineno) from error
        except (LookupError, ValueError) as error:
            if self._fed:  # of the first piece, Python reads the name of the encoding
                raise
            raise self._error("an encoding that is not read", "convert it to UTF-8") from error
        self._fed += len(data)
        if self._fed - self._expat.CurrentByteIndex > _TAG_BYTES + _CHUNK:
            raise self._error(f"a tag or comment longer than {_TAG_BYTES >> 20} MiB")

    def _error(self, message: str, remedy: str | None = None) -> InputError:
        return InputError(
            message, file=self._name, line=self._expat.CurrentLineNumber, remedy=remedy
        )

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > LINE_BYTES:
            raise self._error(f"a unit larger than {LINE_BYTES >> 20} MiB")

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._hold(_ELEMENT)
        self._level += 1
        if self._level > _MOST_LEVELS:
            raise self._error(f"elements more than {_MOST_LEVELS} deep")
        if name == "tu":
            self._unit = _Unit(self._expat.CurrentLineNumber)
        elif name == "tuv":
            language = attributes.get("xml:lang") or attributes.get("lang") or ""
            self._language = _plain(language)
        elif name == "seg":
            self._text = []
        elif name == "prop":
            self._property, self._text = attributes.get("type", ""), []
        elif name in _CODES:
            self._codes += 1

    def _end(self, name: str) -> None:
        text, unit = "".join(self._text or ()), self._unit
        self._level -= 1
        if name in _CODES:
            self._codes -= 1
        elif name in {"seg", "prop"}:
            self._text = None
        if unit is None:
            return
        if name == "seg":
            unit.segments.append((self._language or "", text))
        elif name == "prop" and self._language is None:
            unit.properties.setdefault(self._property, text)
        elif name == "tuv":
            self._language = None
        elif name == "tu":
            self.ready.append(unit)
            self._unit, self._held = None, 0

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._codes:
            self._hold(len(text))
            self._text.append(text)

    def _entity(self, name: str, *_: object) -> None:
        """Refuse a file's own entities: they can grow without end, or name other files."""
        message = f"declares the entity {name!r}, which is refused"
        raise self._error(message, "write out its text instead (xmllint --noent does)")

    def _skipped(self, name: str, *_: object) -> None:
        if self._unit is not None:
            self._unit.fault = f"the entity &{name}; is not declared"


def _plain(language: str) -> str:
    return language.lower().replace("_", "-")


class TmxReader(PairReader):
    """Reads the units with both languages.

    ``en`` also finds ``EN`` or else the first of ``en-GB``, ``en_US``...; ``en-gb`` finds only
    that. ``skipped`` counts the units without a pair.
    """

    def __init__(
        self, stream: BinaryIO, name: str, languages: tuple[str, str], keep: Sequence[str]
    ) -> None:
        """Read *stream*, called *name*; properties to *keep* become other texts of a pair."""
        super().__init__(name)
        self.skipped = 0
        self._stream, self._keep = stream, keep
        self._source, self._target = map(_plain, languages)
        self._languages: dict[str, None] = {}

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order. Raises InputError for a file of units without a pair."""
        parser, pairs = _Parser(self.name), 0
        for piece in self._pieces():
            parser.feed(piece)
            for unit in parser.ready:
                pair = self._pair(unit)
                if pair is None:
                    self.skipped += 1
                else:
                    pairs += 1
                    yield pair
            parser.ready.clear()
        if self.skipped and not pairs:
            message = f"no unit is in both {self._source} and {self._target}"
            remedy = f"it has {', '.join(self._languages)} (--languages)"
            raise InputError(message, file=self.name, remedy=remedy)

    def _pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the file, and an empty piece at its end."""
        piece = b"-"
        while piece:
            try:
                piece = self._stream.read(_CHUNK)
            except Exception as error:  # each unpacker has errors of its own
                message = f"cannot be read any further: {error}"
                raise InputError(message, file=self.name) from error
            yield piece

    def _pair(self, unit: _Unit) -> PairRecord | BadRow | None:
        """Return the pair of a unit, or None if a language is missing."""
        if len(self._languages) < _MOST_NAMES:
            self._languages.update(dict.fromkeys(language for language, _ in unit.segments))
        source, target = _text(unit, self._source), _text(unit, self._target)
        if source is None or target is None:
            return None
        if len(self.dropped) < _MOST_NAMES:
            self.dropped.update(name for name in unit.properties if name not in self._keep)
        others = {name: unit.properties.get(name, "") for name in self._keep}
        pair = PairRecord(unit.line, source, target, others, json.dumps([source, target]).encode())
        return pair.bad(self.name, unit.fault) if unit.fault else pair


def _text(unit: _Unit, language: str) -> str | None:
    """Return the first text in *language*, else in a variant of it, else None."""
    exact = (text for code, text in unit.segments if code == language)
    variants = (text for code, text in unit.segments if code.startswith(f"{language}-"))
    return next(exact, next(variants, None))


_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters outside XML 1.0's production 2 (Char), even as references."""


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
    return PairWriter(lines, (head.encode(),), (b"</body>\n</tmx>\n",))


def _element(text: str, name: str) -> str:
    """Return *text* escaped for an element; a bare ``\\r`` would be read as a line break."""
    return escape(_legal(text, name)).replace("\r", "&#13;")


def _legal(text: str, name: str) -> str:
    if found := _ILLEGAL.search(text):
        reason = f"U+{ord(found[0]):04X} in the {name}, which XML cannot hold"
        raise UnfitError(reason, "bitext-fix --only control drops it")
    return text
