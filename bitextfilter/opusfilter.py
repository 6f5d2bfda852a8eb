"""Filters for the configurations of OpusFilter, with ``module: bitextfilter.opusfilter``::

    - type: filter
      parameters:
        inputs: [raw.en.gz, raw.de.gz]
        outputs: [clean.en.gz, clean.de.gz]
        filters:
          - BitextRulesFilter: {languages: [en, de]}
            module: bitextfilter.opusfilter
          - BitextScoreFilter: {model: en-de, threshold: balanced}
            module: bitextfilter.opusfilter

This module alone imports ``opusfilter``, which the user has.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import opusfilter

from bitextfilter.api.cleaning import Filter
from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import is_blank
from bitextfilter.models.folders import CUTS
from bitextfilter.scoring.model import load
from bitextfilter.scoring.thresholds import named_cut
from bitextfilter.settings import none_of

Pair = Sequence[str]

_WINDOW = 8192
"""Pairs scored together; no result depends on it."""


class _WindowFilter(opusfilter.FilterABC):  # type: ignore[misc]
    """A filter that scores windows of pairs, where OpusFilter's base takes them one by one."""

    def filter(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that are accepted."""
        return (pair for pair, score in self._scored(pairs) if self.accept(score))

    def filterfalse(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that are not accepted."""
        return (pair for pair, score in self._scored(pairs) if not self.accept(score))

    def score(self, pairs: Iterable[Pair]) -> Iterator[float | bool]:
        """Yield the score of each pair, in order."""
        return (score for _, score in self._scored(pairs))

    def _scored(self, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, float | bool]]:
        every = iter(pairs)
        while window := list(islice(every, _WINDOW)):
            sizes = {len(pair) for pair in window} - {2}
            if sizes:
                raise SettingsError(f"{self.__class__.__name__} is for two files, not {max(sizes)}")
            yield from zip(window, self._scores(window), strict=True)

    @abstractmethod
    def _scores(self, window: Sequence[Pair]) -> Sequence[float | bool]:
        """Return the score of each pair of a window."""


class BitextScoreFilter(_WindowFilter):
    """Pairs with at least a score, as by ``bitext-score``; a pair with a blank side has -inf."""

    score_direction = opusfilter.CLEAN_HIGH
    accept_threshold = -math.inf
    reject_threshold = math.inf

    def __init__(
        self,
        model: str = "en-de",
        threshold: float | str = 0.5,
        measure: str | None = None,
        threads: int = 1,
        device: str = "cpu",
        **others: Any,
    ) -> None:
        """Load the model.

        Args:
            model: a shipped one or a folder, as ``--model`` takes it: ``multi:cs,pl``.
            threshold: the least score that is kept, or the name of a cut of the model:
                ``lenient``, ``balanced`` or ``strict``.
            measure: such as ``cosine``; None for the model's default.
            threads: for each process of OpusFilter.
            device: ``cpu`` or ``cuda[:n]``.
            others: ``name`` and ``workdir`` of OpusFilter.

        Raises:
            BitextError: there is no such model, measure, device or threshold.
        """
        super().__init__(**others)
        self.model = load(model, device, threads)
        self.measure = measure or self.model.default_measure
        self.model.check([self.measure])
        if isinstance(threshold, str):
            if threshold not in CUTS:
                raise SettingsError(f"threshold is a number, or {none_of(threshold, CUTS)}")
            threshold = named_cut(model, self.measure, threshold).threshold
        self.threshold = float(threshold)

    def accept(self, score: float | bool) -> bool:
        """Return whether a pair with this score is kept."""
        return score >= self.threshold

    def _scores(self, window: Sequence[Pair]) -> Sequence[float]:
        scores = [-math.inf] * len(window)
        whole = [place for place, pair in enumerate(window) if not any(map(is_blank, pair))]
        source, target = ([window[place][side] for place in whole] for side in (0, 1))
        found = self.model.score(source, target, self.measure)[self.measure]
        for place, score in zip(whole, found.tolist(), strict=True):
            scores[place] = score
        return scores


class BitextRulesFilter(_WindowFilter):
    """Pairs that pass rules, as by ``bitext-filter``; the score is whether a pair passes."""

    score_direction = opusfilter.CLEAN_TRUE

    def __init__(
        self,
        rules: str | Sequence[str] = "default",
        languages: Sequence[str] | None = None,
        without: Sequence[str] = (),
        **others: Any,
    ) -> None:
        """Make the rules.

        Args:
            rules: one or several, in the form of ``--rule``: ``default``, ``length:maximum=80``.
            languages: codes of both sides (ISO 639-1), for the rules that need them.
            without: names of rules to leave out.
            others: ``name`` and ``workdir`` of OpusFilter.

        Raises:
            SettingsError: a rule or a parameter is unknown, or a rule cannot run.
        """
        super().__init__(**others)
        if languages is not None and (isinstance(languages, str) or len(languages) != 2):
            raise SettingsError(f"languages are two, source and target, not {languages!r}")
        two = None if languages is None else (languages[0], languages[1])
        self.rules = Filter(rules, two, without)

    def accept(self, score: float | bool) -> bool:
        """Return whether a pair with this score is kept."""
        return bool(score)

    def _scores(self, window: Sequence[Pair]) -> Sequence[bool]:
        pairs = [(pair[0], pair[1]) for pair in window]
        return [verdict == "keep" for _, verdict in self.rules.explain(pairs)]
