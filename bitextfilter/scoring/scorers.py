"""The measures by name, and a window of sentence pairs scored by some of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.io.batches import map_blocks
from bitextfilter.similarity.margins import MARGINS
from bitextfilter.similarity.vectors import Scores, Vectors, cosine_pairs, euclidean_pairs

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.reference import Reference

Text = TypeVar("Text", str, tuple[str, str])

_FEWEST, _MOST = 1024, 8192
"""How many pairs a thread scores together. Large parts fill their blocks better, small ones leave
no thread idle; for very few, the threads share one."""


class Window:
    """Sentence pairs on their way to scores: each distinct sentence is encoded once."""

    def __init__(
        self,
        model: Model,
        sources: Sequence[str],
        targets: Sequence[str],
        reference: Reference | None,
    ) -> None:
        """Encode ``n`` pairs."""
        self.model, self.reference = model, reference
        (source, self.rows), (target, self.columns) = distinct(sources), distinct(targets)
        self._sentences = source, target
        self.source = model.encode(source, model.languages[0])
        self.target = model.encode(target, model.languages[1])

    @property
    def pairs(self) -> tuple[Vectors, Vectors]:
        """The vectors of both sides, row by row, each ``(n, dim)``."""
        return self.source[self.rows], self.target[self.columns]

    @cached_property
    def cosines(self) -> Scores:
        """The cosine of each pair, ``(n,)``."""
        return cosine_pairs(*self.pairs)

    @cached_property
    def means(self) -> tuple[Scores, Scores]:
        """Mean cosine of either side's sentences to their neighbours, each ``(n,)``."""
        assert self.reference is not None, "check_measures comes first"
        source = self.reference.source_means(self.source, self.model.threads)
        target = self.reference.target_means(self.target, self.model.threads)
        return source[self.rows], target[self.columns]

    def margin(self, name: str) -> Scores:
        """Return the margin of that name, ``(n,)``."""
        return MARGINS[name](self.cosines, *self.means)

    @property
    def probabilities(self) -> Scores:
        """What the classifier says, ``(n,)``."""
        source, target = self._sentences
        score = self.model.pair_scorer((self.source, source), (self.target, target))
        assert score is not None, "check_measures comes first"
        return score(self.rows, self.columns)


@dataclass(frozen=True)
class Measure:
    """One measure: how it scores a window, its range, and what it is (for the help)."""

    score: Callable[[Window], Scores]
    range: str
    text: str
    needs: str = ""
    """``neighbours`` or ``classifier``, if it needs one."""


MEASURES: dict[str, Measure] = {
    "cosine": Measure(lambda window: window.cosines, "-1 to 1", "cosine of the two vectors"),
    "euclidean": Measure(
        lambda window: euclidean_pairs(*window.pairs),
        "-inf to 0",
        "negative Euclidean distance, in the vectors' own unit",
    ),
    "csls": Measure(
        lambda window: window.margin("csls"),
        "-4 to 4",
        "2 cosine - the mean cosines of both sides to their neighbours",
        "neighbours",
    ),
    "ratio": Measure(
        lambda window: window.margin("ratio"),
        "-100 to 100",
        "cosine / the mean of those two; 1 is nothing special",
        "neighbours",
    ),
    "distance": Measure(
        lambda window: window.margin("distance"),
        "-2 to 2",
        "cosine - the mean of those two: half of csls",
        "neighbours",
    ),
    "mlp": Measure(
        lambda window: window.probabilities,
        "0 to 1",
        "how surely good translations, by the model's classifier",
        "classifier",
    ),
}
"""The measures by name. For all of them, higher is better."""


def distinct(texts: Sequence[Text]) -> tuple[list[Text], NDArray[np.int64]]:
    """Return the distinct sentences or pairs in order of appearance, and each one's place there.

    The places are ``(n,)``.
    """
    places: dict[Text, int] = {}
    rows = [places.setdefault(text, len(places)) for text in texts]
    return list(places), np.array(rows, dtype=np.int64)


def check_measures(model: Model, measures: Sequence[str], reference: Reference | None) -> None:
    """Raise SettingsError for measures that are unknown, or that model and reference lack."""
    for name in measures:
        if name not in MEASURES:
            raise SettingsError(f"similarity {name!r} is none of {', '.join(MEASURES)}")
        needs = MEASURES[name].needs
        if needs == "classifier" and model.classifier is None:
            raise SettingsError(
                f"{name} needs a classifier, and the model {model.name} has none;"
                " bitext-train-classifier makes one"
            )
        if needs == "neighbours" and reference is None:
            raise SettingsError(
                f"{name} needs neighbours, and the model {model.name} stores none;"
                " give some with --neighbours"
            )


def score_pairs(
    model: Model,
    sources: Sequence[str],
    targets: Sequence[str],
    measures: Sequence[str],
    reference: Reference | None = None,
) -> Scores:
    """Score ``n`` sentence pairs by ``m`` measures → float32 ``(n, m)``; higher is better.

    A pair's scores are the same to the last bit whatever the other pairs are. One that comes
    several times is scored once.

    Args:
        model: as loaded.
        sources: sentences of the model's first language.
        targets: sentences of its second language, as many.
        measures: names in ``MEASURES``.
        reference: the neighbours that margins are measured against; None for the model's own.

    Raises:
        SettingsError: a measure is unknown, or needs what is not there.
        ValueError: the sides differ in number.
    """
    reference = reference or model.reference
    check_measures(model, measures, reference)
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} source and {len(targets)} target sentences")

    if not measures:
        return np.zeros((len(sources), 0), np.float32)
    pairs, places = distinct(list(zip(sources, targets, strict=True)))
    size = _part_size(len(pairs), max(1, model.threads))

    def part(first: int) -> Scores:
        rows = pairs[first : first + size]
        window = Window(model, [row[0] for row in rows], [row[1] for row in rows], reference)
        return np.stack([MEASURES[name].score(window) for name in measures], axis=1)

    parts = map_blocks(part, range(0, max(1, len(pairs)), size), model.threads)
    return np.concatenate(parts)[places]


def _part_size(pairs: int, threads: int) -> int:
    """How many pairs are scored together: the same for each thread."""
    if pairs < threads * _FEWEST:
        return max(1, pairs)
    parts = threads * math.ceil(pairs / (threads * _MOST))
    return math.ceil(pairs / parts)
