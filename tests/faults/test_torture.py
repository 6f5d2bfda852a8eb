"""The runner of trials: seeds go on, counts add up, failures are kept."""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random

import pytest
import torture
from click.testing import CliRunner

TOY = """
import os, time
from collections import Counter

def trial(chooser, folder):
    assert not list(folder.iterdir())
    number = chooser.random()
    assert number <= 0.5, "too large"
    if number < 0.1:
        os._exit(1)
    if number < 0.2:
        time.sleep(60)
    return Counter(rows=10)
"""


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("one", "two"):
        (tmp_path / f"campaign_{name}.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(torture, "PATIENCE", 4)
    return tmp_path / "counts.json"


def run(counts: Path, first: dict[str, int], seconds: float = 0.01) -> dict[str, torture.Record]:
    """Run trials from these seeds on; one, if the time is short."""
    known = json.loads(counts.read_text()) if counts.exists() else {}
    records = {name: torture.Record(**known.get(name, {})) for name in first}
    for name, seed in first.items():
        records[name].next_seed = seed
    campaigns = torture.Campaigns(records, counts)
    campaigns.run(time.monotonic() + seconds)
    campaigns.close()
    return records


def seed(least: float, most: float) -> int:
    return next(n for n in range(999) if least < Random(f"campaign_one-{n}").random() < most)


@pytest.mark.parametrize(
    ("least", "most", "error"),
    [(0, 0.1, "died"), (0.1, 0.2, "hangs"), (0.2, 0.5, ""), (0.5, 1, "too large")],
)
def test_a_trial_that_fails_hangs_or_dies_is_told(
    least: float, most: float, error: str, counts: Path
) -> None:
    for times in (1, 2):
        one = run(counts, {"campaign_one": seed(least, most)})["campaign_one"]
        good = {"rows": 10 * times} if not error else {}
        assert one.counts == {"trials": times, **good}
        assert [failure["seed"] for failure in one.failures] == [seed(least, most)] * (
            times if error else 0
        )
        assert all(error in failure["error"] for failure in one.failures)
        assert one.next_seed == seed(least, most) + 1
        if error == "hangs":
            break


def test_failures_of_earlier_runs_are_told(tmp_path: Path) -> None:
    counts = tmp_path / "counts.json"
    words = ["--hours", "0", "--jobs", "2", "--counts", str(counts)]
    done = CliRunner().invoke(torture.main, words)
    assert (done.exit_code, done.output.count(": 0 failures, 0.00 h")) == (0, 5)
    counts.write_text('{"kills": {"failures": [{"seed": 3, "error": "no"}]}}')
    done = CliRunner().invoke(torture.main, words)
    assert done.exit_code == 1
    assert "kills: 1 failures" in done.output
