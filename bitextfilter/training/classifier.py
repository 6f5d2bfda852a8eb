"""Train a classifier that tells translations from other pairs, of whichever kind.

Kim et al. 2019, section 3.3: binary cross-entropy on clean pairs and negatives (eq. 15, whose
second term should read log(1 - q)). To give a smoother score than theirs, the weights decay, the
labels may be smoothed, and a temperature is fitted to pairs kept apart. And where pairs with a
small mistake are known, two questions are taught apart: is it a translation, with a small mistake
perhaps; and has it none, if it is one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from bitextfilter.errors import SettingsError
from bitextfilter.models.device import one_torch_thread
from bitextfilter.similarity.classifiers import PairClassifier, Shape, build
from bitextfilter.similarity.pair_classifier import Indices, expected
from bitextfilter.training.answers import weigh_answers
from bitextfilter.training.calibration import Figures, figures, fit_temperature
from bitextfilter.training.classifier_settings import ClassifierTraining
from bitextfilter.training.labelled_pairs import LabelledPairs
from bitextfilter.training.side_by_side import Step

__all__ = [
    "ClassifierReport",
    "ClassifierTraining",
    "fit_classifier",
    "split",
    "train_classifier",
]

_CLIP = 5.0
_WARMUP = 0.01
"""The part of all updates in which the learning rate rises."""


@dataclass(frozen=True)
class ClassifierReport:
    """How a training went: what was used, and figures on the held-out part."""

    pairs: tuple[int, int, int]
    """For training, for tuning, and held out."""
    epoch: int
    """The epoch kept, from 1."""
    tuning_losses: tuple[float, ...]
    """Mean cross-entropy on the tuning part after each epoch, in nats."""
    temperature: float
    before: Figures
    """With temperature 1."""
    after: Figures


def split(groups: Sequence[str], part: float, seed: int) -> tuple[Indices, Indices, Indices]:
    """Return the places of training, tuning and held-out pairs, each ascending.

    The last two are *part* of the distinct *groups* each: pairs of one group stay together.
    """
    names = sorted(set(groups))
    order = np.random.default_rng(seed).permutation(len(names))
    size = round(part * len(names))
    part_of = {names[n]: 1 + (i >= size) for i, n in enumerate(order[: 2 * size])}
    parts = np.array([part_of.get(group, 0) for group in groups], dtype=np.int64)
    training, tuning, held_out = (np.flatnonzero(parts == number) for number in range(3))
    return training, tuning, held_out


def train_classifier(
    pairs: LabelledPairs,
    groups: Sequence[str],
    shape: Shape,
    training: ClassifierTraining,
    notify: Callable[[int, float], None] = lambda _epoch, _loss: None,
) -> tuple[PairClassifier, ClassifierReport]:
    """Train a classifier on some of the pairs, tune it on others, measure it on the rest.

    Args:
        pairs: positives and negatives.
        groups: for each pair, what it shares with others (its source text): never in two parts.
        shape: of the classifier.
        training: how it is trained; the same pairs and settings give the same classifier,
            with any number of torch's threads.
        notify: told the epoch and the tuning loss after each.

    Raises:
        SettingsError: too few pairs for each part to have both kinds.
    """
    parts = split(groups, training.held_out, training.seed)
    _both_kinds(pairs, *parts)
    classifier, losses, epoch = fit_classifier(pairs, parts[:2], shape, training, notify)
    weigh_answers(classifier, training.sharpness, training.lenience)
    with one_torch_thread():
        tuning, held_out = (_logits(classifier, pairs, part, training) for part in parts[1:])
    if training.calibrate:
        classifier.temperature.fill_(fit_temperature(tuning, pairs.worths[parts[1]]))
    temperature = float(classifier.temperature)
    report = ClassifierReport(
        pairs=(len(parts[0]), len(parts[1]), len(parts[2])),
        epoch=epoch,
        tuning_losses=tuple(losses),
        temperature=temperature,
        before=figures(held_out, pairs.worths[parts[2]]),
        after=figures(held_out, pairs.worths[parts[2]], temperature),
    )
    return classifier, report


def _both_kinds(pairs: LabelledPairs, *parts: Indices) -> None:
    """Raise SettingsError for a part of the pairs that lacks positives or negatives."""
    if any(len(set(pairs.labels[part])) < 2 for part in parts):
        raise SettingsError("too few pairs: each part needs positives and negatives")


def fit_classifier(
    pairs: LabelledPairs,
    parts: tuple[Indices, Indices],
    shape: Shape,
    training: ClassifierTraining,
    notify: Callable[[int, float], None] = lambda _epoch, _loss: None,
) -> tuple[PairClassifier, list[float], int]:
    """Train on the first part of the pairs, and stop by the second.

    Returns:
        The classifier after the epoch with the lowest tuning loss, with temperature 1; the tuning
        losses of all epochs; and that epoch, from 1.

    Raises:
        SettingsError: too few pairs for each part to have both kinds.
    """
    _both_kinds(pairs, *parts)
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]), one_torch_thread():
        torch.manual_seed(training.seed)
        classifier = build(shape)
        pairs.prepare(classifier)
        step = Step(classifier, pairs, training, threads)
        losses, epoch = _fit(step, parts, notify)
    return classifier.eval(), losses, epoch


def _fit(
    step: Step, parts: tuple[Indices, Indices], notify: Callable[[int, float], None]
) -> tuple[list[float], int]:
    """Train, leave the classifier as after its best epoch, and return the losses and that epoch."""
    classifier, pairs, training = step.classifier, step.pairs, step.training
    optimiser = torch.optim.AdamW(
        classifier.parameters(), training.learning_rate, weight_decay=training.weight_decay
    )
    total = training.epochs * -(-len(parts[0]) // training.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda update: min((update + 1) / (_WARMUP * total), 1 - update / total)
    )
    worths = torch.from_numpy(pairs.worths[parts[1]].astype(np.float64))
    losses: list[float] = []
    best: dict[str, Tensor] = {}
    for epoch in range(1, training.epochs + 1):
        for rows in pairs.batches(parts[0], training.batch_size):
            step.gradients(rows)
            torch.nn.utils.clip_grad_norm_(classifier.parameters(), _CLIP)
            optimiser.step()
            schedule.step()
        tuning = torch.from_numpy(_logits(classifier, pairs, parts[1], training))
        losses.append(float(binary_cross_entropy_with_logits(tuning, worths)))
        notify(epoch, losses[-1])
        lowest = losses.index(min(losses)) + 1
        if lowest == epoch:
            best = copy.deepcopy(classifier.state_dict())
        elif epoch - lowest == training.patience:
            break
    classifier.load_state_dict(best)
    return losses, lowest


@torch.no_grad()
def _logits(
    classifier: PairClassifier, pairs: LabelledPairs, rows: Indices, training: ClassifierTraining
) -> NDArray[np.float64]:
    """Return the logits of what some pairs are expected to be worth, ``(rows,)``."""
    classifier.eval()
    worth, logits = classifier.settings.worth, np.empty(len(rows), dtype=np.float64)
    places = np.empty(len(pairs.labels), dtype=np.int64)
    places[rows] = np.arange(len(rows))
    with torch.random.fork_rng(devices=[]):
        for some in pairs.batches(rows, training.batch_size):
            logits[places[some]] = expected(pairs.answers(classifier, some).numpy(), worth)
    return logits
