"""Axes of vectors: made even, and the length of the head by the rows that are compared."""

from __future__ import annotations

import numpy as np

from bitextfilter.search.compiled import Aim, even_axes, learn_rotation
from bitextfilter.similarity.vectors import unit_rows

GENERATOR = np.random.default_rng(11)
SCALES = np.geomspace(1, 0.01, 24)


def test_variances_become_their_roots() -> None:
    turn = np.linalg.qr(GENERATOR.standard_normal((24, 24)))[0]
    sides = [
        ((GENERATOR.standard_normal((rows, 24)) * SCALES + shift) @ turn).astype(np.float32)
        for rows, shift in ((3000, 0.5), (2000, -0.2))
    ]
    even = even_axes((sides[0], sides[1]))
    moved = np.concatenate([even.turn(own, side) for side, own in enumerate(sides)])
    centred = np.concatenate([own - own.mean(axis=0) for own in sides]).astype(np.float64)
    before, after = (
        np.sort(np.linalg.eigvalsh(rows.T @ rows / len(rows))) for rows in (centred, moved)
    )
    assert abs(moved[:3000].mean(axis=0)).max() < 1e-5, "each side is centred by its own mean"
    np.testing.assert_allclose(after, before / np.sqrt(before + 0.05 * before.mean()), rtol=1e-3)


def test_rows_all_alike_are_turned_to_nothing() -> None:
    rows = np.full((5, 3), 0.25, np.float32)
    even = even_axes((rows, rows))
    assert np.isfinite(even.matrix).all()
    assert not even.turn(rows, 0).any()


def test_rows_that_are_alike_need_longer_heads() -> None:
    """Rows of a topic differ by what most axes have little of."""
    topics = GENERATOR.standard_normal((50, 96)) * np.geomspace(1, 0.02, 96)
    noise = 0.1 * GENERATOR.standard_normal((2, 6000, 96))
    one, other = (unit_rows(topics[GENERATOR.integers(50, size=6000)] + own) for own in noise)
    topic = unit_rows(topics[0] + noise[0]), unit_rows(topics[0] + noise[1])
    aim = Aim((6000, 6000), 4, 1500.0)
    apart, alike = learn_rotation((one, other), aim), learn_rotation((one, other), aim, topic)
    assert alike.split > apart.split
    assert np.allclose(alike.matrix @ alike.matrix.T, np.eye(96), atol=1e-4)
