"""What bitext-score fills its columns with: windows of sentence pairs in, scores out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bitextfilter.scoring.reference import Reference
from bitextfilter.scoring.scorers import check_measures, score_pairs
from bitextfilter.scoring.translation import Judges, judged_pairs
from bitextfilter.similarity.vectors import Scores

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model

__all__ = ["Columns", "JudgedColumns", "VectorColumns"]


class VectorColumns:
    """Measures of a model's vectors."""

    def __init__(self, model: Model, measures: tuple[str, ...], neighbours: str | None) -> None:
        """Check that model and neighbours have what the measures need.

        With ``input`` for neighbours, ``reference`` has nothing in it until the input is read.
        """
        self.score: Callable[..., Scores] = score_pairs
        self.model, self.measures = model, measures
        self.reference: Reference | None = model.reference
        if neighbours == "input":
            nothing = np.zeros((0, model.encoder.dim), dtype=np.float32)
            self.reference = Reference(nothing, nothing)
        elif neighbours is not None:
            self.reference = Reference.load(Path(neighbours), model.encoder.dim)
        check_measures(model, measures, self.reference)

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> Scores:
        """Score ``n`` pairs by ``m`` measures: float32 ``(n, m)``."""
        return self.score(self.model, sources, targets, self.measures, self.reference)


class JudgedColumns:
    """Measures of translators and language models."""

    def __init__(self, judges: Judges, measures: tuple[str, ...], counts: Counter[str]) -> None:
        """``counts["overlong"]`` counts pairs of which an end was not read."""
        self.judges, self.measures = judges, measures
        self._counts = counts
        counts.update(overlong=0)

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> Scores:
        """Score ``n`` pairs by ``m`` measures: float32 ``(n, m)``."""
        scores, cut = judged_pairs(self.judges, sources, targets, self.measures)
        self._counts["overlong"] += cut
        return scores


class Columns:
    """Those of all measures, in the order asked."""

    def __init__(
        self, measures: Sequence[str], vectors: VectorColumns | None, judged: JudgedColumns | None
    ) -> None:
        """Either may be missing, if none of the measures is its."""
        self.measures, self.vectors = tuple(measures), vectors
        self._parts = [part for part in (vectors, judged) if part is not None]
        names = [name for part in self._parts for name in part.measures]
        self._order = [names.index(name) for name in self.measures]

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> Scores:
        """Score ``n`` pairs by ``m`` measures: float32 ``(n, m)``."""
        found = np.concatenate([part(sources, targets) for part in self._parts], axis=1)
        return np.asarray(found[:, self._order])
