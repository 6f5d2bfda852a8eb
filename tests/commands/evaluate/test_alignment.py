"""bitext-evaluate alignment, words, lexicon, contrasts and corpus through their streams."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import console
import numpy as np
import pytest
from click.testing import Result
from console import invoke, table
from toys import sentences, toy_model

from bitextfilter.io.vectors import write_word_vectors
from bitextfilter.papers.corpus_statistics import CorpusTally
from bitextfilter.scoring.model import load
from bitextfilter.text.words import TokenUnits

Files = tuple[Path, Path]

GOLD = b"[0]:[0]\n[1,2]:[1]\n[]:[2]\n[3]:[3,4]\n"
FOUND = b"[0]:[0]:0.9\n[1]:[1]:0.7\n[2]:[]:\n[]:[2]:\n[3]:[3,4]:0.8\n"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    paths = tmp_path / "gold.links", tmp_path / "found.links"
    for path, content in zip(paths, (GOLD, FOUND), strict=True):
        path.write_bytes(content)
    return paths


def alignment(*words: object, text: bytes = b"") -> Result:
    return invoke("bitext-evaluate", "alignment", *words, data=text)


def test_table_and_counts(files: Files) -> None:
    done = alignment(*files)
    rows = table(done)
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


def test_links_may_come_from_stdin(files: Files) -> None:
    whole = alignment(*files).stdout
    assert alignment(files[0], text=FOUND).stdout == whole
    assert alignment("-", files[1], text=GOLD).stdout == whole


def test_documents_count_together(files: Files) -> None:
    rows = table(alignment(*files, files[0], files[0]))
    assert rows[1][2] == f"{(3 + 4) / (5 + 4):.4f}"


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


def test_table_and_counts_of_words(home: Path) -> None:
    line = ["words", "--source", home / "source.vec", "--target", home / "target.vec"]
    done = invoke("bitext-evaluate", *line, home / "words.tsv")
    rows = table(done)
    assert " ".join(rows[0]) == "similarity rank precision low high words without signature"
    ranks = [["cosine", "1"], ["cosine", "5"], ["csls", "1"], ["csls", "5"]]
    assert [row[:2] for row in rows[1:]] == ranks
    assert [row[2] for row in rows[1:]][:2] == ["66.67", "100.00"]
    assert {(row[5], row[6]) for row in rows[1:]} == {("3", "1")}
    assert rows[1][7].startswith("precision@1 = 66.67 | n=3 without:1 sim:cosine boot:1000 seed:1 ")
    assert " sim:csls k:10 " in rows[3][7]
    assert "5 rows, 0 rejected, 3 words, 1 without vectors" in done.stderr


LEXICON = """big\tlarge\t9\t1.0\t0.6\t0.5
big\tgreat\t3\t3.0\t0.3\t0.2
big dog\tlarge hound\t3\t9.0\t0.9\t0.9
dog\tbest friend\t2\t4.0\t0.1\t0.9
"""
PAIRS = ["A big dog\ta great hound", "the BIG one .\tThe large one !", "a dog\tmy best friend"]


def test_what_differs_and_is_explained(tmp_path: Path) -> None:
    """Five words differ: big (great), dog; big (large); a, dog (best friend)."""
    (tmp_path / "lexicon").write_text(LEXICON)
    held = "".join(f"{pair}\n" for pair in PAIRS)
    line = ("lexicon", "--lexicon", tmp_path / "lexicon", "-")
    header, *lines = table(invoke("bitext-evaluate", *line, data=held))
    assert " ".join(header) == "order rank recall low high random words signature"
    rows = {tuple(cells[:2]): cells[2:] for cells in lines}
    assert rows["probability", "1"][0] == "40.00"
    assert rows["pmi", "1"][0] == "40.00"
    assert rows["probability", "5"][0] == rows["pmi", "10"][0] == "60.00"
    assert {cells[4] for cells in rows.values()} == {"5"}
    assert all(float(c[1]) <= float(c[0]) <= float(c[2]) for c in rows.values())
    assert rows["probability", "1"][5].startswith(
        "recall@1 = 40.00 | n=3 order:probability boot:1000 seed:1 v:"
    )


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


def test_the_shares_are_those_of_the_scores(folder: Path) -> None:
    line = ("bitext-evaluate", "contrasts", "--threads", 1, "--bootstrap", 20)
    line = (*line, "--model", folder, "--scol", 2, "--tcol", 3, "--worse-tcol", 4)
    result = invoke(*line, "--kinds", "1", "--json", data=TEXT)
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
    head, *rows = table(invoke(*line, data=TEXT))
    assert head[:6] == ["kind", "lower", "low", "high", "tied", "pairs"]
    assert [row[0] for row in rows] == ["all", "mean"]


HEAD = (
    "file side sentences tokens vocabulary length idf entropy trigram_entropy"
    " repetition trigram_repetition"
)
TEXTS = [
    ("The cat sees the cat, sees the cat.", "Die Katze sieht die Katze.", "0.5"),
    ("A dog!", "Ein Hund!", ""),
    ("It rains and rains.", "Es regnet und regnet.", "0.25"),
    ("What is it?", "Was ist das?", "x"),
]


def written(rows: list[tuple[str, ...]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


CORPUS = written(TEXTS)


def corpus(*words: object, text: str | bytes = CORPUS) -> Result:
    return invoke("bitext-evaluate", "corpus", *words, data=text)


def described(result: Result, more: str = "") -> list[list[str]]:
    head, *rows = console.table(result)
    assert " ".join(head) == f"{HEAD}{more} signature"
    return rows


def tally(sentences: list[str], unit: str = "tokens", lowercase: bool = True) -> CorpusTally:
    made = CorpusTally(TokenUnits(unit, lowercase))
    made.add(sentences)
    return made


def cells(made: CorpusTally, other: CorpusTally | None = None) -> list[str]:
    values = asdict(made.statistics(other)).values()
    return ["" if v is None else f"{v:.4f}" if isinstance(v, float) else str(v) for v in values]


def test_both_sides() -> None:
    result = corpus("-")
    source, target = described(result)
    assert source[:2] == ["-", "source"]
    assert source[2:-1] == cells(tally([row[0] for row in TEXTS]))
    assert target[1:-1] == ["target", *cells(tally([row[1] for row in TEXTS]))]
    assert source[-1].startswith("unit:tokens case:lower idf:own v:")
    assert "4 rows, 0 rejected" in result.stderr


@pytest.mark.parametrize("unit", ["tokens", "words", "characters"])
def test_units_and_case(unit: str) -> None:
    text = written([row[1:2] for row in TEXTS])
    (row,) = described(corpus("--column", "1", "--unit", unit, "--keep-case", "-", text=text))
    sentences = [row[1] for row in TEXTS]
    if unit == "characters":  # no marks between words
        made = CorpusTally(lambda sentence: list(sentence.replace(" ", "")))
        made.add(sentences)
        assert (row[9], row[10]) == ("", row[10])
    else:
        made = tally(sentences, unit, lowercase=False)
    assert row[1:-1] == ["sentence", *cells(made)]
    assert row[-1].startswith(f"unit:{unit} case:kept ")


def test_idf_from_another_file(tmp_path: Path) -> None:
    other = tmp_path / "other.tsv"
    other.write_text("the cat\tdie Katze\nit is\tes ist\nno\tnein\n", encoding="utf-8")
    source, target = described(corpus("-q", "--idf-from", other, "-"))
    reference = tally(["the cat", "it is", "no"]), tally(["die Katze", "es ist", "nein"])
    assert source[2:-1] == cells(tally([row[0] for row in TEXTS]), reference[0])
    assert target[2:-1] == cells(tally([row[1] for row in TEXTS]), reference[1])
    assert f" idf:{other} " in source[-1]
    plain = described(corpus("-q", "-"))[0]
    assert [n for n in range(11) if plain[n] != source[n]] == [6]


def test_scores() -> None:
    result = corpus("--score-column", "3", "-")
    rows = described(result, more=" score")
    assert [row[11] for row in rows] == ["0.3750", "0.3750"]
    assert "2 without a score" in result.stderr
    none = described(corpus("--score-column", "1", "-"), more=" score")
    assert [row[11] for row in none] == ["", ""]


def test_several_files_and_windows(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("one.tsv", "other.tsv")]
    for name, rows in zip(names, (TEXTS[:1], TEXTS[1:]), strict=True):
        Path(name).write_text(written(rows), encoding="utf-8")
    result = corpus("-q", *names)
    rows = described(result)
    assert [row[:3] for row in rows] == [
        [names[0], "source", "1"],
        [names[0], "target", "1"],
        [names[1], "source", "3"],
        [names[1], "target", "3"],
    ]
    assert rows[2][2:-1] == cells(tally([row[0] for row in TEXTS[1:]]))
    assert corpus("-q", "--batch-size", "1", *names).stdout == result.stdout
