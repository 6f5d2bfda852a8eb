"""bitext-evaluate recovery through its streams, on the toy languages."""

from __future__ import annotations

from pathlib import Path

import console
import numpy as np
import pytest
from click.testing import Result
from console import invoke
from toys import sentences
from translators import saved

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


def recovery(*words: object, text: bytes = b"") -> Result:
    line = ("recovery", "--threads", 1, "--device", "cpu", *words)
    return invoke("bitext-evaluate", *line, data=text)


def table(result: Result) -> dict[str, list[str]]:
    rows = console.table(result)
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


def test_baselines_need_no_model(pairs: Path) -> None:
    words = ("-q", "--model", "nowhere", "--similarity", "levenshtein,random")
    found = table(recovery(*words, "--seed", "5", pairs))
    assert "seed:5" in found["random"][3]


def test_columns_and_stdin(model: Path, pairs: Path) -> None:
    lines = [line.split("\t") for line in pairs.read_text(encoding="utf-8").splitlines()]
    text = "x\tba\taa\n" + "".join(f"-\t{target}\t{source}\n" for source, target in lines)
    words = ("-q", "--model", model, "--similarity", "csls")
    columns = ("--header", "--scol", "aa", "--tcol", "2", "-")
    assert table(recovery(*words, *columns, text=text.encode())) == table(recovery(*words, pairs))


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
