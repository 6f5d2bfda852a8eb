"""Trials that attack the commands, in turn for some hours.

    python tests/faults/torture.py --hours 3 --counts torture.json
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
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import click

os.environ["OMP_NUM_THREADS"] = "1"  # trials fork, which several threads of OpenMP do not survive
sys.path.append(str(Path(__file__).parents[1] / "support"))  # no PYTHONPATH: commands inherit it

CAMPAIGNS = ("fuzz", "injected", "kills", "damage", "limits")

Trial = Callable[[Random, Path], Counter[str]]
"""Runs one attack in an empty folder; returns counts, or raises AssertionError."""


@dataclass
class Record:
    """The counts of a campaign over all its runs."""

    next_seed: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)


def trial_of(campaign: str) -> Trial:
    """The function of a campaign."""
    found: Trial = importlib.import_module(campaign).trial
    return found


def attempt(campaign: str, seed: int) -> Counter[str]:
    """Run one trial in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix=f"{campaign}-{seed}-") as folder:
        return trial_of(campaign)(Random(f"{campaign}-{seed}"), Path(folder))


def run(record: Record, campaign: str) -> None:
    """Run the next trial of a campaign, and record what it shows."""
    seed, began = record.next_seed, time.monotonic()
    try:
        record.counts.update(attempt(campaign, seed))
    except Exception as error:  # noqa: BLE001 (a trial that fails in any way is a finding)
        told = "".join(traceback.format_exception(error))[-4000:]
        record.failures.append({"seed": seed, "error": told})
    record.counts["trials"] += 1
    record.next_seed += 1
    record.seconds += time.monotonic() - began


def read(path: Path) -> dict[str, Record]:
    """The records so far, of every campaign."""
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    records = {campaign: Record(**known.get(campaign, {})) for campaign in CAMPAIGNS}
    for record in records.values():
        record.counts = Counter(record.counts)
    return records


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
@click.option("--counts", type=click.Path(path_type=Path), default="torture.json")
def main(hours: float, only: tuple[str, ...], seed: int | None, counts: Path) -> None:
    """Run trials until the time is over; exit 1 if one has failed."""
    chosen = only or CAMPAIGNS
    if seed is not None:
        for campaign in chosen:
            click.echo(f"{campaign} {seed}: {dict(attempt(campaign, seed))}")
        return
    records, end = read(counts), time.monotonic() + 3600 * hours
    for campaign in cycle(chosen):
        least = min(records[name].seconds for name in chosen)
        if records[campaign].seconds > least:
            continue  # each campaign gets the same time
        if time.monotonic() > end:
            break
        run(records[campaign], campaign)
        write(counts, records)
    click.echo("\n".join(table(records)))
    if any(record.failures for record in records.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
