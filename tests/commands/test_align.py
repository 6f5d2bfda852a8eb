"""bitext-align through its streams: pairs, retrievals, duplicates, bad lines."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from toys import sentences, toy_model

from bitextfilter.commands import align
from bitextfilter.commands.frame.documents import RowForm
from bitextfilter.mining.comparable import MINING_SIMILARITIES, RETRIEVALS
from bitextfilter.scoring.measures import THRESHOLD_MEASURES
from bitextfilter.scoring.model import load

SOURCES, TARGETS = sentences(60, 7)
PAIRS = dict(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """All source sentences but the first ten; all target sentences but the last ten, backwards."""
    paths = tmp_path / "source.txt", tmp_path / "target.txt"
    for path, lines in zip(paths, (SOURCES[10:], TARGETS[49::-1]), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


def bitext_align(model: Path, *words: str | Path, text: bytes = b"") -> Result:
    arguments = [*(str(word) for word in words), "--model", str(model)]
    return CliRunner().invoke(align.main, arguments, input=text)


def rows_of(done: Result) -> list[list[str]]:
    assert done.exit_code == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_names_are_those_there_are() -> None:
    assert set(THRESHOLD_MEASURES) == set(MINING_SIMILARITIES)
    assert set(align._RETRIEVALS) == set(RETRIEVALS)


def test_it_finds_the_pairs_best_first(model: Path, files: tuple[Path, Path]) -> None:
    done = bitext_align(model, *files)
    rows = rows_of(done)
    assert {tuple(row[:2]) for row in rows[:40]} == {(s, PAIRS[s]) for s in SOURCES[10:50]}
    scores = [float(row[2]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(len(row[2].split(".")[1]) == 4 for row in rows)
    assert f"100 rows, 0 rejected, {len(rows)} pairs" in done.stderr


@pytest.mark.gate(6)
@pytest.mark.parametrize("retrieval", RETRIEVALS)
@pytest.mark.parametrize("similarity", MINING_SIMILARITIES)
def test_least_score_in_every_mode(
    model: Path, files: tuple[Path, Path], similarity: str, retrieval: str
) -> None:
    words = (*files, "-q", "--similarity", similarity, "--retrieval", retrieval, "--digits", "6")
    whole = bitext_align(model, *words)
    scores = [float(row[2]) for row in rows_of(whole)]
    different = sorted({round(score, 4) for score in scores})
    middle = str(sum(different[len(different) // 2 :][:2]) / 2)
    part = bitext_align(model, *words, "--min-score", middle)
    kept = sum(score >= float(middle) for score in scores)
    assert 0 < kept < len(scores)
    assert part.stdout.splitlines() == whole.stdout.splitlines()[:kept]
    assert part.stderr == ""


def test_joint_adds_classifier_and_length_to_csls(model: Path, files: tuple[Path, Path]) -> None:
    def scores(similarity: str) -> dict[tuple[str, str], float]:
        done = bitext_align(model, *files, "-q", "--similarity", similarity, "--digits", "6")
        return {(source, target): float(score) for source, target, score in rows_of(done)}

    csls, joint = scores("csls"), scores("joint")
    assert csls.keys() == joint.keys()
    known = load(model).score(*map(list, zip(*csls, strict=True)), ("mlp",))["mlp"].tolist()
    assert len({len(text) for pair in csls for text in pair}) > 10
    for pair, p in zip(csls, known, strict=True):
        logit = math.log(min(max(p, 1e-4), 1 - 1e-4) / (1 - min(max(p, 1e-4), 1 - 1e-4)))
        length = math.log(min(*map(len, pair), 150) / 50)
        assert joint[pair] == pytest.approx(csls[pair] + logit / 32 + length / 6, abs=1e-4)


def test_score_first_and_digits(model: Path, files: tuple[Path, Path]) -> None:
    usual = rows_of(bitext_align(model, *files, "--digits", "2"))
    first = rows_of(bitext_align(model, *files, "--digits", "2", "--score-first"))
    assert [[row[2], row[0], row[1]] for row in usual] == first
    assert all(len(row[0].split(".")[1]) == 2 for row in first)


def test_neither_order_nor_threads_nor_batches_change_a_score(
    model: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    whole = bitext_align(model, *files, "-q").stdout
    for threads, batch in itertools.product("12", ("1", "7", "512")):
        options = ("-q", "--threads", threads, "--batch-size", batch)
        assert bitext_align(model, *files, *options).stdout == whole
    for path in files:
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(sorted(lines)))
    assert sorted(bitext_align(model, *files, "-q").stdout.split("\n")) == sorted(whole.split("\n"))


def test_copies_of_a_line_count_once_or_all(model: Path, files: tuple[Path, Path]) -> None:
    whole = rows_of(bitext_align(model, *files))
    source, target, _ = whole[3]
    for path, line, times in ((files[0], source, 2), (files[1], target, 1)):
        path.write_text(path.read_text() + f"{line}\n" * times)
    assert rows_of(bitext_align(model, *files)) == whole
    kept = rows_of(bitext_align(model, *files, "--keep-duplicates"))
    assert kept == [*whole[:3], *[whole[3]] * 6, *whole[4:]]


def test_empty_files_and_no_pairs(model: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    for paths in ((empty, files[1]), (files[0], empty), (empty, empty)):
        for retrieval in RETRIEVALS:
            assert rows_of(bitext_align(model, *paths, "--retrieval", retrieval)) == []
    assert rows_of(bitext_align(model, *files, "--min-score", "99")) == []


def test_streams_and_compression(model: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    whole = bitext_align(model, *files, "-q").stdout
    packed, out = tmp_path / "target.txt.gz", tmp_path / "pairs.tsv.gz"
    packed.write_bytes(gzip.compress(files[1].read_bytes()))
    text = b"\xef\xbb\xbf" + files[0].read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    manifest = tmp_path / "run.json"
    done = bitext_align(model, "-", packed, "-o", out, "--manifest", manifest, text=text)
    assert (done.exit_code, done.stdout) == (0, "")
    assert gzip.decompress(out.read_bytes()).decode() == whole
    assert json.loads(manifest.read_text())["counts"]["pairs"] == len(whole.splitlines())
    assert bitext_align(model, "-", "-").exit_code == 2


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"", "empty"),
        (b" \t\xe2\x80\x8b", "empty"),
        (b"a1\ta2", "a tab in the line"),
        (b"a1 \0", "NUL"),
        (b"a1 \xff", "not UTF-8"),
    ],
)
def test_bad_lines(
    model: Path, files: tuple[Path, Path], tmp_path: Path, bad: bytes, reason: str
) -> None:
    whole = bitext_align(model, *files, "-q").stdout
    lines = files[1].read_bytes().split(b"\n")
    files[1].write_bytes(b"\n".join([*lines[:4], bad, *lines[4:]]))
    out, rejects = tmp_path / "pairs.tsv", tmp_path / "rejects.tsv"
    stopped = bitext_align(model, *files, "-o", out)
    assert stopped.exit_code == 65
    assert f"{files[1]}:5: " in stopped.stderr
    assert reason in stopped.stderr
    assert "--on-error reject" in stopped.stderr
    assert not out.exists()
    done = bitext_align(model, *files, "--on-error", "reject", "--rejects", rejects)
    assert done.exit_code == 0
    assert done.stdout == whole
    assert "101 rows, 1 rejected" in done.stderr
    number, why, line = rejects.read_bytes().split(b"\t", 2)
    assert (number, line) == (b"5", bad + b"\n")
    assert why.startswith(f"{files[1]}: ".encode())
    assert reason.encode() in why


def test_bad_lines_of_both_files_share_the_rejects(
    model: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    for path in files:
        path.write_bytes(b"\n" + path.read_bytes())
    rejects = tmp_path / "rejects.tsv"
    done = bitext_align(model, *files, "--on-error", "reject", "--rejects", rejects)
    assert "102 rows, 2 rejected" in done.stderr
    assert [line.split(b": ")[0] for line in rejects.read_bytes().splitlines()] == [
        f"1\t{path}".encode() for path in files
    ]


def test_what_is_not_there(model: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    missing = bitext_align(model, files[0], tmp_path / "none")
    assert (missing.exit_code, missing.stdout) == (66, "")
    assert "none: cannot be opened" in missing.stderr
    assert bitext_align(tmp_path / "no-model", *files).exit_code == 66
    bare = toy_model(tmp_path / "bare", classifier=False, background=False)
    assert bitext_align(bare, *files, "--similarity", "csls").exit_code == 0
    lacking = bitext_align(bare, *files, "--similarity", "mlp")
    assert lacking.exit_code == 78
    assert "bitext-train-classifier" in lacking.stderr
    full = bitext_align(model, *files, "-o", "/dev/full")
    assert full.exit_code == 74
    assert bitext_align(model, files[0]).exit_code == 2
    assert bitext_align(model, *files, "-k", "0").exit_code == 2


def test_a_rounded_nothing_has_no_sign() -> None:
    form = RowForm(digits=3, score_first=False)
    assert form.row(["s", "t"], -0.0004) == b"s\tt\t0.000\n"
    assert form.row(["s", "t"], -0.0006) == b"s\tt\t-0.001\n"


def test_the_languages_are_looked_at(
    model: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    check = "bitextfilter.scoring.row_checks.check_columns"
    monkeypatch.setattr(check, lambda *_: "look swapped")
    assert "bitext-align: warning: look swapped" in bitext_align(model, *files).stderr
    unchecked = bitext_align(model, *files, "--no-column-check")
    assert unchecked.exit_code == 0
    assert "swapped" not in unchecked.stderr


EXAMPLES = Path(__file__).parents[2] / "examples" / "pairs.en-de.tsv"


@pytest.mark.gate(2)
@pytest.mark.parametrize("name", ["en-de", "multi"])
@pytest.mark.parametrize("similarity", ["joint", "csls", "ratio", "mlp"])
def test_files_exchanged_have_the_same_pairs_and_scores(
    tmp_path: Path, name: str, similarity: str
) -> None:
    rows = [line.split("\t") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    files = tmp_path / "en.txt", tmp_path / "de.txt"
    for side, file in enumerate(files):
        file.write_text("".join(f"{row[side]}\n" for row in rows[side * 9 :]), encoding="utf-8")
    words = ("--model", name, "--similarity", similarity, "--min-score", "none", "--digits", "9")
    one, other = (
        CliRunner().invoke(align.main, [*words, "--languages", languages, *map(str, paths)])
        for languages, paths in (("en,de", files), ("de,en", files[::-1]))
    )
    turned = [[row[1], row[0], row[2]] for row in rows_of(other)]
    assert sorted(turned) == sorted(rows_of(one))
    assert len(turned) > 40
    assert "warning" not in one.stderr + other.stderr


def test_files_in_the_wrong_order_are_named_before_the_search(tmp_path: Path) -> None:
    rows = [line.split("\t") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    files = tmp_path / "de.txt", tmp_path / "en.txt"
    for side, file in zip((1, 0), files, strict=True):
        file.write_text("".join(f"{row[side]}\n" for row in rows), encoding="utf-8")
    done = CliRunner().invoke(align.main, [*map(str, files), "--batch-size", "40"])
    warned, compared = (
        done.stderr.index(text)
        for text in ("the columns look swapped", "--languages de,en reads them so")
    )
    assert warned < compared < done.stderr.index("comparing")
