"""A combiner that learns from labels, its curve, and labels on several scales."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.judge import combining
from bitextfilter.judge.combining import Judge, LearningCurve
from bitextfilter.judge.evaluation import standard_of
from bitextfilter.judge.judgements import Judgements, Label, RowSample, SampledRow, parse_scale
from bitextfilter.judge.scales import label_aucs, on_one_scale
from bitextfilter.scoring.score_combiner import Combiner
from bitextfilter.training.combiner import CombinerSettings

RANDOM = np.random.default_rng(3)
ROWS = [
    SampledRow(
        f"s{n}", f"t{n}", (float(a), float(b)), n + 1, "rule:x" if n > 135 else "a", 1 + n % 2
    )
    for n, (a, b) in enumerate(RANDOM.normal(size=(140, 2)))
]
TRUTH = [
    row.scores[0] + row.scores[1] + noise
    for row, noise in zip(ROWS, RANDOM.normal(size=140), strict=True)
]
SAMPLE = RowSample("s.tsv", ("mlp", "ratio"), ROWS)


def labels(who: str, scale: str, values: list[str]) -> Judgements:
    own = {
        n: Label(r.row, r.pair, v, scale, who)
        for n, (r, v) in enumerate(zip(ROWS, values, strict=False))
    }
    return Judgements(SAMPLE, parse_scale(scale), {who: own})


NUMBERS = labels("llm", "0-100", [f"{50 + 20 * np.tanh(x):.1f}" for x in TRUTH])
WORDS = labels(
    "anna", "labels=V,F,A", ["VF"[n % 2] if x > 0 else "A" for n, x in enumerate(TRUTH[:120])]
)
BOTH = Judgements(SAMPLE, NUMBERS.scale, {**NUMBERS.labels, **WORDS.labels})


def test_labels_on_several_scales_become_verdicts() -> None:
    alike, standard, told = on_one_scale(BOTH, "V,F")
    assert told == ">=50 of 0-100; V,F of labels=V,F,A" and standard.words == ("good",)
    assert all(
        (alike.labels["anna"][n].label == "good") == (x > 0) for n, x in enumerate(TRUTH[:120])
    )
    assert on_one_scale(BOTH, "60")[2] == ">=60 of 0-100; V of labels=V,F,A"
    with pytest.raises(SettingsError, match="'x' is on none of the scales 0-100, labels=V,F,A"):
        on_one_scale(BOTH, "x")
    (figure,) = label_aucs(BOTH, on_one_scale(BOTH, "V,F")[0], Bootstrap(20))
    assert (figure.annotators, figure.rows) == (("llm", "anna"), 120)
    numbers = [float(label.label) for label in NUMBERS.labels["llm"].values()]
    sides = [(a > b) + (a == b) / 2 for a, x in zip(numbers, TRUTH[:120], strict=False) if x > 0
             for b, y in zip(numbers, TRUTH[:120], strict=False) if y <= 0]  # fmt: skip
    value, low, high = figure.value  # type: ignore[misc]
    assert value == pytest.approx(np.mean(sides)) and low <= value <= high
    assert label_aucs(NUMBERS, NUMBERS, Bootstrap(5)) == []


def test_the_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    learnt: list[np.ndarray] = []
    train = combining.train_combiner

    def spy(scores: np.ndarray, *others: Any) -> Combiner:
        learnt.append(scores)
        return train(scores, *others)

    monkeypatch.setattr(combining, "train_combiner", spy)
    monkeypatch.setattr(combining, "_DRAWS", 2)
    monkeypatch.setattr(combining, "SIZES", (25, 100, 200))
    judges = [
        Judge("labels", NUMBERS, standard_of(NUMBERS.scale, None), "l"),
        Judge("people", WORDS, standard_of(WORDS.scale, "V,F"), "p"),
    ]
    curve = LearningCurve(judges, SAMPLE.scores, CombinerSettings(), Bootstrap(20))
    found = curve.result().groups["results"]
    one, _, *others, last = (record for record in found if record["judge"] == "people")
    assert [record["labels"] for record in (one, *others, last)] == [None, 25, 100, 108]
    assert last["rows"] == 120 and last["enough"] and last["less"] == (0, 0, 0)
    assert last["auc"].value > one["auc"].value and not one["enough"]
    every = np.array([row.scores for row in ROWS])
    weights, good = np.array([row.weight for row in ROWS[:120]]), np.array(TRUTH[:120]) > 0
    values = []
    for scores in curve._held_out[108]:
        beats = np.sign(scores[:120][good][:, None] - scores[:120][~good])
        mass = weights[good][:, None] * weights[~good]
        values.append(float((mass * (beats + 1) / 2).sum() / mass.sum()))
    assert last["auc"].value == pytest.approx(np.mean(values))
    # No row of a rule, and no row scored by a combiner that learnt from it.
    assert {tuple(row) for part in learnt for row in part} == set(map(tuple, every[:136]))
    assert Counter(map(len, learnt)) == {25: 10, 100: 10, 108: 10}
    for fold, part in enumerate(part for part in learnt if len(part) == 108):
        own = [int(np.flatnonzero((every == row).all(axis=1))[0]) for row in part]
        combined = train(part, curve._grades[own], curve._columns, curve.settings)(every)
        left = np.setdiff1d(np.arange(136), own)
        assert np.isclose(combined, curve._held_out[108][fold // 5])[left].sum() >= len(left) - 2


def test_each_first_part_has_its_share_of_good_labels() -> None:
    kinds = np.array([1] * 90 + [0] * 10 + [-1] * 5)
    order = combining._mixed(kinds, np.arange(100), 1)
    for size in (20, 30, 50, 100):
        assert abs((kinds[order[:size]] == 0).sum() - size / 10) <= 1
    assert sorted(order.tolist()) == list(range(100))
