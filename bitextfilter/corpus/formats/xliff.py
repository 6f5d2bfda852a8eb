"""Reader of XLIFF 1.2 and 2.x, as streams.

Sources: XLIFF Version 1.2, OASIS Standard, 2008; XLIFF Version 2.1, OASIS Standard, 2018.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from bitextfilter.corpus.formats.base import FormatSettings, Inputs, PairReader
from bitextfilter.corpus.formats.xml_units import (
    Unit,
    UnitParser,
    UnitReader,
    language_of,
    without_codes,
)
from bitextfilter.errors import InputError

_UNITS = {"trans-unit", "segment"}
_SIDES = {"source": 0, "target": 1}
_TEXTS = {"source", "seg-source", "target"}
_UNTRANSLATED = re.compile("new|initial|needs-(?!review).*")
"""States of a unit whose target is no translation yet: a copy of the source, perhaps."""


@dataclass
class _Unit(Unit):
    languages: list[str] = field(default_factory=lambda: ["", ""])
    """Of source and target; empty if unknown."""
    texts: dict[str, str] = field(default_factory=dict)
    """Of the elements in ``_TEXTS``."""
    segments: dict[str, dict[str, str]] = field(default_factory=dict)
    """Elements → the texts of their segments, by identifier."""
    translate: bool = True
    """Whether its text is to be translated."""


class _Parser(UnitParser[_Unit]):
    """Parses the elements ``trans-unit`` of 1.2, and ``segment`` of 2.x."""

    root = "xliff"
    codes = frozenset({"bpt", "bx", "ec", "ept", "ex", "it", "ph", "sc", "sub", "x"})
    """Elements with codes of another format instead of text; others, as ``g``, hold text."""
    tags = re.compile(rb"</?(?:\w+:)?(?:(?:seg-)?source|target|trans-unit|segment)(?=[\s/>])")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._open: list[tuple[str, bool]] = []
        """The elements that are open, and whether their text is to be translated."""
        self._languages = "", ""
        self._properties: dict[str, str] = {}
        """Of the unit of 2.x, or of the file."""
        self._marks: list[tuple[str | None, int]] = []
        """Marks that are open: identifier of a segment, and the pieces of the text before."""
        self._segments: list[tuple[str, int, int]] = []
        """Segments of the text that is read: identifier, first piece, and the piece after."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        above, translate = self._open[-1] if self._open else ("", True)
        if "translate" in attributes and name != "mrk":
            translate = attributes["translate"] != "no"
        self._open.append((name, translate))
        if name in {"xliff", "file"}:
            self._begin_file(name, attributes)
        elif name == "unit":
            self._properties["id"] = attributes.get("id", "")
        elif name in _UNITS:
            properties = dict(self._properties)
            if name == "trans-unit":
                properties["id"] = attributes.get("id", "")
            languages = list(self._languages)
            self.unit = _Unit(self.line, properties, languages=languages, translate=translate)
            self._note_state(attributes)
        elif name in _TEXTS and above in _UNITS and self.unit is not None:
            self._begin_text(self.unit, name, attributes)
        elif name == "mrk" and self.text is not None:
            segment = attributes.get("mid", "") if attributes.get("mtype") == "seg" else None
            self._marks.append((segment, len(self.text)))
        elif name == "cp" and self.text is not None:
            self._add_character(attributes.get("hex", ""))

    def _begin_file(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take the languages: of the whole in 2.x, of each file in 1.2."""
        source = attributes.get("source-language") or attributes.get("srcLang")
        target = attributes.get("target-language") or attributes.get("trgLang")
        before = self._languages if name == "file" and source is None else ("", "")
        self._languages = source or before[0], target or before[1]
        if name == "file":
            self._properties = {"file": attributes.get("original") or attributes.get("id", "")}

    def _begin_text(self, unit: _Unit, name: str, attributes: Mapping[str, str]) -> None:
        """Take the text of source or target, which may have a language and a state."""
        self.text = []
        self._marks.clear()
        self._segments.clear()
        if name in _SIDES and (language := attributes.get("xml:lang")):
            unit.languages[_SIDES[name]] = language
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
        self._open.pop()
        if name == "mrk" and self.text is not None:
            segment, first = self._marks.pop()
            if segment is not None and all(outer is None for outer, _ in self._marks):
                self._segments.append((segment, first, len(self.text)))
        elif name in _TEXTS and self._open and self._open[-1][0] in _UNITS:
            if self.unit is not None:
                self.unit.segments[name] = _texts(self.text or (), self._segments)
                self.unit.texts[name] = self.taken()
            self.text = None
        elif name in _UNITS and self.unit is not None:
            self.complete(self.unit)


def _texts(pieces: Sequence[str], segments: Sequence[tuple[str, int, int]]) -> dict[str, str]:
    """Return the texts of segments by their identifiers.

    None if there is text outside of them, or two have one identifier.
    """
    found, outside, place = dict[str, str](), list[str](), 0
    for name, first, after in segments:
        outside += pieces[place:first]
        found[name] = without_codes("".join(pieces[first:after]))
        place = after
    outside += pieces[place:]
    whole = "" not in found and len(found) == len(segments)
    return found if whole and not without_codes("".join(outside)).strip() else {}


class XliffReader(UnitReader[_Unit]):
    """Reads the units with a translation, or their segments; ``skipped`` counts those without.

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
        self._languages = languages and tuple(map(language_of, languages))

    def pairs_of(self, unit: _Unit) -> Sequence[tuple[str, str]] | str:
        """Return the texts of a unit, or of its segments."""
        names = " to ".join(code or "an unknown one" for code in unit.languages)
        self.note_language(names)
        wanted = zip(unit.languages, self._languages or (), strict=False)
        if not all(not code or one.includes(language_of(code)) for code, one in wanted):
            return f"from {names}"
        state = unit.properties.get("state", "")
        if not unit.translate:
            return "not to be translated"
        if _UNTRANSLATED.fullmatch(state):
            return f"in state {state}"
        source = unit.segments.get("seg-source") or unit.segments.get("source", {})
        target = unit.segments.get("target", {})
        if not source or not target:
            source = {"": unit.texts.get("source", "")}
            target = {"": unit.texts.get("target", "")}
        pairs = [(text, target.get(name, "")) for name, text in source.items()]
        good = [pair for pair in pairs if all(map(str.strip, pair))]
        if good and (rest := len(source.keys() | target.keys()) - len(good)):
            self.skip(_WITHOUT, rest)
        return good or _WITHOUT

    def without_pairs(self) -> InputError:
        """Return the error of a file without a translation, or in other languages."""
        if self._languages is None:
            return InputError(f"no unit has a translation: {self.reasons()}", file=self.name)
        names = " to ".join(one.tag for one in self._languages)
        remedy = f"it has {', '.join(self.languages)} (--languages)"
        return InputError(f"no unit is translated from {names}", file=self.name, remedy=remedy)


_WITHOUT = "without a translation"


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of XLIFF."""
    return XliffReader(*inputs.stream(), settings.languages, settings.keep)
