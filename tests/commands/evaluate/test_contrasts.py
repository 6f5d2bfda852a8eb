"""bitext-evaluate contrasts through its streams, on the toy languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from toys import sentences, toy_model

from bitextfilter.commands.evaluate import main
from bitextfilter.scoring.model import load

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


def contrasts(*words: str | Path, text: str = TEXT) -> Result:
    line = ["contrasts", "--threads", "1", "--device", "cpu", *map(str, words)]
    return CliRunner().invoke(main, line, input=text)


def test_the_shares_are_those_of_the_scores(folder: Path) -> None:
    words = ("--model", folder, "--scol", "2", "--tcol", "3", "--worse-tcol", "4")
    result = contrasts(*words, "--kinds", "1", "--bootstrap", "20", "--json")
    assert result.exit_code == 0, result.output
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
    result = contrasts(*words, "--bootstrap", "20")
    head, *rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert head[:6] == ["kind", "lower", "low", "high", "tied", "pairs"]
    assert [row[0] for row in rows] == ["all", "mean"]


def test_what_cannot_be_measured(folder: Path) -> None:
    model = ("--model", folder)
    assert "--worse-scol or --worse-tcol" in contrasts(*model).stderr
    assert contrasts(*model).exit_code == 2
    assert contrasts(*model, "--worse-tcol", "2", text="").exit_code == 65
    same = contrasts(*model, "--scol", "2", "--tcol", "3", "--worse-tcol", "3")
    assert same.exit_code == 65 and "no pair is damaged" in same.stderr
    bad = contrasts(*model, "--worse-tcol", "9")
    assert (bad.exit_code, bad.stderr.count("\n")) == (65, 1) and "stdin:1: 4 columns" in bad.stderr
    assert contrasts(*model, "--worse-tcol", "2", "--similarity", "luck").exit_code == 2
