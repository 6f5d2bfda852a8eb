"""Trials that attack the commands, in turn for some hours.

    python tests/faults/torture.py --hours 3 --jobs 2 --counts torture.json
    python tests/faults/torture.py --campaign fuzz --seed 417

A campaign is a module of this folder with a function ``trial``; a trial is known by its campaign
and its seed, which repeats it. Counts are added to a file, so that runs add up; so are failures.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import click

os.environ["OMP_NUM_THREADS"] = "1"  # trials fork, which several threads of OpenMP do not survive
os.environ["WARM"] = "torch._dynamo"  # trainings begin sooner
sys.path.append(str(Path(__file__).parents[1] / "support"))  # no PYTHONPATH: commands inherit it

CAMPAIGNS = ("fuzz", "injected", "kills", "damage", "limits")

PATIENCE = 1800
"""Seconds after which a trial is given up."""

LONGEST = 1000
"""Characters of a line of an error that are kept."""


class Chooser(Random):
    """What a trial draws from; those that go through all cases take the one of its number."""

    number = 0


Trial = Callable[[Chooser, Path], Counter[str]]
"""Runs one attack in an empty folder; returns counts, or raises AssertionError."""


@dataclass
class Record:
    """The counts of a campaign over all its runs."""

    next_seed: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take counts from JSON."""
        self.counts = Counter(self.counts)


def trial_of(campaign: str) -> Trial:
    """The function of a campaign."""
    found: Trial = importlib.import_module(campaign).trial
    return found


def attempt(campaign: str, seed: int) -> Counter[str]:
    """Run one trial in a folder of its own."""
    chooser = Chooser(f"{campaign}-{seed}")
    chooser.number = seed
    with tempfile.TemporaryDirectory(prefix=f"{campaign}-{seed}-") as folder:
        return trial_of(campaign)(chooser, Path(folder))


def told(campaign: str, seed: int) -> tuple[Counter[str], str]:
    """The counts of a trial, and the error that has ended it, if any."""
    try:
        return attempt(campaign, seed), ""
    except Exception as error:  # noqa: BLE001 (a trial that fails in any way is a finding)
        lines = "".join(traceback.format_exception(error)).splitlines()[-40:]
        return Counter(), "\n".join(
            line if len(line) < 500 else line[:500] + " …" for line in lines
        )


class Campaigns:
    """Trials by several threads; each campaign has a process that lives as long as it can.

    Trials fork and start threads: in one process, those of one campaign would disturb another's.
    """

    def __init__(self, records: dict[str, Record], counts: Path) -> None:
        """Add to *records*, and keep them in the file *counts*."""
        self._records, self._counts = records, counts
        self._pools: dict[str, ProcessPoolExecutor] = {}
        self._lock = threading.Lock()
        self._busy: set[str] = set()

    def _next(self) -> str:
        """The campaign that has had the least time, of those without a trial at work."""
        with self._lock:
            free = [name for name in self._records if name not in self._busy]
            found = min(free, key=lambda name: self._records[name].seconds)
            self._busy.add(found)
            return found

    def _ended(self, campaign: str, seed: int) -> tuple[Counter[str], str]:
        """Run a trial in the campaign's process, which is replaced if it hangs or dies."""
        if campaign not in self._pools:
            self._pools[campaign] = ProcessPoolExecutor(1, get_context("spawn"))
        future = self._pools[campaign].submit(told, campaign, seed)
        try:
            return future.result(PATIENCE)
        except (TimeoutError, BrokenProcessPool) as error:
            pool = self._pools.pop(campaign)
            for process in pool._processes.values():
                process.kill()
            pool.shutdown(cancel_futures=True)
            return Counter(), f"the trial {'hangs' if isinstance(error, TimeoutError) else 'died'}"

    def run(self, end: float) -> None:
        """Run trials until this time of the monotonic clock."""
        while time.monotonic() < end:
            campaign, began = self._next(), time.monotonic()
            record = self._records[campaign]
            counts, error = self._ended(campaign, record.next_seed)
            with self._lock:
                record.counts += counts
                record.counts["trials"] += 1
                if error:
                    record.failures.append({"seed": record.next_seed, "error": error})
                record.next_seed += 1
                record.seconds += time.monotonic() - began
                self._busy.remove(campaign)
                write(self._counts, read(self._counts) | self._records)

    def close(self) -> None:
        """End the processes."""
        for pool in self._pools.values():
            pool.shutdown()


def read(path: Path) -> dict[str, Record]:
    """The records so far, of every campaign."""
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return {campaign: Record(**known.get(campaign, {})) for campaign in CAMPAIGNS}


def write(path: Path, records: dict[str, Record]) -> None:
    """Replace the file of counts."""
    draft = path.with_suffix(".partial")
    draft.write_text(json.dumps({name: vars(r) for name, r in records.items()}, indent=1) + "\n")
    os.replace(draft, path)


def table(records: dict[str, Record]) -> Iterator[str]:
    """A line for each campaign."""
    for name, record in records.items():
        counts = [f"{count:,} {what}" for what, count in sorted(record.counts.items())]
        figures = [f"{len(record.failures)} failures", *counts, f"{record.seconds / 3600:.2f} h"]
        yield f"{name}: {', '.join(figures)}"


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--hours", type=float, default=1.0, show_default=True)
@click.option("--campaign", "only", type=click.Choice(CAMPAIGNS), multiple=True)
@click.option("--seed", type=int, help="Run this trial of one campaign, and nothing else.")
@click.option("--jobs", type=click.IntRange(1, len(CAMPAIGNS)), default=1, show_default=True)
@click.option("--counts", type=click.Path(path_type=Path), default="torture.json")
def main(hours: float, only: tuple[str, ...], seed: int | None, jobs: int, counts: Path) -> None:
    """Run trials until the time is over; exit 1 if one has failed."""
    chosen = only or CAMPAIGNS
    if seed is not None:
        for campaign in chosen:
            click.echo(f"{campaign} {seed}: {dict(attempt(campaign, seed))}")
        return
    records, end = read(counts), time.monotonic() + 3600 * hours
    campaigns = Campaigns({name: records[name] for name in chosen}, counts)
    with ThreadPoolExecutor(jobs) as threads:
        for done in [threads.submit(campaigns.run, end) for _ in range(min(jobs, len(chosen)))]:
            done.result()
    campaigns.close()
    click.echo("\n".join(table(records)))
    if any(record.failures for record in records.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
