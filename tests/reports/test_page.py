"""The page in a real browser: what it shows and does, and what it does not let in."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import HOSTILE, Browser, found
from console import invoke

from bitextfilter.io.work_folder import Manifest
from bitextfilter.reports.page import Corpus, Report, SideLanguages
from bitextfilter.reports.survey import FilterRun, Sample, Survey, read_run, reason_name, reasons_of

pytestmark = pytest.mark.skipif(found() is None, reason="there is no Chromium here")

RULES = {"length-ratio": (40, 12), "identical": (7, 0), HOSTILE[0]: (3, 3)}
COUNTS = {"rows": 300, "kept": 250, "dropped": 45, "rejected": 5}


def samples() -> list[Sample]:
    """Rows whose label is clean above a score of 0.4, and a little apart from that at random.

    Those below 0.6 have one reason or two.
    """
    choose = random.Random(4)
    made = []
    for number in range(1, 241):
        score = round(choose.betavariate(0.5, 0.5), 4)
        label = "clean" if score + choose.uniform(-0.2, 0.2) > 0.4 else "copy"
        texts = (f"source {number} " + "w " * choose.randrange(20), f"Ziel {number} und mehr")
        reasons = "; ".join(["target-words=2 und(+0.7)", "numbers=1≠2"][: 1 + number % 2])
        own = reasons if score < 0.6 else ""
        made.append(Sample(number, *texts, (score, choose.gauss(0, 1)), label, own))
    return made


ROWS = samples()
FIRST = np.array([row.scores[0] for row in ROWS], dtype=np.float32)


def manifest(path: Path, rules: dict[str, tuple[int, int]] = RULES, **facts: Any) -> FilterRun:
    drops: Any = {name: {"dropped": d, "unique": u} for name, (d, u) in rules.items()}
    Manifest("0.1.0", ["bitext-filter"], COUNTS, 1.5, 6.7, {"rules": drops, **facts}).write(path)
    return FilterRun(str(path))


def written(folder: Path, name: str, rows: list[Sample], **options: Any) -> str:
    names = options.pop("names", ["mlp", "csls"])
    survey = Survey(names)
    survey.add(rows)
    path = folder / name
    title = options.pop("title", "A corpus")
    commands = [f"bitext-rank --column {n} --min-score" for n, _ in enumerate(names, 3)]
    corpora = [Corpus(survey, title, {}, commands), *options.pop("others", ())]
    path.write_bytes(Report(corpora, title, **options).html())
    return path.as_uri()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    run = manifest(folder / "filter.json", {"length-ratio": (40, 12), "identical": (7, 0)})
    runs = [("filter.json", run.manifest)]
    languages = SideLanguages("en", "de")
    options: dict[str, Any] = {"languages": languages, "filter_run": run, "runs": runs}
    return written(folder, "page.html", ROWS, reasons=True, **options)


@pytest.fixture
def page(browser: Browser, address: str) -> Browser:
    browser.open(address)
    return browser


def test_what_stands_on_it(page: Browser) -> None:
    assert page.texts("h1, title") == ["A corpus", "A corpus"]
    sections = ["Lengths", "Reasons against pairs", "Dropped by rules", "Runs"]
    assert page.texts("h2") == ["mlp", "csls", *sections]
    assert page.texts("header dd")[0] == "240"
    assert page.value("document.querySelectorAll('svg').length") == 2 * 3 + 3 + 1 + 1
    assert page.value("document.documentElement.lang") == "en"
    links = page.value("Array.from(document.querySelectorAll('nav a'), a => a.hash)")
    sections = ["#lengths-of-sides", "#reasons", "#rules", "#runs"]
    assert links == ["#score-1", "#score-2", *sections]
    for link in links:
        assert page.value(f"document.querySelectorAll('{link}').length") == 1
    sides = page.value(
        "Array.from(document.querySelectorAll('.pairs > li'), li => Array.from(li.children)"
        ".slice(1, 3).map(p => p.lang + p.dir).join())"
    )
    assert set(sides) == {"enauto,deauto"}
    assert page.texts("#rules dd") == ["300", "250 83.3%", "45 15.0%", "5 1.7%"]
    assert page.texts("#rules tbody tr") == ["length-ratio4012", "identical70"]
    rows = page.texts("#runs tr")
    assert "commandbitext-filter" in rows and "counts › kept250" in rows
    assert not any("length-ratio" in row for row in rows)
    below = [row for row in ROWS if row.scores[0] < 0.6]
    both = sum("; " in row.reasons for row in below)
    counts = (("target-words", len(below)), ("numbers", both))
    expected = [f"{name}{count}{100 * count / 240:.1f}%" for name, count in counts]
    assert page.texts("#reasons tbody tr") == expected
    text = f"{len(below)} of 240 rows have a reason, {100 * len(below) / 240:.1f}%. "
    assert page.texts("#reasons .note") == [f"{text}The most, {len(below)}, have target-words."]


def shown(page: Browser) -> tuple[float, list[str]]:
    """The threshold of the first score, and what it is said to keep."""
    threshold = float(page.value("document.getElementById('score-1-threshold').value"))
    return threshold, page.texts("#score-1 .yield dd")


def expected(threshold: float) -> list[str]:
    kept = [row for row in ROWS if np.float32(row.scores[0]) >= np.float32(threshold)]
    words = [[len(row.source.split()), len(row.target.split())] for row in ROWS]
    own = [[len(row.source.split()), len(row.target.split())] for row in kept]
    counts = [len(kept), *(np.array(own).reshape(-1, 2).sum(axis=0).tolist())]
    totals = [len(ROWS), *np.array(words).sum(axis=0).tolist()]
    return [f"{c:,} {100 * c / t:.1f}%" for c, t in zip(counts, totals, strict=True)]


def test_the_slider_by_keyboard(page: Browser) -> None:
    page.focus("#score-1-slider")
    seen = []
    for key in ("Home", "ArrowRight", "ArrowRight", "PageUp", "ArrowLeft", "End"):
        page.press(key)
        threshold, kept = shown(page)
        assert kept == expected(threshold)
        seen.append(threshold)
    assert seen[0] == FIRST.min() and np.float32(seen[-1]) == FIRST.max()
    assert seen[0] < seen[1] < seen[2] < seen[4] < seen[3] < seen[5]
    text = page.value("document.getElementById('score-1-slider').getAttribute('aria-valuetext')")
    assert text == f"{seen[-1]:g} keeps {100 / 240:.1f}% of the rows"
    best = ROWS[int(FIRST.argmax())]
    assert page.texts("#score-1 ol.kept li p[lang=en]") == [best.source]


def test_what_is_kept_is_told_once_the_slider_rests(page: Browser) -> None:
    status = "document.querySelector('#score-1 [role=status]').textContent"
    page.value("window.setTimeout = (work) => { window.later = work; }")
    page.focus("#score-1-slider")
    page.press("End")
    page.press("Home")
    assert page.value(status) == ""
    page.value("window.later()")
    assert page.value(status) == (
        f"A threshold of {FIRST.min():g} keeps 240 rows, 100.0%, and 100.0% of the target words."
    )


LISTS = """
Array.from(document.querySelectorAll(%s), pair =>
  Array.from(pair.querySelectorAll('ul[aria-label].reasons > li'), e => e.textContent))
"""
"""The reasons below each pair of a list."""


def test_pairs_at_the_threshold(page: Browser) -> None:
    page.value("document.getElementById('score-1-threshold').focus()")
    page.value("document.getElementById('score-1-threshold').select()")
    page.insert("0.5")
    page.press("Enter")
    assert shown(page) == (0.5, expected(0.5))
    ordered = sorted(ROWS, key=lambda row: row.scores[0])
    kept = [row for row in ordered if row.scores[0] >= 0.5][:5]
    dropped = [row for row in ordered if row.scores[0] < 0.5][-5:][::-1]
    for kind, rows in (("kept", kept), ("dropped", dropped)):
        assert page.texts(f"#score-1 ol.{kind} li p:nth-of-type(2)") == [r.source for r in rows]
        assert page.texts(f"#score-1 ol.{kind} li p:nth-of-type(3)") == [r.target for r in rows]
        origin = page.texts(f"#score-1 ol.{kind} li:first-child .origin")[0]
        first = rows[0]
        assert origin.startswith(f"line {first.number}mlp: {first.scores[0]}csls: ")
        assert origin.endswith(first.label)
        lists = page.value(LISTS % json.dumps(f"#score-1 ol.{kind} > li"))
        assert lists == [list(reasons_of(row.reasons)) for row in rows]
    for label in ("clean", "copy"):
        (row,) = (t for t in page.texts("#score-1 .labels tbody tr") if t.startswith(label))
        rows = [r for r in ROWS if r.label == label]
        own = sum(r.scores[0] >= 0.5 for r in rows)
        assert row == f"{label}{len(rows)}{own}{100 * own / len(rows):.1f}%"


def test_a_score_between_thresholds_and_none_at_all(page: Browser) -> None:
    """Each score has a threshold of its own."""
    change = "(f => { f.value = '%s'; f.dispatchEvent(new Event('change')); })"
    field = "(document.getElementById('score-1-threshold'))"
    for typed, threshold in (("99", FIRST.max()), ("-99", FIRST.min()), ("0.50001", 0.5)):
        page.value(change % typed + field)
        assert shown(page)[0] == pytest.approx(threshold, abs=1e-6)
    page.value(change % "" + field)
    assert shown(page) == (0.5, expected(0.5))
    page.focus("#score-2-slider")
    page.press("End")
    assert shown(page) == (0.5, expected(0.5))
    assert page.texts("#score-2 .yield dd")[0].startswith("1 ")


def test_buttons_keep_a_part_of_the_target(page: Browser) -> None:
    for part in (10, 30, 60):
        page.focus(f"#score-1 button[data-part='{part}']")
        page.press("Enter")
        threshold, kept = shown(page)
        assert kept == expected(threshold)
        assert abs(float(kept[2].split()[1].rstrip("%")) - part) < 1.5


def test_the_line_in_the_figures_is_at_the_threshold(page: Browser) -> None:
    page.value(
        "(f => { f.value = 0.5; f.dispatchEvent(new Event('change')); })"
        "(document.getElementById('score-1-threshold'))"
    )
    for name, portion in (("sorted", (FIRST < 0.5).mean()), ("histogram", None)):
        cut = f"document.querySelector('[aria-labelledby=score-1-{name}-title] .cut')"
        data = page.value(f"Object.assign({{}}, {cut}.dataset)")
        left, _, right, _ = map(float, data["box"].split())
        low, high = float(data["low"]), float(data["high"])
        wanted = (0.5 - low) / (high - low) if portion is None else portion
        x = float(page.value(f"{cut}.querySelector('.across').getAttribute('x1')"))
        assert x == pytest.approx(left + wanted * (right - left), abs=0.01)
        assert page.value(f"getComputedStyle({cut}).display") != "none"


def visible_tenths(page: Browser) -> list[str]:
    return list(
        page.value(
            "Array.from(document.querySelectorAll('#score-1 [data-tenth]'))"
            ".filter(e => e.offsetParent).map(e => e.dataset.tenth)"
        )
    )


def test_tenths_by_keyboard(page: Browser) -> None:
    assert visible_tenths(page) == ["0"]
    page.focus("#score-1-0-choice")
    page.press("ArrowRight")
    assert visible_tenths(page) == ["1"]
    page.press("ArrowLeft")
    page.press("ArrowLeft")
    assert visible_tenths(page) == ["10"]
    ordered = sorted(ROWS, key=lambda row: row.scores[0])
    assert page.texts("#score-1 [data-tenth='10'] li p[lang=en]") == [
        row.source for row in ordered[-10:]
    ]


def test_reasons_are_below_their_pairs(page: Browser) -> None:
    own = {row.source: list(reasons_of(row.reasons)) for row in ROWS}
    seen = set()
    for tenth in range(11):
        shown = f"#score-1 [data-tenth='{tenth}'] .pairs > li"
        sources = page.texts(f"{shown} p[lang=en]")
        assert page.value(LISTS % json.dumps(shown)) == [own[source] for source in sources]
        seen |= {len(own[source]) for source in sources}
    assert seen == {0, 1, 2}
    assert page.value("document.querySelectorAll('ul.reasons:empty').length") == 0


def test_everything_by_tab_has_a_name_and_is_seen_to_be_chosen(page: Browser) -> None:
    """The link that skips to the content comes first."""
    seen = []
    for _ in range(400):
        page.press("Tab")
        name = page.value("document.activeElement.outerHTML.slice(0, 200)")
        if page.value("document.activeElement === document.body"):
            break
        if not seen:
            assert page.value("document.activeElement.className") == "skip"
            assert page.value("document.activeElement.getBoundingClientRect().top >= 0") is True
        outline = page.value(
            "(e => getComputedStyle(e.type === 'radio' ? e.nextElementSibling : e)"
            ".outlineStyle)(document.activeElement)"
        )
        assert outline == "solid", name
        seen.append(name)
    kinds = " ".join(seen)
    assert all(kind in kinds for kind in ("range", "number", "radio", "<summary", "<button"))
    page.focus(".skip")
    page.press("Enter")
    assert page.value("location.hash") == "#content"


def test_the_accessibility_tree(page: Browser) -> None:
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    found: dict[str, list[dict[str, Any]]] = {}
    for node in nodes:
        if not node.get("ignored"):
            found.setdefault(node["role"]["value"], []).append(node)

    def names(role: str) -> list[str]:
        return [node.get("name", {}).get("value", "") for node in found.get(role, [])]

    assert names("slider") == ["Threshold of mlp", "Threshold of csls"]
    assert names("spinbutton")[0] == "Keep pairs whose mlp is at least"
    assert "mlp over the sorted corpus" in names("image") and len(names("image")) == 11
    assert {"main", "navigation", "banner", "contentinfo", "status"} <= set(found)
    for role in ("slider", "spinbutton", "image", "button", "radio", "region", "table", "link"):
        assert names(role) and all(names(role)), role
    described = [n for n in found["image"] if n.get("description", {}).get("value")]
    assert len(described) == 11


CONTRASTS = """
(() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const v = c.slice(0, 3).map(x => { x /= 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const behind = e => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const low = [];
  let count = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const a = light(parse(e instanceof SVGElement ? style.fill : style.color));
    const b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    count += 1;
    if (ratio < 4.5) low.push([ratio, e.outerHTML.slice(0, 100)]);
  }
  return [count, low];
})()
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser: Browser, address: str, scheme: str) -> None:
    """WCAG 2.2, criterion 1.4.3: text against what is behind it."""
    browser.prefer(color_scheme=scheme)
    browser.open(address)
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", background)[0]) > 128) == (scheme == "light")
    count, low = browser.value(CONTRASTS)
    assert count > 200
    assert low == []


OUTSIDE = """
Array.from(document.querySelectorAll('svg text'))
  .filter(t => { const own = t.getBoundingClientRect();
    const all = t.ownerSVGElement.getBoundingClientRect();
    return own.left < all.left - 1 || own.right > all.right + 1; })
  .map(t => t.textContent)
"""


@pytest.mark.gate("360", "1280")
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_it_fits(browser: Browser, tmp_path: Path, width: int) -> None:
    rules = {"numbers-and-dates-and-more": (50, 12), "WRONG LANGUAGE": (123_456, 0)}
    run = manifest(tmp_path / "filter.json", {**rules, "漢字" * 20: (1, 1)})
    reasons = f"a reason of many words, without an end; reason={'w' * 300}"
    rows = [row._replace(label="a label of many words", reasons=reasons) for row in ROWS]
    survey = Survey(["mlp", "csls"])
    survey.add(OTHERS)
    others = [Corpus(survey, "o" * 300, {}, ["c" * 300] * 2)]
    one = {"filter_run": run, "runs": [("x" * 300, {"y" * 300: "z" * 300})], "reasons": True}
    browser.resize(width, 800)
    for given, more in ((rows, one), (ROWS, {"others": others})):
        browser.open(written(tmp_path, "page.html", given, title="t" * 300, **more))
        assert browser.value(OUTSIDE) == []
        assert browser.value("document.documentElement.scrollWidth") <= width
        letters = browser.value(
            "Math.min(...Array.from(document.querySelectorAll('svg text'), t =>"
            " parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getScreenCTM().a))"
        )
        assert letters >= 9.5 or more is not one


OTHERS = [row for row in ROWS if row.number % 3]
"""The rows of a second corpus."""


@pytest.fixture
def both(browser: Browser, tmp_path: Path) -> Browser:
    """The page of two corpora, with a balanced cut of the first score."""
    survey = Survey(["mlp", "csls"])
    survey.add(OTHERS)
    others = [Corpus(survey, "others.tsv", {}, ["bitext-rank -i others.tsv --min-score"] * 2)]
    options = {"others": others, "cuts": {"mlp": 0.4321}, "title": "rows.tsv"}
    browser.open(written(tmp_path, "both.html", ROWS, reasons=True, **options))
    return browser


def kept_of_both(page: Browser) -> list[list[str]]:
    """What the threshold of the first score keeps of each corpus."""
    found = page.texts("#score-1 .yield dd")
    return [found[:3], found[3:]]


def test_two_corpora_stand_side_by_side(both: Browser) -> None:
    assert both.texts("header .corpus") == ["rows.tsv", "others.tsv"]
    assert both.texts("header dt + dd")[::3] == [str(len(ROWS)), str(len(OTHERS))]
    titles = both.texts("#score-1 figure h3")
    kinds = ("mlp over the sorted corpus", "Histogram of mlp", "mlp by label")
    assert titles == [f"{kind}: {name}" for kind in kinds for name in ("rows.tsv", "others.tsv")]
    for place in range(0, 6, 2):
        tops, lefts = zip(
            *both.value(
                "Array.from(document.querySelectorAll('#score-1 figure'),"
                " f => [f.getBoundingClientRect().top, f.getBoundingClientRect().left])"
            )[place : place + 2],
            strict=True,
        )
        assert tops[0] == tops[1] and lefts[0] < lefts[1]
    boxes = both.value(
        "Array.from(document.querySelectorAll('#score-1 .cut'),"
        " c => [c.dataset.axis, c.dataset.low, c.dataset.high].join())"
    )
    assert boxes[::2] == boxes[1::2]
    assert len(both.texts("#lengths-of-sides figure")) == 6
    assert len(both.texts("#reasons figure")) == 2


def test_one_threshold_cuts_both(both: Browser) -> None:
    for key in ("Home", "PageUp", "PageUp", "PageUp", "End"):
        both.focus("#score-1-slider")
        both.press(key)
        threshold, _ = shown(both)
        for kept, rows in zip(kept_of_both(both), (ROWS, OTHERS), strict=True):
            passed = sum(np.float32(row.scores[0]) >= np.float32(threshold) for row in rows)
            assert kept[0] == f"{passed} {100 * passed / len(rows):.1f}%"
            tables = f"#score-1 .labels[data-corpus='{int(rows is OTHERS)}'] tbody tr"
            by_label = [
                sum(r.label == label for r in rows if r.scores[0] >= threshold - 1e-7)
                for label in ("clean", "copy")
            ]
            lines = sorted(both.texts(tables))
            totals = [sum(r.label == label for r in rows) for label in ("clean", "copy")]
            for line, name, total, own in zip(
                lines, ("clean", "copy"), totals, by_label, strict=True
            ):
                assert line.startswith(f"{name}{total}{own}")
    text = both.value("document.getElementById('score-1-slider').getAttribute('aria-valuetext')")
    assert re.fullmatch(
        r"[\d.]+ keeps 0\.4% of the rows of rows\.tsv and 0\.\d% of the rows of others\.tsv", text
    )
    cuts = "Array.from(document.querySelectorAll('#score-1 .cut .across'), e => e.x1.baseVal.value)"
    first, second, *others = both.value(cuts)
    assert first != second and others[0] == others[1]


def test_the_balanced_cut_is_marked_and_found_again(both: Browser) -> None:
    assert shown(both)[0] == pytest.approx(0.4321)
    assert "The balanced cut is 0.4321." in both.texts("#score-1 .lead")
    assert both.texts("#score-1 figure .legend li").count("balanced cut: 0.4321") == 2
    both.focus("#score-1-slider")
    both.press("Home")
    both.focus("#score-1 button.balanced")
    both.press("Enter")
    assert shown(both)[0] == pytest.approx(0.4321)
    assert both.texts("button.balanced") == ["balanced: 0.4321"]


COPIED = "Object.defineProperty(navigator, 'clipboard', {value: {writeText: %s}})"


def test_the_command_is_copied_by_keyboard(both: Browser) -> None:
    """And selected where there is no clipboard."""
    lines = both.texts("#score-1 .command code")
    assert lines == [
        "bitext-rank --column 3 --min-score 0.4321",
        "bitext-rank -i others.tsv --min-score 0.4321",
    ]
    both.value(COPIED % "async t => { if (window.copied) throw new Error(); window.copied = t; }")
    for wait, seen, expected in (
        (600, "document.querySelector('#score-1 [role=status]').textContent", "Copied."),
        (100, "getSelection().toString()", lines[0]),
    ):
        both.focus("#score-1 .command code + button")
        both.press("Enter")
        later = f"new Promise(done => setTimeout(() => done({seen}), {wait}))"
        assert (both.value("window.copied"), both.value(later)) == (lines[0], expected)


def test_the_command_keeps_the_rows_that_the_page_shows(
    browser: Browser, tmp_path: Path, commands: Path
) -> None:
    """From the page of a real file, in a shell: its name needs quotes."""
    rows, page = tmp_path / "the rows'.tsv", tmp_path / "page.html"
    texts_of = (f"{r.source}\t{r.target}\t{r.scores[0]:.4f}\t{r.label}\n" for r in ROWS)
    rows.write_text("a\tb\tmlp\tlabel\n" + "".join(texts_of))
    words = ["-i", str(rows), "-o", str(page), "--header", "--column", "mlp"]
    invoke("bitext-report", *words)
    browser.open(page.as_uri())
    browser.focus("#score-1-slider")
    browser.press("PageUp")
    _, kept = shown(browser)
    (line,) = browser.texts("#score-1 .command code")
    environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}
    subprocess.run(line, shell=True, cwd=tmp_path, env=environment, check=True, timeout=60)
    lines = (tmp_path / "kept.tsv").read_text().splitlines()
    assert len(lines) - 1 == int(kept[0].split()[0])
    assert [line for line in rows.read_text().splitlines() if line in lines] == lines


def test_in_print_all_is_there_but_what_only_a_screen_can_do(page: Browser) -> None:
    page.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert len(visible_tenths(page)) == 11
        for gone in ("nav", ".controls button", "input[type=range]", "fieldset"):
            assert page.value(f"document.querySelector('{gone}').checkVisibility()") is False
        for there in (".yield", "input[type=number]"):
            assert page.value(f"document.querySelector('{there}').checkVisibility()") is True
    finally:
        page.call("Emulation.setEmulatedMedia", media="")


def test_without_scripts_and_with_less_motion(browser: Browser, address: str) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(address)
        assert len(visible_tenths(browser)) == 11
        hidden = "Array.from(document.querySelectorAll('.threshold, .labels, fieldset'))"
        assert not browser.value(f"{hidden}.some(e => e.checkVisibility())")
        assert browser.value("document.querySelector('noscript p').checkVisibility()")
        style = "getComputedStyle(document.documentElement).scrollBehavior"
        for wish, behaviour in (("reduce", "auto"), ("no-preference", "smooth")):
            browser.prefer(reduced_motion=wish)
            assert browser.value(style) == behaviour
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_hostile_names_of_files(browser: Browser, tmp_path: Path) -> None:
    """The page's title is the input's name; a manifest has its own, and a command line."""
    name = '"><img src=x onerror=window.caught=12>\x1b[2J\udcff\n<script>window.caught=13'
    rows, page, record = (tmp_path / f"{name}.{ending}" for ending in ("tsv", "html", "json"))
    rows.write_bytes(b"a\tb\t0.5\n" * 9)
    options = ["-i", str(rows), "-o", str(page)]
    for manifest in ("--manifest", "--manifests"):
        invoke("bitext-report", *options, manifest, record)
    browser.open(page.as_uri())
    shown = re.sub("[\x1b\udcff]", "\ufffd", name)
    assert browser.value("document.title").startswith(" ".join(shown.split()))
    assert browser.texts("h1") == [f"{shown}.tsv"]
    assert browser.texts("#runs summary") == [f"{shown}.json"]
    assert browser.value("document.querySelectorAll('script, img').length") == 2
    assert browser.value("typeof window.caught") == "undefined"


def test_hostile_text_is_text(browser: Browser, tmp_path: Path) -> None:
    rows = [
        Sample(n, HOSTILE[n % len(HOSTILE)], HOSTILE[-n % len(HOSTILE)], (n / 99, 0.0), text, text)
        for n, text in enumerate(HOSTILE * 5)
    ]
    run = manifest(tmp_path / "filter.json", facts={text: text for text in HOSTILE})
    runs = [(text, run.manifest) for text in HOSTILE]
    options = {"names": HOSTILE[:2], "title": HOSTILE[6], "filter_run": run, "runs": runs}
    browser.open(written(tmp_path, "page.html", rows, reasons=True, **options))
    counts = "['script', 'img', 'base', 'link', 'meta', 'iframe', '[onload]', '[onerror]', 'form']"
    found = browser.value(f"{counts}.map(s => document.querySelectorAll(s).length)")
    assert found == [2, 0, 0, 0, 5, 0, 0, 0, 0]
    assert set(browser.value("Array.from(document.links, a => a.protocol)")) == {"file:"}
    browser.focus("#score-1-slider")
    seen: set[str] = set()
    against: set[str] = set()
    browser.press("Home")
    for _ in range(12):
        browser.press("PageUp")
        seen.update(browser.texts("#score-1 .around li p"))
        against.update(browser.texts("#score-1 .around .reasons li"))
    assert set(HOSTILE) <= seen
    reasons = {reason for text in HOSTILE for reason in reasons_of(text)}
    assert reasons == against == set(browser.texts("#score-1 .tenths .reasons li"))
    assert {reason_name(reason) for reason in reasons} == set(browser.texts("#reasons tbody th"))
    assert browser.value("typeof window.caught") == "undefined"
    assert browser.texts("h2")[:2] == [HOSTILE[0], HOSTILE[1]]
    assert browser.texts("h1") == [HOSTILE[6]]
    assert browser.texts("#runs summary") == HOSTILE
    assert set(HOSTILE) <= set(browser.texts("#runs td"))
    assert HOSTILE[0] in browser.texts("#rules th")


def test_the_policy_forbids_markup_and_code_from_strings(chromium: Browser, address: str) -> None:
    for attempt in (
        "document.body.innerHTML = '<b>x</b>'",
        "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
        "document.write('<b>x</b>')",
        "eval('1')",
    ):
        chromium.open(address)
        tried = f"(() => {{ try {{ {attempt} }} catch (error) {{ return error.name }} }})()"
        assert chromium.value(tried) in ("TypeError", "EvalError"), attempt


def test_the_policy_forbids_scripts_and_the_network(chromium: Browser, address: str) -> None:
    chromium.open(address)
    chromium.value(
        "(() => { const s = document.createElement('script');"
        " s.append(document.createTextNode('window.caught = 1')); document.body.append(s); })()"
    )
    caught = "fetch('http://127.0.0.1:9/').then(() => 'fetched', e => e.name)"
    assert chromium.value(caught) == "TypeError"
    image = (
        "new Promise(done => { const i = new Image(); i.onload = () => done('loaded');"
        " i.onerror = () => done('refused'); i.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='})"
    )
    assert chromium.value(image) == "refused"
    assert chromium.value("typeof window.caught") == "undefined"
    assert not [url for url in chromium.requests() if url.startswith("http")]


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [Sample(1, "one", "eins", (0.5, 0.5))],
        [Sample(n, "same", "gleich", (0.25, -7.0)) for n in range(30)],
        [Sample(n, "", "", (n * 3.3e36, n * -1e-30), "漢字") for n in range(100)],
    ],
    ids=["none", "one", "all the same", "extremes"],
)
def test_odd_corpora(browser: Browser, tmp_path: Path, rows: list[Sample]) -> None:
    browser.open(written(tmp_path, "page.html", rows))
    assert browser.texts("header dd")[0] == str(len(rows))
    assert "NaN" not in browser.value("document.body.innerText")
    if rows:
        browser.focus("#score-1-slider")
        browser.press("End")
        assert browser.texts("#score-1 .yield dd")[0].split()[0] in {"1", str(len(rows))}


def test_rows_without_reasons_and_a_filter_without_rules(browser: Browser, tmp_path: Path) -> None:
    run = manifest(tmp_path / "filter.json", {})
    rows = [row._replace(reasons="; ") for row in ROWS]
    browser.open(written(tmp_path, "page.html", rows, reasons=True, filter_run=run))
    assert browser.texts("#reasons .note") == ["No row has a reason."]
    assert browser.texts("ul.reasons") == []
    assert browser.texts("#rules .note") == ["No rule was applied."]
    assert read_run(str(tmp_path / "filter.json"))["facts"] == {"rules": {}}
