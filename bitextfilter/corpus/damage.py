"""Kinds of noise: each function returns the corrupted pair, or None where it does not apply."""

from __future__ import annotations

import math
import random
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bitextfilter.corpus.boilerplate import boilerplate_line
from bitextfilter.text.negations import without_a_negation

Pair = tuple[str, str]

NEAR = 2
"""How far away a neighbouring line may be."""

MOST_TEXT = 1 << 25
"""No more is read ahead while so many characters are held, and those behind are let go."""

_TRIES = 20


class WordRange(NamedTuple):
    """How many words a text may have: what stands between white space is a word."""

    fewest: int
    most: int

    def holds(self, text: str) -> bool:
        """Say whether *text* has as many."""
        return self.fewest <= len(text.split()) <= self.most


class _Held(NamedTuple):
    pair: Pair
    fits: bool
    size: int


class PairWindow:
    """Iterates over pairs; holds up to *reach* on either side of the one it gave last.

    Only pairs of which both sides have a number of words in *words* fit, that is, are given as
    neighbours and others.
    """

    def __init__(self, pairs: Iterable[Pair], reach: int, words: WordRange) -> None:
        """Read nothing yet."""
        self._pairs = iter(pairs)
        self._reach = reach
        self._words = words
        self._held: deque[_Held] = deque()
        self._place = 0
        self._size = 0

    def __iter__(self) -> Iterator[Pair]:
        """Yield each pair in turn."""
        self._read_ahead()
        while self._place < len(self._held):
            yield self._held[self._place].pair
            self._place += 1
            self._let_go()
            self._read_ahead()

    def fits(self) -> bool:
        """Say whether the pair at hand has a number of words in the range."""
        return self._held[self._place].fits

    def neighbours(self) -> list[Pair]:
        """Return the pairs one and two lines away that fit, in order."""
        first, last = max(0, self._place - NEAR), min(len(self._held), self._place + NEAR + 1)
        near = (self._held[place] for place in range(first, last) if place != self._place)
        return [held.pair for held in near if held.fits]

    def others(self, chooser: random.Random) -> Iterator[Pair]:
        """Yield some pairs drawn from those held, the one at hand aside, as far as they fit."""
        for _ in range(_TRIES):
            place = chooser.randrange(len(self._held))
            if place != self._place and self._held[place].fits:
                yield self._held[place].pair

    def _read_ahead(self) -> None:
        while (ahead := len(self._held) - self._place) <= self._reach:
            if self._size > MOST_TEXT and ahead > NEAR:
                break
            pair = next(self._pairs, None)
            if pair is None:
                break
            fits = self._words.holds(pair[0]) and self._words.holds(pair[1])
            self._held.append(_Held(pair, fits, len(pair[0]) + len(pair[1])))
            self._size += self._held[-1].size

    def _let_go(self) -> None:
        while self._place > self._reach or (self._size > MOST_TEXT and self._place > NEAR):
            self._size -= self._held.popleft().size
            self._place -= 1


KEPT = (0.35, 0.6)
"""The least and the greatest part of its words that a truncated side keeps."""

_WHOLE_NUMBER = re.compile(r"(?<![\w.,:/-])[0-9]+(?!\w|[.,:/-][0-9])")
_WORD = re.compile(r"\w+")
_SHORTEST_NAME = 3


@dataclass(frozen=True)
class Surroundings:
    """What a kind may draw from: other pairs, foreign sentences, and chance."""

    window: PairWindow
    chooser: random.Random
    foreign: Sequence[str]
    languages: tuple[str, str]


Maker = Callable[[Pair, Surroundings], "Pair | None"]
SideMaker = Callable[[Pair, int, Surroundings], "str | None"]


def _with_side(pair: Pair, side: int, text: str) -> Pair:
    return (text, pair[1]) if side == 0 else (pair[0], text)


def _on_one_side(change: SideMaker) -> Maker:
    """Return what makes *change* on one side, drawn; on the other where that one cannot have it."""

    def make(pair: Pair, around: Surroundings) -> Pair | None:
        first = around.chooser.randrange(2)
        for side in (first, 1 - first):
            text = change(pair, side, around)
            if text is not None and text != pair[side]:
                return _with_side(pair, side, text)
        return None

    return make


def _shuffled(pair: Pair, around: Surroundings) -> Pair | None:
    """The target of another pair, drawn from the window."""
    return _with_target_of(pair, around.window.others(around.chooser))


def _neighbouring(pair: Pair, around: Surroundings) -> Pair | None:
    """The target of the pair one or two lines before or after it."""
    near = around.window.neighbours()
    return _with_target_of(pair, iter(around.chooser.sample(near, len(near))))


def _with_target_of(pair: Pair, others: Iterator[Pair]) -> Pair | None:
    """Return the source with the first other target that is not of the same source or text."""
    source, target = (text.casefold() for text in pair)
    for other in others:
        if other[0].casefold() != source and other[1].casefold() != target:
            return pair[0], other[1]
    return None


def _misordered(pair: Pair, side: int, around: Surroundings) -> str | None:
    """The words of one side in another order, each as likely as any other."""
    words = pair[side].split()
    if len(set(words)) == 1:
        return None
    mixed = list(words)
    while mixed == words:
        around.chooser.shuffle(mixed)
    return " ".join(mixed)


def _wrong_language(pair: Pair, side: int, around: Surroundings) -> str:  # noqa: ARG001
    """A foreign sentence in place of one side."""
    return around.chooser.choice(around.foreign)


def _copied(pair: Pair, around: Surroundings) -> Pair:
    """One side on both sides."""
    text = pair[around.chooser.randrange(2)]
    return text, text


def _truncated(pair: Pair, side: int, around: Surroundings) -> str | None:
    """The first words of one side: 35 to 60 % of them."""
    words = pair[side].split()
    least, most = math.ceil(KEPT[0] * len(words)), math.floor(KEPT[1] * len(words))
    return " ".join(words[: around.chooser.randint(least, most)]) if least <= most else None


def _extra(pair: Pair, side: int, around: Surroundings) -> str | None:
    """The same side of another pair, drawn from the window, after one side."""
    other = next(around.window.others(around.chooser), None)
    return None if other is None else f"{pair[side]} {other[side]}"


def _number(pair: Pair, side: int, around: Surroundings) -> str | None:
    """Another whole number, of as many digits, in place of one on one side."""
    found = list(_WHOLE_NUMBER.finditer(pair[side]))
    if not found:
        return None
    place = around.chooser.choice(found)
    new = old = place[0]
    while new == old:
        digits = [around.chooser.choice("123456789"), *around.chooser.choices("0123456789", k=99)]
        new = "".join(digits)[: len(old)].ljust(len(old), "0")
    return pair[side][: place.start()] + new + pair[side][place.end() :]


def _names(pair: Pair) -> list[str]:
    """The capitalised words of three letters or more on both sides, in the source's order."""
    source, target = (
        dict.fromkeys(w for w in _WORD.findall(text) if w[0].isupper() and w.isalpha())
        for text in pair
    )
    return [word for word in source if word in target and len(word) >= _SHORTEST_NAME]


def _name(pair: Pair, side: int, around: Surroundings) -> str | None:
    """A name of another pair, drawn from the window, in place of one that both sides have."""
    names = _names(pair)
    if not names:
        return None
    old = around.chooser.choice(names)
    known = {*_WORD.findall(pair[0]), *_WORD.findall(pair[1])}
    others = map(_names, around.window.others(around.chooser))
    found = ([name for name in other if name not in known] for other in others)
    new = around.chooser.choice(next(filter(None, found), [old]))
    return _WORD.sub(lambda word: new if word[0] == old else word[0], pair[side])


def _negation(pair: Pair, side: int, around: Surroundings) -> str | None:
    """One side without one of its negations."""
    return without_a_negation(pair[side], around.languages[side], around.chooser)


def _boilerplate(pair: Pair, around: Surroundings) -> Pair:
    """A line that web pages repeat: on one side, two on both, or the same one on both."""
    lines = [boilerplate_line(around.chooser, language) for language in around.languages]
    case = around.chooser.randrange(4)
    if case < len(lines):
        return _with_side(pair, case, lines[case])
    if case == len(lines):
        return lines[0], lines[1]
    line = around.chooser.choice(lines)
    return line, line


def _short(pair: Pair, around: Surroundings) -> Pair:
    """One to five words in a row of each side, from a place of its own."""

    def piece(text: str) -> str:
        words = text.split()
        length = around.chooser.randint(1, max(1, min(5, len(words) - 1)))
        start = around.chooser.randint(0, len(words) - length)
        return " ".join(words[start : start + length])

    return piece(pair[0]), piece(pair[1])


def _mojibake(pair: Pair, side: int, around: Surroundings) -> str:
    """One side with its UTF-8 read as Windows-1252 (or Latin-1), once or twice."""
    text = pair[side]
    for _ in range(around.chooser.choice((1, 1, 1, 2))):
        text = _misread(text.encode())
    return text


def _misread(data: bytes) -> str:
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:  # Windows-1252 leaves five bytes open
        return data.decode("latin-1")


def _repeated(pair: Pair, side: int, around: Surroundings) -> str:
    """One to four words in a row of one side, three to eight times."""
    words = pair[side].split()
    length = around.chooser.randint(1, min(4, len(words)))
    start = around.chooser.randint(0, len(words) - length)
    run = words[start : start + length] * around.chooser.randint(3, 8)
    return " ".join([*words[:start], *run, *words[start + length :]])


def _half(pair: Pair, around: Surroundings) -> Pair:  # noqa: ARG001
    """The second half of the source's words in place of the target's."""
    source, target = pair[0].split(), pair[1].split()
    return pair[0], " ".join(target[: len(target) // 2] + source[len(source) // 2 :])


KINDS: dict[str, Maker] = {
    "shuffled": _shuffled,
    "neighbouring": _neighbouring,
    "misordered": _on_one_side(_misordered),
    "wrong-language": _on_one_side(_wrong_language),
    "copied": _copied,
    "truncated": _on_one_side(_truncated),
    "extra": _on_one_side(_extra),
    "number": _on_one_side(_number),
    "name": _on_one_side(_name),
    "negation": _on_one_side(_negation),
    "boilerplate": _boilerplate,
    "short": _short,
    "mojibake": _on_one_side(_mojibake),
    "repeated": _on_one_side(_repeated),
    "half": _half,
}
"""The kinds of noise by name: what makes them of a pair, or of which pairs they cannot be made."""
