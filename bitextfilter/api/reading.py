"""Pairs as Python has them: read from files, and checked.

A pair is a tuple or a list: source, target, perhaps more, last of all its score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

from bitextfilter.errors import SettingsError
from bitextfilter.io.files import open_input
from bitextfilter.io.rows import BadRow, Columns, Row, RowReader, Wanted, is_blank, number_of
from bitextfilter.text.tokens import sentence_list

Pair = TypeVar("Pair", bound=Sequence[Any])

_WINDOW = 8192
"""Pairs that are looked at together."""
_GO_ON = "on_bad=FUNCTION goes on"


def read_rows(
    path: str | Path,
    source: int | str = 1,
    target: int | str = 2,
    score: int | str | None = None,
    *,
    header: bool = False,
    on_bad: Callable[[int, str], object] | None = None,
) -> Iterator[tuple[Any, ...]]:
    """Yield source and target of each row of a TSV, and its score (NaN for none) if asked for.

    Args:
        path: may end in ``.gz``, ``.xz``, ``.bz2`` or ``.zst``.
        source: column, from 1, or from -1 for the last, or a name of the header.
        target: likewise.
        score: likewise.
        header: the first line names the columns.
        on_bad: is called with number and reason of each bad row, which is then left out.

    Raises:
        NotFoundError: there is no such file.
        InputError: a row lacks a column, is not UTF-8, has a NUL or an empty side; not with
            ``on_bad``.
    """
    wanted = [Wanted("source", "source=", source), Wanted("target", "target=", target)]
    wanted += [] if score is None else [Wanted("score", "score=", score)]
    columns = _Columns(source, target, score is not None, tuple(wanted))
    with open_input(path) as stream:
        for row in RowReader(stream, str(path), columns, header, _GO_ON):
            bad = row if isinstance(row, BadRow) else _blank_side(row, str(path))
            if isinstance(row, Row) and bad is None:
                yield (*row.texts[:2], *(number_of(text.encode()) for text in row.texts[2:]))
            elif bad is not None and on_bad is not None:
                on_bad(bad.number, bad.reason)
            elif bad is not None:
                raise bad.error()


@dataclass(frozen=True)
class _Columns(Columns):
    """Columns of which only the score may be empty."""

    columns: tuple[Wanted, ...] = ()

    def wanted(self) -> tuple[Wanted, ...]:
        """Return them."""
        return self.columns


def _blank_side(row: Row, name: str) -> BadRow | None:
    """Return the row as a bad one where a side is blank."""
    for side, text in zip(("source", "target"), row.texts, strict=False):
        if is_blank(text):
            return BadRow(row.number, row.line, row.ending, f"the {side} is empty", _GO_ON, name)
    return None


def windows(
    pairs: Iterable[Pair], fewest: int = 2, most: int | None = None
) -> Iterator[list[Pair]]:
    """Yield pairs some thousands at a time; TypeError for what is no pair of texts."""
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise TypeError(f"pairs is {pairs!r:.40}, not pairs: give [(source, target)]")
    rest = enumerate(pairs)
    while numbered := list(islice(rest, _WINDOW)):
        for index, pair in numbered:
            _check_pair(pair, index, fewest, most)
        yield [pair for _, pair in numbered]


def _check_pair(pair: Any, index: int, fewest: int, most: int | None) -> None:
    members = "source, target, score" if fewest > 2 else "source, target"
    if isinstance(pair, str) or not isinstance(pair, Sequence):
        raise TypeError(f"pairs[{index}] is {pair!r:.40}, not ({members})")
    if len(pair) < fewest or len(pair) > (most or len(pair)):
        raise TypeError(f"pairs[{index}] has {len(pair)} members, not ({members})")
    for side in pair[:2]:
        if not isinstance(side, str):
            raise TypeError(f"pairs[{index}] has {side!r:.40} for a text, not a str")


def language_codes(languages: tuple[str, str] | None) -> tuple[str, str] | None:
    """Return the codes of two languages; TypeError for what is none."""
    if languages is None:
        return None
    if isinstance(languages, str) or len(languages) != 2:
        raise TypeError(f'languages are two codes, as ("en", "de"), not {languages!r:.40}')
    source, target = sentence_list(languages, "languages")
    return source, target


def member_place(name: str) -> int:
    """Return the index of a member of a pair; SettingsError where that cannot be told."""
    if name == "score":
        return -1
    if not name.removeprefix("-").isdecimal() or int(name) == 0:
        raise SettingsError(f"a pair has no column {name!r}: number it from 1, or call it score")
    return int(name) - (int(name) > 0)


def member_number(pair: Sequence[Any], place: int) -> float:
    """Return a member as a number; NaN where there is none."""
    if not -len(pair) <= place < len(pair):
        return math.nan
    value = pair[place]
    return float(value) if isinstance(value, Real) else number_of(str(value).encode())
