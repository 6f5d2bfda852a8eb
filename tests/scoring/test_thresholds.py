"""Thresholds in a model folder: what is written comes back, what is damaged is named."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import ModelError
from bitextfilter.models.folders import THRESHOLDS
from bitextfilter.scoring.measures import THRESHOLD_MEASURES
from bitextfilter.scoring.thresholds import (
    Threshold,
    merge_thresholds,
    printable_line,
    read_thresholds,
    write_thresholds,
)

ONE = Threshold(
    use="filtering",
    measure="mlp",
    threshold=0.25,
    goal="f1",
    precision=0.5,
    recall=1,
    f1=2 / 3,
    noise_share=0.3,
    rows=200,
    file="clean.tsv",
    command="bitext-evaluate filtering --suggest-threshold clean.tsv",
    model="0123456789ab",
    version="0.1.0",
)
MINED = replace(ONE, use="mining", measure="csls", threshold=-0.1, noise_share=None)


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    write_thresholds(tmp_path, [ONE, MINED])
    assert read_thresholds(tmp_path) == [ONE, MINED]


def test_a_folder_without_the_file_has_none(tmp_path: Path) -> None:
    assert read_thresholds(tmp_path) == []
    write_thresholds(tmp_path, [])
    assert read_thresholds(tmp_path) == []


PARTS = st.floats(0, 1)


@given(
    st.floats(allow_nan=False, allow_infinity=False), PARTS, st.sampled_from(THRESHOLD_MEASURES),
    st.text().map(printable_line), st.integers(min_value=1),
)  # fmt: skip
def test_any_threshold_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    threshold: float, part: float, measure: str, text: str, rows: int,
) -> None:  # fmt: skip
    made = replace(
        ONE, measure=measure, threshold=threshold, recall=part, rows=rows % 10**9 + 1, file=text
    )
    folder = tmp_path_factory.mktemp("any")
    write_thresholds(folder, [made])
    assert read_thresholds(folder) == [made]


def test_the_newer_of_two_is_kept_in_the_order_of_uses_and_measures() -> None:
    newer, other = replace(ONE, threshold=0.5), replace(ONE, goal="precision>=0.99")
    cosine = replace(ONE, measure="cosine")
    assert merge_thresholds([ONE, MINED, cosine], [other, newer]) == [cosine, newer, other, MINED]


def test_printable() -> None:
    assert printable_line("a\tb\nc\udcffé") == "a?b?c?é"
    assert printable_line("") == "?"


def record(**changes: Any) -> dict[str, Any]:
    return {"format": 1, "thresholds": [asdict(ONE), {**asdict(MINED), **changes}]}


def without(name: str) -> dict[str, Any]:
    whole = record()
    del whole["thresholds"][1][name]
    return whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "unreadable thresholds"),
        ('{"format": 1, "thresholds": [', "unreadable thresholds"),
        (b"\xff", "unreadable thresholds"),
        ("[" * 100_000, "unreadable thresholds"),
        ("[]", "not a file of thresholds"),
        ({}, "not a file of thresholds"),
        ({"format": 1}, "not a file of thresholds"),
        ({"format": True, "thresholds": []}, "not a file of thresholds"),
        ({"format": 1, "thresholds": {}}, "not a file of thresholds"),
        ({"format": 2, "thresholds": []}, "format 2 is newer than 1"),
        ({"format": 1, "thresholds": [3]}, "threshold 1: not an object"),
        (record(use="aligning"), "threshold 2: use 'aligning' is none of filtering, mining"),
        (record(use=["mining"]), "threshold 2: use ['mining'] is none of"),
        (record(measure="bleu"), "threshold 2: measure 'bleu' is none of cosine"),
        (record(threshold="0.5"), "threshold 2: threshold '0.5' is no number"),
        (record(threshold=True), "threshold 2: threshold True is no number"),
        (record(threshold=float("nan")), "threshold 2: threshold nan is no number"),
        (record(threshold=float("inf")), "threshold 2: threshold inf is no number"),
        (record(threshold=10**400), "threshold 2: threshold 1000"),
        (record(precision=1.01), "threshold 2: precision 1.01 is no number from 0 to 1"),
        (record(f1=None), "threshold 2: f1 None is no number from 0 to 1"),
        (record(noise_share=0.5), "threshold 2: noise_share is not of mining"),
        (record(use="filtering"), "threshold 2: noise_share None is no number from 0 to 1"),
        (record(rows=0), "threshold 2: rows 0 is no number of rows"),
        (record(rows=2.5), "threshold 2: rows 2.5 is no number of rows"),
        (record(file=""), "threshold 2: file '' is no line of text"),
        (record(command="a\nb"), "threshold 2: command 'a\\nb' is no line of text"),
        (record(model=7), "threshold 2: model 7 is no line of text"),
        (record(colour="red"), "threshold 2: 'colour' is unknown"),
        (without("goal"), "threshold 2: goal is missing"),
        (record(**asdict(ONE)), "threshold 2: filtering mlp f1 stands twice"),
    ],
)
def test_damage_is_named(tmp_path: Path, content: Any, message: str) -> None:
    text = json.dumps(content) if isinstance(content, dict) else content
    path = tmp_path / THRESHOLDS
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ModelError) as raised:
        read_thresholds(tmp_path)
    (line,) = str(raised.value).splitlines()
    assert line.startswith(f"{path}: {message}")


def test_a_folder_in_its_place_is_damage(tmp_path: Path) -> None:
    (tmp_path / THRESHOLDS).mkdir()
    with pytest.raises(ModelError, match="unreadable thresholds"):
        read_thresholds(tmp_path)
