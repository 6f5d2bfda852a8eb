"""bitext-align through its streams: pairs, retrievals, duplicates, bad lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import Result
from console import ROOT, invoke, table
from toys import sentences, toy_model

from bitextfilter.commands import align
from bitextfilter.commands.frame.documents import RowForm
from bitextfilter.mining.comparable import MINING_SIMILARITIES, RETRIEVALS
from bitextfilter.scoring.measures import THRESHOLD_MEASURES

Files = tuple[Path, Path]

SOURCES, TARGETS = sentences(60, 7)
PAIRS = dict(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """All source sentences but the first ten; all target sentences but the last ten, backwards."""
    paths = tmp_path / "source.txt", tmp_path / "target.txt"
    for path, lines in zip(paths, (SOURCES[10:], TARGETS[49::-1]), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


def bitext_align(model: object, *words: object, text: bytes = b"", code: int = 0) -> Result:
    return invoke("bitext-align", *words, "--model", model, data=text, code=code)


def test_names_are_those_there_are() -> None:
    assert set(THRESHOLD_MEASURES) == set(MINING_SIMILARITIES)
    assert set(align._RETRIEVALS) == set(RETRIEVALS)


def test_it_finds_the_pairs_best_first(model: Path, files: Files) -> None:
    done = bitext_align(model, *files)
    rows = table(done)
    assert {tuple(row[:2]) for row in rows[:40]} == {(s, PAIRS[s]) for s in SOURCES[10:50]}
    scores = [float(row[2]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(len(row[2].split(".")[1]) == 4 for row in rows)
    assert f"100 rows, 0 rejected, {len(rows)} pairs" in done.stderr
    first = table(bitext_align(model, *files, "--digits", "2", "--score-first"))
    assert [[f"{float(row[2]):.2f}", *row[:2]] for row in rows] == first


def test_neither_order_nor_threads_nor_batches_change_a_score(
    model: Path, files: Files, tmp_path: Path
) -> None:
    whole = bitext_align(model, *files, "-q").stdout
    for threads, batch in ((1, 7), (2, 1), (2, 512)):
        options = ("-q", "--threads", threads, "--batch-size", batch)
        assert bitext_align(model, *files, *options).stdout == whole
    for path in files:
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(sorted(lines)))
    assert sorted(bitext_align(model, *files, "-q").stdout.split("\n")) == sorted(whole.split("\n"))


def test_copies_of_a_line_count_once_or_all(model: Path, files: Files) -> None:
    whole = table(bitext_align(model, *files))
    source, target, _ = whole[3]
    for path, line, times in ((files[0], source, 2), (files[1], target, 1)):
        path.write_text(path.read_text() + f"{line}\n" * times)
    assert table(bitext_align(model, *files)) == whole
    kept = table(bitext_align(model, *files, "--keep-duplicates"))
    assert kept == [*whole[:3], *[whole[3]] * 6, *whole[4:]]


def test_empty_files_and_no_pairs(model: Path, files: Files, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    for paths in ((empty, files[1]), (files[0], empty), (empty, empty)):
        assert table(bitext_align(model, *paths)) == []
    assert table(bitext_align(model, *files, "--min-score", "99")) == []


def test_streams_and_compression(model: Path, files: Files, tmp_path: Path) -> None:
    whole = bitext_align(model, *files, "-q").stdout
    packed, out = tmp_path / "target.txt.gz", tmp_path / "pairs.tsv.gz"
    packed.write_bytes(gzip.compress(files[1].read_bytes()))
    text = b"\xef\xbb\xbf" + files[0].read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    manifest = tmp_path / "run.json"
    done = bitext_align(model, "-", packed, "-o", out, "--manifest", manifest, text=text)
    assert done.stdout == ""
    assert gzip.decompress(out.read_bytes()).decode() == whole
    assert json.loads(manifest.read_text())["counts"]["pairs"] == len(whole.splitlines())
    bitext_align(model, "-", "-", code=2)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [(b" \t\xe2\x80\x8b", "empty"), (b"a1\ta2", "a tab in the line"), (b"a1 \xff", "not UTF-8")],
)
def test_bad_lines(model: Path, files: Files, tmp_path: Path, bad: bytes, reason: str) -> None:
    """Those of both files share the rejects."""
    whole = bitext_align(model, *files, "-q").stdout
    for path in files:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\n" + bad + b"\n", 1))
    out, rejects = tmp_path / "pairs.tsv", tmp_path / "rejects.tsv"
    said = bitext_align(model, *files, "-o", out, code=65).stderr
    assert f"{files[0]}:2: " in said and reason in said and "--on-error reject" in said
    assert not out.exists()
    done = bitext_align(model, *files, "--on-error", "reject", "--rejects", rejects)
    assert done.stdout == whole
    assert "102 rows, 2 rejected" in done.stderr
    for path, rejected in zip(files, rejects.read_bytes().splitlines(), strict=True):
        number, why, line = rejected.split(b"\t", 2)
        assert (number, line) == (b"2", bad)
        assert why.startswith(f"{path}: ".encode()) and reason.encode() in why


def test_what_is_not_there(model: Path, files: Files, tmp_path: Path) -> None:
    missing = bitext_align(model, files[0], tmp_path / "none", code=66)
    assert missing.stdout == "" and "none: cannot be opened" in missing.stderr
    bitext_align(tmp_path / "no-model", *files, code=66)
    bare = toy_model(tmp_path / "bare", classifier=False, background=False)
    bitext_align(bare, *files, "--similarity", "csls")
    lacking = bitext_align(bare, *files, "--similarity", "mlp", code=78)
    assert "bitext-train-classifier" in lacking.stderr
    bitext_align(model, *files, "-o", "/dev/full", code=74)
    bitext_align(model, files[0], code=2)
    bitext_align(model, *files, "-k", "0", code=2)


def test_a_rounded_nothing_has_no_sign() -> None:
    form = RowForm(digits=3, score_first=False)
    assert form.row(["s", "t"], -0.0004) == b"s\tt\t0.000\n"
    assert form.row(["s", "t"], -0.0006) == b"s\tt\t-0.001\n"


def test_the_languages_are_looked_at(
    model: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = "bitextfilter.scoring.row_checks.check_columns"
    monkeypatch.setattr(check, lambda *_: "look swapped")
    assert "bitext-align: warning: look swapped" in bitext_align(model, *files).stderr
    assert "swapped" not in bitext_align(model, *files, "--no-column-check").stderr


EXAMPLES = (ROOT / "examples" / "pairs.en-de.tsv").read_text("utf-8").splitlines()
SIDES = [[line.split("\t")[side] for line in EXAMPLES] for side in (0, 1)]


@pytest.mark.gate(2)
@pytest.mark.parametrize("name", ["en-de", "multi"])
@pytest.mark.parametrize("similarity", ["joint", "csls", "ratio", "mlp"])
def test_files_exchanged_have_the_same_pairs_and_scores(
    tmp_path: Path, name: str, similarity: str
) -> None:
    files = tmp_path / "en.txt", tmp_path / "de.txt"
    for file, side, skipped in zip(files, SIDES, (0, 9), strict=True):
        file.write_text("".join(f"{line}\n" for line in side[skipped:]), encoding="utf-8")
    words = ("--similarity", similarity, "--min-score", "none", "--digits", "9")
    one, other = (
        bitext_align(name, *words, "--languages", languages, *paths)
        for languages, paths in (("en,de", files), ("de,en", files[::-1]))
    )
    turned = [[row[1], row[0], row[2]] for row in table(other)]
    assert sorted(turned) == sorted(table(one))
    assert len(turned) > 40
    assert "warning" not in one.stderr + other.stderr


def test_files_in_the_wrong_order_are_named_before_the_search(tmp_path: Path) -> None:
    files = tmp_path / "de.txt", tmp_path / "en.txt"
    for side, file in zip(SIDES[::-1], files, strict=True):
        file.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    done = invoke("bitext-align", *files, "--batch-size", "40")
    warned, compared = (
        done.stderr.index(text)
        for text in ("the columns look swapped", "--languages de,en reads them so")
    )
    assert warned < compared < done.stderr.index("comparing")
