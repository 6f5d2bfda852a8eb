"""The scores of bitext-score: each measure asked, for rows, and the lines with them.

Measures of sentence vectors need a model; margins also its background sample (the neighbours),
``mlp`` its classifier. The others need translators or language models. :class:`ScoreColumns` asks
these, or the cache where there is one; :class:`GivenColumns` has vectors for each row of the text.
:class:`Recheck` has a second, slower model for the pairs that the first one doubts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from bitextfilter.arrays import Mask, Scores, Vectors
from bitextfilter.errors import SettingsError
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Row
from bitextfilter.io.vectors import GivenRows, GivenVectors
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.folders import ModelName
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES
from bitextfilter.scoring.model import vector_measures

if TYPE_CHECKING:
    from bitextfilter.scoring.background import BackgroundSample
    from bitextfilter.scoring.cached_scores import Cache, CachedScores
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.model_scorers import ModelScorers

Explain = Callable[[Sequence[str], Sequence[str]], Iterable[Sequence[str]]]
"""Returns the reasons of each of ``n`` pairs."""

_OVERLONG = "overlong"
"""A measure of translators that is not written: the summary counts its pairs."""


@dataclass(frozen=True)
class ScoreLines:
    """The form of rows with scores."""

    digits: int = 4
    """Decimals of a score."""
    score_only: bool = False
    """The scores stand without the rows."""
    explain: Explain | None = None
    """Gives a last column of reasons."""

    def head(self, reader: RowReader, measures: Sequence[str]) -> bytes:
        """Return the line above those of the rows: of a header, or empty."""
        names = (*measures, *(["reasons"] if self.explain else ()))
        if not self.score_only:
            return reader.first_line(names)
        has_header = reader.header is not None and reader.starts
        return "\t".join(names).encode() + b"\n" if has_header else b""

    def lines(self, window: Sequence[Row | BadRow], good: Sequence[Row], scores: Scores) -> bytes:
        """Return a line for each row of a window, its ``n`` *good* ones with scores ``(n, m)``.

        Scores stand last, and are empty for a bad row.
        """
        cells = iter(["\t".join(cell(x, self.digits) for x in row) for row in scores.tolist()])
        empty = "\t" * (scores.shape[1] - 1)
        if self.explain is not None:
            reasons = ("; ".join(each).split() for each in self.explain(*_texts(good)))
            cells = map("\t".join, zip(cells, map(" ".join, reasons), strict=True))
            empty += "\t"
        lines = []
        for row in window:
            found = (next(cells) if isinstance(row, Row) else empty).encode()
            whole = row.line + b"\t" + found + row.ending
            lines.append(found + b"\n" if self.score_only else whole)
        return b"".join(lines)


def _texts(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    return [row.source for row in rows], [row.target for row in rows]


def cell(score: float, digits: int) -> str:
    """Return a score as text; zero has no minus."""
    text = f"{score:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


Interval = tuple[float, float]
"""The lowest and the highest score that is doubted."""

Second = Callable[[Sequence[str], Sequence[str]], Scores]
"""Returns a slow model's scores of ``n`` pairs, ``(n,)``."""


def slow_name(name: str, languages: tuple[str, str]) -> str:
    """Return the name of a slow model with the languages of the fast one, if it has none."""
    named = ModelName.parse(name).languages is not None
    return name if named else f"{name}:{','.join(languages)}"


def doubted(scores: Scores, between: Interval) -> Mask:
    """Return which scores ``(n,)`` are doubted: those in the interval, its ends among them."""
    return np.asarray((scores >= between[0]) & (scores <= between[1]))


def placed(fast: Scores, slow: Scores, between: Interval) -> Scores:
    """Return the scores of doubted pairs by both models, float32 ``(n,)`` in the interval.

    The mean of the place of the first score in the interval, 0 to 1, and of the second score, of
    which less than 0 counts as 0. It rises with each.
    """
    low, high = between
    place = (fast.astype(np.float64) - low) / (high - low)
    both = low + (high - low) * (place + np.clip(slow.astype(np.float64), 0, 1)) / 2
    return np.asarray(both, np.float32)


class Recheck:
    """Replaces the scores of doubted pairs; counts them in ``counts["rechecked"]``."""

    def __init__(self, second: Second, between: Interval, counts: Counter[str]) -> None:
        """Take the slow model's scores. Raises SettingsError unless the lower end is lower."""
        low, high = between
        if not -np.inf < low < high < np.inf:
            raise SettingsError(f"low and high must be numbers, low below high: {low:g}, {high:g}")
        self._second, self._between, self._counts = second, between, counts
        counts.update(rechecked=0)

    def __call__(self, sources: Sequence[str], targets: Sequence[str], scores: Scores) -> Scores:
        """Return the scores of ``n`` pairs ``(n,)``, the doubted ones by both models."""
        doubts = doubted(scores, self._between)
        out: Scores = scores.copy()
        self._counts["rechecked"] += int(doubts.sum())
        if doubts.any():
            slow = self._second([*compress(sources, doubts)], [*compress(targets, doubts)])
            out[doubts] = placed(scores[doubts], slow, self._between)
        return out


class ScoreColumns:
    """The scores of rows by models, a column for each measure, in the order asked."""

    def __init__(
        self,
        measures: tuple[str, ...],
        model: Model | None,
        scorers: ModelScorers | None,
        counts: Counter[str],
        cache: Cache | None = None,
    ) -> None:
        """Take the model of sentence vectors and the model scorers that the *measures* need.

        A measure of neither is known to the caller. With translators, ``counts["overlong"]``
        counts the truncated pairs.
        """
        self.measures, self.model, self._scorers, self._counts = measures, model, scorers, counts
        self.of_model = [name for name in measures if name in MEASURES]
        self._others = [name for name in measures if name in TRANSLATION_MEASURES]
        self.recheck: Recheck | None = None
        """Replaces scores by the first measure of the model."""
        self._cached: CachedScores | None = None
        if cache is not None and (model or scorers):
            from bitextfilter.scoring.cached_scores import CachedScores

            self._cached = CachedScores(cache, counts)
        if any(TRANSLATION_MEASURES[name].translators for name in self._others):
            self._others.append(_OVERLONG)
            counts.update(overlong=0)

    def measure_against(self, background: BackgroundSample) -> None:
        """Take the neighbours of margins from another sample than the model's, before any score."""
        assert self.model is not None, "margins are of a model"
        self.model = replace(self.model, background=background)

    @property
    def dim(self) -> int:
        """The width of the vectors."""
        assert self.model is not None, "vectors are of a model"
        return self.model.encoder.dim

    def rows(self, reader: RowReader) -> Iterable[Row | BadRow]:
        """Return the rows of a reader."""
        return reader

    def vectors(self, rows: Sequence[Row], side: int) -> Vectors:
        """Return the vectors of ``n`` rows on side 0 or 1, ``(n, dim)``."""
        assert self.model is not None, "vectors are of a model"
        return self.model.encode_side([row.texts[side] for row in rows], side)

    def score(self, rows: Sequence[Row], known: Mapping[str, Scores]) -> Scores:
        """Score ``n`` rows by ``m`` measures: float32 ``(n, m)``.

        *known*: the scores of measures of no model, ``(n,)`` each.
        """
        texts = _texts(rows)
        scores = self.by_models(*texts)
        if _OVERLONG in scores:
            self._counts[_OVERLONG] += int(scores[_OVERLONG].sum())
        if self.recheck is not None:
            scores[self.of_model[0]] = self.recheck(*texts, scores[self.of_model[0]])
        scores |= known
        return np.column_stack([scores[name] for name in self.measures])

    def by_models(self, sources: Sequence[str], targets: Sequence[str]) -> dict[str, Scores]:
        """Return the scores of ``n`` pairs by each measure of a model, ``(n,)``."""
        if self._cached is None:
            return self._compute(sources, targets, [*self.of_model, *self._others])
        return self._cached(self._digests, sources, targets, self._compute)

    def _compute(
        self, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]
    ) -> dict[str, Scores]:
        """Score by these measures → the scores of each ``(n,)``."""
        scores: dict[str, Scores] = {}
        for scorer, measures in ((self.model, self.of_model), (self._scorers, self._others)):
            if scorer is not None and (own := [name for name in names if name in measures]):
                scores |= scorer.score(sources, targets, own)
        return scores

    @cached_property
    def _digests(self) -> dict[str, bytes]:
        from bitextfilter.scoring.cached_scores import score_digest

        both = ((self.model, self.of_model), (self._scorers, self._others))
        return {name: score_digest(one, name) for one, names in both if one for name in names}


_GIVEN_ROWS = 1024
"""Given vectors that are scored together."""


class GivenColumns:
    """The scores of rows by vectors that are given for each."""

    def __init__(
        self,
        files: Sequence[GivenVectors],
        measures: tuple[str, ...],
        background: BackgroundSample | None,
        threads: int = 1,
        whole: bool = True,
    ) -> None:
        """Take the vectors of both sides, and the sample that margins are measured against.

        *whole*: whether the rows are all of the text.

        Raises SettingsError for a measure that needs more than vectors.
        """
        self.measures, self._files, self._threads = measures, files, threads
        self._background, self._whole = background, whole
        for name in measures:
            needs = MEASURES[name].needs if name in MEASURES else "translators"
            if needs == "neighbours" and background is None:
                raise SettingsError(f"{name} of given vectors needs --neighbours input, or a file")
            if needs not in ("", "neighbours"):
                message = f"{name} needs a model, and vectors are given: {', '.join(_GIVEN)} do not"
                raise SettingsError(message)

    def measure_against(self, background: BackgroundSample) -> None:
        """See :meth:`ScoreColumns.measure_against`."""
        self._background = background

    @property
    def dim(self) -> int:
        """See :meth:`ScoreColumns.dim`."""
        return self._files[0].dim

    def rows(self, reader: RowReader) -> Iterable[Row | BadRow]:
        """Return the rows of a reader; a row without a finite vector is bad."""
        self._rows = GivenRows(reader, self._files, self._whole)
        return self._rows

    def vectors(self, rows: Sequence[Row], side: int) -> Vectors:
        """See :meth:`ScoreColumns.vectors`."""
        return self._rows.vectors(rows, side)

    def score(self, rows: Sequence[Row], _known: Mapping[str, Scores]) -> Scores:
        """Score ``n`` rows by ``m`` measures: float32 ``(n, m)``."""

        def part(first: int) -> Scores:
            some = rows[first : first + _GIVEN_ROWS]
            both, every = (self.vectors(some, 0), self.vectors(some, 1)), np.arange(len(some))
            found = vector_measures(both, (every, every), self.measures, self._background)
            return np.stack([found[name] for name in self.measures], axis=1)

        parts = map_blocks(part, range(0, max(len(rows), 1), _GIVEN_ROWS), self._threads)
        return np.concatenate(parts)


_GIVEN = tuple(name for name, measure in MEASURES.items() if measure.needs != "classifier")
