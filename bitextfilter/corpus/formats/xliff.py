"""Reader of XLIFF 1.2 and 2.x, as streams.

Sources: XLIFF Version 1.2, OASIS Standard, 2008; XLIFF Version 2.1, OASIS Standard, 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from bitextfilter.corpus.formats.base import FormatSettings, Inputs, PairReader
from bitextfilter.corpus.formats.xml_units import Unit, UnitParser, UnitReader, plain_language
from bitextfilter.errors import InputError

_CODES = {"bpt", "ept", "it", "ph"}
"""Elements with codes of another format instead of text; others, as ``g``, hold text."""
_UNITS = {"trans-unit", "segment"}
_SIDES = {"source": 0, "target": 1}


@dataclass
class _Unit(Unit):
    languages: list[str] = field(default_factory=lambda: ["", ""])
    """Of source and target; empty if unknown."""
    texts: dict[str, str] = field(default_factory=dict)
    """Of the elements ``source`` and ``target``."""


class _Parser(UnitParser[_Unit]):
    """Parses the elements ``trans-unit`` of 1.2, and ``segment`` of 2.x."""

    root = "xliff"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._open: list[str] = []
        self._languages = "", ""
        self._properties: dict[str, str] = {}
        """Of the unit of 2.x, or of the file."""
        self._held_back: list[list[str] | None] = []
        """What took the text outside each open element of ``_CODES``."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        name = name.rpartition(":")[2]
        above = self._open[-1] if self._open else ""
        self._open.append(name)
        if name in {"xliff", "file"}:
            self._begin_file(name, attributes)
        elif name == "unit":
            self._properties["id"] = attributes.get("id", "")
        elif name in _UNITS:
            properties = dict(self._properties)
            if name == "trans-unit":
                properties["id"] = attributes.get("id", "")
            self.unit = _Unit(self.line, properties, languages=list(self._languages))
            self._note_state(attributes)
        elif name in _SIDES and above in _UNITS and self.unit is not None:
            self._begin_side(self.unit, _SIDES[name], attributes)
        elif name in _CODES:
            self._held_back.append(self.text)
            self.text = None
        elif name == "cp" and self.text is not None:
            self._add_character(attributes.get("hex", ""))

    def _begin_file(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take the languages: of the whole in 2.x, of each file in 1.2."""
        source = attributes.get("source-language") or attributes.get("srcLang")
        target = attributes.get("target-language") or attributes.get("trgLang")
        before = self._languages if name == "file" and source is None else ("", "")
        found = plain_language(source or before[0]), plain_language(target or before[1])
        self._languages = found
        if name == "file":
            self._properties = {"file": attributes.get("original") or attributes.get("id", "")}

    def _begin_side(self, unit: _Unit, side: int, attributes: Mapping[str, str]) -> None:
        """Take the text of source or target, which may have a language and a state."""
        self.text = []
        if language := attributes.get("xml:lang"):
            unit.languages[side] = plain_language(language)
        self._note_state(attributes)

    def _note_state(self, attributes: Mapping[str, str]) -> None:
        if self.unit is not None and "state" in attributes:
            self.unit.properties["state"] = attributes["state"]

    def _add_character(self, code: str) -> None:
        """Add a character that XML cannot hold, as 2.x writes it."""
        try:
            character = chr(int(code, 16))
            character.encode()
        except ValueError:  # also for half of a surrogate pair
            raise self.error(f"the element cp has no character {code!r}") from None
        assert self.text is not None
        self.text.append(character)

    def end(self, name: str) -> None:
        """End an element."""
        name = name.rpartition(":")[2]
        self._open.pop()
        if name in _CODES:
            self.text = self._held_back.pop()
        elif name in _SIDES and self._open and self._open[-1] in _UNITS:
            if self.unit is not None:
                self.unit.texts[name] = "".join(self.text or ())
            self.text = None
        elif name in _UNITS and self.unit is not None:
            self.complete(self.unit)


class XliffReader(UnitReader[_Unit]):
    """Reads the units with a translation; ``skipped`` counts those without.

    With languages, only those that are not known to be in others: ``en`` is also ``en-GB``.
    """

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        languages: tuple[str, str] | None,
        keep: Sequence[str],
    ) -> None:
        """Read *stream*, called *name*; ``id``, ``file``, ``state`` are properties to *keep*."""
        super().__init__(stream, _Parser(name), keep)
        self._languages = languages and tuple(map(plain_language, languages))

    def pair_of(self, unit: _Unit) -> tuple[str, str] | None:
        """Return the texts of a unit, None if it has no translation."""
        self.note_language(" to ".join(code or "an unknown one" for code in unit.languages))
        if self._languages is not None and not all(map(_is_of, unit.languages, self._languages)):
            return None
        source, target = unit.texts.get("source", ""), unit.texts.get("target", "")
        return (source, target) if source and target else None

    def without_pairs(self) -> InputError:
        """Return the error of a file without a translation, or in other languages."""
        if self._languages is None:
            return InputError("no unit has a translation", file=self.name)
        message = f"no unit is translated from {' to '.join(self._languages)}"
        remedy = f"it has {', '.join(self.languages)} (--languages)"
        return InputError(message, file=self.name, remedy=remedy)


def _is_of(code: str, language: str) -> bool:
    return code in ("", language) or code.startswith(f"{language}-")


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of XLIFF."""
    return XliffReader(*inputs.stream(), settings.languages, settings.keep)
