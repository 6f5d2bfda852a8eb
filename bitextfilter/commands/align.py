"""``bitext-align``: find translations in two files that are not aligned."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from click.core import ParameterSource

from bitextfilter.commands.align_documents import (
    align_documents,
    monotonic_options,
    score_text,
    without_tab,
)
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.cuts import NONE, RECOMMENDED, MinScore, least, recommended_cut
from bitextfilter.commands.frame.options import (
    engine_options,
    error_options,
    model_options,
    output_option,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.mining_search import MiningSearch, opened_index
from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import Row, RowReader, TextColumn, row_windows

if TYPE_CHECKING:
    from bitextfilter.arrays import Scores
    from bitextfilter.io.sentence_file import SentenceFile
    from bitextfilter.mining.comparable import Mined, MiningSettings
    from bitextfilter.mining.index import SavedIndex
    from bitextfilter.scoring.model import Model


_LARGE = ("--resume", "--dtype", "--index", "--recall", "--index-save", "--index-load", "--stream")
_ENGINES = ("--engine", "--ray-address", "--workers")
_MINING = (
    *("--similarity", "--retrieval", "--neighbours-count", "--keep-duplicates"),
    *_LARGE,
    *_ENGINES,
)
_NOT_STREAMED = ("--retrieval", "--keep-duplicates", "--index", "--recall", "--dtype", "--resume")
_MONOTONIC = (
    *("--documents", "--by", "--classifier", "--largest", "--skip"),
    *("--links", "--split", "--keep-going"),
)
_MODEL = ("--model", "--classifier", "--no-column-check")
_COSTS = ("--largest", "--skip")


def files_of(source: str | None, target: str | None, options: dict[str, Any]) -> list[str]:
    """Return SOURCE and TARGET, none with --documents; UsageError for what goes not together."""
    for problem in _problems(_given(), options):
        raise click.UsageError(problem)
    files = [file for file in (source, target) if file is not None]
    if options["documents"] is not None:
        if files:
            raise click.UsageError("--documents takes the place of SOURCE and TARGET")
    elif options["index_load"] is not None:
        if len(files) != 1:
            raise click.UsageError("--index-load takes the place of TARGET: SOURCE alone is given")
    elif len(files) < 2:
        instead = ", or --documents LIST," * options["monotonic"]
        raise click.UsageError(f"SOURCE and TARGET{instead} must be given")
    if files == ["-", "-"]:
        raise click.UsageError("only one of SOURCE and TARGET can be stdin")
    return files


def _given() -> set[str]:
    """The options on the command line, by their long names."""
    context = click.get_current_context()
    return {
        parameter.opts[-1]
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name or "") == ParameterSource.COMMANDLINE
    }


def _problems(given: set[str], options: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the options that are given."""
    if not options["monotonic"]:
        yield from (f"{name} needs --monotonic" for name in _MONOTONIC if name in given)
        yield from _index_problems(given, options)
        return
    by = options["by"]
    if options["min_score"] == RECOMMENDED:
        yield "--min-score recommended does not go with --monotonic: no cut of links is known"
    yield from (f"{name} does not go with --monotonic" for name in _MINING if name in given)
    for names, ways in ((_MODEL, ("words", "length")), (_COSTS, ("length",))):
        yield from (
            f"{name} is not for --by {by}" for name in names if name in given and by in ways
        )
    if "--keep-going" in given and options["documents"] is None:
        yield "--keep-going needs --documents"
    for name in ("--split", "--score-first"):
        if options["links"] and name in given:
            yield f"--links has numbers of lines: it does not go with {name}"


def _index_problems(given: set[str], options: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the options of indexes."""
    if "--recall" in given and options["index"] == "exact":
        yield "--recall is for indexes: --index exact finds all"
    if options["index_save"] is not None:
        context = click.get_current_context()
        yield from _save_problems(Path(options["index_save"]), context.params.get("resume"))
    if options["stream"]:
        if options["index_load"] is None:
            yield "--stream needs --index-load"
        others = [name for name in (*_NOT_STREAMED, "--index-save", *_ENGINES) if name in given]
        yield from (f"{name} does not go with --stream" for name in others)


def _save_problems(folder: Path, work: str | None) -> Iterator[str]:
    """What is wrong with a folder that an index is to be saved in, beside that of --resume."""
    if work is not None and os.path.realpath(work) == os.path.realpath(folder):
        yield f"--index-save {folder}: is the folder of --resume"
    if not folder.absolute().parent.is_dir():
        yield f"--index-save {folder}: there is no folder {folder.absolute().parent}"
    if os.path.lexists(folder) and not (work is not None and (folder / "index.json").exists()):
        yield f"--index-save {folder}: is there already"


def open_readers(run: Run, paths: Sequence[str]) -> list[RowReader]:
    """Open files of sentences as the row options say; they share one file of rejects."""
    settings, readers = run.row_settings, []
    for path in paths:
        run.row_settings = replace(settings, input=path)
        readers.append(run.rows(TextColumn()))
        settings = replace(settings, rejects=None)
    return readers


def good_rows(run: Run, reader: RowReader) -> Iterator[list[Row]]:
    """Yield the good rows of a file of sentences, window by window; the others are rejected."""
    for window in row_windows(reader, run.common.batch_size):
        good = []
        for row in window:
            run.counts["rows"] += 1
            row = without_tab(row, reader.name)
            if isinstance(row, Row):
                good.append(row)
            elif run.row_settings.reject:
                run.reject(row._replace(reason=f"{reader.name}: {row.reason}"))
            else:
                run.reject(row)
        yield good


def mine_pairs(run: Run, files: Sequence[str], options: dict[str, Any]) -> None:
    """Find the pairs of two files, or of one and an index, and write them best first."""
    from bitextfilter.mining.comparable import choose, scorer_of

    output, readers, model = run.output(), open_readers(run, files), run.model()
    settings = settings_of(run, model, options)
    cut = _Cut(run, settings.similarity, options["min_score"])
    search = MiningSearch(run, model, options)
    sentences = search.gather([_texts(run, reader) for reader in readers])
    if not options["no_column_check"]:
        _check_languages(run, model, sentences)
    sides = search.encode(sentences)
    nearest = search.nearest(sides)
    both = (sides.file(0), sentences[0]), (sides.file(1), sentences[1])
    mined = choose(
        nearest, settings, scorer_of(model.pair_scorer, both, settings), search.elsewhere()
    )
    mined = cut(mined)
    _write(run, output, sentences, mined, options)
    if options["index_save"] is not None:
        search.save(Path(options["index_save"]), sides, sentences[1], nearest[1][0])


def _texts(run: Run, reader: RowReader) -> Iterator[list[str]]:
    return ([row.text for row in window] for window in good_rows(run, reader))


def _check_languages(run: Run, model: Model, sentences: Sequence[SentenceFile]) -> None:
    from bitextfilter.text.language import check_columns

    warning = check_columns(sentences[0], sentences[1], model.processor)
    if warning is not None:
        run.warn(warning)


def settings_of(run: Run, model: Model, options: dict[str, Any]) -> MiningSettings:
    """Return how pairs are found, by a model that can; which are kept says :class:`Cut`."""
    from bitextfilter.mining.comparable import NEEDS_CLASSIFIER, MiningSettings
    from bitextfilter.scoring.model import check_measures

    settings = MiningSettings(
        options["similarity"] or ("csls" if model.classifier is None else "joint"),
        options["retrieval"],
        options["neighbours_count"],
        threads=run.common.threads,
    )
    run.facts["similarity"] = settings.similarity
    if settings.similarity in NEEDS_CLASSIFIER:
        check_measures(model, ["mlp"], None)
    return settings


class _Cut:
    """Leaves out pairs that score too little, and counts them."""

    def __init__(self, run: Run, similarity: str, least: MinScore | str | None) -> None:
        """Find the least score: the one given, none, or the one that the model recommends."""
        self._run = run
        self.least = -inf
        if isinstance(least, float):
            self.least = least
        elif least != NONE:
            self.least = self._recommended(similarity, asked=least is not None)

    def _recommended(self, similarity: str, asked: bool) -> float:
        """Return the model's cut; without one raise SettingsError if it is *asked* for."""
        assert self._run.model_name is not None
        try:
            return recommended_cut(self._run, self._run.model_name, similarity, "mining")
        except SettingsError as error:
            if asked:
                raise
            doubt = f"all candidates are written, most are wrong: {error}"
            self._run.afterwards(partial(self._run.note, doubt))
            return -inf

    def keeps(self, score: float) -> bool:
        """Return whether a pair is kept; count it if not."""
        import numpy as np

        kept = bool(np.float32(score) >= np.float32(self.least))
        self._run.counts["below the cut"] += not kept
        return kept

    def __call__(self, pairs: Mined) -> Mined:
        """Return the pairs that are kept."""
        if self.least == -inf:
            return pairs
        kept = pairs.take(pairs.score >= self.least)
        self._run.counts["below the cut"] += len(pairs) - len(kept)
        return kept


def _write(
    run: Run,
    output: BinaryIO,
    sentences: Sequence[SentenceFile],
    mined: Mined,
    options: dict[str, Any],
) -> None:
    """Write pairs best first, each once or as often as its sentences have copies."""
    copies = [side.copies() for side in sentences]
    for row in zip(mined.source.tolist(), mined.target.tolist(), mined.score, strict=True):
        texts = [side[place] for side, place in zip(sentences, row[:2], strict=True)]
        times = 1
        if options["keep_duplicates"]:
            times = int(copies[0][row[0]] * copies[1][row[1]])
        output.writelines(repeat(pair_line(texts, row[2], options), times))
        run.counts["pairs"] += times


def pair_line(texts: list[str], score: float, options: dict[str, Any]) -> bytes:
    """Return the line of a pair, as the options say."""
    number = score_text(score, options["digits"])
    columns = [number, *texts] if options["score_first"] else [*texts, number]
    return ("\t".join(columns) + "\n").encode()


def large_options() -> list[click.Parameter]:
    """Return --resume, --dtype, the options of indexes, and those of engines."""
    resume = click.Option(
        ["--resume"],
        metavar="DIR",
        help="Keep in DIR what is done; go on from there if it was stopped.",
    )
    dtype = click.Option(
        ["--dtype"],
        type=click.Choice(["float16", "float32", "int8"]),
        default="float16",
        show_default=True,
        help="The numbers of the vectors on disk.",
    )
    return [resume, dtype, *_index_options(), *engine_options()]


def _index_options() -> list[click.Parameter]:
    """Return --index, --recall, --index-save, --index-load and --stream."""
    index = click.Option(
        ["--index"],
        type=click.Choice(["auto", "exact", "flat", "ivf", "ivf-sq8", "ivf-pq"]),
        default="auto",
        show_default=True,
        help="How neighbours are sought.",
    )
    recall = click.Option(
        ["--recall"],
        type=click.FloatRange(0, 1, min_open=True),
        default=0.99,
        show_default=True,
        metavar="R",
        help="The share of nearest neighbours that an index must find.",
    )
    save = click.Option(
        ["--index-save"],
        metavar="DIR",
        help="Keep the target side in DIR, to mine more text against it.",
    )
    load = click.Option(
        ["--index-load"], metavar="DIR", help="Mine SOURCE against the target side of DIR."
    )
    stream = click.Option(
        ["--stream"],
        is_flag=True,
        help="With --index-load: each source's best, in input order, as it comes.",
    )
    return [index, recall, save, load, stream]


_Best = dict[str, tuple[int, float]]
"""Of sentences, the place of the best of the other side, and the score."""


def stream_pairs(run: Run, files: Sequence[str], options: dict[str, Any]) -> None:
    """Write each sentence's best of the index, in the order of the input, window by window."""
    from bitextfilter.similarity.margins import highest_means

    output, (reader,), model = run.output(), open_readers(run, files), run.model()
    settings = replace(settings_of(run, model, options), retrieval="forward")
    cut = _Cut(run, settings.similarity, options["min_score"])
    index = opened_index(model, options)
    assert index is not None, "align_rules asks for one"
    means = highest_means(index.nearest(), settings.neighbours)[:, None]
    run.progress(unit="sentences")
    for window in good_rows(run, reader):
        best = _best(model, index, means, [row.text for row in window], settings)
        for row in window:
            if row.text in best and cut.keeps(best[row.text][1]):
                place, score = best[row.text]
                output.write(pair_line([row.text, index.sentences[place]], score, options))
                run.counts["pairs"] += 1
        run.advance(len(window))


def _best(
    model: Model,
    index: SavedIndex,
    means: Scores,
    texts: list[str],
    settings: MiningSettings,
) -> _Best:
    """Find the best of the index for each of some sentences that has one."""
    from bitextfilter.io.vector_file import as_kept
    from bitextfilter.mining.comparable import choose, scorer_of
    from bitextfilter.mining.search import nearest_in
    from bitextfilter.similarity.neighbours import nothing

    distinct = list(dict.fromkeys(texts))
    vectors = as_kept(model.encode(distinct, model.languages[0]), index.description.form)
    found = nearest_in(vectors, index.vectors, settings.neighbours, settings.threads)
    nearest = found, nothing(len(index.sentences), 0)
    both = (vectors, distinct), (index.vectors, index.sentences)
    scorer = scorer_of(model.pair_scorer, both, settings)
    mined = choose(nearest, settings, scorer, means)
    rows = zip(mined.source.tolist(), mined.target.tolist(), mined.score.tolist(), strict=True)
    return {distinct[source]: (target, score) for source, target, score in rows}


_SIMILARITIES = ["cosine", "euclidean", "csls", "ratio", "distance", "mlp", "joint"]
_RETRIEVALS = ["forward", "backward", "intersect", "max"]


@command(
    "bitext-align",
    output_option(),
    error_options(),
    model_options(),
    large_options(),
    monotonic_options(),
)
@click.argument("source", required=False)
@click.argument("target", required=False)
@click.option(
    "--similarity",
    type=click.Choice(_SIMILARITIES),
    help="What scores a pair  [default: joint; without a classifier csls]",
)
@click.option(
    "--retrieval",
    type=click.Choice(_RETRIEVALS),
    default="max",
    show_default=True,
    help="Which candidates become pairs.",
)
@click.option(
    "-k",
    "--neighbours-count",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    metavar="K",
    help="Candidates of each sentence, and neighbours of a margin.",
)
@click.option(
    "--min-score",
    type=least,
    metavar="X",
    help="Leave out pairs below X: a number, recommended (the model's cut) or none  "
    "[default: recommended, if the model has such a cut]",
)
@click.option("--keep-duplicates", is_flag=True, help="Write a pair for each copy of its lines.")
@click.option("--score-first", is_flag=True, help="Write score, source, target.")
@click.option(
    "--digits",
    type=click.IntRange(0, 9),
    default=4,
    show_default=True,
    help="Decimals of the scores.",
)
@click.option("--no-column-check", is_flag=True, help="Do not look at the languages of the files.")
def main(run: Run, source: str | None, target: str | None, **options: Any) -> None:
    """Find translations in two files of sentences, one a line, that are not aligned.

    Writes source, target and score, separated by tabs, best first. A sentence's candidates are
    its K nearest on the other side by cosine. --similarity scores them, higher is better:

    - cosine (-1 to 1), euclidean (up to 0: negative distance)
    - csls (-4 to 4): 2 cosine - the mean cosines of both sides to their K nearest
    - distance (-2 to 2): half of csls; ratio: cosine / the mean of those means, 1 is plain
    - mlp (0 to 1): the model's classifier: how surely they are good translations
    - joint (-5 to 5): csls chooses the pairs; csls, classifier and length together score them

    Pairs below the model's cut are left out, and counted; --min-score none writes all.
    --retrieval chooses: each source's best (forward), each target's best (backward), what is
    both (intersect), or of what is either the best first, each sentence once (max).

    Each distinct line counts once. Neither the order of the lines nor --threads changes a
    score; ties go to the earlier lines. A line that is empty, not UTF-8 or has a tab or NUL
    stops the run unless --on-error reject.

    Lines and vectors wait on disk, beside the output or in the DIR of --resume (2 bytes a line
    and dimension). Memory is 1 to 2 GB, and 0.3 KB a line; time grows with source x target lines.
    An --index (of faiss) looks at a part of them, as large as it must be to find the --recall
    of the nearest of a sample; auto is exact up to 20 million million pairs of lines.

    With --monotonic, the files are a document and its translation: neighbouring sentences, one
    or more with one or more, are linked in their order. --by model goes by their vectors and
    words by words that are linked again and again (score: cosine), length by length (0 to 1).

    Example:

        bitext-align english.txt german.txt > pairs.tsv
        bitext-align --retrieval intersect --min-score 0.5 en.txt.gz de.txt.gz -o pairs.tsv.gz
        bitext-align --index-save INDEX old.en.txt de.txt > old.tsv
        bitext-align --index-load INDEX new.en.txt > new.tsv
        bitext-align --monotonic --links book.en.txt book.de.txt
    """
    files = files_of(source, target, options)
    way = stream_pairs if options["stream"] else mine_pairs
    (align_documents if options["monotonic"] else way)(run, files, options)
