"""Words of any script in Latin letters."""

from __future__ import annotations

from anyascii import anyascii


def romanised(word: str) -> str:
    """Return a word in small Latin letters, by anyascii: *Москва* is *moskva*, *北京* is *beijing*.

    Letters lose their accents. The word has no white space, and neither has the result; a word
    of which nothing is left stays as it is.
    """
    if word.isascii():
        return word
    return "".join(anyascii(word).lower().split()) or word
