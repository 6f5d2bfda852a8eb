"""The output layer follows grades, no farther from its old weights than they are worth."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from bitextfilter.evaluation.filtering import roc_auc
from bitextfilter.pairs.base import SentenceClassifierSettings
from bitextfilter.pairs.classifier import PairClassifier, build_classifier
from bitextfilter.training.adaptation import STRENGTHS, GradedPairs, adapt_output, hidden_rows
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
    assert (
        report.strength in STRENGTHS
        and min(report.losses) == report.losses[STRENGTHS.index(report.strength)]
    )


def test_the_fit_is_that_of_an_independent_optimiser() -> None:
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
    adapt_output(network, graded(pairs, groups, OFFSETS), 1, strengths=[10.0])
    found = np.concatenate(
        [
            network.output_layer.weight.detach().double().numpy()[0],
            network.output_layer.bias.detach().double().numpy(),
            [math.log(float(network.temperature))],
        ]
    )
    assert loss(found) == pytest.approx(expected, rel=1e-4) and loss(start) > expected * 1.05


def test_a_strong_ridge_keeps_the_order() -> None:
    (pairs, groups), network = toy(), classifier()
    before = levels(network, pairs)
    weight = network.output_layer.weight.detach().clone()
    report = adapt_output(network, graded(pairs, groups), 1, strengths=[math.inf])
    assert torch.equal(network.output_layer.weight, weight)
    assert math.isinf(report.strength)
    after = levels(network, pairs)
    assert np.argsort(before).tolist() == np.argsort(after).tolist()
    assert not np.allclose(before, after)


def test_the_same_seed_gives_the_same_layer_and_the_rest_stays() -> None:
    pairs, groups = toy()
    networks = [classifier() for _ in range(3)]
    for network, seed in zip(networks, (1, 1, 2), strict=True):
        adapt_output(network, graded(pairs, groups), seed, strengths=[1.0, 100.0])
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
