"""Columns are told by the languages that they look like; rows with scores, as lines."""

from __future__ import annotations

import io

import numpy as np
import pytest

from bitextfilter.errors import SettingsError
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import Columns, Row
from bitextfilter.models.folders import PRETRAINED, read_config
from bitextfilter.scoring.row_checks import (
    column_doubt,
    languages_of_rows,
    rows_doubt,
    sides,
)
from bitextfilter.scoring.score_columns import ScoreLines, cell
from bitextfilter.text.processor import TextProcessor

TEXTS = {
    "en": "we have been waiting for the bus since this morning",
    "de": "wir warten seit heute morgen auf den Bus und es regnet",
    "fr": "nous attendons le bus depuis ce matin et il pleut encore",
    "es": "estamos esperando el autobús desde esta mañana y todavía llueve",
    "pt": "estamos à espera do autocarro desde esta manhã e ainda chove",
    "cs": "čekáme na autobus už od rána a pořád ještě prší",
    "no": "vi har ventet på bussen siden i morges og det regner ennå",
    "da": "vi har ventet på bussen siden i morges, og det regner endnu meget i byen",
}


def column(language: str) -> list[str]:
    return [f"{TEXTS[language]} {number}" for number in range(12)]


def processor(name: str) -> TextProcessor:
    name, _, languages = name.partition(":")
    folder = PRETRAINED / name
    whole = TextProcessor.load(folder, read_config(folder))
    first, second = languages.split(",") if languages else whole.languages
    return whole.of_pair((first, second))


def doubt(name: str, source: str, target: str) -> str | None:
    return column_doubt(column(source), column(target), processor(name))


@pytest.mark.parametrize(
    "name", ["en-de:en,de", "en-de:de,en", "de-fr:fr,de", "multi:es,pt", "multi:no,en"]
)
def test_no_word_where_all_is_well(name: str) -> None:
    assert doubt(name, *name.partition(":")[2].split(",")) is None
    assert column_doubt(["12", "Bonn"], column("en")[:9], processor(name)) is None


@pytest.mark.parametrize("name", ["en-de", "multi:en,de"])
def test_swapped_columns_are_named_with_a_remedy(name: str) -> None:
    assert doubt(name, "de", "en") == (
        "the columns look swapped: the source column looks like de, the target column like en;"
        " --languages de,en reads them so"
    )


@pytest.mark.parametrize(
    ("name", "source", "target", "remedy"),
    [
        ("multi:cs,de", "es", "pt", "--languages es,pt"),
        ("en-de", "de", "fr", "--model de-fr"),
        ("en-fr", "fr", "de", "--model de-fr --languages fr,de"),
        ("en-de", "es", "pt", "--model multi --languages es,pt"),
    ],
)
def test_other_languages_are_named_with_a_remedy(
    name: str, source: str, target: str, remedy: str
) -> None:
    found = doubt(name, source, target)
    own = processor(name).languages
    wrong = [
        f"the {side} column looks like {seen}, not {language}"
        for side, seen, language in zip(("source", "target"), (source, target), own, strict=True)
        if seen != language
    ]
    assert found == "; ".join([*wrong, f"{remedy} reads them so"])


def test_one_language_on_both_sides_has_no_remedy() -> None:
    assert doubt("en-de", "en", "en") == "the target column looks like en, not de"


TABLE = b"id\tsource\ttarget\n1\ta b\tc\r\n2\tbad\n3\td\t  e \n"


def test_a_small_negative_number_is_zero() -> None:
    shown = [cell(value, 2) for value in (-0.001, -0.0, 0.0, 0.004, -0.006, -12.5)]
    assert shown == ["0.00", "0.00", "0.00", "0.00", "-0.01", "-12.50"]


def test_lines_of_rows_good_and_bad() -> None:
    reader = RowReader(io.BytesIO(TABLE), "some.tsv", Columns("source", "target"), header=True)
    window = list(reader)
    good = [row for row in window if isinstance(row, Row)]
    assert sides(good) == (["a b", "d"], ["c", "  e "])
    lengths = np.array([[len(side) for side in row.texts] for row in good], np.float32)
    whole = b"1\ta b\tc\t3.0\t1.0\r\n2\tbad\t\t\n3\td\t  e \t1.0\t4.0\n"
    assert ScoreLines(1).lines(window, good, lengths) == whole
    assert ScoreLines(0, score_only=True).lines(window, good, lengths) == b"3\t1\n\t\n1\t4\n"
    form = ScoreLines(
        0, True, lambda left, right: [[f"{a}\t{b}", "!"] for a, b in zip(left, right, strict=True)]
    )
    assert form.lines(window, good, lengths) == b"3\t1\ta b c; !\n\t\t\n1\t4\td e ; !\n"


def rows_of(sources: list[str], targets: list[str]) -> list[Row]:
    text = "".join(map("{}\t{}\n".format, sources, targets)).encode()
    return [row for row in RowReader(io.BytesIO(text), "pairs") if isinstance(row, Row)]


ENGLISH = [f"the cats were sleeping on the sofa in our house, for {n} days" for n in range(20)]
GERMAN = [f"die Katzen haben in unserem Haus auf dem Sofa geschlafen, {n} Tage" for n in range(20)]


def test_the_first_rows_tell_the_languages() -> None:
    rows = rows_of(ENGLISH, GERMAN)
    assert languages_of_rows("multi", rows) == ("en", "de")
    with pytest.raises(SettingsError, match="do not tell which two"):
        languages_of_rows("multi", rows[:3])


def test_columns_in_other_languages() -> None:
    processor = TextProcessor.load(PRETRAINED / "en-de", read_config(PRETRAINED / "en-de"))
    assert rows_doubt(rows_of(ENGLISH, GERMAN), processor) == ""
    assert rows_doubt(rows_of(ENGLISH, ["example.org/path/file"] * 20), processor) == ""
    swapped = rows_doubt(rows_of(GERMAN, ENGLISH), processor)
    assert "swapped" in swapped and "--scol" in swapped
