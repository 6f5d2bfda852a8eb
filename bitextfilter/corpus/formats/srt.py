"""Reader of two files of subtitles (SubRip or WebVTT), whose cues are matched by their times.

Cues are linked if they are shown together for at least half of the time of the shorter one.
Linked cues are one pair; their texts are joined. Source of the idea: J. Tiedemann, Improved
Sentence Alignment for Movie Subtitles, RANLP 2007. WebVTT: The Web Video Text Tracks Format, W3C
Candidate Recommendation, 2019.
"""

from __future__ import annotations

import codecs
import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from bitextfilter.corpus.formats.base import FormatSettings, Inputs, PairReader, PairRecord
from bitextfilter.errors import InputError
from bitextfilter.io.files import read_small, wide_remedy
from bitextfilter.io.rows import BadRow

_MOST_LINKED = 3
"""Cues of a side in a pair; more are subtitles that are shifted against each other."""
_LATEST = 10
"""Cues of a group that a further one is compared with."""
_STAMP = r"(?:([0-9]{1,4}):)?([0-5]?[0-9]):([0-5]?[0-9])(?:[,.]([0-9]{1,3}))?"
_TIMES = re.compile(rf"\s*{_STAMP}\s*-->\s*{_STAMP}(?:\s.*)?")
_ODD_TIMES = re.compile(
    r"\s*[0-9]+:[0-9,. ]*-->"
    r"|\s*[0-9]+:[0-9]+:[^>]{0,20}-->"
    r"|\s*[0-9]+:[0-9]+:[0-9][0-9,.]{0,8}\W{1,8}[0-9]+:[0-9]+:[0-9]"
    r"|.{0,40}-->\s*[0-9]+:[0-9]"
)
"""A line that is meant to be one of times."""
_START = 1000
"""Bytes that tell UTF-16."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DIGITS = 10
_MARKS = re.compile(r"</?[biu]>|</?font[^<>]*>|\{\\[^{}]*\}", re.IGNORECASE)
_VTT_MARKS = re.compile(r"<rt[^<>]*>[^<>]*(?:</rt>)?|<[^<>]*>")
_VTT_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s.*)?")


class Cue(NamedTuple):
    """A text, shown from one time to another, in milliseconds."""

    line: int
    start: int
    stop: int
    text: str


class Subtitles(NamedTuple):
    """The cues of a file."""

    cues: list[Cue]
    """In the order of their times."""
    bad: list[BadRow]
    """Those whose times are none."""
    empty: int
    """The number of those without a text, or shown for no time."""


def read_cues(stream: BinaryIO, name: str) -> Subtitles:
    """Return the cues of a file; marks as ``<i>`` are removed.

    A cue goes on to the next line of times, or to the number before that, blank lines or not.

    Raises InputError for a file that is not UTF-8, or begins with something else.
    """
    try:
        data = read_small(stream, name)
        marked = data.startswith(_UTF_16) and data[2:4] != b"\0\0"
        if not marked and (wide := wide_remedy(data[:_START])):
            raise InputError("not UTF-8", file=name, remedy=wide)
        text = data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        remedy = "iconv -f LATIN1 -t UTF-8, or the like, converts it"
        raise InputError(
            f"not UTF-8 at byte {error.start + 1}", file=name, remedy=remedy
        ) from error
    return _subtitles(re.split("\r\n|\n|\r", text), name)


_EXPECTED = "expected 00:00:01,000 --> 00:00:02,500"


def _subtitles(lines: Sequence[str], name: str) -> Subtitles:
    """Return the cues of the lines of a file."""
    is_vtt = lines[0].split(maxsplit=1)[:1] == ["WEBVTT"]
    places = [n for n, line in enumerate(lines) if _TIMES.fullmatch(line) or _ODD_TIMES.match(line)]
    heads = list(_heads(lines, places, is_vtt))
    first = heads[0] if heads else len(lines)
    if not is_vtt and (other := [n for n in range(first) if lines[n].strip()]):
        line = next((n for n in other if not lines[n].strip().isdecimal()), other[0]) + 1
        raise InputError(f"no cue of an SRT file: {_EXPECTED}", file=name, line=line)
    cues, bad = list[Cue](), list[BadRow]()
    whole = _without_half_a_cue(lines)
    for head, place, end in zip(heads, places, [*heads, whole][1:], strict=True):
        shown = _text(lines[place + 1 : end], is_vtt)
        times = _TIMES.fullmatch(lines[place])
        start, stop = 0, -1
        if times:
            start, stop = _milliseconds(*times.groups()[:4]), _milliseconds(*times.groups()[4:])
        if stop >= start:
            cues.append(Cue(head + 1, start, stop, shown))
            continue
        reason = "a cue that ends before it begins" if times else f"no times of a cue: {_EXPECTED}"
        bad.append(PairRecord(place + 1, shown, "", line=shown.encode()).bad(name, reason))
    good = sorted((c for c in cues if c.text and c.stop > c.start), key=lambda cue: cue.start)
    return Subtitles(good, bad, len(cues) - len(good) + (whole < len(lines)))


_HALF_A_CUE = re.compile(r"[0-9]{1,9}(?:\n\s*[0-9]{1,2}:[0-9:,. ]*(?:-+>?[0-9:,. ]*)?)?\s*")


def _without_half_a_cue(lines: Sequence[str]) -> int:
    """Return the number of lines before a cue that the end of the file cuts off, if there is one.

    Such is a number below a blank line, perhaps with a part of its times.
    """
    last = max((n for n, line in enumerate(lines) if line.strip()), default=0)
    for first in range(max(1, last - 1), last + 1):
        if not lines[first - 1].strip() and _HALF_A_CUE.fullmatch("\n".join(lines[first:])):
            return first
    return len(lines)


def _heads(lines: Sequence[str], places: Sequence[int], is_vtt: bool) -> Iterator[int]:
    """Yield the first line of each cue with its times at *places*: its number, or name, or those.

    A number stands just before the times; below the text of a cue, or above a blank line, only the
    number that is due, by those before or the number of cues, or any below that of a cue with one.
    """
    last: int | None = None
    above = 0
    for count, place in enumerate(places, 1):
        head = place - 1
        while head >= above and not lines[head].strip():
            head -= 1
        number = _number(lines[head]) if head >= above else None
        near, below_text = head == place - 1, head > 0 and lines[head - 1].strip() != ""
        due = above == 0 or number == (count if last is None else last + 1)
        if number is not None and (due or (near and (last is not None or not below_text))):
            last = number
        else:
            is_name = is_vtt and near and head > 0 and not below_text
            head = head if is_name and head >= above else place
            last = last and last + 1
        yield head
        above = place + 1


def _number(line: str) -> int | None:
    digits = line.strip()
    return int(digits) if digits.isdecimal() and len(digits) < _DIGITS else None


def _text(lines: Sequence[str], is_vtt: bool) -> str:
    """Return the text of a cue, without marks, and blocks of WebVTT between it and the next."""
    if is_vtt:
        text = _VTT_MARKS.sub("", _MARKS.sub("", " ".join(_without_blocks(lines))))
        return " ".join(html.unescape(text).split())
    return " ".join(_MARKS.sub("", " ".join(lines)).split())


def _without_blocks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines outside of the blocks that begin with NOTE and the like."""
    inside, before = False, "-"
    for line in lines:
        inside = bool(line.strip()) and (
            inside or (not before and bool(_VTT_BLOCK.fullmatch(line)))
        )
        if not inside:
            yield line
        before = line.strip()


def _milliseconds(hours: str | None, minutes: str, seconds: str, part: str | None) -> int:
    whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1000 + int((part or "").ljust(3, "0"))


def linked(one: Cue, other: Cue) -> bool:
    """Return whether two cues are shown together for half of the time of the shorter one."""
    together = min(one.stop, other.stop) - max(one.start, other.start)
    shorter = min(one.stop - one.start, other.stop - other.start)
    return together > 0 and 2 * together >= shorter


def groups(source: Sequence[Cue], target: Sequence[Cue]) -> Iterator[tuple[list[Cue], list[Cue]]]:
    """Yield the cues that are linked, directly or by others; those of one side if by none.

    Cues are in the order of their times.
    """
    sides = source, target
    places = [0, 0]
    while places[0] < len(source) or places[1] < len(target):
        side = _earlier(*(cues[n : n + 1] for cues, n in zip(sides, places, strict=True)))
        group: tuple[list[Cue], list[Cue]] = ([], [])
        group[side].append(sides[side][places[side]])
        places[side] += 1
        grown = True
        while grown:
            grown = False
            for side in (0, 1):
                while places[side] < len(sides[side]) and any(
                    linked(sides[side][places[side]], cue) for cue in group[1 - side][-_LATEST:]
                ):
                    group[side].append(sides[side][places[side]])
                    places[side] += 1
                    grown = True
        yield group


def _earlier(source: Sequence[Cue], target: Sequence[Cue]) -> int:
    """Return the side whose next cue begins first."""
    if not source or not target:
        return 0 if source else 1
    return int(target[0].start < source[0].start)


class SrtReader(PairReader):
    """Reads the pairs of two files; ``skipped`` counts the cues without a partner, or a text."""

    def __init__(self, source: tuple[BinaryIO, str], target: tuple[BinaryIO, str]) -> None:
        """Read both streams, called by their names. Raises InputError."""
        super().__init__(source[1])
        self._sides = read_cues(*source), read_cues(*target)
        for (_, name), side in zip((source, target), self._sides, strict=True):
            if not side.cues and any(some.cues for some in self._sides):
                raise InputError("no cue with a text", file=name)

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the bad cues, then the pairs in the order of their times.

        Raises InputError for cues without a pair.
        """
        self.skipped = Counter()
        one, other = self._sides
        yield from (*one.bad, *other.bad)
        if empty := one.empty + other.empty:
            self.skip("without a text", empty)
        pairs = lone = 0
        for source, target in groups(one.cues, other.cues):
            if source and target and max(len(source), len(target)) <= _MOST_LINKED:
                pairs += 1
                text, translation = (
                    " ".join(cue.text for cue in side) for side in (source, target)
                )
                line = f"{text}	{translation}".encode()
                yield PairRecord(source[0].line, text, translation, line=line)
            else:
                lone += len(source) + len(target)
                many = source and target
                reason = (
                    f"with more than {_MOST_LINKED} at its time" if many else "without a partner"
                )
                self.skip(reason, len(source) + len(target))
        if lone and not pairs:
            message = "no cue is shown at the time of one of the other file"
            remedy = "perhaps one of the two is shifted in time"
            raise InputError(message, file=self.name, remedy=remedy)


def reader(inputs: Inputs, _: FormatSettings) -> PairReader:
    """Return the reader of two files of subtitles."""
    return SrtReader(inputs.stream(0), inputs.stream(1))
