"""Links between the sentences of two documents as lines of text: ``[0]:[0,1]:0.8300``.

The format of vecalign: indices of source and target sentences, from 0, and perhaps a score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bitextfilter.errors import InputError
from bitextfilter.io.files import BOM, lines_of

LinkedIndices = tuple[tuple[int, ...], tuple[int, ...]]
"""Indices of source and of target sentences."""

_SIDE = rb"\[\s*((?:\d{1,9}(?:\s*,\s*\d{1,9})*)?)\s*\]"
_LINK = re.compile(rb"\s*" + _SIDE + rb"\s*:\s*" + _SIDE + rb"\s*(?::.*)?", re.DOTALL)


def link_line(source: Sequence[int], target: Sequence[int], score: str) -> bytes:
    """Return a link as a line; ``score`` may be empty."""
    sides = ":".join(f"[{','.join(map(str, side))}]" for side in (source, target))
    return f"{sides}:{score}\n".encode()


def read_links(stream: Iterable[bytes], name: str) -> list[LinkedIndices]:
    """Return the links of a binary stream, called *name* in messages; blank lines are skipped.

    Raises InputError for a line that is no link, or if the stream cannot be read.
    """
    links = []
    for number, line in enumerate(lines_of(stream, name), start=1):
        found = _LINK.fullmatch(line.removeprefix(BOM) if number == 1 else line)
        if found is not None:
            source, target = (
                tuple(sorted(map(int, re.findall(rb"\d+", side)))) for side in found.groups()
            )
            links.append((source, target))
        elif line.strip():
            message = f"no link: {line[:40].decode(errors='replace').rstrip()!r}"
            remedy = "a link is written [0]:[0,1] or [0]:[0,1]:0.83"
            raise InputError(message, file=name, line=number, remedy=remedy)
    return links
