"""Files of a folder by name, for its digest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.io.records import (
    DIGESTS,
    file_of,
    folder_files,
    paths_within,
    read_record,
    write_digests,
    write_record,
)
from bitextfilter.models.folders import check_folder, copy_model, full_model_digest


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


@pytest.fixture
def sharing(tmp_path: Path) -> Path:
    """A folder that shares a file with another."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "large").write_text("the same")
        (tmp_path / name / "config.json").write_text(f'{{"format": 1, "name": "{name}"}}')
    write_digests(tmp_path / "one")
    return tmp_path / "one"


def test_a_file_of_two_folders_is_there_once(sharing: Path, tmp_path: Path) -> None:
    digest, other = full_model_digest(sharing), tmp_path / "other"
    files = read_record(sharing / DIGESTS)["files"]
    write_record(sharing / DIGESTS, {"files": files, "shared": {"large": "other"}})
    (sharing / "large").unlink()
    assert file_of(sharing, "large").samefile(other / "large")
    assert full_model_digest(sharing) == digest
    write_digests(sharing)
    assert full_model_digest(sharing) == digest
    check_folder(sharing)
    copy_model(sharing, tmp_path / "copy")
    assert full_model_digest(tmp_path / "copy") == digest
    assert (tmp_path / "copy" / "large").read_text() == "the same"
    (other / "large").write_text("another")
    with pytest.raises(ModelError, match="large: damaged"):
        check_folder(sharing)
    (other / "large").unlink()
    with pytest.raises(
        NotFoundError, match=r"missing from the model folder; it is that of .*other"
    ):
        check_folder(sharing)


@pytest.mark.parametrize("shared", [{"../large": "other"}, {"large": ".."}, {"large": 1}, ["x"]])
def test_nothing_is_shared_from_elsewhere(sharing: Path, shared: object) -> None:
    write_record(sharing / DIGESTS, {"files": {}, "shared": shared})
    (sharing / "large").unlink()
    assert list(folder_files(sharing)) == ["config.json"]
    assert file_of(sharing, "large") == sharing / "large"
