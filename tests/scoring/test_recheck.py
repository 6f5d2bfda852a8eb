"""Rows that the first model doubts, scored by a second one, too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from console import invoke, says_one_line, table
from toys import sentences, toy_many, toy_model

from bitextfilter.scoring.model import load
from bitextfilter.scoring.score_columns import doubted, placed

SOURCES, TARGETS = sentences(60, 3)
OTHERS = TARGETS[30:] + TARGETS[:30]
PAIRS = [*zip(SOURCES, TARGETS, strict=True), *zip(SOURCES, OTHERS, strict=True)]
DATA = "".join(f"{source}\t{target}\n" for source, target in PAIRS).encode()


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "fast", seed=1)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "slow"
    return toy_model(folder, seed=2, classifier=False, background=False)


def rechecked(fast: Path, slow: Path, between: str, *words: object, data: bytes = DATA) -> Result:
    options = ("--model", fast, "--recheck", slow, "--between", between, *words)
    return invoke("bitext-score", *options, data=data)


def scores_of(result: Result) -> list[str]:
    return [row[-1] for row in table(result)]


def interval(fast: Path) -> tuple[float, float]:
    """The scores of two pairs, so that many are between."""
    found = np.sort(load(fast).score(*zip(*PAIRS, strict=True))["mlp"])  # type: ignore[arg-type]
    low, high = float(found[20]), float(found[-20])
    return low, high


def naive(fast: Path, slow: Path, low: float, high: float) -> list[str]:
    """Each pair by itself: by both models in turn."""
    first, second, out = load(fast), load(slow), []
    for source, target in PAIRS:
        score = float(first.score([source], [target], "mlp")["mlp"][0])
        if low <= score <= high:
            other = float(second.score([source], [target], "cosine")["cosine"][0])
            share = 0.5 * (score - low) / (high - low) + 0.5 * min(max(other, 0.0), 1.0)
            score = low * (1 - share) + high * share
        out.append(f"{score:.6f}")
    return out


def test_it_is_two_steps(fast: Path, slow: Path, tmp_path: Path) -> None:
    low, high = interval(fast)
    between = f"{low!r},{high!r}"
    record = tmp_path / "record.json"
    result = rechecked(fast, slow, between, "--digits", 6, "--manifest", record)
    found, wanted = scores_of(result), naive(fast, slow, low, high)
    assert np.abs(np.array(found, float) - np.array(wanted, float)).max() < 2e-6
    plain = table(invoke("bitext-score", "--model", fast, "--digits", 6, data=DATA))
    outside = [row[2] for row in plain if not low <= float(row[2]) <= high]
    assert 0 < len(outside) < len(PAIRS) - 10
    same = [now for now, row in zip(found, plain, strict=True) if row[2] in outside]
    assert same == outside
    facts = json.loads(record.read_text())
    count = facts["counts"]["rechecked"]
    assert count == len(PAIRS) - len(outside)
    assert facts["facts"]["recheck"] == f"{slow}:aa,ba {load(slow).digest} cosine"
    assert f"{count} rechecked" in result.stderr
    assert f"{count / len(PAIRS):.1%} of the good rows were rechecked by {slow}" in result.stderr
    assert rechecked(fast, slow, between, "-q").stderr == ""


def test_the_order_of_both_models_counts() -> None:
    """It rises with each score, stays in the interval, and its ends are doubted."""
    generator = np.random.default_rng(5)
    one, other = generator.random((2, 500), np.float32)
    between = (0.25, 0.75)
    assert doubted(np.array([0.2, 0.25, 0.75, 0.8], np.float32), between).tolist() == [
        *(False, True, True, False)
    ]
    fast, slow = 0.25 + one / 2, other * 2.4 - 1.2
    found = placed(fast, slow, between)
    assert found.dtype == np.float32 and found.min() >= 0.25 and found.max() <= 0.75
    for more in (placed(fast, slow + np.float32(0.1), between), placed(fast + 0.01, slow, between)):
        assert (more >= found).all() and (more > found).any()


@pytest.mark.parametrize(
    "words",
    [
        ("--batch-size", 1),
        ("--batch-size", 7, "--threads", 3),
        ("--cache", "scores"),
        ("--resume", "parts", "--shard-rows", 25),
        ("--similarity", "mlp,csls"),
    ],
    ids=str,
)
def test_a_score_is_the_pair_s_alone(
    fast: Path,
    slow: Path,
    words: tuple[object, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    low, high = interval(fast)
    between = f"{low!r},{high!r}"
    whole = scores_of(rechecked(fast, slow, between))
    for _ in range(2):
        again = rechecked(fast, slow, between, *words)
        assert [row[2] for row in table(again)] == whole
        doubts = next(word for word in again.stderr.split(", ") if word.endswith("rechecked"))
        assert doubts != "0 rechecked"
    backward = b"".join(DATA.splitlines(keepends=True)[::-1])
    assert scores_of(rechecked(fast, slow, between, data=backward))[::-1] == whole


def test_a_bad_row_is_no_doubt(fast: Path, slow: Path) -> None:
    data = b"only one\n" + DATA
    result = rechecked(fast, slow, "0,1", "--on-error", "reject", data=data)
    assert table(result)[0] == ["only one", ""]
    assert f"{len(PAIRS)} rechecked" in result.stderr and "100.0% of the good" in result.stderr
    assert "0.0% of the good" in rechecked(fast, slow, "0,1", data=b"").stderr


def test_what_does_not_fit_is_said(fast: Path, slow: Path, tmp_path: Path) -> None:
    def told(code: int, message: str, *words: object) -> None:
        words = ("--model", fast, *words)
        says_one_line(invoke("bitext-score", *words, data=DATA, code=code), code, message)

    both = ("--recheck", slow, "--between", "0,1")
    told(2, "--recheck and --between go together", "--recheck", slow)
    told(2, "--recheck and --between go together", "--between", "0,1")
    for wrong in ("1,0", "1,1", "0,inf"):
        told(2, "the lower score is first", "--recheck", slow, "--between", wrong)
    for wrong in ("1", "1,2,3", "a,b"):
        told(2, "--between", "--recheck", slow, "--between", wrong)
    told(2, "for the measures of --model", *both, "--similarity", "dual", "--translator", "x,y")
    told(66, "neither a folder nor a shipped model", "--recheck", "nowhere", "--between", "0,1")
    many = toy_many(tmp_path / "many")
    told(78, "--recheck", "--recheck", f"{many}:xx,yy", "--between", "0,1")
    told(78, "--recheck multi:aa,ba: ", "--recheck", "multi", "--between", "0,1")
    invoke("bitext-score", "--model", fast, "--recheck", f"{many}", "--between", "0,1", data=DATA)
