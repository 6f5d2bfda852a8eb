"""Options that commands share: the parsers of their values, their settings, and the options."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import Columns, number_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


DEFAULT_MODEL = "en-de"

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def column(value: int | str) -> int | str:
    """Read a column: a 1-based number, negative from the end, or (with a header) a name."""
    text = str(value)
    if not re.fullmatch(r"[-+]?[0-9]+", text):
        return text
    if int(text) == 0:
        raise click.BadParameter("columns are counted from 1, or from the end with -1")
    return int(text)


def numbered_column(value: int | str) -> int | str:
    """Read a column of a file without a header: a number."""
    if isinstance(where := column(value), str):
        raise click.BadParameter(f"{where!r} is not a number")
    return where


def device(value: str) -> str:
    """Read a device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``."""
    if not re.fullmatch(r"auto|cpu|cuda(:[0-9]+)?", value):
        raise click.BadParameter(f"{value!r} is not auto, cpu, cuda or cuda:N")
    return value


def language_pair(value: str) -> tuple[str, str]:
    """Read ``en,de``: the codes of the source's and the target's language."""
    names = value.split(",")
    if len(names) != 2 or not all(map(_LANGUAGE.fullmatch, names)):
        raise click.BadParameter("expected two languages, source and target, such as en,de")
    return names[0], names[1]


def amount(value: str) -> int:
    """Read a number of rows or words: ``500``, ``500k``, ``2.5M``, ``1G``."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kmg]?)", value.lower())
    number = Fraction(found[1]) * _UNITS[found[2]] if found else Fraction(1, 2)
    if number.denominator != 1:
        raise click.BadParameter(f"{value!r} is not a whole number, such as 500, 500k or 2.5M")
    return int(number)


def fraction(value: str) -> Fraction:
    """Read a fraction from 0 to 1, exactly: ``0.3`` or ``1/3``."""
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError):
        number = Fraction(-1)
    if not 0 <= number <= 1:
        raise click.BadParameter(f"{value!r} is not a fraction from 0 to 1")
    return number


def part(value: str) -> tuple[int, int]:
    """Read one of several parts: ``3/10`` is the third of ten."""
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", value)
    number, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= parts:
        raise click.BadParameter(f"{value!r} is not a part such as 3/10, from 1/10 to 10/10")
    return number, parts


def score_value(value: str) -> float:
    """Read a score: any number, or an infinity."""
    number = number_of(value.encode())
    if isnan(number):
        raise click.BadParameter(f"{value!r} is not a number")
    return number


def most_bad(value: str) -> int | Fraction:
    """Read the most rows that may be bad: a number, ``1000`` or ``10k``, or a share, ``1%``."""
    share = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", value)
    if not share:
        return amount(value)
    if Fraction(share[1]) > 100:
        raise click.BadParameter(f"{value!r} is more than all rows")
    return Fraction(share[1]) / 100


@dataclass(frozen=True)
class Common:
    """The options of every command."""

    quiet: bool = False
    verbose: bool = False
    manifest: str | None = None
    threads: int = 1
    device: str = "cpu"
    batch_size: int = 8192


@dataclass(frozen=True)
class RowSettings:
    """The input, the output, and the treatment of bad rows."""

    input: str = "-"
    output: str = "-"
    header: bool = False
    scol: int | str = 1
    tcol: int | str = 2
    on_error: str = "stop"
    rejects: str | None = None
    max_bad: int | Fraction | None = None
    """The most rows that may be rejected: a number, or a share of all."""
    drops: bool = False
    """Whether ``rejects`` also takes the good rows that the command drops."""
    row_files: tuple[str, ...] = ()
    """Files to read in turn instead of ``input``, if any."""

    @classmethod
    def pop_from(cls, values: dict[str, Any]) -> RowSettings:
        """Make the settings of the row options, and remove these from *values*."""
        if "rejects_and_drops" in values:
            # The name tells which kind of command it is: click gives parsed values alone.
            values |= {"rejects": values.pop("rejects_and_drops"), "drops": True}
        if len(values.get("row_files", ())) == 1 and values["input"] == "-":
            (values["input"],) = values.pop("row_files")
        return pop_settings(cls, values)

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if self.row_files and self.input != "-":
            raise click.UsageError("files are named with -i or without it, not both")
        if self.rejects is not None and not (self.reject or self.drops):
            raise click.UsageError("--rejects FILE needs --on-error reject")
        if self.max_bad is not None and not self.reject:
            raise click.UsageError("--max-bad needs --on-error reject")
        needs_own_file("--rejects", self.rejects, (*self.inputs, self.output))

    @property
    def reject(self) -> bool:
        """Whether the run goes on after a bad row."""
        return self.on_error == "reject"

    @property
    def columns(self) -> Columns:
        """The columns of source and target."""
        return Columns(self.scol, self.tcol)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The paths of all inputs."""
        return self.row_files or (self.input,)

    @property
    def names(self) -> list[str]:
        """The names of all inputs in messages."""
        return [stream_name(path) for path in self.inputs]


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


SHARD_ROWS = 24576
"""Two windows of bitext-score, three of the other commands: some ten seconds of scoring."""


@dataclass(frozen=True)
class Scaling:
    """Shards of the input, and the workers that process them."""

    engine: str = "local"
    ray_address: str | None = None
    workers: int | None = None
    resume: str | None = None
    shard: tuple[int, int] | None = None
    """The part of the input to process, and the number of parts."""
    shard_rows: int | None = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other, or would do nothing."""
        if self.engine != "ray" and (self.ray_address or self.workers):
            name = "--ray-address" if self.ray_address else "--workers"
            raise click.UsageError(f"{name} is for --engine ray")
        if self.shard_rows and not self.by_shards:
            raise click.UsageError("--shard-rows is for --engine ray or --resume")
        if self.shard and self.by_shards:
            raise click.UsageError("--shard is for runs without --engine ray and --resume")

    @property
    def by_shards(self) -> bool:
        """Whether this run processes the input shard by shard."""
        return self.engine == "ray" or self.resume is not None

    @property
    def rows(self) -> int:
        """The number of rows in a shard."""
        return self.shard_rows or SHARD_ROWS


def pop_settings(kind: type[T], values: dict[str, Any]) -> T:
    """Make settings of the options that are their fields, and remove these from *values*."""
    names = [field.name for field in fields(kind) if field.name in values]
    return kind(**{name: values.pop(name) for name in names})


def needs_own_file(option: str, path: str | None, others: Sequence[str | None]) -> None:
    """Raise UsageError if *path* is stdout, or the same file as one of *others*.

    Devices and named pipes may be shared.
    """
    if path is None or (Path(path).exists() and not Path(path).is_file()):
        return
    taken = {os.path.realpath(other) for other in others if other is not None}
    if path == "-" or os.path.realpath(path) in taken:
        raise click.UsageError(f"{option} needs a file of its own")


def common_options() -> list[click.Parameter]:
    """Return -q, -v and --manifest."""
    return [
        click.Option(["-q", "--quiet"], is_flag=True, help="Say nothing but errors."),
        click.Option(["-v", "--verbose"], is_flag=True, help="Show the traceback of any error."),
        click.Option(["--manifest"], metavar="FILE", help="Write the facts of this run as JSON."),
    ]


def compute_options(batch_size: int, uses: str = "device") -> list[click.Parameter]:
    """Return --batch-size with its default, --threads and --device.

    A command that *uses* ``threads`` has no --device; one that uses ``rows``, --batch-size alone.
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
    """Return --on-error, --max-bad and --rejects (also for the rows that a command *drops*)."""
    rows = "dropped and rejected" if drops else "rejected"
    return [
        click.Option(
            ["--on-error"],
            type=click.Choice(["stop", "reject"]),
            default="stop",
            show_default=True,
            envvar="BITEXTFILTER_ON_ERROR",
            show_envvar=True,
            help="Stop at a bad row, or reject it and go on.",
        ),
        click.Option(
            ["--max-bad"],
            type=most_bad,
            metavar="N|SHARE",
            help="Stop when more rows than this are rejected: 1000, 10k, 0.5%.",
        ),
        click.Option(
            ["--rejects", "rejects_and_drops" if drops else "rejects"],
            metavar="FILE",
            help=f"Write {rows} rows to FILE: number, reason, the row as it was.",
        ),
    ]


def row_options(drops: bool = False) -> list[click.Parameter]:
    """Return -i, -o, --scol, --tcol, --header and the ``error_options``."""
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


def files_argument() -> list[click.Parameter]:
    """Return FILE..., which are read in turn instead of -i."""
    return [click.Argument(["row_files"], nargs=-1, metavar="[FILE]...")]


def scaling_options() -> list[click.Parameter]:
    """Return FILE..., --resume, --shard, --shard-rows, --engine, --ray-address and --workers."""
    return [
        *files_argument(),
        click.Option(
            ["--resume"],
            metavar="DIR",
            help="Keep finished shards in DIR; the same command continues after an interruption.",
        ),
        click.Option(
            ["--shard"], type=part, metavar="I/N", help="Do only the I-th of N parts of the input."
        ),
        click.Option(
            ["--shard-rows"],
            type=click.IntRange(min=1),
            metavar="N",
            help=f"Rows of a shard. No result depends on it.  [default: {SHARD_ROWS}]",
        ),
        *engine_options(),
    ]


def engine_options() -> list[click.Parameter]:
    """Return --engine, --ray-address and --workers."""
    return [
        click.Option(
            ["--engine"],
            type=click.Choice(["local", "ray"]),
            default="local",
            show_default=True,
            help="Work here, or in workers on a Ray cluster.",
        ),
        click.Option(
            ["--ray-address"],
            metavar="HOST:PORT",
            help="The cluster  [default: RAY_ADDRESS, or one that is started here]",
        ),
        click.Option(
            ["--workers"],
            type=click.IntRange(min=1),
            metavar="N",
            help="Workers on the cluster, of --threads CPUs each (1 if not given), and a GPU with "
            "--device cuda  [default: as many as fit]",
        ),
    ]
