"""An encoder, as all that use one see it: sentences in, numpy vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bitextfilter.arrays import Vectors
from bitextfilter.languages import own_language
from bitextfilter.text.processor import TextProcessor

MOST_OF_NETWORKS, MOST_OF_AVERAGES = 8192, 4096
"""See ``SentenceEncoder.most``."""


class SentenceEncoder(Protocol):
    """Anything that turns sentences of two languages into vectors of one space."""

    processor: TextProcessor
    languages: tuple[str, str]
    dim: int
    """The width of a vector."""
    most: int
    """Sentences that a thread had best encode together, at most: more fill the blocks of a network
    better, and take more memory."""

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """Encode ``n`` sentences of one language → float32 ``(n, dim)``.

        A row depends on its sentence alone, to the last bit: not on the others, their number or
        order, nor on the number of threads. Raises SettingsError for a language the model lacks.
        """

    def arithmetic(self) -> list[str]:
        """Return names, to be compared, of all that the last bits of vectors may depend on.

        Beside the model and the versions of packages: processor, device, libraries.
        """


def side_of(processor: TextProcessor, language: str) -> int:
    """Return the side, 0 or 1, of a known language: of more than two, all are the source."""
    two = len(processor.known) <= 2
    return processor.languages.index(own_language(language, processor.known)) if two else 0
