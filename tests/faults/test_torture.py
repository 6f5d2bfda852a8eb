"""The runner of trials: seeds go on, counts add up, failures are kept."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
import torture
from click.testing import CliRunner


def trial(chooser: Random, folder: Path) -> Counter[str]:
    """Fails where the first of its numbers is above a half."""
    assert not list(folder.iterdir())
    assert chooser.random() <= 0.5, "too large"
    return Counter(rows=10)


@pytest.fixture(autouse=True)
def one_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torture, "trial_of", lambda campaign: trial)


def fails(seed: int) -> bool:
    return Random(f"fuzz-{seed}").random() > 0.5


def test_counts_and_failures_add_up(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    for _ in range(2):
        records = torture.read(path)
        for _ in range(10):
            torture.run(records["fuzz"], "fuzz")
        torture.write(path, records)
    fuzz = torture.read(path)["fuzz"]
    bad = [seed for seed in range(20) if fails(seed)]
    assert bad
    assert [failure["seed"] for failure in fuzz.failures] == bad
    assert all("too large" in failure["error"] for failure in fuzz.failures)
    assert fuzz.counts == {"trials": 20, "rows": 10 * (20 - len(bad))}
    assert next(torture.table({"fuzz": fuzz})).startswith(f"fuzz: {len(bad)} failures, ")


def test_a_seed_repeats_a_trial() -> None:
    seed = next(seed for seed in range(20) if not fails(seed))
    result = CliRunner().invoke(torture.main, ["--campaign", "fuzz", "--seed", str(seed)])
    assert (result.exit_code, result.output) == (0, f"fuzz {seed}: {{'rows': 10}}\n")


def test_campaigns_get_the_same_time(tmp_path: Path) -> None:
    counts = tmp_path / "counts.json"
    words = ["--hours", "0.0003", "--counts", str(counts), "--campaign", "fuzz"]
    result = CliRunner().invoke(torture.main, [*words, "--campaign", "kills"])
    records = torture.read(counts)
    trials = [records[name].counts["trials"] for name in ("fuzz", "kills")]
    assert min(trials) > 0
    assert "limits: 0 failures, 0.00 h" in result.output
    assert result.exit_code == 1
