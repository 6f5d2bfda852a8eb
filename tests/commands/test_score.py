"""bitext-score: a score for every line, the same in any company."""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from console import BIN
from toys import score_table, sentences, toy_model, toy_words_model

from bitextfilter.commands import score
from bitextfilter.scoring import row_checks as column_languages
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES
from bitextfilter.scoring.model import Model, distinct, load

SOURCES, TARGETS = sentences(40, 7)
DATA = "".join(f"{s}\t{t}\n" for s, t in zip(SOURCES, TARGETS, strict=True)).encode()
ALL = ",".join(MEASURES)


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return load(folder)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with neither classifier nor neighbours."""
    return toy_model(tmp_path_factory.mktemp("models") / "bare", classifier=False, background=False)


def call(folder: Path, *words: str | Path, data: bytes = DATA) -> Result:
    arguments = [*(str(word) for word in words), "--model", str(folder)]
    return CliRunner().invoke(score.main, arguments, input=data)


def lines_of(folder: Path, *words: str | Path, data: bytes = DATA) -> list[bytes]:
    result = call(folder, *words, data=data)
    assert result.exit_code == 0, result.stderr
    return io.BytesIO(result.stdout_bytes).readlines()


def expected(model: Model, measures: Sequence[str], digits: int = 4) -> list[bytes]:
    scores = score_table(model, SOURCES, TARGETS, measures)
    texts = ("\t".join(f"{value + 0.0:.{digits}f}" for value in row) for row in scores.tolist())
    return [f"{text}\n".encode() for text in texts]


def test_scores_are_appended_in_the_order_asked(folder: Path, model: Model) -> None:
    added = expected(model, ["csls", "cosine"])
    assert lines_of(folder, "--similarity", "csls,cosine") == [
        line[:-1] + b"\t" + scores
        for line, scores in zip(DATA.splitlines(keepends=True), added, strict=True)
    ]


def test_only_the_scores(folder: Path, model: Model) -> None:
    data = b"\xef\xbb\xbf" + DATA.replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    words = ("--score-only", "--similarity", "mlp,ratio", "--digits", "2")
    assert lines_of(folder, *words, data=data) == expected(model, ["mlp", "ratio"], 2)


def test_a_header_names_the_measures(folder: Path) -> None:
    words = ("--header", "--scol", "x", "--tcol", "y", "--similarity", "mlp,csls")
    data = b"x\ty\r\n" + DATA
    assert lines_of(folder, *words, data=data)[0] == b"x\ty\tmlp\tcsls\r\n"
    assert lines_of(folder, *words, "--score-only", data=data)[0] == b"mlp\tcsls\n"


def test_mlp_is_the_default_where_there_is_one(folder: Path, bare: Path, model: Model) -> None:
    assert lines_of(folder, "--score-only") == expected(model, ["mlp"])
    assert lines_of(bare, "--score-only") == expected(model, ["cosine"])


@pytest.fixture(scope="module", params=["averaging", "recurrent", "words"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each architecture, and one with a classifier that reads words."""
    folder = tmp_path_factory.mktemp("models") / "toy"
    if request.param == "words":
        return toy_words_model(folder)
    return toy_model(folder, recurrent=request.param == "recurrent")


ROWS = [*DATA.splitlines(keepends=True), f"{'a1 a2 ' * 150}\t{'b2 b3 b4 ' * 90}\n".encode()]
EXACTLY = ("--similarity", ALL, "--digits", "9")


@pytest.mark.gate(4)
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("batch", ["1", "7", "512"])
def test_company_does_not_matter(either: Path, batch: str, threads: str) -> None:
    whole = lines_of(either, *EXACTLY, data=b"".join(ROWS))
    order = random.Random(5).choices(range(len(ROWS)), k=80)
    words = (*EXACTLY, "--batch-size", batch, "--threads", threads)
    shuffled = lines_of(either, *words, data=b"".join(ROWS[i] for i in order))
    assert shuffled == [whole[i] for i in order]


@pytest.mark.gate(1)
def test_company_does_not_matter_in_a_pipe(either: Path) -> None:
    """One process for a row, and one for all."""
    call = [sys.executable, str(BIN / "bitext-score"), "-q", "--model", str(either), *EXACTLY]
    alone = subprocess.run(call, input=ROWS[-1], capture_output=True, timeout=120, check=True)
    assert lines_of(either, *EXACTLY, data=b"".join(ROWS))[-1] == alone.stdout


def test_against_the_input_the_order_does_not_matter(either: Path) -> None:
    words = ("--similarity", "csls,ratio,distance", "--digits", "9", "--neighbours", "input")
    whole = lines_of(either, *words, data=b"".join(ROWS))
    order = random.Random(5).sample([*range(len(ROWS)), 1, 2, 2], len(ROWS) + 3)
    more = (*words, "--batch-size", "7", "--threads", "2")
    shuffled = lines_of(either, *more, data=b"".join(ROWS[i] for i in order))
    assert shuffled == [whole[i] for i in order]


def test_a_rejected_row_keeps_its_place(folder: Path, tmp_path: Path) -> None:
    rows = DATA.splitlines(keepends=True)
    data = b"".join([rows[0], b"one\n", rows[1], b"\xff\tb\r\n", rows[2]])
    good = lines_of(folder, "--similarity", "mlp,cosine")
    rejects = tmp_path / "bad.tsv"
    words = ("--similarity", "mlp,cosine", "--on-error", "reject", "--rejects", rejects)
    assert lines_of(folder, *words, data=data) == [
        good[0],
        b"one\t\t\n",
        good[1],
        b"\xff\tb\t\t\r\n",
        good[2],
    ]
    assert [line.split(b"\t")[0] for line in rejects.read_bytes().splitlines()] == [b"2", b"4"]
    scores = lines_of(folder, *words, "--score-only", data=data)
    assert [scores[1], scores[3]] == [b"\t\n", b"\t\n"]


def test_rows_may_all_be_bad(folder: Path) -> None:
    words = ("--on-error", "reject", "--similarity", ALL)
    assert lines_of(folder, *words, data=b"\n\n\n") == [b"\t" * 6 + b"\n"] * 3


def test_neighbours_from_a_file(folder: Path, bare: Path, model: Model) -> None:
    words = ("--similarity", "csls,ratio,distance", "--score-only")
    by_file = lines_of(bare, *words, "--neighbours", folder / "neighbours.npz")
    assert by_file == lines_of(folder, *words)
    assert by_file == expected(model, ["csls", "ratio", "distance"])


@pytest.mark.parametrize("batch", ["3", "1000"])
def test_neighbours_from_the_input(bare: Path, tmp_path: Path, batch: str) -> None:
    """Against a naive loop over the distinct sentences of the input."""
    rows = [*DATA.splitlines(keepends=True), *DATA.splitlines(keepends=True)[:15], b"bad\n"]
    random.Random(1).shuffle(rows)
    words = (
        "--similarity",
        "csls,cosine",
        "--score-only",
        "--digits",
        "6",
        "--neighbours",
        "input",
    )
    result = call(bare, *words, "--batch-size", batch, "--on-error", "reject", data=b"".join(rows))
    assert result.exit_code == 0
    assert "--neighbours input reads everything twice" in result.stderr
    assert "56 rows, 1 rejected, " in result.stderr
    good = [row.decode().rstrip("\n").split("\t") for row in rows if row != b"bad\n"]
    shown = iter(good)
    for row, line in zip(rows, result.stdout.splitlines(), strict=True):
        if row == b"bad\n":
            assert line == "\t"
            continue
        csls, cosine = naive(load(bare), good, *next(shown))
        assert np.abs(np.array(line.split("\t"), float) - (csls, cosine)).max() < 2e-6


def naive(model: Model, rows: list[list[str]], source: str, target: str) -> tuple[float, float]:
    """CSLS and cosine of one pair by plain definition (Kim et al. 2019, eq. 16-18)."""

    def vectors(side: int, texts: list[str]) -> np.ndarray:
        found = model.encode(distinct(texts)[0], model.languages[side]).astype(float)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    (one,), (other,) = vectors(0, [source]), vectors(1, [target])
    sides = [vectors(side, [row[side] for row in rows]) for side in (0, 1)]
    means = [np.sort(all_ @ own)[-10:].mean() for all_, own in ((sides[1], one), (sides[0], other))]
    return 2 * float(one @ other) - sum(means), float(one @ other)


def test_reading_twice_keeps_header_bytes_and_rejects(bare: Path, tmp_path: Path) -> None:
    rejects = tmp_path / "bad.tsv"
    data = b"\xef\xbb\xbfx\ty\r\n" + DATA + b"\xef\xbb\xbfa1\tb1\r\r\nonly\na1\tb1"
    words = ("--header", "--scol", "x", "--tcol", "y", "--similarity", "csls", "--batch-size", "2")
    words += ("--on-error", "reject", "--rejects", str(rejects))
    lines = lines_of(bare, *words, "--neighbours", "input", data=data)
    assert lines[0] == b"\xef\xbb\xbfx\ty\tcsls\r\n"
    without = re.compile(rb"\t(csls|-?[0-9]\.[0-9]{4}|)(?=\r?\n?$)")
    assert b"".join(without.sub(b"", line, count=1) for line in lines) == data
    assert rejects.read_bytes().count(b"\n") == 1


def test_reading_an_empty_input_twice(bare: Path) -> None:
    assert lines_of(bare, "--similarity", "csls", "--neighbours", "input", data=b"") == []


def test_no_temporary_file_stays(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lines_of(bare, "--similarity", "csls", "--neighbours", "input")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--similarity", "cos"], 2, "similarity 'cos' is none of cosine, "),
        (["--similarity", ""], 2, "similarity '' is none of "),
        (["--similarity", "mlp,cosine,mlp"], 2, "similarity 'mlp' is given twice"),
        (["--neighbours", "input"], 2, "--neighbours is for --similarity csls, ratio or"),
        (["--similarity", "mlp", "--neighbours", "x"], 2, "--neighbours is for --similarity"),
        (["--digits", "10"], 2, "10 is not in the range 0<=x<=9"),
        (["--similarity", "mlp"], 78, "mlp needs a classifier, and the model "),
        (["--similarity", "csls"], 78, "csls needs neighbours, and the model "),
        (["--similarity", "csls", "--neighbours", "x.npz"], 66, "x.npz: no such file"),
        (["--similarity", "csls,mlp", "--neighbours", "input"], 78, "mlp needs a classifier"),
    ],
)
def test_what_cannot_be_scored_is_said_at_once(
    bare: Path, tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    result = call(bare, *words, "-o", tmp_path / "out.tsv")
    assert (result.exit_code, result.stdout_bytes) == (code, b"")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_damaged_neighbours(folder: Path, bare: Path, tmp_path: Path) -> None:
    path = tmp_path / "neighbours.npz"
    path.write_bytes((folder / "neighbours.npz").read_bytes()[:-100])
    result = call(bare, "--similarity", "csls", "--neighbours", path)
    assert (result.exit_code, result.stdout_bytes) == (65, b"")
    assert f"{path}: damaged neighbours" in result.stderr


def test_neighbours_of_another_width(bare: Path, tmp_path: Path) -> None:
    other = toy_model(tmp_path / "other", dim=8)
    result = call(bare, "--similarity", "csls", "--neighbours", other / "neighbours.npz")
    assert (result.exit_code, result.stdout_bytes) == (65, b"")
    assert "vectors of width 8, the model's are 32" in result.stderr


class Checker:
    """Stands in for the check of the columns: keeps what it saw, and warns."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, sources: list[str], targets: list[str], processor: object) -> str | None:
        assert len(sources) == len(targets)
        self.seen.append(len(sources))
        return "the columns look swapped" if sources else None


@pytest.fixture
def checker(monkeypatch: pytest.MonkeyPatch) -> Checker:
    made = Checker()
    monkeypatch.setattr(column_languages, "check_columns", made)
    return made


@pytest.mark.parametrize(
    ("rows", "batch", "seen"),
    [(0, 100, 0), (40, 100, 40), (40, 4, 40), (3000, 8192, 999), (3000, 300, 999), (8, 8, 8)],
)
def test_columns_are_checked_once(
    folder: Path, checker: Checker, rows: int, batch: int, seen: int
) -> None:
    data = b"".join([*[b"bad\n"] * (rows > 0), *[b"a1 a2\tb1 b2\n"] * rows])
    result = call(folder, "--batch-size", str(batch), "--on-error", "reject", data=data)
    assert checker.seen == [seen]
    warning = "bitext-score: warning: the columns look swapped (--scol and --tcol choose columns)\n"
    assert result.stderr.count(warning) == (rows > 0)
    assert result.exit_code == 0


def test_the_warning_comes_before_the_scores(folder: Path, checker: Checker) -> None:
    result = call(folder, data=DATA)
    assert result.output.index("look swapped") < result.output.index(SOURCES[0])


def test_the_check_of_columns_can_be_left_out(folder: Path, checker: Checker) -> None:
    assert call(folder, "--no-column-check").exit_code == 0
    assert checker.seen == []
    assert "swapped" not in call(folder, "-q").stderr


def test_summary_and_manifest_name_the_model(folder: Path, model: Model, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    result = call(folder, "--manifest", path, "--similarity", "csls,mlp")
    assert result.stderr.startswith("bitext-score: 40 rows, 0 rejected, ")
    assert result.stderr.endswith(f" rows/s, model {folder} {model.digest}\n")
    assert json.loads(path.read_bytes())["facts"] == {
        "model": str(folder),
        "digest": model.digest,
        "similarity": "csls,mlp",
    }


def test_the_environment_may_name_the_model(
    folder: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITEXTFILTER_MODEL", str(folder))
    result = CliRunner().invoke(score.main, ["--score-only"], input=DATA)
    assert result.stdout_bytes == b"".join(expected(model, ["mlp"]))


def test_the_help_tells_each_measure_as_it_is() -> None:
    text = " ".join(CliRunner().invoke(score.main, ["--help"]).stdout.split())
    for name, measure in [*MEASURES.items(), *TRANSLATION_MEASURES.items()]:
        assert f"{name} {measure.range} {measure.text}" in text


def test_reasons_are_one_more_column(folder: Path, model: Model) -> None:
    from bitextfilter.filters.explanations import Explainer

    explainer = Explainer(
        lambda *sides: model.score(*sides, "cosine")["cosine"], "cosine", model.languages
    )
    reasons = explainer(SOURCES, TARGETS)
    data = b"source\ttarget\n" + DATA + b"only one\na1 a2 not a3\tb4 7\n"
    words = ("--header", "--explain", "--similarity", "cosine,mlp", "--on-error", "reject")
    head, *rows = (line.rstrip(b"\n").split(b"\t") for line in lines_of(folder, *words, data=data))
    assert head == [b"source", b"target", b"cosine", b"mlp", b"reasons"]
    assert [row[4].decode() for row in rows[:40]] == ["; ".join(each) for each in reasons]
    assert rows[40] == [b"only one", b"", b"", b""]
    assert b"negation=not(source only)" in rows[41][4] and b"numbers=1" in rows[41][4]
    plain = lines_of(folder, *words[2:], "--score-only", "--explain", data=DATA)
    assert [line.split(b"\t")[2].strip().decode() for line in plain] == [
        "; ".join(each) for each in reasons
    ]
    few = lines_of(folder, *words[2:], "--score-only", "--explain", "--batch-size", "7", data=DATA)
    assert few == plain


def test_reasons_need_a_measure_of_vectors(folder: Path) -> None:
    words = ("--explain", "--similarity", "translation", "--translator", "nowhere")
    assert call(folder, *words).exit_code != 0
