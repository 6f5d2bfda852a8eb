"""A cut by name is for scores of its model alone: some rows are scored again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from console import ROOT, invoke
from toys import as_older, sentences, toy_model

from bitextfilter.models.folders import model_digest
from bitextfilter.scoring.model import load
from bitextfilter.scoring.row_checks import ScoredText, can_be_checked, other_scores
from bitextfilter.scoring.thresholds import Threshold, write_thresholds

EXAMPLES = (ROOT / "examples/pairs.en-de.tsv").read_text("utf-8").splitlines()[:30]
ROWS = list(zip(*sentences(40, 7), strict=True))
CUTS = {
    "bitext-rank": ["--min-score", "balanced", "--order", "input"],
    "bitext-filter": ["--rule", "score:min=balanced"],
}
REMEDY = "--model names the model of the scores, --scol and --tcol the columns of their texts; or"
MARGINS = ("csls", "ratio", "distance")


def scored(model: Path, *words: str) -> str:
    text = "".join("\t".join(row) + "\n" for row in ROWS)
    return invoke("bitext-score", "-q", "--model", model, *words, data=text).stdout


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    """Two models, each with a cut that half of its scores pass, and these scores."""
    found = {}
    for name, dim in (("own", 32), ("other", 16)):
        folder = toy_model(tmp_path_factory.mktemp("models") / name, dim=dim)
        found[folder] = scored(folder)
        middle = sorted(float(line.split("\t")[2]) for line in found[folder].splitlines())[20]
        facts = {"precision": 0.5, "recall": 1.0, "f1": 0.5, "noise_share": 0.3, "rows": 9}
        texts = {"goal": "f1", "file": "a", "command": "b", "version": "c"}
        names = {"mlp": middle, **dict.fromkeys(MARGINS, 0.5)}
        cuts = [Threshold("filtering", measure, least, model=model_digest(folder), **facts, **texts)
                for measure, least in names.items()]  # fmt: skip
        cuts.append(replace(cuts[0], use="mining", measure="joint", noise_share=None))
        write_thresholds(as_older(folder), cuts)
    return found


@pytest.fixture
def model(models: dict[Path, str]) -> Path:
    return next(iter(models))


@pytest.fixture
def text(models: dict[Path, str], model: Path) -> str:
    return models[model]


def cut(name: str, text: str, *words: object, code: int = 0) -> Result:
    return invoke(name, *CUTS[name], *words, data=text, code=code)


@pytest.mark.parametrize("name", CUTS)
def test_scores_of_the_model_are_cut_and_those_of_another_refused(
    name: str, models: dict[Path, str]
) -> None:
    """The best rows alone tell the model, too."""
    for model in models:
        for other, text in models.items():
            code = 0 if model == other else 65
            result = cut(name, text, "--model", model, code=code)
            rows = sorted(text.splitlines(True), key=lambda row: -float(row.split("\t")[2]))
            cut(name, "".join(rows[:20]), "--model", model, code=code)
            if model == other:
                assert 0 < len(result.stdout.splitlines()) < len(ROWS)
                assert "warning: the scores" not in result.stderr
            else:
                assert result.stdout == ""
                assert f" by mlp of {model}; {REMEDY} give a number" in result.stderr
                assert f"{name}: stdin:1: the score is 0." in result.stderr


def test_other_languages_are_named() -> None:
    rows = [line.split("\t")[:2] for line in EXAMPLES]
    result = cut("bitext-filter", "".join(f"{s}\t{t}\t0.51\n" for t, s in rows), code=65)
    assert "(the columns look swapped: the source column looks like de" in result.stderr


def test_rank_finds_the_languages_of_a_model_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitextfilter.scoring.row_checks.other_scores", lambda *_: [])
    text = "".join("\t".join([*line.split("\t")[:2], "0.9\n"]) for line in EXAMPLES)
    result = cut("bitext-rank", text, "--model", "multi")
    assert "the columns look like en and de" in result.stderr
    assert "(labelled crawls in de,en, model multi " in result.stderr
    words = ("--model", "multi", "--similarity", "mlp")
    assert "for filtering of en,de, by f1" in cut("bitext-rank", text, *words).stderr
    asked = cut("bitext-filter", text, "--model", "multi", code=2)
    assert "multi has a cut for each pair: --languages en,de" in asked.stderr


def test_rounded_scores_and_mended_texts_are_those_of_the_model(model: Path, text: str) -> None:
    cut("bitext-rank", scored(model, "--digits", "1"), "--model", model)
    rows = text.splitlines(True)
    rows[0] = f"a1 {rows[0]}"
    cut("bitext-rank", "".join(rows), "--model", model)


def test_scores_stand_in_other_columns(model: Path, text: str) -> None:
    fields = [row.split("\t") for row in text.splitlines()]
    moved = "".join(f"{score}\t{source}\t{target}\n" for source, target, score in fields)
    words = ("--model", model, "--column", "1")
    cut("bitext-rank", moved, *words, "--scol", "2", "--tcol", "3")
    cut("bitext-rank", moved, *words, code=65)
    rule = ("--header", "--rule", "mlp>=balanced", "--model", model)
    invoke("bitext-filter", *rule, data="en\tde\tmlp\n" + text)


@pytest.mark.parametrize("name", CUTS)
def test_scores_without_texts_cannot_be_checked(name: str, model: Path, text: str) -> None:
    if name == "bitext-rank":
        alone = "".join(row.split("\t")[2] for row in text.splitlines(True))
        said = f"no row has texts, so the scores may be of another model than {model}"
        assert said in cut(name, alone, "--model", model).stderr
    cut(name, "a\tb\tnone\n", "--model", model)
    cut(name, "", "--model", model)


def test_shards_are_checked(models: dict[Path, str], model: Path, tmp_path: Path) -> None:
    words = ("--resume", tmp_path / "parts", "--shard-rows", "30", "--threads", "1")
    cut("bitext-filter", [*models.values()][1], *words, "--model", model, code=65)


def test_scores_of_mined_pairs_are_not_checked(model: Path) -> None:
    checked = ["mlp", "cosine", "euclidean", *MARGINS, "probability", "joint", "none"]
    assert [name for name in checked if can_be_checked(name)] == checked[:7]
    alone = replace(load(model), background=None)
    found = [name for name in checked if can_be_checked(name, alone)]
    assert found == [*checked[:3], "probability"]
    words = ("--min-score", "balanced", "--similarity", "joint", "--model", model)
    done = invoke("bitext-rank", *words, data="a1\tb1\t0.5\na2\tb3\t1.5\n")
    assert "warning" not in done.stderr


@pytest.mark.parametrize("measure", MARGINS)
def test_margins_are_scored_again_by_the_neighbours_of_the_model(
    models: dict[Path, str], model: Path, measure: str
) -> None:
    words = ("--similarity", measure)
    rank = ("bitext-rank", "--min-score", "balanced", *words, "--model", model)
    assert "warning" not in invoke(*rank, data=scored(model, *words)).stderr
    for text in (scored(model, *words, "--neighbours", "input"), scored([*models][1], *words)):
        found = invoke(*rank, data=text)
        said = f"the scores by {measure} are of other neighbours, or of another model than {model}"
        assert found.stderr.count(said) == 1
        assert f" by {measure} of {model})" in found.stderr


@pytest.mark.parametrize("name", CUTS)
def test_probabilities_of_another_model_are_refused(name: str, tmp_path: Path) -> None:
    """That a calibrated model has no thresholds does not matter."""
    own, other = (
        toy_model(tmp_path / each, dim=dim, calibrated=True)
        for each, dim in (("own", 32), ("other", 16))
    )
    found = cut(name, scored(own), "--model", own)
    assert "balanced: probability>=0.5; " in found.stderr
    assert "warning: the scores" not in found.stderr
    refused = cut(name, scored(own), "--model", other, code=65)
    assert f" by probability of {other}; {REMEDY} give a number" in refused.stderr
    raw = cut(name, scored(own, "--similarity", "mlp"), "--model", own, code=65)
    assert f" by probability of {own}; " in raw.stderr


def test_scores_are_compared_to_their_last_digit(model: Path) -> None:
    toy, (source, target) = load(model), ROWS[0]
    own = float(toy.score([source], [target], "cosine")["cosine"][0])
    for text in (f"{own:.4f}", f"{own:.1f}", f"{own!r}", f"{own:e}"):
        assert other_scores(toy, "cosine", [ScoredText(1, source, target, text)]) == []
    wrong = ScoredText(1, source, target, f"{own + 0.01:.4f}")
    ((row, score),) = other_scores(toy, "cosine", [wrong])
    assert row == wrong
    assert score == pytest.approx(own)
    assert other_scores(toy, "cosine", []) == []
