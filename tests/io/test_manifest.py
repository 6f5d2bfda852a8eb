"""Manifests: plain JSON, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bitextfilter.errors import OutputError
from bitextfilter.io.manifest import Manifest

MANIFEST = Manifest("0.1.0", ["bitext-score", "--scol", "de"], {"rows": 3}, 1.5, 2.0, {"seed": 1})


def test_a_manifest_is_json(tmp_path: Path) -> None:
    MANIFEST.write(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_bytes()) == {
        "version": "0.1.0",
        "command": ["bitext-score", "--scol", "de"],
        "counts": {"rows": 3},
        "seconds": 1.5,
        "rows_per_second": 2.0,
        "facts": {"seed": 1},
    }


def test_a_manifest_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        MANIFEST.write(tmp_path / "nowhere" / "run.json")
