"""The options that commands share, and what they mean once read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import click

from bitextfilter.commands.amounts import most_bad
from bitextfilter.commands.values import column, device, language_pair, numbered_column
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import Columns

__all__ = [
    "DEFAULT_MODEL",
    "Common",
    "RowSettings",
    "column",
    "common_options",
    "compute_options",
    "cores",
    "device_options",
    "error_options",
    "input_option",
    "language_pair",
    "model_options",
    "needs_own_file",
    "output_option",
    "pair_column_options",
    "row_options",
]

DEFAULT_MODEL = "en-de"


@dataclass(frozen=True)
class Common:
    """What every command is told."""

    quiet: bool = False
    verbose: bool = False
    manifest: str | None = None
    threads: int = 1
    device: str = "cpu"
    batch_size: int = 8192


@dataclass(frozen=True)
class RowSettings:
    """Where rows come from and go to, and what becomes of bad ones."""

    input: str = "-"
    output: str = "-"
    columns: Columns = field(default_factory=Columns)
    header: bool = False
    reject: bool = False
    rejects: str | None = None
    max_bad: int | Fraction | None = None
    """How many rows may be rejected, or what share of them."""
    drops: bool = False
    """Whether ``rejects`` also takes the good rows that the command drops."""
    files: tuple[str, ...] = ()
    """Read instead of ``input``, one after the other, if there are any."""

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if self.files and self.input != "-":
            raise click.UsageError("files are named with -i or without it, not both")
        if self.rejects is not None and not (self.reject or self.drops):
            raise click.UsageError("--rejects FILE needs --on-error reject")
        if self.max_bad is not None and not self.reject:
            raise click.UsageError("--max-bad needs --on-error reject")
        needs_own_file("--rejects", self.rejects, (*self.inputs, self.output))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Every file that is read."""
        return self.files or (self.input,)

    @property
    def names(self) -> list[str]:
        """What messages call every file that is read."""
        return [stream_name(path) for path in self.inputs]


def needs_own_file(option: str, path: str | None, others: Sequence[str | None]) -> None:
    """Raise UsageError where *path* is stdout, or the same file as one of *others*.

    Devices and named pipes may be shared.
    """
    if path is None or (Path(path).exists() and not Path(path).is_file()):
        return
    taken = {os.path.realpath(other) for other in others if other is not None}
    if path == "-" or os.path.realpath(path) in taken:
        raise click.UsageError(f"{option} needs a file of its own")


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def common_options() -> list[click.Parameter]:
    """Return -q, -v and --manifest."""
    return [
        click.Option(["-q", "--quiet"], is_flag=True, help="Say nothing but errors."),
        click.Option(["-v", "--verbose"], is_flag=True, help="Show the traceback of any error."),
        click.Option(["--manifest"], metavar="FILE", help="Write what this run was, as JSON."),
    ]


def compute_options(batch_size: int, uses: str = "device") -> list[click.Parameter]:
    """Return --batch-size (of the given default), --threads and --device.

    A command that *uses* no device, but ``threads``, has no --device; one that uses only ``rows``
    has --batch-size alone.
    """
    batch: click.Parameter = click.Option(
        ["--batch-size"],
        type=click.IntRange(min=1),
        default=batch_size,
        show_default=True,
        help="Rows held in memory at a time. No result depends on it.",
    )
    return [batch, *device_options()[: ("rows", "threads", "device").index(uses)]]


def device_options() -> list[click.Parameter]:
    """Return --threads and --device."""
    return [
        click.Option(
            ["--threads"],
            type=click.IntRange(min=1),
            default=cores,
            show_default="all cores",
            help="Threads to compute with. No result depends on it.",
        ),
        click.Option(
            ["--device"],
            type=device,
            default="auto",
            show_default=True,
            metavar="auto|cpu|cuda[:N]",
            help="Where to compute.",
        ),
    ]


def input_option() -> list[click.Parameter]:
    """Return -i."""
    text = "Read FILE (.gz .xz .bz2 .zst unpacked)  [default: stdin]"
    return [click.Option(["-i", "--input"], default="-", metavar="FILE", help=text)]


def output_option() -> list[click.Parameter]:
    """Return -o."""
    text = "Write FILE, whole or not at all, compressed by name  [default: stdout]"
    return [click.Option(["-o", "--output"], default="-", metavar="FILE", help=text)]


def error_options(drops: bool = False) -> list[click.Parameter]:
    """Return --on-error, --max-bad and --rejects, which takes what the command *drops* too."""
    rejected = "Write rejected rows here: number, reason, the row as it was."
    dropped = "Write what is dropped or rejected here: number, reason, the row as it was."
    return [
        click.Option(
            ["--on-error"],
            type=click.Choice(["stop", "reject"]),
            default="stop",
            show_default=True,
            envvar="BITEXTFILTER_ON_ERROR",
            show_envvar=True,
            help="What to do at a bad row.",
        ),
        click.Option(
            ["--max-bad"],
            type=most_bad,
            metavar="N|SHARE",
            help="Stop when more rows than that are rejected: 1000, 10k, 0.5%.",
        ),
        click.Option(
            ["--rejects", "drops" if drops else "rejects"],
            metavar="FILE",
            help=dropped if drops else rejected,
        ),
    ]


def row_options(drops: bool = False) -> list[click.Parameter]:
    """Return -i, -o, --scol, --tcol, --header and those of errors.

    Of a command that *drops* good rows, --rejects takes those too.
    """
    columns: Sequence[click.Parameter] = [
        click.Option(
            [f"--{side[0]}col"],
            type=column,
            default=number,
            show_default=True,
            metavar="COLUMN",
            help=f"Column of the {side} text: a number, -1 the last, or a name of the header.",
        )
        for number, side in enumerate(("source", "target"), 1)
    ]
    header = click.Option(["--header"], is_flag=True, help="The first line names the columns.")
    return [*input_option(), *output_option(), *columns, header, *error_options(drops)]


def pair_column_options() -> list[click.Parameter]:
    """Return --scol, --tcol, --dev-scol and --dev-tcol."""
    return [
        click.Option(
            [f"--{before}{side[0]}col"],
            type=numbered_column,
            default=number,
            show_default=True,
            metavar="COLUMN",
            help=f"{side.capitalize()} column of {files}.",
        )
        for before, files in (("", "--pairs"), ("dev-", "--development"))
        for number, side in enumerate(("source", "target"), 1)
    ]


def model_options() -> list[click.Parameter]:
    """Return --model."""
    return [
        click.Option(
            ["--model"],
            default=DEFAULT_MODEL,
            show_default=True,
            envvar="BITEXTFILTER_MODEL",
            show_envvar=True,
            metavar="NAME|DIR",
            help="A shipped model, or the folder of one.",
        )
    ]
