"""Contrasts are counted pair by pair: lower, tied or higher."""

from __future__ import annotations

import numpy as np
import pytest

from bitextfilter.evaluation.recovery import measure_contrasts
from bitextfilter.evaluation.result import Bootstrap


def test_shares_are_those_of_counting() -> None:
    chance = np.random.default_rng(1)
    better, worse = chance.integers(0, 4, 500) / 4, chance.integers(0, 4, 500) / 4
    kinds = [["a", "b", "c"][n] for n in chance.integers(0, 3, 500)]
    found = measure_contrasts(better, worse, kinds, Bootstrap(200))
    naive = []
    for kind in "abc":
        pairs = [(b, w) for b, w, k in zip(better, worse, kinds, strict=True) if k == kind]
        naive.append(
            (sum(b > w for b, w in pairs) / len(pairs), sum(b == w for b, w in pairs) / len(pairs))
        )
        assert found[ord(kind) - 97].pairs == len(pairs)
    shares = [share for each in found[:3] for share in (each.lower.value, each.tied)]
    assert shares == pytest.approx([share for both in naive for share in both])
    assert found[3].kind == "mean" and found[3].pairs == 500
    assert found[3].lower.value == pytest.approx(sum(share for share, _ in naive) / 3)
    for each in found:
        assert each.lower.low < each.lower.value < each.lower.high
        width = (each.lower.high - each.lower.low) / 2
        share, rows = each.lower.value, each.pairs
        if each.kind != "mean":
            assert width == pytest.approx(1.96 * (share * (1 - share) / rows) ** 0.5, rel=0.25)


def test_a_tie_is_not_lower() -> None:
    (one, mean) = measure_contrasts(np.ones(5), np.ones(5), ["x"] * 5, Bootstrap(10))
    assert (one.lower.value, one.tied) == (mean.lower.value, mean.tied) == (0, 1)
