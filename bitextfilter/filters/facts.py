"""Facts of many sentences in one pass over their bytes: ``facts.c``, where it was compiled.

A *sort* of characters is a table over all code points, or a string of some signs. What rules ask of
a batch — how many characters of a sort each sentence has, or words with one — is remembered, and
read of the next batch at once. :class:`bitextfilter.filters.pairs.BatchSide` asks, and computes in
numpy what is not known here.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers, Mask
from bitextfilter.io.columns import Utf8
from bitextfilter.io.compiled import INTEGER, CompiledLibrary, Record, array_of, fields
from bitextfilter.text import characters

Sort = str | Mask
"""Signs, or a table ``(0x110000,)`` of the characters."""

_MOST = 32
"""Sorts, and meetings, of one pass."""
_MOST_KINDS = 256
_CODES = 0x110000
_LINE_END = 0x0A
_PAGE, _LINE = 512, 8
"""Numbers in a page of memory, and in a line of the cache."""

SPREAD = np.uint32(0x9E3779B1)
"""An odd number with its bits well spread (2**32 over the golden ratio)."""
_SKETCH_BITS = 15


class _Side(Record):
    """See ``facts.c``."""

    _fields_ = fields(
        {
            "data": array_of(np.uint8),
            **dict.fromkeys(("starts", "ends"), array_of(np.int64)),
            "count": INTEGER,
        }
    )


class _Kinds(Record):
    """See ``facts.c``."""

    _fields_ = fields(
        {
            **dict.fromkeys(("kinds", "members", "spaces", "breaks"), array_of(np.uint8)),
            **dict.fromkeys(("first", "second"), array_of(np.uint32)),
            "asked": array_of(np.int32),
            "answers": INTEGER,
        }
    )


_COUNTS = ("characters", "words", "lone", "spaced words")


class _Facts(Record):
    """See ``facts.c``."""

    _fields_ = fields(
        {
            **dict.fromkeys(("answers", "lengths", "longest"), array_of(np.int64)),
            "meetings": array_of(np.int32),
            "stride": INTEGER,
        }
    )


_SIDE, _SIGNS, _U32 = ctypes.POINTER(_Side), array_of(np.bool_, np.uint8), array_of(np.uint32)
LIBRARY = CompiledLibrary(
    __file__,
    "facts",
    layout=3,
    side_facts=(None, _SIDE, ctypes.POINTER(_Kinds), ctypes.POINTER(_Facts)),
    side_repeats=(INTEGER, _SIDE, INTEGER, INTEGER, INTEGER, _SIGNS, _SIGNS),
    side_sketches=(
        *(INTEGER, _SIDE, _SIGNS, _U32, ctypes.c_uint32),
        *(_SIGNS, INTEGER, array_of(np.int64), array_of(np.int64), _U32),
    ),
    pair_bags=(None, _SIDE, _SIDE, _SIGNS, array_of(np.int32)),
)


def is_compiled() -> bool:
    """Return whether the library is there."""
    return LIBRARY.open() is not None


def _side(texts: Utf8) -> _Side:
    places = {"starts": texts.starts, "ends": texts.ends}
    return _Side(
        data=np.frombuffer(texts.data, dtype=np.uint8),
        count=len(texts.starts),
        **{name: np.ascontiguousarray(some, dtype=np.int64) for name, some in places.items()},
    )


def _key(sort: Sort) -> str | int:
    return sort if isinstance(sort, str) else id(sort)


def _places(sort: Sort) -> Integers:
    """Return where a sort begins and ends, in any order."""
    if isinstance(sort, str):
        codes = np.array([ord(sign) for sign in sort], dtype=np.int64)
        return np.concatenate([codes, codes + 1])
    return np.flatnonzero(sort[1:] != sort[:-1]) + 1


def _at(sort: Sort, edges: Integers) -> Mask:
    """Return which of some thousand code points are of a sort."""
    if isinstance(sort, str):
        return np.isin(edges, [ord(sign) for sign in sort])
    return np.asarray(sort[edges])


def holds(sort: Sort, codes: NDArray[Any]) -> Mask:
    """Return which code points are of a sort, of the shape of *codes*."""
    if isinstance(sort, str) and len(sort) == 1:
        return np.asarray(codes == ord(sort))
    return np.asarray((_table(sort) if isinstance(sort, str) else sort)[codes])


@functools.cache
def _table(signs: str) -> Mask:
    table = np.zeros(_CODES, dtype=bool)
    table[[ord(sign) for sign in signs]] = True
    return table


_Key = tuple[str, str | int]
"""One of ``_COUNTS`` and a sort."""
_MeetingKey = tuple[str | int, str | int]


class _Known(NamedTuple):
    """Kinds of code points: all of a kind are alike in every sort that was asked for."""

    kinds: _Kinds
    answers: dict[_Key, int]
    """The place of each count."""
    meetings: dict[_MeetingKey, int]
    """The bit of each meeting."""


def _known(
    counts: dict[_Key, Sort], meetings: dict[_MeetingKey, tuple[Sort, Sort]]
) -> _Known | None:
    """Group the code points by what was asked for; None if they are of too many kinds."""
    spaces, unspaced = characters.is_space(), characters.in_script(*characters.UNSPACED)
    sorts: list[Sort] = [~spaces, unspaced, *_distinct(counts.values()).values()]
    every = [*sorts, *(sort for both in meetings.values() for sort in both)]
    edges = np.unique(np.concatenate([[0, _LINE_END, _LINE_END + 1], *map(_places, every)]))
    edges = edges[edges < len(spaces)]
    rows = np.stack([*(_at(sort, edges) for sort in every), edges == _LINE_END], axis=1)
    packed = np.packbits(rows, axis=1)
    _, some, kinds = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    if len(some) > _MOST_KINDS:
        return None
    of_code = kinds.reshape(-1).astype(np.uint8).repeat(np.diff(edges, append=len(spaces)))
    rows, tables = rows[some], len(sorts)
    members = np.zeros((len(some), _MOST), dtype=np.uint8)
    members[:, :tables] = rows[:, :tables]
    bits = np.left_shift(np.uint32(1), np.arange(len(meetings), dtype=np.uint32))
    sides = rows[:, tables:-1].reshape(len(some), len(meetings), 2)
    first, second = ((sides[:, :, at] * bits).sum(axis=1).astype(np.uint32) for at in (0, 1))
    table_of = {_key(sort): table for table, sort in enumerate(sorts)}
    answers = [_COUNTS.index(name) * _MOST + table_of[key] for name, key in counts]
    asked = np.array([_COUNTS.index("words") * _MOST, 1, *answers], dtype=np.int32)
    ends = ~rows[:, 0]
    signs = {"spaces": ends, "breaks": ends | rows[:, 1]}
    return _Known(
        _Kinds(
            kinds=of_code,
            members=members,
            first=first,
            second=second,
            **{name: np.where(part, 255, 0).astype(np.uint8) for name, part in signs.items()},
            asked=asked,
            answers=len(asked),
        ),
        {key: place for place, key in enumerate(counts, 2)},
        {key: bit for bit, key in enumerate(meetings)},
    )


def _distinct(sorts: Iterable[Sort]) -> dict[str | int, Sort]:
    return {_key(sort): sort for sort in sorts}


class FactReader:
    """Reads facts of one batch after another: those that were asked of an earlier one."""

    def __init__(self) -> None:
        self._counts: dict[_Key, Sort] = {}
        self._meetings: dict[_MeetingKey, tuple[Sort, Sort]] = {}
        self._known: _Known | None = None
        self._learnt = (-1, -1)
        """How many counts and meetings were asked for when the code points were grouped."""

    def __reduce__(self) -> Any:
        """Return the parts for another process, which learns anew."""
        return FactReader, ()

    def read(self, texts: Utf8) -> Facts | None:
        """Read the facts of a batch; None where the library is missing."""
        library = LIBRARY.open()
        if library is None:
            return None
        sizes = len(self._counts), len(self._meetings)
        if sizes != self._learnt:
            known = _known(self._counts.copy(), self._meetings.copy())
            self._known, self._learnt = known or self._known, sizes
        return None if self._known is None else Facts.read(self, self._known, library, texts)

    def ask(self, count: str, sort: Sort) -> None:
        """Count a sort in the batches to come, if there is room."""
        if len({*_distinct(self._counts.values()), _key(sort)}) + 2 <= _MOST:
            self._counts[count, _key(sort)] = sort

    def ask_meeting(self, first: Sort, second: Sort) -> None:
        """Look for a meeting in the batches to come, if there is room."""
        if len(self._meetings) < _MOST:
            self._meetings[_key(first), _key(second)] = first, second


_Others = tuple[Integers, Integers, NDArray[np.int32]]
"""Lengths, longest words and meetings, as ``facts.c`` writes them."""


class Facts:
    """Facts of the n sentences of a batch, ``(n,)`` each.

    ``lengths`` in characters; those of the ``longest`` word, scripts without spaces aside;
    ``word_counts`` between white space; ``unspaced`` characters, of scripts without spaces.
    """

    def __init__(
        self, reader: FactReader, known: _Known, answers: Integers, others: _Others
    ) -> None:
        """Take the answers to what is known, ``(m, n)``, and the other facts."""
        for array in (answers, *others):
            array.flags.writeable = False
        self._reader, self._known, self._answers = reader, known, answers
        self.word_counts: Integers = answers[0]
        self.unspaced: Integers = answers[1]
        self.lengths, self.longest, self._met = others

    @classmethod
    def read(cls, reader: FactReader, known: _Known, library: ctypes.CDLL, texts: Utf8) -> Facts:
        """Read the facts in one pass."""
        count = len(texts.starts)
        stride = -(-count // _PAGE) * _PAGE + _LINE
        answers = np.empty((len(known.kinds.values["asked"]), stride), dtype=np.int64)
        lengths, longest = (np.empty(count, dtype=np.int64) for _ in range(2))
        met = np.empty(count, dtype=np.int32)
        facts = _Facts(
            answers=answers, stride=stride, lengths=lengths, longest=longest, meetings=met
        )
        library.side_facts(_side(texts), known.kinds, facts)
        return cls(reader, known, answers[:, :count], (lengths, longest, met))

    def at(self, places: Integers) -> Facts:
        """Return the facts of the sentences at these places, ``(m,)``."""
        others = self.lengths[places], self.longest[places], self._met[places]
        return Facts(self._reader, self._known, self._answers[:, places], others)

    def count(self, what: str, sort: Sort) -> Integers | None:
        """Count characters of a sort, words that have one or are one (``lone``), ``(n,)``.

        Of ``spaced words``, characters of scripts without spaces are spaces. None if it was not
        read.
        """
        place = self._known.answers.get((what, _key(sort)))
        if place is None:
            self._reader.ask(what, sort)
            return None
        return np.asarray(self._answers[place])

    def meetings(self, first: Sort, second: Sort) -> Mask | None:
        """Return the sentences where the one sort is just before the other, ``(n,)``, if known."""
        bit = self._known.meetings.get((_key(first), _key(second)))
        if bit is None:
            self._reader.ask_meeting(first, second)
            return None
        return np.asarray(self._met >> np.int32(bit) & 1, dtype=bool)


def repeats(texts: Utf8, times: int, spaces: int, longest: int) -> tuple[Mask, Integers] | None:
    """Return the sentences that may repeat a piece *times* times or more, ``(n,)``, and the sizes.

    No other sentence does, and no piece of another size. The size of a piece is that without
    spaces, up to *longest*; after one of size 1 stand *spaces* spaces or more. None where the
    library is missing.
    """
    library = LIBRARY.open()
    if library is None:
        return None
    longest = min(longest, int((texts.ends - texts.starts).max(initial=0)))
    times, spaces = (min(number, 1 << 40) for number in (times, spaces))
    found = np.zeros(len(texts.starts), dtype=np.uint8)
    sizes = np.zeros(max(longest, 0) + 1, dtype=np.uint8)
    failed = library.side_repeats(_side(texts), times, spaces, longest, found, sizes)
    return None if failed else (found.astype(bool), np.flatnonzero(sizes))


class LikeWords(NamedTuple):
    """Runs of alphabetic characters with a known sketch (``BatchSide.sketches``), ``(hits,)``."""

    sentences: Integers
    places: Integers
    """Among the runs of its sentence, from 0."""
    known: Integers
    """Which of the known sketches it has."""

    @classmethod
    def among(
        cls,
        known: NDArray[np.uint32],
        sentences: Integers,
        places: Integers,
        sketches: NDArray[np.uint32],
    ) -> LikeWords:
        """Return the runs whose sketch is one of the *known* ones, which ascend."""
        at = np.searchsorted(known, sketches)
        same = np.flatnonzero(at < len(known))
        same = same[known[at[same]] == sketches[same]]
        return cls(sentences[same], places[same], at[same])


def sketched(texts: Utf8, known: NDArray[np.uint32]) -> LikeWords | None:
    """Find the runs of alphabetic characters whose sketch is one of these, which ascend.

    None where the library is missing.
    """
    library = LIBRARY.open()
    if library is None:
        return None
    tables = characters.is_alphabetic(), characters.lower_case()
    bits = np.zeros(1 << _SKETCH_BITS, dtype=bool)
    bits[known >> np.uint32(32 - _SKETCH_BITS)] = True
    packed = np.packbits(bits, bitorder="little")
    side, room, hits = _side(texts), -1, len(texts.starts)
    while hits > room:
        room = hits
        sentences, places = (np.empty(room, dtype=np.int64) for _ in range(2))
        sketches = np.empty(room, dtype=np.uint32)
        found = sentences, places, sketches
        hits = library.side_sketches(side, *tables, int(SPREAD), packed, room, *found)
    if hits < 0:
        return None
    return LikeWords.among(known, sentences[:hits], places[:hits], sketches[:hits])


def distance_bounds(one: Utf8, other: Utf8, asked: Mask) -> Integers | None:
    """Return a bound below the edit distance of each asked pair, ``(n,)``; 0 for others.

    The sides of an asked pair have fewer than 32,768 characters. None where the library is missing.
    """
    library = LIBRARY.open()
    if library is None:
        return None
    bounds = np.empty(len(asked), dtype=np.int32)
    library.pair_bags(_side(one), _side(other), np.ascontiguousarray(asked), bounds)
    return bounds.astype(np.int64)
