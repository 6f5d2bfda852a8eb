"""Paraphrases: detectors, trained on some pairs and measured on others; coverage of a lexicon.

Detection is the task of Sjöblom, Creutz & Aulamo 2018, "Paraphrase Detection on Noisy Subtitles in
Six Languages". Section 5: the two sentences' vectors, concatenated, go into a multilayer perceptron
with one hidden layer of 200 units, trained on the development set. The baselines are a threshold on
the cosine, and the majority class.

A lexicon's coverage is the part of the word differences between paraphrases that it explains: a
word of a source sentence that its target lacks is explained at rank k if one of the word's k best
paraphrases stands in the target as a whole. Pairs of unrelated sentences give the level of chance.
This measure is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Mask, Scores
from bitextfilter.evaluation.result import (
    Bootstrap,
    Estimate,
    Result,
    estimates,
    interval,
    record,
    signature,
)
from bitextfilter.pairs.base import SentenceClassifierSettings
from bitextfilter.pairs.classifier import SentenceClassifier
from bitextfilter.similarity.vectors import cosine_pairs
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


def best_threshold(scores: NDArray[np.float32], labels: Mask) -> float:
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


def explained(pairs: Sequence[tuple[Words, Words]], paraphrases: Paraphrases) -> NDArray[np.int64]:
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


def _recalls(sums: NDArray[np.float64] | NDArray[np.int64]) -> Floats:
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
    threshold = best_threshold(_cosines(development), development.labels)
    perceptron, epoch = _perceptron(development, groups, config)
    ways: list[tuple[str, NDArray[np.bool_], Facts]] = [
        ("majority", np.full(len(test.labels), majority(development.labels)), {}),
        ("cosine", _cosines(test) >= threshold, {"threshold": threshold}),
        (
            "mlp",
            perceptron.probabilities(test.source, test.target) >= np.float32(0.5),
            {"features": config.features, "epoch": epoch},
        ),
    ]
    for name, found, facts in ways:
        yield name, measure_detection(found, test.labels, config.bootstrap), facts


def _cosines(pairs: LabelledVectors) -> Scores:
    return cosine_pairs(pairs.source, pairs.target)


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
