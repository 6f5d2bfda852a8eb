"""Results as tables and as JSON, and their signatures."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from bitextfilter import __version__
from bitextfilter.arrays import Floats
from bitextfilter.evaluation.result import (
    Bootstrap,
    Estimate,
    Result,
    estimates,
    interval,
    resamples,
    signature,
)

RECORDS = [
    {"name": "\u00e9", "auc": Estimate(0.51239, 0.5, -math.inf), "sets": ("a", "b"), "at": 0.1},
    {"name": "b", "auc": None, "sets": (), "at": math.nan, "unseen": True, "rows": 2},
]
COLUMNS = {"name": ".4f", **interval("auc", form=".2f"), "at": "", "sets": "", "rows": ".4f"}
RESULT = Result("try", COLUMNS, {"results": RECORDS[:1], "means": RECORDS[1:]}, {"rows": 7})


def test_a_table_has_a_line_for_each_record() -> None:
    assert RESULT.text().decode().splitlines() == [
        "name\tauc\tauc_low\tauc_high\tat\tsets\trows",
        "\u00e9\t0.51\t0.50\t-inf\t0.1\t2\t7",
        "b\t-\t-\t-\t-\t0\t2",
    ]


def test_other_cells() -> None:
    records = [{"a": flag, "b": None} for flag in (True, False, None)]
    found = Result("try", {"a": "", "b": ""}, {"results": records}, missing="").text()
    assert found == b"a\tb\nyes\t\nno\t\n\t\n"


def test_json_has_all_values_unrounded() -> None:
    first = {"name": "\u00e9", "auc": {"value": 0.51239, "low": 0.5, "high": None}}
    second = {"name": "b", "auc": None, "sets": [], "at": None, "unseen": True, "rows": 2}
    text = RESULT.text(as_json=True).decode()
    assert json.loads(text) == {
        "task": "try",
        "rows": 7,
        "results": [{**first, "sets": ["a", "b"], "at": 0.1}],
        "means": [second],
    }
    assert "\u00e9" in text and text.endswith("}\n")


def test_a_signature() -> None:
    line = signature("auc = 0.9870", n=1500, kind="all")
    assert line == f"auc = 0.9870 | n=1500 kind:all v:{__version__}"
    assert signature(unit="tokens") == f"unit:tokens v:{__version__}"


FEW = np.array([3.0, 1.0, 6.0, 2.0])
MANY = np.array([300.0, 100.0, 600.0, 200.0])


@pytest.mark.parametrize("counts", [FEW, MANY], ids=["by row", "by cell"])
def test_counts_are_multinomial(counts: Floats) -> None:
    drawn = np.array([one for (one,) in resamples([counts], Bootstrap(20_000, seed=1))])
    rows = counts.sum()
    parts = counts / rows
    assert (drawn.sum(axis=1) == rows).all()
    assert (drawn == drawn.round()).all() and drawn.min() >= 0
    assert drawn.mean(axis=0) == pytest.approx(counts, rel=0.02)
    covariance = rows * (np.diag(parts) - np.outer(parts, parts))
    assert np.cov(drawn.T) == pytest.approx(covariance, rel=0.08, abs=0.02 * rows / 4)


def test_strata_are_drawn_each_by_itself() -> None:
    drawn = list(resamples([FEW, MANY], Bootstrap(2000, seed=1)))
    assert {(one.sum(), other.sum()) for one, other in drawn} == {(FEW.sum(), MANY.sum())}
    first = np.array([(one[0], other[0]) for one, other in drawn])
    assert abs(np.corrcoef(first.T)[0, 1]) < 0.06


def test_the_interval_of_a_mean() -> None:
    """Of n rows that are 0 or 1: the normal approximation is close."""
    counts = np.array([600.0, 400.0])
    value, low, high = estimates(
        [counts], lambda strata: np.array(strata[0][1] / strata[0].sum()), Bootstrap(4000, 3)
    )
    half = 1.96 * np.sqrt(0.4 * 0.6 / 1000)
    assert value == 0.4
    assert (low, high) == pytest.approx((0.4 - half, 0.4 + half), abs=0.003)


def test_figures_keep_their_shape() -> None:
    found = estimates([FEW, MANY], lambda strata: np.stack([strata[0], strata[1]]), Bootstrap(5))
    assert found.shape == (3, 2, 4)
    assert (found[0] == [FEW, MANY]).all()
    assert (found[1] <= found[2]).all()
