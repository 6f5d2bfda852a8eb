"""Mining of two collections by the vectors of a model, or by given ones.

A search has a folder, so that a stopped run can go on: the sentences and vectors of either side, a
folder for each search of their neighbours, and the plan, all that the result depends on.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.io.drafts import temporary_folder
from bitextfilter.io.spill import SentenceFile, write_distinct
from bitextfilter.io.vectors import GivenVectors, VectorWriter, as_kept
from bitextfilter.io.work_folder import Fact, claim, read_plan, write_plan
from bitextfilter.mining.comparable import Mined, MiningSettings, choose_pairs, scorer_for
from bitextfilter.pairs.base import EncodedSide, PairScorer
from bitextfilter.scoring.model import Model
from bitextfilter.search import clusters, indexes
from bitextfilter.search.indexes import (
    INDEX_KINDS,
    IndexDescription,
    SavedIndex,
    given_maker,
    highest_cosines,
    write_index,
)
from bitextfilter.search.tasks import (
    MapTasks,
    NeighbourFiles,
    SearchTask,
    Sides,
    TaskId,
    cell_tasks,
    compare_blocks,
    compare_pieces,
    find_neighbours,
    in_pieces,
    nearest_in_file,
    piece_tasks,
    searching_device,
)
from bitextfilter.similarity.vectors import Neighbours, highest_means, no_neighbours

_FORMAT = 1
"""Of the folder of a search."""
_SIDES = ("source", "target")
_DIGESTS = ("source text", "target text")
"""Names in a plan."""
EXACT = "exact"
_EXACT_PAIRS, _EXACT_PAIRS_ON_GPU = 2e13, 1e15
"""Comparisons (source x target) up to which ``auto`` is exact."""
_FEWEST_ROWS = 10_000
"""Rows of a side below which no index is made."""
_SAFE_ROWS = 1 << 16
"""Vectors that are written before they are made safe against a kill."""


def search_kind(asked: str, sizes: tuple[int, int], on_gpu: bool = False) -> str:
    """Return the kind of search: ``exact``, ``clusters`` or an index of ``search.indexes``.

    ``auto`` is exact up to 2e13 (source x target) comparisons, 1e15 where a GPU does them, and by
    clusters beyond. If a side has fewer than 10,000 sentences, every search is exact.
    """
    if min(sizes) < _FEWEST_ROWS or asked == EXACT:
        return EXACT
    if asked == "auto":
        most = _EXACT_PAIRS_ON_GPU if on_gpu else _EXACT_PAIRS
        return EXACT if sizes[0] * sizes[1] <= most else clusters.KIND
    return asked


@dataclass(frozen=True)
class NeighbourSettings:
    """Settings of the search for nearest sentences."""

    neighbours: int = 4
    dtype: str = "float16"
    """Number format of the vectors on disk: one of ``io.vectors.FORMS``."""
    index: str = "auto"
    """``auto``, ``exact``, ``clusters``, or one of ``search.indexes.INDEX_KINDS``."""
    recall: float = 0.95
    """Share of the nearest sentences that a search which is not exact must find."""
    window: int = 8192
    """Sentences encoded at a time."""
    threads: int = 1
    device: str = "cpu"
    """Device of an index."""


@dataclass(frozen=True)
class SearchHooks:
    """Functions of the caller: they run tasks and report progress."""

    map_tasks: MapTasks
    """Runs tasks, perhaps in other processes."""
    threads: int
    """Threads of each process that runs tasks."""
    device: str
    """Device of each, as ``--device``."""
    begin: Callable[[int], object]
    """Called with the number of sentences of the next phase."""
    advance: Callable[[int], object]
    """Called with the number of sentences just done."""
    note: Callable[[str], object]
    fact: Callable[[str, Fact], object]
    """Called with the name and the value of a fact for the manifest."""


def remove_drafts(folder: Path) -> None:
    """Remove the half-written files of a run that was killed."""
    for draft in [*folder.glob(".*.partial"), *folder.glob(".again.*")]:
        if draft.is_dir():
            shutil.rmtree(draft)
        else:
            draft.unlink()


class VectorSource(ABC):
    """Where the vectors of either side come from."""

    dim: int
    maker: str
    """Of an index of the vectors: see ``search.indexes.IndexDescription``."""

    @abstractmethod
    def plan(self) -> dict[str, str]:
        """Return the facts that the vectors depend on, for the plan of a search."""

    def gathered(self, side: int, firsts: Sequence[Indices]) -> None:  # noqa: B027
        """Take, before ``vectors``, where each distinct sentence of a side stood first in it.

        *firsts* are numbers from 0, in order, in several arrays.
        """

    @abstractmethod
    def vectors(
        self, side: int, sentences: SentenceFile, windows: Sequence[TaskId]
    ) -> Iterator[Vectors]:
        """Yield the vectors of windows, each from one sentence of a side to before another."""

    def pair_scorer(self, source: EncodedSide, target: EncodedSide) -> PairScorer | None:
        """Return the classifier's scorer of pairs; None without a classifier."""
        return None


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


class ModelVectors(VectorSource):
    """The vectors that a model makes."""

    def __init__(self, model: Model, load: Callable[[], Model], map_tasks: MapTasks) -> None:
        """*load*: returns the model where *map_tasks* runs tasks."""
        self._model, self._load, self._map_tasks = model, load, map_tasks
        self.dim, self.maker = model.encoder.dim, model.digest

    def plan(self) -> dict[str, str]:
        """See :class:`VectorSource`."""
        return {"model": self._model.reading}

    def vectors(
        self, side: int, sentences: SentenceFile, windows: Sequence[TaskId]
    ) -> Iterator[Vectors]:
        """See :class:`VectorSource`."""
        encoding = _Encoding(self._load, self._model.languages[side], sentences.path)
        return self._map_tasks(encoding, windows)

    def pair_scorer(self, source: EncodedSide, target: EncodedSide) -> PairScorer | None:
        """See :class:`VectorSource`."""
        return self._model.pair_scorer(source, target)


class GivenSource(VectorSource):
    """The vectors of files; of equal lines of a side, the first one's counts."""

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


class CollectionMiner:
    """Mines two collections of sentences, or one against a saved index.

    Its methods are called in turn: ``gather``, ``mine`` and, to keep the target side, ``save``.
    """

    def __init__(
        self,
        vectors: VectorSource,
        folder: Path,
        settings: NeighbourSettings,
        hooks: SearchHooks,
        index: SavedIndex | None = None,
    ) -> None:
        """Take the source of vectors, and a folder, new, empty, or of the same search.

        Raises SettingsError where it is of another search, OutputError where it cannot be made,
        DeviceError without faiss for an index, or without the GPU that is asked for.
        """
        self._gpu = searching_device(hooks.device)
        if settings.index in INDEX_KINDS:
            indexes.require_faiss()
        self._vectors, self._settings, self._hooks, self._index = vectors, settings, hooks, index
        self._plan = {
            "format": _FORMAT,
            **vectors.plan(),
            "index loaded": None if index is None else index.digest(),
            "dtype": settings.dtype,
        }
        self._folder = folder
        remove_drafts(folder)
        before = read_plan(folder) or {}
        texts = {name: before[name] for name in _DIGESTS if name in before}
        claim(folder, {**self._plan, **texts})
        self._gathered = bool(texts)
        self.sentences: list[SentenceFile] = []

    def gather(self, windows: Sequence[Iterable[list[str]]]) -> list[SentenceFile]:
        """Keep the distinct sentences of either collection; that of an index has them already.

        Raises SettingsError where the folder has other sentences.
        """
        kept = [self._folder / f"{name}.sentences" for name in _SIDES[: len(windows)]]
        if self._gathered:
            with temporary_folder(self._folder, ".again.") as again:
                paths = [again / path.name for path in kept]
                claim(self._folder, self._plan_with(self._written(paths, windows)))
                for file in again.iterdir():
                    file.replace(self._folder / file.name)
            self.sentences = list(map(SentenceFile, kept))
        else:
            self.sentences = self._written(kept, windows)
            write_plan(self._folder, self._plan_with(self.sentences))
        if self._index is not None:
            self.sentences.append(self._index.sentences)
        return self.sentences

    def _written(
        self, paths: Sequence[Path], windows: Sequence[Iterable[list[str]]]
    ) -> list[SentenceFile]:
        """Write the distinct sentences of each side."""
        files = []
        for side, (path, own) in enumerate(zip(paths, windows, strict=True)):
            firsts: list[Indices] = []
            files.append(write_distinct(path, own, firsts))
            self._vectors.gathered(side, firsts)
        return files

    def _plan_with(self, texts: Sequence[SentenceFile]) -> dict[str, Any]:
        """The plan with digests of the sentences."""
        digests = [side.digest() for side in texts]
        return {**self._plan, **dict(zip(_DIGESTS, digests, strict=False))}

    def mine(self, settings: MiningSettings) -> Mined:
        """Encode the sentences, search the nearest, and choose pairs among them, best first."""
        self._sides = sides = self._encoded()
        nearest = self._nearest(sides)
        self._nearest_sources = nearest[1][0]
        pair = (sides.file(0), self.sentences[0]), (sides.file(1), self.sentences[1])
        scorer = scorer_for(settings, pair, self._vectors.pair_scorer)
        return choose_pairs(nearest, settings, scorer, self._older_cosines())

    def save(self, folder: Path) -> None:
        """Write the target side, after :meth:`mine`, as an index into an empty folder."""
        sides, k, sources = self._sides, self._settings.neighbours, len(self.sentences[0])
        if self._index is not None:
            sources += self._index.description.sources
        description = IndexDescription(self._vectors.maker, sides.dim, sides.forms[1], k, sources)
        cosines = highest_cosines(self._nearest_sources, self._older_cosines(), k)
        write_index(folder, (self.sentences[1].path, sides.files[1]), cosines, description)

    def _older_cosines(self) -> Scores | None:
        """Cosines of the index's sentences to earlier sources, ``(m, any)``."""
        return None if self._index is None else self._index.nearest()

    def _encoded(self) -> Sides:
        """Encode the sentences that the folder lacks vectors of."""
        settings, dim = self._settings, self._vectors.dim
        files = self._folder / "source.vectors", self._folder / "target.vectors"
        forms = settings.dtype, settings.dtype
        new = list(zip(files, self.sentences, strict=True))
        if self._index is not None:
            files = files[0], self._index.vectors_path
            forms = settings.dtype, self._index.description.form
            new.pop()
        self._hooks.begin(sum(len(sentences) for _, sentences in new))
        for side, (path, sentences) in enumerate(new):
            self._encode(path, sentences, side)
        sizes = len(self.sentences[0]), len(self.sentences[1])
        self._kind = search_kind(settings.index, sizes, self._gpu is not None)
        name = f"nearest.{settings.neighbours}.{self._kind}"
        if self._kind != EXACT:
            name += f".{settings.recall:g}"
        search = self._folder / name
        search.mkdir(exist_ok=True)
        remove_drafts(search)
        neighbours = NeighbourFiles(search, sizes, settings.neighbours)
        return Sides(files, dim, forms, neighbours, self._hooks.threads)

    def _encode(self, path: Path, sentences: SentenceFile, side: int) -> None:
        """Append the vectors that a file lacks."""
        settings, count = self._settings, len(sentences)
        with VectorWriter(path, self._vectors.dim, settings.dtype) as writer:
            safe = writer.rows
            self._hooks.advance(safe)
            firsts = range(safe, count, settings.window)
            tasks = [(first, min(first + settings.window, count)) for first in firsts]
            for vectors in self._vectors.vectors(side, sentences, tasks):
                writer.append(vectors)
                self._hooks.advance(len(vectors))
                if writer.rows - safe >= _SAFE_ROWS:
                    writer.sync()
                    safe = writer.rows

    def _nearest(self, sides: Sides) -> tuple[Neighbours, Neighbours]:
        """Find the nearest sentences of either side on the other."""
        hooks = self._hooks
        hooks.fact("index", self._kind)
        kinds = {EXACT: self._exact_search, clusters.KIND: self._cluster_search}
        search = kinds.get(self._kind, self._index_search)(sides)
        hooks.begin(sum(search.tasks.values()))

        def done(task: TaskId) -> None:
            hooks.advance(search.tasks[task])

        tasks, prepare = list(search.tasks), search.prepare
        return find_neighbours(sides.neighbours, tasks, prepare, search.map_tasks, done)

    def _exact_search(self, sides: Sides) -> _Search:
        """Return the search that compares all pairs."""
        neighbours, hooks, gpu = sides.neighbours, self._hooks, self._gpu
        sizes = "{} with {}".format(*neighbours.sizes)
        where = "" if gpu is None else f", on {gpu}"
        hooks.note(f"comparing {sizes} distinct sentences, each with each{where}")
        tasks = {task: neighbours.rows(0, task[0]) for task in cell_tasks(neighbours)}
        if gpu is None:
            return _Search(tasks, partial(compare_blocks, sides), hooks.map_tasks)
        hooks.fact("search device", gpu)
        tasks = {task: tasks[task] for task in piece_tasks(tasks)}
        return _Search(tasks, partial(compare_pieces, sides, gpu), in_pieces(hooks.map_tasks))

    def _cluster_search(self, sides: Sides) -> _Search:
        """Divide the sentences into clusters; report the recall."""
        settings, hooks = self._settings, self._hooks
        sizes = "{} and {}".format(*sides.neighbours.sizes)
        hooks.note(f"dividing {sizes} distinct sentences into clusters")
        hooks.begin(sum(sides.neighbours.sizes))
        here = replace(sides, threads=settings.threads)
        plan = clusters.plan_clusters(here, settings.recall, hooks.advance)
        hooks.note(
            f"each sentence is compared within {plan.visits} of {plan.clusters} clusters"
            f" ({plan.share:.2%} of all pairs)"
        )
        self._note_recalls(plan.recalls)
        numbered = zip(clusters.cluster_tasks(plan), plan.tasks, strict=True)
        tasks = {number: task.rows for number, task in numbered}
        return _Search(tasks, partial(clusters.search_clusters, sides, plan), hooks.map_tasks)

    def _index_search(self, sides: Sides) -> _Search:
        """Make and tune the indexes; report the recall."""
        settings, hooks = self._settings, self._hooks
        wanted = indexes.IndexSettings(self._kind, settings.recall, settings.device)
        sizes = "{} and {}".format(*sides.neighbours.sizes)
        hooks.note(f"making indexes of {sizes} distinct sentences: {self._kind}")
        tuned = indexes.tune_indexes(replace(sides, threads=settings.threads), wanted)
        for name, search in zip(_SIDES, tuned, strict=True):
            hooks.note(f"each {name} is sought in {search.lists} of {search.all_lists} lists")
        self._note_recalls((tuned[0].recall, tuned[1].recall))
        tasks = {
            task: sides.neighbours.rows(*task) for task in indexes.block_tasks(sides.neighbours)
        }
        prepare = partial(indexes.search_indexes, sides, wanted, tuned)
        return _Search(tasks, prepare, hooks.map_tasks)

    def _note_recalls(self, recalls: tuple[float, float]) -> None:
        """Report the share of a sample of either side whose nearest sentence is found."""
        for name, recall in zip(_SIDES, recalls, strict=True):
            self._hooks.note(f"finds {recall:.4f} of the nearest of a sample of {name}s")
            self._hooks.fact(f"recall of {name}s", round(recall, 4))


class _Search(NamedTuple):
    """A search for neighbours, in tasks."""

    tasks: dict[TaskId, int]
    """Each with its number of rows, for the progress."""
    prepare: Callable[[], SearchTask]
    map_tasks: MapTasks


class IndexMiner:
    """Finds the best sentence of a saved index for each sentence, a window at a time."""

    def __init__(self, model: Model | None, index: SavedIndex, settings: MiningSettings) -> None:
        """Take the index; *settings* count with the retrieval ``forward``.

        *model*: None where all vectors are given.
        """
        self._model, self._index = model, index
        self._settings = replace(settings, retrieval="forward")
        self._means = highest_means(index.nearest(), settings.neighbours)[:, None]

    def best(self, texts: Sequence[str]) -> list[tuple[str, float] | None]:
        """Return the best target of each sentence, and its score; None without any."""
        assert self._model is not None, "vectors are given"
        distinct = list(dict.fromkeys(texts))
        encoded = self._model.encode(distinct, self._model.languages[0])
        found = dict(zip(distinct, self.best_of(distinct, encoded), strict=True))
        return [found[text] for text in texts]

    def best_of(self, sentences: Sequence[str], encoded: Vectors) -> list[tuple[str, float] | None]:
        """As :meth:`best`, of sentences and their vectors ``(n, dim)``."""
        index, settings = self._index, self._settings
        vectors = as_kept(encoded, index.description.form)
        found = nearest_in_file(vectors, index.vectors, settings.neighbours, settings.threads)
        pair = (vectors, sentences), (index.vectors, index.sentences)
        scorer = scorer_for(settings, pair, self._classify)
        nearest = found, no_neighbours(len(index.sentences), 0)
        mined = choose_pairs(nearest, settings, scorer, self._means)
        best = {i: (index.sentences[j], score) for i, j, score in mined}
        return list(map(best.get, range(len(sentences))))

    def _classify(self, source: EncodedSide, target: EncodedSide) -> PairScorer | None:
        return None if self._model is None else self._model.pair_scorer(source, target)
