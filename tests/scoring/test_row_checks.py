"""Columns in other languages than a model's: one warning, with the option that reads them."""

from __future__ import annotations

import pytest

from bitextfilter.models.folders import PRETRAINED, read_config
from bitextfilter.scoring.row_checks import column_doubt
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
