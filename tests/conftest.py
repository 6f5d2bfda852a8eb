"""How all tests run."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from browser import browser, chromium  # noqa: F401 - fixtures
from gate import left_out
from hypothesis import settings
from tqdm import tqdm
from warm import warm

from bitextfilter.commands.frame import messages
from bitextfilter.io import workers

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported; processes that tests start inherit

sys.dont_write_bytecode = False  # tests and commands are compiled once, not at each start
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile("gate", deadline=None, max_examples=12)  # machines are busy at times
settings.register_profile("few", deadline=None, max_examples=5)
settings.register_profile("all", deadline=None, max_examples=200)
settings.load_profile("gate")


NOTHING_SKIPPED = bool(os.environ.get("NOTHING_SKIPPED"))
"""Whether a skipped test is a failed one, as in continuous integration."""


LONG = {"distributed", "system", "test_docs.py"}
"""Folders and files of the longest tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option for the tests that the gate leaves out."""
    parser.addoption("--all", action="store_true", help="Run all cases of tests marked gate(...).")


def pytest_configure(config: pytest.Config) -> None:
    """Make more examples of each property where all cases run."""
    if config.getoption("--all"):
        settings.load_profile("all")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that no process ends alone; leave out some cases."""
    items.sort(key=lambda item: LONG.isdisjoint(item.path.parts))
    if config.getoption("--all") or any("::" in name for name in config.args):
        return
    out = left_out(items)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
    items[:] = [item for item in items if item.nodeid not in out]


def _failed(report: Any) -> None:
    """Make a skipped report a failed one that says why it was skipped."""
    if NOTHING_SKIPPED and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason}\nContinuous integration skips nothing: install it there."


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Report a skipped test."""
    report = yield
    _failed(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Report a file whose tests are skipped together."""
    report = yield
    _failed(report)
    return report


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a minute pass at each step of a command's progress."""
    clock, runs = [0.0], list[messages.Messages]()
    update = tqdm.update

    def begin(told: messages.Messages) -> None:
        runs.append(told)

    def take_a_minute(bar: Any, count: float = 1) -> Any:
        shown = update(bar, count)
        clock[0] += 60
        runs[-1].tell()
        return shown

    monkeypatch.setattr(messages, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(messages.Messages, "begin", begin)
    monkeypatch.setattr(tqdm, "update", take_a_minute)


@pytest.fixture
def workers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands start worker processes for any number of rows."""
    monkeypatch.setattr(workers, "_here", lambda *_: iter(()))


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of the commands, which start at once."""
    with warm(tmp_path_factory.mktemp("commands")) as folder:
        yield folder
