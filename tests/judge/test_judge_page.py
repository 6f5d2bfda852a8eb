"""The labelling page in a real browser: keys, labels kept and saved, and nothing let in."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from browser import HOSTILE, UNASKED, Browser, found

from bitextfilter.judge.judgements import (
    Judgements,
    Label,
    LabelReader,
    RowSample,
    SampledRow,
    labels_text,
    parse_scale,
)
from bitextfilter.judge.page import JudgePage, marked_numbers
from bitextfilter.reports.page import SideLanguages

browsers = pytest.mark.skipif(found() is None, reason="there is no Chromium here")

PAIRS = [
    ("It costs 1,000 euros.", "Es kostet 1.000 Euro."),
    ("Chapter 12 of 15", "Kapitel 13 von 15"),
    ("שלום עולם", "hello world"),
    ("four", "vier"),
]


def sample(pairs: list[tuple[str, str]] = PAIRS) -> RowSample:
    rows = [
        SampledRow(*pair, (number / 10, float("nan")), 7 * number, "near-cut", 2.0)
        for number, pair in enumerate(pairs, 1)
    ]
    return RowSample("sample.tsv", ("mlp", "cosine"), rows)


def written(
    folder: Path, whole: RowSample | None = None, scale: str = "good-bad", **more: object
) -> str:
    path = folder / "page.html"
    page = JudgePage(whole or sample(), parse_scale(scale), "sample.tsv", **more)  # type: ignore[arg-type]
    path.write_bytes(page.html())
    return path.as_uri()


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Browser:
    browser.open(written(tmp_path, annotator="anna"))
    return browser


def pair(page: Browser) -> list[str]:
    return page.texts("#place, #source, #target")


def pressed(page: Browser) -> list[str]:
    return page.texts("#labels [aria-pressed=true]")


SAVED = """
(() => new Promise(done => {
  const make = URL.createObjectURL;
  URL.createObjectURL = blob => { blob.text().then(done); return make.call(URL, blob); };
  document.getElementById('save').click();
  URL.createObjectURL = make;
}))()
"""


def saved(page: Browser, folder: Path) -> str:
    """The text of the file that is saved; the file itself goes to *folder*."""
    page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    text: str = page.value(SAVED)
    return text


def read(text: str, whole: RowSample | None = None) -> Judgements:
    reader = LabelReader(whole or sample())
    reader.read(io.BytesIO(text.encode()), "labels.tsv")
    return reader.judgements("labels.tsv")


def test_marked_numbers() -> None:
    assert marked_numbers("1,000 of 12", "1.000 von 13") == (
        [("1,000 of ", 0), ("12", 1)],
        [("1.000 von ", 0), ("13", 1)],
    )
    assert marked_numbers("٣ x", "3 x") == ([("٣ x", 0)], [("3 x", 0)])
    assert marked_numbers("5 5", "5") == ([("5 ", 0), ("5", 1)], [("5", 0)])
    assert marked_numbers("", "²") == ([], [("²", 0)])


def test_blind_pages_hold_no_scores() -> None:
    scale = parse_scale("good-bad")
    blind = JudgePage(sample(), scale, "t").html().decode()
    shown = JudgePage(sample(), scale, "t", scores=True).data()
    assert "mlp" not in blind and "near-cut" not in blind
    assert list(shown["scores"]) == ["mlp", "cosine"] and shown["rows"][0][-1] == [0.1, None]


@browsers
def test_keys_label_and_go_on(page: Browser, tmp_path: Path) -> None:
    assert pair(page) == ["Pair 1 of 4", "It costs 1,000 euros.", "Es kostet 1.000 Euro."]
    assert page.texts("#origin") == ["line 7"] and page.texts("#count") == ["0 of 4"]
    page.press("1")
    assert pair(page)[0] == "Pair 2 of 4"
    assert page.texts("#source mark, #target mark") == ["12", "13"]
    page.press("b", "ArrowLeft")
    assert pressed(page) == ["2bad"]
    page.press("End", "g", "2")
    assert page.texts("#status") == ["All pairs have a label: save them."]
    whole = read(saved(page, tmp_path))
    found = [label.label for label in whole.labels["anna"].values()]
    assert found == ["good", "bad", "bad", "good"]
    assert whole.scale.name == "good-bad"


@browsers
def test_undo_and_help(page: Browser) -> None:
    page.press("1", "1", "u")
    assert pair(page)[0] == "Pair 2 of 4" and pressed(page) == []
    key = {"type": "rawKeyDown", "key": "z", "windowsVirtualKeyCode": 90, "modifiers": 2}
    page.call("Input.dispatchKeyEvent", **key)
    assert pair(page)[0] == "Pair 1 of 4" and page.texts("#count") == ["0 of 4"]
    page.press("u")
    assert page.value("document.getElementById('undo').disabled")
    page.press("?")
    assert page.value("document.getElementById('help').open")
    assert "u Ctrl+Z" in page.texts("#keys dt")
    page.press("1")
    assert page.texts("#count") == ["0 of 4"]
    page.press("Escape")
    assert not page.value("document.getElementById('help').open")


@browsers
def test_notes(page: Browser, tmp_path: Path) -> None:
    page.press("n")
    assert page.value("document.activeElement.id") == "note"
    page.insert("1 odd\tnote")
    page.press("Enter", "2")
    whole = read(saved(page, tmp_path))
    (label,) = whole.labels["anna"].values()
    assert (label.label, label.note) == ("bad", "1 odd note")
    page.press("ArrowLeft")
    assert page.value("document.getElementById('note').value") == "1 odd note"


@browsers
def test_labels_are_kept_by_name(browser: Browser, tmp_path: Path) -> None:
    address = written(tmp_path)

    def begin(name: str) -> None:
        browser.value(UNASKED)
        browser.open(address)
        assert browser.value("document.getElementById('start').open")
        browser.insert(name)
        browser.press("Enter")
        assert browser.texts("#who") == [f"by {name}"]

    begin("anna")
    browser.press("1", "2")
    begin("ben")
    assert browser.texts("#count") == ["0 of 4"]
    browser.press("2")
    begin("anna")
    assert browser.texts("#count") == ["2 of 4"] and pair(browser)[0] == "Pair 3 of 4"
    begin("__proto__")
    assert browser.texts("#count") == ["0 of 4"]


@browsers
def test_nameless_labels_are_refused(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path))
    browser.press("Enter", "Escape", "Escape")
    browser.value("new Promise(done => setTimeout(done, 50))")
    assert browser.value("document.getElementById('start').open")
    assert not browser.value("document.getElementById('content').checkVisibility()")


LEAVING = """
(e => { window.dispatchEvent(e); return e.defaultPrevented; })(
  new Event('beforeunload', { cancelable: true }))
"""


@browsers
def test_labels_are_saved_and_unsaved_ones_warned_of(page: Browser, tmp_path: Path) -> None:
    assert page.value(LEAVING) is False
    page.press("1")
    assert page.value(LEAVING) is True
    text = saved(page, tmp_path)
    assert page.value(LEAVING) is False
    while not (tmp_path / "labels-anna.tsv").exists():
        page.value("new Promise(done => setTimeout(done, 20))")
    assert (tmp_path / "labels-anna.tsv").read_text() == text
    page.press("u")
    assert page.value(LEAVING) is True


LOAD = """
(async text => {
  const list = new DataTransfer();
  list.items.add(new File([text], 'labels.tsv'));
  const field = document.getElementById('file');
  field.files = list.files;
  field.dispatchEvent(new Event('change'));
  await new Promise(done => setTimeout(done, 50));
  return document.getElementById('status').textContent;
})(%s)
"""


def load(page: Browser, text: str) -> str:
    said: str = page.value(LOAD % json.dumps(text))
    return said


def labels(*words: str, scale: str = "good-bad", annotator: str = "anna") -> str:
    rows = sample().rows
    made = [Label(r.row, r.pair, w, scale, annotator) for r, w in zip(rows, words, strict=False)]
    return labels_text(made).decode()


@browsers
def test_a_saved_file_is_loaded_and_other_files_refused(page: Browser, tmp_path: Path) -> None:
    for text, said in (
        ("x\n", "labels.tsv: line 1: not the header of a labels file"),
        (labels("good", "fine"), "labels.tsv: line 3: the label fine is not on the scale"),
        (labels("good", annotator="ben"), "labels.tsv: no labels by anna; by ben"),
        (labels("5", scale="0-100"), "labels.tsv: line 2: the scale is 0-100"),
        (labels("good").replace(sample().rows[0].pair, "0" * 16),
         "labels.tsv: line 2: row 7 is not in this sample"),
        (labels("good") + "1\t2\n", "labels.tsv: line 3: 2 columns"),
    ):  # fmt: skip
        assert load(page, text) == said
        assert page.texts("#count") == ["0 of 4"]
    text = labels("bad", "good")
    assert load(page, "\ufeff" + text.replace("\n", "\r\n")) == "Loaded 2 labels."
    assert pair(page)[0] == "Pair 3 of 4"
    assert saved(page, tmp_path) == text


@browsers
def test_numbers(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, scale="0-100", annotator="anna"))
    assert len(browser.texts("#labels button")) == 11
    browser.press("7", "+")
    browser.focus("#number")
    browser.insert("33.5")
    browser.press("Enter")
    browser.focus("#number")
    browser.insert("101")
    browser.press("Enter")
    assert browser.texts("#status") == ["101 is not from 0 to 100."]
    whole = read(saved(browser, tmp_path))
    assert [label.label for label in whole.labels["anna"].values()] == ["70", "100", "33.5"]


@browsers
def test_words(browser: Browser, tmp_path: Path) -> None:
    browser.open(written(tmp_path, scale="labels=V,F,nonsense,L", annotator="anna"))
    browser.press("f", "4", "n")
    assert browser.value("document.activeElement.id") == "note"
    assert browser.texts("#count") == ["2 of 4"]
    whole = read(saved(browser, tmp_path))
    assert [label.label for label in whole.labels["anna"].values()] == ["F", "L"]


@browsers
def test_earlier_labels_directions_and_scores(browser: Browser, tmp_path: Path) -> None:
    earlier, languages = read(labels("bad", "good")), SideLanguages("he", "en")
    browser.open(
        written(tmp_path, annotator="anna", earlier=earlier, scores=True, languages=languages)
    )
    assert browser.texts("#count") == ["2 of 4"] and pressed(browser) == ["2bad"]
    browser.press("ArrowRight", "ArrowRight")
    assert browser.texts("#origin") == ["line 21  ·  mlp: 0.3  ·  cosine: none"]
    sides = "['source', 'target'].map(i => document.getElementById(i))"
    shown = browser.value(f"{sides}.map(e => e.lang + getComputedStyle(e).direction)")
    assert shown == ["hertl", "enltr"]


@browsers
def test_hostile_text_is_text(browser: Browser, tmp_path: Path) -> None:
    whole = sample([(text, f"{n} {text}") for n, text in enumerate(HOSTILE)])
    browser.open(written(tmp_path, whole, annotator=HOSTILE[0]))
    seen = []
    for _ in HOSTILE:
        seen += browser.texts("#source")
        browser.press("2")
    assert seen == HOSTILE
    assert browser.value("typeof window.caught") == "undefined"
    assert browser.value("document.querySelectorAll('script, img, svg, base, link').length") == 2
    assert len(read(saved(browser, tmp_path), whole).judged) == len(HOSTILE)


@browsers
def test_it_fits(browser: Browser, tmp_path: Path) -> None:
    for width in (360, 1280):
        browser.resize(width, 800)
        long = sample([("x" * 500, "漢" * 500)])
        browser.open(written(tmp_path, long, scale="0-100", annotator="a"))
        assert browser.value("document.documentElement.scrollWidth") <= width
