"""What a translator copies: addresses, placeholders of programs, tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import regex

__all__ = ["read_emails", "read_placeholders", "read_tags", "read_web_addresses"]

Found = Counter[str]
"""How often each thing occurs, in a form that is the same for both sides."""

_EMAIL = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}._%+-]*+@(?:[\p{L}\p{N}-]++\.)+\p{L}{2,}")


def read_emails(text: str) -> Found:
    """Find e-mail addresses, each once; case makes no difference."""
    return _once(found[0].lower() for found in _EMAIL.finditer(text))


def _once(found: Iterable[str]) -> Found:
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


def read_web_addresses(text: str) -> Found:
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


def read_placeholders(text: str) -> Found:
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


def read_tags(text: str) -> Found:
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
