"""The errors that a user can correct.

Only ``commands/`` turns them into exit codes. Any other exception is a bug, and is shown with its
traceback.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

_UNSAFE = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST = 2000


def printable(text: str) -> str:
    """Return *text* as a line that a terminal only shows, for messages; a long one is cut.

    Control characters (C0 and C1), line ends and marks of direction are escaped as in Python, and
    so is a byte of a file's name that is not UTF-8.
    """
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    if text.isprintable():
        return text
    return _UNSAFE.sub(lambda found: repr(found[0])[1:-1], text)


class BitextError(Exception):
    """The base of all: ``str(error)`` is one line for the user."""


class InputError(BitextError):
    """Unusable data, with its place and a remedy.

    ``str(InputError("1 column, expected at least 2 (--tcol 2)", file="pairs.tsv", line=812,
    remedy="--on-error reject --rejects FILE keeps going"))`` is ``pairs.tsv:812: 1 column,
    expected at least 2 (--tcol 2); --on-error reject --rejects FILE keeps going``.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ) -> None:
        """Take a *message*, the *file* and 1-based *line*, and a *remedy*."""
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.remedy = remedy

    def __str__(self) -> str:
        """Return ``file:line: message; remedy``, without unknown parts."""
        place = self.file or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}; {self.remedy}" if self.remedy else text


class NotFoundError(BitextError):
    """A missing input file or model."""


class ModelError(BitextError):
    """A model folder that is damaged, incomplete, or made by a newer version."""


class SettingsError(BitextError):
    """Settings that are unknown, out of range, or contradict each other."""


class DeviceError(BitextError):
    """A requested device or optional package that is missing."""


@contextmanager
def optional(reason: str, extra: str) -> Iterator[None]:
    """Raise DeviceError where the block imports a package that is missing.

    It begins with the *reason*, and names the *extra* that brings the package.
    """
    try:
        yield
    except ImportError as error:
        raise DeviceError(f"{reason} pip install 'bitextfilter[{extra}]'") from error


class OutputError(BitextError):
    """A result that could not be written."""


class WorkerError(BitextError):
    """Work that failed on every worker, or for which none could be started."""
