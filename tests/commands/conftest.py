"""The toy model that most commands are tested with; no test changes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from toys import toy_model


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the toy model."""
    return toy_model(tmp_path_factory.mktemp("models") / "toy")


@pytest.fixture(scope="session")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model with a calibration, so that it has every measure."""
    return toy_model(tmp_path_factory.mktemp("models") / "toy", calibrated=True)


@pytest.fixture(scope="session")
def model(folder: Path) -> Path:
    """The same; a file of tests may give what was read from it this name."""
    return folder
