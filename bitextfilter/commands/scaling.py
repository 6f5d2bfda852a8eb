"""The options of commands that can run shard by shard, on this machine or on many."""

from __future__ import annotations

import re
from dataclasses import dataclass

import click

__all__ = ["Scaling", "engine_options", "files_argument", "scaling_options"]

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


def part(value: str | tuple[int, int]) -> tuple[int, int]:
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
            ["--shard"], type=part, metavar="I/N", help="Do only the I-th of N parts of the input."
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
