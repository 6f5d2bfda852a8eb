"""Where to cut: ``bitext-evaluate filtering --suggest-threshold``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from bitextfilter.commands.evaluations.labelled import Collected, read_labelled, words_of
from bitextfilter.commands.evaluations.recommended import recommended
from bitextfilter.commands.evaluations.settings import Labelling, Suggesting
from bitextfilter.commands.frame import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import BadRow

if TYPE_CHECKING:
    from bitextfilter.evaluation.bootstrap import Bootstrap
    from bitextfilter.evaluation.filtering import Labelled
    from bitextfilter.evaluation.result import Result
    from bitextfilter.evaluation.thresholds import Cut, CutSettings
    from bitextfilter.scoring.model import Model

__all__ = ["suggest"]

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


FEWEST = 100
"""With fewer pairs of noise, a warning is given."""


def _made(run: Run, model: Model, wishes: Suggesting, seed: int) -> Collected:
    """Make half of the clean pairs noise and score all."""
    from bitextfilter.corpus.noise import CLEAN, KINDS, NoiseSettings, even_rates, noisy_pairs
    from bitextfilter.scoring.scorers import check_measures

    measures = [wishes.similarity] if wishes.similarity else []
    check_measures(model, measures, model.reference)
    settings = NoiseSettings(languages=model.languages)
    rates = even_rates(NOISE_RATE, settings)
    if lacking := [kind for kind in KINDS if kind not in rates]:
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
    if 0 < made < FEWEST:
        run.warn(f"only {made} pairs of noise: estimates from fewer than {FEWEST} are rough")
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
