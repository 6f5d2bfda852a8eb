"""``bitext-evaluate filtering``: separation of clean rows and noise, and a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluate.options import (
    Labelling,
    check_measure,
    measurement,
    origin,
    read_labelled,
)
from bitextfilter.commands.frame.command import needs_none_of
from bitextfilter.commands.frame.options import (
    ModelOptions,
    argument,
    as_fraction,
    as_score,
    flag,
    option,
    options_of,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Bootstrap, Result
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import SIDES

if TYPE_CHECKING:
    from bitextfilter.evaluation.filtering import LabelledRows
    from bitextfilter.evaluation.thresholds import Cut, CutSettings
    from bitextfilter.scoring.model import Model


_CHECKED_PAIRS = 1000
_FEWEST = 100
"""Fewer noisy pairs give a warning."""


def _positive_part(value: str) -> float:
    """Read a part over 0, up to 1."""
    number = float(as_fraction(value))
    if number == 0:
        raise click.BadParameter("must be more than 0")
    return number


def _share(value: str) -> float:
    """Read a part over 0 and under 1."""
    number = _positive_part(value)
    if number == 1:
        raise click.BadParameter("must be less than 1")
    return number


@dataclass(frozen=True)
class _Settings:
    """The rows, the cut to measure or suggest, and the form of the result."""

    file: str = argument(default="-")
    threshold: float | None = option(
        "--threshold T", "Also measure keeping the rows that score T or more.", as_score
    )
    suggest: bool = flag(
        "--suggest-threshold",
        "Estimate the yield of cuts; without --labels, on noise made from clean pairs in FILE.",
    )


@dataclass(frozen=True)
class _Suggestion:
    """Options of a suggested threshold."""

    noise_share: float | None = option(
        "--noise-share S",
        "Part of the rows to be cut that is noise  [default: 0.3; with --labels, as in FILE]",
        _share,
    )
    precision: float | None = option(
        "--precision P",
        "Suggest the lowest cut of this precision, not the one of the highest F1.",
        _positive_part,
    )
    recall: float | None = option(
        "--recall R", "Suggest the highest cut of this recall.", _positive_part
    )
    count_side: str | None = option(
        "--count-side", "Side whose words count  [default: target]", ["source", "target", "both"]
    )
    similarity: str | None = option(
        "--similarity NAME", "The measure of --model  [default: its default measure]"
    )

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides whose words are counted."""
        side = self.count_side or "target"
        return SIDES if side == "both" else (side,)


@measurement(
    "filtering",
    _Settings,
    Labelling,
    options_of(Bootstrap, changes={"seed": {"help": "Seed of the resamples, and of noise."}}),
    _Suggestion,
    row_options("output texts errors", drops=True),
    ModelOptions,
)
def filtering(
    run: Run, settings: _Settings, where: Labelling, bootstrap: Bootstrap, wanted: _Suggestion
) -> Result:
    """Measure how well scores separate clean rows from noise, or suggest a threshold.

    FILE (default: stdin) has a label and a score in each row. Clean rows are held against all
    noise together, then against each kind:

        auc                how often a clean row scores higher than a noisy one
        average_precision  mean of the precision at all cuts, weighted by the recall gained
        precision, recall  of keeping clean rows by --threshold; f1 is their harmonic mean
        removed            part of the noise that --threshold removes

    A line for each, tab-separated: measure, kind, value (0 to 1), low and high end of its 95 %
    interval, clean rows, noisy rows, signature. A row without a score counts as below all.

    --suggest-threshold writes a line a cut: threshold, then precision, recall, F1 and the parts
    of rows and of words kept, each with its interval, and at the cut suggested a signature.
    Without --labels, FILE has clean pairs, in the order of their text: half of them are made
    noise, and --model scores all. Memory holds 24 bytes a row.

    Example:

        bitext-score < labelled.tsv | bitext-evaluate filtering --labels 3 --threshold 0.05
        bitext-evaluate filtering --suggest-threshold --precision 0.99 clean.tsv
    """
    from bitextfilter.evaluation.filtering import filtering_result

    file, threshold = settings.file, settings.threshold
    (_check_suggestion if settings.suggest else _check_no_suggestion)(where, wanted, threshold)
    if settings.suggest:
        return _suggested(run, file, where, wanted, bootstrap)
    labelled = read_labelled(run, file, where).labelled(file)
    return filtering_result(labelled, threshold, bootstrap, file)


def _check_suggestion(where: Labelling, wanted: _Suggestion, threshold: float | None) -> None:
    """Raise UsageError for options that contradict each other."""
    if threshold is not None:
        raise click.UsageError("--threshold and --suggest-threshold exclude each other")
    if wanted.precision is not None and wanted.recall is not None:
        raise click.UsageError("--precision and --recall exclude each other")
    if where.labels is None and where.verdict is not None:
        raise click.UsageError("--verdict needs --labels COLUMN")
    if where.labels is not None and wanted.similarity is not None:
        raise click.UsageError("--labels and --similarity exclude each other")
    check_measure(wanted.similarity)


def _check_no_suggestion(where: Labelling, wanted: _Suggestion, _: float | None) -> None:
    """Raise UsageError for options that need --suggest-threshold, and without labels."""
    needs_none_of(vars(wanted), "needs --suggest-threshold")
    if where.labels is None:
        raise click.UsageError("--labels COLUMN must name the labels")


def _suggested(
    run: Run, file: str, where: Labelling, wanted: _Suggestion, bootstrap: Bootstrap
) -> Result:
    """Return the cuts, and report the suggested one on stderr."""
    from bitextfilter.evaluation.thresholds import (
        NOISE_SHARE,
        CutSettings,
        cuts_result,
        estimate_cuts,
    )

    share = wanted.noise_share
    if where.labels is None:
        model = run.model()
        scored_by = origin(run, file, wanted.similarity or model.default_measure, model.digest)
        collected = _with_noise(run, file, model, wanted, bootstrap.seed)
        share = share or NOISE_SHARE
    else:
        scored_by = origin(run, file)
        collected = read_labelled(run, file, where, wanted.sides)
    labelled = collected.labelled(file)
    settings = CutSettings(share, wanted.precision, wanted.recall, bootstrap)
    cuts = estimate_cuts(labelled, collected.words, settings)
    if not cuts:
        raise InputError("no clean row has a score", file=stream_name(file))
    _report(run, cuts, settings, settings.share(labelled))
    return cuts_result(cuts, labelled, settings, scored_by)


def _with_noise(run: Run, file: str, model: Model, wanted: _Suggestion, seed: int) -> LabelledRows:
    """Make half of the clean pairs noise and score all."""
    from bitextfilter.evaluation.pair_scoring import NoiseTest, noise_test

    run.counts.update({"rows": 0, "rejected": 0, "clean": 0, "made noise": 0})
    test = NoiseTest(wanted.similarity, wanted.sides, seed, run.common.batch_size)
    collected = noise_test(model, _pairs(run, file, model), test, run.note)
    made = len(collected) - collected.clean
    run.counts.update({"clean": collected.clean, "made noise": made})
    if run.counts["rows"] and not made:
        message = "no pair of 6 to 60 words on both sides to make noise of"
        remedy = "give some hundreds of clean pairs, or scored rows with --labels"
        raise InputError(message, file=stream_name(file), remedy=remedy)
    if 0 < made < _FEWEST:
        run.warn(f"only {made} pairs of noise: estimates from fewer than {_FEWEST} are rough")
    return collected


def _pairs(run: Run, file: str, model: Model) -> Iterator[tuple[str, str]]:
    """Yield the clean pairs; warn if the first look as if the columns were swapped."""
    from bitextfilter.text.language import check_columns

    windows = run.good_windows(file=file)
    pairs = ((row.source, row.target) for window in windows for row in window)
    first = list(islice(pairs, _CHECKED_PAIRS))
    sources, targets = [pair[0] for pair in first], [pair[1] for pair in first]
    if warning := check_columns(sources, targets, model.processor):
        run.warn(f"{warning} (--scol and --tcol choose columns)")
    return chain(first, pairs)


def _report(run: Run, cuts: list[Cut], settings: CutSettings, share: float) -> None:
    """Report the suggested cut on stderr."""
    suggested = next((cut for cut in cuts if cut.suggested), None)
    if suggested is None:
        best = max(cuts, key=lambda cut: cut.figures["precision"].value)
        run.warn(
            f"no cut has {settings.goal}; of those shown, {best.threshold!r} has the highest"
            f" precision, {best.figures['precision'].value:.4f}"
        )
        return
    figures = {name: estimate.value for name, estimate in suggested.figures.items()}
    run.note(
        f"suggestion: keep rows that score {suggested.threshold!r} or more: of a corpus with"
        f" {share:.0%} noise that keeps {figures['rows']:.1%} of the rows and"
        f" {figures['words']:.1%} of the words, precision {figures['precision']:.4f},"
        f" recall {figures['recall']:.4f}"
    )
