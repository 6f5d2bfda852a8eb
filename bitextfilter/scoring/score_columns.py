"""What bitext-score fills its columns with: windows of sentence pairs in, scores out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bitextfilter.arrays import Scores
from bitextfilter.scoring.background import Reference
from bitextfilter.scoring.cached import VectorContexts, judged_context
from bitextfilter.scoring.measures import TRANSLATION_MEASURES
from bitextfilter.scoring.model import check_measures, score_pairs
from bitextfilter.scoring.translation import Judges, judged_pairs

if TYPE_CHECKING:
    from bitextfilter.scoring.cached import CachedScores
    from bitextfilter.scoring.model import Model


OVERLONG = "overlong"
"""1 for a pair of which an end was not read, else 0: for the summary, not for the output."""


class Part(Protocol):
    """Columns that are computed together."""

    names: tuple[str, ...]

    def score(self, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]) -> Scores:
        """Score ``n`` pairs by ``m`` of the names: float32 ``(n, m)``."""

    def context(self, name: str) -> bytes:
        """Return a digest of all but the pair that a column's scores depend on."""


class VectorColumns:
    """Measures of a model's vectors."""

    def __init__(self, model: Model, measures: tuple[str, ...], neighbours: str | None) -> None:
        """Check that model and neighbours have what the measures need.

        With ``input`` for neighbours, ``reference`` has nothing in it until the input is read.
        """
        self.model, self.names = model, measures
        self.reference: Reference | None = model.reference
        self._contexts = VectorContexts()
        if neighbours == "input":
            nothing = np.zeros((0, model.encoder.dim), dtype=np.float32)
            self.reference = Reference(nothing, nothing)
        elif neighbours is not None:
            self.reference = Reference.load(Path(neighbours), model.encoder.dim)
        check_measures(model, measures, self.reference)

    def score(self, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]) -> Scores:
        """See :meth:`Part.score`."""
        return score_pairs(self.model, sources, targets, names, self.reference)

    def context(self, name: str) -> bytes:
        """See :meth:`Part.context`."""
        return self._contexts(self.model, name, self.reference)


class JudgedColumns:
    """Measures of translators and language models; of translators also ``OVERLONG``."""

    def __init__(self, judges: Judges, measures: tuple[str, ...]) -> None:
        self._judges, self._measures = judges, measures
        asked = any(TRANSLATION_MEASURES[name].translators for name in measures)
        self.names = (*measures, OVERLONG) if asked else measures
        self._contexts: dict[str, bytes] = {}

    def score(self, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]) -> Scores:
        """See :meth:`Part.score`: all are computed, for they ask the same judges."""
        scores, cut = judged_pairs(self._judges, sources, targets, self._measures)
        scores = np.column_stack([scores, cut.astype(np.float32)])
        return np.asarray(scores[:, [self.names.index(name) for name in names]])

    def context(self, name: str) -> bytes:
        """See :meth:`Part.context`."""
        if name not in self._contexts:
            self._contexts[name] = judged_context(self._judges, name)
        return self._contexts[name]


class Columns:
    """Those of all measures, in the order asked."""

    def __init__(
        self,
        measures: tuple[str, ...],
        parts: Sequence[Part],
        counts: Counter[str],
        cached: CachedScores | None = None,
    ) -> None:
        """Each measure is one of the names of one of the parts.

        Where there are judges, ``counts["overlong"]`` counts pairs of which an end was not read.
        """
        self.measures, self._counts, self._cached = measures, counts, cached
        self._owners = {name: part for part in parts for name in part.names}
        self._names = list(self._owners)
        self.vectors = next((part for part in parts if isinstance(part, VectorColumns)), None)
        """Those of a model's vectors, if there are any."""
        if OVERLONG in self._owners:
            counts.update(overlong=0)

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> Scores:
        """Score ``n`` pairs by ``m`` measures: float32 ``(n, m)``."""
        everything = range(len(self._names))
        if self._cached is None:
            found = self._compute(sources, targets, everything)
        else:
            contexts = [part.context(name) for name, part in self._owners.items()]
            found = self._cached(contexts, sources, targets, self._compute)
        if OVERLONG in self._owners:
            self._counts[OVERLONG] += int(found[:, self._names.index(OVERLONG)].sum())
        return np.asarray(found[:, [self._names.index(name) for name in self.measures]])

    def _compute(
        self, sources: Sequence[str], targets: Sequence[str], places: Sequence[int]
    ) -> Scores:
        """Score by the columns in these places."""
        scores = np.empty((len(sources), len(places)), np.float32)
        owners = [self._owners[self._names[place]] for place in places]
        for part in dict.fromkeys(owners):
            own = [column for column, owner in enumerate(owners) if owner is part]
            names = [self._names[places[column]] for column in own]
            scores[:, own] = part.score(sources, targets, names)
        return scores
