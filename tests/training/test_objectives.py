"""Objectives against loops in float64, and their gradients against finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from bitextfilter.training.objectives import (
    HardNegatives,
    OutputLayer,
    contrastive_loss,
    margin_loss,
    ranking_loss,
    sampled_softmax_loss,
    softmax_loss,
    taken,
)
from bitextfilter.training.settings import TrainingSettings


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def naive_softmax(states: Tensor, targets: Tensor, weight: Tensor, bias: Tensor) -> float:
    total = 0.0
    for state, target in zip(states.tolist(), targets.tolist(), strict=True):
        logits = [
            sum(a * b for a, b in zip(state, row, strict=True)) + offset
            for row, offset in zip(weight.tolist(), bias.tolist(), strict=True)
        ]
        total += math.log(sum(map(math.exp, logits))) - logits[target]
    return total / len(states)


def test_softmax_is_the_mean_cross_entropy() -> None:
    states, weight, bias, targets = (
        random(4, 3),
        random(6, 3),
        random(6),
        torch.tensor([5, 0, 0, 2]),
    )
    expected = naive_softmax(states, targets, weight, bias)
    assert softmax_loss(states, targets, weight, bias).item() == pytest.approx(expected, rel=1e-5)


def test_sampling_every_word_once_is_the_whole_softmax() -> None:
    states, weight, bias, targets = (
        random(4, 3),
        random(6, 3),
        random(6),
        torch.tensor([5, 0, 0, 2]),
    )
    loss = sampled_softmax_loss(states, targets, (weight, bias), torch.arange(6), torch.zeros(6))
    expected = naive_softmax(states, targets, weight, bias)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_the_sampled_softmax_tends_to_the_whole_one() -> None:
    states, weight, bias, targets = (
        random(4, 3),
        random(6, 3),
        random(6),
        torch.tensor([5, 0, 0, 2]),
    )
    share = torch.tensor([0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    samples = torch.multinomial(share, 200_000, replacement=True)
    expected_counts = (share * len(samples)).log()
    loss = sampled_softmax_loss(states, targets, (weight, bias), samples, expected_counts)
    expected = naive_softmax(states, targets, weight, bias)
    assert loss.item() == pytest.approx(expected, abs=0.02)


def cosine(a: Tensor, b: Tensor) -> float:
    return float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))


def naive_ranking(source: Tensor, target: Tensor, scale: float, margin: float) -> float:
    rows = range(len(source))
    logits = [
        [scale * (cosine(source[i], target[j]) - (margin if i == j else 0)) for j in rows]
        for i in rows
    ]
    total = 0.0
    for i in rows:
        total += math.log(sum(math.exp(logits[i][j]) for j in rows)) - logits[i][i]
        total += math.log(sum(math.exp(logits[j][i]) for j in rows)) - logits[i][i]
    return total / (2 * len(source))


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_ranking_is_the_symmetric_softmax_with_margin(margin: float) -> None:
    source, target = random(5, 4), random(5, 4)
    loss = ranking_loss(source, target, torch.tensor(7.0), margin)
    assert loss.item() == pytest.approx(naive_ranking(source, target, 7.0, margin), rel=1e-5)


def test_a_pair_with_the_same_text_is_no_wrong_answer() -> None:
    source, target = random(3, 4), random(3, 4)
    same = torch.eye(3, dtype=torch.bool)
    same[0, 2] = same[2, 0] = True
    loss = ranking_loss(source, target, torch.tensor(7.0), 0.1, same)
    rows = torch.nn.functional.normalize(source) @ torch.nn.functional.normalize(target).T
    logits = 7.0 * (rows - 0.1 * torch.eye(3))
    logits = logits.masked_fill(same & ~torch.eye(3, dtype=torch.bool), -math.inf)
    right = torch.arange(3)
    entropy = torch.nn.functional.cross_entropy
    expected = (entropy(logits, right) + entropy(logits.T, right)) / 2
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def naive_hinge(
    source: Tensor, target: Tensor, anchor: Tensor, negative: HardNegatives, margin: float
) -> float:
    """One term of the margin loss; ``anchor`` is the source or the target."""
    terms = [
        max(0.0, margin - cosine(source[i], target[i]) + cosine(anchor[i], negative.vectors[i]))
        for i in range(len(source))
        if negative.present[i]
    ]
    return sum(terms) / len(terms)


@pytest.mark.parametrize("margin", [0.0, 0.4, 1.5])
def test_the_margin_loss_is_its_formula(margin: float) -> None:
    source, target = random(9, 4), random(9, 4)
    nearby = HardNegatives(source[torch.randperm(9)], torch.arange(9) != 4)
    other = HardNegatives(target[torch.randperm(9)], torch.arange(9) > 1)
    one_sided = naive_hinge(source, target, source, nearby, margin)
    two_sided = one_sided + naive_hinge(source, target, target, other, margin)
    loss = margin_loss(source, target, nearby, None, margin)
    assert loss.item() == pytest.approx(one_sided, rel=1e-9) and one_sided > 0
    loss = margin_loss(source, target, nearby, other, margin)
    assert loss.item() == pytest.approx(two_sided, rel=1e-9) and two_sided > one_sided


def test_a_pair_beyond_the_margin_costs_nothing() -> None:
    side = torch.eye(3)
    away = HardNegatives(side[[1, 2, 0]], torch.ones(3, dtype=torch.bool))
    assert margin_loss(side, side, away, away, 1.0).item() == 0
    assert margin_loss(side, side, away, away, 1.25).item() == pytest.approx(0.5)


def test_without_any_negative_the_margin_loss_is_zero_and_has_a_gradient() -> None:
    source = random(3, 4).requires_grad_()
    nothing = HardNegatives(source.detach(), torch.zeros(3, dtype=torch.bool))
    loss = margin_loss(source, random(3, 4), nothing, nothing, 0.4)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0 and source.grad is not None and not source.grad.any()


def test_the_contrastive_loss_is_its_formula() -> None:
    source, target = random(8, 3), random(8, 3)
    positive = torch.tensor([1, 0, 0, 1, 0, 0, 0, 1], dtype=torch.bool)
    total = 0.0
    for i in range(8):
        distance = 1 - cosine(source[i], target[i])
        total += distance if positive[i] else max(0.0, 0.9 - distance) ** 2
    loss = contrastive_loss(source, target, positive, 0.9)
    assert loss.item() == pytest.approx(total / 8, rel=1e-9)


def test_the_contrastive_loss_pulls_positives_and_pushes_negatives() -> None:
    alike = torch.ones(2, 3)
    positive = torch.tensor([True, False])
    assert contrastive_loss(alike, alike, positive, 0.5).item() == pytest.approx(0.25 / 2)
    assert contrastive_loss(alike, -alike, positive, 0.5).item() == pytest.approx(2 / 2)


def test_objectives_on_cosine_count_in_float32_at_least() -> None:
    source, target = torch.randn(3, 2).bfloat16(), torch.randn(3, 2).bfloat16()
    present = torch.ones(3, dtype=torch.bool)
    negative = HardNegatives(target.roll(1, 0), present)
    assert margin_loss(source, target, negative, None, 0.4).dtype == torch.float32
    assert contrastive_loss(source, target, present, 0.4).dtype == torch.float32


def test_gradients_of_the_cosine_objectives_agree_with_finite_differences() -> None:
    source, target, negative = (
        x.requires_grad_() for x in (random(6, 3), random(6, 3), random(6, 3))
    )
    present = torch.tensor([True, True, False, True, True, False])

    def margin(s: Tensor, t: Tensor, n: Tensor) -> Tensor:
        return margin_loss(
            s, t, HardNegatives(n, present), HardNegatives(n.roll(1, 0), present), 0.7
        )

    def contrast(s: Tensor, t: Tensor) -> Tensor:
        return contrastive_loss(s, t, present, 0.8)

    assert torch.autograd.gradcheck(margin, (source, target, negative))
    assert torch.autograd.gradcheck(contrast, (source, target))
    values = torch.autograd.grad(margin(source, target, negative), (source, target, negative))
    assert all(value.any() for value in values)


def test_gradients_agree_with_finite_differences() -> None:
    states, weight, bias = (x.requires_grad_() for x in (random(3, 2), random(5, 2), random(5)))
    targets = torch.tensor([1, 0, 4])
    samples, counts = torch.tensor([0, 2, 3]), torch.zeros(5, dtype=torch.float64)

    def in_double(function: object, *args: Tensor) -> None:
        assert torch.autograd.gradcheck(function, args, eps=1e-3, atol=2e-3, rtol=1e-2)  # type: ignore[arg-type]

    in_double(lambda s, w, b: softmax_loss(s, targets, w, b), states, weight, bias)
    in_double(
        lambda s, w, b: sampled_softmax_loss(s, targets, (w, b), samples, counts),
        states,
        weight,
        bias,
    )
    source, target = (x.requires_grad_() for x in (random(3, 2), random(3, 2)))
    in_double(lambda a, b: ranking_loss(a, b, torch.tensor(3.0), 0.1), source, target)


def sampled(table: Tensor, places: Tensor) -> Tensor:
    states, bias = table[torch.arange(len(places)) % 1999].detach(), table[:, 0]
    expected = torch.zeros(len(table))
    return sampled_softmax_loss(states, places, (table, bias), places[:300], expected)


def searched(table: Tensor, places: Tensor) -> Tensor:
    negatives = taken(table, places[: len(table)])
    return margin_loss(table, table.flip(0), negatives, None, 0.4)


@pytest.mark.parametrize("loss", [sampled, searched])
def test_gradients_do_not_depend_on_the_race_of_threads(
    loss: Callable[[Tensor, Tensor], Tensor],
) -> None:
    table, places = torch.randn(2000, 64), torch.randint(0, 50, (3000,))
    torch.set_num_threads(2)
    try:
        seen = set()
        for _ in range(10):
            weights = table.clone().requires_grad_()
            loss(weights, places).backward()  # type: ignore[no-untyped-call]
            assert weights.grad is not None
            seen.add(weights.grad.numpy().tobytes())
    finally:
        torch.set_num_threads(1)
    assert len(seen) == 1


@pytest.mark.parametrize("softmax", ["full", "sampled"])
def test_words_are_at_first_as_likely_as_they_are_frequent(softmax: str) -> None:
    """From a state of zeros; a word that never occurs counts as one that does once."""
    counts = np.array([0, 3, 6, 99])
    layer = OutputLayer(5, counts, TrainingSettings(softmax=softmax)).layer
    likely = layer(torch.zeros(1, 5)).softmax(1)[0]
    assert likely.tolist() == pytest.approx([1 / 112, 4 / 112, 7 / 112, 100 / 112])
