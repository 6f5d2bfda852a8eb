"""bitext-evaluate alignment, words, lexicon and contrasts through their streams."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from toys import sentences, toy_model

from bitextfilter.commands.evaluate import main
from bitextfilter.io.vectors import write_word_vectors
from bitextfilter.scoring.model import load

GOLD = b"[0]:[0]\n[1,2]:[1]\n[]:[2]\n[3]:[3,4]\n"
FOUND = b"[0]:[0]:0.9\n[1]:[1]:0.7\n[2]:[]:\n[]:[2]:\n[3]:[3,4]:0.8\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "gold.links", tmp_path / "found.links"
    for path, content in zip(paths, (GOLD, FOUND), strict=True):
        path.write_bytes(content)
    return paths


def alignment(*words: str | Path, text: bytes = b"") -> Result:
    return CliRunner().invoke(main, ["alignment", *map(str, words)], input=text)


def test_table_and_counts(files: tuple[Path, Path]) -> None:
    done = alignment(*files)
    assert done.exit_code == 0, done.output
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["how", "measure", "value", "low", "high", "links", "gold", "signature"]
    assert [row[:3] for row in rows[1:]] == [
        ["strict", "precision", "0.6000"],
        ["strict", "recall", "0.6667"],
        ["strict", "f1", "0.6316"],
        ["lax", "precision", "0.8000"],
        ["lax", "recall", "1.0000"],
        ["lax", "f1", "0.8889"],
    ]
    assert {tuple(row[5:7]) for row in rows[1:]} == {("5", "3")}
    assert rows[1][7].startswith("strict.precision = 0.6000 | links=5 gold:3 boot:1000 seed:1 v:")
    assert "3 gold, 5 links" in done.stderr


def test_links_may_come_from_stdin(files: tuple[Path, Path]) -> None:
    whole = alignment(*files).stdout
    assert alignment(files[0], text=FOUND).stdout == whole
    assert alignment("-", files[1], text=GOLD).stdout == whole


def test_json_says_the_same(files: tuple[Path, Path]) -> None:
    found = json.loads(alignment(*files, "--json").stdout)
    assert (found["task"], found["links"], found["gold"]) == ("alignment", 5, 3)
    assert found["results"][2]["value"] == pytest.approx(2 * 0.6 * (2 / 3) / (0.6 + 2 / 3))
    assert [row["how"] for row in found["results"]] == ["strict"] * 3 + ["lax"] * 3


def test_documents_count_together(files: tuple[Path, Path]) -> None:
    rows = alignment(*files, files[0], files[0]).stdout.splitlines()
    assert rows[1].split("\t")[2] == f"{(3 + 4) / (5 + 4):.4f}"


@pytest.mark.parametrize(
    ("gold", "found", "message"),
    [
        (b"0:0\n", FOUND, "gold.links:1: no link: '0:0'"),
        (GOLD, b"[0]:[0]\nx\n", "found.links:2: no link: 'x'"),
        (b"", FOUND, "gold.links: no gold to compare"),
        (b"[]:[0]\n", FOUND, "gold.links: no gold to compare"),
        (GOLD, b"\n", "found.links: no links to compare"),
    ],
)
def test_bad_files(files: tuple[Path, Path], gold: bytes, found: bytes, message: str) -> None:
    files[0].write_bytes(gold)
    files[1].write_bytes(found)
    done = alignment(*files)
    assert done.exit_code == 65
    assert message in done.stderr


def test_what_is_not_there_or_not_even(files: tuple[Path, Path]) -> None:
    assert alignment(files[0], "missing").exit_code == 66
    assert alignment(*files, files[0]).exit_code == 2
    assert alignment("-", "-").exit_code == 2
    assert alignment().exit_code == 2


DICTIONARY = b"haus\thouse\nbaum\ttree\nbaum\twood\nweg\tway\nfremd\tforeign\n"
ENGLISH = ["house", "tree", "way", "wood", "the"]
GERMAN = ["haus", "baum", "weg", "der"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Vectors where haus is house, baum is wood rather than tree, and weg is the."""
    places = {"target": [[1, 0], [0, 1], [-1, 0], [0.2, 1], [-1, -0.5]]}
    places["source"] = [[1, 0.1], [0.3, 1], [-1, -0.6], [0, -1]]
    for side, words in (("source", GERMAN), ("target", ENGLISH)):
        with open(tmp_path / f"{side}.vec", "wb") as file:
            write_word_vectors(file, words, np.array(places[side], dtype=np.float32))
    (tmp_path / "words.tsv").write_bytes(DICTIONARY)
    return tmp_path


def words(home: Path, *more: str | Path, text: bytes = b"") -> Result:
    line = ["words", "--source", home / "source.vec", "--target", home / "target.vec", *more]
    return CliRunner().invoke(main, [str(word) for word in line], input=text)


def test_table_and_counts_of_words(home: Path) -> None:
    done = words(home, home / "words.tsv")
    assert done.exit_code == 0, done.output
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == [
        *("similarity", "rank", "precision", "low", "high", "words", "without", "signature")
    ]
    assert [row[:2] for row in rows[1:]] == [
        ["cosine", "1"],
        ["cosine", "5"],
        ["csls", "1"],
        ["csls", "5"],
    ]
    assert [row[2] for row in rows[1:]][:2] == ["66.67", "100.00"]
    assert {(row[5], row[6]) for row in rows[1:]} == {("3", "1")}
    assert rows[1][7].startswith("precision@1 = 66.67 | n=3 without:1 sim:cosine boot:1000 seed:1 ")
    assert " sim:csls k:10 " in rows[3][7]
    assert "5 rows, 0 rejected, 3 words, 1 without vectors" in done.stderr


def test_json_says_the_same_of_words(home: Path) -> None:
    table = words(home, "-q", home / "words.tsv", "--neighbours", "2", "--bootstrap", "50")
    found = json.loads(
        words(
            home, "-q", "--json", "-", "--neighbours", "2", "--bootstrap", "50", text=DICTIONARY
        ).stdout
    )
    assert (found["task"], found["words"], found["without"]) == ("words", 3, 1)
    for line, record in zip(table.stdout.splitlines()[1:], found["results"], strict=True):
        cells = line.split("\t")
        assert cells[:2] == [record["similarity"], str(record["rank"])]
        assert cells[2:5] == [f"{record[name]:.2f}" for name in ("precision", "low", "high")]
        assert cells[7] == record["signature"]


def test_bad_rows_and_columns(home: Path, tmp_path: Path) -> None:
    swapped = b"de\ten\n" + DICTIONARY + b"only\n"
    stopped = words(home, "--header", "-", text=swapped)
    assert (stopped.exit_code, stopped.stdout) == (65, "")
    assert "stdin:7: 1 column, expected at least 2 (--tcol 2)" in stopped.stderr
    options = ("--header", "--scol", "de", "--tcol", "en", "--on-error", "reject")
    done = words(home, "-q", *options, "-", text=swapped)
    assert done.stdout == words(home, "-q", "-", text=DICTIONARY).stdout


@pytest.mark.parametrize(
    ("vectors", "entries", "code", "message"),
    [
        ("haus 1 2\nbaum 3\n", DICTIONARY, 65, "source.vec:2: expected a word and 2 numbers"),
        ("haus 1 2 3\n", DICTIONARY, 65, "source vectors of 3 numbers, target vectors of 2"),
        ("haus 1 2\n", b"weg\tway\n", 65, "no entry of the dictionary has a vector on both sides"),
        (None, DICTIONARY, 66, "source.vec: cannot be opened"),
    ],
)
def test_what_cannot_be_measured(
    home: Path, vectors: str | None, entries: bytes, code: int, message: str
) -> None:
    (home / "source.vec").unlink()
    if vectors is not None:
        (home / "source.vec").write_text(vectors)
    failed = words(home, "-", text=entries)
    assert (failed.exit_code, failed.stdout) == (code, "")
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr


LEXICON = """big\tlarge\t9\t1.0\t0.6\t0.5
big\tgreat\t3\t3.0\t0.3\t0.2
big dog\tlarge hound\t3\t9.0\t0.9\t0.9
dog\tbest friend\t2\t4.0\t0.1\t0.9
"""
PAIRS = ["A big dog\ta great hound", "the BIG one .\tThe large one !", "a dog\tmy best friend"]


def call(home: Path, *words: object, lexicon: str = LEXICON, code: int = 0) -> Result:
    (home / "lexicon.tsv").write_text(lexicon)
    (home / "held.tsv").write_text("".join(f"{pair}\n" for pair in PAIRS))
    arguments = ["lexicon", "--lexicon", home / "lexicon.tsv", *(words or [home / "held.tsv"])]
    result = CliRunner().invoke(main, [str(word) for word in arguments])
    assert result.exit_code == code, result.output
    return result


def test_what_differs_and_is_explained(tmp_path: Path) -> None:
    """Five words differ: big (great), dog; big (large); a, dog (best friend)."""
    header, *lines = call(tmp_path).stdout.splitlines()
    assert header == "order\trank\trecall\tlow\thigh\trandom\twords\tsignature"
    rows = {tuple(cells[:2]): cells[2:] for cells in (line.split("\t") for line in lines)}
    assert rows["probability", "1"][0] == "40.00"
    assert rows["pmi", "1"][0] == "40.00"
    assert rows["probability", "5"][0] == rows["pmi", "10"][0] == "60.00"
    assert {cells[4] for cells in rows.values()} == {"5"}
    assert all(float(c[1]) <= float(c[0]) <= float(c[2]) for c in rows.values())
    assert rows["probability", "1"][5].startswith(
        "recall@1 = 40.00 | n=3 order:probability boot:1000 seed:1 v:"
    )


@pytest.mark.parametrize("line", ["a\tb", "a\tb\t1\tx\t1\t1", "\udcff\tb\t1\t1\t1\t1"])
def test_a_lexicon_that_is_none(tmp_path: Path, line: str) -> None:
    (tmp_path / "held.tsv").write_text("a\tb\n")
    (tmp_path / "bad.tsv").write_bytes((LEXICON + line + "\n").encode("utf-8", "surrogateescape"))
    arguments = ["lexicon", "--lexicon", str(tmp_path / "bad.tsv"), str(tmp_path / "held.tsv")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 65 and "bad.tsv:5: expected 6 columns" in result.stderr


def test_too_few_pairs_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text("a\tb\n")
    assert "fewer than two pairs" in call(tmp_path, tmp_path / "one.tsv", code=65).stderr
    call(tmp_path, tmp_path / "none.tsv", code=66)


SOURCES, TARGETS = sentences(60, seed=4)
ROWS = [
    (
        "other" if place % 2 else "short",
        source,
        target,
        " ".join(target.split()[: 2 - place % 2 * 2]),
    )
    for place, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True))
]
ROWS = [(kind, s, t, worse or TARGETS[0]) for kind, s, t, worse in ROWS[2:]]
TEXT = "".join("\t".join(row) + "\n" for row in ROWS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "toy", classifier=False)


def contrasts(*words: str | Path, text: str = TEXT) -> Result:
    line = ["contrasts", "--threads", "1", "--device", "cpu", *map(str, words)]
    return CliRunner().invoke(main, line, input=text)


def test_the_shares_are_those_of_the_scores(folder: Path) -> None:
    words = ("--model", folder, "--scol", "2", "--tcol", "3", "--worse-tcol", "4")
    result = contrasts(*words, "--kinds", "1", "--bootstrap", "20", "--json")
    assert result.exit_code == 0, result.output
    found = {each["kind"]: each for each in json.loads(result.stdout)["results"]}
    model = load(folder)
    _, sources, better, worse = map(list, zip(*ROWS, strict=True))
    high, low = (model.score(sources, side, "cosine")["cosine"] for side in (better, worse))
    for kind in ("other", "short"):
        rows = [place for place, row in enumerate(ROWS) if row[0] == kind]
        assert found[kind]["pairs"] == len(rows)
        assert found[kind]["lower"] == pytest.approx((high > low)[rows].mean())
        assert f"sim:cosine model:{model.digest}" in found[kind]["signature"]
    assert found["other"]["lower"] > 0.9
    result = contrasts(*words, "--bootstrap", "20")
    head, *rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert head[:6] == ["kind", "lower", "low", "high", "tied", "pairs"]
    assert [row[0] for row in rows] == ["all", "mean"]


def test_what_cannot_be_measured_of_contrasts(folder: Path) -> None:
    model = ("--model", folder)
    assert "--worse-scol or --worse-tcol" in contrasts(*model).stderr
    assert contrasts(*model).exit_code == 2
    assert contrasts(*model, "--worse-tcol", "2", text="").exit_code == 65
    same = contrasts(*model, "--scol", "2", "--tcol", "3", "--worse-tcol", "3")
    assert same.exit_code == 65 and "no pair is damaged" in same.stderr
    bad = contrasts(*model, "--worse-tcol", "9")
    assert (bad.exit_code, bad.stderr.count("\n")) == (65, 1) and "stdin:1: 4 columns" in bad.stderr
    assert contrasts(*model, "--worse-tcol", "2", "--similarity", "luck").exit_code == 2
