"""Units of translations in XML, read as a stream, safely.

No entity of a file is expanded, no other file is read, and nothing is held without bound.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, ClassVar, Generic, TypeVar
from xml.parsers import expat

from bitextfilter.corpus.formats.base import PairReader, PairRecord
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
_ROOTS = ("tmx", "xliff")
"""The formats that are read, which are called as their outermost elements."""


@dataclass
class Unit:
    """A unit of translation, perhaps incomplete."""

    line: int
    properties: dict[str, str] = field(default_factory=dict)
    fault: str = ""


_Unit = TypeVar("_Unit", bound=Unit)


class UnitParser(ABC, Generic[_Unit]):
    """Parses units from pieces of XML; ``ready`` has the complete ones."""

    root: ClassVar[str]
    """The name of the outermost element."""

    def __init__(self, name: str) -> None:
        """Begin a file, called *name* in messages."""
        self.name = name
        self.ready: list[_Unit] = []
        self.unit: _Unit | None = None
        """The unit that is open."""
        self.text: list[str] | None = None
        """Takes the text of the element that is open, if it is wanted."""
        self._level = self._held = self._fed = 0
        """Elements that are open; characters since the last unit ended; bytes fed."""
        self._expat = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped

    @abstractmethod
    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""

    @abstractmethod
    def end(self, name: str) -> None:
        """End an element."""

    @property
    def line(self) -> int:
        """The number of the line that is read."""
        return self._expat.CurrentLineNumber

    def complete(self, unit: _Unit) -> None:
        """Give out a unit."""
        self.ready.append(unit)
        self.unit, self._held = None, 0

    def feed(self, data: bytes) -> None:
        """Take the next piece; an empty one is the end.

        Raises InputError for invalid XML, and for anything too large to be held.
        """
        try:
            self._expat.Parse(data, not data)
        except expat.ExpatError as error:
            message = f"not well-formed XML: {expat.ErrorString(error.code)}"
            raise InputError(message, file=self.name, line=error.lineno) from error
        except (LookupError, ValueError) as error:
            if self._fed:  # of the first piece, Python reads the name of the encoding
                raise
            raise self.error("an encoding that is not read", "convert it to UTF-8") from error
        self._fed += len(data)
        if self._fed - self._expat.CurrentByteIndex > _TAG_BYTES + _CHUNK:
            raise self.error(f"a tag or comment longer than {_TAG_BYTES >> 20} MiB")

    def error(self, message: str, remedy: str | None = None) -> InputError:
        """Return the error of the place that is read."""
        return InputError(message, file=self.name, line=self.line, remedy=remedy)

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > LINE_BYTES:
            raise self.error(f"a unit larger than {LINE_BYTES >> 20} MiB")

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._hold(_ELEMENT)
        self._level += 1
        if self._level > _MOST_LEVELS:
            raise self.error(f"elements more than {_MOST_LEVELS} deep")
        if self._level == 1 and (found := name.rpartition(":")[2]) != self.root:
            remedy = f"--from {found} reads it" if found in _ROOTS else None
            raise self.error(f"begins with <{found[:40]}>, expected <{self.root}>", remedy)
        self.start(name, attributes)

    def _end(self, name: str) -> None:
        self._level -= 1
        self.end(name)

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


def plain_language(code: str) -> str:
    """Return a code of a language as it is compared."""
    return code.lower().replace("_", "-")


class UnitReader(PairReader, Generic[_Unit]):
    """Reads the pairs of the units; ``skipped`` counts the units without one."""

    def __init__(self, stream: BinaryIO, parser: UnitParser[_Unit], keep: Sequence[str]) -> None:
        """Read *stream* by *parser*; properties to *keep* become other texts of a pair."""
        super().__init__(parser.name)
        self.skipped = 0
        self._stream, self._parser, self._keep = stream, parser, keep
        self.columns = keep
        self.languages: dict[str, None] = {}
        """Some of those in the file."""

    @abstractmethod
    def pair_of(self, unit: _Unit) -> tuple[str, str] | None:
        """Return the two texts of a unit, or None if one is missing."""

    @abstractmethod
    def without_pairs(self) -> InputError:
        """Return the error of a file of units without a pair."""

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order. Raises InputError for a file of units without a pair."""
        parser, pairs, skipped = self._parser, 0, 0
        for piece in self._pieces():
            parser.feed(piece)
            for unit in parser.ready:
                texts = self.pair_of(unit)
                if texts is None:
                    skipped += 1
                else:
                    pairs += 1
                    yield self._pair(unit, *texts)
            self.skipped = skipped
            parser.ready.clear()
        if skipped and not pairs:
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
