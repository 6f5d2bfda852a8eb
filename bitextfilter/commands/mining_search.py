"""The search of a bitext-align run: its folder, its sides, its workers, its index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bitextfilter.commands.frame.options import Common
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.shards import Place, engine_of, loaded
from bitextfilter.io.locks import locked
from bitextfilter.io.work_folder import passing_folder

if TYPE_CHECKING:
    from bitextfilter.arrays import Scores, Vectors
    from bitextfilter.io.sentence_file import SentenceFile
    from bitextfilter.mining.index import SavedIndex
    from bitextfilter.mining.search import Do, Sides, Task, Work
    from bitextfilter.scoring.model import Model
    from bitextfilter.similarity.neighbours import Found

    Prepare = Callable[[], Work]


_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Encoding:
    """Encodes sentences of a file, from one place to before another."""

    model: str
    language: str
    path: Path
    common: Common

    def __call__(self) -> Callable[[Task], Vectors]:
        """Load the model, and return what encodes by it."""
        return self.by(loaded(self.model, self.common.device, self.common.threads))

    def by(self, model: Model) -> Callable[[Task], Vectors]:
        """Return what encodes by a model."""
        from bitextfilter.io.sentence_file import SentenceFile

        sentences = SentenceFile(self.path)
        return lambda window: model.encode(sentences[slice(*window)], self.language)


@dataclass(frozen=True)
class _Sent:
    """What prepares a worker, sent to where it is."""

    prepare: Callable[[], Callable[[Any], Any]]
    place: Place
    folder: Path

    def __call__(self) -> Callable[[Any], Any]:
        self.place.go(self.folder)
        return self.prepare()


class MiningWorkers:
    """Does tasks by the engine of a run."""

    def __init__(self, run: Run, folder: Path) -> None:
        """Start the engine. Raises DeviceError and UsageError as :func:`engine_of`."""
        self._run, self._folder = run, folder
        self.elsewhere = run.scaling.engine == "ray"
        self.common, self._engine = engine_of(run)

    def told(self, size: Callable[[Task], int]) -> Do:
        """Return what does tasks, and tells the progress bar the size of each that is done."""

        def do(
            prepare: Callable[[], Callable[[Task], _Result]], tasks: Iterable[Task], /
        ) -> Iterator[_Result]:
            sizes: list[int] = []

            def noted() -> Iterator[Task]:
                for task in tasks:
                    sizes.append(size(task))
                    yield task

            sent = _Sent(prepare, Place.here(), self._folder) if self.elsewhere else prepare
            for result in self._engine.map(sent, noted()):
                yield result
                self._run.progress().update(sizes.pop(0))

        return do


_FORMAT = 1
"""Of the folder of --resume."""


def opened_index(model: Model, options: dict[str, Any]) -> SavedIndex | None:
    """Open the index of --index-load; SettingsError where it cannot serve."""
    from bitextfilter.mining.index import SavedIndex

    if options["index_load"] is None:
        return None
    index = SavedIndex(Path(options["index_load"]))
    index.check(model.digest, options["neighbours_count"])
    return index


class MiningSearch:
    """Finds the nearest sentences of either side; what is done stays in the folder of --resume."""

    def __init__(self, run: Run, model: Model, options: dict[str, Any]) -> None:
        """Open the folder and the index. Raises SettingsError where they are of other searches."""
        from bitextfilter.mining.workspace import Workspace

        self._run, self._model, self._options = run, model, options
        if options["index"] not in ("auto", "exact"):
            from bitextfilter.similarity.index import require_faiss

            require_faiss()
        self._index = opened_index(model, options)
        if run.scaling.resume is None:
            folder = run.enter(passing_folder(run.row_settings.output)).path
        else:
            folder = Path(run.scaling.resume)
            with suppress(OSError):
                folder.absolute().parent.mkdir(parents=True, exist_ok=True)
            run.enter(locked(folder))
        self._work = Workspace(folder, self._plan())
        self._workers = MiningWorkers(run, folder)

    def _plan(self) -> dict[str, Any]:
        """What decides what is found, but for the text."""
        return {
            "format": _FORMAT,
            "model": self._model.digest,
            "index loaded": None if self._index is None else self._index.digest(),
            "dtype": self._options["dtype"],
        }

    def gather(self, windows: Sequence[Iterable[list[str]]]) -> list[SentenceFile]:
        """Return the distinct sentences of both sides: of the files', and of the index."""
        found = self._work.gather(windows)
        return found if self._index is None else [*found, self._index.sentences]

    def encode(self, sentences: Sequence[SentenceFile]) -> Sides:
        """Encode the sentences of either side that are not encoded yet."""
        from bitextfilter.mining.index import EXACT, kind_for
        from bitextfilter.mining.search import Neighbourhoods, Sides

        dim, form = self._model.encoder.dim, self._options["dtype"]
        files = self._work.vectors(0), self._work.vectors(1)
        forms = form, form
        new = list(zip(files, sentences, self._model.languages, strict=True))
        if self._index is not None:
            files = files[0], self._index.vectors_path
            forms = form, self._index.description.form
            new.pop()
        self._run.progress(sum(len(side) for _, side, _ in new), "sentences")
        for path, side, language in new:
            self._encode(path, side, language)
        k, sizes = self._options["neighbours_count"], (len(sentences[0]), len(sentences[1]))
        self.kind = kind_for(self._options["index"], sizes)
        how = f"{k}.{self.kind}" + f".{self._options['recall']:g}" * (self.kind != EXACT)
        known = Neighbourhoods(self._work.search(how), sizes, k)
        return Sides(files, dim, forms, known, self._workers.common.threads)

    def _encode(self, path: Path, sentences: SentenceFile, language: str) -> None:
        from bitextfilter.io.vector_file import VectorWriter
        from bitextfilter.mining.workspace import encode_into

        run, model = self._run, self._model
        encoding = Encoding(model.name, language, sentences.path, self._workers.common)
        with VectorWriter(path, model.encoder.dim, self._options["dtype"]) as writer:
            run.progress().update(writer.rows)
            prepare = encoding if self._workers.elsewhere else partial(encoding.by, model)
            do = self._workers.told(lambda window: window[1] - window[0])
            encode_into(writer, len(sentences), run.common.batch_size, prepare, do)

    def nearest(self, sides: Sides) -> tuple[Found, Found]:
        """Return the nearest of each sentence of either side, on the other."""
        from bitextfilter.mining.index import EXACT
        from bitextfilter.mining.search import search

        run, kind = self._run, self.kind
        run.facts["index"] = kind
        tasks, prepare = (self._exactly if kind == EXACT else self._by_index)(sides, kind)

        def rows(task: Task) -> int:
            return sides.known.rows(0, task[0]) if kind == EXACT else sides.known.rows(*task)

        def skip(task: Task) -> None:
            run.progress().update(rows(task))

        run.progress().reset(sum(map(rows, tasks)))
        return search(sides.known, tasks, prepare, self._workers.told(rows), skip)

    def _exactly(self, sides: Sides, _: str) -> tuple[list[Task], Prepare]:
        from bitextfilter.mining.search import block_against_block, cells

        run, sizes = self._run, sides.known.sizes
        run.note(f"comparing {sizes[0]} with {sizes[1]} distinct sentences, each with each")
        return cells(sides.known), partial(block_against_block, sides)

    def _by_index(self, sides: Sides, kind: str) -> tuple[list[Task], Prepare]:
        from bitextfilter.mining import index as approximate

        run, sizes = self._run, sides.known.sizes
        wanted = approximate.Thorough(kind, self._options["recall"], run.common.device)
        run.note(f"making indexes of {sizes[0]} and {sizes[1]} distinct sentences: {kind}")
        tuned = approximate.tune(replace(sides, threads=run.common.threads), wanted)
        for name, some in zip(("source", "target"), tuned, strict=True):
            run.note(
                f"each {name} is sought in {some.lists} of {some.of} lists:"
                f" finds {some.recall:.4f} of the nearest of a sample"
            )
            run.facts[f"recall of {name}s"] = round(some.recall, 4)
        prepare = partial(approximate.block_against_index, sides, wanted, tuned)
        return approximate.blocks_of(sides.known), prepare

    def elsewhere(self) -> Scores | None:
        """Cosines of the index's sentences to those they were searched with, ``(m, any)``."""
        return None if self._index is None else self._index.nearest()

    def save(self, folder: Path, sides: Sides, sentences: SentenceFile, nearest: Scores) -> None:
        """Keep the target side in a folder, with the cosines to its nearest ``(m, any)``."""
        from bitextfilter.mining.index import Description, merged, save_index

        k, sources = self._options["neighbours_count"], sides.known.sizes[0]
        cosines = merged(nearest, self.elsewhere(), k)
        known = Description(
            self._model.digest,
            sides.dim,
            sides.forms[1],
            k,
            sources + (0 if self._index is None else self._index.description.sources),
        )
        save_index(folder, (sentences.path, sides.files[1]), cosines, known)
