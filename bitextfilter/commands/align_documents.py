"""``bitext-align-documents``: link the sentences of a document and of its translation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.documents import (
    NO_CUT,
    AlignedDocument,
    KnownLinks,
    LinkForm,
    ReadDocument,
    SentenceReader,
    Sides,
    as_optional_min_score,
    as_pattern,
    kept_links,
    warn_of_languages,
    written_links,
)
from bitextfilter.commands.frame.given import VectorFiles
from bitextfilter.commands.frame.options import (
    MinScore,
    ModelOptions,
    argument,
    flag,
    option,
    options_of,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.words import as_languages
from bitextfilter.errors import InputError, NotFoundError
from bitextfilter.io.documents import FileUses, ListedPair, read_document_list
from bitextfilter.io.files import open_output, stream_name
from bitextfilter.mining.chunks import LinkSettings
from bitextfilter.models.folders import BALANCED

if TYPE_CHECKING:
    from bitextfilter.arrays import Vectors
    from bitextfilter.filters.custom import RegularExpression
    from bitextfilter.io.vectors import GivenVectors
    from bitextfilter.mining.anchors import Anchors
    from bitextfilter.mining.documents import Alignment
    from bitextfilter.mining.monotonic import Link
    from bitextfilter.scoring.model import Model

_TOGETHER = "links of several documents in one file cannot be told apart"
_APART = "give each a file of its own: a third column of the list, or an output"
_FEWEST = 20
"""With fewer sentences, words are too few to call documents unrelated."""
_UNRELATED = {"model": 0.65, "words": 0.8}
"""Distance from which documents get the warning that they are hardly translations."""
_NOT_FOR = {
    "--model": ("words", "length"),
    "--classifier": ("words", "length"),
    "--no-column-check": ("words", "length"),
    "--largest": ("length",),
    "--skip": ("length",),
}
"""Values of --by that an option does not go with."""


@dataclass(frozen=True)
class DocumentSettings(LinkSettings):
    """Options of the alignment of documents."""

    documents: str | None = option(
        "--documents LIST", "Many documents: rows of source and target file, or JSON objects."
    )
    by: str = option("--by", "Evidence for translations.", ["model", "words", "length"], "model")
    classifier: bool = flag("--classifier", "Re-score links by the model's classifier: slower.")
    numbers: bool = flag("--links", "Write [0]:[0,1]:score, not the sentences.")
    split: tuple[str, str] | None = option(
        "--split L1,L2", "Divide lines into sentences, by rules of these languages.", as_languages
    )
    keep_going: bool = flag("--keep-going", "Leave out documents of the list that cannot be read.")
    anchors: str | None = option(
        "--anchors FILE",
        "Links that hold, as --links writes them; with --documents, each behind the name of its "
        "document and a tab.",
    )
    chapters: RegularExpression | None = option(
        "--chapters REGEX",
        "Lines in which REGEX is found are headings: where both sides have as many, the first "
        "is linked with the first, and so on.",
        as_pattern,
    )


DOCUMENT_OPTIONS = "documents by classifier largest skip numbers split keep_going"
"""The fields of ``DocumentSettings`` that are options, in their order."""

_PAIRS = LinkForm()

Cut = MinScore | None
"""Value of --min-score; None: balanced, where that is known."""


def given_options() -> set[str]:
    """Return the long names of the options on the command line."""
    context = click.get_current_context()
    return {
        parameter.opts[-1]
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name or "") == ParameterSource.COMMANDLINE
    }


def check_documents(
    files: Sequence[str], settings: DocumentSettings, form: LinkForm = _PAIRS
) -> None:
    """Raise UsageError for options that do not go together."""
    given, by = given_options(), settings.by
    problems = [
        f"{name} is not for --by {by}"
        for name, ways in _NOT_FOR.items()
        if name in given & {name} and by in ways
    ]
    if settings.keep_going and settings.documents is None:
        problems.append("--keep-going needs --documents")
    if settings.anchors is not None and settings.split is not None:
        problems.append("--anchors has numbers of lines: it does not go with --split")
    for name in ("--split", "--score-first", "--as", "--header"):
        if settings.numbers and name in given:
            problems.append(f"--links has numbers of lines: it does not go with {name}")
    problems += form.problems(given)
    if settings.documents is not None and files:
        problems.append("--documents takes the place of SOURCE and TARGET")
    elif settings.documents is None and len(files) < 2:
        problems.append("SOURCE and TARGET, or --documents LIST, must be given")
    elif files == ["-", "-"]:
        problems.append("only one of SOURCE and TARGET can be stdin")
    if problems:
        raise click.UsageError(problems[0])


@dataclass(frozen=True)
class _Settings:
    """The documents, and the cut."""

    source: str | None = argument(required=False)
    target: str | None = argument(required=False)
    min_score: Cut = option(
        "--min-score X",
        "Leave out links below X: a number, none, or balanced: those among links that score low"
        "  [default: balanced by a model, else none]",
        as_optional_min_score,
    )


@command(
    "bitext-align-documents",
    _Settings,
    row_options("output errors"),
    ModelOptions,
    VectorFiles,
    options_of(DocumentSettings, f"{DOCUMENT_OPTIONS} anchors chapters"),
    options_of(LinkForm, "score_first digits no_column_check form most count hole mark header"),
)
def main(
    run: Run, settings: _Settings, given: VectorFiles, documents: DocumentSettings, form: LinkForm
) -> None:
    """Link the sentences of a document and of its translation, in their order.

    A document is a file of sentences, one a line; blank lines are skipped. One or more neighbouring
    sentences are linked with one or more. Writes source, target and score, separated by tabs;
    joined sentences have spaces between them. With --links, each line has the numbers of the
    source lines and of the target lines, from 0, and the score, higher is better.

    --by names the evidence for links:

    - model: vectors of sentences and of their words, and lengths (score: cosine, -1 to 1)
    - words: words that often occur in linked sentences, and lengths (score: cosine, -1 to 1)
    - length: numbers of characters (score: probability of such lengths, 0 to 1)

    --source-vectors and --target-vectors take the place of a model; then words do not count.

    By a model, links among which all score low are left out: --min-score none keeps them.

    Documents are held in memory; time and memory grow with the number of sentences. Documents
    that are hardly translations get a warning. A line that is not UTF-8 or has a tab or NUL
    stops the run unless --on-error reject.

    Example:

        bitext-align-documents book.en.txt book.de.txt > pairs.tsv
        bitext-align-documents --links --by words book.en.txt book.cs.txt > book.links
        bitext-align-documents --links --documents list.tsv --keep-going
        bitext-align-documents --links --anchors known.links book.en.txt book.de.txt > new.links
    """
    files = [file for file in (settings.source, settings.target) if file is not None]
    check_documents(files, documents, form)
    if given:
        given.check(("by", "classifier", "documents", "split", "no_column_check", "device"))
    write_alignments(run, DocumentFiles(files, given), documents, form, settings.min_score)


class DocumentFiles(NamedTuple):
    """The two files of sentences, none with --documents, and perhaps their vectors."""

    texts: Sequence[str]
    given: VectorFiles | None = None


def write_alignments(
    run: Run, files: DocumentFiles, settings: DocumentSettings, form: LinkForm, min_score: Cut
) -> None:
    """Align two files, or the documents of --documents, and write their links."""
    output, vectors = run.output(), files.given.open(run) if files.given else ()
    listed, path = settings.documents, settings.anchors
    reader = DocumentReader(run, settings.split, vectors, path)
    known = KnownLinks(run, path, settings.chapters, listed is not None)
    pairs = [reader.pair(*files.texts)] if listed is None else reader.listed(listed)
    model = run.model() if settings.by == "model" and not vectors else None
    align = _given_aligner(vectors, settings) if vectors else _aligner(run, model, settings)
    run.counts.update(rows=0, rejected=0, documents=0, links=0)
    keep, own_files = _cut(run, min_score, by_model=model is not None), 0
    run.progress(unit="texts")
    output.write(form.first_line)
    for pair in pairs:
        known.see(pair.document)
        if (sides := _read(run, pair, settings.keep_going)) is None:
            continue
        texts = sides[0].sentences, sides[1].sentences
        checked = None if form.no_column_check else model
        foreign = checked is not None and warn_of_languages(run, checked, texts, f"{pair.name}: ")
        links, distance = align(sides, anchors := known.of(pair.document, pair.name, sides))
        if not foreign:
            _warn(run, pair.name, texts, settings.by, distance)
        links, each_line = keep(links, anchors), settings.split is not None
        document = AlignedDocument(pair.document, sides, links, each_line)
        lines = written_links(document, form, settings.numbers)
        if pair.output is not None:
            with open_output(pair.output) as stream:
                stream.write(form.first_line)
                stream.writelines(lines)
            own_files += 1
        elif settings.numbers and run.counts["documents"] > own_files:
            raise InputError(_TOGETHER, file=pair.name, remedy=_APART)
        else:
            output.writelines(lines)
        run.counts["links"] += sum(link.score is not None for link in links)
        run.counts["documents"] += 1
        run.advance(0)
    known.finish()


def _cut(run: Run, asked: Cut, by_model: bool) -> Callable[[Sequence[Link], Anchors], list[Link]]:
    """Return the function that leaves out links by --min-score, but no anchors, and counts them.

    Raises UsageError where the balanced cut is asked for, and not known.
    """
    from bitextfilter.mining.documents import LEAST_MEAN, mean_scores

    if asked == BALANCED and not by_model:
        raise click.UsageError(f"--min-score {BALANCED} is for --by model")
    balanced = by_model and asked in (None, BALANCED)
    least = asked if isinstance(asked, float) else LEAST_MEAN if balanced else -inf
    if balanced:
        run.facts["min score"] = f"mean of five >= {LEAST_MEAN}"
        run.note(
            f"links are left out where the mean score of a link and two on either side is below"
            f" {LEAST_MEAN} (--min-score {NO_CUT} keeps them)"
        )

    def keep(links: Sequence[Link], anchors: Anchors) -> list[Link]:
        judged = mean_scores(links) if balanced else [link.score for link in links]
        held = set(anchors.links)
        judged = [
            inf if link.span in held else score for link, score in zip(links, judged, strict=True)
        ]
        kept = kept_links(links, least, judged)
        if below := len(kept) - len(links):  # one more for each
            run.counts["below the cut"] += below
        return kept

    return keep


def _read(run: Run, pair: _DocumentPair, keep_going: bool) -> Sides | None:
    """Read documents; None for those that cannot be read, with --keep-going."""
    try:
        return pair.read()
    except (InputError, NotFoundError) as error:
        if not keep_going:
            raise
        run.counts["left out"] += 1
        run.warn(f"left out: {error}")
        return None


def _given_aligner(vectors: Sequence[GivenVectors], settings: DocumentSettings) -> _Align:
    """Return the function that aligns two documents by the vectors of their lines."""
    import numpy as np

    from bitextfilter.mining.documents import align_by_given_vectors

    def align(sides: Sides, anchors: Anchors) -> Alignment:
        source, target = (
            file[np.array(side.numbers, dtype=np.int64)]
            for file, side in zip(vectors, sides, strict=True)
        )
        texts = sides[0].sentences, sides[1].sentences
        return align_by_given_vectors(*texts, (source, target), settings, anchors)

    return align


def _aligner(run: Run, model: Model | None, settings: DocumentSettings) -> _Align:
    """Return the function that aligns two documents, as --by says."""
    from bitextfilter.mining.documents import aligner

    encode = None if model is None else partial(_encode, run, model)
    align = aligner(settings.by, settings, model, settings.classifier, encode)
    return lambda sides, anchors: align(sides[0].sentences, sides[1].sentences, anchors=anchors)


def _encode(run: Run, model: Model, language: str, sentences: Sequence[str]) -> Vectors:
    """Return the vectors ``(n, dim)`` of sentences, made --batch-size at a time."""
    import numpy as np

    size = run.common.batch_size
    vectors = np.empty((len(sentences), model.encoder.dim), dtype=np.float32)
    for first in range(0, len(sentences), size):
        window = sentences[first : first + size]
        vectors[first : first + size] = model.encode(window, language)
        run.progress().update(len(window))
    return vectors


_Align = Callable[[Sides, "Anchors"], "Alignment"]


class _DocumentPair(NamedTuple):
    """Two documents to align."""

    name: str
    read: Callable[[], Sides]
    """Raises BitextError where they cannot be read."""
    document: str
    """Name in rows and objects."""
    output: str | None = None
    """File of their links; None for the output of the run."""


def _warn(
    run: Run,
    name: str,
    texts: tuple[list[str], list[str]],
    by: str,
    distance: float | None,
) -> None:
    """Warn of documents that are too far apart for translations."""
    known = by == "model" or min(map(len, texts)) >= _FEWEST
    if known and distance is not None and distance > _UNRELATED[by]:
        run.warn(f"{name} do not look like translations ({distance:.2f} of 1 apart)")


class DocumentReader:
    """Reads the two documents of each pair for a run."""

    def __init__(
        self,
        run: Run,
        split: tuple[str, str] | None,
        vectors: Sequence[GivenVectors] = (),
        anchors: str | None = None,
    ) -> None:
        """Divide lines into sentences of these languages; None: a line is a sentence.

        *vectors* of the lines of both sides are checked, if there are any. *anchors*: a file that
        the run reads beside documents.
        """
        self._others = [] if anchors is None else [anchors]
        self._run, self._sentences = run, SentenceReader(run, split, vectors)
        self._hint = split is None and not vectors

    def pair(self, source: str, target: str) -> _DocumentPair:
        """Return two files as documents; UsageError if this run writes one of them."""
        files = ListedPair(source, target)
        problem = self._uses().problem(files)
        if problem is not None:
            raise click.UsageError(problem)
        read = partial(self._both, files, "")
        return _DocumentPair(f"{source} and {target}", read, stream_name(source))

    def listed(self, path: str) -> Iterator[_DocumentPair]:
        """Yield the documents of a list; a bad line of it raises when its documents are read.

        UsageError if this run writes the list.
        """
        uses, name = self._uses(path), stream_name(path)
        for number, found in read_document_list(self._run.input(path), name):
            place = f"{name}:{number}"
            problem = None if isinstance(found, InputError) else uses.problem(found)
            if problem is not None:
                found = InputError(problem, file=name, line=number)
            if isinstance(found, InputError):
                yield _DocumentPair(place, partial(_fail, found), place)
            else:
                files = [side for side in found[:2] if isinstance(side, str)]
                read = partial(self._both, found, place)
                document = found.document or (files[0] if files else place)
                yield _DocumentPair(" and ".join(files) or place, read, document, found.output)

    def _uses(self, *read: str) -> FileUses:
        """Return the files that this run reads and writes beside documents and their links."""
        settings = self._run.row_settings
        files = [*self._others, *read]
        uses = FileUses([settings.output, settings.rejects, self._run.common.manifest], files)
        if uses.conflict():
            raise click.UsageError(f"{' or '.join(files)} is written by this run")
        if files.count("-") > 1:
            raise click.UsageError("stdin can be read once only")
        return uses

    def _both(self, pair: ListedPair, place: str) -> Sides:
        """Read the source, then the target; tell once of lines that are paragraphs."""
        from bitextfilter.text.words import holds_paragraphs

        sides = self._side(pair.source, place, 0), self._side(pair.target, place, 1)
        if self._hint and any(holds_paragraphs(side.sentences) for side in sides):
            self._hint = False
            self._run.note("many lines hold several sentences: --split L1,L2 divides them")
        return sides

    def _side(self, text: str | list[bytes], place: str, side: int) -> ReadDocument:
        if isinstance(text, list):
            return self._sentences.of_lines(text, f"{place} ({('source', 'target')[side]})", side)
        return self._sentences.of_file(text, side)


def _fail(error: InputError) -> Sides:
    raise error
