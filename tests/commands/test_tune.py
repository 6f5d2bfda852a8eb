"""bitext-tune: from a grid to a table, with interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import toys
from click.testing import Result
from console import heeding, invoke

from bitextfilter.commands.tune import main
from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.scoring.model import load
from bitextfilter.training.encoder_training import EncoderTraining
from bitextfilter.tuning.trials import read_grid

GRID = """
architecture = "averaging"
[shape]
embedding = 8
[segmentation]
kind = "none"
[training]
"translation,autoencoding" = [[0, 0]]
batch_size = 16
validate_every = 2
passes = [1, 2]
[[rule]]
name = "length"
maximum = [5, 6, 8]
"""


def made(folder: Path) -> Path:
    """A folder with pairs, a human score for some, and a grid of six points."""
    toys.training_home(folder, {})
    pairs = (folder / "dev.tsv").read_text().splitlines(keepends=True)
    (folder / "sts.tsv").write_text("".join(f"{i % 6}\t{pair}" for i, pair in enumerate(pairs)))
    (folder / "grid.toml").write_text(GRID)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that came to its end, which no test changes."""
    folder = made(tmp_path_factory.mktemp("tuned"))
    result = tune(folder, "--manifest", folder / "run.json", "--models", folder / "models")
    assert result.stdout == ""
    (folder / "said").write_text(result.stderr)
    return folder


def command(home: Path, *more: object) -> list[str]:
    line = [home / "grid.toml", "--languages", "aa,ba", "--development", home / "dev.tsv"]
    line += ["--pairs", home / "train.tsv"] if "--no-pairs" not in more else []
    line += ["-o", home / "tuning.tsv", *(part for part in more if part != "--no-pairs")]
    return [str(part) for part in line]


def tune(home: Path, *more: object, code: int = 0) -> Result:
    processes = () if "--processes" in more else ("--processes", 1)
    return invoke(main, *command(home, *processes, *more), code=code)


def table(path: Path) -> list[dict[str, str]]:
    header, *rows = (line.split("\t") for line in path.read_text().splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


def timeless(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_every_point_stands_in_the_table_best_first(tuned: Path) -> None:
    rows = table(tuned / "tuning.tsv")
    points = {(row["training.passes"], row["length.maximum"]) for row in rows}
    assert points == {(passes, maximum) for passes in "12" for maximum in "568"}
    errors = [float(row["recovery_error"]) for row in rows]
    assert errors == sorted(errors) and all(0 <= error <= 100 for error in errors)
    manifest = json.loads((tuned / "run.json").read_text())
    assert manifest["counts"] == {"points": 6, "trained": 6, "failed": 0}
    assert manifest["facts"]["best"] == rows[0]["point"]
    assert f"point {rows[0]['point']}: training.passes=" in (tuned / "said").read_text()
    assert load(tuned / "models" / rows[0]["point"]).languages == ("aa", "ba")
    assert len(list((tuned / "models").iterdir())) == 6


def test_an_interrupted_run_goes_on(
    tuned: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = table(tuned / "tuning.tsv")
    ran: list[object] = []
    run = EncoderTraining.run

    def counted(self: EncoderTraining) -> object:
        ran.append(self)
        if len(ran) == 3:
            raise KeyboardInterrupt
        return run(self)

    monkeypatch.setattr(EncoderTraining, "run", counted)
    work = home / "work"
    work.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(work))
    tune(home, code=130)
    assert len(table(home / "tuning.tsv")) == 2
    listed = tune(home, "--dry-run").stdout.splitlines()
    states = ["state", *2 * ["finished"], *4 * ["to train"]]
    assert [line.split("\t")[1] for line in listed] == states
    tune(home)
    assert len(ran) == 3 + 4
    assert timeless(table(home / "tuning.tsv")) == timeless(whole)
    tune(home)
    assert len(ran) == 3 + 4
    assert list(work.iterdir()) == []


@pytest.mark.gate(0)
def test_a_real_ctrl_c_leaves_a_whole_table_of_the_same_figures(home: Path) -> None:
    (home / "grid.toml").write_text(GRID.replace("passes = [1, 2]", f"seed = {list(range(200))}"))
    line = [*heeding("bitext-tune"), *command(home, "--processes", 2)]
    running = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (home / "tuning.tsv").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGINT)
    stderr = running.communicate(timeout=60)[1]
    assert running.returncode == 130 and stderr.endswith("bitext-tune: interrupted\n")
    rows = table(home / "tuning.tsv")
    assert 1 <= len(rows) < 600 and all(row["recovery_error"] for row in rows)
    assert [path for path in home.iterdir() if path.name.startswith(".")] == []
    seed, maximum = rows[0]["training.seed"], rows[0]["length.maximum"]
    one = GRID.replace("passes = [1, 2]", f"seed = {seed}").replace("[5, 6, 8]", maximum)
    (home / "grid.toml").write_text(one)
    tune(home, "-o", home / "alone.tsv")
    assert timeless(table(home / "alone.tsv")) == timeless(rows[:1])


def test_the_points_are_listed_without_training(home: Path) -> None:
    result = tune(home, "--dry-run")
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines[0][:4] == ["point", "state", "training.passes", "length.maximum"]
    assert [line[2:4] for line in lines[1:]] == [[p, m] for p in "12" for m in "568"]
    assert not (home / "tuning.tsv").exists()
    assert read_grid(home / "grid.toml").names == lines[0][2:]


def test_sts_is_a_figure_of_its_own(home: Path) -> None:
    """Blank human scores are counted."""
    tune(home, "--sts", home / "sts.tsv")
    rows = table(home / "tuning.tsv")
    figures = [float(row["pearson"]) for row in rows]
    assert figures == sorted(figures, reverse=True) and len(figures) == 6
    assert "no table of recovery_error" in tune(home, code=78).stderr
    best = GRID.replace("[5, 6, 8]", rows[0]["length.maximum"])
    (home / "grid.toml").write_text(best.replace("[1, 2]", rows[0]["training.passes"]))
    (home / "sts.tsv").write_text((home / "sts.tsv").read_text() + "\ta1\tb1\n \ta1\tb2\n")
    result = tune(home, "--sts", home / "sts.tsv", "-o", home / "other.tsv")
    assert "2 without a score" in result.stderr
    assert table(home / "other.tsv")[0]["pearson"] == rows[0]["pearson"]
    (home / "sts.tsv").write_text("1\ta1\ta2\n1\ta1\ta3\n")
    language = ["--sts", home / "sts.tsv", "--sts-language", "aa"]
    assert "constant scores have no correlation" in tune(home, *language, code=65).stderr


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """No point may be trained."""

    def trained(*_: object) -> None:
        raise AssertionError("trained")

    monkeypatch.setattr(EncoderTraining, "__init__", trained)


def test_files_of_pairs_are_tried_one_by_one(home: Path) -> None:
    files = [str(home / name) for name in ("train.tsv", "dev.tsv")]
    (home / "grid.toml").write_text(f"pairs = {files}\n{GRID}".replace("[5, 6, 8]", "8"))
    tune(home, "--no-pairs")
    found = [(row["pairs"], row["trained_pairs"]) for row in table(home / "tuning.tsv")]
    assert sorted(found) == sorted(2 * [(files[0], "60"), (files[1], "20")])


def test_no_figure_at_all_is_an_error(home: Path) -> None:
    (home / "grid.toml").write_text(GRID.replace("[5, 6, 8]", "[1, 2]"))
    last = tune(home, code=65).stderr.splitlines()[-1]
    assert last.endswith(
        "tuning.tsv: no point has a figure; the notes in the table have the reasons"
    )
    assert {row["note"] for row in table(home / "tuning.tsv")} == {"no pair passes the rules"}
    (home / "grid.toml").write_text(GRID.replace("[5, 6, 8]", "[1, 8]"))
    assert "2 trained, 2 failed" in tune(home).stderr
    (home / "train.tsv").write_text("a1\tb1\na2\n")
    assert "train.tsv:2: 1 column" in tune(home, code=65).stderr


def test_initial_vectors(home: Path) -> None:
    grid = GRID.replace("[5, 6, 8]", "8").replace("[1, 2]", "1\nlearning_rate = 1e-9")
    (home / "grid.toml").write_text(grid)
    tune(home)
    (home / "v.vec").write_text("a1 1 2 3 4 5 6 7 8\n")
    for _ in range(2):
        more = ("--embeddings", home / "v.vec", "--models", home / "models")
        assert "1 trained" in tune(home, *more).stderr
        (home / "v.vec").write_text("a1 8 7 6 5 4 3 2 1\n")
    assert len(table(home / "tuning.tsv")) == 3
    found = []
    for folder in (home / "models").iterdir():
        made = ENCODERS.load(folder)
        (one,) = made.network.piece_tables()
        found.append(one.weight[made.processor.vocabulary.index["a1"]].tolist())
    expected = [[*range(1, 9)], [*range(8, 0, -1)]]
    assert sorted(found) == [pytest.approx(row, rel=0.01) for row in expected]
    assert "no training pairs" in tune(home, "--no-pairs", "-o", home / "x.tsv", code=78).stderr


STS = "1\ta1\tb1\n2\ta2\tb2\n{}\n3\ta1\tb1\n"


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize(
    ("change", "more", "code", "message"),
    [
        (("sts.tsv", STS.format("good\ta\tb")), "--sts sts.tsv", 65,
         "sts.tsv:3: the human score 'good' is no number"),
        (("sts.tsv", STS.format("nan\ta\tb")), "--sts sts.tsv", 65,
         "sts.tsv:3: the human score 'nan' is no number"),
        (("sts.tsv", STS.format("1\t\tb")), "--sts sts.tsv", 65, "sts.tsv:3: the source is empty"),
        (("sts.tsv", STS.format("1\ta")), "--sts sts.tsv", 65,
         "sts.tsv:3: 2 columns, expected at least 3 (column 3)"),
        (("grid.toml", GRID.replace("averaging", "trigram")), "--embeddings v.vec", 78,
         "--embeddings has no effect: the architecture trigram has no vectors"),
        (("grid.toml", GRID.replace('"averaging"', '["word", "trigram"]').replace("[[0, 0]]",
          "[[0, 0], [1, 1]]")), "", 78, "a decoder needs pieces, and the architecture trigram"),
        (("grid.toml", GRID.replace("averaging", "pivot").replace('"translation,autoencoding" ='
          " [[0, 0]]", "")), "", 78, "pivot, and no other, is trained on pairs with a third"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_files_is_said_before_training(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: tuple[str, str],
    more: str,
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(home)
    Path("v.vec").touch()
    Path(change[0]).write_text(change[1])
    assert message in tune(home, *more.split(), code=code).stderr
    assert not (home / "tuning.tsv").exists()
