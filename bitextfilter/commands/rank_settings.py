"""What ``bitext-rank`` orders by, and what it keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.cuts import RECOMMENDED, MinScore

if TYPE_CHECKING:
    from bitextfilter.io.selection import Choice

__all__ = ["SIDES", "Settings"]

SIDES = ("source", "target")


@dataclass(frozen=True)
class Settings:
    """By what to order, and what to keep."""

    column: int | str
    order: str
    top_lines: int | None
    top_words: int | None
    count_side: str | None
    count: str | None
    top_fraction: Fraction | None
    min_score: MinScore | None
    similarity: str | None
    fold: tuple[int, int] | None
    sample: int | None
    seed: int | None

    def __post_init__(self) -> None:
        """Refuse options that would do nothing."""
        if self.top_words is None and (self.count or self.count_side):
            raise click.UsageError("--count and --count-side are for --top-words")
        if self.sample is None and self.seed is not None:
            raise click.UsageError("--seed is for --sample")
        if self.min_score != RECOMMENDED and self.similarity is not None:
            raise click.UsageError("--similarity is for --min-score recommended")

    @property
    def unit(self) -> str | None:
        """What is counted, if anything is."""
        return None if self.top_words is None else self.count or "words"

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that are counted."""
        side = self.count_side or "target"
        return SIDES if side == "both" else (side,) if self.unit else ()

    def choice(self, least: float | None) -> Choice:
        """Return what to keep, with the number that --min-score is."""
        from bitextfilter.io.selection import Choice

        limits = (self.top_lines, self.top_words, self.top_fraction, least)
        choice = Choice(*limits, self.fold, self.sample)
        return choice if self.seed is None else replace(choice, seed=self.seed)
