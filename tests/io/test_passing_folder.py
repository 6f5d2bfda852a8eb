"""Where the folder of a run is that nobody names."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from bitextfilter.io.work_folder import passing_folder


@pytest.mark.parametrize("beside", ["-", "/dev/null", "no/such/folder/out"])
def test_beside_what_is_no_file_it_is_in_tmpdir(beside: str) -> None:
    with passing_folder(beside) as folder:
        assert folder.path.parent == Path(tempfile.gettempdir()).resolve()
    assert not folder.path.exists()


def test_beside_a_file(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    for name in ("old", "new"):
        with passing_folder(str(tmp_path / name)) as folder:
            assert folder.path.parent == tmp_path.resolve()
        assert not folder.path.exists()
