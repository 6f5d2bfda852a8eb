"""Options as fields of frozen settings, and those that commands share.

An option is declared once: name, help, type and default, beside the annotation of its value::

    @dataclass(frozen=True)
    class _Settings:
        digits: int = option("--digits N", "Decimals.", DIGITS, 4)
        score_only: bool = flag("--score-only", "Write the scores without the rows.")

A parser of values is a function of the text that raises ``click.BadParameter``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from fractions import Fraction
from functools import partial
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from bitextfilter.commands.frame.words import (
    Words,
    as_languages,
    as_own_languages,
    as_tags,
    completer_of,
)
from bitextfilter.io.files import is_table, stream_name
from bitextfilter.io.rows import Columns, number_of
from bitextfilter.models.folders import CUTS
from bitextfilter.settings import Declaration, nearest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


DEFAULT_MODEL = "en-de"

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}

MinScore = float | str
"""A score, or one of ``CUTS``."""


def as_column(value: int | str) -> int | str:
    """Read a column: a 1-based number, negative from the end, or (with a header) a name."""
    text = str(value)
    if not re.fullmatch(r"[-+]?[0-9]+", text):
        return text
    if int(text) == 0:
        raise click.BadParameter("columns are counted from 1, or from the end with -1")
    return int(text)


def as_numbered_column(value: int | str) -> int | str:
    """Read a column of a file without a header: a number."""
    if isinstance(where := as_column(value), str):
        raise click.BadParameter(f"{where!r} is not a number")
    return where


def as_device(value: str) -> str:
    """Read a device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``."""
    if not re.fullmatch(r"auto|cpu|cuda(:[0-9]+)?", value):
        raise click.BadParameter(f"{value!r} is not auto, cpu, cuda or cuda:N")
    return value


def as_amount(value: str) -> int:
    """Read a number of rows or words: ``500``, ``500k``, ``2.5M``, ``1G``."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kmg]?)", value.lower())
    number = Fraction(found[1]) * _UNITS[found[2]] if found else Fraction(1, 2)
    if number.denominator != 1:
        raise click.BadParameter(f"{value!r} is not a whole number, such as 500, 500k or 2.5M")
    return int(number)


def as_fraction(value: str) -> Fraction:
    """Read a fraction from 0 to 1, exactly: ``0.3`` or ``1/3``."""
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError):
        number = Fraction(-1)
    if not 0 <= number <= 1:
        raise click.BadParameter(f"{value!r} is not a fraction from 0 to 1")
    return number


def as_part(value: str) -> tuple[int, int]:
    """Read one of several parts: ``3/10`` is the third of ten."""
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", value)
    number, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= parts:
        raise click.BadParameter(f"{value!r} is not a part such as 3/10, from 1/10 to 10/10")
    return number, parts


def as_score(value: str) -> float:
    """Read a score: any number, or an infinity."""
    number = number_of(value.encode())
    if isnan(number):
        raise click.BadParameter(f"{value!r} is not a number")
    return number


def as_min_score(value: str, names: Sequence[str] = CUTS) -> MinScore:
    """Read a score, or one of these *names*."""
    if value in names:
        return value
    try:
        return as_score(value)
    except click.BadParameter as error:
        *some, last = names
        known = f"{', '.join(some)} or {last}" if some else last
        near = nearest(value, names)
        raise click.BadParameter(f"{error.message}, nor is it {known}{near}") from error


def as_most_bad(value: str) -> int | Fraction:
    """Read the most rows that may be bad: a number, ``1000`` or ``10k``, or a share, ``1%``."""
    share = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", value)
    if not share:
        return as_amount(value)
    if Fraction(share[1]) > 100:
        raise click.BadParameter(f"{value!r} is more than all rows")
    return Fraction(share[1]) / 100


class NumberRange(click.FloatRange):
    """The numbers in a range, without NaN."""

    def convert(self, value: Any, *context: Any) -> float:
        """Read a number."""
        number = float(super().convert(value, *context))
        if isnan(number):
            self.fail(f"{value!r} is not a number", *context)
        return number


COUNT = click.IntRange(min=1)
NATURAL = click.IntRange(min=0)
DIGITS = click.IntRange(0, 9)
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)


def option(
    name: str, text: str, kind: Any = None, default: Any = None, unset: Any = None, **details: Any
) -> Any:
    """Return the field of frozen settings whose value is that of an option.

    Args:
        name: its names, and the placeholder of its value, such as ``-k --neighbours N``.
        text: its help.
        kind: a type of click, a function of the text, or the choices.
        default: the default, which the help shows, unless the text does.
        unset: the value of the field for a command without the option, if not *default*.
        details: further arguments of ``click.Option``.
    """
    names = [word for word in name.split() if word.startswith("-")]
    choices = Words(list(kind)) if isinstance(kind, (Sequence, Mapping)) else kind
    show = default not in (None, False, "", ()) and "[default: " not in text
    metavar = " ".join(name.split()[len(names) :]) or None
    own = {"type": choices, "default": default, "help": text, "metavar": metavar}
    details = {**own, "show_default": show, **details}
    if unset is None:
        unset = () if details.get("multiple") else default
    return field(default=unset, metadata={"parameter": (click.Option, names, details)})


def flag(name: str, text: str, **details: Any) -> Any:
    """Return the field of a flag, False by default."""
    return option(name, text, default=False, is_flag=True, **details)


def json_flag() -> Any:
    """Return the field of --json."""
    return flag("--json", "Write one JSON object instead of a table.")


def languages_option(
    text: str = "The languages, as en,de.", tags: bool = False, **details: Any
) -> Any:
    """Return the field of --languages: of codes, as zh, or of *tags*, as zh-Hans."""
    return option("--languages SOURCE,TARGET", text, as_tags if tags else as_languages, **details)


def argument(metavar: str | None = None, **details: Any) -> Any:
    """Return the field of an argument of the command line, called as the field is."""
    details["metavar"] = metavar
    unset = () if details.get("nargs") == -1 else details.get("default")
    return field(default=unset, metadata={"parameter": (click.Argument, [], details)})


_Parameter = tuple[type[click.Parameter], list[str], dict[str, Any]]
"""Its class, its names, and further arguments."""


def _parameter_of(one: Field[Any]) -> _Parameter | None:
    """Return the parameter that a field declares, if it does."""
    details = dict(one.metadata.get("option", {}))
    if name := details.pop("option", ""):
        kind, declared = str(one.type).removesuffix(" | None"), one.metadata["setting"]
        details = {"is_flag": (kind == "bool" and "/" not in name) or None, **details}
        typed = _type_of(kind, declared)
        one = option(name, kind=typed, default=one.default, text=details.pop("help"), **details)
    return one.metadata.get("parameter")


def _type_of(kind: str, declared: Declaration) -> Any:
    """Return the type of click of a setting's value, or what ``option`` makes one of."""
    ends, limits = {">": "min", "<": "max"}, dict[str, Any]()
    for sign, number in declared.bounds:
        whole = int(number) if number.is_integer() else number
        limits |= {ends[sign[0]]: whole, f"{ends[sign[0]]}_open": sign in ends}
    if kind in ("int", "float"):
        return (click.IntRange if kind == "int" else NumberRange)(**limits)
    return declared.choices or _READERS.get(kind)


_READERS = {"int | str": as_column, "tuple[str, str]": as_languages, "Path": FILE}
"""Readers of values by the type of their field."""


class Options(NamedTuple):
    """Some options of a command, and the settings that are made of their values."""

    settings: Callable[..., object]
    parameters: list[click.Parameter]


def options_of(
    settings: type[DataclassInstance],
    names: str = "",
    changes: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    hidden: bool = False,
) -> Options:
    """Return the options that are fields of settings.

    Args:
        settings: a dataclass with fields by ``option``, ``flag`` and ``argument``, or by
            ``setting`` with an option.
        names: of the fields to take, in this order; all if empty.
        changes: other details of ``click.Option``, by the name of the field.
        hidden: whether the help leaves the options out.
    """
    parameters, found = [], {one.name: one for one in fields(settings)}
    for name in names.split() or found:
        if (declared := _parameter_of(found[name])) is not None:
            kind, own, details = declared
            details = {**details, "hidden": hidden or None, **changes.get(name, {})}
            details = {key: value for key, value in details.items() if value is not None}
            completer = completer_of(own, details.get("metavar", ""), kind is click.Argument)
            if completer is not None and not isinstance(details.get("type"), click.ParamType):
                details["shell_complete"] = completer
            parameters.append(kind([*own, name], **details))
    return Options(settings, parameters)


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Common:
    """The options of every command, and the options of commands that compute."""

    batch_size: int = option(
        "--batch-size", "Rows held in memory at a time. No result depends on it.", COUNT, 8192
    )
    threads: int = option(
        "--threads", "Threads. No result depends on it.  [default: all cores]", COUNT, cores, 1
    )
    device: str = option(
        "--device auto|cpu|cuda[:N]", "Where to compute.", as_device, "auto", "cpu"
    )
    quiet: bool = flag("-q --quiet", "Write only errors.")
    verbose: bool = flag("-v --verbose", "Show the traceback of any error.")
    manifest: str | None = option("--manifest FILE", "Write the facts of this run as JSON.")


@dataclass(frozen=True)
class RowSettings:
    """The input, the output, and the treatment of bad rows."""

    row_files: tuple[str, ...] = argument("[FILE]...", nargs=-1)
    """Files to read in turn instead of ``input``, if any."""
    input: str = option(
        "-i --input FILE", "Read FILE (.gz .xz .bz2 .zst unpacked)  [default: stdin]", default="-"
    )
    output: str = option(
        "-o --output FILE",
        "Write FILE, whole or not at all, compressed by name  [default: stdout]",
        default="-",
    )
    scol: int | str = option(
        "--scol COLUMN", "Column of the source: a number (-1 the last) or a name.", as_column, 1
    )
    tcol: int | str = option(
        "--tcol COLUMN", "Column of the target: a number (-1 the last) or a name.", as_column, 2
    )
    header: bool = flag("--header", "The first line names the columns.")
    on_error: str = option(
        "--on-error",
        "Stop at a bad row, or reject it and go on.",
        ["stop", "reject"],
        "stop",
        envvar="BITEXTFILTER_ON_ERROR",
        show_envvar=True,
    )
    max_bad: int | Fraction | None = option(
        "--max-bad N|SHARE", "Stop when more rows are rejected: 1000, 10k, 0.5%.", as_most_bad
    )
    rejects: str | None = option(
        "--rejects FILE", "Write rejected rows to FILE: number, reason, the row as it was."
    )
    drops: bool = False
    """Whether ``rejects`` also takes the good rows that the command drops."""

    def __post_init__(self) -> None:
        """Refuse contradictory options. One file alone is the input; a table has a header."""
        if len(self.row_files) == 1 and self.input == "-":
            object.__setattr__(self, "input", self.row_files[0])
            object.__setattr__(self, "row_files", ())
        if any(map(is_table, self.inputs)):
            object.__setattr__(self, "header", True)
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


_GROUPS = {
    "pairs": "input output scol tcol header on_error max_bad rejects",
    "texts": "scol tcol header",
    "errors": "on_error max_bad rejects",
    "files": "row_files",
}
"""Fields of ``RowSettings``; files are read in turn instead of --input."""


def row_options(names: str = "pairs", drops: bool = False, **changes: Mapping[str, Any]) -> Options:
    """Return options of ``RowSettings``: the fields in *names*, or in the groups of these names.

    With *drops*, --rejects also takes the rows that the command drops. *changes* are those of
    ``options_of``.
    """
    text = "Write dropped and rejected rows to FILE: number, reason, the row as it was."
    changes |= {"rejects": {"help": text}} if drops else {}
    chosen = " ".join(_GROUPS.get(name, name) for name in names.split())
    parameters = options_of(RowSettings, chosen, changes).parameters
    return Options(partial(RowSettings, drops=drops), parameters)


@dataclass(frozen=True)
class ModelOptions:
    """The model of a command."""

    model: str | None = option(
        "--model NAME|DIR",
        "A shipped model, or the folder of one; @128 at its end: vectors of 128 numbers.",
        default=DEFAULT_MODEL,
        envvar="BITEXTFILTER_MODEL",
        show_envvar=True,
    )
    languages: tuple[str, str] | None = option(
        "--languages SOURCE,TARGET",
        "The two of a model with more; also at the end of its name, as multi:de,cs.",
        as_own_languages,
    )
    no_verify: bool = flag(
        "--no-verify",
        "Do not check the files of models by their digests; also BITEXTFILTER_NO_VERIFY=1.",
    )

    @property
    def name(self) -> str | None:
        """The model with its languages at the end, as ``scoring.model.load`` takes it."""
        if self.model is None or self.languages is None:
            return self.model
        return f"{self.model}:{','.join(self.languages)}"


SHARD_ROWS = 24576
"""Two windows of bitext-score, three of the other commands: some ten seconds of scoring."""


@dataclass(frozen=True)
class Scaling:
    """Shards of the input, and the workers that process them."""

    resume: str | None = option(
        "--resume DIR", "Keep finished shards in DIR; after a stop, the same command continues."
    )
    shard: tuple[int, int] | None = option(
        "--shard I/N", "Do only the I-th of N parts of the input.", as_part
    )
    """The part of the input to process, and the number of parts."""
    shard_rows: int | None = option(
        "--shard-rows N",
        f"Rows of a shard. No result depends on it.  [default: {SHARD_ROWS}]",
        COUNT,
    )
    engine: str = option(
        "--engine", "Work here, or in workers on a Ray cluster.", ["local", "ray"], "local"
    )
    ray_address: str | None = option(
        "--ray-address HOST:PORT", "The cluster  [default: RAY_ADDRESS, or one started here]"
    )
    workers: int | None = option(
        "--workers N",
        "Workers on the cluster, of --threads CPUs each (1 if not given), and a GPU with "
        "--device cuda  [default: all that fit]",
        COUNT,
    )

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


def needs_own_file(option: str, path: str | None, others: Sequence[str | None]) -> None:
    """Raise UsageError if *path* is stdout, or the same file as one of *others*.

    Devices and named pipes may be shared.
    """
    if path is None or (Path(path).exists() and not Path(path).is_file()):
        return
    taken = {os.path.realpath(other) for other in others if other is not None}
    if path == "-" or os.path.realpath(path) in taken:
        raise click.UsageError(f"{option} needs a file of its own")


def is_given(name: str) -> bool:
    """Whether the command line has the option that is the field *name*."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE
