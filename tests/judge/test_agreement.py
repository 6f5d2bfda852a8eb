"""Agreement against the definitions, written out, and against published values."""

from __future__ import annotations

import io
import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.judge.evaluation import (
    cohen_kappa,
    disagreements_table,
    krippendorff_alpha,
    measure_agreement,
)
from bitextfilter.judge.judgements import (
    Judgements,
    Label,
    LabelReader,
    RowSample,
    SampledRow,
    labels_text,
)

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


def judged(scale: str, *columns: list[str]) -> Judgements:
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
    whole = judged(
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
    whole = judged("0-100", ["10", "60", "100"], ["34", "40", "76"])
    (agreement, *_) = measure_agreement(whole, 50.0)
    assert agreement.value == pytest.approx(2 / 3)
    assert disagreements_table(whole)[1:] == []
    (found,) = disagreements_table(judged("0-100", ["10", "60"], ["35", "61"]))[1:]
    assert found == ["1", "s0", "t0", "10", "35"]
    assert measure_agreement(judged("0-100", ["10", "60"]), 50.0) == []
