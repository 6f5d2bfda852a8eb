"""Training of pair classifiers: the loss, the learner, the calibration, and the report.

Kim et al. 2019, section 3.3: binary cross-entropy on clean pairs and negatives (eq. 15, whose
second term should read log(1 - q)). For a smoother score than theirs, weights decay, labels may be
smoothed, and the outputs are calibrated on pairs kept apart. Where pairs with a minor error are
known, two logits are trained: of a translation, minor errors allowed; and of one without an
error, given that it is a translation.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from bitextfilter.arrays import Floats, Indices, Mask, Scores
from bitextfilter.errors import InputError
from bitextfilter.evaluation.filtering import roc_auc
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.device import one_torch_thread
from bitextfilter.models.layers import Dropout, narrow_training
from bitextfilter.pairs.base import ClassifierSettings, Logits
from bitextfilter.pairs.classifier import PairClassifier, build_classifier
from bitextfilter.training.labelled_pairs import LabelledPairs, Noise
from bitextfilter.training.loop import Course, Learner, Stream, learn_in_memory
from bitextfilter.training.settings import ClassifierTraining

Numbers = NDArray[np.floating]
"""``(n,)``, float32 or float64."""

TENTHS = 10
_COLDEST, _HOTTEST = 0.05, 100.0
_FARTHEST = 100.0
"""Offset at most."""
_ROUNDS, _STILL = 20, 1e-4
_ROUNDING = 1e-6
_HALVINGS = 40


@dataclass(frozen=True)
class Metrics:
    """Quality of the probabilities of ``n`` pairs."""

    accuracy: float
    """Part on the right side of .5."""
    auc: float
    """Chance that a positive scores above a negative; a tie counts half."""
    calibration_error: float
    """Expected calibration error (Guo et al. 2017) over tenths: the mean difference between the
    probability and the part of positives among the pairs with about that probability, where
    positives weigh as much as negatives. A negative counts as its quality of a positive."""
    positives: tuple[int, ...]
    """Positives with a score in 0-.1, .1-.2, ..., .9-1."""
    negatives: tuple[int, ...]
    """Negatives likewise."""


def measure(logits: Numbers, qualities: Scores, temperature: float = 1.0) -> Metrics:
    """Measure the probabilities of logits ``(n,)`` against qualities ``(n,)``, 1 for a positive.

    A negative has a quality below 1/2; others between are left out. Raises ValueError if either
    class is missing.
    """
    clear = (qualities == 1) | (qualities < 0.5)
    logits, qualities = logits[clear], qualities[clear]
    labels = qualities == 1
    if labels.all() or not labels.any():
        raise ValueError("metrics need positives and negatives")
    probabilities = _sigmoid(logits / temperature)
    tenths = np.minimum((probabilities * TENTHS).astype(np.int64), TENTHS - 1)
    excess = np.bincount(tenths, balance(labels) * (probabilities - qualities), TENTHS)
    counts = np.stack([np.bincount(tenths[labels == kind], minlength=TENTHS) for kind in (1, 0)])
    return Metrics(
        accuracy=float(np.mean((probabilities > 0.5) == labels)),
        auc=roc_auc(logits[labels], logits[~labels]),
        calibration_error=float(np.abs(excess).sum()),
        positives=tuple(counts[0].tolist()),
        negatives=tuple(counts[1].tolist()),
    )


def balance(labels: Mask) -> Floats:
    """Return weights ``(n,)`` of sum 1/2 for each of two classes."""
    positives = int(np.count_nonzero(labels))
    each = np.array([0.5 / max(1, len(labels) - positives), 0.5 / max(1, positives)])
    return np.asarray(each[labels.astype(np.int64)])


def fit_calibration(
    logits: Callable[[float], Numbers], qualities: Scores, minor_error_quality: float = 0.0
) -> tuple[float, float]:
    """Return an offset and a temperature T that make sigmoid(logits(offset) / T) most probable.

    As many translations as others are assumed: so 1/2 says that a pair is as likely one as not.
    Platt scaling (1999) with his targets: of p positives (quality 1) each counts as
    (p + 1) / (p + 2), of q others each as 1 / (q + 2) or its quality, so that T stays above 0 even
    where no pair is on the wrong side.

    Args:
        logits: an offset → logits ``(n,)`` that rise with it, at about the same rate.
        qualities: ``(n,)``; pairs between *minor_error_quality* and 1 are left out: they are
            neither.
        minor_error_quality: see :class:`ClassifierSettings`.
    """
    clear = (qualities == 1) | (qualities <= minor_error_quality + _ROUNDING)
    labels = qualities[clear] == 1
    positives = int(np.count_nonzero(labels))
    least = np.maximum(qualities[clear], 1 / (2 + len(labels) - positives))
    targets = np.where(labels, (positives + 1) / (positives + 2), least)
    offset, temperature = 0.0, 1.0
    for _ in range(_ROUNDS):
        step, temperature = _likeliest(logits(offset)[clear], targets, balance(labels))
        offset += step
        if abs(step) < _STILL:
            break
    return offset, temperature


def _likeliest(logits: Numbers, targets: Floats, weights: Floats) -> tuple[float, float]:
    """Return the most probable offset and temperature of some logits.

    The likelihood is concave in the offset and, with the best one, in 1 / T: slopes are followed
    to 0.
    """

    def surplus(levels: Numbers, factors: Numbers | float = 1.0) -> float:
        return float((weights * factors * (targets - _sigmoid(levels))).sum())

    def best_offset(cold: float) -> float:
        return _root(lambda x: surplus((logits + x) * cold), -_FARTHEST, _FARTHEST)

    cold = _root(
        lambda x: surplus((logits + best_offset(x)) * x, logits), 1 / _HOTTEST, 1 / _COLDEST
    )
    return best_offset(cold), 1 / cold


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function is 0, by bisection between two ends."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def _sigmoid(logits: Numbers) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))


def logits_loss(
    logits: Tensor, qualities: Tensor, smoothing: float, minor_error_quality: float = 0.0
) -> Tensor:
    """Mean cross-entropy of logits ``(n, 1 or 2)`` against smoothed labels, in nats.

    One logit is trained on the qualities ``(n,)`` themselves. Of two, the first is trained on all
    pairs, with label 1 for a quality above 0; the second on those alone, with 0 for
    *minor_error_quality* or less, 1 for 1, and in proportion between. Unsmoothed and without
    others between, their sum is the cross-entropy of three classes of pairs.
    """
    every, right = torch.ones_like(qualities), (qualities > 0).float()
    tasks = [(every, qualities)]
    if logits.shape[1] == 2:
        flawless = (qualities - minor_error_quality).clamp(min=0) / (1 - minor_error_quality)
        tasks = [(every, right), (right, flawless)]
    loss = torch.zeros(())
    for column, (mask, labels) in zip(logits.T, tasks, strict=True):
        smooth = labels * (1 - smoothing) + smoothing / 2
        each = binary_cross_entropy_with_logits(column, smooth, reduction="none")
        loss = loss + (each * mask).mean()
    return loss


def comparison_loss(
    logits: Tensor, qualities: Tensor, worse: Indices, better: Indices, training: ClassifierTraining
) -> Tensor:
    """Sum of the losses of pairs with a mistake beside the same ones without it, in nats.

    The logistic loss of the difference between their logits ``(n,)``, less a margin that is in
    proportion to the difference between their qualities ``(n,)``.
    """
    margins = (qualities[better] - qualities[worse]) * training.margin
    loss: Tensor = softplus(margins - (logits[better] - logits[worse])).sum()
    return loss


def grades_loss(logits: Tensor, grades: Tensor, scale: Tensor) -> Tensor:
    """Sum of the cross-entropies of graded pairs, in nats.

    Args:
        logits: of the pairs' quality, ``(n,)``.
        grades: ``(n,)``, from 0 to 1.
        scale: two numbers that are learnt for a set of grades: the logarithm of a factor of the
            logits, and a number added to them. So each set has its own temperature and threshold.
    """
    scaled = logits * scale[0].exp() + scale[1]
    return binary_cross_entropy_with_logits(scaled, grades, reduction="sum")


@torch.no_grad()
def rescale_translation_logit(classifier: PairClassifier, scale: float, bias: float) -> None:
    """Replace the first of two logits, c, by *scale* (c + *bias*).

    For text of another domain than the training's, whose translations have words that the
    classifier has not seen together: the bias accepts more of them, the scale still drops clear
    non-translations. A bias of b alone equals e^b times as many translations per negative in
    training.
    """
    if classifier.settings.logits == 2:
        classifier.output_layer.weight[0] *= scale
        classifier.output_layer.bias[0] = scale * (classifier.output_layer.bias[0] + bias)


@torch.no_grad()
def average_weights(trained: PairClassifier, first: PairClassifier, share: float) -> None:
    """Move the weights of a trained classifier towards those that the training began with.

    Between the ends of a short training, the mean often does better on other text than both
    (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", section 3). ``share``: of
    the *first* in the mean, from 0 to 1.
    """
    for own, begun in zip(trained.parameters(), first.parameters(), strict=True):
        own.lerp_(begun, share)


class ClassifierLearner(Learner):
    """A classifier that learns from half of a mini-batch; its one *other* takes the rest.

    The parts of a mini-batch are the same for any number of threads, and so are their sums.
    """

    network: PairClassifier
    settings: ClassifierTraining
    whole_layers = False

    def __init__(self, network: PairClassifier, pairs: LabelledPairs, noise: Noise) -> None:
        super().__init__(network.train(), noise.training)
        self._pairs, self._noise = pairs, noise
        weights = pairs.grades.weights if pairs.grades else ()
        self.scales = nn.Parameter(torch.zeros(len(weights), 2)) if weights else None
        """Of the sets of grades; see :func:`grades_loss`."""
        self.others: Sequence[ClassifierLearner] = ()
        """Learners with weights in the same memory, and gradients of their own."""
        self.threads = 1
        self.epoch_begun = torch.get_rng_state()
        """State of torch's generator before the epoch's order was drawn."""
        for module in network.modules():
            if isinstance(module, Dropout):
                module.generator = noise.generator

    def get_extra_state(self) -> Tensor:
        """Return the states of all generators, uint8 ``(learners + 1, bytes)``: see ``Module``."""
        noises = (each._noise.generator.get_state() for each in (self, *self.others))
        return torch.stack([self.epoch_begun, *noises])

    def set_extra_state(self, state: Tensor) -> None:
        """Take the states of :meth:`get_extra_state`."""
        self.epoch_begun, *noises = (each.clone() for each in state)
        for each, noise in zip((self, *self.others), noises, strict=True):
            each._noise.generator.set_state(noise)

    def forward(self, batch: Indices) -> dict[str, Tensor]:
        """The mean loss of some pairs."""
        logits = self._pairs.logits(self.network, batch, self._noise)
        qualities = torch.from_numpy(self._pairs.qualities[batch])
        minor, smoothing = self.network.settings.minor_error_quality, self.settings.label_smoothing
        sets, losses = self._pairs.sets[batch], {}
        classes = np.flatnonzero(sets < 0)
        if len(classes):
            loss = logits_loss(logits[classes], qualities[classes], smoothing, minor)
            losses["classification"] = loss * (len(classes) / len(batch))
        quality = self.network.joined_with_gradients(logits)
        worse, better = self._pairs.comparisons(batch)
        if len(worse):
            each = comparison_loss(quality, qualities, worse, better, self.settings)
            losses["comparison"] = each * (self.settings.comparison_weight / len(batch))
        if self._pairs.grades is not None and self.scales is not None:
            grades = torch.zeros(())
            for number, weight in enumerate(self._pairs.grades.weights):
                rows = np.flatnonzero(sets == number)
                grades = grades + weight * grades_loss(
                    quality[rows], qualities[rows], self.scales[number]
                )
            losses["grades"] = grades / len(batch)
        return losses

    def gradients(self, batch: Indices) -> dict[str, float]:
        """See :meth:`Learner.gradients`: summed over the learners, in their order."""
        learners = [self, *self.others]
        parts = self._pairs.halves(batch) if len(learners) > 1 else [batch]

        def compute(number: int) -> dict[str, float]:
            part = parts[number]
            learners[number].zero_grad()
            return learners[number].backward(part, len(part) / len(batch)) if len(part) else {}

        losses: Counter[str] = Counter()
        for found in map_blocks(compute, range(len(parts)), self.threads):
            losses.update(found)
        for weights in zip(*(each.parameters() for each in learners), strict=True):
            given = [weight.grad for weight in weights if weight.grad is not None]
            weights[0].grad = given[0] if given else None
            for other in given[1:]:
                given[0].add_(other)
        return dict(losses)

    def optimiser(self) -> torch.optim.Optimizer:
        """Adam with decoupled weight decay."""
        rate, decay = self.settings.learning_rate, self.settings.weight_decay
        return torch.optim.AdamW(self.parameters(), rate, weight_decay=decay, fused=True)


def parallel_learner(
    network: PairClassifier, pairs: LabelledPairs, training: ClassifierTraining, threads: int
) -> ClassifierLearner:
    """Make a learner and one other: with more, parts would be too small to be computed faster."""
    networks = [network, copy.deepcopy(network)]
    seeds = torch.randint(2**62, (len(networks),)).tolist()
    noises = [Noise(training, torch.Generator().manual_seed(seed)) for seed in seeds]
    learner, *learner.others = (
        ClassifierLearner(each, pairs, noise) for each, noise in zip(networks, noises, strict=True)
    )
    for other in learner.others:
        for own, shared in zip(other.parameters(), learner.parameters(), strict=True):
            own.data = shared.data
    learner.threads = threads
    return learner


@dataclass(frozen=True)
class ClassifierReport:
    """Result of a training, with metrics of the held-out part."""

    pairs: tuple[int, int, int]
    """For training, for tuning, and held out."""
    epoch: int
    """The epoch kept, from 1."""
    tuning_losses: tuple[float, ...]
    """Mean unsmoothed cross-entropy of the outputs on the tuning part after each epoch, in nats."""
    temperature: float
    offset: float
    """Added to the outputs."""
    before: Metrics
    """Without both."""
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
    start: ClassifierSettings | PairClassifier,
    training: ClassifierTraining,
    course: Course = Course(),  # noqa: B008  # it cannot change
) -> tuple[PairClassifier, ClassifierReport]:
    """Train a classifier on some of the pairs, tune it on others, measure it on the rest.

    Args:
        pairs: positives and negatives.
        groups: of each pair, such as its source text: pairs of one group stay in one part.
        start: the shape of a new classifier, or one to train further, which is changed.
        training: its settings; equal ones give the same classifier with any number of threads.
        course: its report and its state.

    Raises:
        InputError: too few pairs for each part to have both kinds.
        ModelError: the loss is not a number.
    """
    first, second, third = split_groups(groups, training.held_out, training.seed)
    parts = first, second[pairs.sets[second] < 0], third[pairs.sets[third] < 0]
    _check_kinds(pairs, *parts)
    begun = copy.deepcopy(start) if training.start_share else None
    classifier, losses, epoch = fit_classifier(pairs, parts[:2], start, training, course)
    if isinstance(begun, PairClassifier):
        average_weights(classifier, begun, training.start_share)
    rescale_translation_logit(classifier, training.logit_scale, training.logit_bias)
    with torch.random.fork_rng(devices=[]), one_torch_thread():
        torch.manual_seed(training.seed)
        tuning, held_out = (_logits(classifier, pairs, p, training.batch_size) for p in parts[1:])
    right = pairs.qualities[parts[2]]
    before = measure(classifier.joined(held_out), right)
    offset = _calibrate(classifier, tuning, pairs.qualities[parts[1]]) if training.calibrate else 0
    temperature = float(classifier.temperature)
    after = measure(classifier.joined(held_out + offset), right, temperature)
    sizes = len(parts[0]), len(parts[1]), len(parts[2])
    return classifier, ClassifierReport(
        sizes, epoch, tuple(losses), temperature, offset, before, after
    )


@torch.no_grad()
def _calibrate(classifier: PairClassifier, logits: Logits, qualities: Scores) -> float:
    """Set bias and temperature by the logits ``(n, 1 or 2)`` of some pairs; returns the offset."""
    offset, temperature = fit_calibration(
        lambda x: classifier.joined(logits + x), qualities, classifier.settings.minor_error_quality
    )
    classifier.output_layer.bias.add_(offset)
    classifier.temperature.fill_(temperature)
    return offset


def _check_kinds(pairs: LabelledPairs, *parts: Indices) -> None:
    """Raise InputError for a part of the pairs that lacks positives or negatives."""
    if any(len(set(pairs.labels[part])) < 2 for part in parts):
        raise InputError("too few pairs: each part needs positives and negatives")


def fit_classifier(
    pairs: LabelledPairs,
    parts: tuple[Indices, Indices],
    start: ClassifierSettings | PairClassifier,
    training: ClassifierTraining,
    course: Course = Course(),  # noqa: B008  # it cannot change
) -> tuple[PairClassifier, list[float], int]:
    """Train on the first part of the pairs, and stop by the second.

    Returns the classifier after the epoch that the settings keep, with temperature 1; the tuning
    losses of all epochs; and the epoch kept, from 1. Raises as :func:`train_classifier`.
    """
    _check_kinds(pairs, *parts)
    threads, size = torch.get_num_threads(), training.batch_size
    epoch = -(-len(parts[0]) // size)

    def batches(first: int) -> Iterator[Indices]:
        skipped = first % epoch
        if skipped:  # the order of an epoch is drawn at its beginning
            torch.set_rng_state(learner.epoch_begun)
        while True:
            learner.epoch_begun = torch.get_rng_state()
            yield from islice(pairs.batches(parts[0], size), skipped, None)
            skipped = 0

    def tuning_loss(classifier: PairClassifier) -> float:
        logits = torch.from_numpy(_logits(classifier, pairs, parts[1], size))
        qualities = torch.from_numpy(pairs.qualities[parts[1]].astype(np.float64))
        return float(logits_loss(logits, qualities, 0, classifier.settings.minor_error_quality))

    with torch.random.fork_rng(devices=[]), one_torch_thread():
        torch.manual_seed(training.seed)
        classifier = start if isinstance(start, PairClassifier) else build_classifier(start)
        pairs.prepare(classifier)
        learner = parallel_learner(classifier, pairs, training, threads)
        stream = Stream(training.epochs * epoch, batches, epoch)
        last = training.keep == "last"
        networks = [each.network for each in (learner, *learner.others)] if learner.narrow else []
        with narrow_training(*networks):
            progress = learn_in_memory(learner, stream, tuning_loss, course, last)
    losses = [row["error"] for row in progress.history]
    return classifier, losses, len(losses) if last else progress.best_update // epoch


@torch.no_grad()
def _logits(classifier: PairClassifier, pairs: LabelledPairs, rows: Indices, size: int) -> Floats:
    """Return the logits of some pairs, ``(rows, 1 or 2)``."""
    logits = np.empty((len(rows), classifier.settings.logits))
    places = np.empty(len(pairs.labels), dtype=np.int64)
    places[rows] = np.arange(len(rows))
    with torch.random.fork_rng(devices=[]):
        for some in pairs.batches(rows, size):
            logits[places[some]] = pairs.logits(classifier, some).numpy()
    return logits
