"""Gradients of a batch in parts, against those of the batch as one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from bitextfilter.pairs.base import SentenceClassifierSettings
from bitextfilter.pairs.classifier import PairClassifier, build_classifier
from bitextfilter.training.classifier import ClassifierLearner, logits_loss, parallel_learner
from bitextfilter.training.labelled_pairs import LabelledVectors
from bitextfilter.training.settings import ClassifierTraining

DIM = 8


def toy_pairs() -> LabelledVectors:
    generator = np.random.default_rng(1)
    sides = generator.standard_normal((2, 50, DIM)).astype(np.float32)
    qualities = np.resize(np.array([0, 0.1, 1], dtype=np.float32), 50)
    return LabelledVectors(sides[0], sides[1], qualities)


def classifier() -> PairClassifier:
    torch.manual_seed(1)
    return build_classifier(SentenceClassifierSettings(DIM, hidden=16, minor_error_quality=0.1))


def gradients(learner: ClassifierLearner) -> list[Tensor]:
    found = [weight.grad for weight in learner.network.parameters()]
    assert all(grad is not None for grad in found)
    return [grad.clone() for grad in found if grad is not None]


@pytest.mark.parametrize("rows", [1, 2, 33, 50])
@pytest.mark.parametrize("threads", [1, 2])
def test_without_noise_they_are_those_of_the_whole(rows: int, threads: int) -> None:
    pairs, training = toy_pairs(), ClassifierTraining(vector_noise=0.0)
    learner = parallel_learner(classifier(), pairs, training, threads)
    for _ in range(2):  # nothing is left of the batch before
        learner.gradients(np.arange(rows))
    whole = classifier()
    logits = pairs.logits(whole, np.arange(rows))
    qualities = torch.from_numpy(pairs.qualities[:rows])
    logits_loss(logits, qualities, training.label_smoothing, 0.1).backward()
    for found, weight in zip(gradients(learner), whole.parameters(), strict=True):
        torch.testing.assert_close(found, weight.grad)


def test_noise_is_the_same_with_any_number_of_threads_and_new_each_time() -> None:
    found = []
    for threads in (1, 2, 5):
        torch.manual_seed(3)
        learner = parallel_learner(classifier(), toy_pairs(), ClassifierTraining(), threads)
        for _ in range(2):
            learner.gradients(np.arange(50))
            found.append(gradients(learner))
    for again in (2, 4):
        for one, other in zip(found[0] + found[1], found[again] + found[again + 1], strict=True):
            assert torch.equal(one, other)
    assert not all(torch.equal(one, other) for one, other in zip(*found[:2], strict=True))


def test_parts_have_noise_of_their_own() -> None:
    """The same pair in both parts gives other gradients than twice in one."""
    pairs, training = toy_pairs(), ClassifierTraining()
    torch.manual_seed(3)
    learner = parallel_learner(classifier(), pairs, training, 1)
    learner.gradients(np.array([4, 4]))
    (second,) = learner.others
    for one, other in zip(learner.parameters(), second.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        if one.grad.any():
            assert not torch.equal(one.grad, 2 * other.grad)


def test_they_follow_the_weights() -> None:
    pairs, training = toy_pairs(), ClassifierTraining(vector_noise=0.0)
    learner = parallel_learner(classifier(), pairs, training, 1)
    learner.gradients(np.arange(50))
    before = gradients(learner)
    torch.optim.SGD(learner.network.parameters(), 1.0).step()
    learner.gradients(np.arange(50))
    assert not torch.equal(before[0], gradients(learner)[0])
