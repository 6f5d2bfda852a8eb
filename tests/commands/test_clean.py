"""``bitext-clean``: the same rows as the pipe of commands, and as Python's ``clean``."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke, says_one_line, table

import bitextfilter
from bitextfilter.cleaning.choice import model_of
from bitextfilter.commands.clean import _beside
from bitextfilter.errors import SettingsError
from bitextfilter.io.spill import KeyTable

EXAMPLES = Path("examples/pairs.en-de.tsv")
DAMAGED = (
    "SchÃ¶ne GrÃ¼ÃŸe\tSchÃ¶ne GrÃ¼ÃŸe aus dem Urlaub\textra\n"
    "one column\n"
    "Buy &amp; sell used cars in the old town.\t"
    "Gebrauchtwagen in der Altstadt kaufen &amp; verkaufen.\tx\n"
    "\x00\tNUL\ty\n"
)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Example pairs with labels, some of them twice, and damaged rows."""
    lines = EXAMPLES.read_text().splitlines(keepends=True)
    path = tmp_path_factory.mktemp("clean") / "raw.tsv"
    path.write_text("".join(lines) + DAMAGED + "".join(lines[:9]).upper())
    return path


def clean(*words: object, code: int = 0, data: str = "") -> Result:
    return invoke("bitext-clean", *words, data=data, code=code)


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


@pytest.mark.gate("words1")
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--match", "none", "--against", "test.tsv", "--without", "language", "--min-score", "0.8"),
    ],
)
def test_the_rows_are_those_of_the_pipe(
    raw: Path, tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("".join(EXAMPLES.read_text().splitlines(keepends=True)[3:6]))
    monkeypatch.setenv("BITEXTFILTER_ON_ERROR", "reject")
    words = tuple(str(test) if word == "test.tsv" else word for word in words)
    pipe = clean(raw, *words, "-o", tmp_path / "piped.tsv", "--dry-run").stdout
    bins = str(Path(sys.executable).parent)
    line = f"set -e -o pipefail; PATH={bins}:$PATH; {pipe}"
    subprocess.run(["bash", "-c", line], check=True, capture_output=True)
    clean(raw, *words, "-o", tmp_path / "clean.tsv")
    assert (tmp_path / "clean.tsv").read_bytes() == (tmp_path / "piped.tsv").read_bytes()
    kept = rows(tmp_path / "clean.tsv")
    assert 20 < len(kept) < 80
    rejects = rows(tmp_path / "clean.rejects.tsv")
    assert len(kept) + len(rejects) == len(raw.read_text().splitlines())
    numbers = [int(row[0]) for row in rejects]
    assert len(set(numbers)) == len(numbers)


def test_python_keeps_the_same(raw: Path, tmp_path: Path) -> None:
    clean(raw, "-o", tmp_path / "clean.tsv")
    pairs = [tuple(row) for row in rows(raw) if len(row) > 2 and "\0" not in row[0]]
    dropped: list[str] = []
    found = list(bitextfilter.clean(pairs, on_drop=lambda _, reason: dropped.append(reason)))
    text = "".join("\t".join([*map(str, row[:-1]), f"{row[-1]:.4f}"]) + "\n" for row in found)
    assert text == (tmp_path / "clean.tsv").read_text()
    assert len(found) + len(dropped) == len(pairs)
    reasons = [row[1] for row in rows(tmp_path / "clean.rejects.tsv")]
    scored = [reason for reason in dropped if reason.startswith("probability")]
    assert scored == [reason for reason in reasons if reason.startswith("probability")]


def test_the_table_and_the_manifest(raw: Path, tmp_path: Path) -> None:
    result = clean(raw, "-o", tmp_path / "c.tsv", "--manifest", tmp_path / "run.json")
    assert "bitext-clean: en,de, scored by en-de:en,de\n" in result.stderr
    assert "balanced: probability>=0.5; " in result.stderr
    counts = json.loads((tmp_path / "run.json").read_text())["counts"]
    assert counts["rows"] == counts["kept"] + counts["dropped"] + counts["rejected"]
    assert counts["dropped"] == sum(
        counts[step] for step in ("rules", "other files", "duplicates", "score")
    )
    assert counts["rejected"] == 2 and counts["repaired"] >= 2 and counts["duplicates"] >= 5
    for step in ("read", "repaired", "rejected", "rules", "duplicates", "score", "kept"):
        assert f"bitext-clean: {step:<12}" in result.stderr
    assert clean(raw, "-q", "-o", tmp_path / "c.tsv").stderr == ""


def test_repaired_rows_keep_their_other_columns(raw: Path, tmp_path: Path) -> None:
    clean(raw, "-o", tmp_path / "c.tsv", "--min-score", 0)
    (row,) = [row for row in rows(tmp_path / "c.tsv") if row[0].startswith("Buy")]
    assert row[:3] == [
        "Buy & sell used cars in the old town.",
        "Gebrauchtwagen in der Altstadt kaufen & verkaufen.",
        "x",
    ]


def test_compressed_outputs_lie_beside_each_other(raw: Path, tmp_path: Path) -> None:
    packed = tmp_path / "raw.tsv.gz"
    packed.write_bytes(gzip.compress(raw.read_bytes()))
    (tmp_path / "new").mkdir()
    clean(packed, "-o", tmp_path / "new" / "c.tsv.gz")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "c.rejects.tsv.gz",
        "c.tsv.gz",
    ]
    chosen = tmp_path / "why.tsv"
    clean(packed, "-o", tmp_path / "d.tsv", "--rejects", chosen)
    assert chosen.read_bytes() == gzip.decompress((tmp_path / "new/c.rejects.tsv.gz").read_bytes())
    streamed = clean(data=raw.read_text())
    assert streamed.stdout.encode() == (tmp_path / "d.tsv").read_bytes()


def test_other_formats_and_headers(raw: Path, tmp_path: Path) -> None:
    good = [row for row in rows(raw) if len(row) > 2 and "\0" not in row[0]]
    clean(raw, "-o", tmp_path / "c.tsv")
    expected = [[*row[:2], row[-1]] for row in rows(tmp_path / "c.tsv")]
    for side, name in enumerate(("x.en", "x.de")):
        (tmp_path / name).write_text("".join(row[side] + "\n" for row in good))
    moses = clean(tmp_path / "x.en", tmp_path / "x.de")
    assert table(moses) == expected
    lines = (json.dumps({"source": row[0], "target": row[1]}) + "\n" for row in good)
    (tmp_path / "x.jsonl").write_text("".join(lines))
    assert table(clean(tmp_path / "x.jsonl")) == expected
    header = "de\ten\tlabel\n" + "".join(f"{b}\t{a}\t{c}\n" for a, b, c, *_ in good)
    words = ("--header", "--scol", "en", "--tcol", "de")
    named = table(clean(*words, data=header))
    assert named[0] == ["de", "en", "label", "probability"]
    assert [[row[1], row[0], row[-1]] for row in named[1:]] == expected


def test_an_ended_run_goes_on(raw: Path, tmp_path: Path) -> None:
    first = clean(raw, "--resume", tmp_path / "kept")
    again = clean(raw, "--resume", tmp_path / "kept", "--manifest", tmp_path / "run.json")
    assert again.stdout == first.stdout == clean(raw).stdout
    assert any((tmp_path / "kept").iterdir())


def test_a_report(raw: Path, tmp_path: Path) -> None:
    clean(raw, "-o", tmp_path / "c.tsv", "--report", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "The balanced cut is 0.5." in page and "probability" in page


@pytest.mark.gate(0)
@pytest.mark.parametrize("match", ["normalised", "none"])
def test_rows_that_wait_on_the_disk(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, match: str
) -> None:
    expected = clean(raw, "--match", match).stdout
    monkeypatch.setattr(KeyTable, "has_room", lambda *_: False)
    result = clean(raw, "--match", match, "-o", tmp_path / "c.tsv", "--batch-size", 7)
    assert (tmp_path / "c.tsv").read_text() == expected
    assert result.stdout == ""
    lines = len(raw.read_text().splitlines())
    assert len(rows(tmp_path / "c.tsv")) + len(rows(tmp_path / "c.rejects.tsv")) == lines


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ("--min-score", "best"),
            2,
            "'best' is not a number, nor is it lenient, balanced or strict",
        ),
        (("--rule", "no-rule"), 2, "no-rule"),
        (("--languages", "en,eu"), 78, "no shipped model knows eu: --model names another"),
        (("--model", "cosmic"), 66, "cosmic"),
        (("-o", "c.tmx"), 2, "c.tmx is the name of tmx, and a TSV is written"),
        (("--on-error", "stop"), 65, "1 column, expected at least 2"),
        (("--model", "en-fr", "--languages", "en,de"), 78, "languages are en and fr, not 'de'"),
        (("--model", "en-de:de,en", "--languages", "en,de"), 78, "en-de:de,en is not for en,de"),
        (("--rule", "score>=0.5"), 2, "column: reads a column"),
        (("--rule", "score>=balanced"), 2, "minimum=balanced is not a number"),
    ],
)
def test_what_cannot_be(
    raw: Path, tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    result = clean(raw, "-o", tmp_path / "c.tsv", *words, "-q", code=code)
    says_one_line(result, code, message)
    assert not list(tmp_path.iterdir())


def test_rejects_are_in_order(raw: Path, tmp_path: Path) -> None:
    clean(raw, "-o", tmp_path / "c.tsv", "--batch-size", 20, "--threads", 2)
    numbers = [int(row[0]) for row in rows(tmp_path / "c.rejects.tsv")]
    assert numbers == sorted(numbers)


@pytest.mark.gate(0)
def test_languages_in_doubt(raw: Path, tmp_path: Path) -> None:
    result = clean(raw, "--languages", "de,en", "-o", tmp_path / "c.tsv")
    assert "of the rows fail the rules language and script" in result.stderr
    right = clean(raw, "-o", tmp_path / "c.tsv")
    assert "fail the rules language" not in right.stderr


def test_no_rows() -> None:
    for words in ((), ("--languages", "en,de")):
        result = clean(*words, data="")
        assert result.stdout == "" and "warning: stdin: no rows" in result.stderr
    assert list(bitextfilter.clean([])) == []


def test_each_file_is_its_own(raw: Path, tmp_path: Path) -> None:
    """Outputs replace neither each other nor what is read."""
    other = tmp_path / "in.rejects.tsv"
    other.write_text("a\tb\n")
    for words, option in (
        (("-o", tmp_path / "z.tsv", "--manifest", tmp_path / "z.rejects.tsv"), "--manifest"),
        (("-o", tmp_path / "in.tsv", "--against", other), "--rejects"),
        (("-o", other, "--against", other), "-o"),
        (("-o", tmp_path / "a.tsv", "--report", tmp_path / "a.tsv"), "--report"),
    ):
        says_one_line(clean(raw, *words, code=2), 2, f"{option} needs a file of its own")
    assert other.read_text() == "a\tb\n" and list(tmp_path.iterdir()) == [other]


@pytest.mark.parametrize(
    ("output", "beside"),
    [
        ("c.tsv.gz", "c.rejects.tsv.gz"),
        ("corpus.v1.2", "corpus.v1.2.rejects.tsv"),
        ("corpus.en-de", "corpus.en-de.rejects.tsv"),
        ("c.txt", "c.rejects.txt"),
        ("/dev/null", None),
        ("-", None),
    ],
)
def test_the_name_of_the_rejects(output: str, beside: str | None) -> None:
    assert _beside(output) == beside


def test_files_of_two_sides(raw: Path, tmp_path: Path) -> None:
    """Both are named in the pipe and on the page."""
    sides = [row[:2] for row in rows(EXAMPLES)[:30]]
    files = [tmp_path / f"m.{language}" for language in ("en", "de")]
    for side, path in enumerate(files):
        path.write_text("".join(f"{row[side]}\n" for row in sides))
    pipe = clean("--dry-run", *files, "-o", tmp_path / "m.tsv").stdout
    assert f"--whitespace {files[0]} {files[1]} |" in pipe
    report = tmp_path / "m.html"
    clean(*files, "--model", "en-de", "--report", report, "-o", tmp_path / "m.tsv")
    assert f"--model en-de -o {tmp_path / 'm.tsv'} --min-score" in report.read_text()
    result = clean(*files, "--scol", 2, "--tcol", 1, code=2)
    says_one_line(result, 2, "--scol is for TSV and Parquet, not for moses")
    says_one_line(clean(raw, tmp_path / "m.tmx", code=2), 2, "files of several formats: tmx, tsv")


def test_exchanged_sides_of_a_memory(tmp_path: Path) -> None:
    """The pipe reads them in the same order."""
    memory, pairs = tmp_path / "m.tmx", "".join(EXAMPLES.read_text().splitlines(True)[:9])
    invoke("bitext-convert", "--languages", "en,de", "-o", memory, data=pairs)
    pipe = clean("--dry-run", memory, "--languages", "de,en", "-o", tmp_path / "c.tsv").stdout
    assert "bitext-convert --from tmx --whitespace --languages de,en " in pipe
    assert "--model en-de:de,en" in pipe


def test_rows_of_one_column(raw: Path, tmp_path: Path) -> None:
    one = tmp_path / "one.tsv"
    one.write_text("The river is long.\nThe house is red.\n")
    says_one_line(clean(one, code=65), 65, f"{one}:1: 1 column, expected at least 2")
    clean(raw, "--max-bad", "50%", "-o", tmp_path / "c.tsv")


def test_text_that_tells_no_language() -> None:
    result = clean(data="1 2 3\t4 5 6\n", code=78)
    says_one_line(result, 78, "give --languages SOURCE,TARGET")


def test_the_model_for_two_languages() -> None:
    assert model_of(("en", "de")) == "en-de:en,de"
    assert model_of(("de", "en")) == "en-de:de,en"
    assert model_of(("fr", "en-GB")) == "en-fr:fr,en-GB"
    assert model_of(("cs", "pl")) == "multi:cs,pl"
    with pytest.raises(SettingsError, match="no shipped model knows eu and cy"):
        model_of(("eu", "cy"))
