"""``bitext-segment``: learn subwords from text, and cut text into them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from bitextfilter.commands.frame.command import command, group
from bitextfilter.commands.frame.options import input_option, output_option
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import ModelError, OutputError
from bitextfilter.io.files import stream_name, write_whole
from bitextfilter.io.rows import BadRow, Row, RowReader, TextColumn, is_blank, row_windows

if TYPE_CHECKING:
    from bitextfilter.text.normalise import Normalisation

_KINDS = ("unigram", "sentencepiece-bpe", "bpe", "morfessor", "none")
_CONFIG = "config.json"
_WINDOW = 8192

main = group(
    "bitext-segment",
    """Learn subwords from text, and cut text into them.

    Example:

        bitext-segment learn -o pieces train.en train.de

        bitext-segment apply --segmenter pieces < text > text.pieces
    """,
)


@command("learn", batch_size=None, parent=main)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("-o", "--output", "folder", required=True, metavar="FOLDER", help="A new folder.")
@click.option(
    "--kind",
    type=click.Choice(_KINDS),
    default="unigram",
    show_default=True,
    help="sentencepiece's unigram model or merges, subword-nmt's merges, Morfessor, or words.",
)
@click.option(
    "--vocabulary-size",
    type=click.IntRange(min=1),
    default=32_000,
    show_default=True,
    help="Most pieces to learn, with unigram and sentencepiece-bpe.",
)
@click.option(
    "--merges",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    help="Most merges to learn, with bpe.",
)
@click.option(
    "--sample-size",
    type=click.IntRange(min=1),
    default=1_000_000,
    show_default=True,
    help="Most lines to learn from, drawn from all.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of what is drawn.")
@click.option(
    "--lowercase/--keep-case", default=True, show_default=True, help="Lower-case text, or not."
)
def _learn(run: Run, files: tuple[str, ...], folder: str, lowercase: bool, **choices: int) -> None:
    """Learn subwords from every line of the FILEs (stdin if none) and save them in FOLDER.

    All files are learnt from together: give both languages. Tabs are white space, so that a
    file of pairs will do as it is; blank lines are passed over. The same lines, options and
    seed give the same files. Memory holds --sample-size lines.

    Example:

        bitext-segment learn --kind bpe --merges 20000 -o pieces pairs.tsv.gz
    """
    from bitextfilter.text.normalise import Normalisation
    from bitextfilter.text.segment import SegmenterSettings, learn_segmenter, save_segmenter

    normalise = Normalisation(lowercase=lowercase)
    settings = SegmenterSettings(**choices)  # type: ignore[arg-type]
    lines = chain.from_iterable(_windows(run, _reader(run, path)) for path in files or ("-",))
    texts = (normalise(line.text, "") for window in lines for line in window)
    with _new_folder(Path(folder)) as new:
        segmenter = learn_segmenter(texts, settings)
        save_segmenter(segmenter, new)
        config = {"normalisation": normalise.to_dict(), "segmentation": segmenter.kind}
        write_whole(new / _CONFIG, (json.dumps(config, indent=2) + "\n").encode())
    run.facts.update(kind=settings.kind, seed=settings.seed)
    if (pieces := segmenter.inventory()) is not None:
        run.counts["pieces"] = len(pieces)


@command("apply", input_option(), output_option(), batch_size=None, parent=main)
@click.option(
    "--segmenter",
    required=True,
    metavar="FOLDER",
    help="What learn wrote, or the folder of a model.",
)
@click.option("--join", is_flag=True, help="Undo it: pieces in, text out.")
@click.option(
    "--language",
    default="en",
    show_default=True,
    metavar="CODE",
    help="The text's language: counts only for a model that was trained on Moses' tokens.",
)
def apply(run: Run, segmenter: str, join: bool, language: str) -> None:
    """Normalise text as FOLDER says and cut it into pieces, one line for each line.

    Pieces stand between spaces; U+2581 begins those that begin a word (except with the kind
    none). A blank line stays a blank line, and a tab is white space. --join turns pieces back
    into normalised text. Memory is bounded.

    Example:

        bitext-segment apply --segmenter pieces < text > text.pieces

        bitext-segment apply --segmenter pieces --join < text.pieces
    """
    from bitextfilter.text.segment import load_segmenter

    cutter, normalise = load_segmenter(Path(segmenter)), normalisation_of(Path(segmenter))
    rows, output = _reader(run, run.row_settings.input), run.output()
    output.write(rows.first_line())
    for window in _windows(run, rows):
        if join:
            texts = [cutter.join(line.text.split()) for line in window]
        else:
            pieces = cutter.segment_all([normalise(line.text, language) for line in window])
            texts = [" ".join(row) for row in pieces]
        for line, text in zip(window, texts, strict=True):
            output.write(text.encode() + line.ending)


class _Line(NamedTuple):
    """A sentence, and how its line ended."""

    text: str
    ending: bytes


def _reader(run: Run, path: str) -> RowReader:
    return RowReader(run.input(path), stream_name(path), TextColumn(), remedy="")


def _windows(run: Run, rows: RowReader) -> Iterator[list[_Line]]:
    """Yield the lines, counted, many at a time; raises InputError at one that is not text."""
    for window in row_windows(rows, _WINDOW):
        yield [_line(row) for row in window]
        run.counts["rows"] += len(window)
        run.progress().update(len(window))


def _line(row: Row | BadRow) -> _Line:
    """Return the sentence of *row*, empty for a blank line; raises InputError if it is bad."""
    if not isinstance(row, BadRow):
        return _Line(row.text, row.ending)
    if b"\0" in row.line or not is_blank(row.line.decode("utf-8", "replace")):
        raise row.error()
    return _Line("", row.ending)


def normalisation_of(folder: Path) -> Normalisation:
    """Return what ``config.json`` in *folder* says of normalisation; ModelError if damaged."""
    from bitextfilter.text.normalise import Normalisation

    try:
        config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
        return Normalisation.from_dict(config["normalisation"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(f"{folder / _CONFIG}: missing, or silent on normalisation") from error


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Make the folder *path*, and take it away again if anything fails.

    Raises OutputError if there is something of that name, or it cannot be made.
    """
    try:
        path.mkdir(parents=True)
    except FileExistsError as error:
        raise OutputError(f"{path}: exists; name a new folder") from error
    except OSError as error:
        raise OutputError(f"{path}: cannot be made: {error.strerror}") from error
    try:
        yield path
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
