"""Yields of cuts, AUC, shares and agreement against counting by hand and published values."""

from __future__ import annotations

import io
import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.judge.evaluation import (
    FEWEST,
    JudgedRows,
    Standard,
    YieldSettings,
    cohen_kappa,
    column_auc,
    disagreements_table,
    good_shares,
    judged_rows,
    judgement_result,
    krippendorff_alpha,
    measure_agreement,
    standard_of,
    weighted_auc,
    yields,
)
from bitextfilter.judge.judgements import (
    Judgements,
    Label,
    LabelReader,
    RowSample,
    SampledRow,
    labels_text,
    parse_scale,
)

Row = tuple[float, str, float, float]
"""Score, reason, weight, and share of good labels."""

SCORES = st.sampled_from([math.nan, -1.0, 0.0, 0.25, 0.5, 2.0])
REASONS = st.sampled_from(["near-cut", "above:9", "rule:length"])
ROW = st.tuples(
    SCORES, REASONS, st.sampled_from([1.0, 2.5, 40.0]), st.sampled_from([0.0, 0.5, 1.0])
)
ROWS = st.lists(ROW, max_size=15).map(
    lambda rows: [(0.5, "near-cut", 2.0, 1.0), (0.25, "near-cut", 3.0, 0.0), *rows]
)
QUICK = Bootstrap(5)


def judgements(rows: list[Row], unlabelled: list[Row] | None = None) -> Judgements:
    """Labels by two annotators, who differ where half are good; none of *unlabelled* rows."""
    every = [*rows, *(unlabelled or [])]
    sampled = [
        SampledRow(f"s{n}", f"t{n}", (score,), n + 1, reason, weight)
        for n, (score, reason, weight, _) in enumerate(every)
    ]
    labels: dict[str, dict[int, Label]] = {"a": {}, "b": {}}
    for place, (*_, good) in enumerate(rows):
        for name, is_good in (("a", good > 0), ("b", good > 0.5)):
            row, word = sampled[place], "good" if is_good else "bad"
            labels[name][place] = Label(row.row, row.pair, word, "good-bad", name)
    return Judgements(RowSample("s.tsv", ("mlp",), sampled), parse_scale("good-bad"), labels)


GOOD = Standard(("good",))


def judged(rows: list[Row], unlabelled: list[Row] | None = None) -> JudgedRows:
    return judged_rows(judgements(rows, unlabelled), GOOD, "labels.tsv")


def naive(rows: list[Row], cut: float) -> list[float]:
    """Rows, precision, recall and F1, row by row."""
    kept = right = good = 0.0
    for score, reason, weight, share in rows:
        good += weight * share
        if score >= cut and not reason.startswith("rule:"):
            kept += weight
            right += weight * share
    precision = right / kept if kept else math.nan
    return [kept, precision, right / good, 2 * right / (kept + good)]


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_cuts_are_those_of_counting(rows: list[Row]) -> None:
    wanted = YieldSettings(["mlp"], (0.3, 9.0), bootstrap=QUICK)
    cuts = yields(judged(rows), "mlp", wanted)
    for cut in cuts:
        found = [estimate.value for estimate in cut.figures.values()]
        assert found == pytest.approx(naive(rows, cut.cut), nan_ok=True)
        kept = [s >= cut.cut and not r.startswith("rule:") for s, r, *_ in rows]
        assert cut.labels == sum(kept)
    marks = {mark: cut for cut in cuts for mark in cut.mark.split(", ") if mark}
    assert {cut.cut for cut in cuts if "asked" in cut.mark} == {0.3, 9.0}
    candidates = {s for s, r, *_ in rows if not math.isnan(s) and not r.startswith("rule:")}
    best = max(naive(rows, cut)[3] for cut in candidates)
    assert marks["best f1"].figures["f1"].value == pytest.approx(best)
    assert marks["best f1"].cut == min(
        cut for cut in candidates if naive(rows, cut)[3] >= best - 1e-12
    )


def naive_auc(rows: list[Row]) -> float:
    wins = pairs = 0.0
    free = [(s if s == s else -math.inf, w, g) for s, r, w, g in rows if not r.startswith("rule:")]
    for one, weight, good in free:
        for other, mass, share in free:
            amount = weight * good * mass * (1 - share)
            pairs += amount
            wins += amount * ((one > other) + (one == other) / 2)
    return wins / pairs if pairs else math.nan


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_auc_is_that_of_counting(rows: list[Row]) -> None:
    assert column_auc(judged(rows), "mlp", QUICK).value == pytest.approx(naive_auc(rows))


def test_weighted_auc() -> None:
    scores, good = np.array([1.0, 2.0, 2.0]), np.array([0.0, 1.0, 0.0])
    assert weighted_auc(scores, good)([np.array([3.0, 1.0, 1.0])]) == pytest.approx(3.5 / 4)
    assert np.isnan(weighted_auc(scores, np.ones(3))([np.ones(3)]))


def test_weights_are_raised_within_strata() -> None:
    labelled: list[Row] = [(0.5, "a", 2.0, 1.0), (0.1, "a", 4.0, 0.0), (0.2, "b", 5.0, 0.5)]
    others: list[Row] = [(0.3, "a", 6.0, 0.0), (0.3, "c", 7.0, 0.0)]
    rows = judged(labelled, others)
    assert rows.weights.tolist() == [4.0, 8.0, 5.0]
    assert rows.reasons == ("a", "b") and rows.unlabelled == {"c": 7.0}
    assert good_shares(rows, QUICK)[0].tolist() == pytest.approx([1 / 3, 0.5])


def test_the_wanted_precision_needs_labels() -> None:
    tail: list[Row] = [(2.0, "a", 1.0, 1.0)] * (FEWEST - 1)
    rows: list[Row] = [(1.0, "a", 1.0, 0.0), *tail]
    settings_of = YieldSettings(["mlp"], precision=0.95, bootstrap=QUICK)
    assert not any("precision" in cut.mark for cut in yields(judged(rows), "mlp", settings_of))
    (cut,) = (
        cut
        for cut in yields(judged([*rows, *tail]), "mlp", settings_of)
        if "precision>=0.95" in cut.mark
    )
    assert cut.cut == 2.0


def test_intervals_cover_the_truth() -> None:
    """Of 40 samples of a known corpus, some 38 intervals of the precision hold the truth."""
    generator = np.random.default_rng(2)
    held = 0
    for _ in range(40):
        rows: list[Row] = []
        for reason, size, share in (("a", 900.0, 0.2), ("b", 100.0, 0.7), ("c", 500.0, 0.9)):
            rows += [(1.0, reason, size / 30, float(generator.random() < share)) for _ in range(30)]
        cuts = yields(judged(rows), "mlp", YieldSettings(["mlp"], bootstrap=Bootstrap(200)))
        precision = cuts[0].figures["precision"]
        held += precision.low <= (900 * 0.2 + 100 * 0.7 + 500 * 0.9) / 1500 <= precision.high
    assert 33 <= held <= 40


def test_labels_of_one_kind_are_refused() -> None:
    with pytest.raises(InputError, match=r"^labels\.tsv: every label is bad; label rows"):
        judged([(0.5, "a", 2.0, 0.0), (0.1, "a", 4.0, 0.0)])
    with pytest.raises(InputError, match="every label is good"):
        judged([(0.5, "a", 2.0, 1.0)])


@pytest.mark.parametrize(
    ("scale", "good", "right", "wrong"),
    [
        ("good-bad", None, ["good"], ["bad"]),
        ("labels=V,F,A", None, ["V"], ["F", "A"]),
        ("labels=V,F,A", "V,F", ["V", "F"], ["A"]),
        ("0-100", None, ["50", "99"], ["49.9", "0"]),
        ("0-100", "80", ["80"], ["79"]),
    ],
)
def test_standards(scale: str, good: str | None, right: list[str], wrong: list[str]) -> None:
    standard = standard_of(parse_scale(scale), good)
    assert all(map(standard.is_good, right)) and not any(map(standard.is_good, wrong))
    for name, no_good in (("good-bad", "fine"), ("0-1", "2"), ("0-1", "x")):
        with pytest.raises(SettingsError, match="is not"):
            standard_of(parse_scale(name), no_good)


def test_the_table_has_all_kinds() -> None:
    whole = judgements([(0.5, "a", 2.0, 1.0), (0.1, "a", 4.0, 0.0), (0.2, "b", 5.0, 0.5)])
    wanted = YieldSettings(["mlp"], bootstrap=QUICK)
    result = judgement_result(whole, judged_rows(whole, GOOD, "x"), GOOD, wanted)
    lines = [line.split("\t") for line in result.text().decode().splitlines()]
    assert {len(line) for line in lines} == {len(lines[0])}
    kinds = [line[0] for line in lines[1:] if line[0] != "cut"]
    assert kinds == ["auc", "reason", "reason", "agreement", "kappa", "alpha"]
    assert b"NaN" not in result.text(as_json=True)


PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=20)
UNITS = st.lists(st.lists(st.integers(0, 4).map(float), max_size=4), min_size=1, max_size=12)


def naive_kappa(pairs: list[tuple[str, str]]) -> float:
    n = len(pairs)
    equal = sum(a == b for a, b in pairs) / n
    chance = sum(
        sum(a == label for a, _ in pairs) / n * sum(b == label for _, b in pairs) / n
        for label in "abc"
    )
    return math.nan if chance > 1 - 1e-12 else (equal - chance) / (1 - chance)


@given(PAIRS)
def test_kappa(pairs: list[tuple[str, str]]) -> None:
    one, other = zip(*pairs, strict=True)
    assert cohen_kappa(one, other) == pytest.approx(naive_kappa(pairs), nan_ok=True)


def test_kappa_of_a_table() -> None:
    """The example of Wikipedia's page on Cohen's kappa: 20, 5, 10, 15 give 0.4."""
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(*zip(*pairs, strict=True)) == pytest.approx(0.4)
    assert math.isnan(cohen_kappa("aa", "aa")) and math.isnan(cohen_kappa("", ""))


def naive_alpha(units: list[list[float]], nominal: bool) -> float:
    """By the matrix of coincidences, as in Krippendorff 2011."""
    paired = [unit for unit in units if len(unit) > 1]
    matrix: dict[tuple[float, float], float] = {}
    for unit in paired:
        for pair in permutations(range(len(unit)), 2):
            key = (unit[pair[0]], unit[pair[1]])
            matrix[key] = matrix.get(key, 0) + 1 / (len(unit) - 1)
    values = sorted({value for unit in paired for value in unit})
    totals = {v: sum(matrix.get((v, w), 0) for w in values) for v in values}
    n = sum(totals.values())
    delta = {(v, w): float(v != w) if nominal else (v - w) ** 2 for v in values for w in values}
    observed = sum(matrix.get(key, 0) * d for key, d in delta.items()) / n if n else 0
    expected = sum(totals[v] * totals[w] * d for (v, w), d in delta.items())
    return 1 - observed / (expected / (n * (n - 1))) if expected else math.nan


@given(UNITS, st.booleans())
def test_alpha(units: list[list[float]], nominal: bool) -> None:
    found = krippendorff_alpha(units, nominal)
    assert found == pytest.approx(naive_alpha(units, nominal), nan_ok=True)


def test_alpha_of_published_data() -> None:
    """Krippendorff 2011, section C: twelve units, four observers, gaps."""
    table = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    columns = zip(*(line.split() for line in table), strict=True)
    units = [[float(value) for value in column if value != "."] for column in columns]
    assert krippendorff_alpha(units, nominal=True) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(units) == pytest.approx(0.849, abs=5e-4)


def labelled(scale: str, *columns: list[str]) -> Judgements:
    """Labels of annotators a, b, ...; an empty one is none."""
    rows = [SampledRow(f"s{n}", f"t{n}", (), n + 1, "x", 1.0) for n in range(len(columns[0]))]
    reader = LabelReader(RowSample("sample.tsv", (), rows))
    labels = [
        Label(row.row, row.pair, label, scale, name)
        for name, column in zip("abc", columns, strict=False)
        for row, label in zip(rows, column, strict=True)
        if label
    ]
    reader.read(io.BytesIO(labels_text(labels)), "labels.tsv")
    return reader.judgements("labels.tsv")


def test_each_two_and_all() -> None:
    whole = labelled(
        "good-bad", ["good", "bad", "bad", ""], ["good", "good", "bad", "bad"], ["", "", "", "bad"]
    )
    found = {(f.measure, f.annotators): (f.rows, f.value) for f in measure_agreement(whole, None)}
    assert found["agreement", ("a", "b")] == (3, pytest.approx(2 / 3))
    assert found["kappa", ("a", "b")] == (3, pytest.approx(0.4))
    assert found["agreement", ("b", "c")] == (1, 1.0)
    assert ("agreement", ("a", "c")) not in found
    assert found["alpha", ("a", "b", "c")][0] == 4
    assert disagreements_table(whole) == [
        ["row", "source", "target", "a", "b", "c"],
        ["2", "s1", "t1", "bad", "good", ""],
    ]


def test_numbers_agree_on_the_verdict() -> None:
    whole = labelled("0-100", ["10", "60", "100"], ["34", "40", "76"])
    (agreement, *_) = measure_agreement(whole, 50.0)
    assert agreement.value == pytest.approx(2 / 3)
    assert disagreements_table(whole)[1:] == []
    (found,) = disagreements_table(labelled("0-100", ["10", "60"], ["35", "61"]))[1:]
    assert found == ["1", "s0", "t0", "10", "35"]
    assert measure_agreement(labelled("0-100", ["10", "60"]), 50.0) == []
