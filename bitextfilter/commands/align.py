"""``bitext-align``: find translations in two files that are not aligned."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.align_documents import (
    DOCUMENT_OPTIONS,
    Cut,
    DocumentFiles,
    DocumentSettings,
    check_documents,
    given_options,
    write_alignments,
)
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.documents import (
    NO_CUT,
    LinkForm,
    RowForm,
    as_optional_min_score,
    reject_line_of,
    warn_of_languages,
    without_tab,
)
from bitextfilter.commands.frame.given import VectorFiles
from bitextfilter.commands.frame.options import (
    COUNT,
    Common,
    ModelOptions,
    NumberRange,
    Scaling,
    argument,
    flag,
    option,
    options_of,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.shards import load_model_once, tasks_in, work_folder
from bitextfilter.errors import SettingsError
from bitextfilter.io.row_reader import RowReader, row_windows
from bitextfilter.io.rows import Row, TextColumn
from bitextfilter.models.folders import BALANCED
from bitextfilter.scoring.measures import THRESHOLD_MEASURES

if TYPE_CHECKING:
    from bitextfilter.arrays import Indices
    from bitextfilter.io.spill import SentenceFile
    from bitextfilter.io.vectors import GivenRows, GivenVectors
    from bitextfilter.mining.collection_mining import CollectionMiner, VectorSource
    from bitextfilter.mining.comparable import Mined, MiningSettings
    from bitextfilter.scoring.model import Model
    from bitextfilter.search.indexes import SavedIndex
    from bitextfilter.search.tasks import MapTasks

_RETRIEVALS = ["forward", "backward", "intersect", "max"]

_ENGINES = ("--engine", "--ray-address", "--workers")
_NOT_STREAMED = (
    *("--retrieval", "--keep-duplicates", "--index", "--recall", "--dtype", "--resume"),
    *("--index-save", *_ENGINES),
)
_NOT_OF_DOCUMENTS = (
    *("--similarity", "--neighbours-count", "--source-vectors", "--target-vectors"),
    *(*_NOT_STREAMED, "--index-load", "--stream"),
)
_DOCUMENTS = options_of(DocumentSettings, DOCUMENT_OPTIONS, hidden=True)
_OF_DOCUMENTS = tuple(each.opts[-1] for each in _DOCUMENTS.parameters)


@dataclass(frozen=True)
class _Settings:
    """Options of mining."""

    source: str | None = argument(required=False)
    target: str | None = argument(required=False)
    similarity: str | None = option(
        "--similarity", "Score  [default: joint; without a classifier csls]", THRESHOLD_MEASURES
    )
    retrieval: str = option(
        "--retrieval", "Choice of pairs among the candidates.", _RETRIEVALS, "max"
    )
    neighbours_count: int = option(
        "-k --neighbours-count K", "Candidates of a sentence, and neighbours of a margin.", COUNT, 4
    )
    min_score: Cut = option(
        "--min-score X",
        "Leave out pairs below X: a number, balanced (the model's cut) or none  [default: "
        "balanced, if the model has such a cut]",
        as_optional_min_score,
    )
    keep_duplicates: bool = flag("--keep-duplicates", "Write a pair for each copy of its lines.")
    dtype: str = option(
        "--dtype", "Number format of vectors on disk.", ["float16", "float32", "int8"], "float16"
    )
    index: str = option(
        "--index",
        "Method of the search for neighbours.",
        ["auto", "exact", "clusters", "flat", "ivf", "ivf-sq8", "ivf-pq"],
        "auto",
    )
    recall: float = option(
        "--recall R",
        "Share of nearest neighbours that a search which is not exact must find.",
        NumberRange(0, 1, min_open=True),
        0.95,
    )
    index_save: str | None = option(
        "--index-save DIR", "Keep the target side in DIR, to mine more text against it."
    )
    index_load: str | None = option("--index-load DIR", "Mine SOURCE against the targets of DIR.")
    stream: bool = flag(
        "--stream", "With --index-load: the best pair of each source, in input order."
    )
    monotonic: bool = flag(
        "--monotonic", "Align documents: an older name of bitext-align-documents, and its options."
    )


def _problems(files: Sequence[str], settings: _Settings, work: str | None) -> Iterator[str]:
    """Yield the reasons why options do not go together; *work* is the folder of --resume."""
    given = given_options()
    yield from (f"{name} needs --monotonic" for name in _OF_DOCUMENTS if name in given)
    if "--recall" in given and settings.index == "exact":
        yield "--recall is for other searches: --index exact finds all"
    if settings.index_save is not None:
        yield from _save_problems(Path(settings.index_save), work)
    if settings.stream:
        if settings.index_load is None:
            yield "--stream needs --index-load"
        others = (name for name in _NOT_STREAMED if name in given)
        yield from (f"{name} does not go with --stream" for name in others)
    if settings.index_load is not None:
        if len(files) != 1:
            yield "--index-load takes the place of TARGET: SOURCE alone is given"
    elif len(files) < 2:
        yield "SOURCE and TARGET must be given"
    if files == ["-", "-"]:
        yield "only one of SOURCE and TARGET can be stdin"


def _save_problems(folder: Path, work: str | None) -> Iterator[str]:
    if work is not None and os.path.realpath(work) == os.path.realpath(folder):
        yield f"--index-save {folder}: is the folder of --resume"
    if not folder.absolute().parent.is_dir():
        yield f"--index-save {folder}: there is no folder {folder.absolute().parent}"
    if os.path.lexists(folder) and not (work is not None and (folder / "index.json").exists()):
        yield f"--index-save {folder}: exists already"


def _good_rows(run: Run, reader: RowReader, rows: GivenRows | None = None) -> Iterator[list[Row]]:
    """Yield the good rows of a file of sentences, window by window; reject the others.

    *rows*: those of the reader with given vectors, if there are any.
    """
    for window in row_windows(reader if rows is None else rows, run.common.batch_size):
        good = []
        for found in window:
            run.counts["rows"] += 1
            row = without_tab(found, reader.name)
            if isinstance(row, Row):
                good.append(row)
            else:
                reject_line_of(run, row, reader.name)
        yield good


def _placed(run: Run, reader: RowReader, file: GivenVectors) -> Iterator[tuple[list[str], Indices]]:
    """Yield the sentences of a file, window by window, and the places of their vectors."""
    from bitextfilter.io.vectors import GivenRows

    rows = GivenRows(reader, [file])
    for window in _good_rows(run, reader, rows):
        yield [row.text for row in window], rows.places(window)


def _mine(
    run: Run, files: Sequence[str], settings: _Settings, form: RowForm, given: VectorFiles
) -> None:
    """Find the pairs of two files, or of one and an index, and write them best first."""
    from bitextfilter.search.indexes import new_index

    # Entered before the output, and so put in its place after it.
    index = settings.index_save and run.enter(new_index(Path(settings.index_save)))
    output, readers = run.output(), [run.rows(TextColumn(), file) for file in files]
    model = None if given else run.model()
    mining = _mining_settings(run, model, settings)
    least = _least_score(run, model, mining.similarity, settings.min_score)
    windows: list[Iterator[list[str]]]
    windows = [([row.text for row in w] for w in _good_rows(run, r)) for r in readers]
    if model is None:
        miner, windows = _given_miner(run, settings, given.open(run), readers)
    else:
        miner = _model_miner(run, settings, model)
    if model is not None and not form.no_column_check:
        firsts = [next(some, []) for some in windows]
        warn_of_languages(run, model, [*firsts, []][:2])
        windows = [chain([first], some) for first, some in zip(firsts, windows, strict=True)]
    sentences = miner.gather(windows)
    mined = miner.mine(mining)
    if least > -inf:
        kept = mined.take(mined.score >= least)
        run.counts["below the cut"] += len(mined) - len(kept)
        mined = kept
    for line, copies in _lines(sentences, mined, form, settings.keep_duplicates):
        output.writelines(repeat(line, copies))
        run.counts["pairs"] += copies
    if index:
        miner.save(index)


def _given_miner(
    run: Run, settings: _Settings, files: Sequence[GivenVectors], readers: Sequence[RowReader]
) -> tuple[CollectionMiner, list[Iterator[list[str]]]]:
    """Return the miner of given vectors, and the windows of sentences for it."""
    from bitextfilter.mining.collection_mining import GivenSource

    source = GivenSource(files)
    miner = _miner(run, settings, source.maker, lambda *_: source)
    placed = (_placed(run, *each) for each in zip(readers, files, strict=True))
    return miner, [source.numbered(side, windows) for side, windows in enumerate(placed)]


def _mine_stream(
    run: Run, files: Sequence[str], settings: _Settings, form: RowForm, given: VectorFiles
) -> None:
    """Write the best pair of each sentence with an index, in input order, window by window."""
    from bitextfilter.io.vectors import GivenRows
    from bitextfilter.mining.collection_mining import IndexMiner
    from bitextfilter.search.indexes import given_maker

    output, reader = run.output(), run.rows(TextColumn(), files[0])
    model = None if given else run.model()
    mining = _mining_settings(run, model, settings)
    least = _least_score(run, model, mining.similarity, settings.min_score)
    vectors = given.open(run)[:1] if given else ()
    rows = GivenRows(reader, vectors) if vectors else None
    maker = model.digest if model else given_maker(vectors[0].dim)
    miner = IndexMiner(model, _open_index(maker, settings), mining)
    run.progress(unit="sentences")
    for number, window in enumerate(_good_rows(run, reader, rows)):
        texts = [row.text for row in window]
        if number == 0 and model is not None and not form.no_column_check:
            warn_of_languages(run, model, [texts, []])
        best = miner.best_of(texts, vectors[0][rows.places(window)]) if rows else miner.best(texts)
        for text, found in zip(texts, best, strict=True):
            if found is not None and found[1] >= least:
                output.write(form.row([text, found[0]], found[1]))
                run.counts["pairs"] += 1
            elif found is not None:
                run.counts["below the cut"] += 1
        run.advance(len(window))


def _mining_settings(run: Run, model: Model | None, settings: _Settings) -> MiningSettings:
    """Return how pairs are found; SettingsError if the model, or given vectors, cannot."""
    from bitextfilter.mining.comparable import NEEDS_CLASSIFIER, MiningSettings

    mining = MiningSettings(
        settings.similarity or ("joint" if model and model.classifier else "csls"),
        settings.retrieval,
        settings.neighbours_count,
        threads=run.common.threads,
    )
    run.facts["similarity"] = mining.similarity
    if mining.similarity in NEEDS_CLASSIFIER:
        if model is None:
            raise SettingsError(f"{mining.similarity} needs a model: vectors are given")
        model.check(["mlp"])
    return mining


def _least_score(run: Run, model: Model | None, similarity: str, asked: Cut) -> float:
    """Return the least score of pairs, as float32: --min-score, or the model's cut, or -inf.

    Raises SettingsError where the model's cut is asked for, and it has none.
    """
    import numpy as np

    if asked == NO_CUT:
        return -inf
    if isinstance(asked, float):
        return float(np.float32(asked))
    try:
        if model is None:
            raise SettingsError("given vectors have no balanced cut; give --min-score X")
        assert run.model_name is not None
        return float(np.float32(run.named_cut(run.model_name, similarity, use="mining")))
    except SettingsError as error:
        if asked == BALANCED:
            raise
        doubt = f"wrong pairs are written, too: {error}"
        run.afterwards(partial(run.warn, doubt))
        return -inf


def _model_miner(run: Run, settings: _Settings, model: Model) -> CollectionMiner:
    """Return the miner of the vectors of a model."""
    from bitextfilter.mining.collection_mining import ModelVectors

    def source(map_tasks: MapTasks, common: Common) -> ModelVectors:
        load = partial(load_model_once, model.name, common.device, common.threads)
        return ModelVectors(
            model, load if run.scaling.engine == "ray" else lambda: model, map_tasks
        )

    return _miner(run, settings, model.digest, source)


def _miner(
    run: Run,
    settings: _Settings,
    maker: str,
    source: Callable[[MapTasks, Common], VectorSource],
) -> CollectionMiner:
    """Return the miner of the two files, with its folder, its index, and its workers."""
    from bitextfilter.mining.collection_mining import (
        CollectionMiner,
        NeighbourSettings,
        SearchHooks,
    )

    search = NeighbourSettings(
        *(settings.neighbours_count, settings.dtype, settings.index, settings.recall),
        *(run.common.batch_size, run.common.threads, run.common.device),
    )
    index = None if settings.index_load is None else _open_index(maker, settings)
    folder = work_folder(run, run.scaling.resume)
    map_tasks, common = tasks_in(run, folder)
    hooks = SearchHooks(
        map_tasks,
        common.threads,
        common.device,
        begin=lambda total: run.progress(unit="sentences").reset(total),
        advance=lambda count: run.progress().update(count),
        note=run.note,
        fact=run.facts.__setitem__,
    )
    return CollectionMiner(source(map_tasks, common), folder, search, hooks, index)


def _open_index(maker: str, settings: _Settings) -> SavedIndex:
    """Open the index of --index-load; SettingsError where it is of other searches."""
    from bitextfilter.search.indexes import SavedIndex

    assert settings.index_load is not None, "an index is loaded"
    index = SavedIndex(Path(settings.index_load))
    index.check(maker, settings.neighbours_count)
    return index


def _lines(
    sentences: Sequence[SentenceFile], mined: Mined, form: RowForm, duplicates: bool
) -> Iterator[tuple[bytes, int]]:
    """Yield the line of each pair, and how often it is written."""
    copies = [side.copies() for side in sentences] if duplicates else None
    for i, j, score in zip(mined.source.tolist(), mined.target.tolist(), mined.score, strict=True):
        line = form.row([sentences[0][i], sentences[1][j]], score)
        yield line, 1 if copies is None else int(copies[0][i] * copies[1][j])


_SCALING = options_of(
    Scaling,
    "resume engine ray_address workers",
    {"resume": {"help": "Keep finished work in DIR; go on from there if it was stopped."}},
)


@command(
    "bitext-align",
    _Settings,
    row_options("output errors"),
    ModelOptions,
    VectorFiles,
    _SCALING,
    _DOCUMENTS,
    RowForm,
)
def main(
    run: Run, settings: _Settings, given: VectorFiles, documents: DocumentSettings, form: RowForm
) -> None:
    """Find translations in two files of sentences, one a line, that are not aligned.

    Writes source, target and score, separated by tabs, best first. A sentence's candidates are
    its K nearest on the other side by cosine. --similarity scores them, higher is better:

    - cosine (-1 to 1), euclidean (up to 0: negative distance)
    - csls (-4 to 4): 2 cosine - the mean cosines of both sides to their K nearest
    - distance (-2 to 2): half of csls; ratio: cosine / mean of these means, unrelated pairs 1
    - mlp (0 to 1): probability of a good translation, by the model's classifier
    - joint (-5 to 5): pairs chosen by csls, scored by csls + classifier + length

    Pairs below the model's cut are left out, and counted; --min-score none writes all.
    --retrieval chooses the best of each source (forward), the best of each target (backward),
    the pairs of both (intersect), or the pairs of either, best first, no sentence twice (max).

    Each distinct line counts once. Neither the order of the lines nor --threads changes a
    score; ties go to the earlier lines. A line that is empty, not UTF-8 or has a tab or NUL
    stops the run unless --on-error reject.

    Lines and vectors wait on disk, beside the output or in the DIR of --resume (2 bytes a line
    and dimension). Memory is 1 to 2 GB, and 0.3 KB a line; time grows with source x target lines.
    --index clusters, or one of faiss, compares a part, large enough for the --recall of a sample;
    auto is exact up to 2e13 (source x target) comparisons, 1e15 with --device cuda (a GPU), else
    clusters. With --source-vectors and --target-vectors, no model is used; csls is the default.

    Example:

        bitext-align english.txt german.txt > pairs.tsv
        bitext-align --retrieval intersect --min-score 0.5 en.txt.gz de.txt -o pairs.tsv.gz
        bitext-align --index-save INDEX old.en.txt de.txt > old.tsv
        bitext-align --index-load INDEX new.en.txt > new.tsv
        bitext-align --source-vectors en.npy --target-vectors de.npy en.txt de.txt > pairs.tsv
    """
    files = [file for file in (settings.source, settings.target) if file is not None]
    if settings.monotonic:
        if wrong := next((name for name in _NOT_OF_DOCUMENTS if name in given_options()), None):
            raise click.UsageError(f"{wrong} does not go with --monotonic")
        check_documents(files, documents)
        run.note("the command for documents is bitext-align-documents; --monotonic goes on working")
        links = LinkForm(**vars(form))
        return write_alignments(run, DocumentFiles(files), documents, links, settings.min_score)
    if problem := next(_problems(files, settings, run.scaling.resume), None):
        raise click.UsageError(problem)
    if given:
        given.check(("no_column_check",), len(files))
    mine = _mine_stream if settings.stream else _mine
    return mine(run, files, settings, form, given)
