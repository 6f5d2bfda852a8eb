"""The classes for OpusFilter, alone and in OpusFilter itself."""

from __future__ import annotations

import gzip
import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from console import ROOT

import bitextfilter
from bitextfilter.errors import NotFoundError, SettingsError
from bitextfilter.models.folders import CUTS

PAIRS = [
    ("Good morning!", "Guten Morgen!"),
    ("A brown dog jumps over a low fence.", "Die Sitzung wurde um neun Uhr eröffnet."),
    ("", "Guten Morgen!"),
    ("We bought 15 red chairs.", "Wir haben 16 rote Stühle gekauft."),
    ("We bought 15 red chairs.", "Wir haben 15 rote Stühle gekauft."),
]


@pytest.fixture(scope="module")
def module() -> ModuleType:
    """``bitextfilter.opusfilter``; OpusFilter is installed with the tests' packages."""
    pytest.importorskip("opusfilter")
    return importlib.import_module("bitextfilter.opusfilter")


def test_scores_are_those_of_the_model(module: ModuleType) -> None:
    found = [*module.BitextScoreFilter(workdir="w", name="n").score(iter(PAIRS))]
    assert [type(score) for score in found] == [float] * len(PAIRS)
    whole = [pair for pair in PAIRS if all(pair)]
    expected = bitextfilter.load("en-de").score(*map(list, zip(*whole, strict=True)))["probability"]
    assert found.pop(2) == -math.inf
    assert found == expected.tolist()
    assert [*module.BitextScoreFilter().score([])] == []


def test_decisions_filter_and_filterfalse_agree(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WINDOW", 2)
    for one in (module.BitextScoreFilter(), module.BitextRulesFilter(["default", "numbers"])):
        decisions = [*one.decisions(PAIRS)]
        kept = [pair for pair, keep in zip(PAIRS, decisions, strict=True) if keep]
        gone = [pair for pair, keep in zip(PAIRS, decisions, strict=True) if not keep]
        assert [*one.filter(iter(PAIRS))] == kept != []
        assert [*one.filterfalse(iter(PAIRS))] == gone != []
        assert [*one.filter([])] == []


def test_thresholds_and_measures(module: ModuleType) -> None:
    for measure in (None, "mlp"):
        cut = module.BitextScoreFilter(threshold="balanced", measure=measure)
        assert cut.threshold == bitextfilter.named_cut("en-de", measure=measure).threshold
        assert cut.accept(cut.threshold) and not cut.accept(cut.threshold - 1e-9)
    cuts = [module.BitextScoreFilter(threshold=name).threshold for name in CUTS]
    assert 0 < cuts[0] < cuts[1] == 0.5 < cuts[2] < 1
    cosine = module.BitextScoreFilter(measure="cosine", threshold=0)
    (score,) = cosine.score(PAIRS[:1])
    expected = bitextfilter.load("en-de").score(*([text] for text in PAIRS[0]), "cosine")
    assert score == expected["cosine"].item()
    czech = module.BitextScoreFilter("multi:cs,pl")
    assert next(czech.score([("Dobrý den!", "Dzień dobry!")])) > 0.5


def test_rules_are_those_of_the_command(module: ModuleType) -> None:
    numbers = module.BitextRulesFilter("numbers")
    assert [*numbers.score(PAIRS)] == [True, True, True, False, True]
    languages = module.BitextRulesFilter(languages=["en", "de"], without=["empty"])
    expected = [*bitextfilter.filter_pairs(PAIRS, languages=("en", "de"), without=["empty"])]
    assert [*languages.filter(PAIRS)] == expected


def test_errors(module: ModuleType) -> None:
    with pytest.raises(SettingsError, match="'high' is none of lenient, balanced, strict"):
        module.BitextScoreFilter(threshold="high")
    with pytest.raises(SettingsError, match="similarity 'dual' is none of"):
        module.BitextScoreFilter(measure="dual")
    with pytest.raises(NotFoundError):
        module.BitextScoreFilter("no-model")
    with pytest.raises(SettingsError, match="two, source and target"):
        module.BitextRulesFilter(languages=["en", "de", "fr"])
    for wrong in ([], "de"):
        with pytest.raises(SettingsError, match="languages are two"):
            module.BitextRulesFilter(languages=wrong)
    with pytest.raises(SettingsError, match="BitextRulesFilter is for two files, not 3"):
        [*module.BitextRulesFilter().score([("a", "b", "c")])]


def test_the_example_runs_in_opusfilter(commands: Path, tmp_path: Path) -> None:
    """The steps of config.yaml keep the pairs, and give the scores, of a pipe of our commands."""
    pairs = (ROOT / "examples/pairs.en-de.tsv").read_text(encoding="utf-8")
    folder = tmp_path / "cleaned"
    folder.mkdir()
    for column, side in enumerate(("en", "de")):
        lines = [row.split("\t")[column] for row in pairs.splitlines()]
        (folder / f"raw.{side}").write_text("\n".join([*lines, ""]), encoding="utf-8")
    search = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": search, "PYTHONPATH": str(ROOT)}
    line = f"""
        opusfilter {ROOT}/examples/opusfilter/config.yaml
        paste cleaned/raw.en cleaned/raw.de |
        bitext-filter -q --languages en,de --rule default --rule numbers |
        bitext-score -q |
        bitext-rank -q --similarity probability --min-score balanced --order input |
        bitext-score -q --similarity cosine --digits 9 > ours.tsv"""
    subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", line],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    ours = [row.split("\t") for row in (tmp_path / "ours.tsv").read_text("utf-8").splitlines()]
    assert 20 < len(ours) < 50
    kept = [(folder / f"clean.{side}").read_text("utf-8").splitlines() for side in ("en", "de")]
    assert list(zip(*kept, strict=True)) == [(row[0], row[1]) for row in ours]
    with gzip.open(folder / "scores.jsonl.gz", "rt") as file:
        scores = [json.loads(line)["BitextScoreFilter"] for line in file]
    assert scores == pytest.approx([float(row[-1]) for row in ours], abs=1e-8)
