"""Sections of XML in which no tags are read, and those that do not end where they should."""

from __future__ import annotations

import re

_ENDS = {
    b"<!--": (b"-->", "a comment"),
    b"<![CDATA[": (b"]]>", "a CDATA section"),
    b"<?": (b"?>", "a processing instruction"),
}
"""Starts of sections → their ends and names."""
_START = re.compile(rb"<(?:!--|!\[CDATA\[|\?|!?\Z|!-\Z|!\[[CDAT]*\Z)")
"""The start of a section, or of bytes at the end that may become one."""


def open_section(
    data: bytes, tags: re.Pattern[bytes], most: int, last: bool
) -> tuple[int, str | None]:
    """Return the place of the first section that is open at the end of *data*, or their length.

    And its name, if it does not end: no data follow the *last*, or it goes on over *tags* to the
    start of another such section, or over more than *most* bytes.
    """
    place = 0
    while found := _START.search(data, place):
        if found[0] not in _ENDS:
            return (len(data) if last else found.start()), None
        end, name = _ENDS[found[0]]
        closing = data.find(end, found.end())
        stop = len(data) if closing < 0 else closing
        tag = tags.search(data, found.end(), stop)
        another = tag and data.find(found[0], tag.end(), stop + len(end)) >= 0
        too_long = closing < 0 and (last or (tag and len(data) - found.start() > most))
        if another or too_long:
            return found.start(), name
        if closing < 0:
            return found.start(), None
        place = closing + len(end)
    return len(data), None
