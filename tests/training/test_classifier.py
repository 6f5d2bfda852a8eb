"""Training the classifier on vectors whose answer is known."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bitextfilter.arrays import drawn
from bitextfilter.errors import InputError, ModelError, SettingsError
from bitextfilter.pairs.base import SentenceClassifierSettings, WordClassifierSettings
from bitextfilter.pairs.classifier import PairClassifier, SentenceClassifier, build_classifier
from bitextfilter.training import loop
from bitextfilter.training.classifier import (
    ClassifierLearner,
    ClassifierReport,
    logits_loss,
    parallel_learner,
    rescale_translation_logit,
    split_groups,
    train_classifier,
)
from bitextfilter.training.classifier_training import Negatives, last_of_best, repaired
from bitextfilter.training.labelled_pairs import LabelledVectors
from bitextfilter.training.loop import Course, Progress
from bitextfilter.training.settings import ClassifierTraining

DIM = 8
ROWS = 1200


def toy_pairs(seed: int = 1) -> tuple[LabelledVectors, list[str]]:
    """Vectors that are nearly the same in a pair of translations, and strangers in others."""
    generator = np.random.default_rng(seed)
    source = generator.standard_normal((ROWS, DIM)).astype(np.float32)
    target = source + 0.2 * generator.standard_normal((ROWS, DIM)).astype(np.float32)
    labels = generator.random(ROWS) < 0.5
    target[~labels] = generator.permutation(target[~labels])
    return LabelledVectors(source, target, labels.astype(np.float32)), [str(i) for i in range(ROWS)]


def trained(features: str = "products", **settings: float) -> ClassifierReport:
    shape = SentenceClassifierSettings(DIM, features, hidden=32)
    training = ClassifierTraining(**{"epochs": 12, "learning_rate": 0.01, **settings})  # type: ignore[arg-type]
    return train_classifier(*toy_pairs(), shape, training)[1]


def test_it_learns_and_keeps_the_temperature() -> None:
    pairs, groups = toy_pairs()
    training = ClassifierTraining(epochs=12, learning_rate=0.01)
    shape = SentenceClassifierSettings(DIM, hidden=32)
    classifier, report = train_classifier(pairs, groups, shape, training)
    assert report.after.accuracy > 0.9 and report.after.auc > 0.97
    assert report.tuning_losses[report.epoch - 1] == min(report.tuning_losses) < 0.3
    assert sum(report.pairs) == ROWS
    assert sum(report.after.positives) + sum(report.after.negatives) == report.pairs[2]
    assert float(classifier.temperature) == pytest.approx(report.temperature) != 1
    scores = classifier.probabilities(pairs.source, pairs.target)
    held_out = split_groups(groups, training.held_out, training.seed)[2]
    tenths = np.histogram(scores[held_out][pairs.labels[held_out]], 10, (0, 1))[0]
    assert np.abs(tenths - report.after.positives).sum() <= 2


def test_a_small_mistake_is_asked_for_by_itself() -> None:
    """A third of the negatives have one number of another vector: their quality is 0.3."""
    pairs, groups = toy_pairs()
    target, qualities = pairs.target.copy(), pairs.qualities.copy()
    nearly = np.flatnonzero(qualities == 0)[::3]
    target[nearly] = pairs.source[nearly]
    target[nearly, 0] += 3
    qualities[nearly] = 0.3
    near = LabelledVectors(pairs.source, target, qualities)
    assert (near.labels == pairs.labels).all()
    training = ClassifierTraining(
        epochs=20, learning_rate=0.01, vector_noise=0.2, logit_scale=1, logit_bias=0
    )
    shape = SentenceClassifierSettings(DIM, hidden=32, minor_error_quality=0.3)
    classifier, report = train_classifier(near, groups, shape, training)
    assert isinstance(classifier, SentenceClassifier)
    _, tuning, held_out = split_groups(groups, training.held_out, training.seed)
    with torch.no_grad():
        translation, flawless = torch.sigmoid(near.logits(classifier, held_out)).numpy().T
        c, f = torch.sigmoid(near.logits(classifier, tuning) - report.offset).double().T
    quality = qualities[held_out]
    assert translation[quality > 0].mean() > 0.85 and translation[quality == 0].mean() < 0.15
    assert flawless[quality == 1].mean() > 0.85
    assert flawless[quality == np.float32(0.3)].mean() < 0.15
    scores = classifier.probabilities(near.source[held_out], near.target[held_out])
    assert scores[quality == np.float32(0.3)].mean() == pytest.approx(0.3, abs=0.1)
    assert scores[quality == 0].mean() < 0.15 and scores[quality == 1].mean() > 0.8
    kinds = torch.stack([1 - c, c * (1 - f), c * f], dim=1)
    kind = torch.from_numpy(np.searchsorted([0.1, 0.5], qualities[tuning]))
    loss = -kinds[torch.arange(len(kind)), kind].log().mean()
    assert report.tuning_losses[report.epoch - 1] == pytest.approx(float(loss), rel=1e-4)
    assert report.after.calibration_error < 0.1


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_of_both_questions_is_that_of_three_kinds_of_pairs(smoothing: float) -> None:
    """Unsmoothed: minus the log probability of a translation, of nearly one, or of neither.

    Smoothed, each answer is to some part the other one, where it is asked.
    """
    near = few_pairs(0.3, 31)
    shape = SentenceClassifierSettings(DIM, hidden=8, minor_error_quality=0.3)
    torch.manual_seed(1)
    logits = near.logits(SentenceClassifier(shape), np.arange(31)).detach()
    loss = logits_loss(logits, torch.from_numpy(near.qualities), smoothing, 0.3)
    total = unsmoothed = 0.0
    for (c, f), quality in zip(logits.tolist(), near.qualities, strict=True):
        p, q = 1 / (1 + math.exp(-c)), 1 / (1 + math.exp(-f))
        yes, no = 1 - smoothing / 2, smoothing / 2
        total -= (yes if quality else no) * math.log(p) + (no if quality else yes) * math.log(1 - p)
        if quality:
            total -= (yes if quality == 1 else no) * math.log(q)
            total -= (no if quality == 1 else yes) * math.log(1 - q)
        if not smoothing:
            each = {0: 1 - p, 1: p * q}.get(float(quality), p * (1 - q))
            unsmoothed -= math.log(each)
    assert float(loss) == pytest.approx(total / 31, rel=1e-5)
    assert smoothing or unsmoothed == pytest.approx(total)


def test_one_logit_is_trained_on_qualities() -> None:
    near = few_pairs(0.3, 31)
    torch.manual_seed(1)
    classifier = SentenceClassifier(SentenceClassifierSettings(DIM, hidden=8))
    logits, qualities = near.logits(classifier, np.arange(31)), torch.from_numpy(near.qualities)
    found = logits_loss(logits, qualities, 0.1)
    each = torch.nn.functional.binary_cross_entropy(
        torch.sigmoid(logits[:, 0]), qualities * 0.9 + 0.05
    )
    torch.testing.assert_close(found, each)


def test_the_papers_input_learns_too() -> None:
    assert trained("concatenation", epochs=20, patience=20).after.auc > 0.8


def test_labels_that_say_nothing_teach_nothing() -> None:
    pairs, groups = toy_pairs()
    qualities = np.random.default_rng(2).permutation(pairs.qualities)
    blind = LabelledVectors(pairs.source, pairs.target, qualities)
    _, report = train_classifier(
        blind, groups, SentenceClassifierSettings(DIM, hidden=32), ClassifierTraining(epochs=3)
    )
    assert 0.3 < report.after.auc < 0.7


def test_the_same_again_and_torchs_state_left_alone() -> None:
    whole, groups = toy_pairs()
    pairs = LabelledVectors(whole.source[:250], whole.target[:250], whole.qualities[:250])
    groups, shape = groups[:250], SentenceClassifierSettings(DIM, hidden=16)
    training = ClassifierTraining(epochs=2, batch_size=7)  # whose order would show in last digits
    state = torch.get_rng_state()
    first, report = train_classifier(pairs, groups, shape, training)
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(7)
    threads = torch.get_num_threads()
    torch.set_num_threads(3 - min(threads, 2))
    second, again = train_classifier(pairs, groups, shape, training)
    assert torch.get_num_threads() == 3 - min(threads, 2)
    torch.set_num_threads(threads)
    assert report == again
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, second.state_dict()[name])


@pytest.mark.parametrize("keep", ["best", "last"])
@pytest.mark.parametrize("stop", [5, 7, 12, 14, 20])
@pytest.mark.parametrize("every", [0, 300])
def test_an_interrupted_training_goes_on_to_the_same_weights(
    keep: str, stop: int, every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within an epoch and at its end, with a state of each update, or of each epoch alone."""
    whole, groups = toy_pairs()
    pairs = LabelledVectors(whole.source[:120], whole.target[:120], whole.qualities[:120])
    shape = SentenceClassifierSettings(DIM, hidden=8)
    training = ClassifierTraining(epochs=3, batch_size=14, keep=keep, learning_rate=0.05)
    wanted, report = train_classifier(pairs, groups[:120], shape, training)
    monkeypatch.setattr(loop, "SAVE_SECONDS", every)

    def interrupt(progress: Progress, updates: int) -> None:
        assert updates > 20
        if progress.update == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_classifier(pairs, groups[:120], shape, training, Course(interrupt, tmp_path))
    torch.rand(3)
    seen: list[int] = []
    course = Course(lambda progress, _: seen.append(progress.update), tmp_path)
    found, again = train_classifier(pairs, groups[:120], shape, training, course)
    assert seen[0] == 1 + (stop if every == 0 else stop // 7 * 7) and again == report
    for name, tensor in wanted.state_dict().items():
        assert torch.equal(tensor, found.state_dict()[name])


def test_the_start_has_its_share_in_the_weights() -> None:
    """Without calibration, each weight lies between its first and its trained value."""
    pairs, groups = toy_pairs()
    torch.manual_seed(3)
    start = build_classifier(SentenceClassifierSettings(DIM, hidden=16))
    settings = {"epochs": 2, "learning_rate": 0.01, "calibrate": False}
    found = []
    for share in (0.0, 0.25):
        training = ClassifierTraining(**settings, start_share=share)  # type: ignore[arg-type]
        first = copy.deepcopy(start)
        found.append(train_classifier(pairs, groups, first, training)[0])
    for begun, own, mean in zip(start.parameters(), *(f.parameters() for f in found), strict=True):
        torch.testing.assert_close(mean, 0.25 * begun + 0.75 * own)
        assert not torch.equal(mean, own)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_the_best_or_last_epoch_is_kept_and_patience_ends(keep: str) -> None:
    seen: list[int] = []
    pairs, groups = toy_pairs()
    training = ClassifierTraining(epochs=40, keep=keep, patience=2, learning_rate=0.05)
    shape = SentenceClassifierSettings(DIM, hidden=64)
    classifier, report = train_classifier(
        pairs, groups, shape, training, Course(lambda progress, _: seen.append(progress.update))
    )
    losses = report.tuning_losses
    assert losses.index(min(losses)) == len(losses) - 3
    assert report.epoch == (len(losses) if keep == "last" else len(losses) - 2)
    updates = -(-report.pairs[0] // training.batch_size) * len(losses)
    assert seen == list(range(1, updates + 1))
    places = split_groups(groups, training.held_out, training.seed)[1]
    with torch.no_grad():
        logits = pairs.logits(classifier, places) - report.offset
    labels = torch.from_numpy(pairs.labels[places].astype(np.float32))
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0], labels)
    assert float(loss) == pytest.approx(losses[report.epoch - 1], rel=1e-4)


def test_smoothing_is_smoother_and_calibration_can_be_left_out() -> None:
    plain, smooth = (trained(calibrate=False, epochs=6, label_smoothing=s) for s in (0, 0.4))
    assert plain.temperature == smooth.temperature == 1
    assert plain.before == plain.after
    extremes = [r.after.positives[9] + r.after.negatives[0] for r in (plain, smooth)]
    assert extremes[1] < extremes[0]


def test_groups_stay_together() -> None:
    groups = [str(i % 50) for i in range(400)]
    parts = split_groups(groups, 0.1, seed=1)
    names = [{groups[place] for place in part} for part in parts]
    assert [len(part) for part in names] == [40, 5, 5]
    assert len(set.union(*names)) == 50
    assert sorted(np.concatenate(parts).tolist()) == list(range(400))
    again = split_groups(groups, 0.1, seed=1)
    assert all(np.array_equal(one, other) for one, other in zip(parts, again, strict=True))
    assert not np.array_equal(parts[2], split_groups(groups, 0.1, seed=2)[2])


def test_what_cannot_be_learnt_from() -> None:
    pairs, groups = toy_pairs()
    pairs.source[:] = np.inf
    shape, training = SentenceClassifierSettings(DIM), ClassifierTraining()
    with pytest.raises(ModelError, match="loss is not a number at update 1"):
        train_classifier(pairs, groups, shape, training)
    with pytest.raises(InputError, match="too few pairs"):
        train_classifier(few_pairs(rows=4), list("abcd"), shape, training)


@pytest.mark.parametrize(
    ("name", "value"),
    [("epochs", 0), ("learning_rate", 0.0), ("label_smoothing", 1.0), ("held_out", 0.0),
     ("held_out", 0.5), ("weight_decay", -1.0), ("logit_scale", 0.0), ("logit_scale", math.inf),
     ("logit_bias", math.nan)],
)  # fmt: skip
def test_settings_that_make_no_sense(name: str, value: float) -> None:
    with pytest.raises(SettingsError):
        ClassifierTraining(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("quality", [0.0, 0.3])
@pytest.mark.parametrize("kind", [SentenceClassifierSettings, WordClassifierSettings])
def test_the_first_of_two_logits_is_rescaled(kind: Any, quality: float) -> None:
    torch.manual_seed(1)
    classifier = build_classifier(kind(DIM, minor_error_quality=quality))
    rows = torch.randn(5, classifier.output_layer.in_features)
    before = classifier.output_layer(rows).detach()
    rescale_translation_logit(classifier, 1.6, 1.5)
    if quality:
        before[:, 0] = 1.6 * (before[:, 0] + 1.5)
    torch.testing.assert_close(classifier.output_layer(rows).detach(), before)


def test_what_is_trained_is_weighed_in_the_end() -> None:
    """And neither the tuning losses nor the epoch depend on it; the temperature does."""
    pairs, groups = toy_pairs()
    qualities = pairs.qualities.copy()
    qualities[np.flatnonzero(qualities == 0)[::3]] = 0.1
    near = LabelledVectors(pairs.source, pairs.target, qualities)
    shape = SentenceClassifierSettings(DIM, hidden=32, minor_error_quality=0.1)
    settings = {"epochs": 9, "learning_rate": 0.01, "vector_noise": 0.2}
    (plain, one), (weighed, other) = (
        train_classifier(near, groups, shape, ClassifierTraining(**settings, **weights))
        for weights in (
            {"logit_scale": 1.0, "logit_bias": 0.0},
            {"logit_scale": 2.0, "logit_bias": 0.5},
        )
    )
    rows = np.arange(20)
    with torch.no_grad():
        c, f = (near.logits(plain, rows) - one.offset).T
        found = near.logits(weighed, rows) - other.offset
        torch.testing.assert_close(found, torch.stack([2 * c + 1, f], dim=1))
    assert (one.tuning_losses, one.epoch) == (other.tuning_losses, other.epoch)
    assert one.temperature != other.temperature and one.after != other.after


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("worst", Negatives("worst", 100)),
        ("worst:60%", Negatives("worst", 60)),
        ("worst:12.5", Negatives("worst", 12.5)),
        ("random", Negatives("random")),
        ("repaired", Negatives("repaired")),
        ("given", Negatives("given")),
    ],
)
def test_parse(text: str, expected: Negatives) -> None:
    assert Negatives.parse(text) == expected


@pytest.mark.parametrize("text", ["", "best", "worst:0%", "worst:101%", "worst:x", "random:5%"])
def test_parse_refuses(text: str) -> None:
    with pytest.raises(SettingsError, match="negatives"):
        Negatives.parse(text)


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 100), st.integers(1, 40))
def test_last_of_best(scores: list[int], percent: int, count: int) -> None:
    ranked = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    best = ranked[: -(-len(scores) * percent // 100)]
    found = last_of_best(np.array(scores, dtype=np.float32), percent, count)
    assert found.tolist() == sorted(best[-count:])


def test_drawn_and_repaired() -> None:
    assert drawn(5, 9, seed=1).tolist() == [0, 1, 2, 3, 4]
    places = drawn(1000, 50, seed=1)
    assert len(set(places.tolist())) == 50
    assert places.tolist() == sorted(places) == drawn(1000, 50, seed=1).tolist()
    assert places.tolist() != drawn(1000, 50, seed=2).tolist()
    pairs = [(f"s{i}", f"t{i}") for i in range(10)]
    made = repaired(pairs, 25, seed=1)
    assert len(made) == 25 and not set(made) & set(pairs)
    for start in (0, 10):
        for side in (0, 1):
            used = {pair[side] for pair in made[start : start + 10]}
            assert used == {pair[side] for pair in pairs}
    assert made == repaired(pairs, 25, seed=1) != repaired(pairs, 25, seed=2)


def test_repaired_makes_no_translation() -> None:
    assert repaired([("a", "x")], 5, seed=1) == []
    assert repaired([("a", "x"), ("b", "x")], 5, seed=1) == []
    made = repaired([("a", "x"), ("b", "x"), ("c", "y")], 50, seed=1)
    assert set(made) <= {("a", "y"), ("b", "y"), ("c", "x")}
    assert len(made) == 50


def few_pairs(quality: float = 0.1, rows: int = 50) -> LabelledVectors:
    sides = np.random.default_rng(1).standard_normal((2, rows, DIM)).astype(np.float32)
    qualities = np.resize(np.array([0, quality, 1], dtype=np.float32), rows)
    return LabelledVectors(sides[0], sides[1], qualities)


def classifier() -> PairClassifier:
    torch.manual_seed(1)
    return build_classifier(SentenceClassifierSettings(DIM, hidden=16, minor_error_quality=0.1))


def gradients(learner: ClassifierLearner) -> list[Tensor]:
    found = [weight.grad for weight in learner.network.parameters()]
    assert all(grad is not None for grad in found)
    return [grad.clone() for grad in found if grad is not None]


@pytest.mark.parametrize(("rows", "threads"), [(1, 1), (2, 2), (33, 1), (50, 2)])
def test_without_noise_they_are_those_of_the_whole(rows: int, threads: int) -> None:
    """Of the weights as they are now; nothing is left of the batch before."""
    pairs, training = few_pairs(), ClassifierTraining(vector_noise=0.0)
    learner = parallel_learner(classifier(), pairs, training, threads)
    learner.gradients(np.arange(50))
    torch.optim.SGD(learner.network.parameters(), 1.0).step()
    learner.gradients(np.arange(rows))
    whole = copy.deepcopy(learner.network)
    whole.zero_grad()
    qualities = torch.from_numpy(pairs.qualities[:rows])
    logits = pairs.logits(whole, np.arange(rows))
    logits_loss(logits, qualities, training.label_smoothing, 0.1).backward()
    for found, weight in zip(gradients(learner), whole.parameters(), strict=True):
        torch.testing.assert_close(found, weight.grad)


def test_noise_is_the_same_with_any_number_of_threads_and_new_each_time() -> None:
    found = []
    for threads in (1, 2, 5):
        torch.manual_seed(3)
        learner = parallel_learner(classifier(), few_pairs(), ClassifierTraining(), threads)
        for _ in range(2):
            learner.gradients(np.arange(50))
            found.append(gradients(learner))
    for again in (2, 4):
        for one, other in zip(found[0] + found[1], found[again] + found[again + 1], strict=True):
            assert torch.equal(one, other)
    assert not all(torch.equal(one, other) for one, other in zip(*found[:2], strict=True))


def test_parts_have_noise_of_their_own() -> None:
    """The same pair in both parts gives other gradients than twice in one."""
    pairs, training = few_pairs(), ClassifierTraining()
    torch.manual_seed(3)
    learner = parallel_learner(classifier(), pairs, training, 1)
    learner.gradients(np.array([4, 4]))
    (second,) = learner.others
    for one, other in zip(learner.parameters(), second.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        if one.grad.any():
            assert not torch.equal(one.grad, 2 * other.grad)
