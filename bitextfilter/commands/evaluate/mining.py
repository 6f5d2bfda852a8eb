"""``bitext-evaluate mining``: how well mined pairs are those known to be translations."""

from __future__ import annotations

import dataclasses
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.evaluate.filtering import recommended
from bitextfilter.commands.evaluate.options import bootstrap_options, labelling_options
from bitextfilter.commands.evaluate.rows import EvaluatedColumns, filled_rows, known_score
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import column, row_options, score_value
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import BadRow, ColumnPlace, number_of

if TYPE_CHECKING:
    from bitextfilter.evaluation.filtering import Bootstrap
    from bitextfilter.evaluation.mining import Compared, MiningFigure, Pair
    from bitextfilter.evaluation.result import Result


@command(
    "mining",
    [option for option in labelling_options() if option.name in ("column", "missing")],
    bootstrap_options(),
    [option for option in row_options(drops=True) if option.name != "input"],
    uses="rows",
)
@click.argument("gold")
@click.argument("mined", default="-")
@click.option(
    "--threshold",
    type=score_value,
    metavar="T",
    help="Measure keeping the pairs that score T or more, instead of all.",
)
@click.option(
    "--gold-scol",
    type=column,
    default=1,
    show_default=True,
    metavar="COLUMN",
    help="Source column of GOLD.",
)
@click.option(
    "--gold-tcol",
    type=column,
    default=2,
    show_default=True,
    metavar="COLUMN",
    help="Target column of GOLD.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def mining(run: Run, gold: str, mined: str, as_json: bool, **options: Any) -> None:
    """Measure how well MINED pairs (default: stdin) are the translations in GOLD.

    MINED has a source, a target and a score in each row, as bitext-align writes them, in any
    order; GOLD all pairs that are to be found. Pairs are the same if both texts are, character
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
    from bitextfilter.evaluation.filtering import Bootstrap
    from bitextfilter.evaluation.mining import MiningSettings, measure_mining

    if gold == mined == "-":
        raise click.UsageError("only one of GOLD and MINED can be stdin")
    output = run.output()
    compared = _compared(run, (gold, mined), options)
    bootstrap = Bootstrap(options["resamples"], options["seed"])
    found = measure_mining(compared, MiningSettings(options["threshold"], bootstrap))
    output.write(_result(run, (gold, mined), compared, found, bootstrap).text(as_json))


def _compared(run: Run, files: tuple[str, str], options: dict[str, Any]) -> Compared:
    """Read GOLD, then MINED; InputError where either has nothing to measure."""
    from bitextfilter.evaluation.mining import compare

    settings = run.row_settings
    run.row_settings = dataclasses.replace(settings, input=files[0])
    true = _gold_pairs(run, options)
    run.row_settings = dataclasses.replace(settings, input=files[1])
    scores = _mined_pairs(run, options)
    compared = compare(scores, true)
    right = int(compared.right.sum())
    run.counts.update({"gold": len(true), "distinct": len(scores), "right": right})
    if not right:
        swapped = any((target, source) in true for source, target in scores)
        doubt = "the columns look swapped (--scol, --tcol)" if swapped else "are texts changed?"
        run.warn(f"no mined pair is in {stream_name(files[0])}: {doubt}")
    return compared


def _gold_pairs(run: Run, options: dict[str, Any]) -> set[Pair]:
    """Return the distinct pairs of the input; InputError where there are none."""
    sides = (
        ColumnPlace("source", "--gold-scol", options["gold_scol"]),
        ColumnPlace("target", "--gold-tcol", options["gold_tcol"]),
    )
    windows = run.windows(run.rows(EvaluatedColumns(blank=False, first=sides)))
    rows = (row for window in windows for row in window if not isinstance(row, BadRow))
    pairs = {(row.source, row.target) for row in rows}
    if not pairs:
        raise InputError("no gold pairs", file=stream_name(run.row_settings.input))
    return pairs


def _mined_pairs(run: Run, options: dict[str, Any]) -> dict[Pair, float]:
    """Return the best score of each distinct pair."""
    chosen, file = run.row_settings.columns, stream_name(run.row_settings.input)
    sides = ("source", "target")
    first = (ColumnPlace("score", "--column", options["column"]),)
    columns = EvaluatedColumns(chosen.source, chosen.target, first=first, sides=sides)
    pairs: dict[Pair, float] = {}
    for row in filled_rows(run, columns, sides):
        number, source, target = row.texts
        value = known_score(run, row, number_of(number.encode()), options["missing"])
        if value is not None:
            pair = source, target
            pairs[pair] = max(value, pairs.get(pair, value))
    if not pairs and not run.counts["without a score"]:
        raise InputError("no mined pairs", file=file)
    if max(pairs.values(), default=-inf) == -inf:
        raise InputError("no row has a score", file=file, remedy="--column says where")
    return pairs


_FIGURES = ("measure", "cut", "threshold", "value", "low", "high")
_COLUMNS = (*_FIGURES, "kept", "right", "gold", "signature")


def _result(
    run: Run,
    files: tuple[str, str],
    compared: Compared,
    found: list[MiningFigure],
    bootstrap: Bootstrap,
) -> Result:
    """Return the measures, and the best cut as bitext-models recommend takes it."""
    from bitextfilter.evaluation.result import Result, signature

    records = []
    for each in found:
        at = {} if each.threshold is None else {"threshold": each.threshold}
        line = signature(
            f"{each.measure} = {each.estimate.value:.4f}",
            n=len(compared.scores),
            gold=compared.gold,
            cut=each.cut,
            **at,
            **bootstrap.facts,
        )
        records.append(
            {
                "measure": each.measure,
                "cut": each.cut,
                "threshold": each.threshold,
                **each.estimate._asdict(),
                "kept": each.kept,
                "right": each.right,
                "signature": line,
            }
        )
    facts = {
        "file": files[1],
        "gold_file": files[0],
        "gold": compared.gold,
        "recommended": _recommended(run, files[0], compared.gold, found),
    }
    columns = dict.fromkeys(_COLUMNS, ".4f") | {"threshold": ""}
    return Result("mining", columns, {"results": records}, facts)


def _recommended(run: Run, file: str, gold: int, found: list[MiningFigure]) -> list[dict[str, Any]]:
    """Return the best cut as bitext-models recommend takes it, if a number cuts there."""
    best = {each.measure: each for each in found if each.cut == "best"}
    threshold = best["f1"].threshold
    if threshold is None or not isfinite(threshold):
        return []
    known = {"use": "mining", "measure": None, "model": None, "goal": "f1", "noise_share": None}
    figures = {name: each.estimate for name, each in best.items()}
    return [recommended(run, file, figures, **known, threshold=threshold, rows=gold)]
