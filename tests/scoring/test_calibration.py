"""Calibrations: their curves, their file, their cuts, and the share of right rows."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bitextfilter
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.models.folders import CALIBRATION, CUTS, shipped_models
from bitextfilter.scoring.calibration import (
    CURVES,
    INPUTS,
    Calibration,
    calibration_inputs,
    corpus_cut,
    estimated_share,
    general_calibration,
    load_calibration,
    pair_key,
    with_share,
)
from bitextfilter.scoring.thresholds import named_cut

PAIRS = [
    ("The meeting begins at nine.", "Die Sitzung beginnt um neun Uhr."),
    ("The meeting begins at nine.", "Der Hund schläft auf dem Sofa."),
    ("Photo 3 of 22", "Foto 3 von 21"),
    ("The house is large and old.", "Das house is large und alt."),
]


@pytest.fixture(scope="module")
def model() -> bitextfilter.Model:
    return bitextfilter.load("en-de")


def naive(calibration: Calibration, row: list[float], languages: tuple[str, str]) -> float:
    """Add up the curves with the arithmetic of one number at a time."""
    logit = calibration.intercept + calibration.offsets.get(pair_key(languages), 0.0)
    for name, read in CURVES.items():
        at, logits = calibration.curves[name].at, calibration.curves[name].logits
        for value in (row[INPUTS.index(each)] for each in read):
            if value <= at[0] or value >= at[-1]:
                logit += logits[0] if value <= at[0] else logits[-1]
                continue
            place = max(n for n, point in enumerate(at) if point <= value)
            part = (value - at[place]) / (at[place + 1] - at[place])
            logit += logits[place] * (1 - part) + logits[place + 1] * part
    return 1 / (1 + math.exp(-logit))


def test_a_probability_is_the_sum_of_curves(model: bitextfilter.Model) -> None:
    sides = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]
    scores = model.score(*sides)
    inputs = model.calibration_inputs(*sides)
    raw = model.score(*sides, ("mlp", "cosine"))
    assert inputs[:, 0] == pytest.approx(np.log(raw["mlp"] / (1 - raw["mlp"].astype(float))))
    assert inputs[:, 1].tolist() == raw["cosine"].tolist()
    assert model.calibration is not None
    expected = [naive(model.calibration, row.tolist(), ("en", "de")) for row in inputs]
    assert scores["probability"] == pytest.approx(expected, abs=1e-6)
    assert scores["probability"][0] > 0.9 > scores["probability"][2:].max()
    assert scores["probability"][1] < 0.1


def test_a_pair_has_one_probability_whichever_side_is_the_source() -> None:
    there, back = (bitextfilter.load(f"multi:{pair}") for pair in ("en,de", "de,en"))
    sides = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]
    assert (
        there.score(*sides)["probability"].tolist()
        == back.score(*sides[::-1])["probability"].tolist()
    )


@pytest.mark.parametrize("name", [*shipped_models()])
def test_shipped_curves_never_turn_the_wrong_way(name: str) -> None:
    calibration = load_calibration(shipped_models()[name])
    assert calibration is not None
    for curve, sign in (("classifier", 1), ("cosine", 1), ("figures", -1), ("length-ratio", -1)):
        assert (np.diff(calibration.curves[curve].logits) * sign >= 0).all(), curve
    cuts = [calibration.cuts[cut] for cut in CUTS]
    assert cuts == sorted(cuts) and cuts[1] == 0.5
    for expected in calibration.expected.values():
        right = [expected[cut].right for cut in CUTS]
        wrong = [expected[cut].wrong for cut in CUTS]
        assert right == sorted(right)[::-1] and wrong == sorted(wrong)[::-1]


def test_a_score_of_the_classifier_at_its_ends_is_a_number() -> None:
    inputs = calibration_inputs(
        np.array([0.0, 1.0], np.float32), np.zeros(2, np.float32), np.zeros((2, len(INPUTS) - 2))
    )
    low, high = general_calibration()(inputs, ("en", "de"))
    assert 0 < low < high < 1


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    calibration = load_calibration(shipped_models()["multi"])
    assert calibration is not None
    calibration.write(tmp_path)
    assert load_calibration(tmp_path) == calibration
    assert load_calibration(tmp_path / "none") is None
    general = calibration.general()
    assert not general.offsets and set(general.expected) == {""} and general.check() is None


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"right_share": 1.0},
        {"intercept": "0"},
        {"offsets": {"de,en": None}},
        {"cuts": {"balanced": 0.5}},
        {"cuts": {"lenient": 0.1, "balanced": 0.5, "strict": 2}},
        {"expected": {}},
        {"curves": {}},
        {"unknown": 1},
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    whole = json.loads(general_calibration().to_json())
    (tmp_path / CALIBRATION).write_text(json.dumps({**whole, **change}))
    with pytest.raises(ModelError, match=r"calibration.json: unusable calibration: "):
        load_calibration(tmp_path)


@pytest.mark.parametrize(
    "curve",
    [
        {"at": [0.0, 0.0], "logits": [1.0, 1.0]},
        {"at": [1.0, 0.0], "logits": [1.0, 1.0]},
        {"at": [0.0, 1.0], "logits": [1.0]},
        {"at": [0.0], "logits": [1.0]},
        {"at": [0.0, 1.0], "logits": [1.0, None]},
        [],
    ],
)
def test_a_damaged_curve_is_refused(tmp_path: Path, curve: object) -> None:
    whole = json.loads(general_calibration().to_json())
    whole["curves"]["cosine"] = curve
    (tmp_path / CALIBRATION).write_text(json.dumps(whole))
    with pytest.raises(ModelError, match="unusable calibration"):
        load_calibration(tmp_path)


def test_cuts_by_name() -> None:
    lenient, balanced, strict = (named_cut("multi:en,de", "probability", name) for name in CUTS)
    assert lenient.threshold < balanced.threshold == 0.5 < strict.threshold
    assert (
        "labelled crawls in de,en" in balanced.note() and "% of the wrong ones" in balanced.note()
    )
    assert "labelled crawls in other languages" in named_cut("multi:cs,pl", "probability").note()
    assert "other languages" in named_cut("multi", "probability").note()
    assert named_cut("de-fr", "probability").right == named_cut("multi:cs,pl", "probability").right
    with pytest.raises(SettingsError, match="mlp has no strict cut"):
        named_cut("en-de", "mlp", "strict")
    with pytest.raises(SettingsError, match="for scores of whole vectors"):
        named_cut("en-de@64", "probability")


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_a_share_there_and_back(before: float, after: float) -> None:
    probabilities = np.linspace(0.001, 0.999, 50)
    moved = with_share(probabilities, before, after)
    odds = probabilities / (1 - probabilities) * (after / before) * ((1 - before) / (1 - after))
    assert moved == pytest.approx(odds / (1 + odds))
    assert with_share(moved, after, before) == pytest.approx(probabilities)


@pytest.mark.parametrize("share", [0.1, 0.43, 0.8])
def test_the_share_of_a_corpus_is_found(share: float) -> None:
    """Rows whose odds follow two normal distributions: their likelihood ratio is known."""
    chance = np.random.default_rng(1)
    right = chance.random(200_000) < share
    logits = chance.normal(np.where(right, 1.5, -1.5), math.sqrt(3))
    before = 0.43
    probabilities = 1 / (1 + np.exp(-(logits + math.log(before / (1 - before)))))
    assert estimated_share(probabilities, before) == pytest.approx(share, abs=0.015)
    cut = corpus_cut(before, probabilities, 0.5, share)
    kept = right[np.abs(probabilities - cut.least) < 0.01]
    assert kept.mean() == pytest.approx(0.5, abs=0.05)
    with_holes = np.append(probabilities, np.nan)
    estimated = corpus_cut(before, with_holes, 0.5, "estimate").right_share
    assert estimated == pytest.approx(share, abs=0.015)


def test_the_share_of_no_rows() -> None:
    assert estimated_share(np.zeros(0), 0.43) == 0.43
