"""The scores of bitext-score: each measure asked, by the models that it needs.

The measures of sentence vectors need a model; margins also its background sample (the neighbours),
``mlp`` its classifier. The others need translators or language models. Measures of one kind are
computed together, and :class:`ScoreColumns` gives each row its scores, from the cache where there
is one.

Rows with their scores, as lines.

Rows that are read twice: for the background sample of the input, and then for their scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from bitextfilter.arrays import Indices, Scores
from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import BadRow, Columns, Row, RowReader
from bitextfilter.io.spill import Scratch
from bitextfilter.io.vectors import GivenRows, GivenVectors
from bitextfilter.io.workers import map_blocks
from bitextfilter.scoring.background import BackgroundSample, InputBackground
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES
from bitextfilter.scoring.model import check_measures, score_pairs, vector_measures

if TYPE_CHECKING:
    from bitextfilter.scoring.cached_scores import CachedScores
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.model_scorers import ModelScorers

Explain = Callable[[Sequence[str], Sequence[str]], Iterable[Sequence[str]]]
"""Returns the reasons of each of ``n`` pairs."""


class _Sides(Protocol):
    @property
    def source(self) -> str: ...

    @property
    def target(self) -> str: ...


def sides(rows: Sequence[_Sides]) -> tuple[list[str], list[str]]:
    """Return the sources and the targets of rows."""
    return [row.source for row in rows], [row.target for row in rows]


@dataclass(frozen=True)
class ScoreLines:
    """The form of rows with scores."""

    digits: int = 4
    """Decimals of a score."""
    score_only: bool = False
    """The scores stand without the rows."""
    explain: Explain | None = None
    """Gives a last column of reasons."""

    def __call__(
        self, window: Sequence[Row | BadRow], score: Callable[[Sequence[Row]], Scores]
    ) -> bytes:
        """Return a line for each row of a window; *score* gives ``n`` good rows ``(n, m)`` scores.

        Scores stand last, and are empty for a bad row.
        """
        good = [row for row in window if isinstance(row, Row)]
        scores = score(good)
        cells = iter(["\t".join(cell(x, self.digits) for x in row) for row in scores.tolist()])
        empty = "\t" * (scores.shape[1] - 1)
        if self.explain is not None:
            reasons = map("; ".join, self.explain(*sides(good)))
            cells = map("\t".join, zip(cells, map(one_line, reasons), strict=True))
            empty += "\t"
        lines = []
        for row in window:
            found = (next(cells) if isinstance(row, Row) else empty).encode()
            whole = row.line + b"\t" + found + row.ending
            lines.append(found + b"\n" if self.score_only else whole)
        return b"".join(lines)


def one_line(text: str) -> str:
    """Return *text* without tabs and line ends."""
    return " ".join(text.split())


def cell(score: float, digits: int) -> str:
    """Return a score as text; zero has no minus."""
    text = f"{score:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


OVERLONG = "overlong"
"""Name of a measure that is not written: 1 for a truncated pair, else 0; the summary counts it."""


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

    def score(
        self, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]
    ) -> dict[str, Scores]:
        """Score ``n`` pairs by some of the measures → the scores of each, float32 ``(n,)``."""
        scores = score_pairs(self.model, sources, targets, names, self.background)
        return dict(zip(names, scores.T, strict=True))

    def digest(self, name: str) -> bytes:
        """Return a digest of everything but the pair that a score by this measure depends on."""
        from bitextfilter.scoring.cached_scores import vector_digest

        return vector_digest(self.model, name, self.background)


class ModelScorerColumns:
    """Measures of translators and language models; with translators also ``OVERLONG``."""

    def __init__(self, scorers: ModelScorers, measures: tuple[str, ...]) -> None:
        self._scorers, self._measures = scorers, measures
        translated = any(TRANSLATION_MEASURES[name].translators for name in measures)
        self.names = (*measures, OVERLONG) if translated else measures

    def score(
        self, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]
    ) -> dict[str, Scores]:
        """See :meth:`VectorColumns.score`. All are computed: they use the same models."""
        from bitextfilter.scoring.model_scorers import score_by_models

        scores, truncated = score_by_models(self._scorers, sources, targets, self._measures)
        found = dict(zip(self._measures, scores.T, strict=True))
        found[OVERLONG] = truncated.astype(np.float32)
        return {name: found[name] for name in names}

    def digest(self, name: str) -> bytes:
        """See :meth:`VectorColumns.digest`."""
        from bitextfilter.scoring.cached_scores import scorer_digest

        return scorer_digest(self._scorers, name)


ColumnGroup = VectorColumns | ModelScorerColumns
"""Measures that are computed together."""


class ScoreColumns:
    """The scores of rows by all measures, a column each, in the order asked."""

    def __init__(
        self,
        measures: tuple[str, ...],
        groups: Sequence[ColumnGroup],
        counts: Counter[str],
        cached: CachedScores | None = None,
    ) -> None:
        """Each measure is a name of one of the groups, or known to the caller.

        With translators, ``counts["overlong"]`` counts the truncated pairs.
        """
        self.measures, self._groups = measures, groups
        self._counts, self._cached = counts, cached
        self._names = [name for group in groups for name in group.names]
        self.vectors = next((group for group in groups if isinstance(group, VectorColumns)), None)
        """The group of a model's sentence vectors, if there is one."""
        if OVERLONG in self._names:
            counts.update(overlong=0)

    @cached_property
    def _digests(self) -> dict[str, bytes]:
        return {name: group.digest(name) for group in self._groups for name in group.names}

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        known: Mapping[str, Scores] = MappingProxyType({}),
    ) -> Scores:
        """Score ``n`` pairs by ``m`` measures: float32 ``(n, m)``.

        *known*: the scores of measures that no group has, ``(n,)`` each.
        """
        if self._cached is None:
            scores = self._compute(sources, targets, self._names)
        else:
            scores = self._cached(self._digests, sources, targets, self._compute)
        if OVERLONG in scores:
            self._counts[OVERLONG] += int(scores[OVERLONG].sum())
        scores |= known
        return np.column_stack([scores[name] for name in self.measures])

    def _compute(
        self, sources: Sequence[str], targets: Sequence[str], names: Sequence[str]
    ) -> dict[str, Scores]:
        """Score by these measures → the scores of each ``(n,)``."""
        scores: dict[str, Scores] = {}
        for group in self._groups:
            if own := [name for name in names if name in group.names]:
                scores |= group.score(sources, targets, own)
        return scores


_GIVEN_ROWS = 1024
"""Given vectors that are scored together."""


class GivenColumns:
    """Measures of vectors that are given for each row of the text."""

    def __init__(
        self,
        files: Sequence[GivenVectors],
        measures: tuple[str, ...],
        neighbours: str | None,
        threads: int = 1,
    ) -> None:
        """Take the vectors of source and target; *neighbours*: as of :class:`VectorColumns`.

        Raises SettingsError for a measure that needs more than vectors.
        """
        self.files, self.measures, self._threads = files, measures, threads
        self.background: BackgroundSample | None = None
        if neighbours not in (None, "input"):
            self.background = BackgroundSample.load(Path(str(neighbours)), files[0].dim)
        for name in measures:
            needs = MEASURES[name].needs if name in MEASURES else "translators"
            if needs == "neighbours" and neighbours is None:
                raise SettingsError(f"{name} of given vectors needs --neighbours input, or a file")
            if needs not in ("", "neighbours"):
                message = f"{name} needs a model, and vectors are given: {', '.join(_GIVEN)} do not"
                raise SettingsError(message)

    def score(self, places: Indices) -> Scores:
        """Score the rows at ``n`` places by ``m`` measures: float32 ``(n, m)``."""

        def part(first: int) -> Scores:
            rows = places[first : first + _GIVEN_ROWS]
            sides, every = [file[rows] for file in self.files], np.arange(len(rows))
            pair = sides[0], sides[1]
            found = vector_measures(pair, (every, every), self.measures, self.background)
            return np.stack([found[name] for name in self.measures], axis=1)

        parts = map_blocks(part, range(0, max(len(places), 1), _GIVEN_ROWS), self._threads)
        return np.concatenate(parts)


_GIVEN = tuple(name for name, measure in MEASURES.items() if measure.needs != "classifier")


class Sampled(NamedTuple):
    """The background sample of an input, and the way in which rows get into it."""

    background: InputBackground
    add: Callable[[Sequence[Row]], None]


def sampled_texts(columns: VectorColumns, files: tuple[Scratch, Scratch]) -> Sampled:
    """Return the sample of vectors that a model makes; they wait in *files*, of either side."""
    model = columns.model
    background = InputBackground(model.encode_side, model.encoder.dim, files)
    return Sampled(background, lambda rows: background.add(*sides(rows)))


def sampled_vectors(
    columns: GivenColumns, reader: RowReader, files: tuple[Scratch, Scratch]
) -> Sampled:
    """Return the sample of vectors that are given for the rows of *reader*."""
    background = InputBackground(None, columns.files[0].dim, files)
    given = GivenRows(reader, columns.files)

    def add(rows: Sequence[Row]) -> None:
        places = given.places(rows)
        background.add_given(sides(rows), [file[places] for file in columns.files])

    return Sampled(background, add)


def read_first(
    reader: RowReader,
    windows: Iterable[Sequence[Row | BadRow]],
    sampled: Sampled,
    spool: Scratch,
    columns: Columns | None,
) -> tuple[RowReader, BackgroundSample]:
    """Read all windows of a reader with these *columns*, and keep the rows in *spool*.

    Returns a reader of the same rows, and the background sample of them.
    """
    spool.write(reader.first_line())
    for window in windows:
        sampled.add([row for row in window if isinstance(row, Row)])
        spool.write(b"".join(row.line + row.ending for row in window))
    again = RowReader(spool.stream(), reader.name, columns, reader.header is not None)
    return again, sampled.background.sample()
