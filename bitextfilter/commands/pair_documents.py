"""``bitext-pair-documents``: find which documents of two collections are translations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.documents import (
    NO_CUT,
    SentenceReader,
    as_optional_min_score,
    warn_of_languages,
)
from bitextfilter.commands.frame.options import (
    COUNT,
    DIGITS,
    MinScore,
    ModelOptions,
    argument,
    flag,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.shards import work_folder
from bitextfilter.commands.frame.words import as_languages
from bitextfilter.errors import InputError, NotFoundError
from bitextfilter.io.documents import (
    DocumentStore,
    FileUses,
    ListedDocument,
    ListedPair,
    read_collection,
)
from bitextfilter.io.records import json_bytes
from bitextfilter.io.rows import SIDES
from bitextfilter.models.folders import BALANCED

if TYPE_CHECKING:
    from bitextfilter.mining.comparable import Mined
    from bitextfilter.mining.document_pairing import DocumentPairer
    from bitextfilter.scoring.model import Model

_EMPTY = "leave it out, or --keep-going does"
_CHECKED_DOCUMENTS, _CHECKED_SENTENCES = 100, 20


@dataclass(frozen=True)
class _Settings:
    """The collections, and how they are read and paired."""

    source: str = argument()
    target: str = argument()
    min_score: MinScore = option(
        "--min-score X",
        "Leave out pairs below X: a number, balanced (0.8) or none.",
        as_optional_min_score,
        BALANCED,
    )
    neighbours_count: int = option(
        "-k --neighbours-count K", "Candidates of a document.", COUNT, 10
    )
    split: tuple[str, str] | None = option(
        "--split L1,L2", "Divide lines into sentences, by rules of these languages.", as_languages
    )
    texts: bool = flag("--texts", "Write JSON objects with the sentences of both documents.")
    digits: int = option("--digits", "Decimals of the scores.", DIGITS, 4)
    keep_going: bool = flag("--keep-going", "Leave out documents that cannot be read.")
    no_column_check: bool = flag(
        "--no-column-check", "Do not check the languages of the documents."
    )
    resume: str | None = option(
        "--resume DIR", "Keep finished work in DIR; go on from there if it was stopped."
    )


@command("bitext-pair-documents", _Settings, row_options("output errors"), ModelOptions)
def main(run: Run, settings: _Settings) -> None:
    """Find which documents of SOURCE are translations of which of TARGET.

    Each of the two is a folder, whose files are documents of a sentence a line, or HTML pages; or a
    file with a JSON object (id, and text or sentences) or the path of a file on each line.

    Writes the names of both documents and a score, separated by tabs, best first, each document
    once at most: a list for bitext-align-documents --documents. The score is the probability
    that they are translations, 0 to 1, higher is better. Pairs below 0.8 are left out.

    A document's K candidates are the nearest on the other side by the mean of its sentences'
    vectors. Their parts and rare words are then compared. A score depends on the model and both
    collections, not on their order.

    Memory is 1 to 2 GB, and about 1 KB a document. Texts, a vector of each document, and of up to
    32 of its parts wait on disk, beside the output or in the DIR of --resume.

    Example:

        bitext-pair-documents en/ de/ > pairs.tsv
        bitext-pair-documents --split en,de --keep-going en/ de/ -o pairs.tsv
        bitext-pair-documents --texts en.jsonl.gz de.jsonl.gz > pairs.jsonl
    """
    if settings.source == settings.target == "-":
        raise click.UsageError("only one of SOURCE and TARGET can be stdin")
    output, model = run.output(), run.model()
    # Counter: update adds; zeros fix the order in the summary
    run.counts.update(rows=0, rejected=0, sources=0, targets=0, pairs=0)
    pairer = _pairer(run, model, settings)
    stores = _gathered(run, pairer, settings)
    if not settings.no_column_check:
        warn_of_languages(run, model, [_some_sentences(store) for store in stores])
    least, chosen = _least(run, settings.min_score), pairer.pair()
    kept = chosen.take(chosen.score >= least)
    for line in _lines(settings, stores, kept):
        output.write(line)
        run.counts["pairs"] += 1
    if len(kept) < len(chosen):
        run.counts["below the cut"] += len(chosen) - len(kept)


def _pairer(run: Run, model: Model, settings: _Settings) -> DocumentPairer:
    """Return the pairer with its folder."""
    from bitextfilter.mining.document_pairing import (
        DocumentPairer,
        PairingHooks,
        PairingSettings,
    )

    own = PairingSettings(settings.neighbours_count, run.common.batch_size, run.common.threads)
    hooks = PairingHooks(run.progress, lambda count: run.progress().update(count))
    return DocumentPairer(model, work_folder(run, settings.resume), own, hooks)


def _gathered(
    run: Run, pairer: DocumentPairer, settings: _Settings
) -> tuple[DocumentStore, DocumentStore]:
    """Read both collections. Raises InputError where one has no documents."""
    run.progress(unit="documents")
    paths, reader = (settings.source, settings.target), SentenceReader(run, settings.split)
    uses = FileUses([run.row_settings.output, run.row_settings.rejects, run.common.manifest], [])
    read = _Reader(run, reader, uses, settings.keep_going)
    stores = pairer.gather(read.documents(path, side) for side, path in enumerate(paths))
    for side, path, store in zip(SIDES, paths, stores, strict=True):
        if not len(store):
            raise InputError("no documents", file=path)
        run.counts[f"{side}s"] += sum(map(len, store.names))
        if copies := run.counts[f"{side}s"] - len(store):
            run.counts[f"copies of {side}s"] += copies
    return stores


@dataclass(frozen=True)
class _Reader:
    """Reads documents, and leaves out bad ones if the run keeps going."""

    run: Run
    sentences: SentenceReader
    uses: FileUses
    keep_going: bool

    def documents(self, path: str, side: int) -> Iterator[tuple[str, list[str]]]:
        """Yield the name and the sentences of each document of a side, 0 or 1."""
        stdin = self.run.stdin if path == "-" else None
        for found in read_collection(path, stdin):
            try:
                yield self._document(found, side)
            except (InputError, NotFoundError) as error:
                if not self.keep_going:
                    raise
                self.run.counts["left out"] += 1
                self.run.warn(f"left out: {error}")
            self.run.progress().update(1)

    def _document(self, found: ListedDocument | InputError, side: int) -> tuple[str, list[str]]:
        if isinstance(found, InputError):
            raise found
        if isinstance(found.text, list):
            document = self.sentences.of_lines(found.text, found.place, side)
        else:
            problem = self.uses.problem(ListedPair(found.text, found.text))
            if problem is not None:
                raise InputError(problem, file=found.place)
            document = self.sentences.of_file(found.text, side)
        if not document.sentences:
            raise InputError("no sentences", file=found.place, remedy=_EMPTY)
        return found.name, document.sentences


def _some_sentences(store: DocumentStore) -> list[str]:
    """Return some of the first sentences of documents evenly spaced."""
    step = max(1, len(store) // _CHECKED_DOCUMENTS)
    return [
        sentence
        for number in range(0, len(store), step)
        for sentence in islice(store.read(range(number, number + 1))[0], _CHECKED_SENTENCES)
    ]


def _least(run: Run, asked: MinScore) -> float:
    """Return the least score of pairs, as float32."""
    import numpy as np

    from bitextfilter.mining.document_pairs import BALANCED_SCORE

    if asked == NO_CUT:
        return -inf
    least = BALANCED_SCORE if asked == BALANCED else asked
    run.facts["min score"] = least
    return float(np.float32(least))


def _lines(
    settings: _Settings, stores: tuple[DocumentStore, DocumentStore], pairs: Mined
) -> Iterator[bytes]:
    """Yield a row for each pair, or with --texts a JSON object."""
    from bitextfilter.mining.document_pairing import named_pairs

    for source, target, score in named_pairs(stores, pairs):
        if not settings.texts:
            row = f"{source[1]}\t{target[1]}\t{score:.{settings.digits}f}\n"
            yield row.encode("utf-8", "surrogateescape")
            continue
        names, texts = [], []
        for store, (number, name) in zip(stores, (source, target), strict=True):
            names.append(name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
            texts.append(store.read(range(number, number + 1))[0])
        made = {"source_id": names[0], "target_id": names[1]}
        sides = {"source": texts[0], "target": texts[1]}
        yield json_bytes({**made, "score": round(score, settings.digits), **sides})
