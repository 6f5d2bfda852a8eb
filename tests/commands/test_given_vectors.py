"""Commands with given vectors: those of a model give what the model gives."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from console import invoke, says_one_line
from toys import sentences, toy_model

from bitextfilter.io.records import file_digest
from bitextfilter.scoring.model import Model, load

SOURCES, TARGETS = sentences(60, 7)
SOURCES, TARGETS = [*SOURCES, *SOURCES[:5]], [*TARGETS, *TARGETS[3:8]]
DATA = "".join(f"{s}\t{t}\n" for s, t in zip(SOURCES, TARGETS, strict=True)).encode()
SCORE, ALIGN, DOCUMENTS = "bitext-score", "bitext-align", "bitext-align-documents"
RECOVERY = ("bitext-evaluate", "recovery")
MARGINS = "cosine,euclidean,csls,ratio,distance"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("models") / "bare"
    return load(toy_model(folder, classifier=False, background=False))


@pytest.fixture(scope="module")
def folder(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the sentences of both sides, and of their vectors."""
    made = tmp_path_factory.mktemp("vectors")
    sides = zip(("aa", "ba"), (SOURCES, TARGETS), strict=True)
    for name, side in sides:
        np.save(made / f"{name}.npy", model.encode(side, name))
        model.encode(side, name).tofile(made / f"{name}.bin")
        (made / f"{name}.txt").write_text("".join(f"{line}\n" for line in side))
    (made / "pairs.tsv").write_bytes(DATA)
    return made


def given(folder: Path, ending: str = "npy", other: str = "ba") -> list[str]:
    words = ["--source-vectors", f"{folder}/aa.{ending}"]
    words += ["--target-vectors", f"{folder}/{other}.{ending}"]
    return words + (["--dim", "32"] if ending == "bin" else [])


def written(name: str, *words: object) -> str:
    return invoke(name, *words, data=DATA).stdout


def told(code: int, name: str, *words: object, data: bytes = DATA) -> str:
    return invoke(name, *words, data=data, code=code).stderr


@pytest.mark.parametrize("ending", ["npy", "bin"])
def test_scores(model: Model, folder: Path, ending: str, tmp_path: Path) -> None:
    words = ("--similarity", MARGINS, "--neighbours", "input", "--digits", "6")
    manifest = tmp_path / "manifest"
    wanted = written(SCORE, *words, "--model", model.folder)
    asked = (*words, *given(folder, ending), "--batch-size", "7", "--manifest", manifest)
    assert written(SCORE, *asked) == wanted
    facts = json.loads(manifest.read_bytes())["facts"]
    assert facts["source vectors"] == file_digest(folder / f"aa.{ending}")[:12]
    assert facts["target vectors"] == file_digest(folder / f"ba.{ending}")[:12]


def test_default_measure_and_shards(model: Model, folder: Path, tmp_path: Path) -> None:
    wanted = written(SCORE, "--similarity", "cosine", "--model", model.folder)
    assert written(SCORE, *given(folder)) == wanted
    shards = ("--resume", tmp_path / "shards", "--shard-rows", "9")
    assert written(SCORE, *given(folder), *shards) == wanted
    parts = [
        written(SCORE, *given(folder), "--shard", f"{part}/3", folder / "pairs.tsv")
        for part in (1, 2, 3)
    ]
    assert "".join(parts) == wanted


def test_each_row_has_its_own_vector(folder: Path, tmp_path: Path) -> None:
    vectors = np.load(folder / "aa.npy")
    vectors[60] = vectors[1]  # row 60 has the text of row 0
    np.save(tmp_path / "aa.npy", vectors)
    np.save(tmp_path / "ba.npy", np.load(folder / "aa.npy"))
    rows = written(SCORE, *given(tmp_path), "--score-only").split()
    assert rows[0] == "1.0000" != rows[60]


def test_rows_without_a_vector(folder: Path, tmp_path: Path) -> None:
    wanted = written(SCORE, *given(folder)).splitlines()
    for name in ("aa", "ba"):
        vectors = np.load(folder / f"{name}.npy")
        vectors[2 if name == "aa" else 4] = np.nan
        np.save(tmp_path / f"{name}.npy", vectors)
    assert f"stdin:3: row 3 of {tmp_path}/aa.npy is not finite; --on-error reject" in told(
        65, SCORE, *given(tmp_path)
    )
    rejects = tmp_path / "rejects"
    words = (*given(tmp_path), "--on-error", "reject", "--rejects", rejects)
    lines = written(SCORE, *words).splitlines()
    assert [n for n, (a, b) in enumerate(zip(lines, wanted, strict=True)) if a != b] == [2, 4]
    assert lines[2] == f"{SOURCES[2]}\t{TARGETS[2]}\t"
    assert [line.split("\t")[0] for line in rejects.read_text().splitlines()] == ["3", "5"]
    twice = (*words, "--similarity", "csls", "--neighbours", "input")
    assert [line.endswith("\t") for line in written(SCORE, *twice).splitlines()] == [
        n in (2, 4) for n in range(65)
    ]


@pytest.mark.parametrize("more", ["", "a0\tb0\n"])
@pytest.mark.parametrize("shards", [False, True])
def test_scores_of_another_text(folder: Path, tmp_path: Path, more: str, shards: bool) -> None:
    data = DATA + more.encode() if more else DATA[: DATA.index(b"\n") + 1]
    words = ("-o", tmp_path / "out", *(("--resume", tmp_path / "shards") if shards else ()))
    said = told(65, SCORE, *given(folder), *words, data=data)
    assert "65 vectors, and stdin has" in said and "rows; row i of the vec" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("similarity", ["csls", "cosine", "euclidean"])
def test_mined_pairs(model: Model, folder: Path, similarity: str, tmp_path: Path) -> None:
    files = folder / "aa.txt", folder / "ba.txt"
    words = (*files, "--similarity", similarity, "--min-score", "none", "--digits", "6", "-q")
    wanted = written(ALIGN, *words, "--model", model.folder)
    assert wanted.count("\n") >= 55
    assert written(ALIGN, *words, *given(folder), "--batch-size", "7") == wanted
    work = ("--resume", tmp_path / "work", "--index-save", tmp_path / "index")
    assert written(ALIGN, *words, *given(folder), *work) == wanted
    assert written(ALIGN, *words, *given(folder), *work[:2]) == wanted
    other = (*words, *given(folder, other="aa"), *work[:2])
    assert "is of another run: target vectors was" in told(78, ALIGN, *other)
    loaded = ("--index-load", tmp_path / "index", "--source-vectors", folder / "aa.npy")
    alone = written(ALIGN, *loaded, files[0], *words[2:])
    assert (alone == wanted) == (similarity != "csls")  # whose neighbours are twice as many
    loading = ("--index-load", tmp_path / "index", files[0])
    said = "was made by given vectors of 32"
    with_model = (*loading, "--model", model.folder, "--similarity", "csls")
    assert f"{said} numbers, not by the model" in told(78, ALIGN, *with_model)
    np.save(tmp_path / "narrow.npy", np.load(folder / "aa.npy")[:, :5])
    narrow = told(78, ALIGN, *loading, "--source-vectors", tmp_path / "narrow.npy")
    assert f"{said} numbers, not by given vectors of 5" in narrow


def test_streamed_pairs(model: Model, folder: Path, tmp_path: Path) -> None:
    index, words = tmp_path / "index", ("--similarity", "csls", "--min-score", "none")
    files = folder / "aa.txt", folder / "ba.txt"
    made = (*given(folder), "--index-save", index)
    written(ALIGN, *files, *words, *made)
    of_model = ("--index-save", tmp_path / "other", "--model", model.folder)
    written(ALIGN, *files, *words, *of_model)
    stream = ("--stream", files[0], *words)
    wanted = ("--index-load", tmp_path / "other", *stream, "--model", model.folder)
    own = ("--index-load", index, *stream, "--source-vectors", folder / "aa.npy")
    assert written(ALIGN, *own, "--batch-size", "7") == written(ALIGN, *wanted)


def test_lines_without_a_vector_are_not_mined(folder: Path, tmp_path: Path) -> None:
    vectors = np.load(folder / "aa.npy")
    vectors[0] = np.nan
    np.save(tmp_path / "aa.npy", vectors)
    np.save(tmp_path / "ba.npy", np.load(folder / "ba.npy"))
    files = folder / "aa.txt", folder / "ba.txt"
    assert "row 1 of" in told(65, ALIGN, *files, *given(tmp_path))
    found = written(ALIGN, *files, *given(tmp_path), "--on-error", "reject")
    assert SOURCES[0] in found  # its second copy, in row 61, has a vector
    files[0].write_text("".join(f"{line}\n" for line in SOURCES[:-1]))
    said = told(65, ALIGN, *files, *given(folder))
    files[0].write_text("".join(f"{line}\n" for line in SOURCES))
    assert f"aa.npy: 65 vectors, and {files[0]} has 64 rows" in said


def test_recovery(model: Model, folder: Path) -> None:
    words = (folder / "pairs.tsv", "--similarity", MARGINS)
    wanted = written(*RECOVERY, *words, "--model", model.folder)
    found = written(*RECOVERY, *words, *given(folder))
    digests = ",".join(file_digest(folder / f"{name}.npy")[:12] for name in ("aa", "ba"))
    assert found == wanted.replace(f"model:{model.digest}", f"vectors:{digests}")
    everything = written(*RECOVERY, folder / "pairs.tsv", "--similarity", "all", *given(folder))
    assert [line.split("\t")[0] for line in everything.splitlines()[1:]] == [
        *MARGINS.split(","),
        *("levenshtein", "random"),
    ]


def test_documents(model: Model, folder: Path, tmp_path: Path) -> None:
    files = folder / "aa.txt", tmp_path / "ba.txt"
    files[1].write_text("\n\n" + "".join(f"{line}\n" for line in TARGETS))
    vectors = np.load(folder / "ba.npy")
    blank = np.full((2, 32), np.nan)
    np.save(tmp_path / "ba.npy", np.concatenate([blank, vectors]))
    np.save(tmp_path / "aa.npy", np.load(folder / "aa.npy"))
    words = (*files, "--links", "--largest", "1")
    wanted = written(DOCUMENTS, *words, "--model", model.folder)
    assert written(DOCUMENTS, *words, *given(tmp_path)) == wanted
    assert f"ba.npy: 65 vectors, and {files[1]} has 67 rows" in told(
        65, DOCUMENTS, *words, *given(folder)
    )


def test_sums_stand_for_neighbouring_sentences(folder: Path, tmp_path: Path) -> None:
    sources = SOURCES[:12]
    joined = [*sources[:4], f"{sources[4]} {sources[5]}", *sources[6:]]
    rows = np.load(folder / "aa.npy")[:12]
    sums = np.concatenate([rows[:4], rows[4:5] + rows[5:6], rows[6:]])
    for name, lines, vectors in (("aa", sources, rows), ("ba", joined, sums)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        np.save(tmp_path / f"{name}.npy", vectors)
    files = tmp_path / "aa", tmp_path / "ba"
    links = written(DOCUMENTS, *files, "--links", *given(tmp_path)).splitlines()
    assert [line.rsplit(":", 1)[0] for line in links] == [
        *(f"[{n}]:[{n}]" for n in range(4)),
        "[4,5]:[4]",
        *(f"[{n}]:[{n - 1}]" for n in range(6, 12)),
    ]


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("bitext-score", ["--similarity", "mlp"], "mlp needs a model"),
        ("bitext-score", ["--similarity", "probability"], "probability needs a model"),
        ("bitext-score", ["--similarity", "dual"], "dual"),
        ("bitext-score", ["--similarity", "csls"], "needs --neighbours input"),
        ("bitext-score", ["--explain"], "--explain does not go"),
        ("bitext-score", ["--cache", "x"], "--cache does not go"),
        ("bitext-score", ["--model", "en-de"], "--model does not go"),
        ("bitext-score", ["--languages", "aa,ba"], "--languages does not go"),
        ("bitext-align", ["aa.txt", "ba.txt", "--similarity", "joint"], "joint needs a model"),
        ("bitext-align", ["aa.txt", "ba.txt", "--min-score", "balanced"], "no balanced cut"),
        ("bitext-align", ["aa.txt", "ba.txt", "--monotonic"], "does not go with --monotonic"),
        ("bitext-align-documents", ["aa.txt", "ba.txt", "--by", "words"], "--by does not go"),
        ("bitext-align-documents", ["aa.txt", "ba.txt", "--split", "en,de"], "--split does not go"),
        ("bitext-evaluate", ["recovery", "pairs.tsv", "--similarity", "mlp"], "mlp needs a model"),
    ],
)
def test_options_that_need_a_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    done = invoke(name, *words, *given(folder), data=DATA, code=None)
    says_one_line(done, 2 if "does not go" in message else 78, message)


@pytest.mark.parametrize(
    "line",
    [
        ("bitext-score",),
        ("bitext-align", "aa.txt", "ba.txt"),
        ("bitext-align-documents", "aa.txt", "ba.txt"),
        ("bitext-evaluate", "recovery", "pairs.tsv"),
    ],
)
def test_one_side_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, line: tuple[str, ...]
) -> None:
    monkeypatch.chdir(folder)
    for name in ("source", "target"):
        said = told(2, *line, f"--{name}-vectors", "aa.npy")
        assert "--source-vectors and --target-vectors" in said
    assert "--dim is for" in told(2, *line, "--dim", "5")
