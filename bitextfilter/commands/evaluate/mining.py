"""``bitext-evaluate mining`` and ``alignment``: mined pairs, or links of sentences, and gold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluate.options import (
    ScoreColumn,
    known_score,
    measurement,
    origin,
)
from bitextfilter.commands.frame.options import (
    argument,
    as_column,
    as_score,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Bootstrap, Result
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import SIDES, Columns, WantedColumn, number_of

if TYPE_CHECKING:
    from bitextfilter.evaluation.mining import MinedScores, SentencePair


@dataclass(frozen=True)
class _Settings:
    """The files, their columns, and the cut to measure."""

    gold: str = argument()
    mined: str = argument(default="-")
    threshold: float | None = option(
        "--threshold T", "Measure keeping the pairs that score T or more, instead of all.", as_score
    )
    gold_scol: int | str = option("--gold-scol COLUMN", "Source column of GOLD.", as_column, 1)
    gold_tcol: int | str = option("--gold-tcol COLUMN", "Target column of GOLD.", as_column, 2)


@measurement(
    "mining",
    _Settings,
    ScoreColumn,
    Bootstrap,
    row_options("output texts errors", drops=True),
    uses="batch_size",
)
def mining(run: Run, settings: _Settings, where: ScoreColumn, bootstrap: Bootstrap) -> Result:
    """Measure MINED pairs (default: stdin) against the translations in GOLD.

    MINED has a source, a target and a score in each row, as bitext-align writes them, in any
    order; GOLD has all pairs to find. Pairs are the same if both texts are, character
    for character; each distinct pair counts once, with its best score. A line for each measure,
    tab-separated: measure, cut, threshold, value (0 to 1), low and high end of its 95 % interval,
    pairs kept, those right, gold pairs, signature. Measures:

        f1, precision, recall  at the best cut: the score of the highest F1, ties kept together
        the same               of all pairs, or those that score --threshold or more
        average_precision      mean of the precision at all cuts, weighted by the recall gained

    A pair without a score counts as below all: only without --threshold is it kept. With
    --header, both files have one. Memory holds both files.

    Example:

        bitext-align --min-score none en.txt de.txt | bitext-evaluate mining gold.tsv
    """
    from bitextfilter.evaluation.mining import mining_result

    if settings.gold == settings.mined == "-":
        raise click.UsageError("only one of GOLD and MINED can be stdin")
    scored, gold = _scored(run, settings, where), origin(run, settings.gold)
    return mining_result(scored, settings.threshold, bootstrap, settings.mined, gold)


def _scored(run: Run, settings: _Settings, where: ScoreColumn) -> MinedScores:
    """Read GOLD, then MINED; InputError where either has nothing to measure."""
    from bitextfilter.evaluation.mining import compare_pairs

    gold = _gold_pairs(run, settings)
    mined = _mined_pairs(run, settings.mined, where)
    scored = compare_pairs(mined, gold)
    right = int(scored.right.sum())
    run.counts.update({"gold": len(gold), "distinct": len(mined), "right": right})
    if not right:
        swapped = any((target, source) in gold for source, target in mined)
        doubt = "the columns look swapped (--scol, --tcol)" if swapped else "are texts changed?"
        run.warn(f"no mined pair is in {stream_name(settings.gold)}: {doubt}")
    return scored


def _gold_pairs(run: Run, settings: _Settings) -> set[SentencePair]:
    """Return the distinct gold pairs; InputError where there are none."""
    sides = (
        WantedColumn("source", "--gold-scol", settings.gold_scol),
        WantedColumn("target", "--gold-tcol", settings.gold_tcol),
    )
    columns = Columns(first=sides, sides=())
    windows = run.good_windows(columns, settings.gold)
    pairs = {(row.source, row.target) for window in windows for row in window}
    if not pairs:
        raise InputError("no gold pairs", file=stream_name(settings.gold))
    return pairs


def _mined_pairs(run: Run, path: str, where: ScoreColumn) -> dict[SentencePair, float]:
    """Return the best score of each distinct pair."""
    file = stream_name(path)
    score = WantedColumn("score", "--column", where.column)
    columns = replace(run.row_settings.columns, blank=True, first=(score,))
    pairs: dict[SentencePair, float] = {}
    windows = run.good_windows(columns, path, columns.blank_fault(*SIDES))
    run.counts["without a score"] = 0
    for window in windows:
        for row in window:
            number, source, target = row.texts
            value = known_score(run, row, number_of(number.encode()), where.missing)
            if value is not None:
                pair = source, target
                pairs[pair] = max(value, pairs.get(pair, value))
    if not pairs and not run.counts["without a score"]:
        raise InputError("no mined pairs", file=file)
    if max(pairs.values(), default=-inf) == -inf:
        raise InputError("no row has a score", file=file, remedy="--column says where")
    return pairs


@dataclass(frozen=True)
class _Alignment:
    """The files, and the form of the result."""

    files: tuple[str, ...] = argument("GOLD [LINKS] [GOLD LINKS]...", nargs=-1, required=True)


@measurement("alignment", _Alignment, row_options("output"), Bootstrap, uses="")
def alignment(run: Run, settings: _Alignment, bootstrap: Bootstrap) -> Result:
    """Measure LINKS (default: stdin) between sentences against those of GOLD.

    Both hold a link a line, as bitext-align-documents --links writes them: [0]:[0,1]:0.83, the
    numbers of source and of target sentences from 0, [] for none; a score is ignored. More files,
    two and two, are further documents, and all links count together.

    A link is right strictly if GOLD has it, and laxly also if a link of GOLD joins a source with
    a target sentence of it. A line for each, tab-separated: strict or lax, measure, value (0 to
    1), low and high end of its 95 % interval, links found, gold links, signature. Measures:

        precision  the part of the links that is right; links with an empty side count
        recall     the part of the gold links that is found; those with an empty side do not
        f1         the harmonic mean of both

    Example:

        bitext-align-documents --links de.txt fr.txt | bitext-evaluate alignment gold.links
    """
    from bitextfilter.evaluation.mining import alignment_result, compare_links
    from bitextfilter.io.documents import read_links

    files = settings.files if len(settings.files) > 1 else (*settings.files, "-")
    if len(files) % 2 or files.count("-") > 1:
        raise click.UsageError("GOLD and LINKS come in pairs, and only one of them can be stdin")
    links = [read_links(run.input(path), stream_name(path)) for path in files]
    parts = [
        compare_links(gold, found) for gold, found in zip(links[0::2], links[1::2], strict=True)
    ]
    counts = sum(parts[1:], parts[0])
    for name, found in (("gold", counts.gold), ("links", counts.found)):
        run.counts[name] = int(found.sum())
        if not run.counts[name]:
            raise InputError(f"no {name} to compare", file=stream_name(files[name == "links"]))
    return alignment_result(counts, bootstrap)
