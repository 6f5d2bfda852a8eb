"""bitext-evaluate corpus through its streams."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import console
import pytest
from click.testing import Result
from console import invoke
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextfilter.papers.corpus_statistics import CorpusTally
from bitextfilter.text.words import TokenUnits

HEAD = (
    "file side sentences tokens vocabulary length idf entropy trigram_entropy"
    " repetition trigram_repetition"
)
ROWS = [
    ("The cat sees the cat, sees the cat.", "Die Katze sieht die Katze.", "0.5"),
    ("A dog!", "Ein Hund!", ""),
    ("It rains and rains.", "Es regnet und regnet.", "0.25"),
    ("What is it?", "Was ist das?", "x"),
]


def written(rows: list[tuple[str, ...]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


TEXT = written(ROWS)


def corpus(*words: object, text: str | bytes = TEXT) -> Result:
    return invoke("bitext-evaluate", "corpus", *words, data=text)


def table(result: Result, more: str = "") -> list[list[str]]:
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
    source, target = table(result)
    assert source[:2] == ["-", "source"]
    assert source[2:-1] == cells(tally([row[0] for row in ROWS]))
    assert target[1:-1] == ["target", *cells(tally([row[1] for row in ROWS]))]
    assert source[-1].startswith("unit:tokens case:lower idf:own v:")
    assert "4 rows, 0 rejected" in result.stderr


@pytest.mark.parametrize("unit", ["tokens", "words", "characters"])
def test_units_and_case(unit: str) -> None:
    text = written([row[1:2] for row in ROWS])
    (row,) = table(corpus("--column", "1", "--unit", unit, "--keep-case", "-", text=text))
    sentences = [row[1] for row in ROWS]
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
    source, target = table(corpus("-q", "--idf-from", other, "-"))
    reference = tally(["the cat", "it is", "no"]), tally(["die Katze", "es ist", "nein"])
    assert source[2:-1] == cells(tally([row[0] for row in ROWS]), reference[0])
    assert target[2:-1] == cells(tally([row[1] for row in ROWS]), reference[1])
    assert f" idf:{other} " in source[-1]
    plain = table(corpus("-q", "-"))[0]
    assert [n for n in range(11) if plain[n] != source[n]] == [6]


def test_scores() -> None:
    result = corpus("--score-column", "3", "-")
    rows = table(result, more=" score")
    assert [row[11] for row in rows] == ["0.3750", "0.3750"]
    assert "2 without a score" in result.stderr
    none = table(corpus("--score-column", "1", "-"), more=" score")
    assert [row[11] for row in none] == ["", ""]


def test_several_files_and_windows(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("one.tsv", "other.tsv")]
    for name, rows in zip(names, (ROWS[:1], ROWS[1:]), strict=True):
        Path(name).write_text(written(rows), encoding="utf-8")
    result = corpus("-q", *names)
    rows = table(result)
    assert [row[:3] for row in rows] == [
        [names[0], "source", "1"],
        [names[0], "target", "1"],
        [names[1], "source", "3"],
        [names[1], "target", "3"],
    ]
    assert rows[2][2:-1] == cells(tally([row[0] for row in ROWS[1:]]))
    assert corpus("-q", "--batch-size", "1", *names).stdout == result.stdout


@settings(max_examples=25)
@given(st.text(max_size=60) | st.text("a \t\n\r\0\u200b\u2581<w>.", max_size=40))
def test_no_text_is_a_bug(text: str) -> None:
    """Every row is described or rejected, and every cell is a number or empty."""
    words = ("--on-error", "reject", "--unit", "characters", "--score-column", "2", "-")
    result = corpus(*words, text=TEXT.encode() + text.encode("utf-8", "replace"))
    for row in table(result, more=" score"):
        assert int(row[2]) >= 4
        assert all(0 <= float(cell) < 1e9 for cell in row[2:11] if cell)
