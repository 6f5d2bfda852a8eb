"""Texts of other files, such as test sets, that a corpus must not have.

A row is found if one of its texts is a text of the files, or nearly one, or holds one: what is
called decontamination. Short texts, which say little, are found only with their translation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from bitextfilter.arrays import Integers
from bitextfilter.corpus.duplicate_keys import MATCH, text_key
from bitextfilter.corpus.row_keys import as_keys
from bitextfilter.corpus.shared_ngrams import Likeness, SharedNgrams, word_count
from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import WINDOW_BYTES, RowReader, strict, windows
from bitextfilter.io.spill import KeyTable
from bitextfilter.settings import Settings, setting
from bitextfilter.text.wording import IGNORED, Wording, normaliser, untokenised

SIDES = ("source", "target")
AGAINST_BY = ("any", "either", "pair", *SIDES)

_ANY = "any"
"""The name of the texts of all columns together."""
_WINDOW = 8192
"""Rows read at a time."""
_NONE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class AgainstSettings(Settings):
    """Definition of the texts that occur in other files.

    ``match``: texts are equal, or equal without the parts in ``ignore`` and the marks of a
    tokeniser, or share enough n-grams (``likeness``), too. ``by``: the text of one side is any
    text of a file (any), or one of the same side (either, source, target), or both are (pair).
    ``words``: the fewest of a text that is found alone. ``languages``: codes of source and target,
    for the case of their letters.
    """

    match: str = setting("near", choices=MATCH)
    by: str = setting("any", choices=AGAINST_BY)
    words: int = 3
    likeness: Likeness = field(default_factory=Likeness)
    ignore: tuple[str, ...] = IGNORED
    languages: tuple[str, str] | None = None


class OtherTexts:
    """Rows of other files by number, from 1 over all files.

    Memory: some 60 bytes a distinct text or pair, and that of its n-grams, if they count.
    """

    def __init__(
        self, settings: AgainstSettings | None = None, sides: Sequence[str] = SIDES
    ) -> None:
        """Find rows of which the texts of these *sides* are given.

        Raises SettingsError if the settings compare a side that is not, for an unknown part to
        ignore, or an unknown language.
        """
        self._settings = settings = settings or AgainstSettings()
        names = {_ANY: sides, "either": SIDES, "pair": SIDES}.get(settings.by, (settings.by,))
        if not set(names) <= set(sides):
            raise SettingsError(f"of rows, only the {sides[0]} can be looked up")
        self._places = {name: sides.index(name) for name in names}
        self._normalisers = _normalisers(settings)
        likeness = settings.likeness if settings.match == "near" else None
        self._texts = {name: _Texts(likeness) for name in (_ANY, *SIDES)}
        self._pairs = _Numbers()
        self._files: list[str] = []
        self._starts: list[int] = []
        self._next = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a file to read, by their sides; none if all of a line are texts."""
        return () if self._settings.by == _ANY else tuple(self._places)

    def read(self, reader: RowReader, side: str | None = None) -> None:
        """Take the rows of a file: the texts of its ``columns``, or lines of one *side* alone.

        Raises InputError at a bad row.
        """
        self._files.append(reader.name)
        self._starts.append(self._next)
        for window in windows(strict(reader), lambda row: len(row.line), _WINDOW, WINDOW_BYTES):
            numbers = [row.number + self._starts[-1] - 1 for row in window]
            rows = [row.texts for row in window]
            if side is not None or self.columns:
                self._add_columns(rows, numbers, self.columns if side is None else (side,))
            else:
                self._add_lines([text.split("\t") for (text,) in rows], numbers)
            self._next = numbers[-1] + 1

    def _add_columns(
        self, rows: Sequence[Sequence[str]], numbers: Sequence[int], sides: Sequence[str]
    ) -> None:
        """Add rows that have a text of each side: those that are found alone, or the pair."""
        forms = [
            [self._normalisers[side](text) for side, text in zip(sides, row, strict=True)]
            for row in rows
        ]
        long = [[*map(self._is_long, row)] for row in forms]
        for place, side in enumerate(sides):
            alone = [
                (row[place], number)
                for row, number, flags in zip(forms, numbers, long, strict=True)
                if flags[place]
            ]
            self._texts[side].add(alone)
        if len(sides) == len(SIDES):
            every = self._settings.by == "pair"
            found = zip(forms, numbers, long, strict=True)
            self._pairs.add(
                [(text_key(row), n) for row, n, flags in found if every or not any(flags)]
            )

    def _add_lines(self, rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> None:
        """Add the texts of all columns, and any two of the short ones, as both sides of a pair."""
        source, target = self._normalisers.values()
        alone, pairs = [], []
        for row, number in zip(rows, numbers, strict=True):
            sources = [*map(source, row)]
            targets = sources if source is target else [*map(target, row)]
            long = [*map(self._is_long, sources)]
            alone += [(text, number) for text, found in zip(sources, long, strict=True) if found]
            if source is not target:
                alone += [
                    (text, number) for text, found in zip(targets, long, strict=True) if found
                ]
            short = [place for place, found in enumerate(long) if not found]
            for one, other in permutations(short, 2):
                pairs.append((text_key((sources[one], targets[other])), number))
        self._texts[_ANY].add(alone)
        self._pairs.add(pairs)

    def _is_long(self, text: str) -> bool:
        return word_count(text) >= self._settings.words

    def find(self, rows: Sequence[Sequence[str]]) -> Integers:
        """Return for each row the number of a row of the files that it matches, or 0.

        Numbers above those of all rows are of texts that share n-grams.
        """
        forms = {
            side: [self._normalisers[side](row[place]) for row in rows]
            for side, place in self._places.items()
        }
        equal, near = [], []
        for side, texts in forms.items():
            found = [known.find(texts) for known in (self._texts[_ANY], self._texts[side]) if known]
            equal.append(_first([one for one, _ in found], len(rows)))
            near.append(_first([other for _, other in found], len(rows)))
        if self._settings.by == "pair":
            both = [_first(one, len(rows)) for one in zip(equal, near, strict=True)]
            equal, near = [], [np.where(np.all(both, axis=0), _first(both, len(rows)), 0)]
            near *= self._settings.match == "near"
        if len(forms) == len(SIDES):
            equal.append(self._pairs.find([*map(text_key, zip(*forms.values(), strict=True))]))
        first, shared = _first(equal, len(rows)), _first(near, len(rows))
        return np.where((first == 0) & (shared > 0), shared + self._next, first)

    def reason(self, number: int) -> str:
        """Return why a row is dropped, given the number that was found."""
        reason = "occurs in" if number < self._next else "shares n-grams with"
        number -= 0 if number < self._next else self._next
        file = bisect_right(self._starts, number) - 1
        return f"{reason} {self._files[file]}:{number - self._starts[file] + 1}"


def _normalisers(settings: AgainstSettings) -> dict[str, Wording]:
    """Return the functions for the texts of both sides: the same one, unless languages matter."""

    def of(code: str) -> Wording:
        if settings.match == "exact":
            return str
        normalise = normaliser(settings.ignore, code)
        return lambda text: normalise(untokenised(text))

    each = {code: of(code) for code in settings.languages or ("",)}
    codes = settings.languages or ("", "")
    return {side: each[code] for side, code in zip(SIDES, codes, strict=True)}


class _Numbers:
    """The first numbers of keys."""

    def __init__(self) -> None:
        self._table = KeyTable(1 << 60)

    def add(self, numbered: Sequence[tuple[bytes, int]]) -> None:
        """Add the keys that are new, each with the first of its numbers, which ascend."""
        first: dict[bytes, int] = {}
        for digest, number in numbered:
            first.setdefault(digest, number)
        keys, values = as_keys(list(first)), np.array(list(first.values()), np.int64)
        new = self._table.find(keys) == 0
        self._table.has_room(len(keys))
        self._table.add(keys[new], values[new])

    def find(self, digests: Sequence[bytes]) -> Integers:
        """Return the number of each key, or 0."""
        return self._table.find(as_keys(digests))


class _Texts:
    """Texts by number: equal ones, and those that share n-grams, if these count."""

    def __init__(self, likeness: Likeness | None) -> None:
        self._equal = _Numbers()
        self._near = None if likeness is None else SharedNgrams(likeness)
        self._any = False

    def __bool__(self) -> bool:
        return self._any

    def add(self, numbered: Sequence[tuple[str, int]]) -> None:
        """Add texts with their numbers, which ascend; of equal ones, the first counts."""
        self._any = self._any or bool(numbered)
        first: dict[str, int] = {}
        for text, number in numbered:
            first.setdefault(text, number)
        keys = [text_key((text,)) for text in first]
        if self._near is not None:
            known = (self._equal.find(keys) > 0).tolist()
            new = [one for one, old in zip(first.items(), known, strict=True) if not old]
            self._near.add([text for text, _ in new], np.array([n for _, n in new], np.int64))
        self._equal.add([*zip(keys, first.values(), strict=True)])

    def find(self, texts: Sequence[str]) -> tuple[Integers, Integers]:
        """Return the number of an equal text, or 0, and of one that shares n-grams, or 0."""
        equal = self._equal.find([text_key((text,)) for text in texts])
        return equal, np.zeros_like(equal) if self._near is None else self._near.find(texts)


def _first(numbers: Sequence[Integers], count: int) -> Integers:
    """Return the least number of each of *count* rows that is not 0; else 0."""
    first = np.full(count, _NONE)
    for some in numbers:
        first = np.where(some > 0, np.minimum(first, some), first)
    return np.where(first < _NONE, first, 0)
