"""What commands that write with a translation model have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame import Run
from bitextfilter.io.rows import BadRow, Row, RowReader, is_blank

if TYPE_CHECKING:
    from bitextfilter.translation.translator import SearchSettings, Translation, Translator

__all__ = ["found_windows", "load", "output_lines", "search_options", "search_settings", "text_of"]

_SAID = 5
"""Over-long lines that are named; the summary counts all."""


def search_options(what: str, beam: str) -> list[click.Parameter]:
    """Return --model, how to search, and how to write what was found.

    ``what`` is written, such as ``translation``; ``beam`` says the default of --beam.
    """
    return [
        click.Option(
            ["--model"], required=True, metavar="DIR", help="The folder of bitext-train-translator."
        ),
        click.Option(
            ["--beam"],
            type=click.IntRange(1, 100),
            metavar="N",
            help=f"Hypotheses kept while searching; 1 is greedy search.  [default: {beam}]",
        ),
        click.Option(
            ["--n-best"],
            type=click.IntRange(1, 100),
            metavar="K",
            help=f"Write the K best of each line: line number, rank, score, {what}.",
        ),
        *_sampling_options(what),
        click.Option(
            ["--max-length"],
            type=click.IntRange(min=1),
            default=256,
            show_default=True,
            metavar="N",
            help=f"Most subwords of a line that are read, and of a {what}.",
        ),
        click.Option(
            ["--digits"],
            type=click.IntRange(0, 9),
            default=4,
            show_default=True,
            help="Decimals of scores.",
        ),
    ]


def _sampling_options(what: str) -> list[click.Parameter]:
    return [
        click.Option(
            ["--sample"], is_flag=True, help=f"Draw {what}s at random instead of searching."
        ),
        click.Option(
            ["--temperature"],
            type=click.FloatRange(min=0, min_open=True),
            metavar="X",
            help="Of --sample: below 1 the likely becomes likelier.  [default: 1]",
        ),
        click.Option(
            ["--seed"],
            type=click.IntRange(min=0),
            metavar="N",
            help="Of --sample.  [default: 1]",
        ),
    ]


def search_settings(options: dict[str, Any], spare: int = 0) -> SearchSettings:
    """How to search; UsageError where options contradict each other.

    A beam of the default width keeps at least ``spare`` hypotheses more than --n-best.
    """
    from bitextfilter.translation.translator import SearchSettings

    beam, sample, n_best = options["beam"], options["sample"], options["n_best"]
    if sample and beam is not None:
        raise click.UsageError("--sample goes without --beam")
    for name in () if sample else ("temperature", "seed"):
        if options[name] is not None:
            raise click.UsageError(f"--{name} goes with --sample")
    if n_best is not None and beam is not None and n_best > beam:
        raise click.UsageError(f"--n-best {n_best} needs a --beam of at least as many")
    width = (n_best or 1) if sample else beam or max(5, (n_best or 1) + spare)
    return SearchSettings(
        width=width,
        maximum_length=options["max_length"],
        sample=sample,
        temperature=options["temperature"] or 1.0,
        seed=1 if options["seed"] is None else options["seed"],
    )


def load(run: Run, name: str | None, settings: SearchSettings) -> Translator:
    """Load a model; summary and manifest carry its name and digest, and a seed that counts."""
    from bitextfilter.models.folders import digest
    from bitextfilter.translation.registry import load_translator

    folder = Path(name or "")
    translator = load_translator(folder, run.common.device, run.common.threads)
    run.facts.update(model=folder.name, digest=digest(folder))
    if settings.sample:
        run.facts["seed"] = settings.seed
    return translator


def text_of(row: Row | BadRow) -> str:
    """The sentence of a row: empty where it is blank or bad."""
    return "" if isinstance(row, BadRow) or is_blank(row.texts[0]) else row.texts[0]


def found_windows(
    run: Run,
    rows: RowReader,
    find: Callable[[Sequence[Row | BadRow]], Sequence[Translation]],
) -> Iterator[list[tuple[Row | BadRow, Translation]]]:
    """Yield windows of lines, each with what *find* found for it, and count."""
    run.counts.update(overlong=0, unfinished=0)
    for window in run.windows(rows):
        found = find(window)
        _say_overlong(run, window, found)
        run.counts["unfinished"] += sum(
            not best.whole for row in found for best in row.hypotheses[:1]
        )
        yield list(zip(window, found, strict=True))


def _say_overlong(run: Run, window: Sequence[Row | BadRow], found: Sequence[Translation]) -> None:
    """Name the lines that were not read to their ends."""
    for row, translation in zip(window, found, strict=True):
        if not translation.left:
            continue
        run.counts["overlong"] += 1
        if run.counts["overlong"] <= _SAID:
            run.warn(f"line {row.number}: its last {translation.left} subwords were not read"
                     " (--max-length)")  # fmt: skip


def output_lines(
    row: Row | BadRow, translation: Translation, n_best: int | None, digits: int
) -> Iterator[bytes]:
    """What is written for a line: the best that was found, or rows of the best few."""
    if n_best is None:
        yield translation.best.encode() + row.ending
        return
    ending = row.ending or b"\n"
    if not translation.hypotheses:
        yield f"{row.number}\t1\t\t".encode() + ending
    for rank, found in enumerate(translation.hypotheses[:n_best], 1):
        cells = f"{row.number}\t{rank}\t{found.score:.{digits}f}\t{found.text}"
        yield cells.encode() + ending
