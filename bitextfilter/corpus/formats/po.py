"""Reader of PO files, the catalogues of translated messages of GNU gettext.

Source: GNU gettext manual 0.22, The Format of PO Files, 2023.
"""

from __future__ import annotations

import gettext
import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from bitextfilter.corpus.formats.base import FormatSettings, Inputs, PairReader, PairRecord
from bitextfilter.errors import InputError
from bitextfilter.io.files import BOM, wide_remedy, without_ending
from bitextfilter.io.lines import LINE_BYTES, lines_of
from bitextfilter.io.rows import BadRow

_KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[[0-9]\])?)\s*(?=")')
_BYTES = re.compile(rb"\\(?:([0-3]?[0-7]{1,2})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_MEANT = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_CHARSET = re.compile(r"charset=([^\s;]+)")
_PLURAL = re.compile(r"plural\s*=\s*([^;]*)")
_MANY = 100
"""A number that takes the plural in all languages."""
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

    A message with a plural is two pairs: the singular with the form of its translation for 1, the
    plural with that for 100, by the header's Plural-Forms (without it, the first and the last).
    """

    def __init__(self, stream: BinaryIO, name: str, keep: Sequence[str]) -> None:
        """Read *stream*, called *name*; ``context``, ``reference``, ``comment`` can be kept."""
        super().__init__(name)
        self.columns = keep
        self._lines = lines_of(stream, name)
        self._form: Callable[[int], int] | None = None
        """Returns the number of the plural form, as the header says."""

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order. Raises InputError for lines that are not of a PO file."""
        self.skipped, translated = Counter(), 0
        for entry in self._entries():
            if not entry.text("msgid") and "msgctxt" not in entry.texts:
                self._read_header(entry)
                continue
            pairs = [] if entry.fuzzy else list(self._pairs(entry))
            if not pairs:
                self.skip("fuzzy" if entry.fuzzy else "without a translation")
            translated += len(pairs)
            yield from pairs
        if self.skipped and not translated:
            message = f"no message has a translation: {self.reasons()}"
            raise InputError(message, file=self.name)

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
            found = _KEYWORD.match(line)
            if found:
                begins = found[1] in {"msgctxt", "msgid"} and entry.translated
                entry = yield from self._new(entry, begins)
                name = found[1]
                entry.line = entry.line or number
                if name in entry.texts:
                    raise InputError(f"a second {name}", file=self.name, line=number)
            elif not entry.texts:
                raise InputError("not a line of a PO file", file=self.name, line=number)
            text = self._unquoted(line[found.end() :] if found else line, number)
            entry.texts.setdefault(name, []).append(text)
            entry.size += len(line)
            if entry.size > LINE_BYTES:
                message = f"a message larger than {LINE_BYTES >> 20} MiB"
                raise InputError(message, file=self.name, line=number)
        yield from self._new(entry, bool(entry.texts))

    def _unquoted(self, quoted: str, number: int) -> str:
        r"""Return the text in quotes, without the escapes of C, as ``\n``."""
        text = quoted[1:-1]
        rest = text.replace("\\\\", "").replace('\\"', "")
        if (
            len(quoted) < 2
            or not quoted[0] == quoted[-1] == '"'
            or '"' in rest
            or rest[-1:] == "\\"
        ):
            raise InputError("not a line of a PO file", file=self.name, line=number)
        if "\\" not in text:
            return text
        try:
            return _BYTES.sub(_meant, text.encode()).decode()
        except UnicodeDecodeError as error:
            message = "escapes of bytes that are not UTF-8"
            raise InputError(message, file=self.name, line=number) from error

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
            if number == 1 and (remedy := wide_remedy(raw)):
                raise InputError("not UTF-8", file=self.name, line=1, remedy=remedy)
            try:
                yield raw.decode().strip()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"not UTF-8 at byte {error.start + 1} of the line",
                    file=self.name,
                    line=number,
                    remedy="msgconv --to-code=UTF-8 converts it",
                ) from error

    def _read_header(self, header: _Entry) -> None:
        """Check the encoding; take the rule of plural forms, if it is one."""
        if plural := _PLURAL.search(header.text("msgstr")):
            with suppress(ValueError, ArithmeticError):
                self._form = gettext.c2py(plural[1].strip())
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
        sides = [("msgid", self._form_of(1, forms, 0))]
        if "msgid_plural" in entry.texts:
            sides.append(("msgid_plural", self._form_of(_MANY, forms, -1)))
        for source, target in sides:
            texts = entry.text(source), entry.text(target)
            if all(texts):
                yield PairRecord(entry.line, *texts, others, json.dumps(texts).encode())

    def _form_of(self, number: int, forms: Sequence[str], otherwise: int) -> str:
        """Return the name of the form for a number, or that at *otherwise* if it is unknown."""
        if self._form is not None and len(forms) > 1:
            with suppress(ArithmeticError):
                name = f"msgstr[{self._form(number)}]"
                if name in forms:
                    return name
        return forms[otherwise]


def _note(entry: _Entry, line: str) -> None:
    """Take a comment."""
    if line.startswith("#,") and "fuzzy" in line[2:].replace(",", " ").split():
        entry.fuzzy = True
    if name := _PROPERTIES.get(line[:2]):
        before = entry.properties.get(name)
        entry.properties[name] = f"{before} {line[2:].strip()}" if before else line[2:].strip()


def _meant(found: re.Match[bytes]) -> bytes:
    octal, hexadecimal, character = found.groups()
    if octal or hexadecimal:
        return bytes([int(octal, 8) if octal else int(hexadecimal, 16)])
    return _MEANT.get(character, bytes(character))


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of a PO file."""
    return PoReader(*inputs.stream(), settings.keep)
