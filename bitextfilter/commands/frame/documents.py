"""Documents as commands read and write them.

They read files of lines, HTML pages, and lines of other files. They write links of aligned
documents as rows: pairs, chunks, whole documents, JSON objects or numbers.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import click

from bitextfilter.commands.frame.first_rows import CHECKED_ROWS
from bitextfilter.commands.frame.options import DIGITS, MinScore, as_min_score, flag, option
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.documents import LinkLine, link_line, read_link_lines
from bitextfilter.io.files import open_input, stream_name
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import REMEDY, BadRow, Row, TextColumn, is_blank
from bitextfilter.mining.chunks import (
    Chunk,
    ChunkSettings,
    ChunkSide,
    chunks_of,
    paragraph_numbers,
    whole_chunk,
)
from bitextfilter.models.folders import BALANCED

if TYPE_CHECKING:
    from bitextfilter.filters.custom import RegularExpression
    from bitextfilter.io.vectors import GivenVectors
    from bitextfilter.mining.anchors import Anchors, KnownLink
    from bitextfilter.mining.monotonic import Link
    from bitextfilter.scoring.model import Model

NO_CUT = "none"


def as_optional_min_score(value: str) -> MinScore:
    """Read a score, ``balanced``, or ``none``."""
    return as_min_score(value, (BALANCED, NO_CUT))


_TABS = f"replace it by a space (its columns would shift); or {REMEDY}"


class ReadDocument(NamedTuple):
    """Sentences of one document, blank ones left out, and the numbers of their lines, from 0."""

    sentences: list[str]
    numbers: list[int]


class SentenceReader:
    """Reads sentences of documents for a run, and rejects bad lines as its row options say."""

    def __init__(
        self, run: Run, split: tuple[str, str] | None, vectors: Sequence[GivenVectors] = ()
    ) -> None:
        """Divide lines into sentences of these languages; None: a line is a sentence.

        *vectors* of the lines of both sides are checked, if there are any.
        """
        self._run, self._languages, self._vectors = run, split, vectors
        if split is not None:
            from bitextfilter.text.words import split_sentences

            split_sentences("", split[0])  # is it installed?
        run.begin_rows()

    def of_file(self, path: str, side: int) -> ReadDocument:
        """Return the sentences of a file, plain text or an HTML page, of side 0 or 1."""
        from bitextfilter.text.pages import document_lines

        name = stream_name(path)
        with open_input(path, self._run.stdin if path == "-" else None) as stream:
            lines = stream if self._vectors else document_lines(stream, name)
            return self.of_lines(lines, name, side)

    def of_lines(self, lines: Iterable[bytes], name: str, side: int) -> ReadDocument:
        """Return the sentences of the lines that are neither blank nor bad."""
        document = ReadDocument([], [])
        reader = RowReader(lines, name, TextColumn(blank=True))
        rows: Iterable[Row | BadRow] = reader
        if self._vectors:
            from bitextfilter.io.vectors import GivenRows

            rows = GivenRows(reader, [self._vectors[side]])
        for row in rows:
            self._run.counts["rows"] += 1
            found = without_tab(row, name)
            if isinstance(found, BadRow):
                reject_line_of(self._run, found, name)
                continue
            sentences = self._divided(found.text, side)
            document.sentences.extend(sentences)
            document.numbers.extend([row.number - 1] * len(sentences))
        return document

    def _divided(self, text: str, side: int) -> list[str]:
        if self._languages is None:
            return [] if is_blank(text) else [text]
        from bitextfilter.text.words import split_sentences

        return split_sentences(text, self._languages[side])


def without_tab(row: Row | BadRow, name: str) -> Row | BadRow:
    """Return the row, or a bad one if its text has a tab, which would shift the columns."""
    if isinstance(row, Row) and "\t" in row.text:
        return BadRow(row.number, row.line, row.ending, "a tab in the line", _TABS, name)
    return row


def reject_line_of(run: Run, row: BadRow, name: str) -> None:
    """Reject a line of one of several files: the reason that is kept names its file."""
    keep = run.row_settings.reject
    run.reject(row._replace(reason=f"{name}: {row.reason}") if keep else row)


def warn_of_languages(
    run: Run, model: Model, sides: Sequence[Sequence[str]], name: str = ""
) -> bool:
    """Warn of texts that seem to be in other languages than the model's; returns whether so."""
    from bitextfilter.scoring.row_checks import column_doubt

    first, second = (side[:CHECKED_ROWS] for side in sides)
    warning = column_doubt(first, second, model.processor)
    if warning is not None:
        run.warn(name + warning)
    return warning is not None


Sides = tuple[ReadDocument, ReadDocument]


def as_pattern(value: str) -> RegularExpression:
    """Read a regular expression."""
    from bitextfilter.filters.custom import RegularExpression

    try:
        return RegularExpression(pattern=value)
    except SettingsError as error:
        raise click.BadParameter(str(error)) from error


class KnownLinks:
    """What a run knows of the links of documents: --anchors, and headings by --chapters."""

    def __init__(
        self, run: Run, path: str | None, chapters: RegularExpression | None, by_name: bool
    ) -> None:
        """Read the file of anchors; *by_name*: each names its document. Raises InputError."""
        self._run, self._chapters, self._by_name = run, chapters, by_name
        self._file = "" if path is None else stream_name(path)
        self._lines: defaultdict[str, list[LinkLine]] = defaultdict(list)
        self._seen: set[str] = set()
        if path is not None:
            for line in read_link_lines(run.input(path), self._file, by_name):
                self._lines[line.document].append(line)

    def of(self, document: str, name: str, sides: Sides) -> Anchors:
        """Return the anchors of a document, called *name* in messages.

        Raises InputError for links that cannot all hold.
        """
        from bitextfilter.mining.anchors import anchors_of, problem

        lines = self._lines.get(self._named(document), [])
        known = [*self._sentences(lines, sides), *self._headings(name, sides)]
        if found := problem(known, (len(sides[0].sentences), len(sides[1].sentences))):
            place, other, reason = found
            with_heading = place >= len(lines)
            if place != other:
                which = "a heading" if with_heading else f"line {lines[other].number}"
                reason += f": this one and {which}"
            raise self._error(lines[other if with_heading else place], reason, "correct the line")
        if self._file or self._chapters:
            self._run.counts["anchors"] += len(set(map(str, known)))
        return anchors_of(known)

    def _error(self, line: LinkLine, message: str, remedy: str) -> InputError:
        return InputError(message, file=self._file, line=line.number, remedy=remedy)

    def _named(self, document: str) -> str:
        return plain_name(document) if self._by_name else ""

    def see(self, document: str) -> None:
        """Note that there is a document of this name, whether it can be read or not.

        Raises InputError for the second one of a name with anchors.
        """
        name = self._named(document)
        if name in self._seen and name in self._lines:
            message = f"the document {name!r} stands twice in the list"
            remedy = 'tell them apart: a JSON object has its own name, "document"'
            raise self._error(self._lines[name][0], message, remedy)
        self._seen.add(name)

    def finish(self) -> None:
        """Raise InputError for anchors of a document that there was not."""
        for document, (line, *_) in self._lines.items():
            if document not in self._seen:
                remedy = "name each as the rows do: by its source file, or its name in the list"
                raise self._error(line, f"no document {document!r}", remedy)

    def _sentences(self, lines: Sequence[LinkLine], sides: Sides) -> Iterator[KnownLink]:
        """Yield links of sentences for those of lines."""
        places = [{number: place for place, number in enumerate(side.numbers)} for side in sides]
        for line in lines:
            for name, known, numbers in zip(("source", "target"), places, line.link, strict=True):
                if missing := [number for number in numbers if number not in known]:
                    message = f"line {missing[0]} of the {name} is no sentence"
                    raise self._error(line, message, "lines are counted from 0, as by --links")
            source, target = line.link
            yield [places[0][number] for number in source], [places[1][number] for number in target]

    def _headings(self, name: str, sides: Sides) -> list[KnownLink]:
        """Return links of the headings of both sides; none where their numbers differ."""
        if self._chapters is None:
            return []
        source, target = (
            [place for place, text in enumerate(side.sentences) if self._is_heading(text, name)]
            for side in sides
        )
        if not len(source) == len(target) > 0:
            self._run.warn(
                f"{name}: {len(source)} and {len(target)} lines match --chapters: none is an anchor"
            )
            return []
        return [([i], [j]) for i, j in zip(source, target, strict=True)]

    def _is_heading(self, text: str, name: str) -> bool:
        assert self._chapters is not None
        try:
            return self._chapters.found(0, text) is not None
        except TimeoutError:
            message = f"--chapters takes too long on {text[:40]!r}"
            remedy = "simplify it (possessive ++ and *+ never go back)"
            raise InputError(message, file=name, remedy=remedy) from None


_COLUMNS = (
    *("lowest", "document", "paragraphs", "source-lines", "target-lines", "links"),
    *("source-unaligned", "target-unaligned"),
)
_TEXTS, _SCORE = ["source", "target"], "score"
_MARKS = {"paragraphs": "", "documents": "¶"}
"""Default marks between paragraphs."""
_CONTROL = re.compile(r"[\0-\x1f\x7f]+")


@dataclass(frozen=True)
class RowForm:
    """Form of output rows, and whether the languages of the files are checked."""

    score_first: bool = flag("--score-first", "Write score, source, target.")
    digits: int = option("--digits", "Decimals of the scores.", DIGITS, 4)
    no_column_check: bool = flag("--no-column-check", "Do not check the languages of the files.")

    def score(self, score: float | None) -> str:
        """Return a score as text: empty for None, and without a sign if it rounds to 0."""
        return "" if score is None else f"{round(float(score), self.digits) + 0.0:.{self.digits}f}"

    def row(self, texts: Sequence[str], score: float | None, others: Sequence[str] = ()) -> bytes:
        """Return the line of a pair."""
        return self.columns(texts, self.score(score), others)

    def columns(self, texts: Sequence[str], score: str, others: Sequence[str]) -> bytes:
        """Return a line of texts, score and other columns, in order."""
        row = [score, *texts] if self.score_first else [*texts, score]
        return ("\t".join([*row, *others]) + "\n").encode()


@dataclass(frozen=True)
class LinkForm(RowForm, ChunkSettings):
    """Form of the links of documents."""

    form: str = option(
        "--as FORM",
        "pairs: a row a link; paragraphs: a row for up to --most-words; documents: a row, or "
        "jsonl: an object, for a document.",
        ["pairs", "paragraphs", "documents", "jsonl"],
        "pairs",
    )
    count: str = option(
        "--count", "Unit of sizes, also of --most-words.", ["words", "characters"], "words"
    )
    mark: str | None = option(
        "--mark TEXT", "Text between paragraphs  [default: ¶ for documents, none for paragraphs]"
    )
    header: bool = flag("--header", "Write the names of the columns first.")

    @property
    def first_line(self) -> bytes:
        """The header, if there is one."""
        others = () if self.form == "pairs" else _COLUMNS
        return self.columns(_TEXTS, _SCORE, others) if self.header else b""

    @property
    def between(self) -> str:
        """Text between paragraphs."""
        mark = _MARKS[self.form] if self.mark is None else self.mark
        return f" {mark} " if mark else " "

    def problems(self, given: set[str]) -> Iterator[str]:
        """Yield the reasons why the options *given* do not go with the form."""
        only = {
            "--most-words": ("paragraphs",),
            "--hole": ("paragraphs",),
            "--mark": ("paragraphs", "documents"),
            "--count": ("paragraphs", "documents", "jsonl"),
            "--header": ("pairs", "paragraphs", "documents"),
            "--score-first": ("pairs", "paragraphs", "documents"),
        }
        for name, forms in only.items():
            if name in given and self.form not in forms:
                yield f"{name} is for --as {' and '.join(forms)}"
        if self.mark is not None and _CONTROL.search(self.mark):
            yield "--mark has a tab, a line end or another control character"


class AlignedDocument(NamedTuple):
    """Two documents and their links; links of a low score have been made holes."""

    name: str
    sides: Sides
    links: list[Link]
    each_line: bool
    """Whether each line is a paragraph."""


def kept_links(links: Sequence[Link], least: float, scores: Sequence[float | None]) -> list[Link]:
    """Return the links, those of *scores* less than *least* as sentences without counterparts."""
    kept: list[Link] = []
    for link, score in zip(links, scores, strict=True):
        if score is None or score >= least:
            kept.append(link)
        else:
            nothing = range(link.target.start, link.target.start)
            kept.append(link._replace(target=nothing, score=None))
            nothing = range(link.source.stop, link.source.stop)
            kept.append(link._replace(source=nothing, score=None))
    return kept


def written_links(document: AlignedDocument, form: LinkForm, numbers: bool) -> Iterator[bytes]:
    """Yield the lines of a document in the form asked for; its *numbers* with --links."""
    if numbers:
        return _number_lines(document, form)
    if form.form == "pairs":
        return _pair_lines(document, form)
    if form.form == "jsonl":
        return _object_line(document, form)
    return _chunk_lines(document, form)


def _pair_lines(document: AlignedDocument, form: LinkForm) -> Iterator[bytes]:
    for link in document.links:
        if link.score is not None:
            places = zip(document.sides, (link.source, link.target), strict=True)
            texts = [" ".join(side.sentences[place] for place in part) for side, part in places]
            yield form.row(texts, link.score)


def _number_lines(document: AlignedDocument, form: LinkForm) -> Iterator[bytes]:
    """Yield the numbers of the lines of each link, and each number without a link."""
    for link in document.links:
        places = zip(document.sides, (link.source, link.target), strict=True)
        source, target = ([side.numbers[place] for place in part] for side, part in places)
        if link.score is not None:
            yield link_line(source, target, form.score(link.score))
        else:
            yield from (link_line([number], [], "") for number in source)
            yield from (link_line([], [number], "") for number in target)


def _chunk_sides(document: AlignedDocument, form: LinkForm) -> tuple[ChunkSide, ChunkSide]:
    from bitextfilter.text.words import count_characters, count_words

    count = count_words if form.count == "words" else count_characters
    source, target = (
        ChunkSide(paragraph_numbers(side.numbers, document.each_line), count(side.sentences))
        for side in document.sides
    )
    return source, target


def _chunk_lines(document: AlignedDocument, form: LinkForm) -> Iterator[bytes]:
    """Yield a row for each chunk of a document, or one for the whole of it."""
    sides = _chunk_sides(document, form)
    chunks: Iterable[Chunk] = chunks_of(document.links, sides, form)
    if form.form == "documents":
        chunks = [one for one in [whole_chunk(document.links, sides)] if one.links]
    name = plain_name(document.name)
    for chunk in chunks:
        texts, lines = [], []
        for read, side, places in zip(
            document.sides, sides, (chunk.source, chunk.target), strict=True
        ):
            paragraphs = _paragraphs(read.sentences, side.paragraphs, places)
            texts.append(form.between.join(map(" ".join, paragraphs)))
            lines.append(_span([read.numbers[place] for place in places]))
        numbers = _span([sides[0].paragraphs[place] for place in chunk.source])
        shares = map(form.score, chunk.unaligned)
        others = [form.score(chunk.lowest), name, numbers, *lines, str(chunk.links), *shares]
        yield form.row(texts, chunk.score, others)


def plain_name(name: str) -> str:
    """Return the name of a document as a column: control characters are spaces."""
    plain = _CONTROL.sub(" ", name)
    return plain.encode("utf-8", "backslashreplace").decode()


def _paragraphs(
    sentences: Sequence[str], numbers: Sequence[int], places: range
) -> Iterator[list[str]]:
    """Yield the sentences of each paragraph."""
    held: list[str] = []
    for place in places:
        if held and numbers[place] != numbers[place - 1]:
            yield held
            held = []
        held.append(sentences[place])
    if held:
        yield held


def _span(numbers: Sequence[int]) -> str:
    """Return ``first:last+1`` of rising numbers; empty of none."""
    return f"{numbers[0]}:{numbers[-1] + 1}" if numbers else ""


def _object_line(document: AlignedDocument, form: LinkForm) -> Iterator[bytes]:
    """Yield a document as a JSON object."""
    sides = _chunk_sides(document, form)
    chunk: Chunk = whole_chunk(document.links, sides)
    made: dict[str, object] = {"document": plain_name(document.name)}
    names = ("source", "target")
    parts = list(zip(names, document.sides, sides, (chunk.source, chunk.target), strict=True))
    for name, read, side, places in parts:
        made[name] = list(_paragraphs(read.sentences, side.paragraphs, places))
    for name, read, _, _ in parts:
        made[f"{name}_lines"] = read.numbers
    made["links"] = [
        [list(link.source), list(link.target), _number(link.score, form)] for link in document.links
    ]
    made |= {"score": _number(chunk.score, form), "lowest": _number(chunk.lowest, form)}
    for name, share in zip(names, chunk.unaligned, strict=True):
        made[f"{name}_unaligned"] = _number(share, form)
    yield json.dumps(made, ensure_ascii=False).encode() + b"\n"


def _number(score: float | None, form: LinkForm) -> float | None:
    return None if score is None else float(form.score(score))
