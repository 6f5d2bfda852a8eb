"""Reader of two files of subtitles (SubRip, ``.srt``), whose cues are matched by their times.

Cues are linked if they are shown together for at least half of the time of the shorter one.
Linked cues are one pair; their texts are joined. Source of the idea: J. Tiedemann, Improved
Sentence Alignment for Movie Subtitles, RANLP 2007.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from bitextfilter.corpus.formats.base import FormatSettings, Inputs, PairReader, PairRecord
from bitextfilter.errors import InputError
from bitextfilter.io.files import read_small
from bitextfilter.io.rows import BadRow

_MOST_LINKED = 3
"""Cues of a side in a pair; more are subtitles that are shifted against each other."""
_LATEST = 10
"""Cues of a group that a further one is compared with."""
_STAMP = r"([0-9]{1,4}):([0-5]?[0-9]):([0-5]?[0-9])[,.]([0-9]{1,3})"
_TIMES = re.compile(rf"\s*{_STAMP}\s*-->\s*{_STAMP}(?:\s.*)?")
_MARKS = re.compile(r"</?[biu]>|</?font[^<>]*>|\{\\[^{}]*\}", re.IGNORECASE)


class Cue(NamedTuple):
    """A text, shown from one time to another, in milliseconds."""

    line: int
    start: int
    stop: int
    text: str


def read_cues(stream: BinaryIO, name: str) -> list[Cue]:
    """Return the cues of a file, in the order of their times; marks as ``<i>`` are removed.

    A cue without a text, or shown for no time, is none.

    Raises InputError for a file that is not UTF-8, or a cue without its times.
    """
    try:
        text = read_small(stream, name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        remedy = "iconv -f LATIN1 -t UTF-8, or the like, converts it"
        raise InputError(
            f"not UTF-8 at byte {error.start + 1}", file=name, remedy=remedy
        ) from error
    cues = (_cue(block, number, name) for number, block in _blocks(text))
    return sorted(
        (cue for cue in cues if cue.text and cue.stop > cue.start), key=lambda cue: cue.start
    )


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line, and the lines, of each part between blank lines."""
    block: list[str] = []
    for number, line in enumerate([*text.replace("\r\n", "\n").split("\n"), ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _cue(block: Sequence[str], number: int, name: str) -> Cue:
    place = 1 if len(block) > 1 and block[0].strip().isdecimal() else 0
    found = _TIMES.fullmatch(block[place])
    if found is None:
        message = "no cue of an SRT file: expected 00:00:01,000 --> 00:00:02,500"
        raise InputError(message, file=name, line=number + place)
    start, stop = _milliseconds(*found.groups()[:4]), _milliseconds(*found.groups()[4:])
    if stop < start:
        raise InputError("a cue that ends before it begins", file=name, line=number + place)
    text = _MARKS.sub("", " ".join(block[place + 1 :]))
    return Cue(number, start, stop, " ".join(text.split()))


def _milliseconds(hours: str, minutes: str, seconds: str, part: str) -> int:
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1000 + int(part.ljust(3, "0"))


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
    """Reads the pairs of two files; ``skipped`` counts the cues without a partner."""

    def __init__(self, source: tuple[BinaryIO, str], target: tuple[BinaryIO, str]) -> None:
        """Read both streams, called by their names. Raises InputError."""
        super().__init__(source[1])
        self._cues = read_cues(*source), read_cues(*target)

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in the order of their times. Raises InputError for cues without one."""
        self.skipped = skipped = 0
        pairs = 0
        for source, target in groups(*self._cues):
            if source and target and max(len(source), len(target)) <= _MOST_LINKED:
                pairs += 1
                text, other = (" ".join(cue.text for cue in side) for side in (source, target))
                yield PairRecord(source[0].line, text, other, line=f"{text}\t{other}".encode())
            else:
                skipped += len(source) + len(target)
            self.skipped = skipped
        if skipped and not pairs:
            message = "no cue is shown at the time of one of the other file"
            remedy = "perhaps one of the two is shifted in time"
            raise InputError(message, file=self.name, remedy=remedy)


def reader(inputs: Inputs, _: FormatSettings) -> PairReader:
    """Return the reader of two files of subtitles."""
    return SrtReader(inputs.stream(0), inputs.stream(1))
