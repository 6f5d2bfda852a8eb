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
from click.testing import CliRunner, Result
from console import heeding

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


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with pairs, a human score for some, and a grid of six points."""
    for name, count, seed in (("train", 60, 1), ("dev", 20, 2)):
        pairs = list(zip(*toys.sentences(count, seed), strict=True))
        (tmp_path / f"{name}.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs))
    judged = "".join(f"{i % 6}\t{s}\t{t}\n" for i, (s, t) in enumerate(pairs))
    (tmp_path / "sts.tsv").write_text(judged)
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path


def command(home: Path, *more: object) -> list[str]:
    line = [home / "grid.toml", "--languages", "aa,ba", "--development", home / "dev.tsv"]
    line += ["--pairs", home / "train.tsv"] if "--no-pairs" not in more else []
    line += ["-o", home / "tuning.tsv", *(part for part in more if part != "--no-pairs")]
    return [str(part) for part in line]


def tune(home: Path, *more: object, code: int = 0) -> Result:
    processes = () if "--processes" in more else ("--processes", 1)
    result = CliRunner().invoke(main, command(home, *processes, *more))
    assert result.exit_code == code, result.output
    return result


def table(path: Path) -> list[dict[str, str]]:
    header, *rows = (line.split("\t") for line in path.read_text().splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


def timeless(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_every_point_stands_in_the_table_best_first(home: Path) -> None:
    result = tune(home, "--manifest", home / "run.json", "--models", home / "models")
    rows = table(home / "tuning.tsv")
    assert result.stdout == ""
    assert {(row["training.passes"], row["length.maximum"]) for row in rows} == {
        (passes, maximum) for passes in "12" for maximum in "568"
    }
    errors = [float(row["recovery_error"]) for row in rows]
    assert errors == sorted(errors) and all(0 <= error <= 100 for error in errors)
    manifest = json.loads((home / "run.json").read_text())
    assert manifest["counts"] == {"points": 6, "trained": 6, "failed": 0}
    assert manifest["facts"]["best"] == rows[0]["point"]
    assert f"point {rows[0]['point']}: training.passes=" in result.stderr
    assert load(home / "models" / rows[0]["point"]).languages == ("aa", "ba")
    assert len(list((home / "models").iterdir())) == 6


def test_an_interrupted_run_goes_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(home)
    whole = table(home / "tuning.tsv")
    (home / "tuning.tsv").unlink()
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
    assert [line.split("\t")[1] for line in listed] == ["state"] + 2 * ["finished"] + 4 * [
        "to train"
    ]
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
    tune(home, "--sts", home / "sts.tsv")
    figures = [float(row["pearson"]) for row in table(home / "tuning.tsv")]
    assert figures == sorted(figures, reverse=True) and len(figures) == 6
    assert "no table of recovery_error" in tune(home, code=78).stderr
    (home / "sts.tsv").write_text("1\ta1\ta2\n1\ta1\ta3\n")
    language = ["--sts", home / "sts.tsv", "--sts-language", "aa"]
    assert "constant scores have no correlation" in tune(home, *language, code=65).stderr


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """No point may be trained."""

    def trained(*_: object) -> None:
        raise AssertionError("trained")

    monkeypatch.setattr(EncoderTraining, "__init__", trained)


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("good\ta\tb", "the human score 'good' is no number"),
        ("nan\ta\tb", "the human score 'nan' is no number"),
        ("1\t\tb", "the source is empty"),
        ("1\ta", "2 columns, expected at least 3 (column 3)"),
    ],
)
def test_a_bad_human_score_ends_the_run_before_training(home: Path, row: str, message: str) -> None:
    (home / "sts.tsv").write_text(f"1\ta1\tb1\n2\ta2\tb2\n{row}\n3\ta1\tb1\n")
    assert f"sts.tsv:3: {message}" in tune(home, "--sts", home / "sts.tsv", code=65).stderr
    assert not (home / "tuning.tsv").exists()


def test_blank_human_scores_are_counted(home: Path) -> None:
    (home / "grid.toml").write_text(GRID.replace("[5, 6, 8]", "8").replace("[1, 2]", "1"))
    tune(home, "--sts", home / "sts.tsv")
    (found,) = table(home / "tuning.tsv")
    (home / "sts.tsv").write_text((home / "sts.tsv").read_text() + "\ta1\tb1\n \ta1\tb2\n")
    result = tune(home, "--sts", home / "sts.tsv", "-o", home / "other.tsv")
    assert "2 without a score" in result.stderr
    assert table(home / "other.tsv")[0]["pearson"] == found["pearson"]


def test_files_of_pairs_are_tried_one_by_one(home: Path) -> None:
    files = [str(home / name) for name in ("train.tsv", "dev.tsv")]
    (home / "grid.toml").write_text(f"pairs = {files}\n{GRID}")
    tune(home, "--no-pairs")
    rows = table(home / "tuning.tsv")
    assert len(rows) == 12 and {row["pairs"] for row in rows} == set(files)
    every = {(row["pairs"], row["trained_pairs"]) for row in rows if row["length.maximum"] == "8"}
    assert every == {(files[0], "60"), (files[1], "20")}


def test_no_figure_at_all_is_an_error(home: Path) -> None:
    (home / "grid.toml").write_text(GRID.replace("[5, 6, 8]", "[1, 2]"))
    last = tune(home, code=65).stderr.splitlines()[-1]
    assert last.endswith(
        "tuning.tsv: no point has a figure; the notes in the table have the reasons"
    )
    assert {row["note"] for row in table(home / "tuning.tsv")} == {"no pair passes the rules"}
    (home / "grid.toml").write_text(GRID.replace("[5, 6, 8]", "[1, 8]"))
    assert "2 trained, 2 failed" in tune(home).stderr


@pytest.mark.usefixtures("untrained")
def test_a_point_whose_decoder_has_nothing_to_write_ends_the_run_before_training(
    home: Path,
) -> None:
    grid = GRID.replace('"averaging"', '["word", "trigram"]').replace(
        "[[0, 0]]", "[[0, 0], [1, 1]]"
    )
    (home / "grid.toml").write_text(grid)
    assert (
        "a decoder needs pieces, and the architecture trigram reads" in tune(home, code=78).stderr
    )
    assert not (home / "tuning.tsv").exists()


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


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize(
    ("architecture", "text", "code", "message"),
    [
        ("word", "a1 1 2", 65, "v.vec: vectors of 2 numbers, expected 8; set shape.embedding=2"),
        ("word", None, 66, "v.vec: cannot be opened"),
        ("trigram", "", 78, "--embeddings has no effect: the architecture trigram has no vectors"),
    ],
)
def test_initial_vectors_that_do_not_fit_end_the_run_before_training(
    home: Path, architecture: str, text: str | None, code: int, message: str
) -> None:
    (home / "grid.toml").write_text(GRID.replace("averaging", architecture))
    if text is not None:
        (home / "v.vec").write_text(f"{text}\n")
    result = tune(home, "--embeddings", home / "v.vec", code=code)
    assert message in result.stderr.splitlines()[-1]
    assert not (home / "tuning.tsv").exists()


@pytest.mark.usefixtures("untrained")
def test_what_takes_pairs_with_a_third_language_ends_the_run_before_training(home: Path) -> None:
    grid = GRID.replace('"averaging"', '"pivot"')
    (home / "grid.toml").write_text(grid.replace('"translation,autoencoding" = [[0, 0]]', ""))
    assert (
        "pivot, and no other, is trained on pairs with a third language"
        in tune(home, code=78).stderr
    )
    assert not (home / "tuning.tsv").exists()


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize("more", [("-o", "grid.toml/tuning.tsv"), ("--models", "grid.toml/models")])
def test_what_cannot_be_written_ends_the_run_before_training(
    home: Path, more: tuple[str, str]
) -> None:
    assert "cannot be written" in tune(home, more[0], home / more[1], code=74).stderr


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--no-pairs"], 78, "no training pairs"),
        (["--pairs", "missing.tsv"], 66, "missing.tsv: cannot be opened"),
        (["--sts-language", "aa"], 2, "--sts-language needs --sts"),
        (["--scol", "name"], 2, "'name' is not a number"),
        (["--languages", "aa"], 2, "two languages"),
        (["--pairs", "-"], 2, "files are read more than once"),
        (["--development", "-"], 2, "files are read more than once"),
        (["--sts", "-"], 2, "files are read more than once"),
        (["-o", "-"], 2, "--output needs a file of its own"),
    ],
)
def test_what_is_wrong_is_said_before_training(
    home: Path, more: list[str], code: int, message: str
) -> None:
    assert message in tune(home, *more, code=code).stderr
    assert not (home / "tuning.tsv").exists()


def test_a_bad_row_ends_the_run(home: Path) -> None:
    (home / "train.tsv").write_text("a1\tb1\na2\n")
    assert "train.tsv:2: 1 column" in tune(home, code=65).stderr
