"""Arguments of the public functions, pairs as Python values, and rows of files as pairs.

Arguments are checked in one way, against their annotations.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from bitextfilter.errors import BitextError, InputError, SettingsError
from bitextfilter.io.files import open_input
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Columns, Row, is_blank, number_of, optional
from bitextfilter.settings import nearest, none_of, setting

Pair = TypeVar("Pair", bound=Sequence[Any])
Languages = tuple[str, str]

WINDOW = 8192
"""Pairs processed together."""
_REMEDY = "on_bad=FUNCTION goes on"


_P = ParamSpec("_P")
_R = TypeVar("_R")

_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "None": ("None", lambda value: value is None),
    "str": ("a str", lambda value: isinstance(value, str)),
    "Path": ("a path", lambda value: isinstance(value, Path)),
    "bool": ("True or False", lambda value: isinstance(value, bool)),
    "int": ("a whole number", lambda value: is_number(value, Integral)),
    "float": ("a number", lambda value: is_number(value) and not math.isnan(value)),
    "Model": ("a loaded model", lambda value: hasattr(value, "encode_side")),
    "Mapping": ("a dict", lambda value: isinstance(value, Mapping)),
    "Callable": ("a function", callable),
}
"""Types by name: in words, and whether a value is of it."""
_LISTS = ("Iterable", "Sequence", "Collection", "Languages")
"""Types that are checked where they are read."""
_OPTION = re.compile(r"--([a-z-]+)(?: (\w[\w:,]*?)(?=[;)]|: |$))?")
_ALTERNATIVES = re.compile(r" \| (?![^\[]*\])")


def checked(**within: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that refuses arguments of another type or range, by their names.

    The types are those of the annotations, the ranges as of :func:`bitextfilter.settings.setting`.
    Lists are checked where they are read. Numbers of NumPy become those of Python. Raises
    TypeError for a required argument of another type, SettingsError for all other faults.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        signature = inspect.signature(function)
        known = signature.parameters
        kinds = {name: _alternatives(str(its.annotation)) for name, its in known.items()}
        ranges = {n: setting(None, within=text).metadata["setting"] for n, text in within.items()}

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            given = signature.bind(*args, **kwargs)
            for name, value in given.arguments.items():
                if fault := _other_type(value, kinds[name]):
                    required = known[name].default is inspect.Parameter.empty
                    raise (TypeError if required else SettingsError)(f"{name} {fault}")
                given.arguments[name] = plain = _plain(value)
                bounds = ranges.get(name) if isinstance(plain, Real) else None
                if bounds and (fault := bounds.fault(plain)):
                    raise SettingsError(f"{name} {fault}")
            try:
                return function(*given.args, **given.kwargs)
            except BitextError as error:
                error.args = tuple(in_python(str(part), known) for part in error.args)
                raise

        return call

    return decorate


def in_python(message: str, known: Collection[str]) -> str:
    """Return a message with arguments in place of options: ``device='cpu'`` for --device cpu."""

    def argument(option: re.Match[str]) -> str:
        name, value = option[1].replace("-", "_"), option[2]
        if name not in known or not value:
            return name if name in known else option[0]
        parts = tuple(value.split(","))
        return f"{name}={parts if len(parts) > 1 else value!r}"

    return _OPTION.sub(argument, message)


def _alternatives(annotation: str) -> dict[str, Callable[[Any], bool]]:
    """Return the types that an argument may have, in words; none if all are checked elsewhere."""
    found: dict[str, Callable[[Any], bool]] = {}
    for kind in _ALTERNATIVES.split(annotation):
        name, _, inner = kind.rstrip("]").partition("[")
        parts = inner.split(", ")
        if name in _LISTS:
            return {}
        if name == "Literal":
            for word in (part.strip("\"'") for part in parts):
                found[repr(word)] = functools.partial(_is_word, word)
        elif name == "tuple":
            found[f"{len(parts)} whole numbers"] = functools.partial(_are_whole, len(parts))
        elif name in _KINDS:
            found |= [_KINDS[name]]
    return found


def _other_type(value: Any, kinds: Mapping[str, Callable[[Any], bool]]) -> str:
    """Return the fault of a value of none of these kinds; empty for one of them."""
    if not kinds or any(fits(value) for fits in kinds.values()):
        return ""
    near = nearest(value, [words.strip("'") for words in kinds if words[0] == "'"])
    *others, last = kinds
    either = f"{', '.join(others)} or {last}" if others else last
    return f"must be {either}, not {value!r:.40}{near}"


def _plain(value: Any) -> Any:
    """Return a value; a number of NumPy as one of Python."""
    return value.item() if isinstance(value, Real) and hasattr(value, "item") else value


def is_number(value: object, kind: type = Real) -> bool:
    """Whether a value is a number, and not True or False."""
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_word(word: str, value: object) -> bool:
    return isinstance(value, str) and value == word


def _are_whole(count: int, value: object) -> bool:
    if not isinstance(value, tuple | list) or len(value) != count:
        return False
    return all(is_number(each, Integral) for each in value)


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


def languages_as(kind: str, languages: Languages | None) -> Languages | None:
    """Return two languages in any usual spelling as their ``tag`` (zh-Hans) or ``code`` (zh).

    Raises TypeError as :func:`language_pair`, SettingsError for a code that nobody knows.
    """
    from bitextfilter.languages import read_language

    if languages is None:
        return None
    source, target = map(read_language, language_pair(languages))
    return getattr(source, kind), getattr(target, kind)


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
