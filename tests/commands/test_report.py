"""bitext-report: rows in, one page out, whatever the rows are."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from console import BIN, ROOT, invoke, says_one_line

from bitextfilter.commands import report
from bitextfilter.io.work_folder import Manifest
from bitextfilter.reports import charts

ROWS = [f"source {n} \u00e9\tZiel {n} x\t{n / 50:.4f}\tkind{n % 3}\n" for n in range(51)]
DATA = "".join(ROWS).encode()
SCORED = ("--column", "3")


def call(*words: object, data: bytes = DATA, code: int | None = 0) -> Result:
    return invoke(report.main, *words, data=data, code=code)


def page_of(*words: object, data: bytes = DATA) -> str:
    return call(*words, data=data).stdout_bytes.decode()


def data_of(page: str) -> Any:
    """What the page's script works on."""
    found = re.search(r'<script type="application/json" id="data">(.*)</script>\n', page)
    assert found is not None
    return json.loads(found[1])


def facts_of(page: str) -> dict[str, str]:
    """The names and values at the top."""
    head = page[page.index("<header>") : page.index("</header>")]
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", head))


def filter_manifest(path: Path, rules: Any) -> Path:
    counts = {"rows": 60, "kept": 51, "dropped": 9, "rejected": 0}
    Manifest("0.1.0", ["bitext-filter"], counts, 0.5, 120.0, {"rules": rules}).write(path)
    return path


def test_a_page_of_scored_rows() -> None:
    """Nothing of it is elsewhere."""
    page = page_of(*SCORED)
    assert page.startswith("<!doctype html>\n") and page.endswith("</html>\n")
    assert facts_of(page) == {"rows": "51", "source words": "153", "target words": "153"}
    (score,) = data_of(page)["scores"]
    (corpus,) = score["corpora"]
    assert (score["name"], corpus["labels"]) == ("score", [])
    assert (score["thresholds"][0], score["thresholds"][-1]) == (0, 1)
    rows = corpus["kept"][0]
    assert rows[0] == 51 and rows[score["thresholds"].index(0.5)] == 26
    assert {row[0] for row in data_of(page)["samples"]} == set(range(1, 52))
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert "http" not in re.sub(r"http-equiv", "", page)
    (policy,) = re.findall(r'Policy" content="([^"]*)"', page)
    assert html.unescape(policy).startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_the_page_is_the_same_each_time(tmp_path: Path, commands: Path) -> None:
    path = tmp_path / "page.html"
    words = ("--label", "4", *SCORED, "--title", "t")
    first = page_of(*words)
    call(*words, "-o", path, "--batch-size", "7", code=2)
    call(*words, "-o", path)
    assert path.read_text("utf-8") == first
    line = [str(commands / "bitext-report"), "-q", *words]
    done = subprocess.run(line, input=DATA, capture_output=True, timeout=60, check=True)
    assert done.stdout.decode() == first


EXPLAINED = "".join(
    f"not {n}\tnicht {n}\t{n / 20:.2f}\t{cell}\n"
    for n, cell in enumerate(
        ["negation=<b>not</b>(source only); fragment=2 words", "", "fragment=1 word"] * 7
    )
).encode()


def reasons_table(page: str) -> list[tuple[str, str]]:
    """The names of reasons and their numbers of rows."""
    section = page[page.index('<section id="reasons"') :].partition("</section>")[0]
    return re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', section)


@pytest.mark.parametrize("column", ["-1", "4"])
def test_reasons(column: str) -> None:
    page = page_of("--column", "3", "--reasons", column, "--pairs", "21", data=EXPLAINED)
    assert reasons_table(page) == [("fragment", "14"), ("negation", "7")]
    assert "14 of 21 rows have a reason, 66.7%. The most, 14, have fragment." in page
    assert page.count("<li>fragment=1 word</li>") == 11 * 7
    assert "<li>negation=&lt;b&gt;not&lt;/b&gt;(source only)</li><li>fragment=2 words</li>" in page
    assert "<b>not" not in page
    lists = {sample[0]: sample[5] for sample in data_of(page)["samples"]}
    assert lists[2] == [] and lists[3] == ["fragment=1 word"]
    assert lists[1] == ["negation=<b>not</b>(source only)", "fragment=2 words"]


def test_reasons_with_labels_and_names() -> None:
    rows = "".join(f"s\tt\tr{n}=; x\tk{n % 2}\t{n}\n" for n in range(3))
    data = f"source\ttarget\treasons\tkind\tmlp\n{rows}".encode()
    names = ("--header", "--label", "kind", "--reasons", "reasons")
    page = page_of(*names, data=data)
    assert page_of("--header", "--label", "4", "--reasons", "3", data=data) == page
    assert reasons_table(page) == [("x", "3"), ("r0", "1"), ("r1", "1"), ("r2", "1")]
    assert sorted(sample[3] for sample in data_of(page)["samples"]) == ["k0", "k0", "k1"]


@pytest.mark.parametrize("data", [b"a\tb\t1\t\na\tb\t2\t; \n", b""], ids=["empty", "no rows"])
def test_no_reasons(data: bytes) -> None:
    page = page_of("--column", "3", "--reasons", "4", data=data)
    assert "No row has a reason." in page
    assert page.count('<ul class="reasons"') == 1  # that of the template
    assert "Reasons against pairs" not in page_of("--column", "3", data=data)
    some = page_of("--reasons", "4", "--column", "3", data=b"a\tb\t1\tx\na\tb\t\ty\n")
    assert reasons_table(some) == [("x", "1")]  # rows without a score are not counted


@pytest.mark.parametrize(
    ("words", "column", "example"),
    [
        ("--reasons -1", "-1", ", such as --column -2"),
        ("--reasons 4", "-1", ", such as --column -2"),
        ("--reasons -1 --column 4", "4", ""),
        ("--reasons -1 --column 3 --column 4", "4", ""),
        ("--reasons 3 --column 3", "3", ""),
        ("--header --reasons reasons --column -1", "-1", ", such as --column -2"),
        ("--header --reasons reasons --column 4", "4", ""),
        ("--header --reasons reasons --column reasons", "reasons", ""),
    ],
)
def test_reasons_are_no_score(tmp_path: Path, words: str, column: str, example: str) -> None:
    headed, page = b"source\ttarget\tmlp\treasons\n" + EXPLAINED, tmp_path / "page.html"
    data = headed if "--header" in words else EXPLAINED
    message = f"--column {column} is the column of --reasons: name that of the score{example}"
    says_one_line(call(*words.split(), "-o", page, data=data, code=None), 2, message)
    assert not page.exists()
    call("--header", "--reasons", "-1", "--column", "mlp", data=headed)


@pytest.mark.gate(0)
def test_many_reasons_are_the_same_in_every_process() -> None:
    """The first forty names have a bar each, whatever the order of a set of names."""
    cells = ("; ".join(f"r{n * k % 97}=1" for k in range(1, 60)) for n in range(1, 30))
    data = "".join(f"a\tb\t{n}\t{cell}\n" for n, cell in enumerate(cells)).encode()
    line = [sys.executable, str(BIN / "bitext-report"), "-q", "--column", "3", "--reasons", "4"]
    pages = []
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(line, input=data, capture_output=True, check=True, env=env)
        pages.append(done.stdout.decode())
    assert pages[0] == pages[1] == page_of("--column", "3", "--reasons", "4", data=data)
    names = [name for name, _ in reasons_table(pages[0])]
    assert len(names) == 41
    assert {f"r{n}" for n in range(1, 41)} | {"(other reasons)"} == set(names)


def test_the_seed_chooses_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitextfilter.reports.survey.SAMPLE_SIZE", 1000)
    many = "".join(f"s{n}\tt\t{n % 977}\n" for n in range(2000)).encode()
    pages = [page_of("--seed", seed, data=many) for seed in ("1", "1", "2")]
    assert pages[0] == pages[1] != pages[2]
    assert "a random sample of 1,000 rows" in pages[0]
    assert "taken from all rows" in page_of(*SCORED)


def test_names_of_scores() -> None:
    scored = b"".join(b"a\tb\t%d\t%d\n" % (n, -n) for n in range(3))
    headed = b"x\ty\tm<l>p\tcsls\n" + scored
    both = ("--column", "3", "--column", "-1")
    for words, data, names in (
        (both, scored, ["column 3", "column -1"]),
        ((), scored, ["score"]),
        (("--header", *both), headed, ["m<l>p", "csls"]),
        (("--header", "--column", "csls"), headed, ["csls"]),
        ((*both, "--names", "mlp, cosine"), scored, ["mlp", "cosine"]),
        (("--header", "--column", "csls", "--names", "mlp"), headed, ["mlp"]),
    ):
        found = data_of(page_of(*words, data=data))["scores"]
        assert [score["name"] for score in found] == names


def cut_of(model: str, measure: str, languages: str = "") -> float:
    """What the thresholds of a shipped model say."""
    path = ROOT / "bitextfilter" / "pretrained" / model / "thresholds.json"
    (found,) = [
        one["threshold"]
        for one in json.loads(path.read_text("utf-8"))["thresholds"]
        if (one["use"], one["measure"], one["goal"]) == ("filtering", measure, "f1")
        and one.get("languages", "") == languages
    ]
    return float(found)


def test_the_model_names_the_measure_and_its_cut() -> None:
    rows = b"".join(b"a b\tc d\t%.4f\n" % (n / 1000) for n in range(1001))
    result = call("--model", "en-de", data=rows)
    assert "balanced: probability>=0.5; " in result.stderr
    assert "(labelled crawls in de,en, model en-de " in result.stderr
    check_cut(result.stdout, "probability", 0.5)


def check_cut(page: str, name: str, cut: float) -> None:
    """The one score of a page has this name, and this cut among its thresholds."""
    (score,) = data_of(page)["scores"]
    assert score["name"] == name and score["balanced"] == pytest.approx(cut)
    kept = score["corpora"][0]["kept"][0][score["thresholds"].index(score["balanced"])]
    assert kept == sum(n / 1000 >= cut for n in range(1001))


def test_the_cut_of_the_raw_classifier_is_its_threshold() -> None:
    rows = b"s\tt\tmlp\n" + b"".join(b"a b\tc d\t%.4f\n" % (n / 1000) for n in range(1001))
    result, cut = call("--header", "--model", "en-de", data=rows), cut_of("en-de", "mlp")
    assert f"balanced: mlp>={cut!r}; " in result.stderr
    assert "(for filtering, by f1, model en-de " in result.stderr
    check_cut(result.stdout, "mlp", cut)


def test_the_cut_of_a_measure_in_the_header_or_of_a_pair() -> None:
    rows = b"s\tt\tcosine\n" + b"".join(b"a\tb\t%.4f\n" % (n / 99) for n in range(100))
    page = page_of("--header", "--model", "en-de", data=rows)
    (score,) = data_of(page)["scores"]
    assert (score["name"], score["balanced"]) == ("cosine", cut_of("en-de", "cosine"))
    other = call("--header", "--model", "en-de", data=rows.replace(b"cosine", b"laser"))
    assert "warning: the model en-de has no cut for filtering by laser" in other.stderr
    assert data_of(other.stdout)["scores"][0]["balanced"] is None


OTHER = "".join(f"s {n}\tt {n}\t{n / 30 + 0.5:.4f}\tkind1\n" for n in range(21)).encode()


def test_two_corpora(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(DATA)
    (tmp_path / "b.tsv").write_bytes(OTHER + b"x\ty\tnone\tkind9\n")
    words = (tmp_path / "a.tsv", "--against", tmp_path / "b.tsv", *SCORED, "--label", "4")
    page = page_of(*words)
    assert "<title>a.tsv against b.tsv</title>" in page
    found = data_of(page)
    (score,) = found["scores"]
    first, second = score["corpora"]
    assert found["corpora"] == ["a.tsv", "b.tsv"]
    for corpus, data in ((first, DATA), (second, OTHER)):
        scores = [float(line.split("\t")[2]) for line in data.decode().splitlines()]
        kept = [sum(value >= cut - 1e-7 for value in scores) for cut in score["thresholds"]]
        assert corpus["kept"][0] == kept
    assert score["thresholds"][-1] == pytest.approx(20 / 30 + 0.5, abs=1e-4)
    assert [label for label, _ in first["labels"]] == ["kind2", "kind1", "kind0"]
    assert [label for label, _ in second["labels"]] == ["kind1"]
    facts = page[page.index("<header>") : page.index("</header>")]
    assert re.findall(r"<dt>rows(?: unscored)?</dt><dd>(\d+)", facts) == ["51", "21", "1"]
    assert {sample[0] for sample in found["samples"]} == set(range(1, 52))
    assert "The pairs shown are taken from all rows of a.tsv." in page


def test_corpora_by_other_scores_are_not_compared(tmp_path: Path) -> None:
    other, page = tmp_path / "b.tsv", tmp_path / "page.html"
    other.write_bytes(b"source\ttarget\tcosine\na\tb\t1\n")
    data = b"source\ttarget\tmlp\na\tb\t1\n"
    words = ("--header", "--against", other, "-o", page)
    message = f"{other}:1: the scores are cosine, those of stdin mlp; --column NAME finds"
    says_one_line(call(*words, data=data, code=None), 65, message)
    assert not page.exists()
    call(*words, "--names", "any", data=data)


def test_faults_of_the_second_corpus_have_its_name(tmp_path: Path) -> None:
    other, page = tmp_path / "b.tsv", tmp_path / "page.html"
    other.write_bytes(b"a\tb\t1\tk\na\tb\n")
    words = (*SCORED, "--against", other, "-o", page)
    message = f"{other}:2: 2 columns, expected at least 3 (--column 3)"
    says_one_line(call(*words, code=None), 65, message)
    assert not page.exists()
    call(*words, "--on-error", "reject")
    assert page.read_text("utf-8").count("<dt>rows rejected</dt><dd>1</dd>") == 1
    other.write_bytes(b"")
    assert "There are no scored rows in b.tsv." in page_of(*SCORED, "--against", other)


def test_several_files_are_one_corpus(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.tsv", "b.tsv", "c.tsv")]
    parts = ("".join(ROWS[:9]).encode(), "".join(ROWS[9:]).encode(), OTHER)
    for path, data in zip(paths, parts, strict=True):
        path.write_bytes(data)
    page = page_of(*paths[:2], "--against", paths[2], *SCORED)
    assert "<title>a.tsv, b.tsv against c.tsv</title>" in page
    (score,) = data_of(page)["scores"]
    assert [corpus["kept"][0][0] for corpus in score["corpora"]] == [51, 21]
    command = score["corpora"][0]["command"]
    assert command == (
        f"bitext-rank {paths[0]} {paths[1]} -o kept.tsv --column 3 --order input --min-score"
    )


def test_labels_languages_pairs_and_characters() -> None:
    page = page_of(*SCORED, "--label", "-1", "--languages", "en,zh-Hant")
    (score,) = data_of(page)["scores"]
    labels = {name: counts[0] for name, counts in score["corpora"][0]["labels"]}
    assert labels == dict.fromkeys(("kind0", "kind1", "kind2"), 17)
    assert '<p lang="en" dir="auto">source 0 é</p><p lang="zh-Hant" dir="auto">Ziel 0 x' in page
    page = page_of(*SCORED, "--pairs", "2", "--count", "characters")
    assert page.count('<p lang="" dir="auto">source') == 11 * 2
    assert facts_of(page)["source characters"] == str(sum(len(f"source{n}é") for n in range(51)))


def test_rows_without_a_score_are_counted() -> None:
    odd = "".join(f"a\tb\t{score}\n" for score in ("", "x", "nan", "inf", "1_0", "1e300", "0.5"))
    result = call(data=f"a\tb\t0.25\n{odd}\t\t1\n".encode())
    assert "bitext-report: 9 rows, 0 rejected, 6 unscored, " in result.stderr
    facts = facts_of(result.stdout)
    assert (facts["rows"], facts["rows unscored"]) == ("3", "6")
    result = call(data=b"x\ty\tmlp\n" + b"a\tb\t0.5\n")
    assert "warning: line 1 has no score but 'mlp': is it a --header?" in result.stderr


def test_bad_rows_stop_or_are_left_out(tmp_path: Path) -> None:
    path, rejects = tmp_path / "page.html", tmp_path / "bad.tsv"
    data = DATA + b"a\tb\n" + b"\xff\tb\t1\tk\n"
    stopped = call(*SCORED, "-o", path, data=data, code=None)
    says_one_line(stopped, 65, "stdin:52: 2 columns, expected at least 3 (--column 3)")
    assert list(tmp_path.iterdir()) == []
    call(*SCORED, "-o", path, "--on-error", "reject", "--rejects", rejects, data=data)
    assert facts_of(path.read_text("utf-8"))["rows rejected"] == "2"
    assert [line.split(b"\t")[0] for line in rejects.read_bytes().splitlines()] == [b"52", b"53"]


@pytest.mark.parametrize(
    "data", [b"", b"\xef\xbb\xbf", b"a\tb\tx\n"], ids=["empty", "BOM", "no score"]
)
def test_nothing_to_show(data: bytes, tmp_path: Path) -> None:
    page = page_of(data=data)
    assert "There are no scored rows." in page
    assert page_of("--plots", tmp_path / "plots", data=data) == page
    assert list((tmp_path / "plots").iterdir()) == []


def test_manifests(tmp_path: Path) -> None:
    rules = {"length-ratio": {"dropped": 9, "unique": 4}}
    run = filter_manifest(tmp_path / "filter.json", rules)
    other = tmp_path / "score & more.json"
    Manifest("0.1.0", ["bitext-score"], {"rows": 60}, 1.0, 60.0, {"model": "<b>"}).write(other)
    page = page_of(*SCORED, "--filter-manifest", run, "--manifests", other, "--manifests", run)
    assert re.findall(r"<summary>([^<]*\.json)</summary>", page) == [
        "filter.json",
        "score &amp; more.json",
        "filter.json",
    ]
    assert '<th scope="row">length-ratio</th><td>9</td><td>4</td>' in page
    assert "<td>&lt;b&gt;</td>" in page


def test_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files a figure, of what tests/reports/test_figures.py looks at."""
    monkeypatch.setattr(charts, "plotted", lambda chart, form: f"{chart.name}, {form}".encode())
    folder = tmp_path / "new" / "plots"
    run = filter_manifest(tmp_path / "filter.json", {"$a_1$": {"dropped": 9, "unique": 4}})
    words = ("--label", "4", "--reasons", "2", "--filter-manifest", run)
    result = call(*SCORED, *words, "--plots", folder)
    names = ["density", "drops", "lengths", "ratios", "reasons"]
    names += [f"score-1-{kind}" for kind in ("histogram", "labels", "sorted")]
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        f"{name}.{form}": f"{name}, {form}" for name in names for form in ("png", "svg")
    }
    assert "8 figures, " in result.stderr


def test_plots_need_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = "--plots needs matplotlib, which is not installed; pip install 'bitextfilter[report]'"
    says_one_line(call("--plots", tmp_path / "plots", code=None), 69, message)
    assert list(tmp_path.iterdir()) == []


def test_the_title_and_the_manifest(tmp_path: Path) -> None:
    assert "<title>stdin</title>" in page_of(*SCORED)
    words = ("--title", "A & <B>", "--seed", 3, "--manifest", tmp_path / "run.json")
    assert "<title>A &amp; &lt;B&gt;</title>" in page_of(*SCORED, *words)
    found = json.loads((tmp_path / "run.json").read_bytes())
    assert found["counts"] == {"rows": 51, "rejected": 0, "unscored": 0}
    assert found["facts"] == {"seed": 3}
