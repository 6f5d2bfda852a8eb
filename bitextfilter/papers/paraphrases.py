"""Paraphrases: detectors, trained on some pairs and measured on others; coverage; ratings.

Detection is the task of Sjöblom, Creutz & Aulamo 2018, "Paraphrase Detection on Noisy Subtitles in
Six Languages". Section 5: the two sentences' vectors, concatenated, go into a multilayer perceptron
with one hidden layer of 200 units, trained on the development set. The baselines are a threshold on
the cosine, and the majority class.

A lexicon's coverage is the part of the word differences between paraphrases that it explains: a
word of a source sentence that its target lacks is explained at rank k if one of the word's k best
paraphrases stands in the target as a whole. Pairs of unrelated sentences give the level of chance.
This measure is ours.

Ratings of pairs are predicted from their vectors by softmax regression: Tai, Socher & Manning 2015,
section 4.2, without their hidden layer, as SentEval measures SICK (Conneau & Kiela 2018; Sjöblom et
al. 2018 report it). A rating is a distribution over the whole numbers of the scale; the prediction
is the mean of the predicted distribution. Letters: n pairs, d width of a vector, c whole numbers of
the scale.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from bitextfilter.arrays import Floats, Integers, Mask, Scores, Vectors
from bitextfilter.errors import InputError
from bitextfilter.evaluation.pair_scoring import PairMeasure
from bitextfilter.evaluation.result import (
    Bootstrap,
    Estimate,
    Result,
    estimates,
    interval,
    record,
    signature,
)
from bitextfilter.evaluation.sts import RatedPairs, pearson
from bitextfilter.pairs.base import SentenceClassifierSettings
from bitextfilter.pairs.classifier import SentenceClassifier
from bitextfilter.scoring.model import Model
from bitextfilter.similarity.vectors import cosine_pairs, unit_rows
from bitextfilter.training.classifier import fit_classifier, split_groups
from bitextfilter.training.labelled_pairs import LabelledVectors
from bitextfilter.training.settings import ClassifierTraining

_CELLS = 4
"""True and false negatives, false and true positives: label + 2 · found."""


@dataclass(frozen=True)
class Detection:
    """Figures of decisions, each from 0 to 1."""

    accuracy: Estimate
    """The part of right decisions."""
    f1: Estimate
    """F1 of the paraphrases; 0 if there are none and none are found."""
    pairs: int
    paraphrases: int
    """The number of paraphrases among them."""


def measure_detection(found: Mask, labels: Mask, bootstrap: Bootstrap) -> Detection:
    """Measure the decisions on ``n`` pairs, at least one, against their labels.

    Intervals are from pairs drawn anew with replacement, paraphrases or not. Raises ValueError for
    shapes that differ.
    """
    if found.shape != labels.shape or not found.size:
        raise ValueError(f"{found.shape} decisions on {labels.shape} pairs")
    cells = np.bincount(labels + 2 * found.astype(np.int64), minlength=_CELLS).astype(np.float64)
    figures = estimates([cells], _figures, bootstrap)
    accuracy, f1 = (Estimate(*figures[:, place].tolist()) for place in range(2))
    return Detection(accuracy, f1, len(labels), int(labels.sum()))


def _figures(strata: Sequence[Floats]) -> Floats:
    """Return accuracy and F1 of the counts of the cells."""
    right_none, missed, wrong, right_one = strata[0]
    decided = 2 * right_one + missed + wrong
    f1 = 2 * right_one / decided if decided else 0.0
    return np.array([(right_none + right_one) / strata[0].sum(), f1])


def majority(labels: Mask) -> bool:
    """Return the majority of the labels ``(n,)``; True for a tie."""
    return bool(2 * int(labels.sum()) >= len(labels))


def best_threshold(scores: Scores, labels: Mask) -> float:
    """Return the least score of paraphrases that gives the highest accuracy.

    Candidates are the distinct *scores* ``(n,)`` and the next number above them all, which finds no
    paraphrase. Of ties, the lowest wins.
    """
    cuts = np.unique(scores)
    cuts = np.append(cuts, np.nextafter(cuts[-1], np.float32(np.inf)))
    below = [np.searchsorted(np.sort(scores[part]), cuts, "left") for part in (labels, ~labels)]
    return float(cuts[np.argmax(below[1] - below[0])])


RECALL_RANKS = (1, 5, 10)

Words = Sequence[str]
"""The words of a sentence or phrase."""
Paraphrases = Mapping[str, Sequence[Words]]
"""The paraphrases of each word, the best first."""


class LexiconEntry(NamedTuple):
    """A word with a paraphrase and its scores, higher is better."""

    word: str
    paraphrase: Words
    probability: float
    """p(paraphrase|word), 0 to 1."""
    pmi: float
    """Pointwise mutual information in nats."""


@dataclass(frozen=True)
class Explained:
    """Recall at a rank, in percent: 0 to 100."""

    rank: int
    recall: Estimate
    random: float
    """Recall on the targets of other sources."""
    words: int
    """Source words that the targets lack."""


def best_first(entries: Iterable[tuple[str, Words, float]]) -> dict[str, list[Words]]:
    """Return the ten best paraphrases of each word by score; ties keep their order."""
    found: dict[str, list[tuple[float, int, Words]]] = {}
    for number, (word, paraphrase, score) in enumerate(entries):
        found.setdefault(word, []).append((-score, number, paraphrase))
    most = RECALL_RANKS[-1]
    return {word: [each[2] for each in sorted(some)[:most]] for word, some in found.items()}


def measure_lexicon(
    pairs: Sequence[tuple[Words, Words]], paraphrases: Paraphrases, bootstrap: Bootstrap
) -> list[Explained]:
    """Measure a lexicon on at least two pairs of sentences, at each of ``RECALL_RANKS``.

    Figures are NaN where no word differs.
    """
    counts = explained(pairs, paraphrases)
    order = np.random.default_rng(bootstrap.seed).permutation(len(pairs))
    others = dict(zip(order.tolist(), np.roll(order, 1).tolist(), strict=True))
    mixed = [(source, pairs[others[row]][1]) for row, (source, _) in enumerate(pairs)]
    random = _recalls(explained(mixed, paraphrases).sum(axis=0))
    cells, where = np.unique(counts, axis=0, return_inverse=True)
    rows = np.bincount(where.reshape(-1), minlength=len(cells)).astype(np.float64)

    figures = estimates([rows], lambda strata: _recalls(strata[0] @ cells), bootstrap)
    words = int(counts[:, 0].sum())
    return [
        Explained(rank, Estimate(*figures[:, place].tolist()), float(random[place]), words)
        for place, rank in enumerate(RECALL_RANKS)
    ]


def explained(pairs: Sequence[tuple[Words, Words]], paraphrases: Paraphrases) -> Integers:
    """Count each pair's distinct words that differ, and those explained by rank: ``(n, 4)``."""
    rows = []
    for source, target in pairs:
        text = f" {' '.join(target)} "
        there = set(target)
        row = [0] * (1 + len(RECALL_RANKS))
        for word in sorted({w for w in source if w not in there and any(map(str.isalnum, w))}):
            found = (f" {' '.join(words)} " in text for words in paraphrases.get(word, ()))
            rank = next((rank for rank, hit in enumerate(found, 1) if hit), RECALL_RANKS[-1] + 1)
            row[0] += 1
            for place, most in enumerate(RECALL_RANKS, 1):
                row[place] += rank <= most
        rows.append(row)
    return np.array(rows, dtype=np.int64)


def _recalls(sums: Floats | Integers) -> Floats:
    """Return the sums after the first in percent of the first ``(3,)``."""
    return 100 * sums[1:] / sums[0] if sums[0] else np.full(len(RECALL_RANKS), np.nan)


def lexicon_result(
    pairs: Sequence[tuple[Words, Words]],
    entries: Sequence[LexiconEntry],
    bootstrap: Bootstrap,
    file: str,
) -> Result:
    """Return a record for each order of the paraphrases and each rank, of pairs in *file*."""
    orders = {
        "probability": [(each.word, each.paraphrase, each.probability) for each in entries],
        "pmi": [(each.word, each.paraphrase, each.pmi) for each in entries],
    }
    records = []
    for order, scored in orders.items():
        facts: dict[str, str | float] = {"n": len(pairs), "order": order, **bootstrap.facts}
        for row in measure_lexicon(pairs, best_first(scored), bootstrap):
            figure = f"recall@{row.rank} = {row.recall.value:.2f}"
            records.append({"order": order, **record(row, figure, **facts)})
    columns = dict.fromkeys(records[0], ".2f")
    return Result("lexicon", columns, {"results": records}, {"file": file})


HIDDEN = 200
"""Units of the paper's hidden layer."""

TRAINING = ClassifierTraining(
    epochs=100,
    patience=10,
    batch_size=32,
    learning_rate=0.0001,
    label_smoothing=0.0,
    vector_noise=0.0,
    held_out=0.1,
)
"""Ours, as the paper gives none: Adam, a falling rate, early stopping on a tenth of the pairs."""

Facts = dict[str, str | int | float]


@dataclass(frozen=True)
class DetectionConfig:
    """Settings of the training and of the measurement."""

    features: str = "concatenation"
    """Input of the perceptron, made of two vectors: a name in ``PAIR_FEATURES``."""
    seed: int = 1
    """Of the perceptron's first weights, of the pairs for stopping, and of the order of pairs."""
    bootstrap: Bootstrap = field(default_factory=Bootstrap)


def measure_detectors(
    development: LabelledVectors,
    groups: Sequence[str],
    test: LabelledVectors,
    config: DetectionConfig,
) -> Iterator[tuple[str, Detection, Facts]]:
    """Yield name, figures on *test* and facts of each way to decide, chosen on *development*.

    ``majority`` gives every pair the label of most pairs; ``cosine`` takes a threshold; ``mlp`` is
    the perceptron. *groups* join development pairs with a common sentence: a group is for training
    or for stopping, never for both. Both sets have pairs of both kinds.

    Raises InputError where there are too few development pairs to train on.
    """
    cosines = cosine_pairs(development.source, development.target)
    threshold = best_threshold(cosines, development.labels)
    perceptron, epoch = _perceptron(development, groups, config)
    ways: list[tuple[str, Mask, Facts]] = [
        ("majority", np.full(len(test.labels), majority(development.labels)), {}),
        ("cosine", cosine_pairs(test.source, test.target) >= threshold, {"threshold": threshold}),
        (
            "mlp",
            perceptron.probabilities(test.source, test.target) >= np.float32(0.5),
            {"features": config.features, "epoch": epoch},
        ),
    ]
    for name, found, facts in ways:
        yield name, measure_detection(found, test.labels, config.bootstrap), facts


def _perceptron(
    pairs: LabelledVectors, groups: Sequence[str], config: DetectionConfig
) -> tuple[SentenceClassifier, int]:
    """Train the perceptron on all pairs but those that stop it; with its epoch."""
    shape = SentenceClassifierSettings(pairs.source.shape[1], config.features, HIDDEN, layers=1)
    training = replace(TRAINING, seed=config.seed)
    first, stopping, rest = split_groups(groups, training.held_out, training.seed)
    parts = (np.union1d(first, rest), stopping)
    classifier, _, epoch = fit_classifier(pairs, parts, shape, training)
    assert isinstance(classifier, SentenceClassifier)
    return classifier, epoch


def detection_result(
    found: Iterable[tuple[str, Detection, Facts]],
    signed: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> Result:
    """Return a record for each way to decide.

    Args:
        found: the ways of :func:`measure_detectors`.
        signed: further facts of the signatures.
        facts: values that hold for all records.
    """
    records = []
    for name, figures, own in found:
        line = signature(
            f"accuracy = {figures.accuracy.value:.4f}",
            n=figures.pairs,
            paraphrases=figures.paraphrases,
            by=name,
            **{fact: f"{v:.4f}" if isinstance(v, float) else v for fact, v in own.items()},
            **signed,
        )
        records.append({"method": name, **vars(figures), **own, "signature": line})
    columns = {"method": "", **interval("accuracy", "f1", form=".4f")}
    columns |= dict.fromkeys(("pairs", "paraphrases", "signature"), "")
    return Result("paraphrase", columns, {"results": records}, facts)


@dataclass(frozen=True)
class RatedVectors:
    """Pairs of vectors and their ratings."""

    source: Vectors
    """``(n, d)``"""
    target: Vectors
    """``(n, d)``"""
    ratings: Floats
    """``(n,)``, finite."""


EPOCHS, PATIENCE, BATCH_SIZE, LEARNING_RATE, WEIGHT_DECAY = 200, 10, 64, 0.001, 1e-4
"""Ours; SentEval's differ between tasks."""


def rating_distributions(ratings: Floats, scale: Floats) -> Floats:
    """Return distributions ``(n, c)`` over whole numbers, each with the mean of its rating.

    A rating r between k and k + 1 is k with probability k + 1 − r, and k + 1 with r − k (eq. 15).
    Ratings beyond the *scale* ``(c,)``, ascending, count as its end.
    """
    distance = np.abs(np.clip(ratings, scale[0], scale[-1])[:, None] - scale)
    found: Floats = np.clip(1 - distance, 0, None)
    return found


class RatingRegression:
    """Ratings of pairs of vectors."""

    def __init__(self, dim: int, scale: Floats) -> None:
        """Take d, and the whole numbers ``(c,)`` that ratings lie between."""
        self._layer = nn.Linear(2 * dim, len(scale))
        self._scale = scale

    @staticmethod
    def _features(source: Vectors, target: Vectors) -> Tensor:
        """Return [|u − v|; u ⊙ v], ``(n, 2d)``."""
        return torch.from_numpy(np.hstack([np.abs(source - target), source * target]))

    def predict(self, source: Vectors, target: Vectors) -> Floats:
        """Return ratings ``(n,)`` of pairs of vectors ``(n, d)``, within the scale."""
        with torch.inference_mode():
            chances = self._layer(self._features(source, target)).double().softmax(dim=1)
        return np.asarray(chances.numpy() @ self._scale)

    def fit(self, pairs: RatedVectors, error: Callable[[], float], seed: int) -> int:
        """Learn, and keep the state of the lowest *error*, asked for after each epoch.

        The loss is the cross-entropy with the distributions of the ratings: but for a constant
        their Kullback-Leibler divergence (eq. 16). Returns the epoch that is kept, from 1.
        """
        wanted = torch.from_numpy(rating_distributions(pairs.ratings, self._scale)).float()
        inputs = self._features(pairs.source, pairs.target)
        generator = torch.Generator().manual_seed(seed)
        nn.init.zeros_(self._layer.weight)
        nn.init.zeros_(self._layer.bias)
        optimiser = torch.optim.AdamW(
            self._layer.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY
        )
        lowest, kept, state = float("inf"), 0, copy.deepcopy(self._layer.state_dict())
        for epoch in range(1, EPOCHS + 1):
            order = torch.randperm(len(inputs), generator=generator)
            for rows in torch.split(order, BATCH_SIZE):
                optimiser.zero_grad()
                loss = nn.functional.cross_entropy(self._layer(inputs[rows]), wanted[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            found = error()
            if found < lowest:
                lowest, kept, state = found, epoch, copy.deepcopy(self._layer.state_dict())
            elif epoch - kept >= PATIENCE:
                break
        self._layer.load_state_dict(state)
        return kept


_WIDEST = 100
"""Whole numbers of a scale, at most."""


class RatingMeasure(PairMeasure):
    """Ratings that a :class:`RatingRegression` predicts."""

    def __init__(
        self,
        model: Model,
        languages: tuple[str, ...] | None,
        training: RatedPairs,
        development: RatedPairs,
        seed: int,
    ) -> None:
        """Learn the ratings of *training*; the best epoch is chosen by those of *development*.

        Raises SettingsError for a language that the model lacks, and InputError for ratings of a
        wider scale than 100, or ratings that are all the same.
        """
        super().__init__(model, "cosine", languages)
        for name, pairs in (("--regression", training), ("--development", development)):
            if np.ptp(pairs.ratings) == 0:
                raise InputError(f"{name}: all ratings are the same: nothing can be learnt")
        low, high = floor(min(training.ratings)), ceil(max(training.ratings))
        if high - low > _WIDEST:
            raise InputError(
                f"--regression: ratings from {low} to {high}, but at most {_WIDEST} apart are"
                " learnt; divide them"
            )
        taught, stopping = (
            RatedVectors(*self._vectors(pairs.sources, pairs.targets), np.array(pairs.ratings))
            for pairs in (training, development)
        )
        self._regression = RatingRegression(taught.source.shape[1], np.arange(low, high + 1.0))

        def error() -> float:
            found = self._regression.predict(stopping.source, stopping.target)
            return -(pearson(found, stopping.ratings) or 0.0)

        self.epoch = self._regression.fit(taught, error, seed)

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> Scores:
        """Predict the ratings of ``n`` sources and targets → ``(n,)``, within the scale."""
        return self._regression.predict(*self._vectors(sources, targets)).astype(np.float32)

    def _vectors(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode both sides, and scale each vector to the length √d."""
        first, second = map(self._model.encode, (sources, targets), self._languages)
        length = np.float32(first.shape[1] ** 0.5)
        return unit_rows(first) * length, unit_rows(second) * length
