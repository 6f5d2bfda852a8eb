"""``bitext-segment``: learn subwords from text, and cut text into them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from bitextfilter.commands.frame.command import command, group
from bitextfilter.commands.frame.options import COUNT, argument, flag, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.words import as_language
from bitextfilter.errors import OutputError
from bitextfilter.io.drafts import draft, put
from bitextfilter.io.files import stream_name, write_whole
from bitextfilter.io.row_reader import RowReader, row_windows
from bitextfilter.io.rows import TextColumn, is_blank, strict
from bitextfilter.models.folders import CONFIG

_KINDS = ("unigram", "sentencepiece-bpe", "bpe", "morfessor", "none")
_WINDOW = 8192

main = group(
    "bitext-segment",
    """Learn subwords from text, and cut text into them.

    Example:

        bitext-segment learn -o pieces train.en train.de

        bitext-segment apply --segmenter pieces < text > text.pieces
    """,
)


@dataclass(frozen=True)
class _Learning:
    """The text, and the way to cut it."""

    files: tuple[str, ...] = argument("[FILE]...", nargs=-1)
    folder: str = option("-o --output FOLDER", "A new folder.", required=True)
    kind: str = option(
        "--kind",
        "sentencepiece's unigram model or merges, subword-nmt's merges, Morfessor, or words.",
        _KINDS,
        "unigram",
    )
    vocabulary_size: int = option(
        "--vocabulary-size", "For unigram, sentencepiece-bpe: most pieces to learn.", COUNT, 32_000
    )
    merges: int = option("--merges", "With bpe: most merges to learn.", COUNT, 20_000)
    sample_size: int = option(
        "--sample-size", "Most lines to learn from: a random sample of all.", COUNT, 1_000_000
    )
    seed: int = option("--seed", "Seed of the sample.", int, 1)
    lowercase: bool = option("--lowercase/--keep-case", "Lower-case text, or not.", default=True)


@command("learn", _Learning, uses="", parent=main)
def _learn(run: Run, learning: _Learning) -> None:
    """Learn subwords from all lines of the FILEs (stdin if none) and save them in FOLDER.

    Give the files of both languages together. Tabs count as white space, so a file of pairs needs
    no preparation; blank lines are skipped. The same lines, options and seed give the same files.
    Memory holds --sample-size lines.

    Example:

        bitext-segment learn --kind bpe --merges 20000 -o pieces pairs.tsv.gz
    """
    from bitextfilter.text.normalise import Normalisation
    from bitextfilter.text.segment import SegmenterSettings, learn_segmenter, save_segmenter

    normalise = Normalisation(lowercase=learning.lowercase)
    names = ("kind", "vocabulary_size", "merges", "sample_size", "seed")
    settings = SegmenterSettings(**{name: getattr(learning, name) for name in names})
    lines = chain.from_iterable(
        _windows(run, _reader(run, path)) for path in learning.files or ("-",)
    )
    texts = (normalise(text, "") for window in lines for text, _ in window)
    path = Path(learning.folder)
    if path.exists():
        raise OutputError(f"{path}: exists; name a new folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft(path, folder=True) as new:
            segmenter = learn_segmenter(texts, settings)
            save_segmenter(segmenter, new)
            config = {"normalisation": normalise.to_dict(), "segmentation": segmenter.kind}
            write_whole(new / CONFIG, (json.dumps(config, indent=2) + "\n").encode())
            put(new, path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be made: {error.strerror}") from error
    run.facts.update(kind=settings.kind, seed=settings.seed)
    if (pieces := segmenter.inventory()) is not None:
        run.counts["pieces"] = len(pieces)


@dataclass(frozen=True)
class _Cutting:
    """The segmenter, and its direction."""

    segmenter: str = option(
        "--segmenter FOLDER", "The folder of bitext-segment learn, or of a model.", required=True
    )
    join: bool = flag("--join", "Turn pieces back into text.")
    language: str = option(
        "--language CODE", "Language of the text, for models of Moses' tokens.", as_language, "en"
    )


@command("apply", _Cutting, row_options("input output"), uses="", parent=main)
def apply(run: Run, settings: _Cutting) -> None:
    """Normalise text by the settings of FOLDER and cut it into pieces, line by line.

    Spaces separate pieces; a piece at the start of a word begins with U+2581 (except with the
    kind none). A blank line stays blank, and a tab is white space. --join turns pieces back into
    normalised text. Memory is bounded.

    Example:

        bitext-segment apply --segmenter pieces < text > text.pieces

        bitext-segment apply --segmenter pieces --join < text.pieces
    """
    from bitextfilter.text.normalise import load_normalisation
    from bitextfilter.text.segment import load_segmenter

    folder = Path(settings.segmenter)
    cutter, normalise = load_segmenter(folder), load_normalisation(folder)
    reader, output = _reader(run, run.row_settings.input), run.output()
    output.write(reader.first_line())
    for window in _windows(run, reader):
        if settings.join:
            texts = [cutter.join(text.split()) for text, _ in window]
        else:
            pieces = cutter.segment_all([normalise(text, settings.language) for text, _ in window])
            texts = [" ".join(row) for row in pieces]
        for (_, ending), text in zip(window, texts, strict=True):
            output.write(text.encode() + ending)


def _reader(run: Run, path: str) -> RowReader:
    return RowReader(run.input(path), stream_name(path), TextColumn(blank=True), remedy="")


def _windows(run: Run, rows: RowReader) -> Iterator[list[tuple[str, bytes]]]:
    """Yield windows of sentences and line endings, counted; InputError for a line of no text."""
    for window in row_windows(rows, _WINDOW):
        yield [("" if is_blank(row.text) else row.text, row.ending) for row in strict(window)]
        run.counts["rows"] += len(window)
        run.progress().update(len(window))
