"""Reader of PO files, the catalogues of translated messages of GNU gettext.

Source: GNU gettext manual 0.22, The Format of PO Files, 2023.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from bitextfilter.corpus.formats.base import FormatSettings, Inputs, PairReader, PairRecord
from bitextfilter.errors import InputError
from bitextfilter.io.files import BOM, LINE_BYTES, lines_of, without_ending
from bitextfilter.io.rows import BadRow

_LINE = re.compile(r'(?:(msgctxt|msgid|msgid_plural|msgstr(?:\[[0-9]\])?)\s*)?"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)")
_MEANT = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CHARSET = re.compile(r"charset=([^\s;]+)")
_PROPERTIES = {"#:": "reference", "#.": "comment"}


@dataclass
class _Entry:
    """A message with its translations, perhaps incomplete."""

    line: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    fuzzy: bool = False
    size: int = 0

    @property
    def translated(self) -> bool:
        return any(name.startswith("msgstr") for name in self.texts)

    def text(self, name: str) -> str:
        return "".join(self.texts.get(name, ()))


class PoReader(PairReader):
    """Reads the messages with a translation; ``skipped`` counts those without, or fuzzy ones.

    A message with a plural is two pairs: the singular with the first form of its translation,
    the plural with the last one.
    """

    def __init__(self, stream: BinaryIO, name: str, keep: Sequence[str]) -> None:
        """Read *stream*, called *name*; ``context``, ``reference``, ``comment`` can be kept."""
        super().__init__(name)
        self.columns = keep
        self._lines = lines_of(stream, name)

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order. Raises InputError for lines that are not of a PO file."""
        self.skipped = skipped = 0
        for entry in self._entries():
            if not entry.text("msgid"):
                self._check_charset(entry)
                continue
            pairs = [] if entry.fuzzy else list(self._pairs(entry))
            skipped += not pairs
            self.skipped = skipped
            yield from pairs

    def _entries(self) -> Iterator[_Entry]:
        """Yield the entries, complete ones only."""
        entry, name = _Entry(), ""
        for number, line in enumerate(self._texts(), 1):
            if not line or line.startswith("#~"):
                continue
            if line.startswith("#"):
                entry = yield from self._new(entry, entry.translated)
                _note(entry, line)
                continue
            found = _LINE.fullmatch(line)
            if found is None or not (found[1] or name):
                raise InputError("not a line of a PO file", file=self.name, line=number)
            if found[1]:
                begins = found[1] in {"msgctxt", "msgid"} and entry.translated
                entry = yield from self._new(entry, begins)
                name = found[1]
                entry.line = entry.line or number
                if name in entry.texts:
                    raise InputError(f"a second {name}", file=self.name, line=number)
            entry.texts.setdefault(name, []).append(_unescaped(found[2]))
            entry.size += len(line)
            if entry.size > LINE_BYTES:
                message = f"a message larger than {LINE_BYTES >> 20} MiB"
                raise InputError(message, file=self.name, line=number)
        yield from self._new(entry, bool(entry.texts))

    def _new(self, entry: _Entry, complete: bool) -> Generator[_Entry, None, _Entry]:
        """Yield *entry* if it is *complete*; return the entry to go on with."""
        if not complete:
            return entry
        if "msgid" not in entry.texts or not entry.translated:
            message = "a message without msgid or msgstr"
            raise InputError(message, file=self.name, line=entry.line)
        yield entry
        return _Entry()

    def _texts(self) -> Iterator[str]:
        """Yield the lines as text, without the white space around."""
        for number, line in enumerate(self._lines, 1):
            raw = without_ending(line.removeprefix(BOM) if number == 1 else line)
            try:
                yield raw.decode().strip()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"not UTF-8 at byte {error.start + 1} of the line",
                    file=self.name,
                    line=number,
                    remedy="msgconv --to-code=UTF-8 converts it",
                ) from error

    def _check_charset(self, header: _Entry) -> None:
        found = _CHARSET.search(header.text("msgstr"))
        if found and found[1].lower() not in {"utf-8", "utf8", "us-ascii", "ascii", "charset"}:
            message = f"its header says {found[1]}, expected UTF-8"
            remedy = "msgconv --to-code=UTF-8 converts it"
            raise InputError(message, file=self.name, line=header.line, remedy=remedy)

    def _pairs(self, entry: _Entry) -> Iterator[PairRecord | BadRow]:
        """Yield one pair, or two for a plural; none without a translation."""
        if "msgctxt" in entry.texts:
            entry.properties["context"] = entry.text("msgctxt")
        keep = self.columns or ()
        self.dropped.update(name for name in entry.properties if name not in keep)
        others = {name: entry.properties.get(name, "") for name in keep}
        forms = sorted(name for name in entry.texts if name.startswith("msgstr"))
        sides = [("msgid", forms[0])]
        if "msgid_plural" in entry.texts:
            sides.append(("msgid_plural", forms[-1]))
        for source, target in sides:
            texts = entry.text(source), entry.text(target)
            if all(texts):
                pair = PairRecord(entry.line, *texts, others, json.dumps(texts).encode())
                yield pair


def _note(entry: _Entry, line: str) -> None:
    """Take a comment."""
    if line.startswith("#,") and "fuzzy" in line[2:].replace(",", " ").split():
        entry.fuzzy = True
    if name := _PROPERTIES.get(line[:2]):
        before = entry.properties.get(name)
        entry.properties[name] = f"{before} {line[2:].strip()}" if before else line[2:].strip()


def _unescaped(text: str) -> str:
    r"""Return a text without the escapes of C, as ``\n``."""
    return _ESCAPE.sub(_meant, text) if "\\" in text else text


def _meant(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "01234567":
        return chr(int(code, 8))
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _MEANT.get(code, code)


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of a PO file."""
    return PoReader(*inputs.stream(), settings.keep)
