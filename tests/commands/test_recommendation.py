"""``bitext-models recommend``: from clean pairs to thresholds in a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from toys import as_older, sentences, toy_model

from bitextfilter.commands.evaluate import main as evaluate
from bitextfilter.commands.models import main
from bitextfilter.models.folders import model_digest
from bitextfilter.scoring.model import load
from bitextfilter.scoring.thresholds import read_thresholds

PAIRS = "".join(f"{a}\t{b}\n" for a, b in zip(*sentences(150, seed=8), strict=True))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a toy model, clean pairs, and what two measures suggest of them."""
    home = tmp_path_factory.mktemp("recommend")
    toy_model(home / "toy")
    (home / "clean.tsv").write_text(PAIRS)
    for measure in ("csls", "cosine"):
        (home / f"{measure}.json").write_text(suggested(home, "--similarity", measure))
    return home


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A toy model of one's own, with the same weights."""
    return toy_model(tmp_path / "toy")


def suggested(home: Path, *words: str) -> str:
    line = ["filtering", "--suggest-threshold", "--json", "-q", "--bootstrap", "20", *words]
    line += ["--device", "cpu", "--model", str(home / "toy"), str(home / "clean.tsv")]
    result = CliRunner().invoke(evaluate, line)
    assert result.exit_code == 0, result.output
    return result.stdout


def recommend(*words: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["recommend", *map(str, words)], input=text)


def test_what_is_suggested_is_kept(shared: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    result = recommend(shared / "toy", shared / "csls.json", shared / "cosine.json", "-o", new)
    assert result.exit_code == 0, result.output
    cosine, csls = read_thresholds(new)
    assert "2 new, 2 thresholds" in result.stderr
    for threshold in (cosine, csls):
        whole = json.loads((shared / f"{threshold.measure}.json").read_text())
        (cut,) = (cut for cut in whole["cuts"] if cut["suggested"])
        assert threshold.threshold == cut["threshold"]
        for name in ("precision", "recall", "f1"):
            assert getattr(threshold, name) == cut[name]["value"]
        facts = (threshold.use, threshold.goal, threshold.noise_share, threshold.rows)
        assert facts == ("filtering", "f1", 0.3, 150)
        assert (threshold.file, threshold.model) == ("clean.tsv", model_digest(new))
        assert threshold.command.startswith("bitext-evaluate filtering --suggest-threshold --json")
        assert threshold.command.endswith("--device cpu --model toy clean.tsv")
    assert load(new).digest == model_digest(shared / "toy")
    shown = CliRunner().invoke(main, ["show", str(new)]).stdout
    assert shown.endswith(result.stdout)
    assert result.stdout.startswith(f"threshold.filtering.cosine.f1\t{cosine.threshold!r}\t")


def test_the_threshold_keeps_the_clean_pairs_it_promises(shared: Path, tmp_path: Path) -> None:
    """The suggested cut on scores that are made anew: most of the unharmed pairs pass it."""
    recommend(shared / "toy", shared / "cosine.json", "-o", tmp_path / "new")
    (threshold,) = read_thresholds(tmp_path / "new")
    model = load(tmp_path / "new")
    scores = model.score(*sentences(150, seed=8), [threshold.measure])[threshold.measure]
    assert abs((scores.round(4) >= threshold.threshold).mean() - threshold.recall) < 0.1


def test_a_model_keeps_others_and_its_texts(toy: Path, shared: Path) -> None:
    (toy / "card.md").write_text("# A toy\n")
    assert recommend(toy, shared / "csls.json", "-o", toy).exit_code == 0
    (old,) = read_thresholds(toy)
    again = recommend(toy, "-", "-o", toy, text=suggested(shared, "--recall", "0.9"))
    assert again.exit_code == 0, again.output
    kept, new = read_thresholds(toy)
    assert (kept, new.measure, new.goal) == (old, "mlp", "recall>=0.9")
    assert "1 new, 2 thresholds" in again.stderr
    replacing = suggested(shared, "--similarity", "csls", "--noise-share", "0.5")
    assert recommend(toy, "-", "-o", toy, text=replacing).exit_code == 0
    first, second = read_thresholds(toy)
    assert (first.measure, first.noise_share, second) == ("csls", 0.5, new)
    assert (toy / "card.md").read_text() == "# A toy\n"
    assert model_digest(toy) == model_digest(shared / "toy")


def test_thresholds_of_other_weights_go(toy: Path, shared: Path) -> None:
    recommend(toy, shared / "csls.json", "-o", toy)
    as_older(toy)
    other = {**json.loads((toy / "thresholds.json").read_text())}
    other["thresholds"][0]["model"] = "0" * 12
    (toy / "thresholds.json").write_text(json.dumps(other))
    result = recommend(toy, shared / "cosine.json", "-o", toy)
    assert "1 thresholds left out" in result.stderr
    assert [threshold.measure for threshold in read_thresholds(toy)] == ["cosine"]


LABELLED = "".join(
    f"a\tb\t{label}\t{score}\n"
    for label, score in [("clean", 0.9), ("clean", 0.6), ("copied", 0.5), ("copied", 0.7)]
)


def test_labelled_rows_do_not_name_their_measure(toy: Path) -> None:
    line = ["filtering", "--suggest-threshold", "--json", "--labels", "3", "--bootstrap", "9"]
    text = CliRunner().invoke(evaluate, line, input=LABELLED).stdout
    failed = recommend(toy, "-", "-o", toy, text=text)
    assert (failed.exit_code, failed.stdout) == (65, "")
    assert "stdin: unusable: it does not name the measure: give --similarity NAME" in failed.stderr
    assert recommend(toy, "-", "-o", toy, "--similarity", "ratio", text=text).exit_code == 0
    (threshold,) = read_thresholds(toy)
    facts = (threshold.measure, threshold.threshold, threshold.noise_share, threshold.rows)
    assert facts == ("ratio", 0.6, 0.5, 4)
    assert (threshold.file, threshold.model) == ("stdin", model_digest(toy))


def test_mined_pairs(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text("a\tb\nc\td\n")
    mined = "a\tb\t0.9\nc\tx\t0.5\nc\td\t0.7\n"
    line = ["mining", "--json", "--bootstrap", "9", str(tmp_path / "gold.tsv")]
    text = CliRunner().invoke(evaluate, line, input=mined).stdout
    result = recommend(toy, "-", "-o", toy, "--similarity", "csls", text=text)
    figures = "precision=1.0000 recall=1.0000 f1=1.0000 rows=2 file=gold.tsv"
    assert result.stdout == f"threshold.mining.csls.f1\t0.7\t{figures}\n"


def changed(shared: Path, **fields: Any) -> str:
    whole = json.loads((shared / "csls.json").read_text())
    whole["recommended"][0].update(fields)
    return json.dumps(whole)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "stdin: unusable: Expecting value"),
        ("[" * 100_000, "stdin: unusable: "),
        ("[]", "stdin: no result with thresholds"),
        ('{"task": "filtering"}', "stdin: no result with thresholds"),
        ('{"recommended": ["text"]}', "stdin: no result with thresholds"),
        ('{"recommended": [{}]}', "stdin: no result with thresholds"),
        ('{"recommended": null}', "stdin: no result with thresholds"),
        ('{"recommended": []}', "stdin: no threshold was suggested"),
        ({"model": "0" * 12}, "stdin: unusable: of scores of the model '000000000000', not of"),
        ({"precision": 2}, "stdin: unusable: precision 2 is no number from 0 to 1"),
        ({"measure": ["\n"]}, "stdin: unusable: measure ['\\n'] is none of cosine"),
    ],
)
def test_bad_results_change_nothing(shared: Path, toy: Path, text: Any, message: str) -> None:
    before = sorted(toy.rglob("*"))
    content = text if isinstance(text, str) else changed(shared, **text)
    failed = recommend(toy, "-", "-o", toy, text=content)
    assert (failed.exit_code, failed.stdout) == (65, "")
    (line,) = failed.stderr.splitlines()
    assert message in line
    assert sorted(toy.rglob("*")) == before


def test_another_measure_than_the_one_it_names(shared: Path, toy: Path) -> None:
    failed = recommend(toy, shared / "csls.json", "-o", toy, "--similarity", "cosine")
    assert failed.exit_code == 65
    assert "of scores of the measure 'csls', not of 'cosine'" in failed.stderr


def test_what_cannot_be(shared: Path, toy: Path, tmp_path: Path) -> None:
    result = shared / "csls.json"
    assert recommend(toy, result, "-o", toy, "--similarity", "bleu").exit_code == 2
    assert recommend(toy, result).exit_code == 2
    assert recommend(tmp_path / "none", result, "-o", tmp_path / "new").exit_code == 66
    assert recommend(toy, tmp_path / "none.json", "-o", tmp_path / "new").exit_code == 66
    (tmp_path / "taken").write_text("mine")
    assert recommend(toy, result, "-o", tmp_path / "taken").exit_code == 74
    assert (tmp_path / "taken").read_text() == "mine"
    assert not (tmp_path / "new").exists()


def test_no_cut_no_recommendation(toy: Path) -> None:
    line = ["filtering", "--suggest-threshold", "--json", "--labels", "3", "--bootstrap", "9"]
    text = CliRunner().invoke(evaluate, [*line, "--precision", "1"], input=LABELLED).stdout
    assert json.loads(text)["recommended"][0]["threshold"] == 0.9
    worse = LABELLED + "a\tb\tcopied\t1\n"
    text = CliRunner().invoke(evaluate, [*line, "--precision", "1"], input=worse).stdout
    assert json.loads(text)["recommended"] == []
    failed = recommend(toy, "-", "-o", toy, "--similarity", "mlp", text=text)
    assert failed.exit_code == 65
    assert "no threshold was suggested" in failed.stderr
