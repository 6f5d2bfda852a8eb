"""Pairing of the documents of two collections by a model.

A run has a folder, so that a stopped one can go on: the documents of either side, their vectors and
sketches, the nearest of each, and the plan, all that the result depends on.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bitextfilter.arrays import Integers, Scores, Vectors
from bitextfilter.errors import InputError
from bitextfilter.io.documents import DocumentStore
from bitextfilter.io.files import naming_output
from bitextfilter.io.vectors import VectorFile, VectorWriter
from bitextfilter.io.work_folder import check_plan, claim, read_plan, write_plan
from bitextfilter.mining.collection_mining import remove_drafts
from bitextfilter.mining.comparable import Mined
from bitextfilter.mining.document_pairs import (
    DocumentVectors,
    Layout,
    SentenceCounts,
    SketchedSide,
    WordCounts,
    candidates,
    centred,
    evidence,
    lay_out,
    probabilities,
)
from bitextfilter.scoring.background import BackgroundSample
from bitextfilter.scoring.model import Model, distinct
from bitextfilter.search.tasks import (
    NeighbourFiles,
    SearchTask,
    Sides,
    TaskId,
    cell_tasks,
    compare_blocks,
    find_neighbours,
    spaced_places,
)
from bitextfilter.similarity.vectors import Neighbours

_FORMAT = 1
_SIDES = ("source", "target")
_DIGESTS = ("source documents", "target documents")
"""Names in a plan."""
_SAFE_SENTENCES = 1 << 16
"""Sentences that are encoded before their vectors are made safe against a kill."""
_SAMPLE, _SAMPLE_NEIGHBOURS = 2048, 10
_BLOCK = 1 << 14
"""Rows of sketches whose means are computed at a time."""

NEIGHBOURS = 10
"""Candidates of a document."""


@dataclass(frozen=True)
class PairingSettings:
    """Settings of pairing."""

    neighbours: int = NEIGHBOURS
    window: int = 8192
    """Sentences encoded at a time. No result depends on it."""
    threads: int = 1


@dataclass(frozen=True)
class PairingHooks:
    """Functions of the caller, which report progress."""

    begin: Callable[[int, str], object] = lambda _total, _unit: None
    """Called with the number of units of the next phase, and their name."""
    advance: Callable[[int], object] = lambda _: None
    """Called with the number of units just done."""


@dataclass
class _Gathered:
    """The documents of a side, and what is known of them besides their vectors."""

    store: DocumentStore
    counts: SentenceCounts
    sizes: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    """Rows of each sketch."""
    shares: array[float] = field(default_factory=lambda: array("f"))
    words: array[int] = field(default_factory=lambda: array("q"))
    word_weights: array[float] = field(default_factory=lambda: array("f"))
    word_counts: array[int] = field(default_factory=lambda: array("q"))


class DocumentPairer:
    """Pairs the documents of two collections. Methods are called in turn: ``gather``, ``pair``."""

    def __init__(
        self, model: Model, folder: Path, settings: PairingSettings, hooks: PairingHooks
    ) -> None:
        """Take a folder, new, empty, or of the same pairing.

        Raises SettingsError where it is of another one, OutputError where it cannot be made.
        """
        self._model, self._folder, self._settings, self._hooks = model, folder, settings, hooks
        self._plan: dict[str, Any] = {"format": _FORMAT, "model": model.reading}
        remove_drafts(folder)
        before = read_plan(folder) or {}
        known = {name: before[name] for name in _DIGESTS if name in before}
        claim(folder, {**self._plan, **known})
        self._words = WordCounts()
        self._sides: list[_Gathered] = []

    def gather(
        self, sides: Iterable[Iterable[tuple[str, list[str]]]]
    ) -> tuple[DocumentStore, DocumentStore]:
        """Keep the documents of both sides: of each a name, and its sentences, at least one.

        Raises SettingsError where the folder has other documents.
        """
        for side, documents in enumerate(sides):
            counts = SentenceCounts()
            with DocumentStore(self._folder / f"{_SIDES[side]}.documents") as store:
                for name, sentences in documents:
                    if store.add(name, sentences):
                        counts.add(sentences)
                        self._words.add(sentences, side)
            self._sides.append(_Gathered(store, counts))
        digests = [side.store.digest() for side in self._sides]
        plan = {**self._plan, **dict(zip(_DIGESTS, digests, strict=True))}
        before = read_plan(self._folder) or {}
        if _DIGESTS[0] in before:
            check_plan(self._folder, before, plan)
        else:
            write_plan(self._folder, plan)
        return self._sides[0].store, self._sides[1].store

    def pair(self) -> Mined:
        """Return the best pairs, one to one, with their probabilities, best first."""
        if not all(len(side.store) for side in self._sides):
            nothing = np.zeros(0, np.int64)
            return Mined(nothing, nothing, np.zeros(0, np.float32))
        total = sum(int(side.store.counts.sum()) for side in self._sides)
        self._hooks.begin(total, "sentences")
        for side in (0, 1):
            self._encode(side)
        pairs = candidates(self._nearest())
        self._hooks.begin(len(pairs[0]), "candidates")
        found = evidence(self._sketched(), pairs, self._hooks.advance)
        return Mined(*pairs, probabilities(*found, pairs)).one_to_one()

    def _path(self, side: int, kind: str) -> Path:
        return self._folder / f"{_SIDES[side]}.{kind}"

    def _encode(self, side: int) -> None:
        """Write the vectors and sketches of the documents that have none yet."""
        own, dim = self._sides[side], self._model.encoder.dim
        sizes: list[Integers] = []
        with (
            # Sketches are made safe first, also where the block ends.
            VectorWriter(self._path(side, "vectors"), dim, "float16") as vectors,
            VectorWriter(self._path(side, "sketches"), dim, "int8") as sketches,
        ):
            known, kept, safe = vectors.rows, sketches.rows, 0
            for numbers in _windows(own.store, self._settings.window, known):
                documents = own.store.read(numbers)
                layout = self._lay_out(own, documents)
                first = sum(int(each.sum()) for each in sizes)
                sizes.append(layout.sizes)
                if numbers.start >= known:
                    found = self._encoded(side, documents, layout)
                    # Of a stopped run, sketches may be safe whose documents are not.
                    sketches.append(found.sketches()[max(0, kept - first) :])
                    vectors.append(found.vectors())
                safe += len(layout.weights)
                self._hooks.advance(len(layout.weights))
                if safe >= _SAFE_SENTENCES:
                    sketches.sync()
                    vectors.sync()
                    safe = 0
        own.sizes = np.concatenate(sizes)
        if sketches.rows != own.sizes.sum():
            path = str(self._path(side, "sketches"))
            raise InputError("its vectors are damaged", file=path, remedy="remove the folder")

    def _lay_out(self, own: _Gathered, documents: list[list[str]]) -> Layout:
        """Return the layout of documents, and keep their shares and rare words."""
        counts = own.counts.of(sentence for sentences in documents for sentence in sentences)
        layout = lay_out(documents, counts)
        own.shares.frombytes(layout.shares.tobytes())
        for sentences in documents:
            words, weights = self._words.rarest(sentences)
            own.words.frombytes(words.tobytes())
            own.word_weights.frombytes(weights.tobytes())
            own.word_counts.append(len(words))
        return layout

    def _encoded(self, side: int, documents: list[list[str]], layout: Layout) -> DocumentVectors:
        """Encode the sentences of some documents."""
        found = DocumentVectors(layout, self._model.encoder.dim)
        sentences = [sentence for document in documents for sentence in document]
        for first in range(0, len(sentences), self._settings.window):
            texts, places = distinct(sentences[first : first + self._settings.window])
            found.add(self._model.encode_side(texts, side)[places])
        return found

    def _nearest(self) -> tuple[Neighbours, Neighbours]:
        """Find the nearest documents of either side on the other."""
        for side in (0, 1):
            self._centre(side)
        sizes = len(self._sides[0].store), len(self._sides[1].store)
        folder = self._folder / f"nearest.{self._settings.neighbours}"
        with naming_output(folder):
            folder.mkdir(exist_ok=True)
        remove_drafts(folder)
        neighbours = NeighbourFiles(folder, sizes, self._settings.neighbours)
        files = self._path(0, "centred"), self._path(1, "centred")
        forms = "float16", "float16"
        searched = Sides(files, self._model.encoder.dim, forms, neighbours, self._settings.threads)
        tasks = cell_tasks(neighbours)
        self._hooks.begin(len(tasks), "blocks")

        def run(prepare: Callable[[], SearchTask], new: Any) -> Iterator[Any]:
            return map(prepare(), new)

        def done(_: TaskId) -> None:
            self._hooks.advance(1)

        return find_neighbours(neighbours, tasks, partial(compare_blocks, searched), run, done)

    def _centre(self, side: int) -> None:
        """Write the vectors of a side without their mean."""
        dim = self._model.encoder.dim
        vectors = VectorFile(self._path(side, "vectors"), dim, "float16")
        blocks = [slice(first, first + _BLOCK) for first in range(0, len(vectors), _BLOCK)]
        total = sum((vectors[rows].sum(axis=0, dtype=np.float64) for rows in blocks), np.zeros(dim))
        mean = (total / len(vectors)).astype(np.float32)
        path = self._path(side, "centred")
        with naming_output(path):
            path.unlink(missing_ok=True)
        with VectorWriter(path, dim, "float16") as writer:
            for rows in blocks:
                writer.append(centred(vectors[rows], mean, len(vectors)))

    def _sketched(self) -> tuple[SketchedSide, SketchedSide]:
        """Return both sides with their sketches."""
        dim = self._model.encoder.dim
        files = [VectorFile(self._path(side, "sketches"), dim, "int8") for side in (0, 1)]
        sample = self._model.background
        if sample is None:
            rows = [file[spaced_places(len(file), _SAMPLE)] for file in files]
            sample = BackgroundSample(rows[0], rows[1], _SAMPLE_NEIGHBOURS)
        first = self._side_of(files[0], self._sides[0], sample.source_means)
        return first, self._side_of(files[1], self._sides[1], sample.target_means)

    def _side_of(
        self, rows: VectorFile, own: _Gathered, mean: Callable[[Vectors, int], Scores]
    ) -> SketchedSide:
        """Return a side with its sketches; *mean* gives the mean cosines of vectors."""
        parts = [slice(first, first + _BLOCK) for first in range(0, len(rows), _BLOCK)]
        return SketchedSide(
            rows,
            np.concatenate([_lengths(rows[part]) for part in parts]),
            _bounds(own.sizes),
            np.array(own.shares, np.float32),
            np.concatenate([mean(rows[part], self._settings.threads) for part in parts]),
            _bounds(np.array(own.word_counts, np.int64)),
            np.array(own.words, np.int64),
            np.array(own.word_weights, np.float32),
        )


NamedDocument = tuple[int, str]
"""The number and the name of a document."""


def named_pairs(
    stores: tuple[DocumentStore, DocumentStore], pairs: Mined
) -> Iterator[tuple[NamedDocument, NamedDocument, float]]:
    """Yield the documents of each pair, and its score; copies are paired with copies."""
    for i, j, score in pairs:
        for source, target in zip(stores[0].names[i], stores[1].names[j], strict=False):
            yield (i, source), (j, target), score


def _lengths(rows: Vectors) -> Scores:
    """Return the length of each row, at least 1, ``(n,)``."""
    squares = np.einsum("nd,nd->n", rows, rows, dtype=np.float64)
    return np.asarray(np.sqrt(np.maximum(squares, 1.0)), np.float32)


def _windows(store: DocumentStore, sentences: int, known: int) -> Iterator[range]:
    """Yield the numbers of all documents in parts, none with documents before and after *known*."""
    for numbers in store.windows(sentences):
        if numbers.start < known < numbers.stop:
            yield range(numbers.start, known)
            yield range(known, numbers.stop)
        else:
            yield numbers


def _bounds(counts: Integers) -> Integers:
    """Return the start of each, and the end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
