"""The shape of the classifier that reads pairs word by word."""

from __future__ import annotations

from dataclasses import dataclass

from bitextfilter.errors import SettingsError
from bitextfilter.similarity.pair_classifier import check_whole_numbers, check_worth

__all__ = ["WordClassifierSettings"]


@dataclass(frozen=True)
class WordClassifierSettings:
    """The shape of such a classifier. Raises SettingsError for one that cannot be."""

    dim: int
    """Width of the encoder's vectors."""
    word_length: float = 1.0
    """Mean length of the encoder's vectors of words, which they are measured by."""
    width: int = 64
    """Units of a word in its context."""
    meaning: int = 128
    """Width in which words by themselves are compared."""
    word_kinds: int = 8
    """How many kinds of words, beside those that the spelling tells, are counted apart."""
    hidden: int = 256
    """Units of the hidden layer."""
    buckets: int = 1 << 19
    """Words are counted by their hash, in so many buckets: some share one."""
    worth: float = 0.0
    """What a pair with a small mistake is worth, below 1/2; 0 where that is not asked."""

    @property
    def answers(self) -> int:
        """How many: see ``Answers``."""
        return 2 if self.worth else 1

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_whole_numbers(self, ("dim", "width", "meaning", "word_kinds", "hidden", "buckets"))
        check_worth(self.worth)
        if not self.word_length > 0:
            raise SettingsError("word_length must be above 0")
