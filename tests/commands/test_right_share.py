"""``bitext-rank --right-share``: a cut in a corpus with another share of right rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from console import invoke, says_one_line, table

from bitextfilter import InputError, SettingsError, rank
from bitextfilter.scoring.calibration import general_calibration, with_share

PAIRS = Path("examples/pairs.en-de.tsv")


@pytest.fixture(scope="module")
def scored() -> str:
    text = "".join(
        "\t".join(line.split("\t")[:2]) + "\n" for line in PAIRS.read_text().splitlines()
    )
    return invoke("bitext-score", "-q", data=text).stdout


def test_a_given_share_moves_the_cut(scored: str) -> None:
    kept = {}
    for share in ("0.2", "0.43", "0.9"):
        result = invoke("bitext-rank", "--min-score", 0.5, "--right-share", share, data=scored)
        kept[share] = [float(row[-1]) for row in table(result)]
        assert "of the rows are right: a probability of 0.5 among them is" in result.stderr
    assert len(kept["0.2"]) < len(kept["0.43"]) < len(kept["0.9"])
    plain = invoke("bitext-rank", "--min-score", "balanced", data=scored)
    assert [float(row[-1]) for row in table(plain)] == kept["0.43"]
    before = general_calibration().right_share
    assert [with_share(min(each), before, 0.2) >= 0.5 for each in (kept["0.2"], kept["0.9"])] == [
        True,
        False,
    ]  # type: ignore[type-var, comparison-overlap]


def test_an_estimate_says_what_it_found(scored: str, tmp_path: Path) -> None:
    words = ("--min-score", "balanced", "--right-share", "estimate", "--manifest")
    result = invoke("bitext-rank", *words, tmp_path / "run.json", data=scored)
    share = json.loads((tmp_path / "run.json").read_text())["facts"]["right share"]
    assert 0.3 < share < 0.95
    assert f"{share:.1%} of the rows are right, by estimate" in result.stderr
    pairs = [(*row[:2], float(row[2])) for row in csv(scored)]
    found = rank(pairs, min_score=0.5, right_share="estimate")
    assert ["\t".join(row) for row in table(result)] == [
        f"{source}\t{target}\t{score:.4f}" for source, target, score in found
    ]


def csv(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--right-share", "0.3"], "--right-share needs a --min-score"),
        (["--right-share", "0.3", "--min-score", "strict"], "--right-share needs a --min-score"),
        (["--right-share", "1", "--min-score", "0.5"], "neither a share between 0 and 1 nor"),
        (["--right-share", "0.3", "--min-score", "inf"], "with a --min-score from 0 to 1"),
        (["--right-share", "0.3", "--min-score", "1.5"], "with a --min-score from 0 to 1"),
        (
            ["--right-share", "estimate", "--min-score", "0.5", "--similarity", "mlp"],
            "--right-share is for probabilities, and these are mlp",
        ),
    ],
)
def test_what_cannot_be(words: list[str], message: str, scored: str) -> None:
    says_one_line(invoke("bitext-rank", *words, data=scored, code=2), 2, message)


def test_in_python() -> None:
    pairs = [("a", "b", 0.5)]
    with pytest.raises(SettingsError, match="right_share 'all' is none of estimate"):
        rank(pairs, min_score=0.5, right_share="all")
    with pytest.raises(SettingsError, match="right_share needs min_score"):
        rank(pairs, right_share=0.5)
    with pytest.raises(SettingsError, match="the least score is 0 to 1, not 2"):
        rank(pairs, min_score=2, right_share=0.5)
    with pytest.raises(InputError, match="1 scores are no probabilities"):
        rank([*pairs, ("a", "b", 5.0)], min_score=0.5, right_share=0.5)


def test_scores_that_are_no_probabilities(scored: str) -> None:
    words = ("--min-score", "0.5", "--right-share", "0.3")
    result = invoke("bitext-rank", *words, data=scored + "a\tb\t5\n", code=65)
    says_one_line(result, 65, "1 scores are no probabilities")
    few = "".join(scored.splitlines(True)[:20])
    words = ("--min-score", "0.5", "--right-share", "estimate")
    assert "20 rows have a score: too few" in invoke("bitext-rank", *words, data=few).stderr
