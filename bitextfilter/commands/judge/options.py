"""Options and files that subcommands of bitext-judge share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.options import option
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import SettingsError
from bitextfilter.io.files import stream_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bitextfilter.judge.evaluation import Standard
    from bitextfilter.judge.judgements import Judgements, RowSample, Scale


def _scale(value: str) -> Scale:
    """Read a scale: ``good-bad``, ``0-100``, ``labels=V,F,A``."""
    from bitextfilter.judge.judgements import parse_scale

    try:
        return parse_scale(value)
    except SettingsError as error:
        raise click.BadParameter(str(error)) from error


def scale_option(default: str) -> Any:
    """Return the field of --scale."""
    return option(
        "--scale SCALE",
        "The labels: good-bad, numbers such as 0-100, or words, the best first: labels=A,B,C.",
        _scale,
        default,
    )


GOOD: Any = option(
    "--good LABELS",
    "Labels that count as good: words as V,F, or the least number  [default: the first word, or "
    "the middle of the scale]",
)
"""The field of --good."""


def chosen_standard(judgements: Judgements, good: str | None) -> Standard:
    """Return the labels that count as good."""
    from bitextfilter.judge.evaluation import standard_of

    try:
        return standard_of(judgements.scale, good)
    except SettingsError as error:
        raise click.UsageError(f"--good: {error}") from error


def refuse_twice(sample: str, labels: Sequence[str]) -> None:
    """Raise UsageError for a file of labels that is named twice, and for stdin asked for twice."""
    if (sample, *labels).count("-") > 1:
        raise click.UsageError("stdin is asked for twice")
    if double := next((name for name in labels if labels.count(name) > 1), None):
        raise click.UsageError(f"{double} is named twice")


def read_sample(run: Run, path: str) -> RowSample:
    """Read the sample in a file."""
    from bitextfilter.judge import judgements

    sample = judgements.read_sample(run.input(path), stream_name(path))
    run.counts["rows"] = len(sample.rows)
    return sample


def read_labels(run: Run, sample: RowSample, paths: Sequence[str]) -> Judgements:
    """Read the labels of a sample in some files."""
    from bitextfilter.judge.judgements import LabelReader

    reader = LabelReader(sample)
    for path in paths:
        reader.read(run.input(path), stream_name(path))
    return reader.judgements(", ".join(map(stream_name, paths)))
