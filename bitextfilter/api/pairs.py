"""Pairs as Python values, and rows of files as pairs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import open_input
from bitextfilter.io.rows import BadRow, Columns, Row, RowReader, WantedColumn, is_blank, number_of
from bitextfilter.settings import none_of

if TYPE_CHECKING:
    from bitextfilter.languages import Language

Pair = TypeVar("Pair", bound=Sequence[Any])
Languages = tuple[str, str]

WINDOW = 8192
"""Pairs processed together."""
_REMEDY = "on_bad=FUNCTION goes on"


def read_rows(
    path: str | Path,
    source: int | str = 1,
    target: int | str = 2,
    score: int | str | None = None,
    *,
    header: bool = False,
    on_bad: Callable[[int, str], object] | None = None,
) -> Iterator[tuple[Any, ...]]:
    """Yield the source and target of each row of a TSV file, and its score if a column is given.

    Args:
        path: may end in ``.gz``, ``.xz``, ``.bz2`` or ``.zst``.
        source, target, score: columns: a number from 1, or from -1 for the last, or a name in the
            header. A row without a number in the column of the score has the score NaN.
        header: the first line names the columns; a UserWarning tells where it may be a row.
        on_bad: called with the number and the reason of each bad row, which is then skipped.

    Raises:
        NotFoundError: the file does not exist.
        InputError: a row lacks a column, is not UTF-8, has a NUL or an empty side, and ``on_bad``
            is None.
    """
    columns = _Columns(source, target, blank=score is not None, score=score)
    with open_input(path) as stream:
        reader = RowReader(stream, str(path), columns, header, _REMEDY)
        if reader.doubt:
            warnings.warn(reader.doubt, stacklevel=2)
        for row in reader:
            reason = _fault(row)
            if isinstance(row, Row) and not reason:
                yield (*row.texts[:2], *(number_of(text.encode()) for text in row.texts[2:]))
            elif on_bad is None:
                raise InputError(reason, file=str(path), line=row.number, remedy=_REMEDY)
            else:
                on_bad(row.number, reason)


def _fault(row: Row | BadRow) -> str:
    """Return the reason why a row is bad; empty for a good one."""
    if isinstance(row, BadRow):
        return row.reason
    sides = zip(("source", "target"), row.texts, strict=False)
    return next((f"the {side} is empty" for side, text in sides if is_blank(text)), "")


@dataclass(frozen=True)
class _Columns(Columns):
    score: int | str | None = None

    def wanted(self) -> tuple[WantedColumn, ...]:
        """Return the columns, the score last."""
        named = ("source", self.source), ("target", self.target), ("score", self.score)
        return tuple(WantedColumn(name, f"{name}=", at) for name, at in named if at is not None)


def windows_of(
    pairs: Iterable[Pair], fewest: int = 2, most: int | None = None
) -> Iterator[list[Pair]]:
    """Yield pairs in windows; TypeError for a member that is not a pair of texts."""
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise TypeError(f"pairs is {pairs!r:.40}, not pairs: give [(source, target)]")
    checked = (_checked_pair(pair, index, fewest, most) for index, pair in enumerate(pairs))
    while window := list(islice(checked, WINDOW)):
        yield window


def _checked_pair(pair: Pair, index: int, fewest: int, most: int | None) -> Pair:
    members = "source, target, score" if fewest > 2 else "source, target"
    if isinstance(pair, str) or not isinstance(pair, Sequence):
        raise TypeError(f"pairs[{index}] is {pair!r:.40}, not ({members})")
    if len(pair) < fewest or len(pair) > (most or len(pair)):
        raise TypeError(f"pairs[{index}] has {len(pair)} members, not ({members})")
    for side in pair[:2]:
        if not isinstance(side, str):
            raise TypeError(f"pairs[{index}] has {side!r:.40} for a text, not a str")
    return pair


def two_languages(languages: tuple[str, str]) -> tuple[Language, Language]:
    """Read two languages in any usual spelling.

    Raises TypeError for another number of them, SettingsError for a code that nobody knows.
    """
    from bitextfilter.languages import read_language
    from bitextfilter.text.words import sentence_list

    if isinstance(languages, str) or len(languages) != 2:
        raise TypeError(f'languages are two codes, as ("en", "de"), not {languages!r:.40}')
    source, target = map(read_language, sentence_list(languages, "languages"))
    return source, target


def language_tags(languages: tuple[str, str] | None) -> tuple[str, str] | None:
    """Return the tags of two languages, such as ``zh-Hans``; None for None."""
    if languages is None:
        return None
    source, target = two_languages(languages)
    return source.tag, target.tag


def language_codes(languages: tuple[str, str] | None) -> tuple[str, str] | None:
    """Return the codes of two languages, such as ``zh``; None for None."""
    if languages is None:
        return None
    source, target = two_languages(languages)
    return source.code, target.code


def member_place(name: str) -> int:
    """Return the index of a pair's column; SettingsError for a name other than ``score``."""
    if name == "score":
        return -1
    if not name.removeprefix("-").isdecimal() or int(name) == 0:
        raise SettingsError(f"a pair has no column {name!r}: number it from 1, or call it score")
    return int(name) - (int(name) > 0)


def member_number(pair: Sequence[Any], place: int) -> float:
    """Return a member of a pair as a number, NaN if it is missing or none."""
    if not -len(pair) <= place < len(pair):
        return math.nan
    value = pair[place]
    return float(value) if isinstance(value, Real) else number_of(str(value).encode())


def sentence_sides(sources: Iterable[str], targets: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return both sides as lists; TypeError for what is no list of str."""
    from bitextfilter.text.words import sentence_list

    return sentence_list(sources, "sources"), sentence_list(targets, "targets")


def check_score(asked: object, *names: str) -> None:
    """Raise SettingsError for a lowest score that is neither a number nor one of *names*."""
    if isinstance(asked, str) and asked not in names:
        raise SettingsError(f"min_score is a number, or a name: {none_of(asked, names)}")
