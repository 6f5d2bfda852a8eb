"""``bitext-embed``: turn sentences into vectors."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    column,
    error_options,
    input_option,
    model_options,
    scaling_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.shards import over_shards
from bitextfilter.io.rows import BadRow, Row, TextColumn


@command("bitext-embed", input_option(), error_options(), scaling_options(), model_options())
@click.option("--language", required=True, metavar="LANG", help="The language, such as en.")
@click.option("-o", "--output", required=True, metavar="FILE.npy", help="Write here; - is stdout.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float16"]),
    default="float32",
    show_default=True,
    help="The type of the numbers.",
)
@click.option("--column", "where", type=column, metavar="COLUMN", help="Read a column of a TSV.")
@click.option("--header", is_flag=True, help="The first line names the columns.")
def main(run: Run, language: str, dtype: str, where: int | str | None) -> None:
    """Turn sentences, one a line, into vectors.

    Writes a NumPy array of shape (lines, dimensions): row i is the vector of line i. A vector
    depends on its sentence alone. The file is written whole or not at all. Memory is bounded by
    --batch-size; the vectors wait in a temporary file beside FILE.npy.

    A bad line (empty, not UTF-8, a NUL byte) stops the run. With --on-error reject its row is
    NaN, and the others keep their places.

    Example:

        bitext-embed --language en -o english.npy < english.txt
        bitext-embed --language de --column 2 -i pairs.tsv.gz -o german.npy
    """
    output = run.output()
    run.facts["language"] = language
    path = run.row_settings.output
    folder = None if path == "-" else Path(path).resolve().parent
    spool = cast(BinaryIO, run.enter(tempfile.TemporaryFile(dir=folder)))
    work = partial(_embed, column=TextColumn(where), language=language, dtype=dtype)
    dim, *_ = over_shards(run, work, spool)
    _write_array(spool, (run.counts["rows"], cast(int, dim)), dtype, output)


def _embed(run: Run, output: BinaryIO, column: TextColumn, language: str, dtype: str) -> int:
    """Write the vectors of a run's rows; returns their dimension."""
    import numpy as np

    rows = run.rows(column)
    model = run.model()
    dim: int = model.encode([], language).shape[1]
    for window in run.windows(rows):
        good = [isinstance(row, Row) for row in window]
        vectors = np.full((len(window), dim), np.nan, dtype=np.dtype(dtype).newbyteorder("<"))
        sentences = [row.text for row in window if not isinstance(row, BadRow)]
        vectors[good] = model.encode(sentences, language)
        output.write(vectors.tobytes())
    return dim


def _write_array(spool: BinaryIO, shape: tuple[int, int], dtype: str, output: BinaryIO) -> None:
    """Write a .npy file: its header, then the numbers in *spool*."""
    import numpy as np

    description = np.dtype(dtype).newbyteorder("<").str
    header = {"descr": description, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(output, header)
    spool.seek(0)
    shutil.copyfileobj(spool, output, 1 << 20)
