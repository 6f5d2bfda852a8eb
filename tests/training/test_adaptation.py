"""The calibration of a classifier, and its adaptation to grades."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bitextfilter.evaluation.filtering import roc_auc
from bitextfilter.pairs.base import SentenceClassifierSettings
from bitextfilter.pairs.classifier import PairClassifier, build_classifier
from bitextfilter.training import adaptation
from bitextfilter.training.adaptation import STRENGTHS, GradedPairs, adapt_output, hidden_rows
from bitextfilter.training.classifier import fit_calibration, measure
from bitextfilter.training.labelled_pairs import LabelledVectors

DIM, ROWS = 6, 150


def toy(seed: int = 1) -> tuple[LabelledVectors, list[str]]:
    """Pairs that are good where the first numbers of both sides are large."""
    chance = np.random.default_rng(seed)
    source, target = (chance.normal(size=(ROWS, DIM)).astype(np.float32) * 4 for _ in range(2))
    good = (source[:, 0] + target[:, 0] > 0).astype(np.float32)
    return LabelledVectors(source, target, good), [f"s{row % 70}" for row in range(ROWS)]


OFFSETS = np.random.default_rng(7).normal(size=ROWS)


def graded(
    pairs: LabelledVectors, groups: list[str], offsets: np.ndarray | None = None
) -> GradedPairs:
    return GradedPairs(pairs, groups, np.zeros(ROWS) if offsets is None else offsets)


def classifier(quality: float = 0.01) -> PairClassifier:
    torch.manual_seed(3)
    return build_classifier(
        SentenceClassifierSettings(DIM, hidden=40, minor_error_quality=quality, sum_weight=1.0)
    ).eval()


def levels(network: PairClassifier, pairs: LabelledVectors) -> np.ndarray:
    with torch.no_grad():
        logits = pairs.logits(network, np.arange(ROWS)).numpy()
    return np.asarray(network.joined(logits) / float(network.temperature))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of few steps, where it does not matter how near it comes to the minimum."""
    monkeypatch.setattr(adaptation, "_STEPS", 15)


@pytest.mark.usefixtures("hasty")
@pytest.mark.gate(1)
@pytest.mark.parametrize("quality", [0.0, 0.01])
def test_it_learns_the_grades(quality: float) -> None:
    (pairs, groups), network = toy(), classifier(quality)
    before = levels(network, pairs)
    good = pairs.qualities == 1
    report = adapt_output(network, graded(pairs, groups), 1)
    np.testing.assert_allclose(report.before, 1 / (1 + np.exp(-before)), rtol=1e-4)
    after = levels(network, pairs)
    assert roc_auc(after[good], after[~good]) > roc_auc(before[good], before[~good]) + 0.05
    held = report.after.astype(float)
    assert 0.6 < roc_auc(held[good], held[~good]) < roc_auc(after[good], after[~good])
    assert min(report.losses) == report.losses[STRENGTHS.index(report.strength)]


def test_the_fit_is_that_of_an_independent_optimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptation, "STRENGTHS", [10.0])
    (pairs, groups), network = toy(), classifier(0.0)
    old = copy.deepcopy(network)
    hidden = hidden_rows(network, pairs).numpy()
    weight, bias = (each.detach().double().numpy() for each in old.output_layer.parameters())

    def loss(values: np.ndarray) -> float:
        w, b, heat = values[:-2], values[-2], values[-1]
        z = ((hidden @ w + b) + OFFSETS) / np.exp(heat)
        fit = np.logaddexp(0, z) - pairs.qualities * z
        held = 10 * ((w - weight[0]) ** 2).sum() + (b - bias[0]) ** 2 + heat**2
        return float(fit.sum() + held)

    start = np.concatenate([weight[0], bias, [0.0]])
    expected = minimize(loss, start, method="BFGS", options={"gtol": 1e-6}).fun
    adapt_output(network, graded(pairs, groups, OFFSETS), 1)
    layer = [each.detach().double().numpy().ravel() for each in network.output_layer.parameters()]
    found = np.concatenate([*layer, [math.log(float(network.temperature))]])
    assert loss(found) == pytest.approx(expected, rel=1e-4) and loss(start) > expected * 1.05


def test_a_strong_ridge_keeps_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptation, "STRENGTHS", [math.inf])
    (pairs, groups), network = toy(), classifier()
    before = levels(network, pairs)
    weight = network.output_layer.weight.detach().clone()
    report = adapt_output(network, graded(pairs, groups), 1)
    assert torch.equal(network.output_layer.weight, weight)
    assert math.isinf(report.strength)
    after = levels(network, pairs)
    assert np.argsort(before).tolist() == np.argsort(after).tolist()
    assert not np.allclose(before, after)


@pytest.mark.usefixtures("hasty")
def test_the_same_seed_gives_the_same_layer_and_the_rest_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adaptation, "STRENGTHS", [1.0, 100.0])
    pairs, groups = toy()
    networks = [classifier(), classifier()]
    for network in networks:
        adapt_output(network, graded(pairs, groups), 1)
    states = [network.state_dict() for network in networks]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    fresh = classifier().state_dict()
    changed = {name for name in fresh if not torch.equal(fresh[name], states[0][name])}
    assert len(changed) == 3 and "temperature" in changed


def test_hidden_rows_are_the_inputs_of_the_output() -> None:
    (pairs, _), network = toy(), classifier()
    hidden = hidden_rows(network, pairs)
    with torch.no_grad():
        logits = pairs.logits(network, np.arange(ROWS))
        again = network.output_layer(hidden.float())
    torch.testing.assert_close(again, logits, rtol=1e-4, atol=1e-5)


Scored = list[tuple[float, float]]
LOGITS = st.floats(-9, 9).map(lambda x: round(x, 1))
QUALITIES = st.sampled_from([0.0, 0.0, 0.25, 1.0])
SCORED = st.lists(st.tuples(LOGITS, QUALITIES), min_size=2, max_size=40).filter(
    lambda rows: len({quality == 1 for _, quality in rows}) == 2
)


def arrays(rows: Scored) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=np.float32)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@given(SCORED, st.sampled_from([0.5, 1.0, 3.0]))
def test_figures_as_counted(rows: Scored, temperature: float) -> None:
    found = measure(*arrays(rows), temperature)
    scores = [(sigmoid(logit / temperature), quality == 1) for logit, quality in rows]
    qualities = [(sigmoid(logit / temperature), quality) for logit, quality in rows]
    assert found.accuracy == pytest.approx(sum((p > 0.5) == y for p, y in scores) / len(scores))
    won = [(p > q) + (p == q) / 2 for p, w in rows if w == 1 for q, v in rows if v < 1]
    assert found.auc == pytest.approx(sum(won) / len(won))
    tenths = [[(p, y) for p, y in scores if min(int(p * 10), 9) == t] for t in range(10)]
    parts = [[(p, w) for p, w in qualities if min(int(p * 10), 9) == t] for t in range(10)]
    of_class = {kind: sum(y == kind for _, y in scores) for kind in (True, False)}
    gap = sum(abs(sum((p - w) / of_class[w == 1] / 2 for p, w in part)) for part in parts)
    assert found.calibration_error == pytest.approx(gap)
    assert list(found.positives) == [sum(y for _, y in part) for part in tenths]
    assert list(found.negatives) == [sum(not y for _, y in part) for part in tenths]


def test_figures_need_both_kinds() -> None:
    for qualities in ([1, 1, 1], [0, 0.25, 0]):
        with pytest.raises(ValueError, match="positives and negatives"):
            measure(np.zeros(3), np.array(qualities, dtype=np.float32))


@settings(max_examples=30)
@given(SCORED)
def test_calibration_is_the_likeliest(rows: Scored) -> None:
    """Of a grid around it; negatives together weigh as much as positives."""
    logits, qualities = arrays(rows)
    right = qualities == 1
    positives, others = right.sum(), (~right).sum()
    targets = np.where(
        right, (positives + 1) / (positives + 2), np.maximum(qualities, 1 / (others + 2))
    )
    weights = np.where(right, 1 / positives, 1 / others)

    def loss(offset: float, temperature: float) -> float:
        z = (logits + offset) / temperature
        return float((weights * (np.logaddexp(0, z) - targets * z)).sum())

    offset, temperature = fit_calibration(lambda x: logits + x, qualities, 0.25)
    assert 0.05 <= temperature <= 100.01
    if abs(offset) < 90:
        least = min(
            loss(offset + step, temperature * factor)
            for step in (-9, -3, -1, -0.1, 0, 0.1, 1, 3, 9)
            for factor in np.geomspace(0.25, 4, 13)
            if 0.05 < temperature * factor < 100
        )
        assert loss(offset, temperature) <= least + 1e-6


@pytest.mark.parametrize("part", [0.5, 0.1])
def test_calibration_finds_what_was_put_in(part: float) -> None:
    """Also where few of the pairs are positives: the part that they are does not matter."""
    generator = np.random.default_rng(1)
    logits = generator.normal(0, 3, 10_000)
    right = generator.random(10_000) < 1 / (1 + np.exp(-logits))
    kept = ~right | (generator.random(10_000) < part * 2)
    logits, qualities = logits[kept], right[kept].astype(np.float32)
    offset, temperature = fit_calibration(lambda x: logits * 4 + 3 + x, qualities)
    assert temperature == pytest.approx(4, rel=0.05) and offset == pytest.approx(-3, abs=0.25)
    after = measure(logits * 4 + 3 + offset, qualities, temperature).calibration_error
    assert after < 0.02 < measure(logits * 4 + 3, qualities).calibration_error


def test_pairs_of_some_worth_do_not_count_and_logits_may_rise_at_another_rate() -> None:
    """Neither translations nor others, the former change nothing."""
    generator = np.random.default_rng(1)
    logits = generator.normal(0, 3, 500)
    qualities = (generator.random(500) < 1 / (1 + np.exp(-logits))).astype(np.float32)
    more = np.append(logits, [5.0] * 100)
    between = np.append(qualities, np.float32([0.4] * 100))
    few = fit_calibration(lambda x: logits + x, qualities, 0.3)
    assert few == fit_calibration(lambda x: more + x, between, 0.3)
    between[between == np.float32(0.4)] = 0.3
    assert few != fit_calibration(lambda x: more + x, between, 0.3)
    offset, temperature = fit_calibration(lambda x: 2 * (logits - 1) + 1.5 * x, qualities, 0.3)
    expected = (2 + 2 * few[0]) / 1.5, 2 * few[1]
    assert (offset, temperature) == pytest.approx(expected, abs=1e-3)
