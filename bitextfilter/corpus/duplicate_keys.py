"""What two rows must have in common to be duplicates, and the keys that say whether they have."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from bitextfilter.errors import SettingsError

MATCH = ("exact", "normalised", "near")
BY = ("pair", "source", "target", "either")
KEEP = ("first", "best")

_KEY_BYTES = 16
"""Keys are BLAKE2b of 128 bits: among 10⁸ different texts, the odds that any two have the same
key are 1 to 10²², by chance or by design."""

IGNORABLE = ("case", "punctuation", "digits", "space")
"""What a comparison can pass over."""

_CATEGORIES = {
    "punctuation": ("P", "S"),
    "digits": ("Nd", "No"),
    "space": ("Z", "Cc"),
}


@dataclass(frozen=True)
class DedupSettings:
    """What makes two rows duplicates, and which of them stays.

    ``match``: the texts are the same (exact), or are when what is named in ``ignore`` is left out
    (normalised), or their ``shingle``-grams of characters have a Jaccard similarity of at least
    ``similarity`` (near; of each side, by pair). ``by``: both sides together, one, or either of
    them. ``keep``: the first row, or the one with the best score, the first of equals. ``memory``
    is about how many bytes all this may take.
    """

    match: str = "exact"
    by: str = "pair"
    keep: str = "first"
    ignore: tuple[str, ...] = IGNORABLE
    similarity: float = 0.8
    shingle: int = 4
    memory: int = 1 << 30

    def __post_init__(self) -> None:
        """Raise SettingsError for what there is not."""
        for value, known in ((self.match, MATCH), (self.by, BY), (self.keep, KEEP)):
            if value not in known:
                raise SettingsError(f"{value!r} is none of {', '.join(known)}")
        if not 0 < self.similarity <= 1 or self.shingle < 1 or self.memory < 1:
            raise SettingsError("similarity is above 0, up to 1; shingle and memory are above 0")

    @property
    def sides(self) -> int:
        """How many texts of a row are compared."""
        return 1 if self.by in ("source", "target") else 2

    @property
    def keys(self) -> int:
        """How many keys a row has, near duplicates aside: it goes if one was seen before."""
        return 2 if self.by == "either" else 1


def digest(texts: Sequence[str], kind: bytes = b"") -> bytes:
    """Return the key of *texts* together: 16 bytes, of one *kind* of key among others.

    Each text goes in with its length, so that what stands at the end of one is never taken for
    the start of the next.
    """
    parts = [kind]
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        parts += (b"%d:" % len(data), data)
    return hashlib.blake2b(b"".join(parts), digest_size=_KEY_BYTES).digest()


def normaliser(ignored: Collection[str]) -> Callable[[str], str]:
    """Return the function that takes out of a text what is *ignored*, names in ``IGNORABLE``.

    Compatibility forms (full-width letters, ligatures) are made one by Unicode's NFKC. ``case``:
    case folding (``ß`` is ``ss``). ``punctuation`` (symbols too) and ``digits`` become spaces.
    ``space``: each run of white space is one space, none at the ends, invisible characters gone.
    A text of nothing else is compared with its punctuation and digits, so that not all numbers
    are one. Raises SettingsError for an unknown name.
    """
    if unknown := set(ignored) - set(IGNORABLE):
        raise SettingsError(f"{min(unknown)!r} is none of {', '.join(IGNORABLE)}")
    fold, squeeze = "case" in ignored, "space" in ignored
    removed = _Blanks([name for name in ("punctuation", "digits", "space") if name in ignored])
    spaces = _Blanks(["space"] if squeeze else [])

    def normalise(text: str) -> str:
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        if fold:
            text = text.lower() if text.isascii() else _folded(text)
        shrunk = text.translate(removed)
        if not shrunk or shrunk.isspace():
            shrunk = text.translate(spaces)
        return " ".join(shrunk.split()) if squeeze else shrunk

    return normalise


def _folded(text: str) -> str:
    """Unicode's caseless form of compatibility-normalised text (Unicode Standard, D146)."""
    return unicodedata.normalize("NFKC", text.casefold())


class _Blanks(dict[int, str]):
    """A table for ``str.translate`` that fills itself: what is removed leaves a space."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._blank = tuple(start for name in names for start in _CATEGORIES[name])
        self._squeeze = "space" in names

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category.startswith(self._blank) if self._blank else False:
            made = " "
        else:
            made = "" if self._squeeze and category == "Cf" else character
        self[code] = made
        return made
