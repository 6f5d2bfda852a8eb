"""Reader and writer of Translation Memory eXchange files up to version 1.4, as streams.

Source: TMX 1.4b Specification, Localization Industry Standards Association, 2005.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
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
from bitextfilter.corpus.formats.xml_units import Unit, UnitParser, UnitReader, language_of
from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow
from bitextfilter.languages import Language

_MOST_CODES, _LONGEST_CODE = 1000, 64
"""Codes of languages that are remembered, and their characters."""
_LONGEST, _SHOWN = 100, 10
"""Characters of a reason; codes that a message has."""
_SCRIPTS = {"Hans": "Simplified", "Hant": "Traditional", "Cyrl": "Cyrillic", "Latn": "Latin"}


@dataclass
class _Unit(Unit):
    segments: list[tuple[str, str]] = field(default_factory=list)
    """Language and text of each variant."""
    languages: list[str] = field(default_factory=list)
    """Of each variant, with a text or without one."""
    complete: bool = True
    """False for a text outside of any unit."""


class _Parser(UnitParser[_Unit]):
    """Parses the elements ``tu``, and ``tuv`` outside of them."""

    root = "tmx"
    codes = frozenset({"bpt", "ept", "it", "ph", "sub", "ut"})
    beginning = re.compile(rb"<tu(?=[\s/>])")
    tags = re.compile(rb"</?(?:tuv?|seg)(?=[\s/>])")

    source_language = ""
    """The language of the texts that were translated, if the header says it."""
    _language: str | None = None
    _property = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Begin an element. Raises an error for a unit within another."""
        if name == "tu":
            if self.unit is not None:
                reason = f"a unit that does not end: another begins in line {self.line}"
                raise self.damage(self.unit.line, reason)
            self.unit, self._language = _Unit(self.line), None
        elif name == "tuv":
            language = attributes.get("xml:lang") or attributes.get("lang") or ""
            self._language = language[:_LONGEST_CODE]
            if self.unit is not None:
                self.unit.languages.append(self._language)
        elif name == "seg":
            self.text = []
        elif name == "prop":
            self._property, self.text = attributes.get("type", ""), []
        elif name == "header":
            self.source_language = attributes.get("srclang", "")

    def end(self, name: str) -> None:
        """End an element."""
        text, unit = self.taken() if name in {"seg", "prop"} else "", self.unit
        if name == "tuv":
            if unit is None:  # a text that belongs to no unit
                self.complete(_Unit(self.line, languages=[self._language or ""], complete=False))
            self._language = None
        elif unit is None:
            return
        elif name == "seg":
            unit.segments.append((self._language or "", text))
        elif name == "prop" and self._language is None:
            unit.properties.setdefault(self._property, text)
        elif name == "tu":
            self.complete(unit)


class TmxReader(UnitReader[_Unit]):
    """Reads the units with both languages, by default those of a file that has only two.

    ``en`` finds ``EN`` and ``eng``, or else the first of ``en-GB``, ``en_US``...; ``en-gb`` finds
    only that. ``skipped`` counts the units without a pair, ``further`` the texts in a language
    whose first text in the unit is taken.
    """

    further: Counter[str]
    _parser: _Parser

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        languages: tuple[str, str] | None,
        keep: Sequence[str],
        all_variants: bool = False,
    ) -> None:
        """Read *stream*, called *name*; properties to *keep* become other texts of a pair.

        With *all_variants*, each text in the one language makes a pair with each in the other.
        """
        super().__init__(stream, _Parser(name), keep)
        self.further = Counter()
        self._all = all_variants
        self._found: list[Language] = []
        """The languages of the file, if they are not given."""
        self._wanted = tuple(map(language_of, languages or ()))
        self._sides: dict[str, tuple[tuple[int, bool], ...]] = {}
        """Codes in the file → the sides whose language it is, and whether it is but a variant."""
        self._read: tuple[set[str], set[str]] = (set(), set())
        """The codes of the texts of either side."""

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order.

        Raises InputError for a file of units without a pair, or with a third language where none
        are given.
        """
        yield from super().__iter__()
        self.notes += filter(None, map(_mixture, self._wanted, self._read))

    def pairs_of(self, unit: _Unit) -> Sequence[tuple[str, str]] | str:
        """Return the texts in the two languages."""
        if not self._wanted:
            for code in unit.languages:
                self._sides_of(code, unit)
        texts: tuple[list[tuple[bool, str, str]], ...] = ([], [])
        for code, text in unit.segments:
            for side, variant in self._sides_of(code, unit):
                texts[side].append((variant, code, text))
        if not all(texts):
            return self._reason(unit)
        for variants, read in zip(texts, self._read, strict=True):
            variants.sort(key=itemgetter(0))
            if not self._all:
                for _, code, _ in variants[1:]:
                    known = code in self.further or len(self.further) < _MOST_CODES
                    self.further[code if known else "others"] += 1
                del variants[1:]
            if len(read) < _MOST_CODES:
                read.update(code for _, code, _ in variants)
        source, target = texts
        return [(one, other) for *_, one in source for *_, other in target]

    def _reason(self, unit: _Unit) -> str:
        """Return why a unit has no pair."""
        for code in unit.languages:
            self._sides_of(code, unit)
        codes = ", ".join(dict.fromkeys(filter(None, unit.languages))) or "no language"
        if not unit.complete:
            return f"outside of a unit in {codes[:_LONGEST]}"
        bare = len(unit.segments) < len(unit.languages)
        return f"in {codes[:_LONGEST]}{' without a text' * bare}"

    def _sides_of(self, code: str, unit: _Unit) -> tuple[tuple[int, bool], ...]:
        found = self._sides.get(code)
        if found is None:
            if len(self._sides) > _MOST_CODES:
                self._sides.clear()
            self.note_language(code)
            language = language_of(code)
            if code and (not self._wanted or self._found):
                self._find(language, unit.line)
            sides = [(n, w != language) for n, w in enumerate(self._wanted) if w.includes(language)]
            exact = tuple(side for side in sides if not side[1])
            found = self._sides[code] = exact or tuple(sides)
        return found

    def _find(self, language: Language, line: int) -> None:
        """Take a language of the file as one of the two. Raises InputError for a third."""
        if any(language.code == one.code for one in self._found):
            return
        self._found.append(Language(language.code))
        if len(self._found) > 2:
            names = ", ".join(one.tag for one in self._found)
            remedy = "--languages SOURCE,TARGET names two"
            raise InputError(f"a third language: {names}", file=self.name, line=line, remedy=remedy)
        if len(self._found) == 2:
            backwards = language.code == language_of(self._parser.source_language).code
            self._wanted = tuple(reversed(self._found) if backwards else self._found)
            source, target = (one.tag for one in self._wanted)
            self.texts = source, target
            self._sides.clear()
            self.notes.append(f"{source} is the source, {target} the target (--languages)")

    def without_pairs(self) -> InputError:
        """Return the error of a file without the two languages."""
        names = " and ".join(one.tag for one in self._wanted)
        message = f"no unit is in both {names}" if names else "no unit is in two languages"
        remedy = f"it has {', '.join(self.languages)} (--languages)"
        return InputError(message, file=self.name, remedy=remedy)


def _mixture(wanted: Language, read: Collection[str]) -> str:
    """Return a message if the codes that were *read* are in several scripts."""
    scripts: dict[str, list[str]] = {}
    for code in sorted(read):
        for script in language_of(code).written_in[:1]:
            scripts.setdefault(script, []).append(code)
    if len(scripts) < 2:
        return ""
    parts = [
        f"{_SCRIPTS.get(script, script)} ({', '.join(codes[:_SHOWN])})"
        for script, codes in scripts.items()
    ]
    tags = " or ".join(f"{wanted.code}-{script}" for script in scripts)
    return f"{wanted.tag} is in {' and '.join(parts)}: {tags} in --languages takes one"


_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters outside XML 1.0's production 2 (Char), even as references."""


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of a translation memory."""
    stream, name = inputs.stream()
    return TmxReader(stream, name, settings.languages, settings.keep, settings.variants == "all")


def writer(settings: FormatSettings, _: PairReader) -> PairWriter:
    """Return a writer of a unit a line, in two languages; other texts become its properties.

    It cannot hold characters that XML cannot hold.
    """
    languages = settings.languages
    assert languages is not None

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
