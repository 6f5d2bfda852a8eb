"""Paraphrases: detectors and coverage of a lexicon, against naive versions."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.papers import paraphrases
from bitextfilter.papers.paraphrases import (
    RECALL_RANKS,
    Detection,
    DetectionConfig,
    Facts,
    best_first,
    best_threshold,
    explained,
    majority,
    measure_detection,
    measure_detectors,
    measure_lexicon,
)
from bitextfilter.similarity.vectors import cosine_pairs
from bitextfilter.training.classifier import fit_classifier
from bitextfilter.training.labelled_pairs import LabelledVectors

DECIDED = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30)


@given(DECIDED)
def test_accuracy_and_f1(rows: list[tuple[bool, bool]]) -> None:
    found, labels = (np.array(column) for column in zip(*rows, strict=True))
    result = measure_detection(found, labels, Bootstrap(3))
    assert result.accuracy.value == pytest.approx(
        sum(one == other for one, other in rows) / len(rows)
    )
    right = rows.count((True, True))
    if right:
        precision, recall = (
            right / sum(yes for yes, _ in rows),
            right / sum(label for _, label in rows),
        )
        assert result.f1.value == pytest.approx(2 / (1 / precision + 1 / recall))
    else:
        assert result.f1.value == 0
    assert (result.pairs, result.paraphrases) == (len(rows), sum(label for _, label in rows))


def test_intervals_are_those_of_pairs_drawn_anew() -> None:
    """Of accuracy by the normal approximation; of F1 by drawing rows, not cells."""
    generator = np.random.default_rng(3)
    labels = generator.random(800) < 0.6
    found = labels ^ (generator.random(800) < 0.25)
    result = measure_detection(found, labels, Bootstrap(3000, seed=2))
    value, low, high = result.accuracy
    half = 1.96 * np.sqrt(value * (1 - value) / 800)
    assert (low, high) == pytest.approx((value - half, value + half), abs=0.005)
    drawn = []
    for _ in range(3000):
        rows = generator.integers(0, 800, 800)
        both = np.sum(found[rows] & labels[rows])
        drawn.append(2 * both / (found[rows].sum() + labels[rows].sum()))
    assert result.f1[1:] == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.006)


def test_another_number_of_decisions() -> None:
    for rows in (np.zeros(3, dtype=bool), np.zeros(0, dtype=bool)):
        with pytest.raises(ValueError, match="decisions"):
            measure_detection(rows, rows[:-1], Bootstrap(1))


@given(st.lists(st.booleans(), min_size=1))
def test_the_majority(labels: list[bool]) -> None:
    assert majority(np.array(labels)) == (labels.count(True) >= labels.count(False))


SCORED = st.lists(
    st.tuples(st.sampled_from([-1.0, -0.25, 0.0, 0.1, 0.5, 1.0]), st.booleans()),
    min_size=1,
    max_size=20,
)


@given(SCORED)
def test_the_best_threshold(rows: list[tuple[float, bool]]) -> None:
    """No number does better on the same pairs, and no lower score as well."""
    scores = np.array([score for score, _ in rows], dtype=np.float32)
    labels = np.array([label for _, label in rows])
    threshold = best_threshold(scores, labels)

    def right(cut: float) -> int:
        return int(np.sum((scores >= cut) == labels))

    assert all(right(cut) <= right(threshold) for cut in [*scores.tolist(), -2.0, 2.0])
    assert all(right(cut) < right(threshold) for cut in scores[scores < threshold].tolist())
    assert -1 <= threshold <= np.nextafter(np.float32(1), np.float32(2))


def sentences(count: int, seed: int) -> list[tuple[list[str], list[str]]]:
    random = np.random.default_rng(seed)
    words = [*"abcdefgh", ".", "!"]
    sides = ([[words[i] for i in random.integers(0, 10, random.integers(1, 7))]
              for _ in range(count)] for _ in "xy")  # fmt: skip
    return list(zip(*sides, strict=True))


def entries(seed: int) -> list[tuple[str, list[str], float]]:
    random = np.random.default_rng(seed)
    return [
        (str(random.choice([*"abcdef"])), [str(w) for w in random.choice([*"abcdefgh"], size)],
         float(random.integers(0, 4)))
        for size in random.integers(1, 4, 80)
    ]  # fmt: skip


def inside(part: list[str], whole: list[str]) -> bool:
    starts = range(len(whole) - len(part) + 1)
    return any(whole[i : i + len(part)] == part for i in starts)


def naive(pairs: list[tuple[list[str], list[str]]], some: list[tuple[str, list[str], float]]) -> list[float]:  # fmt: skip # noqa: E501
    differ, hits = 0, [0, 0, 0]
    for source, target in pairs:
        for word in set(source) - set(target) - {".", "!"}:
            differ += 1
            own = [entry for entry in some if entry[0] == word]
            own.sort(key=lambda entry: -entry[2])
            for place, rank in enumerate(RECALL_RANKS):
                hits[place] += any(inside(entry[1], target) for entry in own[:rank])
    return [differ, *hits]


def test_counts_and_recalls_are_those_of_naive_loops() -> None:
    pairs, some = sentences(60, 1), entries(2)
    best = best_first(some)
    expected = naive(pairs, some)
    assert explained(pairs, best).sum(axis=0).tolist() == expected
    found = measure_lexicon(pairs, best, Bootstrap(200, 3))
    assert [row.rank for row in found] == list(RECALL_RANKS)
    for row, hits in zip(found, expected[1:], strict=True):
        assert row.recall.value == pytest.approx(100 * hits / expected[0])
        assert row.recall.low < row.recall.value < row.recall.high
        assert row.words == expected[0]
    assert 0 < expected[1] < expected[3] < expected[0]


def test_random_pairs_have_targets_of_others() -> None:
    """Each pair has words of its own: nothing is explained by a target of another."""
    pairs = [([f"a{n}"], [f"b{n}"]) for n in range(9)]
    best = {f"a{n}": [[f"b{n}"]] for n in range(9)}
    for seed in range(20):
        found = measure_lexicon(pairs, best, Bootstrap(10, seed))
        assert all((row.recall.value, row.random) == (100, 0) for row in found)
    every = {f"a{n}": [[f"b{m}"] for m in range(9)] for n in range(9)}
    assert [row.random for row in measure_lexicon(pairs, every, Bootstrap(10))][2] == 100


def test_nothing_that_differs_has_no_recall() -> None:
    found = measure_lexicon([(["a"], ["a"])] * 2, {}, Bootstrap(10))
    assert all(math.isnan(row.recall.value) and row.words == 0 for row in found)


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
