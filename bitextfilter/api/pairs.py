"""Pairs as Python values, and rows of files as pairs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bitextfilter.api.arguments import checked
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import open_input
from bitextfilter.io.rows import (
    BadRow,
    Columns,
    Row,
    RowReader,
    is_blank,
    number_of,
    optional,
)
from bitextfilter.settings import none_of

if TYPE_CHECKING:
    from bitextfilter.languages import Language

Pair = TypeVar("Pair", bound=Sequence[Any])
Languages = tuple[str, str]

WINDOW = 8192
"""Pairs processed together."""
_REMEDY = "on_bad=FUNCTION goes on"


@checked()
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
    columns = _columns(source=source, target=target, score=score)
    with open_input(path) as stream:
        reader = RowReader(stream, str(path), columns, header, _REMEDY)
        if reader.doubt:
            warnings.warn(reader.doubt, stacklevel=2)
        for row in reader:
            reason = _fault(row)
            if isinstance(row, Row) and not reason:
                yield (*row.texts[:2], *(number_of(text.encode()) for text in row.texts[2:]))
            elif on_bad is None:
                remedy = row.remedy if isinstance(row, BadRow) else _REMEDY
                raise InputError(reason, file=str(path), line=row.number, remedy=remedy)
            else:
                on_bad(row.number, reason)


def _columns(**named: int | str | None) -> Columns:
    """Return the columns that are given by name; those of a row with a score may be blank."""
    wanted = [one for name, column in named.items() for one in optional(name, f"{name}=", column)]
    for name, _, column in wanted:
        if column in (0, ""):
            raise SettingsError(f"{name} is a column from 1, or from -1, or a name, not {column!r}")
    return Columns(blank=named["score"] is not None, sides=(), first=tuple(wanted))


def _fault(row: Row | BadRow) -> str:
    """Return the reason why a row is bad; empty for a good one."""
    if isinstance(row, BadRow):
        return row.reason
    sides = zip(("source", "target"), row.texts, strict=False)
    return next((f"the {side} is empty" for side, text in sides if is_blank(text)), "")


def windows_of(
    pairs: Iterable[Pair], fewest: int = 2, most: int | None = None, name: str = "pairs"
) -> Iterator[list[Pair]]:
    """Return pairs in windows; TypeError, by the argument's *name*, for what is no pair of texts.

    What is no list is refused at once, and a member of it when it is read.
    """
    if isinstance(pairs, str | bytes | Mapping) or not isinstance(pairs, Iterable):
        raise TypeError(f"{name} is {pairs!r:.40}, not pairs: give [(source, target)]")
    read = (_pair(pair, f"{name}[{at}]", fewest, most) for at, pair in enumerate(pairs))
    return iter(lambda: list(islice(read, WINDOW)), [])


def _pair(pair: Pair, name: str, fewest: int, most: int | None) -> Pair:
    members = "source, target, score" if fewest > 2 else "source, target"
    if isinstance(pair, str | bytes) or not isinstance(pair, Sequence):
        raise TypeError(f"{name} is {pair!r:.40}, not ({members})")
    if len(pair) < fewest or len(pair) > (most or len(pair)):
        raise TypeError(f"{name} has {len(pair)} members, not ({members})")
    for side in pair[:2]:
        if not isinstance(side, str):
            raise TypeError(f"{name} has {side!r:.40} for a text, not a str")
    return pair


def language_pair(languages: Languages) -> Languages:
    """Return two languages; TypeError for another number of them, or members that are no str."""
    if isinstance(languages, tuple | list) and len(languages) == 2:
        source, target = languages
        if isinstance(source, str) and isinstance(target, str):
            return source, target
    raise TypeError(f'languages are two codes, as ("en", "de"), not {languages!r:.40}')


def two_languages(languages: Languages) -> tuple[Language, Language]:
    """Read two languages in any usual spelling.

    Raises TypeError as :func:`language_pair`, SettingsError for a code that nobody knows.
    """
    from bitextfilter.languages import read_language

    source, target = map(read_language, language_pair(languages))
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


def member_place(name: str, argument: str = "rules") -> int:
    """Return the index of a pair's column; SettingsError for a name other than ``score``."""
    if name == "score":
        return -1
    if not name.removeprefix("-").isdecimal() or int(name) == 0:
        message = f"a pair has no column {name!r}: number it from 1, or call it score"
        raise SettingsError(f"{argument}: {message}")
    return int(name) - (int(name) > 0)


def check_member(pairs: Sequence[Sequence[Any]], place: int, argument: str) -> None:
    """Raise SettingsError, with the name of an *argument*, if no pair has a member there."""
    if pairs and not any(-len(pair) <= place < len(pair) for pair in pairs):
        column, size = place + (place >= 0), len(pairs[0])
        raise SettingsError(f"{argument}: no pair has a column {column}; the first has {size}")


def member_text(pair: Sequence[Any], place: int, argument: str) -> str:
    """Return a member of a pair as text; SettingsError, with the *argument*, if it is missing."""
    check_member([pair], place, argument)
    return str(pair[place])


def member_number(pair: Sequence[Any], place: int) -> float:
    """Return a member of a pair as a number, NaN if it is missing or none."""
    if not -len(pair) <= place < len(pair):
        return math.nan
    value = pair[place]
    return float(value) if isinstance(value, Real) else number_of(str(value).encode())


def sentence_sides(
    sources: Iterable[str], targets: Iterable[str], *, paired: bool = False
) -> tuple[list[str], list[str]]:
    """Return both sides as lists; TypeError for what is no list of str.

    Raises ValueError for *paired* sides that differ in number.
    """
    from bitextfilter.text.words import sentence_list

    sides = sentence_list(sources, "sources"), sentence_list(targets, "targets")
    if paired and len(sides[0]) != len(sides[1]):
        raise ValueError(f"{len(sides[0])} source and {len(sides[1])} target sentences")
    return sides


def check_name(argument: str, name: str | None, known: Iterable[str]) -> None:
    """Raise SettingsError for a name that is neither None nor known."""
    if name is not None and name not in (names := list(known)):
        raise SettingsError(f"{argument} {none_of(name, names)}")


def names_of(names: str | Iterable[str], argument: str) -> list[str]:
    """Return one name or several as a list; TypeError for what is no list of str."""
    from bitextfilter.text.words import sentence_list

    return [names] if isinstance(names, str) else sentence_list(names, argument)
