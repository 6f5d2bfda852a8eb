"""Units of translations in XML, read as a stream, safely.

No entity of a file is expanded, no other file is read, and nothing is held without bound.
"""

from __future__ import annotations

import codecs
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, ClassVar, Generic, TypeVar
from xml.parsers import expat

from bitextfilter.corpus.formats.base import PairReader, PairRecord
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.lines import LINE_BYTES
from bitextfilter.io.rows import BadRow
from bitextfilter.languages import Language, read_language

_CHUNK = 1 << 16
_MOST_LEVELS = 100
_TAG_BYTES = 1 << 20
"""The longest tag or section: it is held, and read anew with each piece."""
_ELEMENT = 100
"""Characters that an element counts as, beside its text."""
_MOST_NAMES = 20
_LONGEST_CODE = 64
_ROOTS = ("tmx", "xliff")
"""The formats that are read, which are called as their outermost elements."""
_CODE = "\ud800"
"""Stands in a text for a code of another format; no XML has this character."""
_LINE_BREAKS = {"lb", "xlf:lb"}
"""Kinds of codes that separate words."""
_UTF_16 = {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
"""Encodings of two bytes a character, by the first two of a file."""


@dataclass
class Unit:
    """A unit of translation, perhaps incomplete."""

    line: int
    properties: dict[str, str] = field(default_factory=dict)
    fault: str = ""


_Unit = TypeVar("_Unit", bound=Unit)


class _DamageError(Exception):
    """Damage in a file: its line, the reason, and the byte that reading may go on from."""

    def __init__(self, line: int, reason: str, place: int) -> None:
        super().__init__(reason)
        self.line, self.place = line, place


class UnitParser(ABC, Generic[_Unit]):
    """Parses units from pieces of XML.

    ``ready`` has the complete ones, and a bad row for damage. Reading goes on at the next unit
    where it needs nothing from above.
    """

    root: ClassVar[str]
    """The name of the outermost element."""
    codes: ClassVar[frozenset[str]]
    """Elements with codes of another format instead of text."""
    beginning: ClassVar[re.Pattern[bytes] | None] = None
    """Where reading may go on after damage; None: nowhere."""
    tags: ClassVar[re.Pattern[bytes]]
    """Tags around texts, which a section holds if it does not end where it should."""

    def __init__(self, name: str) -> None:
        """Begin a file, called *name* in messages."""
        self.name = name
        self.ready: list[_Unit | BadRow] = []
        self.unit: _Unit | None = None
        """The unit that is open."""
        self.text: list[str] | None = None
        """Takes the text of the element that is open, if it is wanted."""
        self._outside: list[str] | None = None
        """What takes the text around a code."""
        self._decoder: codecs.IncrementalDecoder | None = None
        """Of a file in UTF-16."""
        self._encoding: str | None = None
        self._rooted = self._lost = False
        """Whether the outermost element has begun; whether a unit is looked for after damage."""
        self._lines = 0
        """Lines before those that the parser counts."""
        self._tail = self._piece = self._section = b""
        """Bytes that the parser holds; those that it reads; those of a section that is open."""
        self._begin()

    def _begin(self, first: bytes = b"") -> None:
        """Begin to parse, with the elements above in *first*."""
        self.unit = self.text = self._outside = None
        self._level = self._held = self._inside = 0
        """Elements that are open; characters since the last unit ended; elements within a code."""
        self._expat = parser = expat.ParserCreate(self._encoding)
        parser.buffer_text = True
        parser.XmlDeclHandler = self._declaration
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped
        parser.Parse(first, False)
        self._fed = len(first)

    @abstractmethod
    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Begin an element; *name* is without a prefix."""

    @abstractmethod
    def end(self, name: str) -> None:
        """End an element."""

    @property
    def line(self) -> int:
        """The number of the line that is read."""
        return self._lines + self._expat.CurrentLineNumber

    def complete(self, unit: _Unit) -> None:
        """Give out a unit."""
        self.ready.append(unit)
        self.unit, self._held = None, 0

    def taken(self) -> str:
        """Return the text that was taken, and take none any more."""
        text, self.text = "".join(self.text or ()), None
        return without_codes(text)

    def feed(self, data: bytes) -> None:
        """Take the next piece; an empty one is the end.

        Raises InputError for invalid XML where reading cannot go on, and for anything too large to
        be held.
        """
        last = not data
        first = not (self._fed or self._tail or self._section)
        if first and (form := _UTF_16.get(data[:2])):
            self._decoder = codecs.getincrementaldecoder(form)()
            self._encoding = "utf-8"
            self._begin()
        if self._decoder is not None:
            try:
                data = self._decoder.decode(data, last).encode()
            except UnicodeDecodeError as error:
                raise self.error("not UTF-16, which it begins as") from error
        rest = self._seek(data) if self._lost else data
        while rest is not None:
            try:
                self._parse(rest, last)
                return
            except _DamageError as damage:
                if self.beginning is None or not self._rooted:
                    message = str(damage)
                    raise InputError(message, file=self.name, line=damage.line) from damage
                bad = PairRecord(damage.line, "", "").bad(self.name, str(damage))
                self.ready.append(bad)
                rest = self._seek(self._after(damage.place))

    def _parse(self, data: bytes, last: bool) -> None:
        """Parse a piece, but for a section that is open at its end. Raises _DamageError."""
        data = self._section + data
        place, endless = open_section(data, self.tags, _TAG_BYTES, last)
        self._section = data[place:]
        self._piece = data[:place]
        self._parse_piece(last and not endless)
        if endless:
            self._lines += _line_breaks(self._tail)
            raise _DamageError(self.line, f"{endless} that does not end", self._fed + 1)
        if len(self._section) > _TAG_BYTES:
            raise self.error(f"a tag or comment longer than {_TAG_BYTES >> 20} MiB")

    def _parse_piece(self, last: bool) -> None:
        parser = self._expat
        try:
            parser.Parse(self._piece, last)
        except expat.ExpatError as error:
            reason = f"not well-formed XML: {expat.ErrorString(error.code)}"
            line = self._lines + error.lineno
            raise _DamageError(line, reason, parser.ErrorByteIndex + 1) from error
        except (LookupError, ValueError) as error:
            if self._fed:  # of the first piece, Python reads the name of the encoding
                raise
            raise self.error("an encoding that is not read", "convert it to UTF-8") from error
        self._tail = self._after(parser.CurrentByteIndex)[: -len(self._section) or None]
        self._fed += len(self._piece)
        self._piece = b""
        if len(self._tail) > _TAG_BYTES + _CHUNK:
            raise self.error(f"a tag or comment longer than {_TAG_BYTES >> 20} MiB")

    def _after(self, place: int) -> bytes:
        """Return the bytes from a *place* on, as the parser counts them."""
        held = self._tail + self._piece + self._section
        return held[max(place - self._fed + len(self._tail), 0) :]

    def _seek(self, data: bytes) -> bytes | None:
        """Look for the next unit; return the bytes from there on, None if it is not there yet."""
        if not self._lost:
            self._lost, self._tail = True, b""
            self._piece = self._section = b""
            self._lines = self.line
        data = self._tail + data
        assert self.beginning is not None
        found = self.beginning.search(data)
        place = found.start() if found else max(len(data) - 8, 0)
        passed = data[:place]
        self._lines += _line_breaks(passed)
        self._tail = data[place:]
        if found is None:
            return None
        rest, self._tail, self._lost = self._tail, b"", False
        self._lines -= 1
        self._begin(f'<!DOCTYPE {self.root} SYSTEM "-"><{self.root}><body>'.encode())
        return rest

    def damage(self, line: int, reason: str) -> Exception:
        """Return the error for damage; reading goes on at the element that has just begun."""
        return _DamageError(line, reason, self._expat.CurrentByteIndex)

    def error(self, message: str, remedy: str | None = None) -> InputError:
        """Return the error of the place that is read."""
        return InputError(message, file=self.name, line=self.line, remedy=remedy)

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > LINE_BYTES:
            raise self.error(f"a unit larger than {LINE_BYTES >> 20} MiB")

    def _declaration(self, _version: str, encoding: str | None, _alone: int) -> None:
        self._encoding = self._encoding or encoding

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._hold(_ELEMENT)
        self._level += 1
        if self._level > _MOST_LEVELS:
            raise self.error(f"elements more than {_MOST_LEVELS} deep")
        name = name.rpartition(":")[2]
        if self._level == 1:
            if name != self.root:
                remedy = f"--from {name} reads it" if name in _ROOTS else None
                raise self.error(f"begins with <{name[:40]}>, expected <{self.root}>", remedy)
            self._rooted = True
        if self._inside or name in self.codes:
            self._begin_code(attributes)
        else:
            self.start(name, attributes)

    def _begin_code(self, attributes: Mapping[str, str]) -> None:
        """Leave out the text of a code, which may separate words."""
        if not self._inside:
            self._outside, self.text = self.text, None
            if self._outside is not None:
                kinds = map(attributes.get, ("ctype", "type", "subType"))
                self._outside.append(
                    f"{_CODE} {_CODE}" if _LINE_BREAKS.intersection(kinds) else _CODE
                )
        self._inside += 1

    def _end(self, name: str) -> None:
        self._level -= 1
        if not self._inside:
            self.end(name.rpartition(":")[2])
            return
        self._inside -= 1
        if not self._inside:
            self.text = self._outside

    def _characters(self, text: str) -> None:
        if self.text is not None:
            self._hold(len(text))
            self.text.append(text)

    def _entity(self, name: str, *_: object) -> None:
        """Refuse a file's own entities: they can grow without end, or name other files."""
        message = f"declares the entity {name!r}, which is refused"
        raise self.error(message, "write out its text instead (xmllint --noent does)")

    def _skipped(self, name: str, *_: object) -> None:
        if self.unit is not None:
            self.unit.fault = f"the entity &{name}; is not declared"


def _line_breaks(data: bytes) -> int:
    return data.count(b"\n") or data.count(b"\r")


def without_codes(text: str) -> str:
    """Return *text* without the places of codes; of the spaces around one, those on one side."""
    if _CODE not in text:
        return text
    made, gap = list[str](), ""
    parts = text.split(_CODE)
    for number, part in enumerate(parts):
        begun = part.lstrip() if number else part
        core = begun.rstrip() if number < len(parts) - 1 else begun
        if not core.strip():
            gap = gap or part
            continue
        made += [(gap or part[: len(part) - len(begun)]) if made else "", core]
        gap = begun[len(core) :]
    return "".join(made)


def language_of(code: str) -> Language:
    """Return the language of a code in a file; one that nobody knows is a language of its own."""
    try:
        return read_language(code[:_LONGEST_CODE])
    except SettingsError:
        return Language(code[:_LONGEST_CODE].lower().replace("_", "-"))


class UnitReader(PairReader, Generic[_Unit]):
    """Reads the pairs of the units; ``skipped`` counts the units without one."""

    skipped: Counter[str]

    def __init__(self, stream: BinaryIO, parser: UnitParser[_Unit], keep: Sequence[str]) -> None:
        """Read *stream* by *parser*; properties to *keep* become other texts of a pair."""
        super().__init__(parser.name)
        self.skipped = Counter()
        self._stream, self._parser, self._keep = stream, parser, keep
        self.columns = keep
        self.languages: dict[str, None] = {}
        """Some of those in the file."""

    @abstractmethod
    def pairs_of(self, unit: _Unit) -> Sequence[tuple[str, str]] | str:
        """Return the pairs of texts of a unit, or the reason why it has none."""

    @abstractmethod
    def without_pairs(self) -> InputError:
        """Return the error of a file of units without a pair."""

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order, and bad units. Raises InputError for a file without either."""
        parser, found_any = self._parser, False
        for piece in self._pieces():
            parser.feed(piece)
            for unit in parser.ready:
                if isinstance(unit, BadRow):
                    found_any = True
                    yield unit
                    continue
                found = self.pairs_of(unit)
                if isinstance(found, str):
                    self.skip(found)
                    continue
                for texts in found:
                    found_any = True
                    yield self._pair(unit, *texts)
            parser.ready.clear()
        if self.skipped and not found_any:
            raise self.without_pairs()

    def note_language(self, code: str) -> None:
        """Remember a language of the file, for messages."""
        if len(self.languages) < _MOST_NAMES:
            self.languages[code] = None

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

    def _pair(self, unit: _Unit, source: str, target: str) -> PairRecord | BadRow:
        if len(self.dropped) < _MOST_NAMES:
            self.dropped.update(name for name in unit.properties if name not in self._keep)
        others = {name: unit.properties.get(name, "") for name in self._keep}
        pair = PairRecord(unit.line, source, target, others, json.dumps([source, target]).encode())
        return pair.bad(self.name, unit.fault) if unit.fault else pair


_ENDS = {
    b"<!--": (b"-->", "a comment"),
    b"<![CDATA[": (b"]]>", "a CDATA section"),
    b"<?": (b"?>", "a processing instruction"),
}
"""Starts of sections → their ends and names."""
_START = re.compile(rb"<(?:!--|!\[CDATA\[|\?|!?\Z|!-\Z|!\[[CDAT]*\Z)")
"""The start of a section, or of bytes at the end that may become one."""


def open_section(
    data: bytes, tags: re.Pattern[bytes], most: int, last: bool
) -> tuple[int, str | None]:
    """Return the place of the first section that is open at the end of *data*, or their length.

    And its name, if it does not end: no data follow the *last*, or it goes on over *tags* to the
    start of another such section, or over more than *most* bytes.
    """
    place = 0
    while found := _START.search(data, place):
        if found[0] not in _ENDS:
            return (len(data) if last else found.start()), None
        end, name = _ENDS[found[0]]
        closing = data.find(end, found.end())
        stop = len(data) if closing < 0 else closing
        tag = tags.search(data, found.end(), stop)
        another = tag and data.find(found[0], tag.end(), stop + len(end)) >= 0
        too_long = closing < 0 and (last or (tag and len(data) - found.start() > most))
        if another or too_long:
            return found.start(), name
        if closing < 0:
            return found.start(), None
        place = closing + len(end)
    return len(data), None
