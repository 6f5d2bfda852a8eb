"""``bitext-align --monotonic``: links between the sentences of documents, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from bitextfilter.commands.frame.cuts import NONE
from bitextfilter.commands.frame.options import language_pair
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError, NotFoundError
from bitextfilter.io.document_list import ListedPair, Paths, read_document_list
from bitextfilter.io.files import open_input, open_output, stream_name
from bitextfilter.io.links import link_line
from bitextfilter.io.rows import REMEDY, BadRow, Row, RowReader, TextColumn, is_blank

if TYPE_CHECKING:
    from bitextfilter.arrays import Vectors
    from bitextfilter.mining.monotonic import Link
    from bitextfilter.scoring.model import Model
    from bitextfilter.workflows.document_alignment import Align


_TABS = f"replace it by a space (its columns would shift); or {REMEDY}"


class _Document(NamedTuple):
    """The sentences of one side that are not empty, and the numbers of their lines, from 0."""

    sentences: list[str]
    numbers: list[int]


class DocumentPair(NamedTuple):
    """Two documents to be aligned."""

    name: str
    read: Callable[[], tuple[_Document, _Document]]
    """Raises BitextError where they cannot be read."""
    output: str | None = None
    """The file that their links go to, if it is not the run's output."""


class DocumentReader:
    """Reads documents for a run, and rejects their bad lines as its row options say."""

    def __init__(self, run: Run, split: tuple[str, str] | None) -> None:
        """Divide lines into sentences of these languages, or take them as they are if None."""
        self._run, self._languages = run, split
        if split is not None:
            from bitextfilter.text.tokens import split_sentences

            split_sentences("", split[0])  # is it installed?
        rejects = run.row_settings.rejects
        if rejects is not None and run.rejects is None:
            run.rejects = run.output(rejects)

    def pair(self, source: str, target: str) -> DocumentPair:
        """Return two files as documents; UsageError if one is written by this run."""
        wanted = ListedPair(source, target)
        problem = self._paths().problem(wanted)
        if problem is not None:
            raise click.UsageError(problem)
        return DocumentPair(f"{source} and {target}", partial(self._both, wanted, ""))

    def listed(self, path: str) -> Iterator[DocumentPair]:
        """Yield the documents of a list; those whose line is wrong say so when they are read.

        UsageError if the list is written by this run.
        """
        paths, name = self._paths(path), stream_name(path)
        if paths.both():
            raise click.UsageError(f"{path} is written by this run")
        for number, found in read_document_list(self._run.input(path), name):
            place = f"{name}:{number}"
            problem = None if isinstance(found, InputError) else paths.problem(found)
            if problem is not None:
                found = InputError(problem, file=name, line=number)
            if isinstance(found, InputError):
                yield DocumentPair(place, partial(_fail, found))
            else:
                files = [side for side in found[:2] if isinstance(side, str)]
                read = partial(self._both, found, place)
                yield DocumentPair(" and ".join(files) or place, read, found.output)

    def _paths(self, *read: str) -> Paths:
        """What this run writes beside the results of documents, and what it reads."""
        settings = self._run.row_settings
        return Paths([settings.output, settings.rejects, self._run.common.manifest], read)

    def _both(self, pair: ListedPair, place: str) -> tuple[_Document, _Document]:
        """Read the source, then the target."""
        return self._side(pair.source, place, 0), self._side(pair.target, place, 1)

    def _side(self, text: str | list[bytes], place: str, side: int) -> _Document:
        if isinstance(text, list):
            return self._document(text, f"{place} ({('source', 'target')[side]})", side)
        with open_input(text, self._run.stdin if text == "-" else None) as stream:
            return self._document(stream, stream_name(text), side)

    def _document(self, lines: Iterable[bytes], name: str, side: int) -> _Document:
        """The sentences of the lines that are neither blank nor bad."""
        document = _Document([], [])
        for row in RowReader(lines, name, TextColumn(blank=True)):
            self._run.counts["rows"] += 1
            found = without_tab(row, name)
            if isinstance(found, BadRow):
                reject = self._run.row_settings.reject
                self._run.reject(
                    found._replace(reason=f"{name}: {found.reason}") if reject else found
                )
            else:
                sentences = self._sentences(found.text, side)
                document.sentences.extend(sentences)
                document.numbers.extend([row.number - 1] * len(sentences))
        return document

    def _sentences(self, text: str, side: int) -> list[str]:
        if self._languages is None:
            return [] if is_blank(text) else [text]
        from bitextfilter.text.tokens import split_sentences

        return split_sentences(text, self._languages[side])


def _fail(error: InputError) -> tuple[_Document, _Document]:
    raise error


def without_tab(row: Row | BadRow, name: str) -> Row | BadRow:
    """The row, or a bad one if there is a tab in it, which would divide the columns."""
    if isinstance(row, Row) and "\t" in row.text:
        return BadRow(row.number, row.line, row.ending, "a tab in the line", _TABS, name)
    return row


_TOGETHER = "links of several documents in one file cannot be told apart"
_APART = "give each a file of its own: a third column of the list, or an output"
_FEWEST = 20
"""Of the words of fewer sentences, too little is known to say that documents are unrelated."""
_UNRELATED = {"model": 0.65, "words": 0.8}
"""Documents farther apart are hardly translations."""


def monotonic_options() -> list[click.Parameter]:
    """Return the options that go with --monotonic."""
    monotonic = click.Option(
        ["--monotonic"],
        is_flag=True,
        help="Both files are one document each: link sentences in their order.",
    )
    documents = click.Option(
        ["--documents"],
        metavar="LIST",
        help="Many documents: rows of source and target file, or JSON objects.",
    )
    split = click.Option(
        ["--split"],
        type=language_pair,
        metavar="L1,L2",
        help="Divide lines into sentences, by the rules of these languages.",
    )
    keep_going = click.Option(
        ["--keep-going"],
        is_flag=True,
        help="Leave out documents of the list that cannot be read.",
    )
    return [monotonic, documents, *_link_options(), split, keep_going]


def _link_options() -> list[click.Parameter]:
    """What a link is, and how it is written."""
    by = click.Option(
        ["--by"],
        type=click.Choice(["model", "words", "length"]),
        default="model",
        show_default=True,
        help="What says which sentences are translations.",
    )
    classifier = click.Option(
        ["--classifier"], is_flag=True, help="Ask the model's classifier about links, too: slower."
    )
    largest = click.Option(
        ["--largest"],
        type=click.IntRange(1, 10),
        default=5,
        show_default=True,
        metavar="N",
        help="Up to N sentences of a side may be in a link with one of the other.",
    )
    skip = click.Option(
        ["--skip"],
        type=click.FloatRange(0, 100),
        default=0.9,
        show_default=True,
        metavar="C",
        help="Cost of leaving out a sentence; linking unrelated ones costs 1.",
    )
    links = click.Option(
        ["--links"], is_flag=True, help="Write [0]:[0,1]:score, not the sentences."
    )
    return [by, classifier, largest, skip, links]


def align_documents(run: Run, files: Sequence[str], options: dict[str, Any]) -> None:
    """Align two files, or the documents of --documents, and write what is linked."""
    output = run.output()
    reader = DocumentReader(run, options["split"])
    if options["documents"] is not None:
        pairs = reader.listed(options["documents"])
    else:
        pairs = iter([reader.pair(*files)])
    model = run.model() if options["by"] == "model" else None
    align = _aligner(run, model, options)
    run.counts.update(rows=0, rejected=0, documents=0, links=0)
    run.progress(unit="texts")
    outputs = 0
    for pair in pairs:
        try:
            sides = pair.read()
        except (InputError, NotFoundError) as error:
            if not options["keep_going"]:
                raise
            run.counts["left out"] += 1
            run.warn(f"left out: {error}")
            continue
        texts = sides[0].sentences, sides[1].sentences
        links, unlikeness = align(*texts)
        known = options["by"] == "model" or min(map(len, texts)) >= _FEWEST
        if known and unlikeness is not None and unlikeness > _UNRELATED[options["by"]]:
            run.warn(f"{pair.name} do not look like translations ({unlikeness:.2f} of 1 apart)")
        if model is not None and not options["no_column_check"]:
            _check_languages(run, model, pair.name, texts)
        if pair.output is None:
            if options["links"] and run.counts["documents"] > outputs:
                raise InputError(_TOGETHER, file=pair.name, remedy=_APART)
            _write(run, output, sides, links, options)
        else:
            with open_output(pair.output) as stream:
                _write(run, stream, sides, links, options)
            outputs += 1
        run.counts["documents"] += 1
        run.advance(0)


def _check_languages(run: Run, model: Model, name: str, texts: tuple[list[str], list[str]]) -> None:
    """Warn of documents that seem to be in other languages than the model's."""
    from bitextfilter.text.language import check_columns

    warning = check_columns(*texts, model.processor)
    if warning is not None:
        run.warn(f"{name}: {warning}")


def _aligner(run: Run, model: Model | None, options: dict[str, Any]) -> Align:
    """Return the function that aligns two documents, as --by says."""
    from bitextfilter.mining.link_costs import LinkSettings
    from bitextfilter.workflows.document_alignment import aligner

    settings = LinkSettings(options["largest"], options["skip"])
    encode = None if model is None else partial(_encode, run, model)
    return aligner(options["by"], settings, model, options["classifier"], encode)


def _encode(run: Run, model: Model, language: str, sentences: Sequence[str]) -> Vectors:
    """Return vectors ``(n, dim)`` of the sentences of one side, --batch-size at a time."""
    import numpy as np

    size = run.common.batch_size
    vectors = np.empty((len(sentences), model.encoder.dim), dtype=np.float32)
    for first in range(0, len(sentences), size):
        window = sentences[first : first + size]
        vectors[first : first + size] = model.encode(window, language)
        run.progress().update(len(window))
    return vectors


def score_text(score: float | None, digits: int) -> str:
    """Return a score as it is written; none is empty, and what rounds to 0 has no sign."""
    return "" if score is None else f"{round(float(score), digits) + 0.0:.{digits}f}"


def _write(
    run: Run,
    stream: BinaryIO,
    sides: Sequence[_Document],
    links: list[Link],
    options: dict[str, Any],
) -> None:
    """Write the links of a document, in order; of those that score too little, only the lines."""
    least = -inf if options["min_score"] in (None, NONE) else options["min_score"]
    for link in links:
        kept = link.score is not None and link.score >= least
        run.counts["links"] += kept
        places = link.source, link.target
        score = score_text(link.score, options["digits"])
        if not options["links"] and kept:
            texts = [
                " ".join(side.sentences[place] for place in part)
                for side, part in zip(sides, places, strict=True)
            ]
            row = [score, *texts] if options["score_first"] else [*texts, score]
            stream.write(("\t".join(row) + "\n").encode())
        elif options["links"]:
            source, target = (
                [side.numbers[place] for place in part]
                for side, part in zip(sides, places, strict=True)
            )
            if kept:
                stream.write(link_line(source, target, score))
            else:
                stream.writelines(link_line([number], [], "") for number in source)
                stream.writelines(link_line([], [number], "") for number in target)
