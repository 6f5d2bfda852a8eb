"""Detectors trained on vectors whose answer is known."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.papers import paraphrases
from bitextfilter.papers.paraphrases import Detection, DetectionConfig, Facts, measure_detectors
from bitextfilter.similarity.vectors import cosine_pairs
from bitextfilter.training.classifier import fit_classifier
from bitextfilter.training.labelled_pairs import LabelledVectors

DIM = 12
PLAN = DetectionConfig(bootstrap=Bootstrap(20))


def pairs(rows: int, seed: int, easy: bool = True) -> LabelledVectors:
    """Paraphrases have like vectors; or else, both have a first number above 0."""
    generator = np.random.default_rng(seed)
    source, target = generator.standard_normal((2, rows, DIM)).astype(np.float32)
    if easy:
        labels = generator.random(rows) < 0.7
        target[labels] = source[labels] + 0.8 * target[labels]
        return LabelledVectors(source, target, labels)
    source[:, 0] *= 3
    target[:, 0] *= 3
    return LabelledVectors(source, target, (source[:, 0] > 0) & (target[:, 0] > 0))


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Fewer epochs, with a higher rate."""
    training = replace(paraphrases.TRAINING, epochs=12, learning_rate=0.002)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paraphrases, "TRAINING", training)
        yield


Found = dict[str, tuple[Detection, Facts]]


@functools.cache
def found(plan: DetectionConfig = PLAN, easy: bool = True) -> Found:
    return detected(plan, easy)


def detected(plan: DetectionConfig, easy: bool) -> Found:
    development, groups = pairs(500, 1, easy), [str(row) for row in range(500)]
    rows = measure_detectors(development, groups, pairs(700, 2, easy), plan)
    return {name: (figures, facts) for name, figures, facts in rows}


def test_a_threshold_is_chosen_on_the_development_pairs() -> None:
    result = found()
    assert list(result) == ["majority", "cosine", "mlp"]
    test = pairs(700, 2)
    figures, facts = result["cosine"]
    decided = cosine_pairs(test.source, test.target) >= facts["threshold"]
    assert figures.accuracy.value == pytest.approx(np.mean(decided == test.labels))
    assert figures.accuracy.value > 0.9
    assert result["majority"][0].accuracy.value == pytest.approx(test.labels.mean())
    assert result["majority"][0].f1.value == pytest.approx(
        2 * test.labels.sum() / (test.labels.sum() + 700)
    )


def test_the_perceptron_sees_what_the_cosine_does_not() -> None:
    result = found(easy=False)
    accuracy = {name: figures.accuracy.value for name, (figures, _) in result.items()}
    assert accuracy["mlp"] > 0.9 > 0.85 > accuracy["cosine"]
    assert result["majority"][0].f1.value == 0
    assert 1 <= int(result["mlp"][1]["epoch"]) <= 12


def test_products_tell_likeness_better_than_the_concatenation() -> None:
    plain, more = found(), found(replace(PLAN, features="products"))
    assert more["mlp"][0].accuracy.value > plain["mlp"][0].accuracy.value + 0.05
    assert more["mlp"][1]["features"] == "products"
    assert more["cosine"] == plain["cosine"]


def test_the_same_again_and_another_seed() -> None:
    assert detected(PLAN, easy=True) == found()
    assert found(replace(PLAN, seed=2))["mlp"] != found()["mlp"]


def test_the_decision_on_a_pair_does_not_depend_on_the_others() -> None:
    development, groups = pairs(200, 1), [str(row) for row in range(200)]
    test = pairs(60, 2)
    halves = [
        LabelledVectors(test.source[part], test.target[part], test.labels[part])
        for part in (slice(0, 25), slice(25, 60))
    ]
    whole, *parts = (
        {
            n: f.accuracy.value * f.pairs
            for n, f, _ in measure_detectors(development, groups, t, PLAN)
        }
        for t in (test, *halves)
    )
    for name, right in whole.items():
        assert right == pytest.approx(sum(part[name] for part in parts))


def test_too_few_pairs() -> None:
    few = pairs(4, 1)
    with pytest.raises(InputError, match="too few pairs"):
        list(measure_detectors(few, list("abcd"), few, PLAN))


def test_a_tenth_of_the_sentences_stops_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """All other pairs are trained on, and none that shares a sentence with that tenth."""
    used = []

    def fit(*arguments: Any) -> Any:
        used.append(arguments[1])
        return fit_classifier(*arguments)

    monkeypatch.setattr(paraphrases, "fit_classifier", fit)
    development, groups = pairs(200, 1), [str(row // 2) for row in range(200)]
    list(measure_detectors(development, groups, pairs(50, 2), PLAN))
    ((first, stopping),) = used
    assert sorted([*first, *stopping]) == list(range(200))
    assert len(stopping) == 20
    assert not {groups[row] for row in first} & {groups[row] for row in stopping}
