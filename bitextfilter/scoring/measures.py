"""The measures of sentence pairs by name: range, meaning and requirements. Imports nothing heavy.

For every measure, higher is better. All logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A measure: its range, its meaning (for help), and its needs."""

    range: str
    text: str
    needs: str = ""
    """``neighbours``, ``classifier`` or ``calibration`` of a model of sentence vectors, if any."""
    translators: int = 0
    """The fewest translators that it needs."""
    language_models: int = 0


MEASURES: dict[str, Measure] = {
    "cosine": Measure("-1 to 1", "cosine of the two vectors"),
    "euclidean": Measure(
        "-inf to 0",
        "negative Euclidean distance, in the vectors' own unit",
    ),
    "csls": Measure(
        "-4 to 4",
        "2 cosine - the mean cosines of both sides to their neighbours",
        "neighbours",
    ),
    "ratio": Measure(
        "-100 to 100",
        "cosine / the mean of these two means; unrelated pairs about 1",
        "neighbours",
    ),
    "distance": Measure(
        "-2 to 2",
        "cosine - the mean of these two means: half of csls",
        "neighbours",
    ),
    # Named after the multilayer perceptron of Kim et al. 2019.
    "mlp": Measure("0 to 1", "raw score of the model's classifier, of either kind", "classifier"),
    "probability": Measure(
        "0 to 1",
        "probability that a person calls the row right, in a raw crawl",
        "calibration",
    ),
}
"""The measures of a model of sentence vectors."""

THRESHOLD_MEASURES = (*(name for name in MEASURES if name != "probability"), "joint")
"""The measures that a model may have thresholds of; ``bitext-align`` combines several in joint."""

CUT_MEASURES = ("probability", *THRESHOLD_MEASURES)
"""The measures of cuts by name: those of ``probability`` are its calibration's."""

INPUT = "input"
"""In place of a file of neighbours: those of the input itself."""


TRANSLATION_MEASURES: dict[str, Measure] = {
    "translation": Measure(
        "-inf to 0",
        "mean log-probability of a subword, by the translators",
        translators=1,
    ),
    "dual": Measure(
        "0 to 1",
        "dual conditional cross-entropy, by translators of both directions",
        translators=2,
    ),
    "language-model": Measure(
        "-inf to 0",
        "mean log-probability of a token, by the language models",
        language_models=1,
    ),
    "log-linear": Measure(
        "-inf to 0",
        "weighted sum of both directions and both language models",
        translators=2,
        language_models=2,
    ),
}
"""The measures of translators and language models.

``translation``: the length-normalised posterior of Kim et al. 2019, table 1, the mean of both
directions where there are two. ``dual``: Junczys-Dowmunt 2018, eq. 1. ``log-linear``: the
combination of Rossenbach et al. 2018; the user sets the weights, equal ones are our default.
"""


def possible_measures(parts: Collection[str]) -> list[str]:
    """Return the names in ``MEASURES`` that a model with these *parts*, as in ``needs``, has."""
    return [name for name, measure in MEASURES.items() if measure.needs in ("", *parts)]


def default_measure(parts: Collection[str]) -> str:
    """Return the default measure of a model with these *parts*.

    ``probability`` with a calibration, ``mlp`` with a classifier alone, else ``cosine``.
    """
    order = ("calibration", "probability"), ("classifier", "mlp")
    return next((measure for part, measure in order if part in parts), "cosine")
