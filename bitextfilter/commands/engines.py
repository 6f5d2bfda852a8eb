"""From --engine, --ray-address, --workers, --threads and --device to an engine."""

from __future__ import annotations

import os
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from bitextfilter import __version__
from bitextfilter.commands.options import Common
from bitextfilter.commands.process import prepare
from bitextfilter.commands.run import Run
from bitextfilter.errors import DeviceError, WorkerError

if TYPE_CHECKING:
    from bitextfilter.distributed.engine import Engine

__all__ = ["There", "engine_of"]


@dataclass(frozen=True)
class There:
    """What a worker must find before it is prepared, wherever it is."""

    folder: Path
    """The work folder."""
    place: str = field(default_factory=os.getcwd)
    """The folder that relative paths start from."""
    version: str = __version__

    def enter(self) -> None:
        """Go there. Raises WorkerError where that cannot be done, or this is another version."""
        if self.version != __version__:
            message = f"{gethostname()} has bitextfilter {__version__}, not {self.version}"
            raise WorkerError(f"{message}: workers need the same")
        for path in (Path(self.place), self.folder):
            if not path.is_dir():
                message = f"{path} is not on {gethostname()}: workers need a shared file system"
                raise WorkerError(message)
        os.chdir(self.place)
        prepare()


def engine_of(run: Run, processes: bool = False) -> tuple[Common, Engine]:
    """Start the engine that was asked for; it ends with the run.

    Returns what its workers are told instead of ``run.common``, and the engine. Without --engine
    ray it is this process, with all its threads, or, if *processes*, --threads processes of one
    thread: for Python that no thread can speed up. Raises DeviceError if Ray or its cluster is
    missing, UsageError for options that make no sense with it.
    """
    common = replace(run.common, quiet=True, manifest=None)
    if run.scaling.engine == "ray":
        return _on_ray(run, common, processes)
    from bitextfilter.distributed.engine import LocalEngine

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
        from bitextfilter.distributed.ray_engine import RayEngine
    except ModuleNotFoundError as error:
        message = "--engine ray needs the package ray: pip install 'bitextfilter[ray]'"
        raise DeviceError(message) from error
    # Ray tells of dead workers on stdout, where only data may go.
    run.enter(redirect_stdout(run.enter(open(os.devnull, "w"))))
    scaling, gpus = run.scaling, int(common.device == "cuda")
    engine = RayEngine(scaling.ray_address, scaling.workers, common.threads, gpus)
    return common, run.enter(engine)
