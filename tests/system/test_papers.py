"""The scripts of examples/papers, on a small folder of data."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from console import ROOT

from bitextfilter.settings import read_settings
from bitextfilter.workflows.encoder_training import EncoderConfig

PAPERS = ROOT / "examples" / "papers"
SETS = ("sts2012.one", "sts2012.two", "sts2013.one", "sts2013.two", "sts2014.one", "sts2014.two",
        "sts2015.one", "sts2015.two", "stsb.en", "sick2014")  # fmt: skip


def write(path: Path, rows: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{row}\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def run(
    script: str, *words: object, commands: Iterable[str] = ()
) -> subprocess.CompletedProcess[str]:
    search = os.pathsep.join([*commands, "/usr/local/bin", "/usr/bin", "/bin"])
    return subprocess.run(
        [str(PAPERS / script), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PATH": search, "OMP_NUM_THREADS": "1"},
    )


def table(done: subprocess.CompletedProcess[str]) -> dict[str, list[str]]:
    """Cells of a Markdown table by the first cell of each row; every row has as many."""
    assert (done.returncode, done.stderr) == (0, "")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()]
    assert len({len(row) for row in rows}) == 1
    assert set("".join(rows[1])) <= set("-:")
    return {row[0]: row[1:] for row in rows[2:]}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    late, delayed = "Train {} is late today.", "Today train {} has a delay."
    german = [f"{text.format(i)}\tZug {i} hat Verspätung." for i in range(200, 340)
              for text in (late, delayed)]  # fmt: skip
    write(folder / "train/en-de/one.tsv.gz", german)
    write(folder / "train/en-de/two.research.tsv.gz", ["not for us\tZug 207 hat Verspätung."])
    write(folder / "train/en-de/software.tsv.gz", ["nor for us\tZug 207 hat Verspätung."])
    write(folder / "train/en-fr/one.tsv.gz", [
        f"{late.format(7)}\tLe train 7 est en retard",
        f"{late.format(7).upper()}\tLe train 7 est en retard",
        "Seven is late\tLE TRAIN 7, est en retard!",
        f"{late.format(200)}\tLe train 200 est en retard",
        f"{delayed.format(200)}\tLe train 200 est en retard",
    ])  # fmt: skip
    judged = [f"{i % 5}\tTrain {200 + i} is late today.\tToday train {200 + i * i % 9} has a delay."
              for i in range(20)]  # fmt: skip
    for name in SETS:
        write(folder / f"test/sts/{name}.tsv", judged)
    return folder


def test_english_sentences_of_one_translation_are_pairs(data: Path) -> None:
    done = run("make-paraphrases.sh", data)
    assert (done.returncode, done.stderr) == (0, "")
    pairs = [frozenset(line.split("\t")) for line in done.stdout.splitlines()]
    french = {frozenset({"Train 7 is late today.", "Seven is late"}),
              frozenset({"TRAIN 7 IS LATE TODAY.", "Seven is late"})}  # fmt: skip
    german = {frozenset({f"Train {i} is late today.", f"Today train {i} has a delay."})
              for i in range(200, 340)}  # fmt: skip
    assert len(pairs) == len(set(pairs)) == 141
    assert german < set(pairs) and len(french & set(pairs)) == 1


def test_a_model_is_trained_measured_shown_and_kept(
    data: Path, tmp_path: Path, commands: Path
) -> None:
    search = [str(commands), str(Path(sys.executable).parent)]
    rows = table(run("paper3.sh", data, tmp_path, "word-1", commands=search))
    assert set(rows) == {"word", "theirs: WORD,TRIGRAM"}
    mega, *figures, seconds, _, theirs = rows["word"]
    assert (mega, theirs) == ("1", "82.3")
    assert len(set(figures)) == 1 and -100 <= float(figures[0]) <= 100
    assert int(seconds) >= 0
    assert len((tmp_path / "dev.tsv").read_text().splitlines()) == 3
    again = run("paper3.sh", data, tmp_path, "word-1")
    assert table(again) == rows
    unknown = run("paper3.sh", data, tmp_path, "word-2", commands=search)
    assert unknown.returncode != 0 and "no model is called word-2" in unknown.stderr


def finished(output: Path, name: str, log: str = "", **tables: list[str]) -> None:
    """What a finished model leaves behind."""
    write(output / name / "config.json", ["{}"])
    write(output / f"{name}.log", [log, f"bitext-train-encoder: 9 updates, {len(name)}.4 s"])
    for ending, rows in tables.items():
        write(output / f"{name}.{ending}", rows)


def correlations(**values: float | str) -> list[str]:
    return [
        f"{name.replace('_', ' ')}\t1\t9\t0\t{value}\t0\t0\t20.00\t0\t0\tsignature"
        for name, value in values.items()
    ]


def test_the_table_of_detection_and_its_noise(data: Path, tmp_path: Path) -> None:
    def detected(accuracy: float) -> list[str]:
        more = {"majority": 0.0, "cosine": 0.01, "mlp": 0.02}
        return [f"{method}\t{accuracy + add}\t0\t0\t0.8" for method, add in more.items()]

    runs = "x: 9 pairs\nx: 9 pairs, 1 left out"
    finished(tmp_path, "gran-30-none", runs, msrpc=detected(0.6), products=detected(0.7),
             sts=correlations(sick2014=51.26, mean_sts2014="-"))  # fmt: skip
    rows = table(run("paper4.sh", data, tmp_path, "gran-30-none"))
    assert rows["gran"] == [
        "30", "none", "61.0/80.0", "62.0/80.0", "72.0/80.0", "0.51", "-/0.20", "> 12"
    ]  # fmt: skip
    assert rows["majority"][2] == "60.0/80.0"
    clean, noisy = (
        [line.split("\t") for line in (tmp_path / f"train-{rate}.tsv").read_text().splitlines()]
        for rate in (0, 30)
    )
    assert [row[0] for row in clean] == [row[0] for row in noisy]
    changed = sum(one != other for one, other in zip(clean, noisy, strict=True))
    assert 0.2 < changed / len(clean) < 0.4
    assert {row[1] for row in noisy} < {row[1] for row in clean}


def test_the_table_of_bilingual_models(data: Path, tmp_path: Path) -> None:
    recovery = [f"{name}\t0\t0\t{error}\tx" for name in ("csls", "cosine") for error in (2.0, 3.0)]
    finished(tmp_path, "wordtrigram", rec=recovery, sts=correlations(**{"stsb.en": 71.66}),
             speed=["0.50"])  # fmt: skip
    rows = table(run("bilingual.sh", data, tmp_path, "wordtrigram"))
    assert rows == {"word,trigram": ["2.50", "2.50", "71.7", "11", "30", "0"]}


def test_the_pivot_is_trained_on_open_pairs_with_french_and_measured(tmp_path: Path) -> None:
    output, asked = tmp_path / "out", tmp_path / "asked"
    stubs = {
        "train-encoder": ['echo "x: 9 en-fr pairs" >&2', 'echo "x: 9 de-fr pairs" >&2',
                          'echo "x: 9 updates, 7.4 s" >&2', f'mkdir {output}/pivot.training',
                          f'printf "%s\\n" "$@" > {asked}'],
        "evaluate": ['for last; do :; done; error=3; [ "${last#*en-de}" = "$last" ] || error=2',
                     'printf "cosine\\t0\\t0\\t5\\tx\\ncsls\\t0\\t0\\t$error\\tx\\n"'],
    }  # fmt: skip
    for name, lines in stubs.items():
        write(tmp_path / "bin" / f"bitext-{name}", ["#!/bin/sh", *lines])
        (tmp_path / "bin" / f"bitext-{name}").chmod(0o755)
    for _ in range(2):
        rows = table(run("pivot.sh", tmp_path / "da ta", output, commands=[str(tmp_path / "bin")]))
        assert rows == {"pivot": ["2.50", "5.00", "7"]}
    words = asked.read_text().splitlines()
    for kind, pair, count in (("source", "en-fr", 6), ("target", "de-fr", 3)):
        files = [word for word in words if word.startswith(f"--{kind}-pivot=")]
        assert len(files) == count
        assert all(f"={tmp_path}/da ta/train/{pair}/" in word for word in files)
    assert not any(".research." in word for word in words)
    plan = EncoderConfig.from_dict(read_settings(PAPERS / "pivot.json"))
    assert words[words.index("--settings") + 1] == str(PAPERS / "pivot.json")
    assert plan.architecture == "pivot" and plan.training.ranking == 0


def test_the_table_of_lengths(data: Path, tmp_path: Path) -> None:
    header = ["pearson", "architecture", "length.minimum", "length.maximum", "seconds"]
    points = ["50.06\tword\t0\t10\t7.4", "\tgran\t0\t10\t1.0", "40\tword\t20\t30\t2"]
    write(tmp_path / "points.tsv", ["\t".join(header), *points])
    stub = tmp_path / "bin" / "bitext-tune"
    write(stub, ["#!/bin/sh", f'for last; do :; done; cp "{tmp_path}/points.tsv" "$last"'])
    stub.chmod(0o755)
    write(data / "dev/sts/sts2016.one.tsv", ["1\ta\tb"])
    rows = table(run("paper2.sh", data, tmp_path, commands=[str(stub.parent)]))
    assert rows["0–10"] == ["50.1", "", "7", "1", "65.7", "66.6"]
    assert rows["20–30"] == ["40.0", "", "2", "", "65.3", "66.0"]
