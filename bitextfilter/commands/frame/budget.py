"""Options of commands that keep the first rows of an order, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.options import as_amount, as_fraction, option

if TYPE_CHECKING:
    from bitextfilter.commands.frame.run import Run
    from bitextfilter.io.ranking import Ranked, Selection, SelectionSettings
    from bitextfilter.scoring.model import Model
    from bitextfilter.text.words import Counter

_SIDES = ("source", "target")

Sizes = Callable[[Sequence[Sequence[str]]], list[int]]
"""Returns the sizes of rows, given the texts of all rows for each side."""


@dataclass(frozen=True)
class Budget:
    """The limits of a selection."""

    top_lines: int | None = option(
        "--top-lines N", "Keep at most N rows: 500, 10k, 2.5M.", as_amount
    )
    top_words: int | None = option(
        "--top-words N", "Keep rows of at most N words in total.", as_amount
    )
    count_side: str | None = option(
        "--count-side", "The side of --top-words  [default: target]", ["source", "target", "both"]
    )
    count: str | None = option(
        "--count",
        "The unit of --top-words; subwords are by --model  [default: words]",
        ["words", "characters", "subwords"],
    )
    top_fraction: Fraction | None = option(
        "--top-fraction F", "Keep at most this share, 0 to 1.", as_fraction
    )

    def __post_init__(self) -> None:
        """Refuse options that would do nothing."""
        if self.top_words is None and (self.count or self.count_side):
            raise click.UsageError("--count and --count-side are for --top-words")

    @property
    def unit(self) -> str | None:
        """The unit of --top-words, if it is given."""
        return None if self.top_words is None else self.count or "words"

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that are counted."""
        side = self.count_side or "target"
        return _SIDES if side == "both" else (side,) if self.unit else ()

    def choice(self, least: float | None) -> SelectionSettings:
        """Return the choice of rows, with the lowest score to keep."""
        from bitextfilter.io.ranking import SelectionSettings

        return SelectionSettings(self.top_lines, self.top_words, self.top_fraction, least)

    def sizes(self, model: Callable[[], Model]) -> Sizes | None:
        """Return the function that counts the unit in rows, on the counted sides; None for no unit.

        *model* loads the model that has the subwords.
        """
        from bitextfilter.text.words import count_characters, count_words

        counters: list[Counter]
        if self.unit is None:
            return None
        if self.unit == "subwords":
            loaded = model()
            languages = [loaded.languages[_SIDES.index(side)] for side in self.sides]
            counters = [partial(loaded.processor.lengths, language=each) for each in languages]
        else:
            counters = [count_words if self.unit == "words" else count_characters]
            counters *= len(self.sides)

        def sizes(texts: Sequence[Sequence[str]]) -> list[int]:
            sides = [count(side) for count, side in zip(counters, texts, strict=True)]
            return list(map(sum, zip(*sides, strict=True)))

        return sizes

    def tell(self, run: Run, ranked: Ranked, selection: Selection) -> None:
        """Add the kept rows to summary and manifest."""
        run.counts.update(kept=selection.count)
        run.counts["dropped"] += 0 if run.rejects else len(ranked) - selection.count
        run.facts["yield"] = _share(selection.count, len(ranked))
        if self.unit:
            run.counts[self.unit] = selection.size
            run.facts[f"{self.unit}_yield"] = _share(selection.size, ranked.size())


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None
