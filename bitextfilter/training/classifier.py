"""Train the multilayer perceptron that tells translations from other pairs.

Kim et al. 2019, section 3.3: binary cross-entropy on clean pairs and negatives (eq. 15, whose
second term should read log(1 - q)). To give a smoother score than theirs, the weights decay, the
labels may be smoothed, and a temperature is fitted to pairs kept apart.
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
from bitextfilter.similarity.classifier import Classifier, ClassifierSettings
from bitextfilter.training.calibration import Figures, figures, fit_temperature

__all__ = [
    "ClassifierReport",
    "ClassifierTraining",
    "LabelledVectors",
    "fit_classifier",
    "split",
    "train_classifier",
]

Indices = NDArray[np.int64]
_ROWS = 8192


@dataclass(frozen=True)
class ClassifierTraining:
    """How the classifier is trained. Raises SettingsError for what makes no sense."""

    epochs: int = 20
    """At most so many times over the pairs; the epoch with the lowest tuning loss is kept."""
    patience: int = 3
    """Training ends after so many epochs without a lower tuning loss."""
    batch_size: int = 256
    learning_rate: float = 0.001
    weight_decay: float = 0.01
    """Of Adam, decoupled (Loshchilov & Hutter 2019)."""
    label_smoothing: float = 0.02
    """Labels are this / 2 and 1 - this / 2: so that probabilities stay apart at both ends."""
    vector_noise: float = 1.5
    """Gaussian noise is added to each vector in training, as long on average as this part of it at
    most. Vectors of the pairs that the encoder was trained on lie nearer to each other than those
    of new pairs do; without noise, the classifier would find new pairs too far apart."""
    held_out: float = 0.1
    """Part of the pairs that is measured on, and the part that stopping and temperature use."""
    calibrate: bool = True
    """Whether a temperature is fitted."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if min(self.epochs, self.patience, self.batch_size) < 1 or self.learning_rate <= 0:
            raise SettingsError(
                "epochs, patience, batch size must be at least 1, learning rate > 0"
            )
        if self.weight_decay < 0 or not 0 <= self.label_smoothing < 1:
            raise SettingsError("weight decay must not be negative, label smoothing in [0, 1)")
        if self.vector_noise < 0:
            raise SettingsError("vector noise must not be negative")
        if not 0 < self.held_out < 0.5:
            raise SettingsError(f"held out must be between 0 and 0.5, not {self.held_out}")


@dataclass(frozen=True)
class LabelledVectors:
    """Vectors of ``n`` pairs, each ``(n, dim)`` float32, and whether they are translations."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    labels: NDArray[np.bool_]


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
    pairs: LabelledVectors,
    groups: Sequence[str],
    shape: ClassifierSettings,
    training: ClassifierTraining,
    notify: Callable[[int, float], None] = lambda _epoch, _loss: None,
) -> tuple[Classifier, ClassifierReport]:
    """Train a classifier on some of the pairs, tune it on others, measure it on the rest.

    Args:
        pairs: positives and negatives.
        groups: for each pair, what it shares with others (its source text): never in two parts.
        shape: of the classifier.
        training: how it is trained; the same pairs and settings give the same classifier,
            for it is trained on one thread.
        notify: told the epoch and the tuning loss after each.

    Raises:
        SettingsError: too few pairs for each part to have both kinds.
    """
    parts = split(groups, training.held_out, training.seed)
    _both_kinds(pairs, *parts)
    classifier, losses, epoch = fit_classifier(pairs, parts[:2], shape, training, notify)
    with one_torch_thread():
        tuning, held_out = (_logits(classifier, pairs, part) for part in parts[1:])
    if training.calibrate:
        classifier.temperature.fill_(fit_temperature(tuning, pairs.labels[parts[1]]))
    temperature = float(classifier.temperature)
    report = ClassifierReport(
        pairs=(len(parts[0]), len(parts[1]), len(parts[2])),
        epoch=epoch,
        tuning_losses=tuple(losses),
        temperature=temperature,
        before=figures(held_out, pairs.labels[parts[2]]),
        after=figures(held_out, pairs.labels[parts[2]], temperature),
    )
    return classifier, report


def _both_kinds(pairs: LabelledVectors, *parts: Indices) -> None:
    """Raise SettingsError for a part of the pairs that lacks positives or negatives."""
    if any(len(set(pairs.labels[part])) < 2 for part in parts):
        raise SettingsError("too few pairs: each part needs positives and negatives")


def fit_classifier(
    pairs: LabelledVectors,
    parts: tuple[Indices, Indices],
    shape: ClassifierSettings,
    training: ClassifierTraining,
    notify: Callable[[int, float], None] = lambda _epoch, _loss: None,
) -> tuple[Classifier, list[float], int]:
    """Train on the first part of the pairs, and stop by the second.

    Returns:
        The classifier after the epoch with the lowest tuning loss, with temperature 1; the tuning
        losses of all epochs; and that epoch, from 1.

    Raises:
        SettingsError: too few pairs for each part to have both kinds.
    """
    _both_kinds(pairs, *parts)
    with torch.random.fork_rng(devices=[]), one_torch_thread():
        torch.manual_seed(training.seed)
        classifier = Classifier(shape)
        losses, epoch = _fit(classifier, pairs, parts, training, notify)
    return classifier.eval(), losses, epoch


def _fit(
    classifier: Classifier,
    pairs: LabelledVectors,
    parts: tuple[Indices, Indices],
    training: ClassifierTraining,
    notify: Callable[[int, float], None],
) -> tuple[list[float], int]:
    """Train, leave the classifier as after its best epoch, and return the losses and that epoch."""
    optimiser = torch.optim.AdamW(
        classifier.parameters(), training.learning_rate, weight_decay=training.weight_decay
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda epoch: 1 - epoch / training.epochs
    )
    labels = torch.from_numpy(pairs.labels[parts[1]].astype(np.float64))
    losses: list[float] = []
    best: dict[str, Tensor] = {}
    for epoch in range(1, training.epochs + 1):
        order = parts[0][torch.randperm(len(parts[0])).numpy()]
        for start in range(0, len(order), training.batch_size):
            optimiser.zero_grad()
            loss = _loss(classifier, pairs, order[start : start + training.batch_size], training)
            torch.autograd.backward(loss)
            optimiser.step()
        schedule.step()
        tuning = torch.from_numpy(_logits(classifier, pairs, parts[1]))
        losses.append(float(binary_cross_entropy_with_logits(tuning, labels)))
        notify(epoch, losses[-1])
        lowest = losses.index(min(losses)) + 1
        if lowest == epoch:
            best = copy.deepcopy(classifier.state_dict())
        elif epoch - lowest == training.patience:
            break
    classifier.load_state_dict(best)
    return losses, lowest


def _loss(
    classifier: Classifier, pairs: LabelledVectors, rows: Indices, training: ClassifierTraining
) -> Tensor:
    """Mean cross-entropy of some pairs against their smoothed labels, in nats."""
    labels = torch.from_numpy(pairs.labels[rows].astype(np.float32))
    smooth = labels * (1 - training.label_smoothing) + training.label_smoothing / 2
    dim, noise = classifier.settings.dim, training.vector_noise
    sides = (_blurred(torch.from_numpy(s[rows]), dim, noise) for s in (pairs.source, pairs.target))
    logits = classifier(*sides)
    return binary_cross_entropy_with_logits(logits, smooth)


def _blurred(rows: Tensor, dim: int, noise: float) -> Tensor:
    """Add noise to the vectors of rows: of a length from 0 to *noise*, drawn for each by itself."""
    vectors = torch.nn.functional.normalize(rows[:, :dim], dim=1)
    lengths = torch.rand(len(rows), 1) * noise / dim**0.5
    return torch.hstack([vectors + torch.randn_like(vectors) * lengths, rows[:, dim:]])


@torch.no_grad()
def _logits(classifier: Classifier, pairs: LabelledVectors, rows: Indices) -> NDArray[np.float64]:
    """Return the logits of some pairs, ``(rows,)``, some thousand pairs at a time."""
    parts = [rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS)]
    logits = [
        classifier(torch.from_numpy(pairs.source[part]), torch.from_numpy(pairs.target[part]))
        for part in parts
    ]
    return np.asarray(torch.cat(logits).double().numpy())
