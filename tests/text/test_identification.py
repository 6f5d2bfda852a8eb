"""Identifiers of languages: one contract, and what each is sure of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.text.language import IDENTIFIERS, Identifier, load_identifier

SENTENCES = {
    "en": "The committee will meet again on Tuesday to discuss the budget.",
    "de": "Der Ausschuss tritt am Dienstag wieder zusammen, um den Haushalt zu beraten.",
    "fr": "La commission se réunira de nouveau mardi pour discuter du budget.",
    "cs": "Výbor se znovu sejde v úterý, aby projednal rozpočet.",
    "ru": "Комитет снова соберётся во вторник, чтобы обсудить бюджет.",
    "ja": "委員会は火曜日に再び会合を開き、予算について話し合う。",
}
PACKAGES = {"py3langid": "py3langid", "cld2": "pycld2", "lingua": "lingua"}


@pytest.fixture(params=list(IDENTIFIERS))
def identifier(request: pytest.FixtureRequest) -> Identifier:
    pytest.importorskip(PACKAGES[request.param])
    return load_identifier(request.param)


def test_the_right_language_is_the_most_probable(identifier: Identifier) -> None:
    for right, sentence in SENTENCES.items():
        found = {language: identifier.probability(sentence, language) for language in SENTENCES}
        assert max(found, key=lambda language: found[language]) == right
        assert all(0 <= value <= 1 for value in found.values())
        assert found[right] >= identifier.minimum
        impossible = [value for value in found.values() if value < identifier.minimum]
        assert len(impossible) >= len(SENTENCES) - 2


def test_languages_are_known_or_not(identifier: Identifier) -> None:
    assert all(identifier.knows(language) for language in SENTENCES)
    assert not identifier.knows("xx")


def test_no_letters_are_no_evidence(identifier: Identifier) -> None:
    for text in ("12 %", "?!", "\U0001f600"):
        assert identifier.probability(text, "de") >= identifier.minimum


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fastText model of two languages, the labels as the larger ones have them.

    Its training does not set its tables to zero and fails on what the memory held before, so it
    runs in a process of its own where the C library hands out zeros (the complement of 255).
    """
    pytest.importorskip("fasttext")
    folder = tmp_path_factory.mktemp("fasttext")
    lines = [f"__label__eng_Latn {SENTENCES['en']}", f"__label__deu_Latn {SENTENCES['de']}"] * 50
    (folder / "text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    train = (
        "import fasttext\n"
        "fasttext.train_supervised('text', dim=8, epoch=50, minn=2, maxn=4, bucket=1000, thread=1,"
        " verbose=0).save_model('model.bin')\n"
    )
    zeros = os.environ | {"MALLOC_PERTURB_": "255"}
    subprocess.run([sys.executable, "-c", train], cwd=folder, env=zeros, check=True)
    return folder / "model.bin"


def test_a_fasttext_model(model: Path) -> None:
    identifier = load_identifier(str(model))
    assert identifier.knows("eng")
    assert identifier.knows("deu_Latn")
    assert not identifier.knows("en")
    assert identifier.probability(SENTENCES["en"], "eng") > 0.9
    assert identifier.probability(SENTENCES["de"], "eng_Latn") < 0.1
    assert identifier.probability("", "eng") == 1


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    pytest.importorskip("fasttext")
    (tmp_path / "text.bin").write_bytes(b"this is text" * 10)
    with pytest.raises(ModelError, match=r"text\.bin"):
        load_identifier(str(tmp_path / "text.bin"))


def test_no_such_identifier(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"none\.bin"):
        load_identifier(str(tmp_path / "none.bin"))
    with pytest.raises(SettingsError, match="cld3"):
        load_identifier("cld3")
