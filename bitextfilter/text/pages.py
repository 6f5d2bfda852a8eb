"""The text of HTML pages, without menus, advertisements and other parts around it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from bitextfilter.errors import DeviceError, InputError
from bitextfilter.io.files import COMPRESSIONS
from bitextfilter.io.lines import LINE_BYTES, lines_of

_ENDINGS = {".html", ".htm", ".xhtml"}
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_HEAD_LINES = 20
"""Lines in which a page begins, if it is one."""
_OTHER = "a page is HTML with text of its own; leave the file out"


def is_page(name: str, head: bytes) -> bool:
    """Return whether a document is an HTML page, by its name or by its beginning.

    The name is that of a file, perhaps of a compressed one.
    """
    path = Path(name)
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
    return plain.suffix.lower() in _ENDINGS or _BEGINNING.match(head) is not None


def document_lines(stream: Iterable[bytes], name: str) -> Iterable[bytes]:
    """Return the lines of a plain text as they are, or those of the text of an HTML page.

    Raises InputError as :func:`page_lines` and ``lines_of``; DeviceError for a page, where the
    optional package is not installed.
    """
    lines = lines_of(stream, name)
    head = list(islice(lines, _HEAD_LINES))
    if not is_page(name, b"".join(head)):
        return chain(head, lines)
    return page_lines(_whole(chain(head, lines), name), name)


def _whole(lines: Iterable[bytes], name: str) -> bytes:
    """Return a page. Raises InputError if it is larger than 64 MiB."""
    parts, size = [], 0
    for line in lines:
        parts.append(line)
        size += len(line)
        if size > LINE_BYTES:
            raise InputError(f"a page larger than {LINE_BYTES >> 20} MiB", file=name)
    return b"".join(parts)


def page_lines(page: bytes, name: str) -> list[bytes]:
    """Return the paragraphs of the main text of an HTML page, each a line of UTF-8.

    Its encoding is recognised. Tabs become spaces; blank lines are left out.

    Raises:
        InputError: it is binary, or no text is found.
        DeviceError: trafilatura is not installed.
    """
    if b"\0" in page and not page.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("a binary file, no page", file=name, remedy=_OTHER)
    found = [line for line in _extracted(page) if line]
    if not found:
        raise InputError("no text is found in the page", file=name, remedy=_OTHER)
    return found


def _extracted(page: bytes) -> Iterator[bytes]:
    """Yield the paragraphs of a page."""
    try:
        import trafilatura
    except ModuleNotFoundError as error:
        remedy = "pip install 'bitextfilter[pages]'"
        raise DeviceError(f"HTML pages need trafilatura: {remedy}") from error
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # what it tells is told by us
    try:
        text = trafilatura.extract(page, include_comments=False, include_tables=True)
    except (ValueError, RecursionError):  # of its parser
        text = None
    for line in (text or "").split("\n"):
        plain = " ".join(line.replace("\0", " ").split())
        yield plain.encode("utf-8", "replace") + b"\n" if plain else b""
