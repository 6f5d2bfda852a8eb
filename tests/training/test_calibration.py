"""Calibrations fitted to labels whose probabilities are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from bitextfilter.arrays import Floats
from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.calibration import calibration_error
from bitextfilter.scoring.calibration import INPUTS, general_calibration, pair_key
from bitextfilter.training import calibration as training
from bitextfilter.training.calibration import LabelledInputs, fit_calibration

LANGUAGES = ("cs", "de", "es", "fr", "it")


def group(language: str, seed: int, offset: float = 0.0, rows: int = 4000) -> LabelledInputs:
    """Rows whose logit is that of the classifier, less twice the figures, and an offset."""
    chance = np.random.default_rng(seed)
    inputs = np.zeros((rows, len(INPUTS)))
    inputs[:, 0] = chance.normal(0, 3, rows)
    inputs[:, 1] = chance.random(rows)
    inputs[:, INPUTS.index("figures")] = chance.random(rows) < 0.3
    logits = inputs[:, 0] - 2 * inputs[:, INPUTS.index("figures")] + offset
    right = chance.random(rows) < 1 / (1 + np.exp(-logits))
    return LabelledInputs(("en", language), inputs, right, inputs[:0])


@pytest.fixture(scope="module")
def groups() -> list[LabelledInputs]:
    return [group(code, n, (n - 2) * 0.5) for n, code in enumerate(LANGUAGES)]


def test_the_curves_are_those_of_the_rows(groups: list[LabelledInputs]) -> None:
    fitted = fit_calibration(groups)
    curves = fitted.calibration.curves
    at, logits = np.array(curves["classifier"].at), np.array(curves["classifier"].logits)
    inner = (at >= -3) & (at <= 3)
    slope = np.polyfit(at[inner], logits[inner], 1)[0]
    assert slope == pytest.approx(1, abs=0.1)
    figures = curves["figures"].logits
    assert figures[0] - figures[-1] == pytest.approx(2, abs=0.4)
    assert abs(np.ptp(curves["cosine"].logits)) < 0.4, "it tells nothing here"
    offsets = [fitted.calibration.offsets[pair_key(("en", code))] for code in LANGUAGES]
    assert offsets == sorted(offsets) and offsets[-1] - offsets[0] > 0.5
    for one, scores in fitted.held_out:
        assert calibration_error(scores, one.right, fitted.calibration.right_share) < 0.04
    assert [one.languages for one, _ in fitted.unseen] == [one.languages for one in groups]
    fitted.calibration.check()


def test_curves_never_turn_the_wrong_way() -> None:
    """Labels against the classifier: its curve is level, and does not fall."""
    turned = []
    for n, code in enumerate(LANGUAGES):
        one = group(code, n)
        turned.append(replace(one, right=~one.right))
    curve = fit_calibration(turned).calibration.curves["classifier"]
    assert (np.diff(curve.logits) >= 0).all() and np.ptp(curve.logits) < 0.1


def test_held_out_rows_were_not_seen() -> None:
    groups = [group(code, n, rows=60) for n, code in enumerate(LANGUAGES)]
    for number, one in enumerate(groups):
        one.inputs[:, 1] = np.arange(60) + 100 * number

    class Memory:
        """In place of a calibration: it is sure of the rows that it was fitted to."""

        def __init__(self, some: Sequence[LabelledInputs]) -> None:
            self._known = np.concatenate([one.inputs[:, 1] for one in some])

        def logits(self, inputs: Floats, _languages: object) -> Floats:
            return np.where(np.isin(inputs[:, 1], self._known), 9.0, -9.0)

    for one, scores in training._held_out(groups, Memory):  # type: ignore[arg-type]
        assert len(scores) == len(one.right) and scores.max() < 0.5


@pytest.mark.gate(0)
def test_damaged_rows_count_as_wrong(groups: list[LabelledInputs]) -> None:
    noise = np.zeros((500, len(INPUTS)))
    noise[:, INPUTS.index("copied")] = 0.95
    with_noise = [replace(one, noise=noise) for one in groups]
    levels = [
        np.array(fit_calibration(some).calibration.curves["copied"].logits)
        for some in (groups, with_noise)
    ]
    assert np.diff([level[-1] - level[0] for level in levels])[0] < -1


def test_an_offset_alone_is_fitted_from_a_start() -> None:
    start = general_calibration()
    chance = np.random.default_rng(1)
    inputs = np.zeros((5000, len(INPUTS)))
    inputs[:, 0] = chance.normal(0, 4, 5000)
    share = start.right_share
    logits = start.logits(inputs, ("en", "de")) + 1.0
    right = chance.random(5000) < 1 / (1 + np.exp(-logits))
    one = LabelledInputs(("en", "de"), inputs, right, inputs[:0])
    fitted = fit_calibration([one], start).calibration
    assert fitted.curves == start.curves and fitted.cuts == start.cuts
    own_share = right.mean()
    expected = 1.0 + np.log(share / (1 - share)) - np.log(own_share / (1 - own_share))
    assert fitted.offsets["de,en"] == pytest.approx(expected, abs=0.15)
    assert set(fitted.expected) == {"", "de,en"}
    same = fit_calibration([], start, facts=start.facts).calibration
    assert same == start


def test_too_few_rows_and_languages(groups: list[LabelledInputs]) -> None:
    few = groups[0].only(np.arange(len(groups[0].right)) < 25)
    with pytest.raises(SettingsError, match=r"en,cs: \d+ (right|wrong) rows, at least 20"):
        fit_calibration([few], general_calibration())
    with pytest.raises(SettingsError, match="more than 3 pairs of languages"):
        fit_calibration(groups[:3])


def test_a_basis_is_interpolation() -> None:
    chance = np.random.default_rng(2)
    inputs = chance.normal(0, 2, (50, len(INPUTS)))
    places = training._places()
    values = chance.normal(0, 1, max(place.stop for place in places.values()))
    curves = {name: training.Curve(list(map(float, training._POINTS[name])), values[place].tolist())
              for name, place in places.items()}  # fmt: skip
    made = training.Calibration(curves, float(values[0]), 0.5)
    assert training._basis(inputs) @ values == pytest.approx(made.logits(inputs, ("a", "b")))
