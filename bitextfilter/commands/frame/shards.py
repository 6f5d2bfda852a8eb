"""Commands that work shard by shard, here or on a cluster."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from socket import gethostname
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

import click
from click.core import ParameterSource

from bitextfilter import __version__
from bitextfilter.commands.frame.command import steady_speed_and_memory
from bitextfilter.commands.frame.first_rows import RowChecks
from bitextfilter.commands.frame.options import Common, RowSettings
from bitextfilter.commands.frame.run import Run, load_model
from bitextfilter.errors import DeviceError, WorkerError
from bitextfilter.io.compiled import opened
from bitextfilter.io.files import locked
from bitextfilter.io.records import file_digest
from bitextfilter.io.work_folder import (
    Fact,
    Shard,
    WorkFolder,
    cut,
    kept_folder,
    nth_part,
    passing_folder,
)

if TYPE_CHECKING:
    from bitextfilter.io.workers import Engine
    from bitextfilter.scoring.model import Model
    from bitextfilter.search.tasks import MapTasks


_Work: TypeAlias = "Callable[[Run, BinaryIO], Fact]"
"""Reads the rows of a run and writes its output: a module-level function, or a partial of one
with picklable arguments. Its result must be JSON-serialisable."""

_FREE = {"input", "row_files", "output", "quiet", "verbose", "manifest", "batch_size", "max_bad"}
_FREE |= {"threads", "cache", "engine", "ray_address", "workers", "resume", "shard", "shard_rows"}
_FREE |= {"share", "no_verify", "scorer_processes", "scorer_retries", "scorer_timeout"}
"""The options that do not change the result."""


def over_shards(
    run: Run,
    work: _Work,
    output: BinaryIO,
    processes: bool = False,
    plan: Mapping[str, str] = MappingProxyType({}),
) -> list[Fact]:
    """Do *work* on all rows of *run*, or on the part of --shard, and write to *output*.

    Returns the result of each shard, in order; without --engine ray and --resume, the whole input
    is one shard. If *processes*, --threads processes work on shards here, for Python code. *plan*
    says by name what the result depends on besides the options.
    """
    scaling, settings = run.scaling, run.row_settings
    if scaling.shard is not None:
        if len(settings.inputs) > 1:
            raise click.UsageError("--shard takes one file")
        run.shard = nth_part(settings.inputs[0], *scaling.shard, settings.header)
    if not scaling.by_shards:
        return [work(run, output)]
    if scaling.resume is None:
        folder = run.enter(passing_folder(settings.output))
    else:
        folder = run.enter(kept_folder(Path(scaling.resume), {**_plan(run), **plan}))
        run.afterwards(folder.empty)
    return list(_merged(run, work, output, processes, folder))


def _merged(
    run: Run, work: _Work, output: BinaryIO, processes: bool, folder: WorkFolder
) -> Iterator[Fact]:
    """Do *work* shard by shard, and join the outputs."""
    settings, scaling = run.row_settings, run.scaling
    rejects = None if settings.rejects is None else run.output(settings.rejects)
    common, engine = engine_of(run, processes)
    there = replace(settings, input="-", row_files=(), max_bad=None)
    job = _Job(work, run.name, common, there, run.model_name, folder, run.row_checks)
    stdin = run.stdin if "-" in settings.inputs else None
    shards = cut(
        settings.inputs,
        scaling.rows,
        settings.header,
        lambda index: folder.file(index, "input"),
        stdin,
    )
    for index, done in enumerate(engine.map(WorkerSetup(job, folder.path), shards)):
        folder.file(index, "input").unlink(missing_ok=True)
        _append(folder.file(index, "output"), output)
        if rejects is not None:
            _append(folder.file(index, "rejects"), rejects)
        if scaling.resume is None:
            folder.forget(index)
        run.counts.update(done.counts)
        opened.update(done.compiled)
        run.facts = {**done.facts, **run.facts}
        for message in done.notes:
            run.note(message)
        run.advance(done.counts["rows"])
        yield done.result


def _append(part: Path, output: BinaryIO) -> None:
    with part.open("rb") as stream:
        shutil.copyfileobj(stream, output, 1 << 20)


def _plan(run: Run) -> dict[str, str]:
    """Return all that the result depends on, except the input."""
    context = click.get_current_context()
    plan = {"version": __version__, "command": run.name, "--shard-rows": str(run.scaling.rows)}
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name in _FREE or value is None:
            continue
        option = max(parameter.opts, key=len)
        plan[option] = "a file" if option == "--rejects" else identity(option, value)
    return plan


def identity(option: str, value: object) -> str:
    """Return the value of an option, with digests in place of models and files."""
    from bitextfilter.models.folders import CONFIG, model_digest, named_digest

    if option in ("--model", "--recheck"):
        return named_digest(str(value))
    if not isinstance(value, str):
        return str(value)
    if (path := Path(value)).is_file():
        return file_digest(path)[:12]
    if (path / CONFIG).is_file():
        return model_digest(path)
    parts = value.split(",")
    return value if len(parts) == 1 else ",".join(identity(option, part) for part in parts)


@dataclass(frozen=True)
class _Done:
    """The results of a shard, without its output."""

    counts: dict[str, int]
    facts: dict[str, Fact]
    notes: list[str]
    compiled: list[str]
    """The compiled libraries that were open."""
    result: Fact


@dataclass(frozen=True)
class _Job:
    """The work of a command on shards, in any process."""

    work: _Work
    name: str
    common: Common
    row_settings: RowSettings
    model_name: str | None
    folder: WorkFolder
    row_checks: RowChecks

    def __call__(self) -> Callable[[Shard], _Done]:
        """Return the function that does a shard."""
        return self._do

    def _do(self, shard: Shard) -> _Done:
        """Do a shard, unless it is finished."""
        record = self.folder.finished(shard)
        if record is None:
            with self._run(shard) as run:
                result = self.work(run, run.output())
            facts: dict[str, Fact] = dict(run.facts)
            record = {"counts": dict(run.counts), "facts": facts, "result": result}
            record |= {"notes": [*run.messages.notes], "compiled": [*sorted(opened)]}
            self.folder.finish(shard, record)
        return _Done(**cast("dict[str, Any]", record))

    def _run(self, shard: Shard) -> Run:
        """Return the run of the command on one shard."""
        output, rejects = (str(self.folder.file(shard.index, k)) for k in ("output", "rejects"))
        settings = replace(
            self.row_settings,
            output=output,
            rejects=None if self.row_settings.rejects is None else rejects,
        )
        return Run(
            self.name,
            [self.name],
            self.common,
            settings,
            model_name=self.model_name,
            shard=shard,
            load=load_model_once,
            row_checks=self.row_checks,
        )


def engine_of(run: Run, processes: bool = False) -> tuple[Common, Engine]:
    """Start the engine of --engine until the run ends.

    Returns the options for its workers in place of ``run.common``, and the engine. Without
    --engine ray it is this process with all threads, or, if *processes*, --threads processes of
    one thread each, for Python code. Raises DeviceError if Ray or its cluster is missing, and
    UsageError for options that it does not take.
    """
    common = replace(run.common, quiet=True, manifest=None)
    if run.scaling.engine == "ray":
        return _on_ray(run, common, processes)
    from bitextfilter.io.workers import LocalEngine

    if processes:
        return replace(common, threads=1), LocalEngine(common.threads)
    return common, LocalEngine()


def _on_ray(run: Run, common: Common, processes: bool) -> tuple[Common, Engine]:
    source = click.get_current_context().get_parameter_source("threads")
    if source is ParameterSource.DEFAULT:
        common = replace(common, threads=1)
    if processes and common.threads > 1:
        raise click.UsageError("a worker of this command has one thread: --workers says how many")
    if common.device.startswith("cuda:"):
        raise click.UsageError("Ray gives each worker its GPU: --device cuda")
    common = replace(common, device="cpu" if common.device == "auto" else common.device)
    try:
        from bitextfilter.distributed import RayEngine
    except ModuleNotFoundError as error:
        message = "--engine ray needs the package ray: pip install 'bitextfilter[ray]'"
        raise DeviceError(message) from error
    # Ray reports dead workers on stdout, which is for data.
    run.enter(redirect_stdout(run.enter(open(os.devnull, "w"))))
    scaling, gpus = run.scaling, int(common.device == "cuda")
    engine = RayEngine(scaling.ray_address, scaling.workers, common.threads, gpus)
    return common, run.enter(engine)


@dataclass(frozen=True)
class WorkerSetup:
    """The preparation of a worker, perhaps in another process: its folder, speed and memory."""

    prepare: Callable[[], Callable[[Any], Any]]
    """Returns the function that does a task."""
    needed: Path
    """A folder that must be there."""
    folder: str = field(default_factory=lambda: str(Path.cwd()))
    """The working folder of the command."""
    version: str = __version__

    def __call__(self) -> Callable[[Any], Any]:
        """Prepare this process, and return the function that does a task.

        Raises WorkerError if this is another version, or a folder is missing.
        """
        if self.version != __version__:
            message = f"{gethostname()} has bitextfilter {__version__}, not {self.version}"
            raise WorkerError(f"{message}: workers need the same")
        for path in (Path(self.folder), self.needed):
            if not path.is_dir():
                message = f"{path} is not on {gethostname()}: workers need a shared file system"
                raise WorkerError(message)
        os.chdir(self.folder)
        steady_speed_and_memory()
        return self.prepare()


@lru_cache(maxsize=2)
def load_model_once(name: str, device: str, threads: int) -> Model:
    """Load each of two models once a process; workers find this function by its name."""
    return load_model(name, device, threads)


def work_folder(run: Run, resume: str | None) -> Path:
    """Return the folder of unfinished work: that of --resume, locked, or one that will go."""
    if resume is None:
        return run.enter(passing_folder(run.row_settings.output)).path
    folder = Path(resume)
    with suppress(OSError):
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    run.enter(locked(folder))
    return folder


def tasks_in(run: Run, folder: Path) -> tuple[MapTasks, Common]:
    """Start the engine; return how it runs tasks with files in *folder*, and its workers' options.

    Raises DeviceError and UsageError as :func:`engine_of`.
    """
    common, engine = engine_of(run)
    if run.scaling.engine != "ray":
        return engine.map, common

    def map_there(prepare: Callable[[], Any], tasks: Sequence[Any], /) -> Iterator[Any]:
        return engine.map(WorkerSetup(prepare, folder), tasks)

    return map_there, common
