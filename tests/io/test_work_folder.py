"""The folder that a run can be gone on from: whose it is, and what is finished in it."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from bitextfilter.errors import InputError, OutputError, SettingsError
from bitextfilter.io.work_folder import Manifest, Shard, check_plan, kept_folder, passing_folder

SHARD = Shard(3, "pairs.tsv", "/data/pairs.tsv", 0, 100, 50, 151, 151, digest="abc")
PLAN = {"command": "bitext-score", "--digits": "4"}


def test_a_finished_shard_is_known_by_its_text(tmp_path: Path) -> None:
    with kept_folder(tmp_path / "parts", PLAN) as folder:
        assert folder.finished(SHARD) is None
        folder.finish(SHARD, {"counts": {"rows": 50}})
        assert folder.finished(replace(SHARD, path="/elsewhere")) == {"counts": {"rows": 50}}
        with pytest.raises(SettingsError, match=r"pairs.tsv:151-200 has changed since"):
            folder.finished(replace(SHARD, digest="abd"))


def test_what_is_finished_stays_until_the_folder_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "new" / "parts"
    with kept_folder(path, PLAN) as folder:
        folder.finish(SHARD, {"counts": {}})
    with kept_folder(path, PLAN) as folder:
        assert folder.finished(SHARD) == {"counts": {}}
        (path / ".000004.output.0123456789ab.partial").touch()
        folder.file(4, "rejects").touch()
    folder.empty()
    assert list(tmp_path.glob("new/*")) == []


@pytest.mark.parametrize("most", range(7))
def test_emptying_that_is_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    remove, left = Path.unlink, iter(range(most))

    def remove_some(path: Path, missing_ok: bool = False) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        remove(path, missing_ok)

    monkeypatch.setattr(Path, "iterdir", lambda path: iter([*sorted(path.glob("*"))][::-1]))
    with kept_folder(tmp_path, PLAN) as folder:
        for index in range(3):
            folder.file(index, "output").touch()
            folder.finish(replace(SHARD, index=index), {})
    monkeypatch.setattr(Path, "unlink", remove_some)
    with suppress(KeyboardInterrupt):
        folder.empty()
    monkeypatch.undo()
    for index in range(3):
        finished = folder.finished(replace(SHARD, index=index))
        assert finished is None or folder.file(index, "output").exists()


def test_a_folder_that_another_run_has_by_now_is_left_to_it(tmp_path: Path) -> None:
    with kept_folder(tmp_path / "parts", PLAN) as folder:
        folder.file(0, "output").touch()
        folder.finish(replace(SHARD, index=0), {})
        folder.empty()
        assert folder.finished(replace(SHARD, index=0)) == {}
    folder.empty()
    folder.empty()
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    with kept_folder(tmp_path, PLAN) as folder:
        folder.file(0, "output").touch()
    (tmp_path / "mine.txt").touch()
    folder.empty()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(SettingsError, match="holds no earlier run"), kept_folder(tmp_path, PLAN):
        pass


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({**PLAN, "--digits": "2"}, "is of another run: --digits was 4, now it is 2"),
        ({"command": "bitext-score"}, "--digits was 4, now it is not given"),
        ({**PLAN, "--similarity": "mlp"}, "--similarity was not given, now it is mlp"),
    ],
)
def test_the_folder_of_another_run_is_refused(
    tmp_path: Path, plan: dict[str, str], message: str
) -> None:
    with kept_folder(tmp_path / "parts", PLAN):
        pass
    with pytest.raises(SettingsError, match=message), kept_folder(tmp_path / "parts", plan):
        pass


def test_a_damaged_plan_is_named(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("[")
    remedy = "plan.json: damaged; remove the folder"
    with pytest.raises(InputError, match=remedy), kept_folder(tmp_path, PLAN):
        pass


def test_groups_of_a_plan_are_compared_by_name(tmp_path: Path) -> None:
    was = {"training": {"seed": 1, "rates": [0.1, 0.2]}, "model": None}
    check_plan(tmp_path, was, {**was, "training": {"rates": (0.1, 0.2), "seed": 1}})
    now = {**was, "training": {"rates": [0.1, 0.2], "seed": 2}}
    with pytest.raises(SettingsError, match=r"training\.seed was 1, now it is 2; go on"):
        check_plan(tmp_path, was, now)


def test_a_passing_folder_stands_beside_the_output_and_goes(tmp_path: Path) -> None:
    with passing_folder(str(tmp_path / "out")) as folder:
        assert folder.path.parent == tmp_path
        folder.finish(SHARD, {})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "parts"
    with pytest.raises(OutputError, match="cannot be made"), kept_folder(path, PLAN):
        pass


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


MANIFEST = Manifest(
    "0.1.0", ["bitext-score", "--scol", "de"], {"rows": 3}, 1.5, 2.0, {"seed": 1}, ["tokens"]
)


def test_a_manifest_is_json(tmp_path: Path) -> None:
    MANIFEST.write(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_bytes()) == {
        "version": "0.1.0",
        "command": ["bitext-score", "--scol", "de"],
        "counts": {"rows": 3},
        "seconds": 1.5,
        "rows_per_second": 2.0,
        "facts": {"seed": 1},
        "compiled": ["tokens"],
    }


def test_a_manifest_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        MANIFEST.write(tmp_path / "nowhere" / "run.json")
