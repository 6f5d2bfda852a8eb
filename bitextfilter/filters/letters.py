"""Rules of what a sentence is written with: shares of letters, scripts, alphabets and digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats
from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Bounded
from bitextfilter.text import characters

ANY_SCRIPT = ("Common", "Inherited")


def _each_side(pairs: Pairs, share: Callable[[Side], Floats]) -> Floats:
    return np.stack([share(side) for side in pairs.sides], axis=1)


def _share(part: NDArray[np.int64], whole: NDArray[np.int64], of_nothing: float) -> Floats:
    """Return ``part / whole``, and *of_nothing* where the whole is nothing."""
    return np.where(whole > 0, part / np.maximum(whole, 1), of_nothing)


@dataclass(frozen=True)
class AlphabetRatio(Bounded):
    """Enough of the characters of each side are alphabetic, white space counted or not.

    A blank side has 1.
    """

    name = "alphabet-ratio"
    unit = "0 to 1: alphabetic share of the characters of each side"
    origin = "OpusFilter AlphabetRatioFilter (default 0.75)"

    minimum: float | None = 0.5
    exclude_whitespace: bool = False

    def values(self, pairs: Pairs) -> Floats:
        """Return the shares."""
        return _each_side(pairs, self._of)

    def _of(self, side: Side) -> Floats:
        spaces = side.count(side.spaces) if self.exclude_whitespace else 0
        return _share(side.count(side.alphabetic), side.lengths - spaces, of_nothing=1)


@dataclass(frozen=True)
class Script(Bounded):
    """Enough of the letters of each side are of the script that its language is written in.

    ``source`` and ``target`` name Unicode scripts themselves (``source=Latin,target=Han,Latin``);
    then letters that belong to no script, as the long mark of Japanese, count as foreign. A side
    without letters has 1.
    """

    name = "script"
    unit = "0 to 1: share of the letters of each side"
    origin = "OpusFilter CharacterScoreFilter (default 1)"

    minimum: float | None = 0.4
    source: str | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        """Raise SettingsError for a script that Unicode does not know."""
        super().__post_init__()
        for scripts in (self.source, self.target):
            if scripts is not None:
                characters.in_script(*scripts.split(","))

    def prepare(self, languages: tuple[str, str] | None) -> None:
        """Raise SettingsError where a side has neither a language nor a script."""
        if languages is None and (self.source is None or self.target is None):
            raise SettingsError(
                f"{self.name}: needs to know the languages (--languages en,de) or the scripts "
                "(source=Latin,target=Cyrillic)"
            )

    def values(self, pairs: Pairs) -> Floats:
        """Return the shares."""
        scripts = (self.source, self.target)
        sides = zip(pairs.sides, scripts, strict=True)
        return np.stack([_in_script(side, named) for side, named in sides], axis=1)


def _in_script(side: Side, named: str | None) -> Floats:
    if named is not None:
        scripts = tuple(named.split(","))
    elif side.language is not None:
        scripts = (*characters.scripts_of(side.language), *ANY_SCRIPT)
    else:
        return np.ones(len(side))
    own = side.alphabetic & side.script_in(*scripts)
    return _share(side.count(own), side.count(side.alphabetic), of_nothing=1)


@dataclass(frozen=True)
class Letters(Bounded):
    """Enough of the letters of each side are of the alphabet that its language is written with.

    For a language without an alphabet of ours, all letters of its scripts are. A side without
    letters has 1.
    """

    name = "letters"
    unit = "0 to 1: share of the letters of each side"
    origin = "Rossenbach et al. 2018 (letters in the languages' alphabets)"
    needs_languages = True

    minimum: float | None = 0.75

    def values(self, pairs: Pairs) -> Floats:
        """Return the shares."""
        return _each_side(pairs, _in_alphabet)


def _in_alphabet(side: Side) -> Floats:
    if side.language is None:
        return np.ones(len(side))
    own = side.alphabetic & characters.alphabet(side.language)[side.codes]
    return _share(side.count(own), side.count(side.alphabetic), of_nothing=1)


@dataclass(frozen=True)
class OnlySymbols(Bounded):
    """Not much more than punctuation and other symbols: neither letters, digits nor white space.

    A blank side has 0.
    """

    name = "only-symbols"
    unit = "0 to 1: share of the characters of each side, white space aside"
    origin = "Bicleaner no_only_symbols (there: at most a tenth letters)"

    maximum: float | None = 0.75

    def values(self, pairs: Pairs) -> Floats:
        """Return the shares."""
        return _each_side(pairs, _symbols)


def _symbols(side: Side) -> Floats:
    whole = side.lengths - side.count(side.spaces)
    written = side.alphabetic | side.category_in("L", "M", "N")
    return _share(whole - side.count(written), whole, of_nothing=0)


@dataclass(frozen=True)
class OnlyNumbers(Bounded):
    """Not much more than digits among the letters and digits of a side.

    A side without either has 0.
    """

    name = "only-numbers"
    unit = "0 to 1: share of digits among the letters and digits of each side"
    origin = "Bicleaner no_only_numbers (there: half of the characters; 0.7 in zh, ja, ko)"

    maximum: float | None = 0.7

    def values(self, pairs: Pairs) -> Floats:
        """Return the shares."""
        return _each_side(pairs, _digits)


def _digits(side: Side) -> Floats:
    digits = side.count(side.category_in("Nd"))
    return _share(digits, digits + side.count(side.alphabetic), of_nothing=0)
