"""Rules of agreement: the same addresses, tags, punctuation and digits on both sides."""

from __future__ import annotations

import functools
import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice
from string import ascii_letters
from typing import Any, ClassVar

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, Mask
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.rule import (
    Bounded,
    LanguagePair,
    PairFault,
    Rule,
    RuleResult,
    greatest,
)
from bitextfilter.settings import from_0
from bitextfilter.text import characters

Unmatched = tuple[Sequence[str], Sequence[str]]

_MOST_ITEMS = 10_000
"""Placeholders, or digits, of a side that are compared, which bounds the time."""

_NAMED = 3
"""Mismatches that a reason names; the others are counted."""


@dataclass(frozen=True)
class AgreementRule(PairFault):
    """A rule that compares the items of both sides; at most ``allowed`` may differ."""

    allowed: int = from_0(0)

    @abstractmethod
    def unmatched(self, source: str, target: str, languages: LanguagePair) -> Unmatched:
        """Return the items that only the source has, and those that only the target has."""

    @abstractmethod
    def marked(self, side: BatchSide) -> Mask:
        """Return the sentences that may hold an item, shape ``(n,)``."""

    def suspects(self, pairs: Pairs) -> Mask:
        """Select pairs with a side that may hold an item."""
        return self.marked(pairs.source) | self.marked(pairs.target)

    def fault(self, source: str, target: str, languages: LanguagePair) -> str | None:
        """Name the mismatches: ``1,500≠1,600, 7(target only)``. Equal sides have none."""
        one, other = self._unmatched(source, target, languages)
        count = max(len(one), len(other))
        if count <= self.allowed:
            return None
        named = [f"{a}≠{b}" for a, b in zip(one, other, strict=False)]
        named += [f"{item}(source only)" for item in one[len(other) :]]
        named += [f"{item}(target only)" for item in other[len(one) :]]
        more = [f"{count - _NAMED} more"] if count > _NAMED else []
        return ", ".join(named[:_NAMED] + more)

    def check(self, pairs: Pairs) -> RuleResult:
        """Count the mismatches of every suspect; name them only where the reason is asked for."""
        counts = np.zeros(len(pairs), dtype=np.int64)
        texts = [side.sentences for side in pairs.sides]
        for index in np.flatnonzero(self.suspects(pairs)).tolist():
            items = self._unmatched(texts[0][index], texts[1][index], pairs.languages)
            counts[index] = max(map(len, items))

        def reason(index: int) -> str:
            return f"{self.name}={self.fault_at(pairs, index)}"

        return RuleResult(self.accepts(counts), reason, counts)

    def accepts(self, values: NDArray[Any]) -> Mask:
        """Return which pairs have few enough mismatches, ``(n,)``."""
        return np.asarray(values <= self.allowed)

    def fitted(self, values: NDArray[Any], loss: int) -> Rule:
        """Return the rule that allows as many mismatches as all but *loss* of these pairs have."""
        return replace(self, allowed=int(greatest(values, loss)))

    def _unmatched(self, source: str, target: str, languages: LanguagePair) -> Unmatched:
        return ((), ()) if source == target else self.unmatched(source, target, languages)


_EMAIL = regex.compile(  # tried once for each run of such characters, from its first letter
    r"(?:\G|(?<![\p{L}\p{N}._%+-]))[._%+-]*+\K"
    r"[\p{L}\p{N}][\p{L}\p{N}._%+-]*+@(?:[\p{L}\p{N}-]++\.){1,127}\p{L}{2,}"
)


_WEB = regex.compile(
    r"(?:(?i:https?|ftp)://|(?<![\p{L}\p{N}@./-])(?:www|WWW)\.)[^\s<>\[\]\"“”„«»(){}|\\^`，。、）]+"
)
_SCHEME = regex.compile(r"^(?:[a-z]+://)?(?:www\.)?")
_LANGUAGE_OF_HOST = regex.compile(r"^[a-z]{2}(?:-[a-z]{2})?\.(?=[^.]+\.)")
_LANGUAGE_OF_PATH = regex.compile(
    r"/[a-z]{2}(?:[-_][a-z]{2})?(?=/|$)"
    r"|\.[a-z]{2}(?=\.html?$)"
    r"|[?&](?:lang|language|locale|hl)=[a-z_-]{2,5}"
)


def _plain_address(address: str) -> str:
    plain = _SCHEME.sub("", address.lower().rstrip(".,;:!?'’*…"))
    host, slash, path = plain.partition("/")
    if _LANGUAGE_OF_HOST.match(host):
        return str(host.partition(".")[2])
    path = _LANGUAGE_OF_PATH.sub("", slash + path)
    return f"{host}{path.rstrip('/')}"


_PLACEHOLDER = regex.compile(
    r"%%"
    r"|(?P<named>[%$\#]?\{\{?\s*-?[\p{L}\p{N}_][\p{L}\p{N}_.:$!|\[\]-]*\s*\}\}?|\{\}"
    r"|%\([\p{L}\p{N}_.-]+\)\p{L}|%<\w+>|%[A-Za-z]\w*_\w+|%(?:[A-Z]{2}[A-Z0-9_]*|[a-z_]{4,})%(?!%))"
    r"|(?<=[0-9]\s?)%(?:-\p{L}|\p{L}{2})\p{L}*+"
    r"|%(?P<place>[0-9]++\$)?[-+#0']*+(?:[0-9]++|\*)?(?:\.(?:[0-9]++|\*))?(?:hh?|ll?|[jztLq])?"
    r"(?P<kind>[diouxXeEfgGaAcspnm@])"
    r"|(?P<named>%L?[1-9][0-9]?)(?![0-9$])"
)
_FIGURE_AND_SIGN, _FROM_SIGNS = re.compile(r"[0-9]\s?%"), re.compile(r"%\S*")
_TIME_FORMAT = regex.compile(r"%[-_^#0]?[HIMYByb](?!\p{L})")
_INTEGER = dict.fromkeys("diu", "d")


_TAG = regex.compile(
    r"(?<!(?:^|[^\p{L}\p{N}>])L)<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]*)(?:\s[^<>]*?)?(?P<empty>/?)>"
)
_IN_ANGLES = re.compile("<[^<>]*>")
_HTML = frozenset(
    """
    a abbr b big blockquote body br button center code dd del div dl dt em font form h1 h2 h3 h4 h5
    h6 head hr html i img input ins kbd label li link meta ol option p pre q s script select small
    span strike strong style sub sup table tbody td textarea th thead title tr tt u ul var
    """.split()  # noqa: SIM905 - a list would be a page long
)
"""Names that are tags even without a closing tag."""


@dataclass(frozen=True)
class _Copied(AgreementRule):
    """A rule on items that a translator copies; each has a partner on the other side."""

    marks: ClassVar[tuple[str, ...]]
    """Each item contains one of these."""

    @abstractmethod
    def read(self, text: str) -> Iterable[str]:
        """Return the items of *text*, in a form that is the same for both sides."""

    def marked(self, side: BatchSide) -> Mask:
        if max(map(len, self.marks)) == 1:
            return np.asarray(side.counted("".join(self.marks)) > 0)
        return side.containing_any(self.marks)

    def unmatched(self, source: str, target: str, languages: LanguagePair) -> Unmatched:
        read = [*self.read(source)], [*self.read(target)]
        if read[0] == read[1]:
            return (), ()
        one, other = map(Counter, read)
        return list((one - other).elements()), list((other - one).elements())


@dataclass(frozen=True)
class EmailAddresses(_Copied):
    """The sides hold the same e-mail addresses, apart from case; ``allowed`` may differ."""

    name = "email-addresses"
    unit = "addresses without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("@",)

    def read(self, text: str) -> Iterable[str]:
        return list(dict.fromkeys(found[0].lower() for found in _EMAIL.finditer(text)))


@dataclass(frozen=True)
class WebAddresses(_Copied):
    """The sides hold the same web addresses; ``allowed`` may differ.

    An address starts with http, https, ftp or www. The scheme, ``www.``, case, a slash at the end
    and language codes (``/en-us/``, ``?lang=fr``) are ignored. Of a host that starts with a
    language, as ``de.wikipedia.org``, the path is ignored too.
    """

    name = "web-addresses"
    unit = "addresses without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("://", "www.", "WWW.")

    def read(self, text: str) -> Iterable[str]:
        return list(dict.fromkeys(_plain_address(found[0]) for found in _WEB.finditer(text)))


@dataclass(frozen=True)
class Placeholders(_Copied):
    """The sides hold the same placeholders of programs, in any order; ``allowed`` may differ.

    ``%s``, ``%1$d``, ``%(name)s``, ``%1``, ``%{x}``, ``${x}``, ``{0}``, ``{name}`` and ``{{x}}``;
    ``%2$s`` is the same as ``%s``. 5 % is not a placeholder, nor %40 where the other side has the
    number 40. The first 10,000 of a side are compared.
    """

    name = "placeholders"
    unit = "placeholders without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("%", "{")

    def read(self, text: str) -> Iterable[str]:
        """Yield the placeholders without flags, widths and positions.

        ``%1$s`` is ``%s``; ``%5i`` and ``%ld`` are ``%d``. Named and numbered ones count once.
        Formats of dates and times (``%H:%M``) differ between languages and do not count.
        """
        timed, seen = _TIME_FORMAT.search(text), set()
        for found in islice(_PLACEHOLDER.finditer(text), _MOST_ITEMS):
            whole, named, place, kind = found.group(0, "named", "place", "kind")
            kind = None if timed else kind
            plain = "".join(named.split()) if named else f"%{_INTEGER.get(str(kind), kind)}"
            numbered = place or (named and plain != "{}")
            if (kind or named) and not (numbered and whole in seen):
                yield plain
            seen.add(whole)

    def unmatched(self, source: str, target: str, languages: LanguagePair) -> Unmatched:
        """Leave out per cent as Turkish and Basque write them: ``%40``.

        Text that is the same from each ``%`` to the next space needs no reading.
        """
        plain = "{" not in source + target and not _FIGURE_AND_SIGN.search(f"{source} {target}")
        if plain and _FROM_SIGNS.findall(source) == _FROM_SIGNS.findall(target):
            return (), ()
        one, other = super().unmatched(source, target, languages)
        return (
            [item for item in one if not _is_percentage(item, target)],
            [item for item in other if not _is_percentage(item, source)],
        )


def _is_percentage(item: str, there: str) -> bool:
    """Return whether the number of ``%40`` stands *there* without a per cent sign before it."""
    found = re.fullmatch(r"%([1-9][0-9]?)", item)
    return bool(found and re.search(rf"(?<![%0-9])(?<!% ){found[1]}(?![0-9$])", there))


@dataclass(frozen=True)
class Tags(_Copied):
    """The sides hold the same tags of HTML or XML, in any order; ``allowed`` may differ.

    Attributes are ignored. ``<file>`` counts only where it is closed: it may be a word to
    translate.
    """

    name = "tags"
    unit = "tags without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("<",)

    def marked(self, side: BatchSide) -> Mask:
        return side.meeting("<", "/" + ascii_letters)

    def unmatched(self, source: str, target: str, languages: LanguagePair) -> Unmatched:
        """Compare the tags; those that are equal with their attributes need no reading.

        ``L<x>`` may be no tag, by what stands before it.
        """
        plain = "L<" not in source and "L<" not in target
        if plain and _IN_ANGLES.findall(source) == _IN_ANGLES.findall(target):
            return (), ()
        return super().unmatched(source, target, languages)

    def read(self, text: str) -> Iterable[str]:
        tags = [
            (bool(found["end"]), found["name"].lower(), bool(found["empty"]))
            for found in _TAG.finditer(text)
        ]
        sure = _HTML | {name for end, name, empty in tags if end or empty}
        return (f"</{name}>" if end else f"<{name}>" for end, name, _ in tags if name in sure)


_TERMINALS = ".?!…。．｡？！؟۔।॥։።᙮"
"""Marks that end sentences, in all scripts: OpusFilter's and more."""

_OPENING, _CLOSING = ("(（", "[［【〔", "{｛", "⟨〈《"), (")）", "]］】〕", "}｝", "⟩〉》")
"""Brackets of each kind, in all widths."""


@dataclass(frozen=True)
class TerminalPunctuation(Bounded):
    """The sides have similar numbers of sentence-ending marks, and few of them.

    The value is -log(1 + |s - t| + max(s - 1, 0) + max(t - 1, 0)) for s and t marks.
    """

    name = "terminal-punctuation"
    unit = "-log of a penalty, natural logarithm, 0 and below"
    origin = "Vázquez et al. 2019; OpusFilter TerminalPunctuationFilter (default -2)"

    minimum: float | None = -3

    def values(self, pairs: Pairs) -> Floats:
        source, target = (side.counted(_TERMINALS) for side in pairs.sides)
        penalty = np.abs(source - target) + np.maximum(source - 1, 0) + np.maximum(target - 1, 0)
        known, places = np.unique(penalty, return_inverse=True)
        logs = np.array([-math.log(1 + value) for value in known.tolist()], dtype=np.float64)
        return np.asarray(logs[places])


@dataclass(frozen=True)
class Parentheses(Bounded):
    """Both sides have the same unbalanced brackets.

    The value is the difference of the sides in opening less closing brackets, summed over round,
    square, curly and angle ones: 0 for ``a) word`` and ``a) Wort``, 1 for ``(word`` and
    ``(Wort)``.
    """

    name = "parentheses"
    unit = "brackets, 0 and up"
    origin = "Bicleaner no_paren (there: also at most six brackets of a kind but round ones)"

    maximum: float | None = 0

    def values(self, pairs: Pairs) -> Integers:
        return _difference(_unbalanced(side) for side in pairs.sides)


def _unbalanced(side: BatchSide) -> Integers:
    """Return opening less closing brackets of each kind, ``(n, kinds)``."""
    counts = side.histogram(characters.in_groups(*_OPENING, *_CLOSING), 2 * len(_OPENING))
    return counts[:, : len(_OPENING)] - counts[:, len(_OPENING) :]


@dataclass(frozen=True)
class Numerals(Bounded):
    """The sequences of digits other than 0 are similar on both sides.

    The value is the ratio of Ratcliff and Obershelp by Python's ``difflib``: 1 for the same
    digits, or none on both sides. Digits of any script count by their values. Of more than 10,000
    digits the first 10,000 are compared.
    """

    name = "numerals"
    unit = "0 to 1: similarity ratio"
    origin = "Vázquez et al. 2019; OpusFilter NonZeroNumeralsFilter (default 0.5)"

    minimum: float | None = 0.5

    def sure(self, pairs: Pairs) -> Mask | None:
        """Select pairs without a digit other than 0."""
        if not self.inside(np.ones(1))[0]:
            return None
        counts = [side.counted(_above_0()) == 0 for side in pairs.sides]
        return np.asarray(np.all(counts, axis=0))

    def values(self, pairs: Pairs) -> Floats:
        sides = [_digits_above_0(side) for side in pairs.sides]
        ratios = np.ones(len(pairs))
        for place, (one, other) in enumerate(zip(*sides, strict=True)):
            if one != other:
                ratios[place] = SequenceMatcher(None, one, other).ratio() if one and other else 0
        return ratios


@functools.cache
def _above_0() -> Mask:
    return characters.digits() > 0


def _digits_above_0(side: BatchSide) -> Iterator[bytes]:
    """Yield the values of each sentence's digits other than 0."""
    values = characters.digits()[side.codes]
    places = np.flatnonzero(values > 0)
    found = values[places].tobytes()
    bounds = (np.searchsorted(places, ends).tolist() for ends in (side.starts, side.ends))
    return (found[first:last][:_MOST_ITEMS] for first, last in zip(*bounds, strict=True))


@dataclass(frozen=True)
class NumberInconsistencies(Bounded):
    """The sides hold the same digits, in any order.

    The value is the number of digits without a partner on the other side. Good translations fail
    with spelt-out numbers, hours (3 p.m., 15:00) or converted units.
    """

    name = "number-inconsistencies"
    unit = "digits, 0 and up"
    origin = "Bicleaner no_number_inconsistencies (off there as well by default)"

    maximum: float | None = 0

    def values(self, pairs: Pairs) -> Integers:
        return _difference(_digit_counts(side) for side in pairs.sides)


@dataclass(frozen=True)
class Digits(Bounded):
    """A large enough share of the digits stands on both sides, in any order.

    The value is the number of common digits, with their counts, over the number on the side with
    more; 1 for sides without digits.
    """

    name = "digits"
    unit = "0 to 1: digits that both sides have / digits of the side with more"
    origin = "Rossenbach et al. 2018 (digits that agree)"

    minimum: float | None = 0.5

    def values(self, pairs: Pairs) -> Floats:
        source, target = (_digit_counts(side) for side in pairs.sides)
        most = np.maximum(source.sum(axis=1), target.sum(axis=1))
        shared = np.minimum(source, target).sum(axis=1)
        return np.where(most == 0, 1.0, shared / np.maximum(most, 1))


def _digit_counts(side: BatchSide) -> Integers:
    """Return the count of each digit, ``(n, 10)``."""
    return side.histogram(characters.digits(), 10)


def _difference(sides: Iterable[Integers]) -> Integers:
    """Return the absolute differences of counts ``(n, kinds)``, summed over the kinds."""
    source, target = sides
    return np.asarray(np.abs(source - target).sum(axis=1))
