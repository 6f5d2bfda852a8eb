"""``bitext-evaluate mining``: how well mined pairs are those known to be translations."""

from __future__ import annotations

import dataclasses
import json
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Any

import click

from bitextfilter import __version__
from bitextfilter.commands.amounts import score
from bitextfilter.commands.evaluations.labelled import EvaluatedColumns, filled_rows, known_score
from bitextfilter.commands.evaluations.recommended import recommended
from bitextfilter.commands.evaluations.settings import bootstrap_options, labelling_options
from bitextfilter.commands.frame import Run, column, command, row_options
from bitextfilter.errors import InputError
from bitextfilter.io.columns import Wanted
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import BadRow, number_of

if TYPE_CHECKING:
    from bitextfilter.evaluation.mining import Compared, Measured, Pair

__all__ = ["mining"]

_ENDS = ("value", "low", "high")


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
    type=score,
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
    from bitextfilter.evaluation.bootstrap import Bootstrap
    from bitextfilter.evaluation.mining import MiningSettings, measure_mining, signature

    if gold == mined == "-":
        raise click.UsageError("only one of GOLD and MINED can be stdin")
    output = run.output()
    compared = _compared(run, (gold, mined), options)
    drawn = {"boot": options["resamples"], "seed": options["seed"], "v": __version__}
    settings = MiningSettings(options["threshold"], Bootstrap(drawn["boot"], drawn["seed"]))
    results = [
        (result, signature(result, compared, **drawn))
        for result in measure_mining(compared, settings)
    ]
    if as_json:
        text = _json(run, (gold, mined), compared.gold, results)
    else:
        text = _table(compared.gold, results)
    output.write(text.encode())


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
        Wanted("source", "--gold-scol", options["gold_scol"]),
        Wanted("target", "--gold-tcol", options["gold_tcol"]),
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
    first = (Wanted("score", "--column", options["column"]),)
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


Results = list[tuple["Measured", str]]


def _recommended(run: Run, file: str, gold: int, results: Results) -> list[dict[str, Any]]:
    """Return the best cut as bitext-models recommend takes it, if a number cuts there."""
    best = {result.measure: result for result, _ in results if result.cut == "best"}
    if _finite(best["f1"].threshold) is None:
        return []
    known = {"use": "mining", "measure": None, "model": None, "goal": "f1", "noise_share": None}
    figures = {name: result.estimate for name, result in best.items()}
    return [recommended(run, file, figures, **known, threshold=best["f1"].threshold, rows=gold)]


def _table(gold: int, results: Results) -> str:
    names = ("measure", "cut", "threshold", *_ENDS, "kept", "right", "gold", "signature")
    rows = [list(names)]
    for result, line in results:
        at = "-" if result.threshold is None else repr(result.threshold)
        figures = ["-" if isnan(number) else f"{number:.4f}" for number in result.estimate]
        counts = [str(count) for count in (result.kept, result.right, gold)]
        rows.append([result.measure, result.cut, at, *figures, *counts, line])
    return "".join("\t".join(row) + "\n" for row in rows)


def _json(run: Run, files: tuple[str, str], gold: int, results: Results) -> str:
    records = [
        {
            "measure": result.measure,
            "cut": result.cut,
            "threshold": _finite(result.threshold),
            **{name: _finite(number) for name, number in result.estimate._asdict().items()},
            "kept": result.kept,
            "right": result.right,
            "signature": line,
        }
        for result, line in results
    ]
    whole = {
        "task": "mining",
        "file": files[1],
        "gold_file": files[0],
        "gold": gold,
        "recommended": _recommended(run, files[0], gold, results),
        "results": records,
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _finite(number: float | None) -> float | None:
    """Return a number that JSON can hold: None for what is not finite."""
    return number if number is not None and isfinite(number) else None
