"""The folder in which a training's state lies, and the plan that a resumed run must share."""

from __future__ import annotations

from bitextfilter.errors import OutputError, SettingsError
from bitextfilter.io.files import write_whole
from bitextfilter.training.state import PROGRESS
from bitextfilter.workflows.plan import Surroundings

__all__ = ["begin_state", "check_resumable", "has_state"]

PLAN = "plan.json"


def begin_state(where: Surroundings, plan: str) -> None:
    """Make the state's folder, without the state of an earlier run, and keep the plan there."""
    try:
        where.state.mkdir(parents=True, exist_ok=True)
        (where.state / PROGRESS).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{where.state}: cannot be made: {error.strerror}") from error
    write_whole(where.state / PLAN, plan.encode())


def has_state(where: Surroundings) -> bool:
    """Whether there is a state to go on from."""
    return (where.state / PLAN).is_file() and (where.state / PROGRESS).is_file()


def check_resumable(where: Surroundings, plan: str) -> None:
    """Raise SettingsError unless the run to resume has this plan."""
    path = where.state / PLAN
    if not has_state(where):
        raise SettingsError(f"{where.state}: nothing to resume; leave out --resume")
    if path.read_text(encoding="utf-8") != plan:
        raise SettingsError(f"{path}: other settings or files than those of the run to resume")
