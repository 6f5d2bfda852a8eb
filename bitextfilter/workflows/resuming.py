"""The folder in which a training's state lies, and the plan that a resumed run must share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bitextfilter.errors import OutputError, SettingsError
from bitextfilter.io.run_plan import PLAN, check_plan, read_plan, write_plan
from bitextfilter.training.state import PROGRESS
from bitextfilter.workflows.plan import Surroundings

__all__ = ["begin_state", "check_resumable", "has_state"]


def begin_state(where: Surroundings, plan: Mapping[str, Any]) -> None:
    """Make the state's folder, without the state of an earlier run, and keep the plan there."""
    try:
        where.state.mkdir(parents=True, exist_ok=True)
        (where.state / PROGRESS).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{where.state}: cannot be made: {error.strerror}") from error
    write_plan(where.state, plan)


def has_state(where: Surroundings) -> bool:
    """Whether there is a state to go on from."""
    return (where.state / PLAN).is_file() and (where.state / PROGRESS).is_file()


def check_resumable(where: Surroundings, plan: Mapping[str, Any]) -> None:
    """Raise SettingsError unless the run to resume has this plan."""
    before = read_plan(where.state)
    if before is None or not has_state(where):
        raise SettingsError(f"{where.state}: nothing to resume; leave out --resume")
    check_plan(where.state, before, plan)
