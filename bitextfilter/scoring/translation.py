"""Measures that ask translators and language models, not vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices, Scores
from bitextfilter.errors import SettingsError
from bitextfilter.scoring.measures import TRANSLATION_MEASURES
from bitextfilter.scoring.model import distinct
from bitextfilter.translation.translator import PairScorer, Translator, dual_cross_entropy

Fluency = Callable[[Sequence[str]], Floats]
"""Mean natural-log probability of the tokens of ``n`` sentences, their end marks included."""

LONGEST = 512
"""Subwords of a sentence that translators read: one of that many takes as much time as a hundred
others."""

WEIGHTS = (0.25, 0.25, 0.25, 0.25)


@dataclass(frozen=True)
class Judges:
    """Whom pairs are shown to; any may be missing."""

    forward: Translator | None = None
    """From the source to the target language."""
    backward: Translator | None = None
    fluency: tuple[Fluency | None, Fluency | None] = (None, None)
    """Language models of the source and of the target."""
    weights: tuple[float, float, float, float] = WEIGHTS
    """Of the log-linear combination: forward, backward, and either language model."""
    contents: tuple[str, str, str, str] = ("", "", "", "")
    """Digests of those four, each in the same place; empty for one that is missing."""


class Evidence:
    """What the judges make of sentences of both sides: each is read once."""

    def __init__(self, judges: Judges, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Nothing is read before it is asked for."""
        self.judges = judges
        self._sides = sources, targets

    @cached_property
    def forward(self) -> PairScorer:
        """Scores targets given sources."""
        assert self.judges.forward is not None, "check_judges comes first"
        return self.judges.forward.pair_scorer(*self._sides, longest=LONGEST)

    @cached_property
    def backward(self) -> PairScorer:
        """Scores sources given targets."""
        assert self.judges.backward is not None, "check_judges comes first"
        return self.judges.backward.pair_scorer(*self._sides[::-1], longest=LONGEST)

    @cached_property
    def fluency(self) -> tuple[Floats | None, Floats | None]:
        """Of each side's sentences, where there is a language model: ``(n,)``."""
        source, target = (
            model and model(side)
            for model, side in zip(self.judges.fluency, self._sides, strict=True)
        )
        return source, target

    def cut(self, rows: Indices, columns: Indices) -> NDArray[np.bool_]:
        """Which pairs have a sentence that a translator did not read to its end: ``(n,)``."""
        out = np.zeros(len(rows), dtype=bool)
        if "forward" in vars(self):
            out |= self.forward.cut[0][rows] | self.forward.cut[1][columns]
        if "backward" in vars(self):
            out |= self.backward.cut[0][columns] | self.backward.cut[1][rows]
        return out

    def score(self, rows: Indices, columns: Indices, measures: Sequence[str]) -> Scores:
        """Score pairs by places of source and target, ``(n,)`` each → float32 ``(n, m)``."""
        pairs = PairEvidence(self, rows, columns)
        found = [TRANSLATION_MEASURES[name].score(pairs) for name in measures]
        return np.stack(found, axis=1).astype(np.float32)


class PairEvidence:
    """Pairs by their places: each judge is asked once."""

    def __init__(self, evidence: Evidence, rows: Indices, columns: Indices) -> None:
        self._evidence, self._rows, self._columns = evidence, rows, columns

    @cached_property
    def forward(self) -> Floats:
        """Log-probabilities of targets given sources, ``(n,)``."""
        return self._evidence.forward(self._rows, self._columns)

    @cached_property
    def backward(self) -> Floats:
        """Log-probabilities of sources given targets, ``(n,)``."""
        return self._evidence.backward(self._columns, self._rows)

    def directions(self) -> list[Floats]:
        """Those there are."""
        judges = self._evidence.judges
        ways = ((judges.forward, "forward"), (judges.backward, "backward"))
        return [getattr(self, name) for judge, name in ways if judge is not None]

    def fluencies(self) -> list[Floats]:
        """Of the sides that have a language model."""
        source, target = self._evidence.fluency
        sides = (source, self._rows), (target, self._columns)
        return [values[places] for values, places in sides if values is not None]

    def translation(self) -> Floats:
        """Return the mean log-probability of a subword over the directions, ``(n,)``."""
        return np.asarray(np.mean(self.directions(), axis=0))

    def dual(self) -> Floats:
        """Return the dual conditional cross-entropy as a score, 0 to 1, ``(n,)``."""
        return dual_cross_entropy(self.forward, self.backward)

    def fluency(self) -> Floats:
        """Return the mean log-probability of a token over the language models, ``(n,)``."""
        return np.asarray(np.mean(self.fluencies(), axis=0))

    def log_linear(self) -> Floats:
        """Return the weighted sum."""
        parts = [self.forward, self.backward, *self.fluencies()]
        weights = self._evidence.judges.weights
        return np.array(weights) @ np.stack(parts)


def check_judges(judges: Judges, measures: Sequence[str]) -> None:
    """Raise SettingsError for measures that these judges are too few for."""
    translators = sum(judge is not None for judge in (judges.forward, judges.backward))
    models = sum(model is not None for model in judges.fluency)
    for name in measures:
        measure = TRANSLATION_MEASURES[name]
        if translators < measure.translators:
            folders = "DIR,DIR" if measure.translators == 2 else "DIR"
            raise SettingsError(f"{name} needs --translator {folders}")
        if models < measure.language_models:
            files = "FILE,FILE" if measure.language_models == 2 else "FILE"
            raise SettingsError(f"{name} needs --language-models {files}")


def judged_pairs(
    judges: Judges, sources: Sequence[str], targets: Sequence[str], measures: Sequence[str]
) -> tuple[Scores, NDArray[np.bool_]]:
    """Score ``n`` pairs by ``m`` translation measures → float32 ``(n, m)``; higher is better.

    Each score depends on its pair and the judges alone. Also returns of which pairs a sentence is
    longer than ``LONGEST`` subwords, so that its end was not read: ``(n,)``.
    """
    if not sources:
        return np.zeros((0, len(measures)), np.float32), np.zeros(0, dtype=bool)
    pairs, places = distinct(list(zip(sources, targets, strict=True)))
    (source, rows), (target, columns) = (distinct([pair[i] for pair in pairs]) for i in (0, 1))
    evidence = Evidence(judges, source, target)
    scores = evidence.score(rows, columns, measures)[places]
    return scores, evidence.cut(rows, columns)[places]
