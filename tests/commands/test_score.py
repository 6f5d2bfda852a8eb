"""bitext-score: a score for every line, the same in any company."""

from __future__ import annotations

import json
import random
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from console import invoke, lines, says_one_line, table
from toys import score_table, sentences, toy_model, toy_words_model

from bitextfilter.commands import score
from bitextfilter.filters.explanations import Explainer
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


def call(folder: Path, *words: object, data: bytes = DATA, code: int | None = 0) -> Result:
    return invoke(score.main, *words, "--model", folder, data=data, code=code)


def lines_of(folder: Path, *words: object, data: bytes = DATA) -> list[bytes]:
    return lines(call(folder, *words, data=data))


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


def test_only_the_scores(folder: Path, bare: Path, calibrated: Path, model: Model) -> None:
    """Of mlp with a classifier, of probability with a calibration too, unless others are asked."""
    data = b"\xef\xbb\xbf" + DATA.replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    words = ("--score-only", "--similarity", "mlp,ratio", "--digits", "2")
    assert lines_of(folder, *words, data=data) == expected(model, ["mlp", "ratio"], 2)
    assert lines_of(folder, "--score-only") == expected(model, ["mlp"])
    probable = expected(load(calibrated), ["probability"])
    assert lines_of(calibrated, "--score-only") == probable != expected(model, ["mlp"])
    assert lines_of(bare, "--score-only") == expected(model, ["cosine"])


def test_a_header_names_the_measures(folder: Path) -> None:
    words = ("--header", "--scol", "x", "--tcol", "y", "--similarity", "mlp,csls")
    data = b"x\ty\r\n" + DATA
    assert lines_of(folder, *words, data=data)[0] == b"x\ty\tmlp\tcsls\r\n"
    assert lines_of(folder, *words, "--score-only", data=data)[0] == b"mlp\tcsls\n"


@pytest.fixture(scope="module", params=["averaging", "recurrent", "words"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each architecture, and one with a classifier that reads words."""
    folder = tmp_path_factory.mktemp("models") / "toy"
    if request.param == "words":
        return toy_words_model(folder, calibrated=True)
    return toy_model(folder, recurrent=request.param == "recurrent", calibrated=True)


ROWS = [*DATA.splitlines(keepends=True), f"{'a1 a2 ' * 150}\t{'b2 b3 b4 ' * 90}\n".encode()]
EXACTLY = ("--similarity", ALL, "--digits", "9")


@pytest.mark.gate("averaging-512-2", "recurrent-7-2", "words-1-1")
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("batch", ["1", "7", "512"])
def test_company_does_not_matter(either: Path, batch: str, threads: str) -> None:
    whole = lines_of(either, *EXACTLY, data=b"".join(ROWS))
    order = random.Random(5).choices(range(len(ROWS)), k=80)
    words = (*EXACTLY, "--batch-size", batch, "--threads", threads)
    shuffled = lines_of(either, *words, data=b"".join(ROWS[i] for i in order))
    assert shuffled == [whole[i] for i in order]


@pytest.mark.gate(1)
def test_company_does_not_matter_in_a_pipe(either: Path, commands: Path) -> None:
    """One process for a row, and one for all."""
    call = [str(commands / "bitext-score"), "-q", "--model", str(either), *EXACTLY]
    alone = subprocess.run(call, input=ROWS[-1], capture_output=True, timeout=120, check=True)
    assert lines_of(either, *EXACTLY, data=b"".join(ROWS))[-1] == alone.stdout


@pytest.mark.gate(2)
def test_against_the_input_the_order_does_not_matter(either: Path) -> None:
    words = ("--similarity", "csls,ratio,distance", "--digits", "9", "--neighbours", "input")
    whole = lines_of(either, *words, data=b"".join(ROWS))
    order = random.Random(5).sample([*range(len(ROWS)), 1, 2, 2], len(ROWS) + 3)
    more = (*words, "--batch-size", "7", "--threads", "2")
    shuffled = lines_of(either, *more, data=b"".join(ROWS[i] for i in order))
    assert shuffled == [whole[i] for i in order]


def test_a_rejected_row_keeps_its_place(folder: Path, calibrated: Path, tmp_path: Path) -> None:
    rows = DATA.splitlines(keepends=True)
    data = b"".join([rows[0], b"one\n", rows[1], b"\xff\tb\r\n", rows[2]])
    good = lines_of(folder, "--similarity", "mlp,cosine")
    rejects = tmp_path / "bad.tsv"
    words = ("--similarity", "mlp,cosine", "--on-error", "reject", "--rejects", rejects)
    wanted = [good[0], b"one\t\t\n", good[1], b"\xff\tb\t\t\r\n", good[2]]
    assert lines_of(folder, *words, data=data) == wanted
    assert [line.split(b"\t")[0] for line in rejects.read_bytes().splitlines()] == [b"2", b"4"]
    scores = lines_of(folder, *words, "--score-only", data=data)
    assert [scores[1], scores[3]] == [b"\t\n", b"\t\n"]
    words = ("--on-error", "reject", "--similarity", ALL)
    assert lines_of(calibrated, *words, data=b"\n\n\n") == [b"\t" * 7 + b"\n"] * 3


def test_neighbours_from_a_file(folder: Path, bare: Path, model: Model) -> None:
    words = ("--similarity", "csls,ratio,distance", "--score-only")
    by_file = lines_of(bare, *words, "--neighbours", folder / "neighbours.npz")
    assert by_file == lines_of(folder, *words)
    assert by_file == expected(model, ["csls", "ratio", "distance"])


def test_neighbours_from_the_input(bare: Path) -> None:
    """Against a naive loop over the distinct sentences of the input."""
    rows = [*DATA.splitlines(keepends=True), *DATA.splitlines(keepends=True)[:15], b"bad\n"]
    random.Random(1).shuffle(rows)
    good = [row.decode().rstrip("\n").split("\t") for row in rows if row != b"bad\n"]
    loaded = load(bare)
    found = naive(loaded, good)
    words = ("--similarity", "csls,cosine", "--score-only", "--digits", 6, "--neighbours", "input")
    for batch in (3, 1000):
        more = ("--batch-size", batch, "--on-error", "reject")
        result = call(bare, *words, *more, data=b"".join(rows))
        assert "--neighbours input reads everything twice" in result.stderr
        assert "56 rows, 1 rejected, " in result.stderr
        shown = iter(found)
        for row, line in zip(rows, result.stdout.splitlines(), strict=True):
            if row == b"bad\n":
                assert line == "\t"
            else:
                assert np.abs(np.array(line.split("\t"), float) - next(shown)).max() < 2e-6


def naive(model: Model, rows: list[list[str]]) -> list[tuple[float, float]]:
    """CSLS and cosine of each pair by plain definition (Kim et al. 2019, eq. 16-18)."""

    def vectors(side: int, texts: list[str]) -> np.ndarray:
        found = model.encode(texts, model.languages[side]).astype(float)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    sides = [vectors(side, distinct([row[side] for row in rows])[0]) for side in (0, 1)]
    out = []
    for row in rows:
        (one,), (other,) = (vectors(side, [row[side]]) for side in (0, 1))
        nearest = [np.sort(sides[1] @ one)[-10:], np.sort(sides[0] @ other)[-10:]]
        cosine = float(one @ other)
        out.append((2 * cosine - sum(each.mean() for each in nearest), cosine))
    return out


def test_reading_twice_keeps_header_bytes_and_rejects(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an empty input, too; no temporary file stays."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    rejects = tmp_path / "bad.tsv"
    data = b"\xef\xbb\xbfx\ty\r\n" + DATA + b"\xef\xbb\xbfa1\tb1\r\r\nonly\na1\tb1"
    words = ("--similarity", "csls", "--neighbours", "input")
    more = ("--header", "--scol", "x", "--tcol", "y", "--batch-size", "2", "--on-error", "reject")
    found = lines_of(bare, *words, *more, "--rejects", rejects, data=data)
    assert found[0] == b"\xef\xbb\xbfx\ty\tcsls\r\n"
    without = re.compile(rb"\t(csls|-?[0-9]\.[0-9]{4}|)(?=\r?\n?$)")
    assert b"".join(without.sub(b"", line, count=1) for line in found) == data
    assert rejects.read_bytes().count(b"\n") == 1
    assert lines_of(bare, *words, data=b"") == []
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("--similarity cos", 2, "similarity 'cos' is none of cosine, "),
        ("--similarity=", 2, "similarity '' is none of "),
        ("--similarity mlp,cosine,mlp", 2, "similarity 'mlp' is given twice"),
        ("--neighbours input", 2, "--neighbours is for --similarity csls, ratio or"),
        ("--similarity mlp --neighbours x", 2, "--neighbours is for --similarity"),
        ("--digits 10", 2, "10 is not in the range 0<=x<=9"),
        ("--explain --similarity translation --translator x", 66, "x"),
        ("--similarity mlp", 78, "mlp needs a classifier, and the model "),
        ("--similarity csls", 78, "csls needs neighbours, and the model "),
        ("--similarity csls --neighbours x.npz", 66, "x.npz: no such file"),
        ("--similarity csls,mlp --neighbours input", 78, "mlp needs a classifier"),
        ("--similarity csls --neighbours DAMAGED", 65, "damaged.npz: damaged neighbours"),
        ("--similarity csls --neighbours WIDE", 65, "vectors of width 8, the model's are 32"),
    ],
)
def test_what_cannot_be_scored_is_said_at_once(
    folder: Path, bare: Path, tmp_path: Path, words: str, code: int, message: str
) -> None:
    if "DAMAGED" in words:
        data = (folder / "neighbours.npz").read_bytes()
        (tmp_path / "damaged.npz").write_bytes(data[:-100])
    if "WIDE" in words:
        toy_model(tmp_path / "wide", dim=8)
    words = words.replace("WIDE", f"{tmp_path}/wide/neighbours.npz")
    words = words.replace("DAMAGED", f"{tmp_path}/damaged.npz")
    result = call(bare, *words.split(), "-o", tmp_path / "out.tsv", code=None)
    says_one_line(result, code, message)
    assert not (tmp_path / "out.tsv").exists()


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
    [(0, 100, 0), (40, 100, 40), (40, 4, 40), (1500, 8192, 999), (1500, 300, 999), (8, 8, 8)],
)
def test_columns_are_checked_once(
    folder: Path, checker: Checker, rows: int, batch: int, seen: int
) -> None:
    data = b"".join([*[b"bad\n"] * (rows > 0), *[b"a1 a2\tb1 b2\n"] * rows])
    result = call(folder, "--batch-size", str(batch), "--on-error", "reject", data=data)
    assert checker.seen == [seen]
    warning = "bitext-score: warning: the columns look swapped (--scol and --tcol choose columns)\n"
    assert result.stderr.count(warning) == (rows > 0)


def test_the_warning_comes_before_the_scores_and_can_be_left_out(
    folder: Path, checker: Checker
) -> None:
    result = call(folder, data=DATA)
    assert result.output.index("look swapped") < result.output.index(SOURCES[0])
    checker.seen.clear()
    call(folder, "--no-column-check")
    assert checker.seen == []
    assert "swapped" not in call(folder, "-q").stderr


def test_summary_and_manifest_name_the_model(folder: Path, model: Model, tmp_path: Path) -> None:
    """The environment may name it, too."""
    path = tmp_path / "run.json"
    result = call(folder, "--manifest", path, "--similarity", "csls,mlp")
    assert result.stderr.startswith("bitext-score: 40 rows, 0 rejected, ")
    assert result.stderr.endswith(f" rows/s, model {folder} {model.digest}\n")
    facts = {"model": str(folder), "digest": model.digest, "similarity": "csls,mlp"}
    assert json.loads(path.read_bytes())["facts"] == facts
    named = {"BITEXTFILTER_MODEL": str(folder)}
    result = invoke(score.main, "--score-only", data=DATA, env=named)
    assert lines(result) == expected(model, ["mlp"])


def test_the_help_tells_each_measure_as_it_is() -> None:
    text = " ".join(invoke(score.main, "--help").stdout.split())
    for name, measure in [*MEASURES.items(), *TRANSLATION_MEASURES.items()]:
        assert f"{name} {measure.range} {measure.text}" in text


def test_reasons_are_one_more_column(folder: Path, model: Model) -> None:
    explainer = Explainer(
        lambda *sides: model.score(*sides, "cosine")["cosine"], "cosine", model.languages
    )
    reasons = ["; ".join(each) for each in explainer(SOURCES, TARGETS)]
    data = b"source\ttarget\n" + DATA + b"only one\na1 a2 not a3\tb4 7\n"
    words = ("--explain", "--similarity", "cosine,mlp", "--on-error", "reject")
    head, *rows = table(call(folder, "--header", *words, data=data))
    assert head == ["source", "target", "cosine", "mlp", "reasons"]
    assert [row[4] for row in rows[:40]] == reasons
    assert rows[40] == ["only one", "", "", ""]
    assert "negation=not(source only)" in rows[41][4] and "numbers=1" in rows[41][4]
    for batch in (7, 8192):
        plain = table(call(folder, *words, "--score-only", "--batch-size", batch))
        assert [row[2] for row in plain] == reasons
