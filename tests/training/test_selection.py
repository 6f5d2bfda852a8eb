"""HardNegatives against a double loop, and the bounds of chance."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from bitextfilter.training import data as hard_negatives
from bitextfilter.training import objectives as selection
from bitextfilter.training.data import search_negatives, sharing
from bitextfilter.training.objectives import hardest_negatives, margin_loss, random_partners, taken


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
    monkeypatch.setattr(selection, "_BLOCK_ROWS", block)
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
    alike = torch.ones(4, 2)
    places = hardest_negatives(alike, alike, torch.zeros(4, 4, dtype=torch.bool))
    assert places[0].tolist() == places[1].tolist() == [1, 0, 0, 0]


def test_a_lone_pair_has_no_negative_and_costs_nothing() -> None:
    source, target = torch.ones(1, 2, requires_grad=True), torch.ones(1, 2)
    places = hardest_negatives(source, target, torch.zeros(1, 1, dtype=torch.bool))
    assert [place.tolist() for place in places] == [[-1], [-1]]
    chosen = taken(source, places[0]), taken(target, places[1])
    assert margin_loss(source, target, *chosen, 0.4).item() == 0


def test_gradients_flow_into_the_taken_vectors() -> None:
    vectors = torch.randn(4, 3, requires_grad=True)
    chosen = taken(vectors, torch.tensor([2, -1, 0, 2]))
    assert chosen.present.tolist() == [True, False, True, True]
    assert chosen.vectors[[0, 2, 3]].equal(vectors[[2, 0, 2]])
    chosen.vectors[chosen.present].sum().backward()  # type: ignore[no-untyped-call]
    assert vectors.grad is not None and vectors.grad.sum(1).tolist() == [3, 0, 6, 0]


def test_partners_are_never_the_row_itself_nor_of_the_same_text() -> None:
    same = some_same(30)
    generator = torch.Generator().manual_seed(1)
    for _ in range(50):
        partners = random_partners(same, generator)
        assert partners[5] == -1
        rows = torch.arange(30)[partners >= 0]
        assert len(rows) == 29
        assert not same[rows, partners[rows]].any() and (partners[rows] != rows).all()


def test_every_allowed_partner_is_as_likely() -> None:
    same = torch.eye(5, dtype=torch.bool)
    same[0, 1] = same[1, 0] = True
    generator = torch.Generator().manual_seed(1)
    counts = torch.zeros(5, 5)
    for _ in range(2000):
        partners = random_partners(same, generator)
        counts[torch.arange(5), partners] += 1
    assert counts[0, :2].sum() == 0
    assert (counts[0, 2:] / 2000 - 1 / 3).abs().max() < 0.05
    assert (counts[4, :4] / 2000 - 1 / 4).abs().max() < 0.05


def test_chance_is_the_generators() -> None:
    same = torch.eye(50, dtype=torch.bool)
    draws = [random_partners(same, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert draws[0].equal(draws[1]) and not draws[0].equal(draws[2])
    assert random_partners(torch.eye(1, dtype=torch.bool), torch.Generator()).tolist() == [-1]
