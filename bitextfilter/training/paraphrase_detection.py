"""Train a detector of paraphrases on development pairs, and measure it on others.

Sjöblom, Creutz & Aulamo 2018, section 5: the two sentences' vectors, concatenated, go into a
multilayer perceptron with one hidden layer of 200 units, trained on the development set. The
baselines are a threshold on the cosine, and the majority class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Scores
from bitextfilter.evaluation.paraphrase import (
    Detection,
    best_threshold,
    majority,
    measure_detection,
)
from bitextfilter.evaluation.result import Bootstrap, Result, interval, signature
from bitextfilter.pairs.sentence_classifier import SentenceClassifier
from bitextfilter.pairs.settings import SentenceClassifierSettings
from bitextfilter.similarity.vectors import cosine_pairs
from bitextfilter.training.classifier import fit_classifier, split_groups
from bitextfilter.training.labelled_pairs import LabelledVectors
from bitextfilter.training.settings import ClassifierTraining

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
