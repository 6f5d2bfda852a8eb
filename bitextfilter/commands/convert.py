"""``bitext-convert``: sentence pairs from one format to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    argument,
    as_languages,
    flag,
    is_given,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.files import in_utf_8, open_outputs, stream_name
from bitextfilter.io.rows import WINDOW_BYTES, BadRow, TextColumn

if TYPE_CHECKING:
    from bitextfilter.corpus.formats import PairReader, PairWriter


_FORMATS = ("tsv", "moses", "tmx", "jsonl")


def _two_names(value: str) -> tuple[str, str]:
    """Read two different names."""
    names = _names(value)
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise click.BadParameter("expected two names, as in source,target")
    return names


def _two_languages(value: str) -> tuple[str, str]:
    """Read two different languages."""
    return _two_names(",".join(as_languages(value)))


def _names(value: str) -> tuple[str, ...]:
    """Read any number of names."""
    if value != in_utf_8(value).decode():
        raise click.BadParameter("not UTF-8")
    return tuple(value.split(",")) if value else ()


@dataclass(frozen=True)
class _Settings:
    """Formats and their options."""

    files: tuple[str, ...] = argument("[FILE]...", nargs=-1)
    source: str = option("--from", "Format.", _FORMATS, "tsv")
    target: str = option("--to", "Format.", _FORMATS, "tsv")
    languages: tuple[str, str] | None = option(
        "--languages SOURCE,TARGET", "tmx: the languages, as en,de.", _two_languages
    )
    fields: tuple[str, str] | None = option(
        "--fields SOURCE,TARGET",
        "jsonl: the fields of the texts  [default: source,target, or as --header calls them]",
        _two_names,
    )
    keep: tuple[str, ...] = option(
        "--keep NAME[,NAME...]", "jsonl, tmx: read these fields too, as more columns.", _names, ""
    )
    whitespace: bool = flag(
        "--whitespace", "Make tabs and line breaks in a text spaces (to tsv, moses)."
    )


_USED: dict[str, tuple[set[str], set[str]]] = {
    "scol": ({"tsv"}, set()),
    "tcol": ({"tsv"}, set()),
    "header": ({"tsv"}, {"tsv"}),
    "input": ({"tsv", "tmx", "jsonl"}, set()),
    "output": (set(), {"tsv", "tmx", "jsonl"}),
    "languages": ({"tmx"}, {"tmx"}),
    "fields": ({"jsonl"}, {"jsonl"}),
    "keep": ({"tmx", "jsonl"}, set()),
    "whitespace": (set(), {"tsv", "moses"}),
}
"""Formats that an option applies to: when read, and when written."""


def _check(settings: _Settings) -> None:
    """Raise UsageError for options without effect, or missing ones."""
    if settings.source == settings.target:
        raise click.UsageError(f"--from {settings.source} --to {settings.target} changes nothing")
    for name, (read, written) in _USED.items():
        if is_given(name) and settings.source not in read and settings.target not in written:
            places = [f"--from {f}" for f in sorted(read)] + [f"--to {f}" for f in sorted(written)]
            raise click.UsageError(f"--{name} is for {', '.join(places)}")
    if settings.keep and settings.target == "moses":
        raise click.UsageError("--keep makes columns, and moses files have none")
    if "tmx" in (settings.source, settings.target) and settings.languages is None:
        raise click.UsageError("tmx needs --languages SOURCE,TARGET")


def _split(run: Run, settings: _Settings) -> tuple[list[str], list[str]]:
    """Return the FILEs to read (without any, -i) and those to write."""
    count = 2 * (settings.source == "moses"), 2 * (settings.target == "moses")
    files = settings.files
    place = len(files) - count[1]
    read, write = list(files[:place]), list(files[place:])
    if place != count[0] and not (place == 1 and not count[0]):
        number = sum(count) if count[0] else f"{count[1]} or {count[1] + 1}"
        raise click.UsageError(f"expected {number} FILEs, those to read before those to write")
    given = run.row_settings
    if read and given.input != "-":
        raise click.UsageError("one input can be read: --input or FILE")
    if "-" in write or read == ["-", "-"]:
        raise click.UsageError("moses takes two files: - is but one stream")
    needs_own_file("the second FILE to write", write[-1] if write else None, write[:1])
    for name, path in (("--rejects", given.rejects), ("--manifest", run.common.manifest)):
        needs_own_file(name, path, files)
    return read or [given.input], write


_TEXTS = ("source", "target")
_WINDOW = 4096
_MOST_NAMES = 20


@command("bitext-convert", _Settings, row_options(), uses="")
def main(run: Run, settings: _Settings) -> None:
    """Convert sentence pairs from one format to another, in order, as a stream.

    tsv is the rows of all commands; moses is two files, a sentence a line; tmx is Translation
    Memory eXchange; jsonl is a JSON object a line. moses takes two FILEs: first those to
    read, then those to write. Of the other formats, one FILE may be read instead of -i.

    Further columns become fields of jsonl and properties of tmx, under the names of --header
    or their numbers; moses cannot hold them. Files of moses with unequal numbers of lines
    are refused. Two files are written both, or neither.

    Example:

        bitext-convert --from moses corpus.en corpus.de > pairs.tsv
        bitext-convert --to moses out.en out.de < pairs.tsv
        bitext-convert --from tmx --languages en,de memory.tmx.gz > pairs.tsv
        bitext-convert --to tmx --languages en,de -o memory.tmx < pairs.tsv
        bitext-convert --from jsonl --fields translation.en,translation.de < pairs.jsonl
    """
    _check(settings)
    read, write = _split(run, settings)
    header = run.row_settings.header
    reader = _reader(run, settings, read)
    writer = _writer(settings, reader, header)
    outputs = run.enter(open_outputs(write)) if write else [run.output()]
    _convert(run, reader, writer, outputs)
    _summarise(run, settings, reader)


def _reader(run: Run, settings: _Settings, paths: Sequence[str]) -> PairReader:
    """Return the reader of the input."""
    from bitextfilter.corpus.formats import JsonReader, MosesReader, TsvReader
    from bitextfilter.corpus.tmx import TmxReader

    given = run.row_settings
    if settings.source == "tsv":
        columns = replace(given.columns, blank=True)
        return TsvReader(run.rows(columns, paths[0]), columns, others=settings.target != "moses")
    if settings.source == "tmx":
        assert settings.languages is not None
        if given.rejects is not None:
            run.rejects = run.output(given.rejects)
        run.counts.update(rows=0, rejected=0)
        stream, name = run.input(paths[0]), stream_name(paths[0])
        return TmxReader(stream, name, settings.languages, settings.keep)
    run.row_settings = replace(given, header=False)
    lines = [run.rows(TextColumn(blank=settings.source == "moses"), path) for path in paths]
    if settings.source == "moses":
        return MosesReader(*lines)
    return JsonReader(lines[0], settings.fields or _TEXTS, settings.keep)


def _writer(settings: _Settings, reader: PairReader, header: bool) -> PairWriter:
    """Return the writer of the output."""
    from bitextfilter.corpus.formats import TsvReader, json_writer, moses_writer, tsv_writer
    from bitextfilter.corpus.tmx import tmx_writer

    if settings.target == "moses":
        return moses_writer(settings.whitespace)
    if settings.target == "tmx":
        assert settings.languages is not None
        return tmx_writer(settings.languages)
    if settings.target == "jsonl":
        called = reader.texts() if isinstance(reader, TsvReader) else None
        return json_writer(settings.fields or called or _TEXTS)
    texts = settings.languages if settings.source == "tmx" else settings.fields
    names = [*(texts or _TEXTS), *settings.keep]
    return tsv_writer(names, header, settings.whitespace)


def _convert(run: Run, reader: PairReader, writer: PairWriter, outputs: Sequence[BinaryIO]) -> None:
    """Write the pairs; reject those that the format cannot hold, or stop there."""
    waiting, held = [writer.first], 0
    for lines in _written(run, reader, writer):
        waiting.append(lines)
        held += sum(map(len, lines))
        if len(waiting) >= _WINDOW or held >= WINDOW_BYTES:
            _put(outputs, waiting)
            run.advance(len(waiting))
            waiting, held = [], 0
    _put(outputs, [*waiting, writer.last])


def _written(run: Run, reader: PairReader, writer: PairWriter) -> Iterator[tuple[bytes, ...]]:
    """Yield the bytes of each good pair for each output."""
    from bitextfilter.corpus.formats import UnfitError

    for pair in reader:
        run.counts["rows"] += 1
        if isinstance(pair, BadRow):
            run.reject(pair)
            continue
        try:
            yield writer.lines(pair)
        except UnfitError as problem:
            run.reject(pair.bad(reader.name, *problem.args))


def _put(outputs: Sequence[BinaryIO], lines: Sequence[tuple[bytes, ...]]) -> None:
    for stream, pieces in zip(outputs, zip(*lines, strict=True), strict=True):
        stream.write(b"".join(pieces))


def _summarise(run: Run, settings: _Settings, reader: PairReader) -> None:
    """Count the units skipped, and name the fields left out."""
    from bitextfilter.corpus.tmx import TmxReader

    if isinstance(reader, TmxReader):
        run.counts["skipped"] = reader.skipped
    if reader.dropped:
        names = ", ".join(sorted(reader.dropped)[:_MOST_NAMES])
        moses = settings.target == "moses"
        why = "moses files hold the texts alone" if moses else "--keep NAME keeps one"
        run.note(f"left out: {names} ({why})")
