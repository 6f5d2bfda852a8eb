"""``bitext-embed``: turn sentences into vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    ModelOptions,
    Scaling,
    as_column,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.shards import over_shards
from bitextfilter.io.rows import BadRow, Row, TextColumn
from bitextfilter.io.sources import is_remote

if TYPE_CHECKING:
    from bitextfilter.arrays import Vectors


@dataclass(frozen=True)
class _Settings:
    """The sentences, and the numbers of their vectors."""

    language: str = option("--language LANG", "The language, such as en.", required=True)
    dtype: str = option("--dtype", "The type of the numbers.", ["float32", "float16"], "float32")
    where: int | str | None = option("--column COLUMN", "Read a column of a TSV.", as_column)


_ARRAY = {
    "default": None,
    "required": True,
    "metavar": "FILE.npy",
    "help": "Write here; - is stdout.",
}
_ROWS = row_options("input output header errors files", output=_ARRAY)


@command("bitext-embed", _Settings, _ROWS, Scaling, ModelOptions)
def main(run: Run, settings: _Settings) -> None:
    """Turn sentences, one a line, into vectors.

    Writes a NumPy array of shape (lines, dimensions): row i is the vector of line i. A vector
    depends on its sentence alone. The file is written whole or not at all. Memory is bounded by
    --batch-size. Vectors for stdout, a URL or a compressed file wait in a temporary file.

    A bad line (empty, not UTF-8, a NUL byte) stops the run. With --on-error reject its row is
    NaN, and the others keep their places.

    Example:

        bitext-embed --language en -o english.npy < english.txt
        bitext-embed --language de --column 2 -i pairs.tsv.gz -o german.npy
    """
    import numpy as np

    from bitextfilter.io.vectors import ArrayWriter

    output = run.output()
    run.facts["language"] = settings.language
    path = run.row_settings.output
    folder = None if path == "-" or is_remote(path) else Path(path).resolve().parent
    array = run.enter(ArrayWriter(output, folder))
    dim, *_ = over_shards(run, partial(_embed, settings=settings), array.rows)
    array.finish((run.counts["rows"], cast(int, dim)), np.dtype(settings.dtype).newbyteorder("<"))


def _embed(run: Run, output: BinaryIO, settings: _Settings) -> int:
    """Write the vectors of a run's rows; returns their dimension."""
    import numpy as np

    from bitextfilter.encoders.protocol import MOST_OF_AVERAGES
    from bitextfilter.io.workers import map_ahead

    reader = run.rows(TextColumn(settings.where))
    language, dtype = settings.language, np.dtype(settings.dtype).newbyteorder("<")
    model = run.model((language, language))
    dim: int = model.encode([], language).shape[1]

    def vectors_of(window: list[Row | BadRow]) -> Vectors:
        """Return a row for each of a window: of a bad one, NaN."""
        sentences = [row.texts[0] for row in window if not isinstance(row, BadRow)]
        vectors = np.ascontiguousarray(model.encode(sentences, language), dtype)
        if len(sentences) < len(window):
            good = [isinstance(row, Row) for row in window]
            encoded, vectors = vectors, np.full((len(window), dim), np.nan, dtype=dtype)
            vectors[good] = encoded
        return vectors

    most = model.encoder.most
    parts = (
        window[first : first + most]
        for window in run.windows(reader)
        for first in range(0, len(window), most)
    )
    # A part of a network takes long, and could not be interrupted in another thread.
    ahead = run.common.threads if most <= MOST_OF_AVERAGES else 1
    for vectors in map_ahead(vectors_of, parts, ahead):
        output.write(vectors.data)
    return dim
