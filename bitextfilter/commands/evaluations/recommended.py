"""Thresholds in the JSON of evaluations, as ``bitext-models recommend`` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitextfilter import __version__
from bitextfilter.commands.frame import Run
from bitextfilter.io.files import stream_name

if TYPE_CHECKING:
    from bitextfilter.evaluation.bootstrap import Estimate

__all__ = ["recommended"]

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
