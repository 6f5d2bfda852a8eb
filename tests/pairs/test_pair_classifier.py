"""One score of two logits."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch

from bitextfilter.errors import SettingsError
from bitextfilter.pairs.base import (
    SentenceClassifierSettings,
    WordClassifierSettings,
    expected_quality,
    sigmoid,
)
from bitextfilter.pairs.classifier import build_classifier


def test_the_only_answer_is_the_logit() -> None:
    """Of the same type: what it is divided by rounds as it always did."""
    logits = np.array([[-2.5], [0], [1000]], dtype=np.float32)
    logits = expected_quality(logits, 0.0)
    assert (logits.tolist(), logits.dtype) == ([-2.5, 0, 1000], np.float32)


@pytest.mark.parametrize("quality", [0.0, 0.05, 0.4])
def test_the_logit_of_two_is_that_of_the_expected_quality(quality: float) -> None:
    """A translation with a small mistake has that quality, one without 1, anything else nothing."""
    grid = [-40.0, -3.0, -0.25, 0.0, 0.5, 9.0, 40.0, 250.0]
    logits = np.array([(c, f) for c in grid for f in grid])
    with localcontext() as context:
        context.prec = 400
        for found, (c, f) in zip(expected_quality(logits, quality), logits.tolist(), strict=True):
            right, whole = (1 / (1 + (-Decimal(logit)).exp()) for logit in (c, f))
            score = right * whole + right * (1 - whole) * Decimal(quality)
            assert found == pytest.approx(float((score / (1 - score)).ln()), rel=1e-9, abs=1e-12)


def test_more_of_either_is_never_less_whatever_the_size() -> None:
    far = np.array([-1e30, -400, -30, 0, 30, 400, 1e30], dtype=np.float32)
    for other in far:
        for columns in ((far, np.full(7, other)), (np.full(7, other), far)):
            found = expected_quality(np.stack(columns, axis=1), 0.05)
            assert found.dtype == np.float64
            assert np.isfinite(found).all() and (np.diff(found) >= 0).all()


@pytest.mark.parametrize("quality", [0.0, 0.01, 0.4])
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_sum_of_both_logits_counts_besides(quality: float, weight: float) -> None:
    shape = SentenceClassifierSettings(3, hidden=4, minor_error_quality=quality, sum_weight=weight)
    grid = [-30.0, -3.0, -0.25, 0.0, 0.5, 9.0, 30.0]
    logits = np.array([(c, f) for c in grid for f in grid])
    classifier = build_classifier(shape)
    found = classifier.joined(logits)
    np.testing.assert_allclose(
        found,
        (expected_quality(logits, quality) + weight * logits.sum(axis=1)) / (1 + 2 * weight),
        rtol=1e-12,
    )
    numbers = torch.from_numpy(logits).requires_grad_()
    if quality:
        same = classifier.joined_with_gradients(numbers)
        np.testing.assert_allclose(same.detach().numpy(), found, rtol=1e-9, atol=1e-12)
        (slopes,) = torch.autograd.grad(same.sum(), numbers)
        assert (slopes.numpy() > -1e-9).all()
    assert classifier.joined(logits[:, :1]).tolist() == logits[:, 0].tolist()


@pytest.mark.parametrize("quality", [-0.1, -1e-9, 0.5, 0.6, float("nan"), "0.1", None, True])
def test_a_quality_that_cannot_be(quality: object) -> None:
    with pytest.raises(SettingsError, match="minor_error_quality"):
        WordClassifierSettings(3, minor_error_quality=quality)  # type: ignore[arg-type]


@pytest.mark.parametrize("quality", [0, 0.0, 1e-9, 0.3, 0.4999])
def test_a_quality_that_can_be(quality: float) -> None:
    assert WordClassifierSettings(3, minor_error_quality=quality).logits == 1 + (quality > 0)


def test_sigmoid() -> None:
    logits = np.array([-1e30, -1000, -80, -3, -0.5, 0, 0.25, 2, 15, 1000, 1e30], dtype=np.float32)
    found = sigmoid(logits)
    assert found.dtype == np.float32
    with localcontext() as context:
        context.prec = 400
        exact = [1 / (1 + (-Decimal(max(min(x, 2000), -2000))).exp()) for x in logits.tolist()]
    np.testing.assert_allclose(found, [float(x) for x in exact], rtol=1e-7, atol=0)
    assert sigmoid(logits[:0]).shape == (0,)
    assert sigmoid(np.array([-np.inf, np.inf])).tolist() == [0.0, 1.0]
