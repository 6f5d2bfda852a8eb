"""Manifests read back, good and bad."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bitextfilter.errors import InputError, NotFoundError
from bitextfilter.io.work_folder import Manifest
from bitextfilter.reports.survey import FilterRun, fields_of, read_run

COUNTS = {"rows": 10, "kept": 7, "dropped": 2, "rejected": 1}
RULES = {"length-ratio": {"dropped": 2, "unique": 1}, "identical": {"dropped": 1, "unique": 0}}


def written(path: Path, facts: dict[str, Any], counts: dict[str, int] = COUNTS) -> str:
    Manifest("0.1.0", ["bitext-filter", "-i", "x y"], counts, 1.5, 6.7, facts).write(path)
    return str(path)


def test_drops_of_rules(tmp_path: Path) -> None:
    run = FilterRun(written(tmp_path / "filter.json", {"rules": RULES}))
    assert run.rules == {"length-ratio": (2, 1), "identical": (1, 0)}
    assert (run.name, run.counts) == ("filter.json", COUNTS)


@pytest.mark.parametrize(
    ("facts", "counts"),
    [
        ({}, COUNTS),
        ({"rules": 3}, COUNTS),
        ({"rules": {"a": {"dropped": 1}}}, COUNTS),
        ({"rules": {"a": {"dropped": "many", "unique": 1}}}, COUNTS),
        ({"rules": {"a": 1}}, COUNTS),
        ({"rules": RULES}, {"rows": 1}),
    ],
)
def test_no_manifest_of_a_filter(
    tmp_path: Path, facts: dict[str, Any], counts: dict[str, int]
) -> None:
    path = written(tmp_path / "run.json", facts, counts)
    with pytest.raises(InputError, match=r"run\.json: no drops of rules in it; give the file"):
        FilterRun(path)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000, b"1" * 5000])
def test_no_json(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"run\.json: no JSON: .*; give a file that --manifest"):
        read_run(str(path))


@pytest.mark.parametrize("data", [b"[]", b'"text"', b"null"])
def test_json_that_is_no_manifest(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"run\.json: no manifest: a JSON object is expected"):
        read_run(str(path))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_run(str(tmp_path / "run.json"))


def test_fields(tmp_path: Path) -> None:
    run = read_run(written(tmp_path / "run.json", {"seed": 3, "a": {"b": [1, {"c": None}]}}))
    assert fields_of(run) == [
        ("version", "0.1.0"),
        ("command", "bitext-filter -i 'x y'"),
        ("counts › rows", "10"),
        ("counts › kept", "7"),
        ("counts › dropped", "2"),
        ("counts › rejected", "1"),
        ("seconds", "1.5"),
        ("rows_per_second", "6.7"),
        ("facts › seed", "3"),
        ("facts › a › b › 1", "1"),
        ("facts › a › b › 2 › c", "null"),
    ]
    assert fields_of({"n": 1234567, "t": True, "l": ["a b", 2], "e": {}, "x": []}) == [
        ("n", "1234567"),
        ("t", "true"),
        ("l", "'a b' 2"),
        ("e", "{}"),
        ("x", ""),
    ]


def test_fields_however_deep() -> None:
    deep = json.loads('{"a":' * 900 + "1" + "}" * 900)
    ((place, text),) = fields_of(deep)
    assert place.startswith("a › a › a") and text.endswith("}")
