"""Rules of what web pages repeat: addresses, breadcrumb trails, menus."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Bounded, SideFault

__all__ = ["Breadcrumbs", "Urls"]

_URL = regex.compile(
    r"(?:https?|ftps?)://[!-~]+|www\.[\w-]+\.[!-~]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w@.-])(?:[a-z0-9-]+\.)+"
    r"(?:com|org|net|info|edu|gov|eu|at|be|br|ca|ch|cn|cz|de|es|fr|in|it|jp|nl|pl|ru|uk)"
    r"(?:/[!-~]*|(?![\w.]))",
    regex.IGNORECASE,
)


@dataclass(frozen=True)
class Urls(Bounded):
    """Web and e-mail addresses are not too much of a side; ``maximum=0`` allows none at all."""

    name = "urls"
    unit = "0 to 1: share of the characters of each side, white space aside"
    origin = "Bicleaner no_urls (there: none at all; off by default)"

    maximum: float | None = 0.5

    def values(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the shares."""
        return np.stack([_addresses(side) for side in pairs.sides], axis=1)


def _addresses(side: Side) -> NDArray[np.float64]:
    """Look only where a letter follows a full stop, or where there is ``@`` or ``:/``."""
    codes = side.codes
    stops, colons = (np.flatnonzero(codes == ord(sign)) for sign in ".:")
    letters = side.category_in("L")
    joined = stops[letters[stops + 1]], colons[codes[colons + 1] == ord("/")]
    hints = side.holding(np.concatenate([*joined, np.flatnonzero(codes == ord("@"))]))
    shares = np.zeros(len(side))
    for index in np.flatnonzero(hints).tolist():
        words = side.sentences[index].split()
        found = (_URL.findall(word) for word in words if not word.isalnum())
        shares[index] = sum(map(len, chain.from_iterable(found))) / sum(map(len, words))
    return shares


_SEPARATORS = "|>»›→·•*/\\-–—:"
_LAST = regex.compile(r"[.?!…,;]$")


@dataclass(frozen=True)
class Breadcrumbs(SideFault):
    """No breadcrumb trail or menu: pieces of few words, with a sign between spaces after each.

    ``Home » News | Sport · Contact`` has four pieces. A piece of more than ``words`` words, or one
    that ends with a full stop, a comma or the like, ends the row.
    """

    name = "breadcrumbs"
    unit = "pieces in a row"
    origin = "Bicleaner no_breadcrumbs (there: three or more such signs, with others)"

    maximum: int = 3
    words: int = 3

    def __post_init__(self) -> None:
        """Raise SettingsError for numbers below 1."""
        if self.maximum < 1 or self.words < 1:
            raise SettingsError(f"{self.name}: maximum and words are 1 and up")

    def suspects(self, side: Side) -> NDArray[np.bool_]:
        """Count the signs that stand alone."""
        single = side.word_lengths == 1
        signs = np.isin(side.codes[side.word_starts[single]], [ord(sign) for sign in _SEPARATORS])
        counts = np.bincount(side.word_sentence[single][signs], minlength=len(side))
        enough: NDArray[np.bool_] = counts >= self.maximum
        return enough

    def fault(self, sentence: str, language: str | None) -> str | None:
        """Return the number of pieces in the longest row."""
        longest = row = size = 0
        for word in [*sentence.split(), "|"]:
            if len(word) == 1 and word in _SEPARATORS:
                row = row + 1 if 1 <= size <= self.words else 0
                longest, size = max(longest, row), 0
            else:
                size = size + 1 if not _LAST.search(word) else self.words + 1
        return f"{longest}>{self.maximum}" if longest > self.maximum else None
