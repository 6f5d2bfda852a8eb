"""A command's work on its rows, done at once or shard by shard, here or on a cluster."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

import click

from bitextfilter import __version__
from bitextfilter.commands.engines import engine_of
from bitextfilter.commands.options import Common, RowSettings
from bitextfilter.commands.progress import NoProgress, Progress
from bitextfilter.commands.run import Run
from bitextfilter.commands.workers import Place, loaded
from bitextfilter.io.manifest import Fact
from bitextfilter.io.shards import Shard, cut, nth_part
from bitextfilter.io.work_folder import WorkFolder, kept_folder, passing_folder

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model

__all__ = ["Work", "over_shards"]

Work: TypeAlias = "Callable[[Run, BinaryIO], Fact]"
"""Reads the rows of a run and writes what becomes of them: a function of a module, or a partial of
one with what can be pickled. What it returns, JSON can say."""

FREE = {"input", "row_files", "output", "quiet", "verbose", "manifest", "batch_size", "max_bad"}
FREE |= {"threads", "cache", "engine", "ray_address", "workers", "resume", "shard", "shard_rows"}
"""The options that no result depends on."""


def over_shards(run: Run, work: Work, output: BinaryIO, processes: bool = False) -> list[Fact]:
    """Do *work* on all rows of *run*, or on those of --shard, and write the results to *output*.

    Without --engine ray and --resume it is one call of *work*, and one result is returned, else
    one of each shard, in order. If *processes*, shards are spread over --threads processes here:
    for Python that no thread can speed up.
    """
    scaling, settings = run.scaling, run.row_settings
    if scaling.shard is not None:
        if len(settings.inputs) > 1:
            raise click.UsageError("--shard takes one file")
        run.shard = nth_part(settings.inputs[0], *scaling.shard, settings.header)
    if not scaling.by_shards:
        return [work(run, output)]
    return list(_merged(run, work, output, processes))


def _merged(run: Run, work: Work, output: BinaryIO, processes: bool) -> Iterator[Fact]:
    """Do *work* shard by shard, and put the parts together."""
    settings, scaling = run.row_settings, run.scaling
    folder = run.enter(_folder(run))
    rejects = None if settings.rejects is None else run.output(settings.rejects)
    common, engine = engine_of(run, processes)
    settings_there = replace(settings, input="-", files=(), max_bad=None)
    job = _Job(work, run.name, common, settings_there, run.model_name, folder, Place.here())
    stdin = run.stdin if "-" in settings.inputs else None
    shards = cut(
        settings.inputs,
        scaling.rows,
        settings.header,
        lambda index: folder.file(index, "input"),
        stdin,
    )
    for index, done in enumerate(engine.map(job, shards)):
        folder.file(index, "input").unlink(missing_ok=True)
        _append(folder.file(index, "output"), output)
        if rejects is not None:
            _append(folder.file(index, "rejects"), rejects)
        if scaling.resume is None:
            folder.forget(index)
        run.counts.update(done.counts)
        run.facts = {**done.facts, **run.facts}
        for message in done.notes:
            run.note(message)
        run.advance(done.counts["rows"])
        yield done.result


def _append(part: Path, output: BinaryIO) -> None:
    with part.open("rb") as stream:
        shutil.copyfileobj(stream, output, 1 << 20)


def _folder(run: Run) -> AbstractContextManager[WorkFolder]:
    """Return the folder for the parts."""
    if run.scaling.resume is None:
        return passing_folder(run.row_settings.output)
    folder = kept_folder(Path(run.scaling.resume), _plan(run))
    run.afterwards(WorkFolder(Path(run.scaling.resume)).empty)
    return folder


def _plan(run: Run) -> dict[str, str]:
    """Return everything but the input that the result depends on."""
    context = click.get_current_context()
    plan = {"version": __version__, "command": run.name, "--shard-rows": str(run.scaling.rows)}
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name in FREE or value is None:
            continue
        option = max(parameter.opts, key=len)
        plan[option] = "a file" if option == "--rejects" else _identity(option, value)
    return plan


def _identity(option: str, value: object) -> str:
    """Return what tells a value from others: of models and files, also several, their content."""
    from bitextfilter.models.folders import CONFIG, digest, find

    if option == "--model":
        return digest(find(str(value)))
    if not isinstance(value, str):
        return str(value)
    if (path := Path(value)).is_file():
        return blake2b(path.read_bytes(), digest_size=6).hexdigest()
    if (path / CONFIG).is_file():
        return digest(path)
    parts = value.split(",")
    return value if len(parts) == 1 else ",".join(_identity(option, part) for part in parts)


@dataclass(frozen=True)
class _Done:
    """What became of a shard, beside its parts."""

    counts: dict[str, int]
    facts: dict[str, Fact]
    notes: list[str]
    result: Fact


@dataclass(frozen=True)
class _Job:
    """Does the work of a command on shards, in whatever process."""

    work: Work
    name: str
    common: Common
    row_settings: RowSettings
    model_name: str | None
    folder: WorkFolder
    place: Place

    def __call__(self) -> Callable[[Shard], _Done]:
        """Get ready, in whatever process this is."""
        self.place.go(self.folder.path)
        return self._do

    def _do(self, shard: Shard) -> _Done:
        """Do a shard, unless it is finished."""
        record = self.folder.finished(shard)
        if record is None:
            run = _ShardRun(self, shard)
            with run:
                result = self.work(run, run.output())
            facts: dict[str, Fact] = dict(run.facts)
            record = {"counts": dict(run.counts), "facts": facts, "notes": list(run.notes)}
            record["result"] = result
            self.folder.finish(shard, record)
        return _Done(**cast("dict[str, Any]", record))


class _ShardRun(Run):
    """The run of a command on one shard: it keeps for later what it would say."""

    def __init__(self, job: _Job, shard: Shard) -> None:
        super().__init__(job.name, [job.name], job.common)
        output, rejects = (str(job.folder.file(shard.index, k)) for k in ("output", "rejects"))
        kept = None if job.row_settings.rejects is None else rejects
        self.row_settings = replace(job.row_settings, output=output, rejects=kept)
        self.model_name = job.model_name
        self.shard = shard
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        """Keep *message*."""
        self.notes.append(message)

    def progress(self, total: int | None = None, unit: str = "rows") -> Progress:
        """Return none: that of the whole run counts shards."""
        return NoProgress()

    def model(self) -> Model:
        """Load the model, if this process has not done so already."""
        assert self.model_name is not None, "the command lacks model_options()"
        model = loaded(self.model_name, self.common.device, self.common.threads)
        self.facts["model"], self.facts["digest"] = model.name, model.digest
        return model

    def _finish(self) -> None:
        """Say nothing."""
