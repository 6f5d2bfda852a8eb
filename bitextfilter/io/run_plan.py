"""The plan of a run, kept in its folder: a run that goes on from there must have the same plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import write_whole

__all__ = ["PLAN", "check_plan", "read_plan", "write_plan"]

PLAN = "plan.json"


def read_plan(folder: Path) -> dict[str, Any] | None:
    """Return the plan of a folder, None if it has none. Raises InputError if it is damaged."""
    path = folder / PLAN
    try:
        plan = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        plan = None
    if not isinstance(plan, dict):
        raise InputError("damaged", file=str(path), remedy="remove the folder")
    return plan


def write_plan(folder: Path, plan: Mapping[str, Any]) -> None:
    """Write the plan of a folder, whole. Raises OutputError."""
    text = json.dumps(plan, ensure_ascii=False, indent=2) + "\n"
    write_whole(folder / PLAN, text.encode())


def check_plan(folder: Path, before: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    """Raise SettingsError, with the first name that differs, unless both plans are the same.

    Groups of settings are compared name by name.
    """
    # Through JSON, where a tuple is a list.
    was, now = dict(_flat(before)), dict(_flat(json.loads(json.dumps(plan))))
    for name in sorted({*was, *now}):
        old, new = was.get(name, "not given"), now.get(name, "not given")
        if old != new:
            difference = f"{name} was {old}, now it is {new}"
            remedy = "go on with the same, or name a new folder"
            raise SettingsError(f"{folder} is of another run: {difference}; {remedy}")


def _flat(plan: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings by their whole names, such as ``training.seed``."""
    for name, value in plan.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{group}{name}.")
        else:
            yield f"{group}{name}", value
