"""Text into sentences, by the rules of its language."""

from __future__ import annotations

from bitextfilter.errors import DeviceError

__all__ = ["split_sentences"]


def split_sentences(text: str, language: str) -> list[str]:
    """Return the sentences of *text*, without white space around them; none is empty.

    A language that the library has no rules for is divided by those of a related one, or of
    English. Raises DeviceError if the optional package is not installed.
    """
    try:
        import sentencex
    except ModuleNotFoundError as error:
        remedy = "pip install 'bitextfilter[sentences]'"
        raise DeviceError(f"dividing text into sentences needs sentencex: {remedy}") from error
    stripped = (sentence.strip() for sentence in sentencex.segment(language, text))
    return [sentence for sentence in stripped if sentence]
