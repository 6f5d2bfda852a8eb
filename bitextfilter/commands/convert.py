"""``bitext-convert``: sentence pairs from one format to another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import BinaryIO

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.first_rows import refuse_table
from bitextfilter.commands.frame.formats import FormatInputs, fit_lines
from bitextfilter.commands.frame.options import (
    argument,
    is_given,
    needs_own_file,
    option,
    options_of,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.corpus.formats.base import (
    FORMATS,
    FormatSettings,
    PairReader,
    PairWriter,
    format_of,
    formats_by_option,
    read_formats,
    written_formats,
)
from bitextfilter.errors import SettingsError
from bitextfilter.io.files import (
    in_utf_8,
    is_table,
    open_folder,
    open_input,
    open_outputs,
)
from bitextfilter.io.rows import WINDOW_BYTES
from bitextfilter.languages import read_language


def _two_names(value: str) -> tuple[str, str]:
    """Read two different names."""
    names = _names(value)
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise click.BadParameter("expected two names, as in source,target")
    return names


def _two_languages(value: str) -> tuple[str, str]:
    """Read two different languages in any usual spelling; returns their tags."""
    try:
        languages = [read_language(name) for name in value.split(",")]
    except SettingsError as error:
        raise click.BadParameter(str(error)) from error
    if not all(language.says_language for language in languages):
        raise click.BadParameter(f"{value!r} leaves a language open: such as en,de or en,zh-Hans")
    if len(languages) != 2:
        raise click.BadParameter("expected two languages, source and target, such as en,de")
    source, target = (language.tag for language in languages)
    if source == target:
        raise click.BadParameter(f"{source!r} stands twice")
    return source, target


def _names(value: str) -> tuple[str, ...]:
    """Read any number of names."""
    if value != in_utf_8(value).decode():
        raise click.BadParameter("not UTF-8")
    names = tuple(value.split(",")) if value else ()
    if double := next((name for name in names if names.count(name) > 1), None):
        raise click.BadParameter(f"{double!r} stands twice")
    return names


def _delimiter(value: str) -> str:
    """Read a character, or tab."""
    character = "\t" if value in ("tab", r"\t") else value
    if len(character) != 1 or not character.isascii() or character in '"\r\n\0 ':
        raise click.BadParameter("expected one character of ASCII, as ; or tab")
    return character


@dataclass(frozen=True)
class _Settings(FormatSettings):
    """Formats and their options."""

    files: tuple[str, ...] = argument("[FILE]...", nargs=-1)
    source: str = option(
        "--from", "Format  [default: by the names of files, or tsv]", read_formats()
    )
    """None until ``_with_formats``, as is the next."""
    target: str = option(
        "--to", "Format  [default: by the names of files, or tsv]", written_formats()
    )


_OPTIONS = options_of(
    _Settings,
    "files source target languages variants fields keep numbers delimiter whitespace",
    {
        "languages": {"type": _two_languages},
        "fields": {"type": _two_names},
        "keep": {"type": _names, "default": ""},
        "numbers": {"type": _names, "default": ""},
        "delimiter": {"type": _delimiter},
    },
)


def _check(run: Run, settings: _Settings) -> None:
    """Raise UsageError for options without effect, or missing ones.

    Raises NotFoundError for a file that would not be converted, and is not there.
    """
    source, target = settings.source, settings.target
    if source == target:
        given = run.row_settings.input, *settings.files
        path = next((path for path in given if path != "-"), "-")
        with nullcontext() if path == "-" else open_input(path):
            message = f"--from {source} --to {target} changes nothing"
            raise click.UsageError(
                f"{message}; --to, or the name after -o, tells the format to write"
            )
    for name, (read, written) in formats_by_option().items():
        if is_given(name) and source not in read and target not in written:
            sides = {"--from": read, "--to": written}
            places = [
                f"{side} {', '.join(sorted(names))}" for side, names in sides.items() if names
            ]
            raise click.UsageError(f"--{name} is for {' and '.join(places)}")
    if settings.keep and not FORMATS[target].columns:
        raise click.UsageError(f"--keep makes columns, and {target} files have none")
    if FORMATS[target].needs == "languages" and settings.languages is None:
        raise click.UsageError(f"{target} needs --languages SOURCE,TARGET")


def _with_formats(run: Run, settings: _Settings) -> _Settings:
    """Return the settings with both formats: those given, else by the names of files."""
    files, given = settings.files, run.row_settings
    target = settings.target or format_of(given.output)
    last = FORMATS[target].written_files if target else 0
    read = files[: len(files) - last] if given.input == "-" else [given.input]
    source = settings.source or _named_format(read)
    first = FORMATS[source].read_files or int(given.input == "-")
    target = target or ("moses" if len(files) - first == 2 else "tsv")
    return replace(settings, source=source, target=target)


def _named_format(paths: Sequence[str]) -> str:
    """Return the format of the files to read by their names: by default tsv, of two moses."""
    as_rows = is_given("scol") or is_given("tcol")
    if not paths or (as_rows and is_table(paths[0])):
        return "tsv"
    return format_of(paths[0]) or ("moses" if len(paths) > 1 else "tsv")


def _split(run: Run, settings: _Settings) -> tuple[list[str], list[str]]:
    """Return the FILEs to read (without any, -i) and those to write."""
    source, target = FORMATS[settings.source], FORMATS[settings.target]
    count = source.read_files, target.written_files
    files = settings.files
    place = len(files) - count[1]
    read, write = list(files[:place]), list(files[place:])
    if place != count[0] and not (place == 1 and not count[0]):
        number = sum(count) if count[0] else f"{count[1]} or {count[1] + 1}"
        order = "those to read before those to write" if count[1] else "-o names the one to write"
        raise click.UsageError(f"expected {number} FILEs, {order}")
    given = run.row_settings
    if read and given.input != "-":
        raise click.UsageError("one input can be read: --input or FILE")
    if "-" in write or read == ["-", "-"]:
        if target.folder and "-" in write:
            raise click.UsageError(f"{settings.target} is a folder, and - a stream")
        name = settings.target if "-" in write else settings.source
        raise click.UsageError(f"{name} takes two files: - is but one stream")
    for table in write if target.files > 1 else ():
        refuse_table(table)
    needs_own_file("the second FILE to write", write[-1] if write else None, write[:-1])
    for name, path in (("--rejects", given.rejects), ("--manifest", run.common.manifest)):
        needs_own_file(name, path, files)
    return read or [given.input], write


_WINDOW = 4096
_MOST_NAMES = 20


@command("bitext-convert", _OPTIONS, row_options(), uses="")
def main(run: Run, settings: _Settings) -> None:
    """Convert sentence pairs from one format to another, in order, as a stream.

    Of two files: moses, a sentence a line, and srt or vtt, subtitles matched by time. Of one: tsv
    (the rows of all commands), csv, jsonl (a JSON object a line), tmx, xliff, po (GNU gettext),
    parquet and arrow. datasets is a folder for datasets.load_from_disk. FILEs are first those
    to read, then those to write. Of one file, -i and -o do, too. Names such as memory.tmx.gz
    tell their format; two files of other names are moses.

    Further columns become columns, fields or properties, under the names of --header or
    their numbers; moses has none. Moses files with unequal numbers of lines are refused.
    Several files are written all, or none.

    Example:

        bitext-convert corpus.en corpus.de > pairs.tsv
        bitext-convert --to moses out.en out.de < pairs.tsv
        bitext-convert --languages en,de memory.tmx.gz > pairs.tsv
        bitext-convert --from jsonl --fields translation.en,translation.de < pairs.jsonl
        bitext-convert --header --numbers score -o pairs.parquet < scored.tsv
    """
    settings, named = _with_formats(run, settings), bool(settings.source)
    _check(run, settings)
    read, write = _split(run, settings)
    format_settings = _format_settings(run, settings, is_table(read[0]))
    target = FORMATS[settings.target]
    reader = FORMATS[settings.source].reader(FormatInputs(run, read), format_settings)
    if settings.source == "moses" and not named:
        run.note(f"{reader.name} are read as moses, line by line (--from names another format)")
    writer = target.writer(format_settings, reader)
    if target.folder:
        outputs = run.enter(open_folder(write[0], target.folder, target.caches))
    else:
        outputs = (
            run.enter(open_outputs(write))
            if write
            else [run.output(table=settings.target == "parquet")]
        )
    _convert(run, reader, writer, outputs)
    _summarise(run, settings, reader)


def _format_settings(run: Run, settings: _Settings, table: bool) -> FormatSettings:
    """Return the settings with the columns. Raises UsageError for names without a header."""
    columns = run.row_settings.columns
    header = is_given("header") or (settings.source == "tsv" and table)
    if not header and any(isinstance(column.where, str) for column in columns.wanted()):
        raise click.UsageError("a column can only be named with --header")
    others = FORMATS[settings.target].columns
    return replace(settings, columns=columns, header=header, others=others)


def _convert(run: Run, reader: PairReader, writer: PairWriter, outputs: Sequence[BinaryIO]) -> None:
    """Write the pairs; reject those that the format cannot hold, or stop there."""
    waiting, held = [writer.first], 0
    for lines in fit_lines(run, reader, writer, count=True):
        waiting.append(lines)
        held += sum(map(len, lines))
        if len(waiting) >= _WINDOW or held >= WINDOW_BYTES:
            _put(outputs, waiting)
            run.advance(len(waiting))
            waiting, held = [], 0
    _put(outputs, [*waiting, writer.end()])


def _put(outputs: Sequence[BinaryIO], lines: Sequence[tuple[bytes, ...]]) -> None:
    for stream, pieces in zip(outputs, zip(*lines, strict=True), strict=True):
        stream.write(b"".join(pieces))


def _summarise(run: Run, settings: _Settings, reader: PairReader) -> None:
    """Count the units skipped, and name those, and the fields left out."""
    if reader.skipped is not None:
        run.counts["skipped"] = reader.skipped.total()
        if reader.skipped:
            run.note(f"skipped: {reader.reasons()}")
    if reader.further:
        run.counts["further variants"] = reader.further.total()
        codes = ", ".join(code for code, _ in reader.further.most_common(_MOST_NAMES))
        run.note(
            f"left out: further texts of a unit in {codes} (--variants all makes rows of them)"
        )
    for message in reader.notes:
        run.note(message)
    if reader.dropped:
        names = ", ".join(sorted(reader.dropped)[:_MOST_NAMES])
        why = "--keep NAME keeps one"
        if not FORMATS[settings.target].columns:
            why = f"{settings.target} files hold the texts alone"
        run.note(f"left out: {names} ({why})")
