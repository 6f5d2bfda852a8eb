"""bitext-align and bitext-align-words: pairs, retrievals, duplicates, links, bad lines."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from click.testing import Result
from console import ROOT, invoke, table
from toys import sentences, toy_model

from bitextfilter.commands import align
from bitextfilter.commands.align_words import _HEURISTICS
from bitextfilter.commands.frame.documents import RowForm
from bitextfilter.mining.comparable import MINING_SIMILARITIES, RETRIEVALS
from bitextfilter.mining.word_lexicon import SYMMETRISATIONS
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
    (asked,) = (option for option in align.main.params if option.name == "similarity")
    assert set(asked.type.choices) == set(MINING_SIMILARITIES) == set(THRESHOLD_MEASURES)
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


ROWS = [f"{source}\t{target}\n".encode() for source, target in zip(*SIDES, strict=True)][:60]
DATA = b"".join(ROWS)


def call(*words: object, data: bytes = DATA, code: int = 0) -> Result:
    return invoke("bitext-align-words", *words, data=data, code=code)


def aligned(*words: object, data: bytes = DATA) -> list[bytes]:
    return call(*words, data=data).stdout_bytes.split(b"\n")[:-1]


def test_every_row_gets_its_links() -> None:
    lines = aligned("--unaligned")
    assert len(lines) == len(ROWS)
    for row, line in zip(ROWS, lines, strict=True):
        assert line.startswith(row[:-1] + b"\t")
        source, target, links, unaligned = line.decode().split("\t")
        places = [tuple(map(int, link.split("-"))) for link in links.split()]
        assert places and places == sorted(set(places))
        lengths = len(source.split()), len(target.split())
        assert all(i < lengths[0] and j < lengths[1] for i, j in places)
        linked = len({i for i, _ in places}) + len({j for _, j in places})
        assert float(unaligned) == pytest.approx(1 - linked / sum(lengths), abs=1e-4)
    only = [line.split(b"\t", 2)[2] for line in lines]
    assert aligned("--unaligned", "--alignment-only") == only
    assert aligned("--batch-size", "7", "--unaligned") == lines
    assert any(line.endswith(b"\t0.0000") for line in lines)


def test_a_saved_lexicon_gives_the_same_links(tmp_path: Path) -> None:
    lexicon, manifest = tmp_path / "lexicon.zst", tmp_path / "run"
    lines = aligned("--save", lexicon, "--symmetrise", "union", "--manifest", manifest)
    assert aligned("--load", lexicon, "--symmetrise", "union") == lines
    assert json.loads(manifest.read_bytes())["facts"]["word_pairs"] > 100
    assert aligned("--load", lexicon, "--symmetrise", "union", "--batch-size", "3") == lines


def test_the_first_rows_are_learnt_from(tmp_path: Path) -> None:
    result = call("--learn-rows", "30", "--save", tmp_path / "some")
    assert "learning from 30 pairs" in result.stderr
    call("--save", tmp_path / "same", data=b"".join(ROWS[:30]))
    assert (tmp_path / "some").read_bytes() == (tmp_path / "same").read_bytes()
    result = call("--load", tmp_path / "same")
    assert result.stdout_bytes == call("--learn-rows", "30").stdout_bytes
    assert call("--iterations", "1").stdout_bytes != call().stdout_bytes


def test_ways_to_make_one_of_two() -> None:
    assert set(_HEURISTICS) == set(SYMMETRISATIONS)
    found = {
        name: [set(line.split()) for line in aligned("--alignment-only", "--symmetrise", name)]
        for name in _HEURISTICS
    }
    for names in zip(*found.values(), strict=True):
        one = dict(zip(found, names, strict=True))
        assert one["intersection"] == one["forward"] & one["backward"]
        assert one["union"] == one["forward"] | one["backward"]
        for name in ("grow-diag", "grow-diag-final-and"):
            assert one["intersection"] <= one[name] <= one["union"]


def test_rows_without_alignment(tmp_path: Path) -> None:
    """A bad row, one that is too long, and unknown words; heads and endings stay."""
    head, long = b"\xef\xbb\xbfen\tde\r\n", b"a " * 101 + b"\tb\r\n"
    data = head + DATA.replace(b"\n", b"\r\n") + b"alone\r\n" + long + b"x\ty"
    gone = tmp_path / "gone"
    words = ("--header", "--unaligned", "--on-error", "reject", "--rejects", gone)
    result = call(*words, data=data)
    lines = result.stdout_bytes.split(b"\n")
    assert lines[0] == b"\xef\xbb\xbfen\tde\talignment\tunaligned\r"
    assert lines[-3:-1] == [b"alone\t\t\r", long[:-2] + b"\t\t\r"]
    assert re.fullmatch(rb"x\ty\t(0-0)?\t[01]\.0000", lines[-1])
    assert "63 rows, 1 rejected, 1 too long" in result.stderr
    assert gone.read_bytes() == b"62\t1 column, expected at least 2 (--tcol 2)\talone\n"
    only = call(*words, "--alignment-only", data=data).stdout_bytes.split(b"\n")
    assert len(only) == 64 and only[60:62] == [b"\t", b"\t"]
    more = call("--max-words", "101", *words, data=data)
    assert "0 too long" in more.stderr and b"\tb\t0-0" in more.stdout_bytes
    stopped = call("-o", tmp_path / "out", "--save", tmp_path / "l", data=data, code=65)
    assert "stdin:62: 1 column" in stopped.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["gone"]


def test_the_filter_reads_the_share() -> None:
    scored = call("--unaligned").stdout_bytes
    found = invoke("bitext-filter", "-q", "--rule", "-1<=0.05", data=scored)
    kept = found.stdout_bytes.splitlines()
    lines = scored.splitlines()
    assert kept == [line for line in lines if float(line.rsplit(b"\t", 1)[1]) <= 0.05]
    assert 0 < len(kept) < len(lines)


def test_nothing_at_all(tmp_path: Path) -> None:
    assert aligned("--save", tmp_path / "none", data=b"") == []
    assert (tmp_path / "none").read_bytes() == b""
    assert aligned("--load", tmp_path / "none", "--alignment-only") == [b""] * len(ROWS)
