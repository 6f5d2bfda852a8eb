"""Material of the kinds of noise: the pairs around the current one, and what is drawn from them."""

from __future__ import annotations

import functools
import math
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bitextfilter.io.files import read_toml
from bitextfilter.text.units import word_spans

Pair = tuple[str, str]

_NEAR = 2
"""Largest distance of a neighbouring line."""
_MOST_TEXT = 1 << 25
"""Characters in a window; with more, no line is read ahead and those behind are released."""
_TRIES = 20


class _HeldPair(NamedTuple):
    pair: Pair
    fits: bool
    size: int


class PairWindow:
    """Iterates over pairs, and holds up to *reach* pairs before and after the current one.

    Only pairs of two texts that *fits* accepts are returned as neighbours and others.
    """

    def __init__(self, pairs: Iterable[Pair], reach: int, fits: Callable[[str], bool]) -> None:
        self._pairs = iter(pairs)
        self._reach = reach
        self._fits = fits
        self._held: deque[_HeldPair] = deque()
        self._place = 0
        self._size = 0

    def __iter__(self) -> Iterator[Pair]:
        self._read_ahead()
        while self._place < len(self._held):
            yield self._held[self._place].pair
            self._place += 1
            while self._place > self._reach or (self._size > _MOST_TEXT and self._place > _NEAR):
                self._size -= self._held.popleft().size
                self._place -= 1
            self._read_ahead()

    def fits(self) -> bool:
        """Return True if the current pair has a number of words in the range."""
        return self._held[self._place].fits

    def neighbours(self) -> list[Pair]:
        """Return the fitting pairs one and two lines away, in order."""
        first, last = max(0, self._place - _NEAR), min(len(self._held), self._place + _NEAR + 1)
        near = (self._held[place] for place in range(first, last) if place != self._place)
        return [held.pair for held in near if held.fits]

    def others(self, chooser: random.Random) -> Iterator[Pair]:
        """Yield fitting pairs drawn from the window, without the current one."""
        for _ in range(_TRIES):
            place = chooser.randrange(len(self._held))
            if place != self._place and self._held[place].fits:
                yield self._held[place].pair

    def texts(self, side: int) -> list[str]:
        """Return the texts of a side of the pairs held."""
        return [held.pair[side] for held in self._held]

    def _read_ahead(self) -> None:
        while (ahead := len(self._held) - self._place) <= self._reach:
            if self._size > _MOST_TEXT and ahead > _NEAR:
                break
            pair = next(self._pairs, None)
            if pair is None:
                break
            fits = self._fits(pair[0]) and self._fits(pair[1])
            self._held.append(_HeldPair(pair, fits, len(pair[0]) + len(pair[1])))
            self._size += self._held[-1].size


_FREQUENT = 60
_MOST_LETTERS = 6
"""Letters of a function word, at most."""
_STEM = 0.6
"""The part of its letters that a word shares with its other forms, at least; and at least 3."""
_LONGER = 4
"""Letters that a form may have more."""
WordTable = Mapping[str, Sequence[str]]
"""Words in lower case → others."""


def words_of(text: str) -> list[str]:
    """Return the words of *text* that have no digits."""
    words = (text[slice(*span)] for span in word_spans(text))
    return [word for word in words if not any(map(str.isdigit, word))]


@dataclass(frozen=True)
class Vocabulary:
    """The words of one side, in lower case."""

    frequent: Sequence[str]
    """The most frequent short ones, most frequent first."""
    stems: Mapping[str, Sequence[str]]
    """Words by their first letters."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Vocabulary:
        """Count the words of *texts*."""
        counts = Counter(word for text in texts for word in words_of(text.lower()))
        short = [word for word, _ in counts.most_common() if len(word) <= _MOST_LETTERS]
        stems: dict[str, list[str]] = {}
        for word in (word for word in counts if len(word) >= _SHORTEST):
            stems.setdefault(word[: _stem(word)], []).append(word)
        return cls(short[:_FREQUENT], stems)

    def forms(self, word: str) -> list[str]:
        """Return other words that begin like *word*, in order of appearance."""
        if len(word) < _SHORTEST or any(map(str.isdigit, word)):
            return []
        starts = {word[:length] for length in range(_stem(word) - 1, _stem(word) + 2)}
        found = (other for start in sorted(starts) for other in self.stems.get(start, ()))
        return [w for w in found if w != word and abs(len(w) - len(word)) <= _LONGER]


_SHORTEST = 3


def _stem(word: str) -> int:
    """The number of letters that a word shares with its other forms."""
    return max(_SHORTEST, math.ceil(len(word) * _STEM))


@dataclass(frozen=True)
class Context:
    """Material of the kinds of noise: other pairs, foreign sentences, random numbers."""

    window: PairWindow
    chooser: random.Random
    foreign: Sequence[str]
    languages: tuple[str, str]
    related: Mapping[str, WordTable]
    """Words of a language → related words of it."""
    lexicon: Mapping[tuple[str, str], WordTable]
    """Words of one language → their translations in another."""
    vocabularies: dict[int, Vocabulary] = field(default_factory=dict)

    def vocabulary(self, side: int) -> Vocabulary:
        """Return the vocabulary of a side, 0 or 1: of the pairs read when it is first asked for."""
        if side not in self.vocabularies:
            self.vocabularies[side] = Vocabulary.of(self.window.texts(side))
        return self.vocabularies[side]


Maker = Callable[[Pair, Context], "Pair | None"]
SideMaker = Callable[[Pair, int, Context], "str | None"]


def with_side(pair: Pair, side: int, text: str) -> Pair:
    """Return the pair with another text on a side, 0 or 1."""
    return (text, pair[1]) if side == 0 else (pair[0], text)


def on_one_side(change: SideMaker) -> Maker:
    """Return a maker that applies *change* to a random side, or else to the other side."""

    @functools.wraps(change)
    def make(pair: Pair, context: Context) -> Pair | None:
        first = context.chooser.randrange(2)
        for side in (first, 1 - first):
            text = change(pair, side, context)
            if text is not None and text != pair[side]:
                return with_side(pair, side, text)
        return None

    return make


_SURNAMES = (
    "Adams Albrecht Baker Becker Bernard Brandt Clark Dubois Fischer Girard Harris Hoffmann Jensen "
    "Keller Lambert Lehmann Martin Meyer Miller Moreau Novak Petit Richter Rossi Schulz Turner "
    "Vogel Walker Weber Winter"
)
_FORENAMES = "Anna Ben Carla David Emma Felix Hugo Julia Laura Marc Nina Paul Sara Thomas"


@functools.cache
def _boilerplate_templates() -> dict[str, dict[str, Any]]:
    """Return the templates of web pages' boilerplate in each language."""
    return read_toml(Path(__file__).with_name("boilerplate.toml"))


def boilerplate_line(chooser: random.Random, language: str) -> str:
    """Return a line of boilerplate in *language*, else in English, drawn by *chooser*."""
    templates = _boilerplate_templates()
    table = templates.get(language, templates["en"])
    return str(chooser.choice(table["lines"])).format_map(_Fields(chooser, table))


def remark(chooser: random.Random, language: str, text: str) -> str:
    """Return *text* with a remark of a language model, in *language* or in English, or a refusal.

    Drawn by *chooser*.
    """
    templates = _boilerplate_templates()
    tables = [templates.get(language, templates["en"]), templates["en"]]
    line: str = chooser.choice(chooser.choice(tables).get("remarks", templates["en"]["remarks"]))
    return line.replace("{text}", text)


class _Fields:
    """Values of the names in braces, drawn anew each time."""

    def __init__(self, chooser: random.Random, table: dict[str, Any]) -> None:
        self._chooser = chooser
        self._table = table

    def __getitem__(self, name: str) -> str:
        value: str = getattr(self, f"_{name}")()
        return value

    def _year(self) -> str:
        return str(self._chooser.randint(1998, 2024))

    def _number(self) -> str:
        return str(self._chooser.randint(2, 9999))

    def _surname(self) -> str:
        return self._chooser.choice(_SURNAMES.split())

    def _company(self) -> str:
        return f"{self._surname()} {self._chooser.choice(self._table['companies'])}"

    def _domain(self) -> str:
        end = self._chooser.choice(self._table["domains"])
        return f"{self._surname().lower()}-{self._surname().lower()}.{end}"

    def _mail(self) -> str:
        return f"{self._chooser.choice(('info', 'contact', 'office'))}@{self._domain()}"

    def _name(self) -> str:
        return f"{self._chooser.choice(_FORENAMES.split())} {self._surname()}"

    def _phone(self) -> str:
        parts = (self._chooser.randint(10, 9999) for _ in range(3))
        return f"+{self._chooser.randint(30, 49)} {' '.join(map(str, parts))}"

    def _date(self) -> str:
        day, month = self._chooser.randint(1, 28), self._chooser.randint(1, 12)
        return str(self._table["date"]).format(day=day, month=month, year=self._year())

    def _price(self) -> str:
        euros, cents = self._chooser.randint(1, 999), self._chooser.randint(0, 99)
        return str(self._table["price"]).format(euros=euros, cents=cents)

    def _trail(self) -> str:
        """Return a breadcrumb trail from the first page on."""
        first, *others = self._table["sections"].split()
        steps = self._chooser.sample(others, self._chooser.randint(2, 5))
        return self._chooser.choice((" > ", " » ", " / ")).join([first, *steps])

    def _menu(self) -> str:
        sections = self._table["sections"].split()
        items = self._chooser.sample(sections, self._chooser.randint(4, 9))
        return self._chooser.choice((" | ", " · ", " - ")).join(items)
