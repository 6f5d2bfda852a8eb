"""Scores of sentence pairs by translators and language models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bitextfilter.arrays import Floats, Indices, Mask, Scores
from bitextfilter.errors import SettingsError
from bitextfilter.scoring.measures import TRANSLATION_MEASURES
from bitextfilter.scoring.model import distinct

if TYPE_CHECKING:
    from bitextfilter.translation.translator import AnyTranslator, TranslationScorer

Fluency = Callable[[Sequence[str]], Floats]
"""Mean natural-log probability of the tokens of ``n`` sentences, their end marks included."""

LONGEST = 512
"""Translators truncate sentences to this many subwords: one of this length costs as much as a
hundred average ones."""

OVERLONG = "overlong"
"""Name of a measure that is not written; the summary counts its pairs."""

WEIGHTS = (0.25, 0.25, 0.25, 0.25)


@dataclass(frozen=True)
class ModelScorers:
    """The models that score a pair; each is optional."""

    forward: AnyTranslator | None = None
    """From the source to the target language."""
    backward: AnyTranslator | None = None
    fluency: tuple[Fluency | None, Fluency | None] = (None, None)
    """Language models of the source and of the target."""
    weights: tuple[float, float, float, float] = WEIGHTS
    """Weights of the log-linear measure, in the order of the fields above."""
    digests: tuple[str, str, str, str] = ("", "", "", "")
    """Digests of the four models, in the same order; empty for a missing one."""

    def score(
        self, sources: Sequence[str], targets: Sequence[str], measures: Sequence[str]
    ) -> dict[str, Scores]:
        """Score ``n`` pairs by translation measures → the scores of each, float32 ``(n,)``.

        Each depends on its pair alone; higher is better. ``OVERLONG`` is 1 for pairs with a
        sentence truncated to ``LONGEST`` subwords, else 0.
        """
        if not sources:
            return dict.fromkeys(measures, np.zeros(0, np.float32))
        pairs, places = distinct(list(zip(sources, targets, strict=True)))
        (source, rows), (target, columns) = (distinct([pair[i] for pair in pairs]) for i in (0, 1))
        sentences = SentenceScores(self, source, target)
        found: dict[str, Scores] = {}
        if names := [name for name in measures if name != OVERLONG]:
            scores = sentences.score(rows, columns, names)[places]
            found.update(zip(names, scores.T, strict=True))
        if OVERLONG in measures:
            found[OVERLONG] = sentences.truncated(rows, columns)[places].astype(np.float32)
        return found


class SentenceScores:
    """Lazily computed model scores for the sentences of both sides; each is read once."""

    def __init__(
        self, scorers: ModelScorers, sources: Sequence[str], targets: Sequence[str]
    ) -> None:
        self.scorers = scorers
        self._sides = sources, targets

    @cached_property
    def forward(self) -> TranslationScorer:
        """Scores targets given sources."""
        assert self.scorers.forward is not None, "check_scorers comes first"
        return self.scorers.forward.pair_scorer(*self._sides, longest=LONGEST)

    @cached_property
    def backward(self) -> TranslationScorer:
        """Scores sources given targets."""
        assert self.scorers.backward is not None, "check_scorers comes first"
        return self.scorers.backward.pair_scorer(*self._sides[::-1], longest=LONGEST)

    @cached_property
    def fluency(self) -> tuple[Floats | None, Floats | None]:
        """Fluency of the sentences of each side ``(n,)``; None without a language model."""
        source, target = (
            model and model(side)
            for model, side in zip(self.scorers.fluency, self._sides, strict=True)
        )
        return source, target

    def truncated(self, rows: Indices, columns: Indices) -> Mask:
        """Return True for pairs with a sentence that a translator truncated: ``(n,)``."""
        out = np.zeros(len(rows), dtype=bool)
        if self.scorers.forward is not None:
            out |= self.forward.truncated[0][rows] | self.forward.truncated[1][columns]
        if self.scorers.backward is not None:
            out |= self.backward.truncated[0][columns] | self.backward.truncated[1][rows]
        return out

    def score(self, rows: Indices, columns: Indices, measures: Sequence[str]) -> Scores:
        """Score pairs by places of source and target, ``(n,)`` each → float32 ``(n, m)``."""
        wanted, scorers = [TRANSLATION_MEASURES[name] for name in measures], self.scorers
        directions: list[Floats] = []
        if any(measure.translators for measure in wanted):
            directions += [] if scorers.forward is None else [self.forward(rows, columns)]
            directions += [] if scorers.backward is None else [self.backward(columns, rows)]
        fluencies: list[Floats] = []
        if any(measure.language_models for measure in wanted):
            sides = zip(self.fluency, (rows, columns), strict=True)
            fluencies = [values[places] for values, places in sides if values is not None]
        formulas: dict[str, Callable[[], Floats]] = {
            "translation": lambda: np.mean(directions, axis=0),
            "dual": lambda: dual_cross_entropy(*directions),
            "language-model": lambda: np.mean(fluencies, axis=0),
            "log-linear": lambda: np.array(scorers.weights) @ np.stack([*directions, *fluencies]),
        }
        return np.stack([formulas[name]() for name in measures], axis=1).astype(np.float32)


def check_scorers(scorers: ModelScorers, measures: Sequence[str]) -> None:
    """Raise SettingsError for measures that need more models."""
    translators = sum(model is not None for model in (scorers.forward, scorers.backward))
    models = sum(model is not None for model in scorers.fluency)
    for name in measures:
        measure = TRANSLATION_MEASURES[name]
        if translators < measure.translators:
            folders = "DIR,DIR" if measure.translators == 2 else "DIR"
            raise SettingsError(f"{name} needs --translator {folders}")
        if models < measure.language_models:
            files = "FILE,FILE" if measure.language_models == 2 else "FILE"
            raise SettingsError(f"{name} needs --language-models {files}")


def dual_cross_entropy(forward: Floats, backward: Floats) -> Floats:
    """Dual conditional cross-entropy of pairs (Junczys-Dowmunt 2018, eq. 1 and 2): ``(n,)``.

    exp(-(|H_A - H_B| + (H_A + H_B) / 2)), from 0 to 1, higher is better: both models must find the
    pair likely, and equally so.

    Args:
        forward, backward: ``log_probabilities`` of the targets given the sources and of the
            sources given the targets, -H_A and -H_B, ``(n,)`` each.
    """
    distance = np.abs(forward - backward) - (forward + backward) / 2
    score: Floats = np.exp(-distance)
    return score
