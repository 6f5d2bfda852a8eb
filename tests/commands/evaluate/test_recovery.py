"""bitext-evaluate recovery through its streams, on the toy languages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from toys import sentences, toy_model
from translators import saved

from bitextfilter.commands.evaluate import main
from bitextfilter.commands.evaluate.recovery import _BASELINES, _TRANSLATED, _VECTORS
from bitextfilter.evaluation.recovery import BASELINES, MATRICES, recover
from bitextfilter.models.folders import model_digest
from bitextfilter.scoring.measures import TRANSLATION_MEASURES
from bitextfilter.translation.translator import load_translator


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    rows = list(zip(*sentences(60, seed=3), strict=True))
    text = "".join(f"{source}\t{target}\n" for source, target in [*rows, rows[0]])
    path.write_text(text, encoding="utf-8")
    return path


def recovery(*words: str | Path, text: bytes = b"") -> Result:
    line = ["recovery", "--threads", "1", "--device", "cpu", *(str(word) for word in words)]
    return CliRunner().invoke(main, line, input=text)


def table(result: Result) -> dict[str, list[str]]:
    assert result.exit_code == 0, result.output
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert rows[0] == ["similarity", "forward", "backward", "mean", "signature"]
    return {row[0]: row[1:] for row in rows[1:]}


def test_names_are_those_there_are() -> None:
    assert (_VECTORS, _BASELINES) == (MATRICES, BASELINES)
    assert set(_TRANSLATED) == {
        name for name, measure in TRANSLATION_MEASURES.items() if measure.translators
    }


def test_the_classifier_is_asked_for(model: Path, pairs: Path) -> None:
    usual = recovery("--model", model, pairs)
    assert list(table(usual)) == ["cosine", "csls", "ratio", "distance"]
    assert "mlp" not in usual.stderr
    asked = recovery("--model", model, "--similarity", "mlp", pairs)
    assert "mlp: 60 sources, each with 60 targets" in asked.stderr


@pytest.mark.usefixtures("slow")
def test_how_far_the_classifier_is(
    model: Path, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--model", model, "--similarity", "mlp", pairs)
    monkeypatch.setattr("bitextfilter.commands.evaluate.recovery._PAIRS", 25 * 60)
    told = recovery(*words)
    lines = [line for line in told.stderr.splitlines() if " of 60" in line]
    for line, count in zip(lines, (25, 50, 60), strict=True):
        assert f": {count} of 60 sources, mlp, " in line
    assert table(told) == table(recovery(*words, "-q"))


def test_all_similarities(model: Path, pairs: Path) -> None:
    found = table(recovery("-q", "--model", model, "--similarity", "all", pairs))
    assert list(found) == [*MATRICES, *BASELINES]
    assert float(found["csls"][2]) < 5 < 90 < float(found["random"][2])
    for name, (forward, backward, mean, signature) in found.items():
        assert float(mean) == pytest.approx((float(forward) + float(backward)) / 2, abs=0.01)
        assert signature.startswith(f"recovery_error = {mean} | n=")
        assert f"sim:{name} " in signature
        assert ("k:10" in signature) == (name in ("csls", "ratio", "distance"))
        assert ("model:" in signature) == (name in MATRICES)


def test_json_says_the_same(model: Path, pairs: Path) -> None:
    words = ("-q", "--model", model, "--similarity", "csls,random", "--neighbours", "4", pairs)
    whole = json.loads(recovery("--json", *words).stdout)
    assert whole["file"] == str(pairs)
    found = table(recovery(*words))
    assert [r["similarity"] for r in whole["results"]] == ["csls", "random"] == list(found)
    for record in whole["results"]:
        assert record["signature"] == found[record["similarity"]][3]
        assert (record["pairs"] + record["set_aside"]) == 61
        assert record["set_aside"] >= 1
    assert " k:4 " in whole["results"][0]["signature"]


def test_baselines_need_no_model(pairs: Path) -> None:
    words = ("-q", "--model", "nowhere", "--similarity", "levenshtein,random")
    found = table(recovery(*words, "--seed", "5", pairs))
    assert "seed:5" in found["random"][3]
    assert recovery("--model", "nowhere", "--similarity", "cosine", pairs).exit_code == 66


def test_a_model_without_a_classifier(tmp_path: Path, pairs: Path) -> None:
    model = toy_model(tmp_path / "plain", classifier=False)
    assert "mlp" not in table(recovery("-q", "--model", model, "--similarity", "all", pairs))
    failed = recovery("--model", model, "--similarity", "mlp", pairs)
    assert (failed.exit_code, failed.stdout) == (78, "")
    assert "classifier" in failed.stderr


def test_columns_and_stdin(model: Path, pairs: Path) -> None:
    lines = [line.split("\t") for line in pairs.read_text(encoding="utf-8").splitlines()]
    text = "x\tba\taa\n" + "".join(f"-\t{target}\t{source}\n" for source, target in lines)
    words = ("-q", "--model", model, "--similarity", "csls")
    columns = ("--header", "--scol", "aa", "--tcol", "2", "-")
    assert table(recovery(*words, *columns, text=text.encode())) == table(recovery(*words, pairs))


def test_bad_rows(model: Path, pairs: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_bytes(pairs.read_bytes() + b"one column\n")
    words = ("-q", "--model", model, "--similarity", "csls")
    failed = recovery(*words, bad)
    assert (failed.exit_code, failed.stdout) == (65, "")
    assert "bad.tsv:62: 1 column" in failed.stderr
    assert table(recovery(*words, "--on-error", "reject", bad)) == table(recovery(*words, pairs))


def test_nothing_to_find(model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").touch()
    failed = recovery("--model", model, tmp_path / "empty.tsv")
    assert (failed.exit_code, "no pairs" in failed.stderr) == (65, True)
    assert recovery("--model", model, tmp_path / "missing.tsv").exit_code == 66


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--similarity", "cosine,hamming"], "'hamming' is none of cosine, euclidean"),
        (["--similarity", "cosine,all"], "'all' is none of cosine, "),
        (["--similarity", "csls,cosine,csls"], "'csls' is asked for twice"),
        (["--seed", "-1"], "-1 is not in the range x>=0"),
    ],
)
def test_choices_that_make_no_sense(pairs: Path, words: list[str], message: str) -> None:
    failed = recovery(*words, pairs)
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert message in failed.stderr


def test_translators_both_ways(tmp_path: Path) -> None:
    there, back = saved(tmp_path / "there"), saved(tmp_path / "back", 2, "ba")
    random = np.random.default_rng(1)
    sides = [[f"{letter}{n}" for n in random.permutation(20)[:9]] for letter in "ab"]
    text = "".join(f"{source}\t{target}\n" for source, target in zip(*sides, strict=True))
    words = ("-q", "--similarity", "translation", "--translator", f"{there},{back}", "-")
    found = table(recovery(*words, text=text.encode()))["translation"]
    forward, backward = load_translator(there), load_translator(back)
    scores = [
        [
            (forward.log_probabilities([a], [b])[0] + backward.log_probabilities([b], [a])[0]) / 2
            for b in sides[1]
        ]
        for a in sides[0]
    ]
    expected = recover(*sides, np.array(scores, dtype=np.float32))
    assert found[:2] == [f"{expected.forward:.2f}", f"{expected.backward:.2f}"]
    named = ",".join(f"{folder.name}:{model_digest(folder)}" for folder in (there, back))
    assert f"sim:translation translators:{named} " in found[3] and "model:" not in found[3]


def test_translators_must_be_there(pairs: Path) -> None:
    result = recovery("--similarity", "dual", pairs)
    assert result.exit_code == 78 and "dual needs --translator DIR,DIR" in result.stderr
    result = recovery("--similarity", "random", "--translator", "x", pairs)
    assert result.exit_code == 2 and "--translator is for" in result.stderr
