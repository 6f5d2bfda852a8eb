"""Options that commands share, and parsers for their values."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isnan
from pathlib import Path

import click

from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import BadRow, Columns, number_of


def column(value: int | str) -> int | str:
    """Read a column: a 1-based number, negative from the end, or (with a header) a name."""
    text = str(value)
    if not re.fullmatch(r"[-+]?[0-9]+", text):
        return text
    if int(text) == 0:
        raise click.BadParameter("columns are counted from 1, or from the end with -1")
    return int(text)


def numbered_column(value: int | str) -> int | str:
    """Read the number of a column, where there is no header to name one."""
    if isinstance(where := column(value), str):
        raise click.BadParameter(f"{where!r} is no number")
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


_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def amount(value: str) -> int:
    """Read a number of rows or words: ``500``, ``500k``, ``2.5M``, ``1G``."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kmg]?)", value.lower())
    number = Fraction(found[1]) * _UNITS[found[2]] if found else Fraction(1, 2)
    if number.denominator != 1:
        raise click.BadParameter(f"{value!r} is not a whole number, or one such as 500k or 2.5M")
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


def fold(value: str) -> tuple[int, int]:
    """Read a fold: ``3/10`` is the third of ten."""
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", value)
    _part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= _part <= parts:
        raise click.BadParameter(f"{value!r} is not a fold such as 3/10, from 1/10 to 10/10")
    return _part, parts


def score_value(value: str) -> float:
    """Read a score: any number, infinities too."""
    number = number_of(value.encode())
    if isnan(number):
        raise click.BadParameter(f"{value!r} is not a number")
    return number


def most_bad(value: str) -> int | Fraction:
    """Read how many rows may be bad: a number, ``1000`` or ``10k``, or a share, ``1%``."""
    share = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", value)
    if not share:
        return amount(value)
    if Fraction(share[1]) > 100:
        raise click.BadParameter(f"{value!r} is more than all rows")
    return Fraction(share[1]) / 100


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


SHARD_ROWS = 24576
"""Two windows of bitext-score, three of the other commands: some ten seconds of scoring."""


@dataclass(frozen=True)
class Scaling:
    """How a run is cut, and by whom the parts are worked on."""

    engine: str = "local"
    ray_address: str | None = None
    workers: int | None = None
    resume: str | None = None
    shard: tuple[int, int] | None = None
    """Which part of how many, from 1."""
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
        """Whether the input is cut into shards, all of which this run sees to."""
        return self.engine == "ray" or self.resume is not None

    @property
    def rows(self) -> int:
        """How many rows a shard has."""
        return self.shard_rows or SHARD_ROWS


def _part(value: str | tuple[int, int]) -> tuple[int, int]:
    """Read ``3/10``: which part of how many."""
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", value) if isinstance(value, str) else None
    numbers = (int(found[1]), int(found[2])) if found else value
    if isinstance(numbers, str) or not 1 <= numbers[0] <= numbers[1]:
        raise click.BadParameter(f"{value!r} is no part such as 1/10 or 10/10")
    return numbers


def files_argument() -> list[click.Parameter]:
    """Return FILE..., to be read instead of -i, one after the other."""
    return [click.Argument(["row_files"], nargs=-1, metavar="[FILE]...")]


def scaling_options() -> list[click.Parameter]:
    """Return FILE..., --resume, --shard, --shard-rows, --engine, --ray-address and --workers."""
    return [
        *files_argument(),
        *_shard_options(),
        *engine_options(),
    ]


def _shard_options() -> list[click.Parameter]:
    return [
        click.Option(
            ["--resume"],
            metavar="DIR",
            help="Keep what is finished in DIR, and go on from there after a run that ended early.",
        ),
        click.Option(
            ["--shard"], type=_part, metavar="I/N", help="Do only the I-th of N parts of the input."
        ),
        click.Option(
            ["--shard-rows"],
            type=click.IntRange(min=1),
            metavar="N",
            help=f"Rows of a shard. No result depends on it.  [default: {SHARD_ROWS}]",
        ),
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


JUDGED_FROM = 1000
"""Of fewer rows, a share is judged only when all are read."""


def check_number(
    most: int | Fraction, counts: Mapping[str, int], name: str, last: bool = False
) -> None:
    """Raise InputError if more rows of the input *name* were rejected than *most*, or that share.

    *counts* has the ``rows`` so far and how many of them were ``rejected``; *last* says that there
    are no more.
    """
    rows, bad = counts["rows"], counts["rejected"]
    if isinstance(most, int):
        said, exceeded = str(most), bad > most
    else:
        said, exceeded = f"{float(100 * most):g}%", bad > most * rows
        exceeded = exceeded and (last or rows >= JUDGED_FROM)
    if exceeded:
        message = f"{bad} of {rows} rows are bad, more than --max-bad {said}"
        raise InputError(message, file=name, remedy="--on-error stop shows the first")


def remedy(row: BadRow, inputs: Sequence[str], command: str) -> str:
    """Return what to do about a bad row of *inputs*: convert them, if they are no TSV."""
    if b"\t" in row.line or not row.reason.startswith("1 column,"):
        return row.remedy
    options = _format(row.line) or ("moses" if len(inputs) == 2 else "")
    if not options:
        return row.remedy
    files = "".join(f" {shlex.quote(path)}" for path in inputs if path != "-")
    return f"bitext-convert --from {options}{files} | {command} reads this format"


def _format(line: bytes) -> str:
    """Return the format that a line is of, with its options; nothing if that cannot be seen."""
    if line.lstrip().startswith((b"<?xml", b"<tmx", b"<!DOCTYPE tmx")):
        return "tmx --languages SOURCE,TARGET"
    try:
        record = json.loads(line)
    except ValueError:
        return ""
    if not isinstance(record, dict):
        return ""
    texts = [name for name, value in record.items() if isinstance(value, str)]
    if len(texts) < 2 or {"source", "target"} <= set(texts):
        return "jsonl"
    return f"jsonl --fields {shlex.quote(','.join(texts[:2]))}"
