"""Files of a folder by name, for its digest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bitextfilter.errors import NotFoundError
from bitextfilter.io.records import DIGESTS, folder_files, paths_within
from bitextfilter.models.folders import full_model_digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b" / "empty").mkdir(parents=True)
    for name in ("a", "b/c", "b/.d", DIGESTS):
        (tmp_path / name).write_text(name)
    return tmp_path


def test_all_that_is_below_a_folder(folder: Path) -> None:
    assert paths_within(folder) == sorted(folder.rglob("*"))
    assert list(folder_files(folder)) == ["a", "b/.d", "b/c"]
    assert paths_within(folder / "missing") == paths_within(folder / "a") == []


@pytest.mark.parametrize("place", ["", "b"])
def test_a_folder_that_cannot_be_listed_is_not_empty(
    folder: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the digest would be another, and damage would not be seen."""
    real = os.scandir

    def listed(path: str) -> object:
        if Path(path) == folder / place:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", listed)
    with pytest.raises(NotFoundError, match="Permission denied"):
        full_model_digest(folder)
