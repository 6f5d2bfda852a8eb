"""Objectives against loops in float64, and their gradients against finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bitextfilter.training import data as hard_negatives
from bitextfilter.training import objectives
from bitextfilter.training.data import search_negatives, sharing
from bitextfilter.training.objectives import (
    HardNegatives,
    OutputLayer,
    contrastive_loss,
    hardest_negatives,
    margin_loss,
    output_loss,
    random_partners,
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


def decoded() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """States, the output layer's weight and bias, and the right words."""
    return random(4, 3), random(6, 3), random(6), torch.tensor([5, 0, 0, 2])


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
    """And the sampled one, where every word is a sample, or very many are."""
    states, weight, bias, targets = decoded()
    expected = naive_softmax(states, targets, weight, bias)
    assert softmax_loss(states, targets, weight, bias).item() == pytest.approx(expected, rel=1e-5)
    whole = sampled_softmax_loss(states, targets, (weight, bias), torch.arange(6), torch.zeros(6))
    assert whole.item() == pytest.approx(expected, rel=1e-5)
    share = torch.tensor([0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    samples = torch.multinomial(share, 200_000, replacement=True)
    counts = (share * len(samples)).log()
    loss = sampled_softmax_loss(states, targets, (weight, bias), samples, counts)
    assert loss.item() == pytest.approx(expected, abs=0.02)


def cosine(a: Tensor, b: Tensor) -> float:
    return float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))


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


def test_what_costs_nothing() -> None:
    """A pair beyond the margin, and pairs without a negative; then the gradient is zero."""
    side = torch.eye(3)
    away = HardNegatives(side[[1, 2, 0]], torch.ones(3, dtype=torch.bool))
    assert margin_loss(side, side, away, away, 1.0).item() == 0
    assert margin_loss(side, side, away, away, 1.25).item() == pytest.approx(0.5)
    source = random(3, 4).requires_grad_()
    nothing = HardNegatives(source.detach(), torch.zeros(3, dtype=torch.bool))
    loss = margin_loss(source, random(3, 4), nothing, nothing, 0.4)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0 and source.grad is not None and not source.grad.any()


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


def test_gradients_agree_with_finite_differences() -> None:
    states, weight, bias = (x.requires_grad_() for x in (random(3, 2), random(5, 2), random(5)))
    targets = torch.tensor([1, 0, 4])
    samples, counts = torch.tensor([0, 2, 3]), torch.zeros(5, dtype=torch.float64)
    source, target, negative = (random(6, 3).requires_grad_() for _ in range(3))
    present = torch.tensor([True, True, False, True, True, False])

    def margin(s: Tensor, t: Tensor, n: Tensor) -> Tensor:
        negatives = (HardNegatives(each, present) for each in (n, n.roll(1, 0)))
        return margin_loss(s, t, *negatives, 0.7)

    def drawn(s: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return sampled_softmax_loss(s, targets, (w, b), samples, counts)

    def ranking(a: Tensor, b: Tensor) -> Tensor:
        return ranking_loss(a, b, torch.tensor(3.0), 0.1)

    check = torch.autograd.gradcheck
    assert check(margin, (source, target, negative))
    assert check(lambda s, t: contrastive_loss(s, t, present, 0.8), (source, target))
    rough = {"eps": 1e-3, "atol": 2e-3, "rtol": 1e-2}  # these count in float32
    layer = (states, weight, bias)
    assert check(lambda s, w, b: softmax_loss(s, targets, w, b), layer, **rough)
    assert check(drawn, layer, **rough)
    assert check(ranking, (source, target), **rough)
    values = torch.autograd.grad(margin(source, target, negative), (source, target, negative))
    assert all(value.any() for value in values)


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


def made(kind: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    states = torch.randn(23, 6, dtype=kind, requires_grad=True)
    weight = torch.randn(11, 6, dtype=torch.float64 if kind == torch.float64 else torch.float32)
    bias = torch.randn(11, dtype=weight.dtype)
    targets = torch.randint(0, 11, (23,))
    return states, weight.requires_grad_(), bias.requires_grad_(), targets


@pytest.mark.parametrize("rows", [1, 7, 23, 100])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradients_are_those_of_whole_logits(
    rows: int, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objectives, "_ROWS", rows)
    states, weight, bias, targets = made(torch.float64)
    found = output_loss(states, (weight, bias), targets, smoothing)
    expected = functional.cross_entropy(
        functional.linear(states, weight, bias), targets, label_smoothing=smoothing
    )
    torch.testing.assert_close(found, expected)
    inputs = (states, weight, bias)
    for one, other in zip(
        torch.autograd.grad(3 * found, inputs), torch.autograd.grad(3 * expected, inputs),
        strict=True,
    ):  # fmt: skip
        torch.testing.assert_close(one, other)


def test_in_bfloat16_it_is_nearly_so() -> None:
    states, weight, bias, targets = made(torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = output_loss(states, (weight, bias), targets, 0.1)
    logits = functional.linear(states.float(), weight, bias)
    expected = functional.cross_entropy(logits, targets, label_smoothing=0.1)
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
    one, other = (torch.autograd.grad(loss, weight)[0] for loss in (found, expected))
    assert one.dtype == torch.float32
    torch.testing.assert_close(one, other, rtol=0.05, atol=0.02)


def naive_hardest(anchors: Tensor, candidates: Tensor, same: Tensor) -> list[int]:
    places = []
    for i, anchor in enumerate(anchors.double()):
        best, place = -math.inf, -1
        for j, candidate in enumerate(candidates.double()):
            if i == j or same[i, j]:
                continue
            cosine = float(anchor @ candidate) / float(anchor.norm() * candidate.norm())
            if cosine > best:
                best, place = cosine, j
        places.append(place)
    return places


def some_same(size: int) -> Tensor:
    same = torch.rand(size, size, generator=torch.Generator().manual_seed(3)) < 0.2
    same = same | same.T
    same[5] = same[:, 5] = True
    return same


@pytest.mark.parametrize("block", [4, 4096])
@pytest.mark.parametrize("negatives", ["same", "other"])
def test_the_hardest_negatives_are_those_of_a_double_loop(
    negatives: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objectives, "_BLOCK_ROWS", block)
    torch.manual_seed(1)
    source, target, same = torch.randn(23, 5), torch.randn(23, 5), some_same(23)
    places = hardest_negatives(source, target, same, negatives)
    candidates = (source, target) if negatives == "same" else (target, source)
    assert places[0].tolist() == naive_hardest(source, candidates[0], same)
    assert places[1].tolist() == naive_hardest(target, candidates[1], same)
    assert places[0][5] == places[1][5] == -1


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("negatives", ["same", "other"])
def test_the_search_finds_the_hardest_negatives(
    negatives: str, kind: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hard_negatives, "_BLOCK_ROWS", 150)
    monkeypatch.setattr(hard_negatives, "product_type", lambda _: kind)
    torch.manual_seed(1)
    source, target = torch.randn(400, 7), torch.randn(400, 7)
    source[7:90] = source[6] + 1e-4 * torch.randn(83, 7)  # nearly equal to each other
    target[200] = target[100]
    same = torch.rand(400, 400) < 0.02
    same = same | same.T | torch.eye(400, dtype=torch.bool)
    same[5] = same[:, 5] = True
    shared = same.nonzero().T[:, torch.randperm(int(same.sum()))]
    expected = hardest_negatives(source, target, same, negatives)
    candidates = (source, target) if negatives == "same" else (target, source)
    for threads in (1, 2):
        found = search_negatives(source, target, shared, negatives, threads)
        for side, one, other in zip(range(2), found, expected, strict=True):
            assert one[5] == other[5] == -1 and torch.equal(one < 0, other < 0)
            assert not same[torch.arange(400), one][one >= 0].any()
            rows, pool = (source, target)[side], candidates[side]
            cosines = [torch.cosine_similarity(rows, pool[places]) for places in (one, other)]
            torch.testing.assert_close(*cosines, rtol=0, atol=1e-6)
            assert (one == other).float().mean() > 0.75


def test_equal_texts_have_equal_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    keys = random.integers(0, 60, 50), random.integers(30, 90, 50)
    found = sharing(keys)
    assert found is not None
    same = [
        (i, j)
        for i in range(50)
        for j in range(50)
        if {int(k[i]) for k in keys} & {int(k[j]) for k in keys}
    ]
    assert set(map(tuple, found.T.tolist())) == set(same)
    monkeypatch.setattr(hard_negatives, "_MOST", 20)
    assert sharing(keys) is None


def test_of_equal_cosines_the_first_is_taken_and_never_the_row_itself() -> None:
    """A lone pair has no negative, and costs nothing."""
    alike = torch.ones(4, 2)
    places = hardest_negatives(alike, alike, torch.zeros(4, 4, dtype=torch.bool))
    assert places[0].tolist() == places[1].tolist() == [1, 0, 0, 0]
    lone = torch.ones(1, 2, requires_grad=True)
    places = hardest_negatives(lone, lone, torch.zeros(1, 1, dtype=torch.bool))
    assert [place.tolist() for place in places] == [[-1], [-1]]
    assert margin_loss(lone, lone, *(taken(lone, each) for each in places), 0.4).item() == 0


def test_gradients_flow_into_the_taken_vectors() -> None:
    vectors = torch.randn(4, 3, requires_grad=True)
    chosen = taken(vectors, torch.tensor([2, -1, 0, 2]))
    assert chosen.present.tolist() == [True, False, True, True]
    assert chosen.vectors[[0, 2, 3]].equal(vectors[[2, 0, 2]])
    chosen.vectors[chosen.present].sum().backward()  # type: ignore[no-untyped-call]
    assert vectors.grad is not None and vectors.grad.sum(1).tolist() == [3, 0, 6, 0]


def test_partners_are_never_the_row_itself_nor_of_the_same_text() -> None:
    """Each allowed one is as likely; chance is the generator's."""
    same = some_same(30)
    generator = torch.Generator().manual_seed(1)
    for _ in range(50):
        partners = random_partners(same, generator)
        rows = torch.arange(30)[partners >= 0]
        assert partners[5] == -1 and len(rows) == 29
        assert not same[rows, partners[rows]].any() and (partners[rows] != rows).all()
    same, counts = torch.eye(5, dtype=torch.bool), torch.zeros(5, 5)
    same[0, 1] = same[1, 0] = True
    for _ in range(2000):
        counts[torch.arange(5), random_partners(same, generator)] += 1
    assert counts[0, :2].sum() == 0
    assert (counts[0, 2:] / 2000 - 1 / 3).abs().max() < 0.05
    assert (counts[4, :4] / 2000 - 1 / 4).abs().max() < 0.05
    same = torch.eye(50, dtype=torch.bool)
    draws = [random_partners(same, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert draws[0].equal(draws[1]) and not draws[0].equal(draws[2])
    assert random_partners(torch.eye(1, dtype=torch.bool), torch.Generator()).tolist() == [-1]
