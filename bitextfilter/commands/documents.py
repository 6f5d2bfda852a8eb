"""What ``bitext-align --monotonic`` does: align documents, and write what is linked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from bitextfilter.commands.cuts import NONE
from bitextfilter.commands.document_files import Document, DocumentReader
from bitextfilter.commands.frame import Run
from bitextfilter.commands.options import language_pair
from bitextfilter.errors import InputError, NotFoundError
from bitextfilter.io.files import open_output
from bitextfilter.io.links import link_line

if TYPE_CHECKING:
    from bitextfilter.mining.documents import Link
    from bitextfilter.scoring.model import Model
    from bitextfilter.similarity.vectors import Vectors
    from bitextfilter.workflows.document_alignment import Align

__all__ = ["align_documents", "monotonic_options", "score_text"]


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
    from bitextfilter.mining.documents import LinkSettings
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
    sides: Sequence[Document],
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
