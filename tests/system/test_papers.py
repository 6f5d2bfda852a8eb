"""The scripts of examples/papers, on a small folder of data."""

from __future__ import annotations

import gzip
import lzma
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from console import ROOT

from bitextfilter.settings import read_settings
from bitextfilter.training.encoder_training import EncoderConfig

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
        [str(PAPERS / script), *map(str, words)], capture_output=True, text=True, timeout=120,
        check=False, env={**os.environ, "PATH": search, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def table(done: subprocess.CompletedProcess[str]) -> dict[str, list[str]]:
    """Cells of a Markdown table by the first cell of each row; every row has as many."""
    assert (done.returncode, done.stderr) == (0, "")
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in done.stdout.splitlines()]
    rows = [[cell.strip() for cell in line] for line in lines]
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
    width, mega, negatives, *figures, seconds, _, theirs = rows["word"]
    assert (width, mega, negatives, theirs) == ("300", "1", "other", "82.3")
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
             sts=correlations(sick2014=51.26, mean_sts2014="-"),
             sick=correlations(sick2014=71.26))  # fmt: skip
    rows = table(run("paper4.sh", data, tmp_path, "gran-30-none"))
    assert rows["gran"] == [
        "100", "30", "none", "61.0/80.0", "62.0/80.0", "72.0/80.0", "0.51", "0.71", "-/0.20", "> 12"
    ]  # fmt: skip
    assert rows["majority"][3] == "60.0/80.0"
    clean, noisy = (
        [line.split("\t") for line in (tmp_path / name).read_text().splitlines()]
        for name in ("sample.tsv", "train-30-100.tsv")
    )
    assert [row[0] for row in clean] == [row[0] for row in noisy]
    changed = sum(one != other for one, other in zip(clean, noisy, strict=True))
    assert 0.2 < changed / len(clean) < 0.4
    assert {row[1] for row in noisy} < {row[1] for row in clean}
    write(tmp_path / "wa-20-morfessor-25.log", ["bitext-train-encoder: 9 updates, 1.0 s"])
    for ending in ("sts", "sick", "msrpc", "products"):
        write(tmp_path / f"wa-20-morfessor-25.{ending}", ["sick2014\t1\t9\t0\t5"])
    more = table(run("paper4.sh", data, tmp_path, "wa-20-morfessor-25"))
    assert more["wa"][:3] == ["25", "20", "morfessor"]
    lines = (tmp_path / "train-20-25.tsv").read_text().splitlines()
    assert len(lines) == len(clean) // 4


def test_every_model_of_the_third_paper_has_its_settings(tmp_path: Path, data: Path) -> None:
    asked, output = tmp_path / "asked", tmp_path / "out"
    stubs = {
        "train-encoder": [f'echo "$*" >> {asked}', 'while [ "$1" != -o ]; do shift; done',
                          'mkdir "$2.training"', 'echo "x: 9 updates, 7.4 s" >&2'],
        "evaluate": ['printf "stsb.en\\t1\\t9\\t0\\t61.25\\n"'],
    }  # fmt: skip
    for name, lines in stubs.items():
        write(tmp_path / "bin" / f"bitext-{name}", ["#!/bin/sh", *lines])
        (tmp_path / "bin" / f"bitext-{name}").chmod(0o755)
    rows = table(run("paper3.sh", data, output, commands=[str(tmp_path / "bin")]))
    assert rows["blstm"][:5] == ["900", "20", "own", "61.2", "-"]
    lines = asked.read_text().splitlines()
    given = [dict(re.findall(r"--set ([a-z._]+)=(\S+)", line)) for line in lines]
    parts = [line.split("--architecture ")[1].split()[0] for line in lines]
    assert len(lines) == 42 and [one["training.negatives"] for one in given[:2]] == [
        "other",
        "same",
    ]
    assert {"word+trigram", "word,trigram,lstm", "word+trigram+lstm"} < set(parts)
    base = read_settings(PAPERS / "paper3.json")
    for name, one in zip(parts, given, strict=True):
        whole = {key: int(one[f"training.{key}"]) for key in ("mega_batch", "validate_every")}
        scramble = float(one["training.scramble"])
        training = {**base["training"], **whole, "scramble": scramble}
        more = {} if "trigram" in name else {"trigrams": {}}
        EncoderConfig.from_dict({**base, **more, "architecture": name, "training": training})
        assert ("lstm" in name or name == "gran") == (scramble == 0.3)


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


def kim(
    output: Path, name: str, *, data: Path = PAPERS, commands: Iterable[str] = ()
) -> dict[str, list[str]]:
    """A table of kim2019.sh; OUTPUT holds the scores of the corpus."""
    write(output / "noisy.tsv.gz", [])
    done = run("kim2019.sh", data, output, name, commands=commands)
    assert done.stdout.startswith("\n")
    done.stdout = done.stdout[1:]
    return table(done)


def scored(output: Path, **scores: list[float]) -> None:
    """Rows with scores, the first half of them clean."""
    count = len(next(iter(scores.values())))
    rows = [["en", "de", "label", *(name.replace("_", "-") for name in scores)]]
    for place, values in enumerate(zip(*scores.values(), strict=True)):
        label = "clean" if 2 * place < count else "half"
        rows.append([f"a {place}", f"b {place}", label, *map(str, values)])
    write(output / "scored.tsv.gz", ["\t".join(row) for row in rows])


def test_recovery_beside_kim_et_al(tmp_path: Path) -> None:
    output, asked = tmp_path / "out", tmp_path / "asked"
    scored(output, cosine=[1.0, 0.0], mlp=[1.0, 0.0])
    stub = tmp_path / "bin" / "bitext-evaluate"
    write(stub, ["#!/bin/sh", f'echo "$*" >> {asked}',
                 "for name in levenshtein cosine csls euclidean mlp; do",
                 'printf "$name\\t1\\t2\\t1.5\\n"', "done"])  # fmt: skip
    stub.chmod(0o755)
    data = tmp_path / "data" / "test"
    write(data / "newstest2021.de-en.tsv", ["eins\tone\tmore"])
    write(data / "iwslt2017.en-de.tsv", [f"{i}\t{i}" for i in range(1100)])
    rows = kim(output, "recovery", data=data.parent, commands=[str(stub.parent)])
    assert rows["CSLS"] == ["1.9", "2.2", "2.1", "", "2", "1", "1.5", "1.5"]
    assert rows["translators, both directions"][4:] == ["not run"] * 4
    assert (output / "newstest2021.tsv").read_text() == "one\teins\n"
    assert len((output / "tst2015.tsv").read_text().splitlines()) == 1080
    models = [line.split("--model ")[1].split()[0] for line in asked.read_text().splitlines()]
    assert models[::2] == ["en-de", f"{output}/mlp-100", f"{output}/mlp-60", "en-de"]


def test_selection_beside_kim_et_al(tmp_path: Path, commands: Path) -> None:
    scored(tmp_path, mlp_100=[0.9, 0.2, 0.3, 0.1])
    write(tmp_path / "table5-240000.tsv", ["mlp-100\t1\t9\t9\t25.7", "mlp-100\tmean\t\t\t26.5"])
    search = [str(commands), str(Path(sys.executable).parent)]
    rows = kim(tmp_path, "negatives", commands=search)
    half = ["4", "50.0", "50.0"]
    assert rows["100 %"] == ["25.7", "0.750", *half, "26.5", *half, "not run"]
    assert rows["60 %"] == ["33.7", "", "", "", "", "not run", "", "", "", "not run"]


def test_shares_of_scores(tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    mlp = [0.00001, 0.005, 0.3, 0.95, 0.99]
    scored(tmp_path, cosine=[0.99, -1, 0, 0, 0.1], mlp_100=mlp, mlp_60=mlp, mlp=mlp)
    rows = kim(tmp_path, "shares")
    assert rows["mlp-60"] == ["20.0", "40.0", "20.0", "20.0", "20.0", "40.0"]
    assert rows["cosine"] == ["20.0", "20.0", "60.0", "0.0", "20.0", "60.0"]


def test_pairs_that_two_scores_judge_differently(tmp_path: Path) -> None:
    scored(tmp_path, cosine=[0.0])
    rows = [("one|1", "clean", 0.9, 0.1), ("two", "half", 0.1, 0.9), ("three", "half", 0.2, 0.8),
            ("four", "clean", 0.5, 0.5)]  # fmt: skip
    lines = [f"{text}\teins\t{label}\t{a}\t{b}" for text, label, a, b in rows]
    write(tmp_path / "examples" / "scored.tsv", ["en\tde\tlabel\tcosine\tmlp", *lines])
    shown = kim(tmp_path, "examples", commands=[str(Path(sys.executable).parent)])
    assert shown == {
        "0.900, 87.5": ["0.100, 12.5", "clean", r"one\|1", "eins"],
        "0.100, 12.5": ["0.900, 87.5", "half", "two", "eins"],
    }, "one of each label"
    unknown = run("kim2019.sh", tmp_path, tmp_path, "table9")
    assert unknown.returncode == 1 and "no table is called table9" in unknown.stderr


@pytest.mark.gate(0)
def test_pairs_from_tables_of_many_languages_and_their_models(
    data: Path, tmp_path: Path, commands: Path
) -> None:
    multi = tmp_path / "data" / "train" / "multi"
    multi.mkdir(parents=True)
    rows = [f"Train {i} is late.\tZug {i} hat Verspätung.\t" for i in range(150)]
    text = "\n".join(["en\tde\tfr", *rows, rows[0], "no\t\t", ""])
    (multi / "one.tsv.xz").write_bytes(lzma.compress(text.encode()))
    (multi / "two.tsv.xz").write_bytes(lzma.compress(b"en\tfr\nno\tnon\n"))
    done = run("make-pairs.sh", tmp_path / "data", "fr")
    assert (done.returncode, done.stdout) == (0, "no\tnon\n")
    judged = (data / "test/sts/stsb.en.tsv").read_text()
    for language in ("en", "de"):
        write(tmp_path / "data" / f"test/sts/stsb.{language}.tsv", judged.splitlines())
    search = [str(commands), str(Path(sys.executable).parent)]
    found = table(
        run("sts-languages.sh", tmp_path / "data", tmp_path / "out", "de", commands=search)
    )
    pairs, _, correlation, interval, *english = found["de"]
    assert pairs == "147" and [correlation, interval] == english and "–" in interval
    assert len((tmp_path / "out" / "de.dev.tsv").read_text().splitlines()) == 3
    negatives = subprocess.run(
        [sys.executable, str(PAPERS / "negatives.py"), str(tmp_path / "out" / "de"),
         str(tmp_path / "out" / "de.train.tsv"), "1", "2"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    shown = table(negatives)
    assert len(shown) == 5
    for source, (target, *others) in shown.items():
        assert target == source.replace("Train", "Zug").replace("is late", "hat Verspätung")
        assert len(others) == 2 and all(other.startswith("Train ") for other in others)
        assert source not in others


@pytest.mark.gate(0)
def test_how_vectors_lie(data: Path, tmp_path: Path, commands: Path) -> None:
    folder = tmp_path / "data"
    verses = [f"Verse {i} | of bread\tVers {i}" for i in (1, 2, 3, 3)]
    write(folder / "train/en-de/bible.tsv.gz", verses)
    judged = [f"{i % 3}\tTrain {i} is late\tTrain {i * i % 9} is slow" for i in range(9)]
    write(folder / "test/sts/stsb.en.tsv", judged)
    search = [str(commands), str(Path(sys.executable).parent)]

    def rows(name: str) -> list[list[str]]:
        done = run("vectors.sh", folder, tmp_path / "out", name, commands=search)
        table(done)
        lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in done.stdout.splitlines()[2:]]
        return [[cell.strip() for cell in line] for line in lines]

    near = rows("neighbours")
    assert len(near) == 6 and {row[0] for row in near} == {"en-de"}
    assert {row[3] for row in near[:3]} == {rf"Verse {i} \| of bread" for i in (1, 2, 3)}
    histogram = rows("histogram")
    assert sum(int(row[4]) for row in histogram) == 6
    for row in histogram:
        inside = [
            n for n in near if n[1] == row[1] and float(row[2]) <= float(n[2]) < float(row[3])
        ]
        assert len(inside) == int(row[4])
    grades = rows("grades")
    assert [row[1:3] for row in grades] == [["0", "3"], ["1", "3"], ["2", "3"]]
    assert grades[0][5] == "-" and re.match("(yes|no), ", grades[1][5])
    unknown = run("vectors.sh", folder, tmp_path / "out", "table9")
    assert unknown.returncode == 1 and "no table is called table9" in unknown.stderr
