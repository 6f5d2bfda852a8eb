"""Training of pair classifiers: the loss, the loop, and the calibration of probabilities.

See ``Answers`` of :mod:`bitextfilter.similarity.pair_classifier`.

A batch always has the same parts, each with a copy of the classifier and a source of noise of its
own, however many threads there are: so their number changes nothing.

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

from bitextfilter.arrays import Floats, Indices, Scores
from bitextfilter.errors import SettingsError
from bitextfilter.io.batches import map_blocks
from bitextfilter.models.device import one_torch_thread
from bitextfilter.models.layers import Dropout
from bitextfilter.similarity.classifiers import PairClassifier, Shape, build
from bitextfilter.similarity.pair_classifier import expected
from bitextfilter.similarity.separation import roc_auc
from bitextfilter.training.labelled_pairs import LabelledPairs, Noise
from bitextfilter.training.settings import ClassifierTraining


def answers_loss(answers: Tensor, worths: Tensor, smoothing: float) -> Tensor:
    """Mean cross-entropy of answers ``(n, 1 or 2)`` against smoothed labels, in nats.

    Two answers are a chain of questions: of the n pairs, whether they are worth anything; and of
    those that are, whether they are worth 1. So unsmoothed, their sum is the cross-entropy of three
    kinds of pairs. One answer is taught the worths ``(n,)`` themselves.
    """
    ever = torch.ones_like(worths)
    chain = [(ever, (worths > 0).float()), (worths > 0, (worths == 1).float())]
    questions = chain if answers.shape[1] == 2 else [(ever, worths)]
    loss = torch.zeros(())
    for logits, (asked, labels) in zip(answers.T, questions, strict=True):
        smooth = labels * (1 - smoothing) + smoothing / 2
        each = binary_cross_entropy_with_logits(logits, smooth, reduction="none")
        loss = loss + (each * asked).mean()
    return loss


@torch.no_grad()
def weigh_answers(classifier: PairClassifier, sharpness: float, lenience: float) -> None:
    """Make the first of two answers *sharpness* (c + *lenience*), c being what it was.

    Text of another kind than that of the training has translations whose words a classifier has
    not seen together: lenience forgives them, and sharpness still drops what is surely none.
    Lenience alone is as if for each pair that is none there were e^lenience times as many
    translations, those with a small mistake among them.
    """
    if classifier.settings.answers == 2:
        classifier.last.weight[0] *= sharpness
        classifier.last.bias[0] = sharpness * (classifier.last.bias[0] + lenience)


TENTHS = 10
_COLDEST, _HOTTEST = 0.05, 100.0


@dataclass(frozen=True)
class Metrics:
    """What the probabilities of ``n`` pairs are worth."""

    accuracy: float
    """Part that is on the right side of .5."""
    auc: float
    """Chance that a positive scores above a negative; a tie counts half."""
    calibration_error: float
    """Expected calibration error (Guo et al. 2017) over tenths: by how much a probability differs
    from the part of positives among the pairs with about that probability. What is worth a part of
    a positive counts as that."""
    positives: tuple[int, ...]
    """Positives with a score in 0-.1, .1-.2, ..., .9-1."""
    negatives: tuple[int, ...]
    """Negatives likewise."""


def measure(logits: Floats, worths: Scores, temperature: float = 1.0) -> Metrics:
    """Measure the probabilities of logits ``(n,)`` against worths ``(n,)``, 1 for a positive.

    A negative is worth less than 1/2. Raises ValueError if either kind is missing.
    """
    labels = worths > 0.5
    if labels.all() or not labels.any():
        raise ValueError("figures need positives and negatives")
    probabilities = _sigmoid(logits / temperature)
    tenths = np.minimum((probabilities * TENTHS).astype(np.int64), TENTHS - 1)
    counts = np.stack([np.bincount(tenths[labels == kind], minlength=TENTHS) for kind in (1, 0)])
    said = np.bincount(tenths, weights=probabilities - worths, minlength=TENTHS)
    return Metrics(
        accuracy=float(np.mean((probabilities > 0.5) == labels)),
        auc=roc_auc(logits[labels], logits[~labels]),
        calibration_error=float(np.abs(said).sum() / len(labels)),
        positives=tuple(counts[0].tolist()),
        negatives=tuple(counts[1].tolist()),
    )


def fit_temperature(logits: Floats, worths: Scores) -> float:
    """Return the T that makes sigmoid(logit / T) most probable, between .05 and 100.

    Temperature scaling (Guo et al. 2017) with Platt's targets (1999): a positive, worth 1, counts
    as (p + 1) / (p + 2) and a negative of no worth as 1 / (q + 2), where p and q are their numbers,
    so that T stays above 0 even where no pair is on the wrong side; others count as what they are
    worth. The likelihood is concave in 1 / T: its slope is followed to 0 by bisection.
    """
    positives, negatives = np.count_nonzero(worths == 1), np.count_nonzero(worths == 0)
    targets = worths.astype(np.float64)
    targets[worths == 1] = (positives + 1) / (positives + 2)
    targets[worths == 0] = 1 / (negatives + 2)
    low, high = 1 / _HOTTEST, 1 / _COLDEST
    for _ in range(60):
        middle = (low + high) / 2
        slope = ((targets - _sigmoid(logits * middle)) * logits).sum()
        low, high = (middle, high) if slope > 0 else (low, middle)
    return 2 / (low + high)


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))


_PARTS = 2
"""Smaller parts would be computed no faster: operations take time of their own."""


class Step:
    """Computes the gradients of a classifier's weights."""

    def __init__(
        self,
        classifier: PairClassifier,
        pairs: LabelledPairs,
        training: ClassifierTraining,
        threads: int,
    ) -> None:
        """Make the copies, and draw the seeds of their noise."""
        self.classifier, self.pairs, self.training = classifier, pairs, training
        self._threads = threads
        self._copies = [_copy_of(classifier) for _ in range(_PARTS)]
        seeds = torch.randint(2**62, (_PARTS,)).tolist()
        self._noises = [Noise(training, torch.Generator().manual_seed(seed)) for seed in seeds]
        for each, noise in zip(self._copies, self._noises, strict=True):
            for module in each.modules():
                if isinstance(module, Dropout):
                    module.generator = noise.generator

    def gradients(self, rows: Indices) -> None:
        """Give the classifier's weights the gradients of the mean loss of some pairs.

        They are sums over the parts, in their order; every second pair is in the same part.
        """

        def compute(part: int) -> None:
            some, each, noise = rows[part::_PARTS], self._copies[part], self._noises[part]
            each.zero_grad()
            if len(some):
                answers = self.pairs.answers(each, some, noise)
                worths = torch.from_numpy(self.pairs.worths[some])
                loss = answers_loss(answers, worths, self.training.label_smoothing)
                torch.autograd.backward(loss * (len(some) / len(rows)))

        map_blocks(compute, range(_PARTS), self._threads)
        weights = zip(*(each.parameters() for each in self._copies), strict=True)
        for weight, parts in zip(self.classifier.parameters(), weights, strict=True):
            found = [part.grad for part in parts if part.grad is not None]
            weight.grad = torch.stack(found).sum(dim=0) if found else None


def _copy_of(classifier: PairClassifier) -> PairClassifier:
    """A copy with the same weights in the same memory, which gets gradients of its own."""
    made = copy.deepcopy(classifier).train()
    for own, shared in zip(made.parameters(), classifier.parameters(), strict=True):
        own.data = shared.data
    return made


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
    before: Metrics
    """With temperature 1."""
    after: Metrics


def split_groups(groups: Sequence[str], part: float, seed: int) -> tuple[Indices, Indices, Indices]:
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
    parts = split_groups(groups, training.held_out, training.seed)
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
        before=measure(held_out, pairs.worths[parts[2]]),
        after=measure(held_out, pairs.worths[parts[2]], temperature),
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
