"""The vectors of the sentences of two collections: made by a model, or given in files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.io.spill import SentenceFile
from bitextfilter.io.vectors import GivenVectors
from bitextfilter.pairs.base import EncodedSide, PairScorer
from bitextfilter.scoring.model import Model
from bitextfilter.search.saved_index import given_maker
from bitextfilter.search.tasks import MapTasks, TaskId


class VectorSource(Protocol):
    """Where the vectors of either side come from."""

    dim: int
    maker: str
    """Of an index of the vectors: see ``mining.index.IndexDescription``."""

    def plan(self) -> dict[str, str]:
        """Return the facts that the vectors depend on, for the plan of a search."""

    def gathered(self, side: int, firsts: Sequence[Indices]) -> None:
        """Take, before ``vectors``, where each distinct sentence of a side stood first in it.

        *firsts* are numbers from 0, in order, in several arrays.
        """

    def vectors(
        self, side: int, sentences: SentenceFile, windows: Sequence[TaskId]
    ) -> Iterator[Vectors]:
        """Yield the vectors of windows, each from one sentence of a side to before another."""

    def pair_scorer(self, source: EncodedSide, target: EncodedSide) -> PairScorer | None:
        """Return the classifier's scorer of pairs; None without a classifier."""


@dataclass(frozen=True)
class _Encoding:
    """Prepares tasks that encode sentences of a file, from one place to before another."""

    load: Callable[[], Model]
    language: str
    path: Path

    def __call__(self) -> Callable[[TaskId], Vectors]:
        """Load the model; return the function that encodes by it."""
        model, sentences = self.load(), SentenceFile(self.path)
        return lambda window: model.encode(sentences[slice(*window)], self.language)


class ModelVectors:
    """The vectors that a model makes; see :class:`VectorSource`."""

    def __init__(self, model: Model, load: Callable[[], Model], map_tasks: MapTasks) -> None:
        """*load*: returns the model where *map_tasks* runs tasks."""
        self._model, self._load, self._map_tasks = model, load, map_tasks
        self.dim, self.maker = model.encoder.dim, model.digest

    def plan(self) -> dict[str, str]:
        """See :class:`VectorSource`."""
        return {"model": self._model.reading}

    def gathered(self, side: int, firsts: Sequence[Indices]) -> None:
        """See :class:`VectorSource`."""

    def vectors(
        self, side: int, sentences: SentenceFile, windows: Sequence[TaskId]
    ) -> Iterator[Vectors]:
        """See :class:`VectorSource`."""
        encoding = _Encoding(self._load, self._model.languages[side], sentences.path)
        return self._map_tasks(encoding, windows)

    def pair_scorer(self, source: EncodedSide, target: EncodedSide) -> PairScorer | None:
        """See :class:`VectorSource`."""
        return self._model.pair_scorer(source, target)


class GivenSource:
    """The vectors of files; of equal lines of a side, the first one's counts.

    See :class:`VectorSource`.
    """

    def __init__(self, files: Sequence[GivenVectors]) -> None:
        """Take the file of each side that is not of an index."""
        self._files = files
        self.dim, self.maker = files[0].dim, given_maker(files[0].dim)
        self._places: list[list[Indices]] = [[] for _ in files]
        self._rows: dict[int, Indices] = {}

    def numbered(
        self, side: int, windows: Iterable[tuple[list[str], Indices]]
    ) -> Iterator[list[str]]:
        """Yield windows of sentences, whose places in the file of their side are beside them."""
        self._places[side] = []
        for sentences, places in windows:
            self._places[side].append(places)
            yield sentences

    def plan(self) -> dict[str, str]:
        """See :class:`VectorSource`."""
        sides = zip(("source", "target"), self._files, strict=False)
        return {f"{name} vectors": file.digest() for name, file in sides}

    def gathered(self, side: int, firsts: Sequence[Indices]) -> None:
        """See :class:`VectorSource`."""
        nothing = np.zeros(0, np.int64)
        places = np.concatenate([nothing, *self._places[side]])
        self._rows[side] = places[np.concatenate([nothing, *firsts])]

    def vectors(
        self, side: int, sentences: SentenceFile, windows: Sequence[TaskId]
    ) -> Iterator[Vectors]:
        """See :class:`VectorSource`."""
        rows, file = self._rows[side], self._files[side]
        return (file[rows[slice(*window)]] for window in windows)

    def pair_scorer(self, source: EncodedSide, target: EncodedSide) -> PairScorer | None:
        """See :class:`VectorSource`."""
        return None
