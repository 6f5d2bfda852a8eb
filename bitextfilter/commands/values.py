"""How the words of shared options are read: columns, devices, languages."""

from __future__ import annotations

import re

import click

__all__ = ["column", "device", "language_pair", "numbered_column"]


def column(value: int | str) -> int | str:
    """Read a column: a 1-based number, negative from the end, or (with a header) a name."""
    text = str(value)
    if not re.fullmatch(r"[-+]?[0-9]+", text):
        return text
    if int(text) == 0:
        raise click.BadParameter("columns are counted from 1, or from the end with -1")
    return int(text)


def numbered_column(value: int | str) -> int | str:
    """Read the number of a column, where there is no header to name one."""
    if isinstance(where := column(value), str):
        raise click.BadParameter(f"{where!r} is no number")
    return where


def device(value: str) -> str:
    """Read a device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``."""
    if not re.fullmatch(r"auto|cpu|cuda(:[0-9]+)?", value):
        raise click.BadParameter(f"{value!r} is not auto, cpu, cuda or cuda:N")
    return value


def language_pair(value: str) -> tuple[str, str]:
    """Read ``en,de``: the codes of the source's and the target's language."""
    names = value.split(",")
    if len(names) != 2 or not all(map(_LANGUAGE.fullmatch, names)):
        raise click.BadParameter("expected two languages, source and target, such as en,de")
    return names[0], names[1]


_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
