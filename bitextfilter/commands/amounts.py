"""Amounts on the command line: ``10M``, ``1/3``, fold ``3/10``, a score."""

from __future__ import annotations

import re
from fractions import Fraction
from math import isnan

import click

from bitextfilter.io.rows import number_of

__all__ = ["amount", "fold", "fraction", "most_bad", "score"]

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def amount(value: str) -> int:
    """Read a number of rows or words: ``500``, ``500k``, ``2.5M``, ``1G``."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kmg]?)", value.lower())
    number = Fraction(found[1]) * UNITS[found[2]] if found else Fraction(1, 2)
    if number.denominator != 1:
        raise click.BadParameter(f"{value!r} is not a whole number, or one such as 500k or 2.5M")
    return int(number)


def fraction(value: str) -> Fraction:
    """Read a fraction from 0 to 1, exactly: ``0.3`` or ``1/3``."""
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError):
        number = Fraction(-1)
    if not 0 <= number <= 1:
        raise click.BadParameter(f"{value!r} is not a fraction from 0 to 1")
    return number


def fold(value: str) -> tuple[int, int]:
    """Read a fold: ``3/10`` is the third of ten."""
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", value)
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise click.BadParameter(f"{value!r} is not a fold such as 3/10, from 1/10 to 10/10")
    return part, parts


def score(value: str) -> float:
    """Read a score: any number, infinities too."""
    number = number_of(value.encode())
    if isnan(number):
        raise click.BadParameter(f"{value!r} is not a number")
    return number


def most_bad(value: str) -> int | Fraction:
    """Read how many rows may be bad: a number, ``1000`` or ``10k``, or a share, ``1%``."""
    share = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", value)
    if not share:
        return amount(value)
    if Fraction(share[1]) > 100:
        raise click.BadParameter(f"{value!r} is more than all rows")
    return Fraction(share[1]) / 100
