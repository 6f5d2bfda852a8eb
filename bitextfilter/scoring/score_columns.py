"""The columns of bitext-score: windows of sentence pairs in, scores out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bitextfilter.arrays import Scores
from bitextfilter.scoring.background import BackgroundSample
from bitextfilter.scoring.measures import TRANSLATION_MEASURES
from bitextfilter.scoring.model import check_measures, score_pairs

if TYPE_CHECKING:
    from bitextfilter.scoring.cached_scores import CachedScores
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.model_scorers import ModelScorers


OVERLONG = "overlong"
"""Internal column: 1 for a truncated pair, else 0. Counted for the summary, not written."""


class ColumnGroup(Protocol):
    """Columns that are computed together."""

    names: tuple[str, ...]

    def score(self, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]) -> Scores:
        """Score ``n`` pairs by ``m`` of the names: float32 ``(n, m)``."""

    def digest(self, name: str) -> bytes:
        """Return a digest of everything but the pair that a column's scores depend on."""


class VectorColumns:
    """Measures of a model's sentence vectors."""

    def __init__(self, model: Model, measures: tuple[str, ...], neighbours: str | None) -> None:
        """Check that the model and its background sample suffice for the measures.

        ``neighbours``: the file of a background sample; None for the model's own. With ``input``,
        ``background`` is empty until the caller sets it.
        """
        self.model, self.names = model, measures
        self.background: BackgroundSample | None = model.background
        if neighbours == "input":
            nothing = np.zeros((0, model.encoder.dim), dtype=np.float32)
            self.background = BackgroundSample(nothing, nothing)
        elif neighbours is not None:
            self.background = BackgroundSample.load(Path(neighbours), model.encoder.dim)
        check_measures(model, measures, self.background)

    def score(self, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]) -> Scores:
        """See :meth:`ColumnGroup.score`."""
        return score_pairs(self.model, sources, targets, names, self.background)

    def digest(self, name: str) -> bytes:
        """See :meth:`ColumnGroup.digest`."""
        from bitextfilter.scoring.cached_scores import vector_digest

        return vector_digest(self.model, name, self.background)


class ModelScorerColumns:
    """Measures of translators and language models; with translators also ``OVERLONG``."""

    def __init__(self, scorers: ModelScorers, measures: tuple[str, ...]) -> None:
        self._scorers, self._measures = scorers, measures
        translated = any(TRANSLATION_MEASURES[name].translators for name in measures)
        self.names = (*measures, OVERLONG) if translated else measures

    def score(self, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]) -> Scores:
        """See :meth:`ColumnGroup.score`. All are computed: they use the same models."""
        from bitextfilter.scoring.model_scorers import score_by_models

        scores, truncated = score_by_models(self._scorers, sources, targets, self._measures)
        scores = np.column_stack([scores, truncated.astype(np.float32)])
        return np.asarray(scores[:, [self.names.index(name) for name in names]])

    def digest(self, name: str) -> bytes:
        """See :meth:`ColumnGroup.digest`."""
        from bitextfilter.scoring.cached_scores import scorer_digest

        return scorer_digest(self._scorers, name)


class ScoreColumns:
    """The columns of all measures, in the order asked."""

    def __init__(
        self,
        measures: tuple[str, ...],
        groups: Sequence[ColumnGroup],
        counts: Counter[str],
        cached: CachedScores | None = None,
    ) -> None:
        """Each measure is a name of one of the groups.

        With translators, ``counts["overlong"]`` counts the truncated pairs.
        """
        self.measures, self._counts, self._cached = measures, counts, cached
        self._owners = {name: group for group in groups for name in group.names}
        self._names = list(self._owners)
        self.vectors = next((group for group in groups if isinstance(group, VectorColumns)), None)
        """The group of a model's sentence vectors, if there is one."""
        if OVERLONG in self._owners:
            counts.update(overlong=0)

    @cached_property
    def _digests(self) -> list[bytes]:
        return [group.digest(name) for name, group in self._owners.items()]

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> Scores:
        """Score ``n`` pairs by ``m`` measures: float32 ``(n, m)``."""
        if self._cached is None:
            found = self._compute(sources, targets, range(len(self._names)))
        else:
            found = self._cached(self._digests, sources, targets, self._compute)
        if OVERLONG in self._owners:
            self._counts[OVERLONG] += int(found[:, self._names.index(OVERLONG)].sum())
        return np.asarray(found[:, [self._names.index(name) for name in self.measures]])

    def _compute(
        self, sources: Sequence[str], targets: Sequence[str], places: Sequence[int]
    ) -> Scores:
        """Score by the columns in these places."""
        scores = np.empty((len(sources), len(places)), np.float32)
        owners = [self._owners[self._names[place]] for place in places]
        for group in dict.fromkeys(owners):
            own = [column for column, owner in enumerate(owners) if owner is group]
            names = [self._names[places[column]] for column in own]
            scores[:, own] = group.score(sources, targets, names)
        return scores
