"""Parses in Penn's brackets, and their templates, such as ``( S ( NP ) ( VP ) ( . ) )``.

A template is the two upper levels of a parse without its words, linearised (Iyyer et al. 2018,
section 3). A model reads it as a row of symbols: brackets and labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import InputError, ModelError, SettingsError

_LEVELS = 2

_PART = re.compile(r"[()]|[^\s()]+")
_WRAPPERS = ("", "ROOT", "TOP")
"""Labels of constituents that only wrap a parse."""


@dataclass
class Parse:
    """A constituent: its label, and its parts in order, without words."""

    label: str = ""
    parts: list[Parse] = field(default_factory=list)


def read_parse(text: str) -> Parse:
    """Read one bracketed parse, such as ``(S (NP (PRP It)) (VP (VBZ works)) (. .))``.

    Reads templates, too. Removes wrappers: ``ROOT``, ``TOP`` or no label. Raises InputError,
    without file and line, if the text is not one parse.
    """
    top = Parse()
    stack = [top]
    opened = False
    for part in _PART.findall(text):
        if part == "(":
            new = Parse()
            stack[-1].parts.append(new)
            stack.append(new)
        elif len(stack) == 1:
            raise InputError(f"a parse with {part!r} outside its brackets")
        elif part == ")":
            stack.pop()
        elif opened:
            stack[-1].label = part
        opened = part == "("
    if len(stack) > 1:
        raise InputError(f"a parse with {len(stack) - 1} brackets that are not closed")
    return _unwrapped(top)


def _unwrapped(top: Parse) -> Parse:
    """Return the only constituent, without wrappers. Raises InputError for a missing label."""
    if len(top.parts) != 1:
        raise InputError(f"{len(top.parts)} parses, expected one")
    parse = top.parts[0]
    while parse.label in _WRAPPERS and len(parse.parts) == 1:
        parse = parse.parts[0]
    waiting = [parse]
    while waiting:
        one = waiting.pop()
        if not one.label:
            raise InputError("a parse with a constituent that has no label")
        waiting += one.parts
    return parse


def linearised(parse: Parse, levels: int | None = None) -> str:
    """Return brackets and labels, with single spaces, of all levels or the upper *levels*."""
    pieces: list[str] = []
    waiting: list[tuple[Parse, int] | None] = [(parse, 1)]
    while waiting:
        if (one := waiting.pop()) is None:
            pieces.append(")")
            continue
        constituent, level = one
        pieces += ["(", constituent.label]
        waiting.append(None)
        if levels is None or level < levels:
            waiting += [(part, level + 1) for part in reversed(constituent.parts)]
    return " ".join(pieces)


def template_of(text: str) -> str:
    """Return the template of a parse or template. Raises InputError as :func:`read_parse`."""
    return linearised(read_parse(text), _LEVELS)


class TemplateSymbols:
    """The symbols of a model's templates: brackets and labels, numbered from 2."""

    UNKNOWN = 1
    """The id of unknown symbols; 0 is no symbol."""

    def __init__(self, symbols: list[str]) -> None:
        """Take a list of distinct *symbols*; ModelError if it is anything else."""
        if not isinstance(symbols, list) or not all(isinstance(each, str) for each in symbols):
            raise ModelError("the symbols of templates are no list of words")
        self.symbols = symbols
        self._numbers = {symbol: i for i, symbol in enumerate(symbols, self.UNKNOWN + 1)}
        if len(self._numbers) < len(symbols):
            raise ModelError("a symbol of templates stands twice")

    def __len__(self) -> int:
        return self.UNKNOWN + 1 + len(self.symbols)

    @classmethod
    def learn(cls, templates: Iterable[str], size: int) -> TemplateSymbols:
        """Take the most frequent symbols, for ids below *size*; ties in alphabetical order."""
        counts = Counter(symbol for template in templates for symbol in template.split())
        kept = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
        return cls(kept[: max(0, size - cls.UNKNOWN - 1)])

    def ids(self, template: str) -> NDArray[np.int32]:
        """Return the ids of a template's symbols; a single 0 for an empty one."""
        numbers = [self._numbers.get(symbol, self.UNKNOWN) for symbol in template.split()]
        return np.array(numbers or [0], dtype=np.int32)

    def unknown(self, template: str) -> list[str]:
        """Return the unknown symbols of a template, in order."""
        return [symbol for symbol in template.split() if symbol not in self._numbers]


def template_sides(
    known: TemplateSymbols | None, templates: Sequence[str] | None
) -> list[list[NDArray[np.int32]]]:
    """Return the ids of templates as one more input of a model, or none if it follows none.

    Raises SettingsError if the model needs templates and gets none, or the reverse.
    """
    if known is None and templates is None:
        return []
    if known is None:
        raise SettingsError("the model follows no templates")
    if templates is None:
        raise SettingsError(
            "the model writes by templates, and none is given"
            " (bitext-paraphrase generate --template)"
        )
    return [[known.ids(template) for template in templates]]
