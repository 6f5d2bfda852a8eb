"""Settings of deduplication, and the keys that duplicate rows share."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from bitextfilter.errors import SettingsError
from bitextfilter.settings import none_of
from bitextfilter.text.composition import normal_form

MATCH = ("exact", "normalised", "near")
BY = ("pair", "source", "target", "either")
KEEP = ("first", "best")

NGRAM = 13
"""Words of an n-gram that rows share with other files, as Brown et al. (2020) chose it."""

_KEY_BYTES = 16
"""Keys are BLAKE2b of 128 bits: two of 10⁸ different texts share one with odds of 1 to 10²²."""

IGNORABLE = ("case", "punctuation", "digits", "space")
"""Parts of texts that a comparison can ignore."""

_CATEGORIES = {
    "punctuation": ("P", "S"),
    "digits": ("Nd", "No"),
    "space": ("Z", "Cc"),
}


@dataclass(frozen=True)
class DedupSettings:
    """Definition of duplicates, and the choice of the row to keep.

    ``match``: texts are equal (exact), or equal without the parts in ``ignore`` (normalised), or
    their ``shingle``-grams of characters have a Jaccard similarity of ``similarity`` or more
    (near; by pair, on each side; the first 10,000 characters of a text count). ``by``: compare
    both sides together, one, or either. ``keep``: the first row, or the first with the best score.
    ``memory``: approximate bytes to use.
    """

    match: str = "exact"
    by: str = "pair"
    keep: str = "first"
    ignore: tuple[str, ...] = IGNORABLE
    similarity: float = 0.8
    shingle: int = 4
    memory: int = 1 << 30

    def __post_init__(self) -> None:
        """Raise SettingsError for an unknown choice or a number out of range."""
        for value, known in ((self.match, MATCH), (self.by, BY), (self.keep, KEEP)):
            if value not in known:
                raise SettingsError(none_of(value, known))
        if not 0 < self.similarity <= 1 or self.shingle < 1 or self.memory < 1:
            raise SettingsError("similarity is above 0, up to 1; shingle and memory are above 0")

    @property
    def sides(self) -> int:
        """Number of texts of a row that are compared."""
        return 1 if self.by in ("source", "target") else 2

    @property
    def keys(self) -> int:
        """Number of keys of a row (not for near): a row with a known key is a duplicate."""
        return 2 if self.by == "either" else 1


def text_key(texts: Sequence[str], kind: bytes = b"") -> bytes:
    """Return the key of *texts* together, of one *kind*: 16 bytes.

    It covers the length of each text, so that no other division gives the same key.
    """
    parts = [kind]
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        parts += (b"%d:" % len(data), data)
    return hashlib.blake2b(b"".join(parts), digest_size=_KEY_BYTES).digest()


def normaliser(ignored: Collection[str]) -> Callable[[str], str]:
    """Return a function that removes the *ignored* parts of a text, names in ``IGNORABLE``.

    Compatibility forms (full-width letters, ligatures) are unified by Unicode's NFKC. ``case``:
    case folding (``ß`` is ``ss``). ``punctuation`` (symbols too) and ``digits`` become spaces.
    ``space``: runs of white space become one space, none at the ends; invisible characters are
    removed. A text of punctuation and digits alone keeps them, so that not all numbers are equal.
    Raises SettingsError for an unknown name.
    """
    if unknown := set(ignored) - set(IGNORABLE):
        raise SettingsError(none_of(min(unknown), IGNORABLE))
    fold, squeeze = "case" in ignored, "space" in ignored
    removed = _Blanks([name for name in ("punctuation", "digits", "space") if name in ignored])
    spaces = _Blanks(["space"] if squeeze else [])

    def normalise(text: str) -> str:
        if not text.isascii():
            text = normal_form(text, "NFKC")
        if fold:
            # Unicode's caseless form of compatibility-normalised text (Unicode Standard, D146).
            ascii_only = text.isascii()
            text = text.lower() if ascii_only else normal_form(text.casefold(), "NFKC")
        shrunk = text.translate(removed)
        if not shrunk or shrunk.isspace():
            shrunk = text.translate(spaces)
        return " ".join(shrunk.split()) if squeeze else shrunk

    return normalise


class _Blanks(dict[int, str]):
    """A self-filling table for ``str.translate`` that replaces characters by spaces."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._blank = tuple(start for name in names for start in _CATEGORIES[name])
        self._squeeze = "space" in names

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        unseen = "" if self._squeeze and category == "Cf" else character
        self[code] = " " if category.startswith(self._blank) else unseen
        return self[code]
