"""Rows translated window by window, for every command that has a translator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bitextfilter.commands.frame import Run
from bitextfilter.io.rows import BadRow, Row, RowReader, is_blank

if TYPE_CHECKING:
    from bitextfilter.translation.translator import SearchSettings, Translation, Translator

__all__ = ["translated", "translator_of"]

_SAID = 5
"""Over-long lines that are named; the summary counts all."""


def translator_of(run: Run, name: str | None) -> Translator:
    """Load the translator of a folder; summary and manifest carry its name and digest."""
    from bitextfilter.models.folders import digest
    from bitextfilter.translation.registry import load_translator

    folder = Path(name or "")
    translator = load_translator(folder, run.common.device, run.common.threads)
    run.facts.update(model=folder.name, digest=digest(folder))
    return translator


def translated(
    run: Run, rows: RowReader, translator: Translator, settings: SearchSettings
) -> Iterator[list[tuple[Row | BadRow, Translation]]]:
    """Yield windows of rows with what was found for the first text of each.

    What is blank or bad has no translation. Lines that were not read to their ends, and
    translations that had to be ended, are counted.
    """
    run.counts.update(overlong=0, unfinished=0)
    for window in run.windows(rows):
        sentences = ["" if isinstance(row, BadRow) else _text(row) for row in window]
        found = translator.translate(sentences, settings)
        _say_overlong(run, window, found)
        run.counts["unfinished"] += sum(
            not best.whole for row in found for best in row.hypotheses[:1]
        )
        yield list(zip(window, found, strict=True))


def _text(row: Row) -> str:
    return "" if is_blank(row.texts[0]) else row.texts[0]


def _say_overlong(run: Run, window: Sequence[Row | BadRow], found: Sequence[Translation]) -> None:
    """Name the lines that were not read to their ends."""
    for row, translation in zip(window, found, strict=True):
        if not translation.left:
            continue
        run.counts["overlong"] += 1
        if run.counts["overlong"] <= _SAID:
            run.warn(f"line {row.number}: its last {translation.left} subwords were not read"
                     " (--max-length)")  # fmt: skip
