"""Rules of agreement: addresses, placeholders, tags and punctuation on both sides."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Bounded, Languages, PairFault

_Found = Counter[str]
"""How often each thing occurs, in a form that is the same for both sides."""

_EMAIL = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}._%+-]*+@(?:[\p{L}\p{N}-]++\.)+\p{L}{2,}")


def read_emails(text: str) -> _Found:
    """Find e-mail addresses, each once; case makes no difference."""
    return _once(found[0].lower() for found in _EMAIL.finditer(text))


def _once(found: Iterable[str]) -> _Found:
    """Count each once, in the order in which they stand."""
    return Counter(dict.fromkeys(found, 1))


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


def read_web_addresses(text: str) -> _Found:
    """Find web addresses, each once, without the scheme, ``www.`` and the mark of a language.

    ``https://example.org/de/page`` and ``example.org/en-us/page/`` are the same. Of an address
    whose host starts with a language, as ``de.wikipedia.org``, only the host counts: its pages
    have other names.
    """
    return _once(_plain_address(found[0]) for found in _WEB.finditer(text))


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
    r"|(?<=[0-9]\s?)%-?\p{L}{2,}"
    r"|%(?P<place>[0-9]+\$)?[-+#0']*(?:[0-9]+|\*)?(?:\.(?:[0-9]+|\*))?(?:hh?|ll?|[jztLq])?"
    r"(?P<kind>[diouxXeEfgGaAcspnm@])"
    r"|(?P<named>%L?[1-9][0-9]?)(?![0-9$])"
)
_TIME_FORMAT = regex.compile(r"%[-_^#0]?[HIMYByb](?!\p{L})")
_INTEGER = dict.fromkeys("diu", "d")


def read_placeholders(text: str) -> _Found:
    """Find the placeholders of programs, without flags, widths and the order that they give.

    ``%1$s`` and ``%s`` are the same, and so are ``%d``, ``%5i`` and ``%ld``. What has a name or
    number counts once, however often it stands there. Formats of dates and times (``%H:%M``) differ
    between languages: what is in them does not count.
    """
    return Counter(_placeholders(text))


def _placeholders(text: str) -> Iterator[str]:
    timed, seen = _TIME_FORMAT.search(text), set()
    for found in _PLACEHOLDER.finditer(text):
        kind = None if timed else found["kind"]
        plain = "".join((found["named"] or "").split()) or f"%{_INTEGER.get(kind or '', kind)}"
        numbered = found["place"] or (found["named"] and plain != "{}")
        if (kind or found["named"]) and not (numbered and found[0] in seen):
            yield plain
        seen.add(found[0])


_TAG = regex.compile(
    r"(?<!(?:^|[^\p{L}\p{N}>])L)<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]*)(?:\s[^<>]*?)?(?P<empty>/?)>"
)
HTML = frozenset(
    """
    a abbr b big blockquote body br button center code dd del div dl dt em font form h1 h2 h3 h4 h5
    h6 head hr html i img input ins kbd label li link meta ol option p pre q s script select small
    span strike strong style sub sup table tbody td textarea th thead title tr tt u ul var
    """.split()  # noqa: SIM905 - a list would be a page long
)
"""Tags that are tags even where nothing closes them."""


def read_tags(text: str) -> _Found:
    """Find the tags of HTML and XML by their names, in lower case.

    ``<file>`` is one where it is closed on the same side, or a tag of HTML: it may also be a word
    that stands for another. ``L</link>`` of Perl's documentation is none.
    """
    tags = [
        (bool(found["end"]), found["name"].lower(), bool(found["empty"]))
        for found in _TAG.finditer(text)
    ]
    sure = HTML | {name for end, name, empty in tags if end or empty}
    return Counter(f"</{name}>" if end else f"<{name}>" for end, name, _ in tags if name in sure)


Unmatched = tuple[Sequence[str], Sequence[str]]

_NAMED = 3
"""Mismatches that a reason names; it counts the others."""


@dataclass(frozen=True)
class Agreement(PairFault):
    """A rule that finds things on both sides and drops pairs where more than so many differ."""

    allowed: int = 0

    def __post_init__(self) -> None:
        """Raise SettingsError for a number below zero."""
        if self.allowed < 0:
            raise SettingsError(f"{self.name}: allowed={self.allowed} is below 0")

    @abstractmethod
    def unmatched(self, source: str, target: str, languages: Languages) -> Unmatched:
        """Return what only the source has, and what only the target has, as written there."""

    @abstractmethod
    def marked(self, side: Side) -> NDArray[np.bool_]:
        """Say which sentences may hold what the rule looks for, shape ``(n,)``."""

    def suspects(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Look only where a side holds something."""
        return self.marked(pairs.source) | self.marked(pairs.target)

    def fault(self, source: str, target: str, languages: Languages) -> str | None:
        """Name the mismatches: ``1,500≠1,600, 7(target only)``; a copy has none."""
        if source == target:
            return None
        one, other = self.unmatched(source, target, languages)
        count = max(len(one), len(other))
        if count <= self.allowed:
            return None
        named = [_mismatch(*both) for both in zip_longest(one[:_NAMED], other[:_NAMED])]
        more = [f"{count - _NAMED} more"] if count > _NAMED else []
        return ", ".join(named + more)


def _mismatch(one: str | None, other: str | None) -> str:
    if one is not None and other is not None:
        return f"{one}≠{other}"
    return f"{one}(source only)" if other is None else f"{other}(target only)"


@dataclass(frozen=True)
class _Copied(Agreement):
    """A rule of what a translator copies; each occurrence has one on the other side."""

    marks: ClassVar[tuple[str, ...]]
    """One of these is in whatever the rule looks for."""

    @abstractmethod
    def read(self, text: str) -> Counter[str]:
        """Count what *text* holds, in a form that is the same for both sides."""

    def marked(self, side: Side) -> NDArray[np.bool_]:
        """Look for the marks."""
        found: NDArray[np.bool_] = np.any([side.containing(mark) for mark in self.marks], axis=0)
        return found

    def unmatched(self, source: str, target: str, languages: Languages) -> Unmatched:
        """Return what one side has more of."""
        one, other = self.read(source), self.read(target)
        return list((one - other).elements()), list((other - one).elements())


@dataclass(frozen=True)
class EmailAddresses(_Copied):
    """The sides hold the same e-mail addresses, in whatever case; ``allowed`` may differ."""

    name = "email-addresses"
    unit = "addresses without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("@",)

    def read(self, text: str) -> Counter[str]:
        """Find e-mail addresses."""
        return read_emails(text)


@dataclass(frozen=True)
class WebAddresses(_Copied):
    """The sides hold the same web addresses; ``allowed`` may differ.

    An address starts with http, https, ftp or www. The scheme, ``www.``, case, a slash at the end
    and what names a language (``/en-us/``, ``?lang=fr``) make no difference; where the host
    starts with a language, as ``de.wikipedia.org``, the path makes none either.
    """

    name = "web-addresses"
    unit = "addresses without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("://", "www.", "WWW.")

    def read(self, text: str) -> Counter[str]:
        """Find web addresses."""
        return read_web_addresses(text)


@dataclass(frozen=True)
class Placeholders(_Copied):
    """The sides hold the same placeholders of programs, in any order; ``allowed`` may differ.

    ``%s``, ``%1$d``, ``%(name)s``, ``%1``, ``%{x}``, ``${x}``, ``{0}``, ``{name}`` and ``{{x}}``;
    ``%2$s`` is the same as ``%s``. 5 % is none.
    """

    name = "placeholders"
    unit = "placeholders without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("%", "{")

    def read(self, text: str) -> Counter[str]:
        """Find placeholders."""
        return read_placeholders(text)


@dataclass(frozen=True)
class Tags(_Copied):
    """The sides hold the same tags of HTML or XML, in any order; ``allowed`` may differ.

    Attributes make no difference. ``<file>`` counts where it is closed, for it may be a word that
    a translator should translate.
    """

    name = "tags"
    unit = "tags without a partner on the other side, 0 and up"
    origin = "ours"
    marks = ("<",)

    def read(self, text: str) -> Counter[str]:
        """Find tags."""
        return read_tags(text)


TERMINALS = ".?!…。．｡？！؟۔।॥։።᙮"
"""Marks that end sentences: those of OpusFilter, and of scripts with marks of their own."""

BRACKETS = ("(（", ")）"), ("[［【〔", "]］】〕"), ("{｛", "}｝"), ("⟨〈《", "⟩〉》")
"""Opening and closing brackets of each kind, as wide as they come."""


@dataclass(frozen=True)
class TerminalPunctuation(Bounded):
    """The sides hold about as many marks that end sentences, and each of them few.

    The value is -log(1 + |s - t| + max(s - 1, 0) + max(t - 1, 0)) for s and t such marks.
    """

    name = "terminal-punctuation"
    unit = "-log of a penalty, natural logarithm, 0 and below"
    origin = "Vázquez et al. 2019; OpusFilter TerminalPunctuationFilter (default -2)"

    minimum: float | None = -3

    def values(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the scores."""
        source, target = (side.count(_terminals()[side.codes]) for side in pairs.sides)
        penalty = np.abs(source - target)
        penalty += np.maximum(source - 1, 0) + np.maximum(target - 1, 0)
        scores = [-math.log(1 + value) for value in range(int(penalty.max(initial=0)) + 1)]
        values: NDArray[np.float64] = np.array(scores)[penalty]
        return values


@functools.cache
def _terminals() -> NDArray[np.bool_]:
    return _table(TERMINALS)


@functools.cache
def _brackets() -> NDArray[np.int8]:
    """Return, for each code point, 1 + its kind for an opening bracket, and less for closing."""
    table = np.zeros(0x110000, dtype=np.int8)
    for kind, (opening, closing) in enumerate(BRACKETS, start=1):
        table[[ord(sign) for sign in opening]] = kind
        table[[ord(sign) for sign in closing]] = -kind
    return table


def _table(signs: str) -> NDArray[np.bool_]:
    table = np.zeros(0x110000, dtype=bool)
    table[[ord(sign) for sign in signs]] = True
    return table


@dataclass(frozen=True)
class Parentheses(Bounded):
    """Brackets that are open on one side, or closed without being opened, are so on the other.

    The value adds up, over round, square, curly and angle brackets, by how many the sides differ
    in what opens more than it closes: 0 for ``a) word`` and ``a) Wort``, 1 for ``(word`` and
    ``(Wort)``.
    """

    name = "parentheses"
    unit = "brackets, 0 and up"
    origin = "Bicleaner no_paren (there: also at most six brackets of a kind but round ones)"

    maximum: float | None = 0

    def values(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return the differences."""
        source, target = (_open(side) for side in pairs.sides)
        differences: NDArray[np.int64] = np.abs(source - target).sum(axis=1)
        return differences


def _open(side: Side) -> NDArray[np.int64]:
    """Return opening less closing brackets of each kind, shape ``(n, kinds)``."""
    kinds = _brackets()[side.codes]
    places = np.flatnonzero(kinds)
    kinds = kinds[places]
    count = len(BRACKETS) + 1
    cells = np.searchsorted(side.ends, places) * count + np.abs(kinds)
    shape = len(side), count
    opened = np.bincount(cells[kinds > 0], minlength=len(side) * count)
    closed = np.bincount(cells[kinds < 0], minlength=len(side) * count)
    return (opened - closed).reshape(shape)
