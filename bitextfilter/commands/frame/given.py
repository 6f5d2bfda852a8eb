"""Options of commands that take vectors of other encoders, in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import needs_none_of
from bitextfilter.commands.frame.options import COUNT, option
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.rows import SIDES

if TYPE_CHECKING:
    from bitextfilter.io.row_reader import RowReader
    from bitextfilter.io.vectors import GivenRows, GivenVectors
    from bitextfilter.io.work_folder import Fact


@dataclass(frozen=True)
class VectorFiles:
    """Files of vectors, a row for each row of the text."""

    source_vectors: str | None = option(
        "--source-vectors FILE",
        "Vectors of the source side, of any encoder: .npy, or float32 numbers with --dim. Row i is "
        "that of row i of the text. No model is used.",
    )
    target_vectors: str | None = option("--target-vectors FILE", "Vectors of the target side.")
    dim: int | None = option("--dim N", "Numbers of a vector, in files that are no .npy.", COUNT)

    def __post_init__(self) -> None:
        """Refuse --dim without vectors."""
        if self.dim is not None and not self:
            raise click.UsageError("--dim is for --source-vectors and --target-vectors")

    def __bool__(self) -> bool:
        return self.source_vectors is not None or self.target_vectors is not None

    def check(self, refused: Sequence[str] = (), sides: int = 2) -> None:
        """Raise UsageError where a side is missing, or options are given that have no effect.

        *refused* are fields of such options, beside those of the model; *sides*: the number of
        sides that need vectors.
        """
        for side, path in zip(SIDES, self._paths, strict=True):
            if (path is not None) != (side in SIDES[:sides]):
                needed = " and ".join(f"--{name}-vectors" for name in SIDES[:sides])
                raise click.UsageError(f"given vectors are {needed} here")
        needs_none_of(("model", "languages", *refused), "does not go with given vectors")

    def open(self, run: Run) -> tuple[GivenVectors, ...]:
        """Open the files; the manifest gets their digests. Raises InputError, NotFoundError."""
        from bitextfilter.io.vectors import open_sides

        files = open_sides([path for path in self._paths if path is not None], self.dim)
        for side, file in zip(SIDES, files, strict=False):
            run.facts[f"{side} vectors"] = file.digest()
        return files

    def rows(self, run: Run, reader: RowReader) -> GivenRows:
        """Open the files; return the rows of a reader, each with a vector of each file."""
        from bitextfilter.io.vectors import GivenRows

        return GivenRows(reader, self.open(run), whole=run.shard is None)

    def check_count(self, run: Run, last: Sequence[Fact]) -> None:
        """Raise InputError where a text that was read in shards has fewer rows than vectors.

        *last*: the number of the last row of each.
        """
        from bitextfilter.io.vectors import check_count

        if run.scaling.by_shards:
            check_count(
                self.open(run),
                max(count for count in last if isinstance(count, int)),
                ", ".join(run.row_settings.names),
            )

    @property
    def _paths(self) -> tuple[str | None, str | None]:
        return self.source_vectors, self.target_vectors


def signed_vectors(files: Sequence[GivenVectors]) -> dict[str, str]:
    """Return the files' digests as a fact of a signature."""
    return {"vectors": ",".join(file.digest() for file in files)}
