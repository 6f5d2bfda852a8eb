"""Damage clean pairs as crawled corpora are damaged: the kinds of noise, and the rates of each."""

from __future__ import annotations

import functools
import math
import random
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from bitextfilter.errors import SettingsError
from bitextfilter.io.files import read_toml
from bitextfilter.text.negations import REMOVABLE_NEGATIONS, without_a_negation
from bitextfilter.text.units import joined_units, word_units

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


def _boilerplate_line(chooser: random.Random, language: str) -> str:
    """Return a line of boilerplate in *language*, else in English, drawn by *chooser*."""
    templates = _boilerplate_templates()
    table = templates.get(language, templates["en"])
    return str(chooser.choice(table["lines"])).format_map(_Fields(chooser, table))


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


_Pair = tuple[str, str]

CLEAN = "clean"
"""Label of a pair without noise."""

_NEAR = 2
"""Largest distance of a neighbouring line."""
_MOST_TEXT = 1 << 25
"""Characters in a window; with more, no line is read ahead and those behind are released."""
_LONGEST = 10_000
"""Characters of a side that can be damaged: some kinds take a time that grows with their square."""
_TRIES = 20
_TRUNCATED = (0.35, 0.6)
"""Least and greatest share of its words that a truncated side keeps."""
_WHOLE_NUMBER = re.compile(r"(?<![\w.,:/-])[0-9]+(?!\w|[.,:/-][0-9])")
_WORD = re.compile(r"\w+")
_SHORTEST_NAME = 3


class _HeldPair(NamedTuple):
    pair: _Pair
    fits: bool
    size: int


class _PairWindow:
    """Iterates over pairs, and holds up to *reach* pairs before and after the current one.

    Only pairs of two texts that *fits* accepts are returned as neighbours and others.
    """

    def __init__(self, pairs: Iterable[_Pair], reach: int, fits: Callable[[str], bool]) -> None:
        self._pairs = iter(pairs)
        self._reach = reach
        self._fits = fits
        self._held: deque[_HeldPair] = deque()
        self._place = 0
        self._size = 0

    def __iter__(self) -> Iterator[_Pair]:
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

    def neighbours(self) -> list[_Pair]:
        """Return the fitting pairs one and two lines away, in order."""
        first, last = max(0, self._place - _NEAR), min(len(self._held), self._place + _NEAR + 1)
        near = (self._held[place] for place in range(first, last) if place != self._place)
        return [held.pair for held in near if held.fits]

    def others(self, chooser: random.Random) -> Iterator[_Pair]:
        """Yield fitting pairs drawn from the window, without the current one."""
        for _ in range(_TRIES):
            place = chooser.randrange(len(self._held))
            if place != self._place and self._held[place].fits:
                yield self._held[place].pair

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


@dataclass(frozen=True)
class _Context:
    """Material of the kinds of noise: other pairs, foreign sentences, random numbers."""

    window: _PairWindow
    chooser: random.Random
    foreign: Sequence[str]
    languages: tuple[str, str]


_Maker = Callable[[_Pair, _Context], "_Pair | None"]
_SideMaker = Callable[[_Pair, int, _Context], "str | None"]


def _with_side(pair: _Pair, side: int, text: str) -> _Pair:
    return (text, pair[1]) if side == 0 else (pair[0], text)


def _on_one_side(change: _SideMaker) -> _Maker:
    """Return a maker that applies *change* to a random side, or else to the other side."""

    @functools.wraps(change)
    def make(pair: _Pair, context: _Context) -> _Pair | None:
        first = context.chooser.randrange(2)
        for side in (first, 1 - first):
            text = change(pair, side, context)
            if text is not None and text != pair[side]:
                return _with_side(pair, side, text)
        return None

    return make


def _shuffled(pair: _Pair, context: _Context) -> _Pair | None:
    """The target of another pair."""
    return _with_target_of(pair, context.window.others(context.chooser))


def _neighbouring(pair: _Pair, context: _Context) -> _Pair | None:
    """The target of the pair one or two lines away."""
    near = context.window.neighbours()
    return _with_target_of(pair, iter(context.chooser.sample(near, len(near))))


def _with_target_of(pair: _Pair, others: Iterator[_Pair]) -> _Pair | None:
    """Return the source with the first target of a pair that differs in both texts."""
    source, target = (text.casefold() for text in pair)
    for other in others:
        if other[0].casefold() != source and other[1].casefold() != target:
            return pair[0], other[1]
    return None


def _misordered(pair: _Pair, side: int, context: _Context) -> str | None:
    """The words of a side in any order."""
    words = word_units(pair[side])
    if len(set(words)) == 1:
        return None
    mixed = list(words)
    while mixed == words:
        context.chooser.shuffle(mixed)
    return joined_units(mixed)


def _wrong_language(pair: _Pair, side: int, context: _Context) -> str:  # noqa: ARG001
    """A sentence of --foreign in place of a side."""
    return context.chooser.choice(context.foreign)


def _copied(pair: _Pair, context: _Context) -> _Pair:
    """A side on both sides."""
    text = pair[context.chooser.randrange(2)]
    return text, text


def _truncated(pair: _Pair, side: int, context: _Context) -> str | None:
    """The first 35 to 60 % of the words of a side."""
    words = word_units(pair[side])
    least, most = math.ceil(_TRUNCATED[0] * len(words)), math.floor(_TRUNCATED[1] * len(words))
    return joined_units(words[: context.chooser.randint(least, most)]) if least <= most else None


def _extra(pair: _Pair, side: int, context: _Context) -> str | None:
    """The sentence of another pair after a side."""
    other = next(context.window.others(context.chooser), None)
    return None if other is None else f"{pair[side]} {other[side]}"


def _number(pair: _Pair, side: int, context: _Context) -> str | None:
    """Another whole number in place of one, on one side."""
    found = list(_WHOLE_NUMBER.finditer(pair[side]))
    if not found:
        return None
    place = context.chooser.choice(found)
    new = old = place[0]
    while new == old:
        digits = [context.chooser.choice("123456789"), *context.chooser.choices("0123456789", k=99)]
        new = "".join(digits)[: len(old)].ljust(len(old), "0")
    return pair[side][: place.start()] + new + pair[side][place.end() :]


def _names(pair: _Pair) -> list[str]:
    """Return the capitalised words of three letters or more on both sides, in source order."""
    source, target = (
        dict.fromkeys(w for w in _WORD.findall(text) if w[0].isupper() and w.isalpha())
        for text in pair
    )
    return [word for word in source if word in target and len(word) >= _SHORTEST_NAME]


def _name(pair: _Pair, side: int, context: _Context) -> str | None:
    """Another name on one side, in place of one that both sides have."""
    names = _names(pair)
    if not names:
        return None
    old = context.chooser.choice(names)
    known = {*_WORD.findall(pair[0]), *_WORD.findall(pair[1])}
    others = map(_names, context.window.others(context.chooser))
    found = ([name for name in other if name not in known] for other in others)
    new = context.chooser.choice(next(filter(None, found), [old]))
    return _WORD.sub(lambda word: new if word[0] == old else word[0], pair[side])


def _negation(pair: _Pair, side: int, context: _Context) -> str | None:
    """A side without one of its negations, by --languages."""
    return without_a_negation(pair[side], context.languages[side], context.chooser)


def _boilerplate(pair: _Pair, context: _Context) -> _Pair:
    """Boilerplate of web pages, on one side or both, by --languages."""
    lines = [_boilerplate_line(context.chooser, language) for language in context.languages]
    case = context.chooser.randrange(4)
    if case < len(lines):
        return _with_side(pair, case, lines[case])
    if case == len(lines):
        return lines[0], lines[1]
    return (context.chooser.choice(lines),) * 2


def _short(pair: _Pair, context: _Context) -> _Pair:
    """One to five words in a row of each side."""

    def piece(text: str) -> str:
        words = word_units(text)
        length = context.chooser.randint(1, max(1, min(5, len(words) - 1)))
        start = context.chooser.randint(0, len(words) - length)
        return joined_units(words[start : start + length])

    return piece(pair[0]), piece(pair[1])


def _mojibake(pair: _Pair, side: int, context: _Context) -> str:
    """A side with its UTF-8 read as Windows-1252."""
    text = pair[side]
    for _ in range(context.chooser.choice((1, 1, 1, 2))):
        data = text.encode()
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:  # Windows-1252 leaves five bytes open
            text = data.decode("latin-1")
    return text


def _repeated(pair: _Pair, side: int, context: _Context) -> str:
    """One to four words of a side three to eight times."""
    words = word_units(pair[side])
    length = context.chooser.randint(1, min(4, len(words)))
    start = context.chooser.randint(0, len(words) - length)
    run = words[start : start + length] * context.chooser.randint(3, 8)
    return joined_units([*words[:start], *run, *words[start + length :]])


def _half(pair: _Pair, context: _Context) -> _Pair:  # noqa: ARG001
    """The second half of the source in place of the target's."""
    source, target = map(word_units, pair)
    return pair[0], joined_units(target[: len(target) // 2] + source[len(source) // 2 :])


NOISE_KINDS: dict[str, _Maker] = {
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
"""Makers of noise by kind; each returns the damaged pair, or None if it does not apply."""


@dataclass(frozen=True)
class NoiseSettings:
    """Material of the noise, and limits of the pairs to damage."""

    languages: tuple[str, str] = ("", "")
    """Codes of the source's and the target's language: for ``negation`` and ``boilerplate``."""
    foreign: Sequence[str] = ()
    """Sentences in neither language: for ``wrong-language``."""
    words: tuple[int, int] = (6, 60)
    """Fewest and most words on either side of a damaged pair."""
    window: int = 10_000
    """Pairs before and after a pair that ``shuffled``, ``extra`` and ``name`` draw from. Twice as
    many are held in memory."""

    def __post_init__(self) -> None:
        """Raise SettingsError for numbers out of range."""
        if not 1 <= self.words[0] <= self.words[1]:
            raise SettingsError(f"words from {self.words[0]} to {self.words[1]}: not a range")
        if self.window < 1:
            raise SettingsError(f"a window of {self.window}: must be at least 1")

    def fits(self, text: str) -> bool:
        """Return whether *text* has a number of words in the range, and is not too long."""
        return len(text) <= _LONGEST and self.words[0] <= len(word_units(text)) <= self.words[1]

    def lacks(self, kind: str) -> str | None:
        """Return the missing material for a *kind* of noise, or None."""
        if kind == "wrong-language" and not self._foreign():
            return f"foreign sentences (--foreign) of {self.words[0]} to {self.words[1]} words"
        if kind == "negation" and not set(self.languages) & set(REMOVABLE_NEGATIONS):
            return f"a language (--languages) of {', '.join(REMOVABLE_NEGATIONS)}"
        return None

    def _foreign(self) -> list[str]:
        return [" ".join(text.split()) for text in self.foreign if self.fits(text)]

    def context(self, pairs: Iterable[_Pair], seed: int) -> _Context:
        """Return the material for the noise of *pairs*."""
        window = _PairWindow(pairs, self.window, self.fits)
        return _Context(window, random.Random(seed), self._foreign(), self.languages)


_DEFAULTS = NoiseSettings()


def noise_settings(
    languages: tuple[str, str] | None,
    foreign: Iterable[str],
    words: tuple[int, int],
    window: int,
    seed: int,
) -> NoiseSettings:
    """Return settings with a sample of the *foreign* sentences, as many as *window* at most."""
    from bitextfilter.text.segment import sample

    settings = NoiseSettings(languages or ("", ""), (), words, window)
    return replace(settings, foreign=sample(filter(settings.fits, foreign), window, seed))


def even_rates(
    rate: float, settings: NoiseSettings = _DEFAULTS, without: Collection[str] = ()
) -> dict[str, float]:
    """Divide *rate* evenly among the kinds that *settings* have the material for.

    Kinds in *without* are left out.
    """
    kinds = [kind for kind in NOISE_KINDS if kind not in without and settings.lacks(kind) is None]
    return {kind: rate / len(kinds) for kind in kinds}


def noisy_pairs(
    pairs: Iterable[_Pair],
    rates: Mapping[str, float],
    seed: int,
    settings: NoiseSettings = _DEFAULTS,
) -> Iterator[tuple[str, str, str]]:
    """Yield source, target and label of each pair, some damaged by one kind of noise.

    Args:
        pairs: translations, in the order of their documents; read as needed.
        rates: share of the pairs for each kind in ``NOISE_KINDS``, 0 to 1, at most 1 in all.
            Other pairs stay as they are, labelled ``clean``.
        seed: the same pairs, rates, seed and settings give the same noise.
        settings: material and limits.

    A pair is damaged with the probability that the rates add up to, by a kind drawn by its rate
    among those that apply (``number`` needs a number). So a kind that applies to few pairs is
    rarer than asked, and the others are more frequent. Pairs with too few or too many words, with
    a side of more than 10,000 characters, or to which no kind applies, stay clean. A damaged pair
    differs from the clean one and has no blank side. Cut or reordered sides have single spaces.

    Raises SettingsError for an unknown kind, rates out of range, and missing material.
    """
    for kind, rate in rates.items():
        _check(kind, rate, settings)
    total = sum(rates.values())
    if total > 1 + 1e-9:
        raise SettingsError(f"the rates of noise add up to {total:g}: at most 1")
    wanted = {kind: rate for kind, rate in rates.items() if rate > 0}
    context = settings.context(pairs, seed)
    return (_perhaps_damaged(pair, wanted, context) for pair in context.window)


def _check(kind: str, rate: float, settings: NoiseSettings) -> None:
    if kind not in NOISE_KINDS:
        raise SettingsError(f"noise {kind!r} is none of {', '.join(NOISE_KINDS)}")
    if not 0 <= rate <= 1:
        raise SettingsError(f"a rate of {rate:g} for {kind!r}: must be 0 to 1")
    if rate and (lack := settings.lacks(kind)) is not None:
        raise SettingsError(f"noise {kind!r} needs {lack}")


def _perhaps_damaged(
    pair: _Pair, rates: Mapping[str, float], context: _Context
) -> tuple[str, str, str]:
    """Return *pair* with its label, perhaps damaged by a kind drawn among those that apply."""
    drawn = context.chooser.random() < sum(rates.values())
    left = dict(rates) if drawn and context.window.fits() else {}
    while left:
        (kind,) = context.chooser.choices(list(left), list(left.values()))
        made = NOISE_KINDS[kind](pair, context)
        if made is not None and made != pair and made[0].strip() and made[1].strip():
            return (*made, kind)
        del left[kind]
    return (*pair, CLEAN)
