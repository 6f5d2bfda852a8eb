"""A recommended cut is for scores of its model alone: some rows are scored again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from console import ROOT, command

from bitextfilter.scoring.model import load
from bitextfilter.scoring.row_checks import ScoredText, can_be_checked, other_scores

ROWS = [
    line.split("\t")[:2]
    for line in (ROOT / "examples/pairs.en-de.tsv").read_text("utf-8").splitlines()
]
CUTS = {
    "bitext-rank": ["--min-score", "recommended", "--order", "input"],
    "bitext-filter": ["--rule", "score:min=recommended"],
}
REMEDY = "--model names the model of the scores, --scol and --tcol the columns of their texts; or"


def scored(*words: str, rows: list[list[str]] = ROWS) -> str:
    text = "".join("\t".join(row) + "\n" for row in rows)
    result = CliRunner().invoke(command("bitext-score"), ["-q", *words], input=text)
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def by_default() -> str:
    return scored()


@pytest.fixture(scope="module")
def by_other() -> str:
    return scored("--model", "en-de-autoencoder")


def cut(name: str, text: str, *words: str) -> Result:
    return CliRunner().invoke(command(name), [*CUTS[name], *words], input=text)


@pytest.mark.parametrize("name", CUTS)
def test_scores_of_the_model_are_cut(name: str, by_default: str, by_other: str) -> None:
    for text, words in ((by_default, ()), (by_other, ("--model", "en-de-autoencoder"))):
        result = cut(name, text, *words)
        assert result.exit_code == 0, result.stderr
        assert 0 < len(result.stdout.splitlines()) < len(ROWS)
        assert "warning: the scores" not in result.stderr


@pytest.mark.parametrize("name", CUTS)
def test_scores_of_another_model_are_refused(name: str, by_default: str, by_other: str) -> None:
    for text, words in ((by_other, ()), (by_default, ("--model", "en-de-autoencoder"))):
        result = cut(name, text, *words)
        assert (result.exit_code, result.stdout) == (65, "")
        model = words[1] if words else "en-de"
        assert f" by mlp of {model}; {REMEDY} give a number" in result.stderr
        assert f"{name}: stdin:1: the score is 0.9" in result.stderr


@pytest.mark.parametrize("name", CUTS)
def test_the_best_rows_alone_tell_the_model_too(name: str, by_other: str) -> None:
    rows = sorted(by_other.splitlines(True), key=lambda row: -float(row.split("\t")[2]))
    assert cut(name, "".join(rows[:20])).exit_code == 65


@pytest.mark.parametrize("name", CUTS)
def test_other_languages_are_named(name: str) -> None:
    rows = [row[::-1] for row in ROWS]
    result = cut(name, scored("--model", "multi", "--languages", "de,en", rows=rows))
    assert result.exit_code == 65
    assert "(the columns look swapped: the source column looks like de" in result.stderr


def test_rank_finds_the_languages_of_a_model_of_many() -> None:
    text = scored("--model", "multi")
    result = cut("bitext-rank", text, "--model", "multi")
    assert result.exit_code == 0, result.stderr
    assert "the columns look like en and de" in result.stderr
    assert "for filtering of en,de, by f1, model multi" in result.stderr
    asked = cut("bitext-filter", text, "--model", "multi")
    assert asked.exit_code == 2
    assert "multi has a cut for each pair: --languages en,de" in asked.stderr
    assert cut("bitext-filter", text, "--model", "multi", "--languages", "en,de").exit_code == 0


def test_rounded_scores_and_mended_texts_are_those_of_the_model(by_default: str) -> None:
    assert cut("bitext-rank", scored("--digits", "1")).exit_code == 0
    rows = by_default.splitlines(True)
    rows[0] = rows[0].replace("simple", "easy")
    assert cut("bitext-rank", "".join(rows)).exit_code == 0


def test_scores_stand_in_other_columns(by_default: str) -> None:
    fields = [row.split("\t") for row in by_default.splitlines()]
    moved = "".join(f"{score}\t{source}\t{target}\n" for source, target, score in fields)
    words = ("--column", "1", "--scol", "2", "--tcol", "3")
    assert cut("bitext-rank", moved, *words).exit_code == 0
    assert cut("bitext-rank", moved, "--column", "1").exit_code == 65
    headed = "en\tde\tmlp\n" + by_default
    rule = ("--header", "--rule", "mlp>=recommended")
    result = CliRunner().invoke(command("bitext-filter"), [*rule], input=headed)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("name", CUTS)
def test_scores_without_texts_cannot_be_checked(name: str, by_default: str) -> None:
    alone = "".join(row.split("\t")[2] for row in by_default.splitlines(True))
    if name == "bitext-rank":
        result = cut(name, alone)
        assert result.exit_code == 0
        assert "no row has texts, so the scores may be of another model than en-de" in result.stderr
    assert cut(name, "a\tb\tnone\n").exit_code == 0
    assert cut(name, "").exit_code == 0


def test_shards_are_checked(by_other: str, tmp_path: Path) -> None:
    words = ("--resume", str(tmp_path / "parts"), "--shard-rows", "30")
    assert cut("bitext-filter", by_other, *words).exit_code == 65


def test_scores_of_mined_pairs_are_not_checked() -> None:
    checked = ["mlp", "cosine", "euclidean", "csls", "ratio", "distance", "joint", "none"]
    assert [name for name in checked if can_be_checked(name)] == checked[:6]
    alone = replace(load("en-de"), background=None)
    assert [name for name in checked if can_be_checked(name, alone)] == checked[:3]


@pytest.mark.gate(1)
@pytest.mark.parametrize("measure", ["csls", "ratio", "distance"])
def test_margins_are_scored_again_by_the_neighbours_of_the_model(measure: str) -> None:
    words = ("--similarity", measure)
    rank = ("--min-score", "recommended", *words)
    own = CliRunner().invoke(command("bitext-rank"), [*rank], input=scored(*words))
    assert own.exit_code == 0
    assert "warning" not in own.stderr
    others = scored(*words, "--neighbours", "input"), scored(*words, "--model=en-de-autoencoder")
    for text in others:
        found = CliRunner().invoke(command("bitext-rank"), [*rank], input=text)
        assert found.exit_code == 0
        said = f"the scores by {measure} are of other neighbours, or of another model than en-de"
        assert found.stderr.count(said) == 1
        assert f" by {measure} of en-de)" in found.stderr


def test_joint_scores_are_left_alone() -> None:
    words = ("--min-score", "recommended", "--similarity", "joint")
    found = CliRunner().invoke(command("bitext-rank"), [*words], input="a\tb\t0.5\nc\td\t1.5\n")
    assert found.exit_code == 0
    assert "warning" not in found.stderr


def test_scores_are_compared_to_their_last_digit() -> None:
    model = load("en-de")
    source, target = ROWS[0]
    own = float(model.score([source], [target], "cosine")["cosine"][0])
    for text in (f"{own:.4f}", f"{own:.1f}", f"{own!r}", f"{own:e}"):
        assert other_scores(model, "cosine", [ScoredText(1, source, target, text)]) == []
    wrong = ScoredText(1, source, target, f"{own + 0.01:.4f}")
    ((row, score),) = other_scores(model, "cosine", [wrong])
    assert row == wrong
    assert score == pytest.approx(own)
    assert other_scores(model, "cosine", []) == []
