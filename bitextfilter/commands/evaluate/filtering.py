"""``bitext-evaluate filtering``: how well scores tell clean rows from noise, and where to cut."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bitextfilter import __version__
from bitextfilter.commands.evaluate.options import (
    Labelling,
    Suggesting,
    bootstrap_options,
    check_measure,
    labelling_options,
    suggestion_options,
)
from bitextfilter.commands.evaluate.rows import Collected, read_labelled, words_of
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import model_options, row_options, score_value
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import BadRow

if TYPE_CHECKING:
    from bitextfilter.evaluation.filtering import Bootstrap, Estimate, Labelled
    from bitextfilter.evaluation.result import Result
    from bitextfilter.evaluation.thresholds import Cut, CutSettings
    from bitextfilter.scoring.model import Model


_FIGURES = ("precision", "recall", "f1")


def recommended(
    run: Run, file: str, figures: Mapping[str, Estimate], **known: str | float | None
) -> dict[str, Any]:
    """Return a ``scoring.thresholds.Threshold`` as JSON takes it.

    Args:
        run: that of the evaluation.
        file: path of what it was estimated on.
        figures: precision, recall and f1, perhaps among others.
        known: the fields that no run tells. ``measure`` and ``model`` are None where scores came
            as numbers: ``bitext-models recommend`` is told.
    """
    from bitextfilter.scoring.thresholds import printable

    return {
        **known,
        **{name: figures[name].value for name in _FIGURES},
        "file": printable(Path(stream_name(file)).name),
        "command": printable(run.command_line),
        "version": __version__,
    }


NOISE_RATE = 0.5
"""Part of the clean pairs that is made noise."""

NOISE_SHARE = 0.3
"""Part of a corpus that is taken to be noise."""

DIGITS = 4
"""Decimals that scores are rounded to, as bitext-score writes them."""

_CHECKED_PAIRS = 1000


def suggest(run: Run, where: Labelling, wishes: Suggesting, bootstrap: Bootstrap) -> Result:
    """Return the cuts, and say on stderr which is suggested."""
    from bitextfilter.evaluation.thresholds import CutSettings, estimate_cuts

    share, facts = wishes.noise_share, dict[str, str]()
    if where.labels is None:
        model = run.model()
        facts = {"sim": wishes.similarity or model.default_measure, "model": model.digest}
        collected = _made(run, model, wishes, bootstrap.seed)
        share = share or NOISE_SHARE
    else:
        collected = read_labelled(run, where, wishes.sides)
    labelled = collected.labelled(run.row_settings.input)
    settings = CutSettings(share, wishes.precision, wishes.recall, bootstrap)
    cuts = estimate_cuts(labelled, collected.words, settings)
    if not cuts:
        raise InputError("no clean row has a score", file=stream_name(run.row_settings.input))
    _tell(run, cuts, settings, settings.share(labelled))
    kept = [_recommended(run, c, labelled, settings, facts) for c in cuts if c.suggested]
    return _result(run, cuts, {**_facts(labelled, settings), **facts}, kept)


def _facts(labelled: Labelled, settings: CutSettings) -> dict[str, str | int]:
    """Return the rows and the goal, as a signature names them."""
    return {
        "n": len(labelled.labels),
        "clean": int(labelled.of(0).sum()),
        "noise_share": f"{settings.share(labelled):.4g}",
        "by": settings.goal,
        **settings.bootstrap.facts,
    }


def _result(
    run: Run, cuts: Sequence[Cut], facts: dict[str, str | int], kept: list[dict[str, Any]]
) -> Result:
    """Return a record for each cut, the signature in that of the one suggested."""
    from bitextfilter.evaluation.result import Result, interval, signature

    lines = [
        signature(f"threshold = {cut.threshold!r}", **facts) if cut.suggested else ""
        for cut in cuts
    ]
    records = [
        {
            "threshold": cut.threshold,
            **cut.figures,
            "suggested": cut.suggested,
            "suggestion": line,
        }
        for cut, line in zip(cuts, lines, strict=True)
    ]
    columns = {"threshold": "", **interval(*cuts[0].figures, form=".4f"), "suggestion": ""}
    whole = {
        "file": run.row_settings.input,
        "goal": facts["by"],
        "suggestion": "".join(lines) or None,
        "recommended": kept,
    }
    return Result("suggest-threshold", columns, {"cuts": records}, whole)


_FEWEST = 100
"""With fewer pairs of noise, a warning is given."""


def _made(run: Run, model: Model, wishes: Suggesting, seed: int) -> Collected:
    """Make half of the clean pairs noise and score all."""
    from bitextfilter.corpus.noise import (
        CLEAN,
        NOISE_KINDS,
        NoiseSettings,
        even_rates,
        noisy_pairs,
    )
    from bitextfilter.scoring.model import check_measures

    measures = [wishes.similarity] if wishes.similarity else []
    check_measures(model, measures, model.background)
    settings = NoiseSettings(languages=model.languages)
    rates = even_rates(NOISE_RATE, settings)
    if lacking := [kind for kind in NOISE_KINDS if kind not in rates]:
        run.note(f"without the noise {', '.join(lacking)}: see bitext-noise and --labels")
    collected = Collected(CLEAN)
    run.counts.update({"rows": 0, "rejected": 0, "clean": 0, "made noise": 0})
    noisy = noisy_pairs(_pairs(run, model), rates, seed, settings)
    while window := list(islice(noisy, run.common.batch_size)):
        sources, targets, labels = zip(*window, strict=True)
        (scores,) = model.score(sources, targets, measures).values()
        counted = [
            side
            for name, side in (("source", sources), ("target", targets))
            if name in wishes.sides
        ]
        for score, label, *texts in zip(scores.tolist(), labels, *counted, strict=True):
            collected.add(round(score, DIGITS), label, words_of(texts))
            run.counts["clean" if label == CLEAN else "made noise"] += 1
    made = run.counts["made noise"]
    if run.counts["rows"] and not made:
        message = "no pair of 6 to 60 words on both sides to make noise of"
        remedy = "give some hundreds of clean pairs, or scored rows with --labels"
        raise InputError(message, file=stream_name(run.row_settings.input), remedy=remedy)
    if 0 < made < _FEWEST:
        run.warn(f"only {made} pairs of noise: estimates from fewer than {_FEWEST} are rough")
    return collected


def _pairs(run: Run, model: Model) -> Iterator[tuple[str, str]]:
    """Yield the clean pairs; warn if the first look as if the columns were swapped."""
    from bitextfilter.text.language import check_columns

    pairs = (
        (row.source, row.target)
        for window in run.windows(run.rows())
        for row in window
        if not isinstance(row, BadRow)
    )
    first = list(islice(pairs, _CHECKED_PAIRS))
    sources, targets = [pair[0] for pair in first], [pair[1] for pair in first]
    if warning := check_columns(sources, targets, model.processor):
        run.warn(f"{warning} (--scol and --tcol choose columns)")
    return chain(first, pairs)


def _tell(run: Run, cuts: Sequence[Cut], settings: CutSettings, share: float) -> None:
    """Say which cut is suggested."""
    for cut in cuts:
        if cut.suggested:
            figures = {name: estimate.value for name, estimate in cut.figures.items()}
            run.note(
                f"suggestion: keep what scores {cut.threshold!r} or more: of a corpus with"
                f" {share:.0%} noise that keeps {figures['rows']:.1%} of the rows and"
                f" {figures['words']:.1%} of the words, precision {figures['precision']:.4f},"
                f" recall {figures['recall']:.4f}"
            )
            return
    best = max(cuts, key=lambda cut: cut.figures["precision"].value)
    run.warn(
        f"no cut has {settings.goal}; of those shown, {best.threshold!r} has the highest"
        f" precision, {best.figures['precision'].value:.4f}"
    )


def _recommended(
    run: Run, cut: Cut, labelled: Labelled, settings: CutSettings, facts: dict[str, str]
) -> dict[str, Any]:
    """Return the cut as bitext-models keeps it."""
    return recommended(
        run,
        run.row_settings.input,
        cut.figures,
        use="filtering",
        measure=facts.get("sim"),
        threshold=cut.threshold,
        goal=settings.goal,
        noise_share=settings.share(labelled),
        rows=len(labelled.labels),
        model=facts.get("model"),
    )


T = TypeVar("T")


@command(
    "filtering",
    labelling_options(),
    bootstrap_options(noise=True),
    suggestion_options(),
    [option for option in row_options(drops=True) if option.name != "input"],
    model_options(),
)
@click.argument("file", default="-")
@click.option(
    "--threshold",
    type=score_value,
    metavar="T",
    help="Also measure what keeping the rows that score T or more does.",
)
@click.option(
    "--suggest-threshold",
    is_flag=True,
    help="Estimate what cuts keep; without --labels, of noise made from the clean pairs in FILE.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def filtering(run: Run, file: str, as_json: bool, **options: Any) -> None:
    """Measure how well scores tell clean rows from noise, or suggest where to cut.

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
    from bitextfilter.evaluation.filtering import Bootstrap

    where, wishes = _settings(options)
    run.row_settings = dataclasses.replace(run.row_settings, input=file)
    output = run.output()
    bootstrap = Bootstrap(options["resamples"], options["seed"])
    if options["suggest_threshold"]:
        result = suggest(run, where, wishes, bootstrap)
    else:
        result = _measure(run, where, options["threshold"], bootstrap)
    output.write(result.text(as_json))


def _settings(options: dict[str, Any]) -> tuple[Labelling, Suggesting]:
    """Return the settings that the options make. Raises UsageError if they make no sense."""
    where, wishes = _of(Labelling, options), _of(Suggesting, options)
    if options["suggest_threshold"]:
        if options["threshold"] is not None:
            raise click.UsageError("--threshold and --suggest-threshold exclude each other")
        if wishes.precision is not None and wishes.recall is not None:
            raise click.UsageError("--precision and --recall exclude each other")
        if where.labels is None and where.verdict is not None:
            raise click.UsageError("--verdict needs --labels COLUMN")
        if where.labels is not None and wishes.similarity is not None:
            raise click.UsageError("--labels and --similarity exclude each other")
        check_measure(wishes.similarity)
    else:
        for name, value in vars(wishes).items():
            if value is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} needs --suggest-threshold")
        if where.labels is None:
            raise click.UsageError("--labels COLUMN must say what the rows are")
    return where, wishes


def _of(kind: type[T], options: dict[str, Any]) -> T:
    """Make settings of a dataclass of the options called as its fields."""
    return kind(**{name: options[name] for name in kind.__annotations__})


def _measure(run: Run, where: Labelling, threshold: float | None, bootstrap: Bootstrap) -> Result:
    """Return the measures of the labelled rows."""
    from bitextfilter.evaluation.filtering import RANKING, FilteringSettings, measure_filtering
    from bitextfilter.evaluation.result import Result, signature

    file = run.row_settings.input
    labelled = read_labelled(run, where).labelled(file)
    records = []
    for result in measure_filtering(labelled, FilteringSettings(threshold, bootstrap)):
        facts: dict[str, str | float] = {"clean": result.clean, "kind": result.kind}
        if threshold is not None and result.measure not in RANKING:
            facts["threshold"] = threshold
        line = signature(
            f"{result.measure} = {result.estimate.value:.4f}",
            n=result.clean + result.noise,
            **facts,
            **bootstrap.facts,
        )
        records.append(
            {
                "measure": result.measure,
                "kind": result.kind,
                **result.estimate._asdict(),
                "clean": result.clean,
                "noise": result.noise,
                "signature": line,
            }
        )
    columns = dict.fromkeys(records[0], ".4f")
    return Result("filtering", columns, {"results": records}, {"file": file})
