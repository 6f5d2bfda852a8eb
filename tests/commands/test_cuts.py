"""Cuts of a model by name, in bitext-rank, bitext-filter and bitext-align."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke, says_one_line, table
from toys import as_older, sentences, toy_many, toy_model

from bitextfilter.models.folders import model_digest
from bitextfilter.scoring.thresholds import Threshold, named_cut, write_thresholds

Files = tuple[Path, Path]

ROWS = "a1\tb1\t0.3\na2\tb2\t0.25\na3\tb3\t0.2\n"
HEADED = "source\ttarget\t{}\n" + ROWS
CUT = "balanced: {}; 100% of the right rows are kept{} (for {}, by f1, model toy {})"


def cut(model: str, use: str, measure: str, least: float, goal: str = "f1") -> Threshold:
    share = 0.3 if use == "filtering" else None
    quality = {"precision": 0.5, "recall": 1.0, "f1": 0.5, "noise_share": share, "rows": 9}
    texts = {"goal": goal, "file": "a", "command": "b", "version": "c"}
    return Threshold(use, measure, least, model=model, **quality, **texts)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has a cut for mlp and csls, for joint, and for cosine by two goals."""
    folder = toy_model(tmp_path_factory.mktemp("cuts") / "toy")
    own = model_digest(folder)
    cuts = [
        cut(own, "filtering", "mlp", 0.25),
        cut(own, "filtering", "mlp", 0.9, "precision>=0.99"),
        cut(own, "filtering", "csls", 0.3),
        cut(own, "filtering", "cosine", 0.1, "recall>=0.9"),
        cut(own, "filtering", "cosine", 0.2, "precision>=0.9"),
        cut("0" * 12, "filtering", "ratio", 0.2),
        cut(own, "mining", "joint", 0.5),
    ]
    write_thresholds(as_older(folder), cuts)
    return folder


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """These rows have scores of no model: tests/commands/test_cut_check.py has real ones."""
    monkeypatch.setattr("bitextfilter.scoring.row_checks.other_scores", lambda *_: [])


def run(name: str, model: Path, *words: object, text: str = "", code: int = 0) -> Result:
    return invoke(f"bitext-{name}", *words, "--model", model, data=text, code=code)


def kept(result: Result) -> list[str]:
    return [row[2] for row in table(result)]


def said(model: Path, what: str, use: str = "filtering") -> str:
    wrong = ", 100% of the wrong ones pass" if use == "filtering" else ""
    return CUT.format(what, wrong, use, model_digest(model))


def test_rank_takes_the_default_measure_or_the_one_that_is_named(
    model: Path, tmp_path: Path
) -> None:
    words = ("--min-score", "balanced", "--manifest", tmp_path / "run.json")
    usual = run("rank", model, *words, text=ROWS)
    assert kept(usual) == ["0.3", "0.25"]
    assert said(model, "mlp>=0.25") in usual.stderr
    facts = json.loads((tmp_path / "run.json").read_text())["facts"]
    assert facts["balanced mlp"] == said(model, "mlp>=0.25")
    named = run("rank", model, *words, "--similarity", "csls", text=ROWS)
    assert kept(named) == ["0.3"]
    assert said(model, "csls>=0.3") in named.stderr
    joint = run("rank", model, *words, "--similarity", "joint", text=ROWS)
    assert kept(joint) == []
    assert said(model, "joint>=0.5", "mining") in joint.stderr


def test_rank_reads_the_measure_in_the_header(model: Path) -> None:
    words = ("--min-score", "balanced", "--header")
    for column in ("-1", "csls"):
        result = run("rank", model, *words, "--column", column, text=HEADED.format("csls"))
        assert kept(result) == ["csls", "0.3"]
    unknown = run("rank", model, *words, text=HEADED.format("quality"), code=78)
    said = "the measure of the column 'quality' is unknown: name it with --similarity"
    says_one_line(unknown, 78, said)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("euclidean", "no cut for filtering by euclidean, only by mlp, csls, cosine: give"),
        ("ratio", "the model toy has no cut for filtering by ratio, only by mlp"),
        ("cosine", "several cuts (recall>=0.9, precision>=0.9) for filtering by cosine"),
    ],
)
def test_no_cut_of_that_name(model: Path, measure: str, message: str) -> None:
    words = ("--min-score", "balanced", "--similarity", measure)
    says_one_line(run("rank", model, *words, text=ROWS, code=78), 78, message)


def test_rank_refuses_a_measure_that_does_nothing(model: Path) -> None:
    for least in ((), ("--min-score", "0.1")):
        run("rank", model, *least, "--similarity", "mlp", text=ROWS, code=2)
    nonsense = run("rank", model, "--min-score", "best", text=ROWS, code=2)
    says_one_line(nonsense, 2, "'best' is not a number, nor is it lenient, balanced or strict")


@pytest.mark.parametrize(
    "rule", ["score:min=balanced", "-1>=balanced", "column:column=3,minimum=balanced"]
)
def test_filter_by_the_default_measure(model: Path, rule: str) -> None:
    result = run("filter", model, "--rule", rule, text=ROWS)
    assert kept(result) == ["0.3", "0.25"]
    assert said(model, "mlp>=0.25") in result.stderr


def test_filter_by_a_measure_that_is_named(model: Path, tmp_path: Path) -> None:
    text = HEADED.format("csls")
    result = run("filter", model, "--header", "--rule", "csls>=balanced", text=text)
    assert kept(result) == ["csls", "0.3"]
    words = ("--rule", "score:min=balanced", "--similarity", "csls")
    assert kept(run("filter", model, *words, text=ROWS)) == ["0.3"]
    file = tmp_path / "rules.toml"
    file.write_text('[[rule]]\nname = "score"\nmin = "balanced"\n')
    assert kept(run("filter", model, "--rules", file, text=ROWS)) == ["0.3", "0.25"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rule", "quality>=balanced", "--header"], "the column 'quality' is unknown"),
        (["--rule", "-1>=balanced", "--header"], "use its name in the header"),
        (["--rule", "score<=balanced"], "the balanced cut is a minimum, not a maximum"),
        (["--rule", "score:max=balanced"], "rule 'score': the balanced cut is a minimum"),
        (["--rule", "score:min=balancd"], "rule 'score': min=balancd is not a number"),
        (["--rule", "length:min=balanced"], "min=balanced is not a number"),
        (["--rule", "score:min=1,minimum=2"], "minimum is given twice"),
        (["--rule", "ratio>=balanced", "--header"], "no cut for filtering by ratio"),
        (["--rule", "score>=1", "--similarity", "mlp"], "and no rule has one"),
    ],
)
def test_filter_has_no_cut(model: Path, words: list[str], message: str) -> None:
    result = run("filter", model, *words, text=HEADED.format("quality"), code=2)
    says_one_line(result, 2, message)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Forty pairs that belong together among sixty lines a side."""
    home = tmp_path_factory.mktemp("files")
    sources, targets = sentences(60, 7)
    for name, lines in (("a", sources[:50]), ("b", targets[10:])):
        (home / name).write_text("".join(f"{line}\n" for line in lines))
    return home / "a", home / "b"


def test_align_is_joint_and_cut_where_the_model_says(
    model: Path, files: Files, tmp_path: Path
) -> None:
    everything = run("align", model, *files, "--similarity", "joint", "--min-score", "none")
    scores = list(map(float, kept(everything)))
    assert min(scores) < 0.5 < max(scores)
    assert "below the cut" not in everything.stderr
    usual = run("align", model, *files, "--manifest", tmp_path / "run.json")
    count = sum(score >= 0.5 for score in scores)
    assert usual.stdout.splitlines() == everything.stdout.splitlines()[:count]
    assert said(model, "joint>=0.5", "mining") in usual.stderr
    assert f"{count} pairs" in usual.stderr
    assert f"{len(scores) - count} below the cut" in usual.stderr
    assert json.loads((tmp_path / "run.json").read_text())["facts"]["similarity"] == "joint"


def test_align_without_a_cut(model: Path, files: Files) -> None:
    result = run("align", model, *files, "--similarity", "csls")
    assert len(kept(result)) >= 40
    assert "warning: wrong pairs are written, too: the model toy" in result.stderr
    words = ("--similarity", "csls", "--min-score", "balanced")
    says_one_line(run("align", model, *files, *words, code=78), 78)
    for value in ("balanced", "none"):
        run("align", model, *files, "--monotonic", "--min-score", value)


def test_align_without_a_classifier_goes_by_csls(files: Files, tmp_path: Path) -> None:
    plain = toy_model(tmp_path / "plain", classifier=False)
    usual = run("align", plain, *files, "-q")
    assert kept(usual)
    assert usual.stdout == run("align", plain, *files, "-q", "--similarity", "csls").stdout


def test_a_stream_is_cut_too(model: Path, files: Files, tmp_path: Path) -> None:
    index = tmp_path / "index"
    run("align", model, *files, "--index-save", index)
    words = (files[0], "--index-load", index, "--stream")
    everything = run("align", model, *words, "--min-score", "none")
    usual = run("align", model, *words)
    best = [line for line in everything.stdout.splitlines() if float(line.split("\t")[2]) >= 0.5]
    assert 0 < len(best) < len(kept(everything))
    assert usual.stdout.splitlines() == best
    assert f"{len(kept(everything)) - len(best)} below the cut" in usual.stderr


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of three languages with cuts for any two, and of their own for aa and ba."""
    folder = toy_many(tmp_path_factory.mktemp("many") / "many")
    own = model_digest(folder)
    cuts = [cut(own, "mining", "csls", 0.2), cut(own, "filtering", "cosine", 0.25)]
    cuts.append(replace(cut(own, "mining", "csls", 0.7), languages="aa,ba"))
    write_thresholds(as_older(folder), cuts)
    return folder


@pytest.mark.parametrize(
    ("languages", "least", "origin"),
    [
        ("aa,ba", 0.7, "mining of aa,ba"),
        ("ba,aa", 0.7, "mining of aa,ba"),
        ("aa,ce", 0.2, "mining of any two languages, none being known for aa,ce"),
        ("ce,ba", 0.2, "mining of any two languages, none being known for ce,ba"),
    ],
)
def test_a_pair_has_its_own_cut_or_that_of_any_two(
    many: Path, files: Files, languages: str, least: float, origin: str
) -> None:
    words = ("--languages", languages, "--similarity", "csls")
    done = run("align", many, *files, *words)
    shares = "100% of the right rows are kept"
    said = f"balanced: csls>={least}; {shares} (for {origin}, by f1, model many"
    assert said in done.stderr
    assert all(float(score) >= least for score in kept(done))


def test_every_two_languages_of_the_shipped_model_have_a_cut() -> None:
    for pair in ("en,de", "de,en", "ar,th", "cs,pl", "uk,en"):
        for measure, use in (("joint", "mining"), ("csls", "mining"), ("mlp", "filtering")):
            found = named_cut(f"multi:{pair}", measure, use=use)
            assert found.basis.startswith(f"for {use} of ")
        probable = named_cut(f"multi:{pair}", "probability")
        known = "de,en" if "de" in pair else "other languages"
        assert probable.threshold == 0.5
        assert probable.basis.startswith(f"labelled crawls in {known}, model multi ")
    own, other = (named_cut(f"multi:{pair}", "joint") for pair in ("es,en", "es,th"))
    assert own.basis.startswith("for mining of en,es, by f1, model multi ")
    assert other.basis.startswith("for mining of any two languages, none being known for es,th, ")
    assert own.threshold != other.threshold
