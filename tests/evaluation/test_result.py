"""Results as tables and as JSON, and their signatures."""

from __future__ import annotations

import json
import math

from bitextfilter import __version__
from bitextfilter.evaluation.result import Estimate, Result, interval, signature

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
