"""The shipped model of many languages."""

from __future__ import annotations

import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from console import ROOT, command

import bitextfilter
from bitextfilter.models.folders import PRETRAINED
from bitextfilter.scoring.thresholds import read_grades

SENTENCES = {
    "en": ["Save the file before you close the window.", "In the beginning was the Word.",
           "Choose the language of the program.", "He gave the people bread and fish."],
    "cs": ["Před zavřením okna soubor uložte.", "Na počátku bylo Slovo.",
           "Vyberte jazyk programu.", "Dal lidem chléb a ryby."],
    "pl": ["Zapisz plik przed zamknięciem okna.", "Na początku było Słowo.",
           "Wybierz język programu.", "Dał ludziom chleb i ryby."],
    "fi": ["Tallenna tiedosto ennen ikkunan sulkemista.", "Alussa oli Sana.",
           "Valitse ohjelman kieli.", "Hän antoi kansalle leipää ja kalaa."],
    "ja": ["ウィンドウを閉じる前にファイルを保存してください。", "初めに言があった。",
           "プログラムの言語を選択します。", "彼は人々にパンと魚を与えた。"],
    "th": ["บันทึกไฟล์ก่อนปิดหน้าต่าง", "ในปฐมกาลพระวาทะทรงเป็นอยู่แล้ว",
           "เลือกภาษาของโปรแกรม", "พระองค์ประทานขนมปังและปลาแก่ประชาชน"],
    "he": ["שמור את הקובץ לפני סגירת החלון.", "בראשית היה הדבר.",
           "בחר את שפת התוכנית.", "הוא נתן לעם לחם ודגים."],
}  # fmt: skip


@pytest.mark.gate(2)
@pytest.mark.parametrize("pair", ["en,cs", "cs,pl", "fi,en", "ja,en", "th,en"])
def test_translations_are_nearer_than_other_sentences(pair: str) -> None:
    model = bitextfilter.load(f"multi:{pair}")
    source, target = (SENTENCES[name] for name in pair.split(","))
    vectors = [model.encode(side, name) for side, name in
               zip((source, target), pair.split(","), strict=True)]  # fmt: skip
    cosine = vectors[0] @ vectors[1].T
    right = np.diag(cosine).sum()
    assert right / 4 > (cosine.sum() - right) / 12 + 0.1


def test_a_weak_language_is_warned_of() -> None:
    weak = {grade.language for grade in read_grades(PRETRAINED / "multi") if grade.weak}
    assert "cs" not in weak and "he" in weak
    for languages, warned in (("en,cs", 0), ("en,he", 1)):
        sides = (SENTENCES[name] for name in languages.split(","))
        rows = "".join(f"{one}\t{other}\n" for one, other in zip(*sides, strict=True))
        done = CliRunner().invoke(
            command("bitext-score"), ["--model", "multi", "--languages", languages], input=rows
        )
        assert done.exit_code == 0 and done.stdout.count("\n") == 4
        assert done.stderr.count("he is a weak language of this model: ") == warned


def test_the_pages_have_the_errors_of_the_model() -> None:
    pages = ("README.md", "docs/notes/many-languages.md", "examples/train-multi/card.md")
    readme, notes, card = ((ROOT / page).read_text(encoding="utf-8") for page in pages)
    rows = {row[2]: row for row in re.findall(r"^\| ((\w+) \(`(\w+)`\)) \| (.*)$", notes, re.M)}
    grades = read_grades(PRETRAINED / "multi")
    assert {grade.language for grade in grades} == set(rows)
    for grade in grades:
        _, name, _, cells = rows[grade.language]
        _, error, weak, *_ = (cell.strip() for cell in cells.split("|"))
        assert (error, weak) == (f"{grade.error:.1f}", "weak" * grade.weak)
        found = re.search(rf"\| [^|]*\| ([^|]*)\| ([^|]*\b)?{name} {re.escape(error)}\b", card)
        assert bool(found) == grade.weak, name
        assert f"{name} {error}" in card
        assert (name in readme.partition("*weak:* ")[2].partition("|")[0]) == grade.weak


def test_the_picture_is_that_of_the_model() -> None:
    script = ROOT / "examples" / "train-multi" / "picture.py"
    done = subprocess.run([sys.executable, script, "multi"], capture_output=True, check=True)
    assert done.stdout == (ROOT / "docs" / "pictures" / "languages.svg").read_bytes()
    texts = [each.text for each in ElementTree.fromstring(done.stdout) if each.tag.endswith("text")]
    for grade in read_grades(PRETRAINED / "multi"):
        assert texts[texts.index(grade.language) + 1] == f"{grade.error:.1f}"
