"""bitext-evaluate filtering and mining through their streams."""

from __future__ import annotations

import json
import re
from pathlib import Path

import console
import numpy as np
import pytest
from click.testing import Result
from console import invoke
from hypothesis import example, given, settings
from hypothesis import strategies as st
from toys import sentences, toy_model

from bitextfilter import __version__
from bitextfilter.damage.noise import CLEAN, NoiseSettings, even_rates, noisy_pairs
from bitextfilter.evaluation.filtering import Labelled, measure_filtering
from bitextfilter.evaluation.mining import compare_pairs, measure_mining
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.evaluation.thresholds import CUT_FIGURES, CutSettings, estimate_cuts
from bitextfilter.scoring.model import load

HEAD = ["measure", "kind", "value", "low", "high", "clean", "noise", "signature"]
KINDS = ("copied", "shuffled")
FAST = ("--bootstrap", "20")


def filtering(*words: object, text: bytes | str = b"") -> Result:
    line = ("filtering", "--threads", 1, "--device", "cpu", *words)
    return invoke("bitext-evaluate", *line, data=text)


def rows_of(n: int = 120) -> list[tuple[str, str, str, str]]:
    """Source, target, label, score."""
    generator = np.random.default_rng(6)
    labels = generator.choice(["clean", "shuffled", "copied"], n, p=[0.5, 0.3, 0.2])
    scores = generator.normal(2.0 * (labels == "clean"), 1).round(2)
    sources, targets = sentences(n, seed=1)
    return list(zip(sources, targets, labels, (f"{s:.2f}" for s in scores), strict=True))


def written(rows: list[tuple[str, ...]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def labelled(rows: list[tuple[str, str, str, str]]) -> Labelled:
    labels = np.array([("clean", *KINDS).index(label) for _, _, label, _ in rows])
    return Labelled(np.array([float(score) for *_, score in rows]), labels, KINDS)


def table(result: Result) -> dict[tuple[str, str], list[str]]:
    head, *lines = console.table(result)
    assert head == HEAD
    return {(line[0], line[1]): line[2:] for line in lines}


def cuts(result: Result) -> list[dict[str, str]]:
    head, *lines = console.table(result)
    ends = [f"{name}{end}" for name in CUT_FIGURES for end in ("", "_low", "_high")]
    assert head == ["threshold", *ends, "suggestion"]
    return [dict(zip(head, line, strict=True)) for line in lines]


def test_the_table_has_the_figures_of_the_library() -> None:
    rows = rows_of()
    words = ("--labels", "3", "--threshold", "1", "--bootstrap", "30", "--seed", "4")
    found = table(filtering("-q", *words, text=written(rows)))
    expected = measure_filtering(labelled(rows), 1.0, Bootstrap(30, 4))
    assert list(found) == [(result.measure, result.kind) for result in expected]
    for result in expected:
        *figures, clean, noise, signature = found[result.measure, result.kind]
        assert figures == [f"{number:.4f}" for number in result.estimate]
        assert (clean, noise) == (str(result.clean), str(result.noise))
        assert signature.startswith(
            f"{result.measure} = {figures[0]} | n={int(clean) + int(noise)}"
        )
        assert f" kind:{result.kind} " in signature
        assert " boot:30 seed:4 v:" in signature
        ranking = result.measure in ("auc", "average_precision")
        assert ("threshold:1.0" in signature) != ranking


def test_without_a_threshold_there_is_only_the_ranking() -> None:
    found = table(filtering("-q", *FAST, "--labels", "3", text=written(rows_of())))
    assert {measure for measure, _ in found} == {"auc", "average_precision"}


def test_columns_by_name_and_other_labels() -> None:
    rows = rows_of()
    other = [(score, "ok" if label == "clean" else label) for _, _, label, score in rows]
    words = ("--header", "--labels", "what", "--column", "mlp", "--clean-label", "ok")
    found = filtering("-q", *FAST, *words, text="mlp\twhat\n" + written(other))
    assert table(found) == table(filtering("-q", *FAST, "--labels", "3", text=written(rows)))


def test_rows_without_a_score_are_below_all() -> None:
    rows = rows_of()
    gone = [(*row[:3], "" if place % 5 == 0 else row[3]) for place, row in enumerate(rows)]
    lowest = [(*row[:3], row[3] or "-1000") for row in gone]
    left = [row for row in gone if row[3]]
    words = (*FAST, "--labels", "3", "--threshold", "-2000")
    result = filtering(*words, text=written(gone))
    assert "24 without a score" in result.stderr
    found, expected = table(result), table(filtering(*words, text=written(lowest)))
    assert found["auc", "all"] == expected["auc", "all"]
    # They lie below every threshold.
    assert (found["recall", "all"][0], expected["recall", "all"][0]) != ("1.0000", "0.0000")
    assert float(found["recall", "all"][0]) < 1 == float(expected["recall", "all"][0])
    skipped = table(filtering(*words, "--missing", "skip", text=written(gone)))
    assert skipped == table(filtering(*words, text=written(left)))


def test_skipped_rows_are_kept_in_the_rejects(tmp_path: Path) -> None:
    rows = [("a", "b", "clean", "1"), ("c", "d", "copied", "-"), ("e", "f", "copied", "0.5")]
    out = tmp_path / "skipped.tsv"
    words = (*FAST, "--labels", "3", "--missing", "skip", "--rejects", out)
    result = filtering(*words, text=written(rows))
    assert table(result)["auc", "all"][3:5] == ["1", "1"]
    assert out.read_text(encoding="utf-8") == "2\tno score\tc\td\tcopied\t-\n"
    assert "3 rows, 0 rejected, 1 without a score, 1 dropped" in result.stderr


def test_what_a_verdict_drops_is_below_all() -> None:
    rows = [
        ("clean", "0.2", "keep"),
        ("clean", "0.9", "length=200>100"),
        ("copied", "0.8", "identical"),
        ("copied", "0.1", "keep"),
    ]
    words = ("-q", *FAST, "--labels", "1", "--column", "2")
    plain = table(filtering(*words, text=written(rows)))
    judged = table(filtering(*words, "--verdict", "-1", text=written(rows)))
    assert plain["auc", "all"][0] == "0.7500"
    assert judged["auc", "all"][0] == "0.6250"  # (1 + 1 + 0 + 0.5) / 4


@settings(max_examples=20)
@given(st.binary(max_size=200) | st.text("a\t\n0.5\r-", max_size=60).map(str.encode))
@example(b"\t\t\x0b!\t0")
def test_no_bytes_are_a_bug(data: bytes) -> None:
    """Every row is measured, rejected or skipped, whatever stands in it."""
    text = b"a\tb\tclean\t1\na\tb\tcopied\t0\n" + data
    words = (*FAST, "--labels", "3", "--column", "4", "--on-error", "reject", "--missing", "skip")
    result = filtering(*words, text=text)
    rows, *gone = (
        int(number) for number in re.findall("([0-9]+) (?:rows,|rejected|dropped)", result.stderr)
    )
    measured = table(result)["auc", "all"][3:5]
    assert rows == text.removesuffix(b"\n").count(b"\n") + 1 == sum(map(int, measured)) + sum(gone)


def suggesting(*words: object, text: bytes | str = b"") -> Result:
    return filtering("--suggest-threshold", *FAST, *words, text=text)


@pytest.mark.parametrize("side", ["source", "target", "both"])
def test_cuts_of_labelled_rows(side: str) -> None:
    rows = [(f"{source} more words", *rest) for source, *rest in rows_of()]
    counted = {"source": (0,), "target": (1,), "both": (0, 1)}[side]
    words = np.array([sum(len(row[i].split()) for i in counted) for row in rows])
    settings = CutSettings(None, recall=0.8, bootstrap=Bootstrap(20))
    expected = estimate_cuts(labelled(rows), words, settings)  # type: ignore[arg-type]
    line = ("-q", "--labels", "3", "--recall", "0.8", "--count-side", side)
    found = cuts(suggesting(*line, text=written(rows)))  # type: ignore[arg-type]
    assert [float(cut["threshold"]) for cut in found] == [cut.threshold for cut in expected]
    for row, cut in zip(found, expected, strict=True):
        for name, estimate in cut.figures.items():
            assert row[name] == f"{estimate.value:.4f}"
            assert row[f"{name}_low"] == f"{estimate.low:.4f}"
            assert row[f"{name}_high"] == f"{estimate.high:.4f}"
        assert bool(row["suggestion"]) == cut.suggested
    (suggestion,) = (row for row in found if row["suggestion"])
    assert suggestion["suggestion"].startswith(f"threshold = {suggestion['threshold']} | n=120 ")
    assert " by:recall>=0.8 boot:20 seed:1 v:" in suggestion["suggestion"]


def test_the_suggestion_is_told_and_in_the_json() -> None:
    text = written(rows_of())
    words = ("--labels", "3", "--noise-share", "0.4", "--precision", "0.9")
    plain = suggesting(*words, text=text)
    (suggested,) = (cut for cut in cuts(plain) if cut["suggestion"])
    assert f"suggestion: keep rows that score {suggested['threshold']} or more" in plain.stderr
    assert "with 40% noise" in plain.stderr
    whole = json.loads(suggesting("--json", *words, text=text).stdout)
    assert whole["suggestion"] == suggested["suggestion"]
    (record,) = (cut for cut in whole["cuts"] if cut["suggested"])
    assert f"{record['precision']['low']:.4f}" == suggested["precision_low"]
    assert whole["goal"] == "precision>=0.9"


def test_a_precision_out_of_reach() -> None:
    rows = [("a", "b", "clean", "0.5"), ("c", "d", "copied", "0.7"), ("e", "f", "clean", "0.6")]
    result = suggesting("--labels", "3", "--precision", "0.99", text=written(rows))
    assert [cut["suggestion"] for cut in cuts(result)] == ["", ""]
    assert "warning: no cut has precision>=0.99; of those shown, 0.5" in result.stderr


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "toy", classifier=False)


PAIRS = list(zip(*sentences(150, seed=8), strict=True))


def test_noise_is_made_of_clean_pairs(model: Path) -> None:
    """The same by hand: noise, scores as bitext-score prints them, cuts at a share of 0.3."""
    result = suggesting("--model", model, "--seed", "3", text=written(PAIRS))
    rates = even_rates(0.5, NoiseSettings(("aa", "ba")))
    noisy = list(noisy_pairs(PAIRS, rates, 3, NoiseSettings(("aa", "ba"))))
    kinds = sorted({label for *_, label in noisy} - {CLEAN})
    assert len(kinds) > 5
    loaded = load(model)
    (scores,) = loaded.score([row[0] for row in noisy], [row[1] for row in noisy]).values()
    printed = np.array([float(f"{score:.4f}") for score in scores.tolist()])
    labels = np.array([[CLEAN, *kinds].index(label) for *_, label in noisy])
    words = np.array([len(target.split()) for _, target, _ in noisy])
    settings = CutSettings(0.3, bootstrap=Bootstrap(20, 3))
    expected = estimate_cuts(Labelled(printed, labels, kinds), words, settings)
    found = cuts(result)
    for row, cut in zip(found, expected, strict=True):
        assert float(row["threshold"]) == cut.threshold
        assert row["precision"] == f"{cut.figures['precision'].value:.4f}"
        assert row["words_high"] == f"{cut.figures['words'].high:.4f}"
    (line,) = (row["suggestion"] for row in found if row["suggestion"])
    assert f" seed:3 sim:cosine model:{loaded.digest} v:" in line
    assert "without the noise wrong-language" in result.stderr
    clean = int((labels == 0).sum())
    assert f"150 rows, 0 rejected, {clean} clean, {150 - clean} made noise, " in result.stderr


def test_another_measure_can_be_cut(model: Path) -> None:
    """Clean rows are cut at the scores that the measure gives them."""
    words = ("-q", "--model", model, "--similarity", "csls", "--recall", "1")
    result = suggesting(*words, text=written(PAIRS))
    (lowest,) = (row for row in cuts(result) if row["suggestion"])
    assert f" sim:csls model:{load(model).digest} v:" in lowest["suggestion"]
    scores = load(model).score(*map(list, zip(*PAIRS, strict=True)), ["csls"])["csls"]
    assert float(lowest["threshold"]) in [float(f"{score:.4f}") for score in scores.tolist()]


def test_the_json_has_what_a_model_keeps(model: Path) -> None:
    words = ("-q", "--model", model, "--json", "--precision", "0.7")
    whole = json.loads(suggesting(*words, text=written(PAIRS)).stdout)
    (cut,) = (cut for cut in whole["cuts"] if cut["suggested"])
    assert whole["recommended"] == [
        {
            "use": "filtering",
            "measure": "cosine",
            "threshold": cut["threshold"],
            "goal": "precision>=0.7",
            "noise_share": 0.3,
            "rows": 150,
            "model": load(model).digest,
            **{name: cut[name]["value"] for name in ("precision", "recall", "f1")},
            "file": "stdin",
            "command": "bitext-evaluate filtering --threads 1 --device cpu --suggest-threshold"
            " --bootstrap 20 -q --model toy --json --precision 0.7",
            "version": __version__,
        }
    ]
    labelled = json.loads(suggesting("--json", "--labels", "3", text=written(rows_of())).stdout)
    (record,) = labelled["recommended"]
    assert (record["measure"], record["model"], record["rows"]) == (None, None, 120)


def test_windows_do_not_count_for_noise(model: Path) -> None:
    words = ("-q", "--model", model)
    one, other = (
        suggesting(*words, *size, text=written(PAIRS)) for size in ((), ("--batch-size", "9"))
    )
    assert cuts(one) == cuts(other)


def test_odd_columns_are_told(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(sources: list[str], targets: list[str], _: object) -> str | None:
        assert (sources, targets) == tuple(map(list, zip(*PAIRS, strict=True)))
        return "these columns look odd"

    few = suggesting("--model", model, text=written(PAIRS)).stderr
    assert "look odd" not in few
    assert "pairs of noise: estimates from fewer than 100 are rough" in few
    monkeypatch.setattr("bitextfilter.text.language.check_columns", check)
    found = suggesting("--model", model, text=written(PAIRS))
    assert "warning: these columns look odd (--scol and --tcol choose columns)" in found.stderr
    assert cuts(found)


ENDS = ["value", "low", "high"]
MINED_HEAD = ["measure", "cut", "threshold", *ENDS, "kept", "right", "gold", "signature"]
GOLD = [(f"source {i}", f"Ziel {i}") for i in range(20)]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.tsv"
    path.write_text(written([*GOLD, GOLD[3]]), encoding="utf-8")
    return path


def mining(*words: object, text: bytes | str = b"") -> Result:
    return invoke("bitext-evaluate", "mining", *FAST, *words, data=text)


def cut_table(result: Result) -> dict[tuple[str, str], list[str]]:
    head, *lines = console.table(result)
    assert head == MINED_HEAD
    return {(line[1], line[0]): line[2:] for line in lines}


def mined_rows() -> list[tuple[str, str, str]]:
    """Fifteen of the gold pairs and 25 others, with scores of one decimal."""
    generator = np.random.default_rng(2)
    pairs = [*GOLD[:15], *((f"source {i}", f"Ziel {i + 1}") for i in range(25))]
    scores = generator.normal([2.0 * (pair in GOLD) for pair in pairs], 1)
    return [(*pair, f"{score:.1f}") for pair, score in zip(pairs, scores, strict=True)]


@pytest.mark.parametrize("threshold", [None, 1.0])
def test_mined_pairs_have_the_figures_of_the_library(gold: Path, threshold: float | None) -> None:
    rows = mined_rows()
    scores = {(source, target): float(score) for source, target, score in rows}
    words = ("--seed", "4") if threshold is None else ("--seed", "4", "--threshold", "1")
    found = cut_table(mining("-q", *words, gold, text=written(rows)))
    expected = measure_mining(compare_pairs(scores, GOLD), threshold, Bootstrap(20, 4))
    assert list(found) == [(result.cut, result.measure) for result in expected]
    for result in expected:
        at, *figures, kept, right, true, signature = found[result.cut, result.measure]
        assert at == ("-" if result.threshold is None else repr(result.threshold))
        assert figures == [f"{number:.4f}" for number in result.estimate]
        assert (kept, right, true) == (str(result.kept), str(result.right), "20")
        assert signature.startswith(f"{result.measure} = {figures[0]} | n=40 gold:20 cut:")
        assert " boot:20 seed:4 v:" in signature


def test_json_has_what_a_model_keeps(gold: Path) -> None:
    result = mining("-q", "--json", gold, text=written(mined_rows()))
    whole = json.loads(result.stdout)
    best = {r["measure"]: r for r in whole["results"] if r["cut"] == "best"}
    (record,) = whole["recommended"]
    assert record["threshold"] == best["f1"]["threshold"]
    for name in ("precision", "recall", "f1"):
        assert record[name] == best[name]["value"]
    facts = (record["use"], record["goal"], record["rows"], record["file"])
    assert facts == ("mining", "f1", 20, "gold.tsv")
    assert (record["measure"], record["model"], record["noise_share"]) == (None, None, None)
    assert record["command"] == "bitext-evaluate mining --bootstrap 20 -q --json gold.tsv"


def test_json_holds_no_infinity(gold: Path) -> None:
    result = mining("-q", "--json", "--threshold", "inf", gold, text=written(mined_rows()))
    whole = json.loads(result.stdout, parse_constant=pytest.fail)
    given = [record for record in whole["results"] if record["cut"] == "given"]
    assert [(record["threshold"], record["value"]) for record in given] == [(None, 0.0)] * 3


def test_neither_order_nor_windows_nor_worse_copies_count(gold: Path) -> None:
    rows = mined_rows()
    worse = [(source, target, "-9") for source, target, _ in rows]
    expected = cut_table(mining(gold, text=written(rows)))
    assert cut_table(mining("--batch-size", "7", gold, text=written(rows[::-1]))) == expected
    assert cut_table(mining(gold, text=written(worse + rows))) == expected
    assert cut_table(mining(gold, text=written(rows + worse))) == expected


def test_columns_of_either_file(gold: Path, tmp_path: Path) -> None:
    rows = mined_rows()
    other = tmp_path / "other.tsv"
    other.write_text("Deutsch\tEnglish\n" + written([pair[::-1] for pair in GOLD]))
    named = "csls\ten\tde\n" + written([(score, source, target) for source, target, score in rows])
    words = ("--header", "--gold-scol", "English", "--gold-tcol", "Deutsch")
    found = mining(
        "-q", *words, "--column", "csls", "--scol", "en", "--tcol", "3", other, text=named
    )
    assert cut_table(found) == cut_table(mining("-q", gold, text=written(rows)))


def test_texts_are_compared_as_they_stand_without_carriage_returns(gold: Path) -> None:
    rows = [(*GOLD[0], "1"), (GOLD[1][0] + " ", GOLD[1][1], "1"), (GOLD[2][0].upper(), "x", "1")]
    text = b"\xef\xbb\xbf" + written(rows).replace("\n", "\r\n").encode()
    assert cut_table(mining(gold, text=text))["all", "recall"][4:6] == ["3", "1"]
    swapped = written([(score, *pair) for *pair, score in rows]).replace("\n", "\r\n")
    words = ("--scol", "2", "--tcol", "3", "--column", "1")
    assert cut_table(mining(*words, gold, text=swapped))["all", "recall"][4:6] == ["3", "1"]


def test_pairs_without_a_score_are_below_all(gold: Path, tmp_path: Path) -> None:
    rows: list[tuple[str, ...]] = [(*GOLD[0], "0.5"), (*GOLD[1], ""), (*GOLD[2], "nan")]
    result = mining(gold, text=written(rows))
    assert "2 without a score" in result.stderr
    found = cut_table(result)
    assert found["all", "recall"][4:6] == ["3", "3"]
    assert found["best", "f1"][0] == "0.5"
    assert found["best", "f1"][4:6] == ["1", "1"]
    assert cut_table(mining("--threshold", "-9", gold, text=written(rows)))["given", "f1"][4] == "1"
    # A copy with a score gives the pair one.
    again = cut_table(mining(gold, text=written([*rows, (*GOLD[1], "0.1")])))
    assert again["best", "f1"][:1] + again["best", "f1"][4:6] == ["0.1", "2", "2"]
    dropped = tmp_path / "dropped.tsv"
    words = ("--missing", "skip", "--rejects", dropped)
    skipped = cut_table(mining(*words, gold, text=written(rows)))
    assert skipped == cut_table(mining(gold, text=written(rows[:1])))
    assert [line.split("\t")[:2] for line in dropped.read_text().splitlines()] == [
        ["2", "no score"],
        ["3", "no score"],
    ]


def test_bad_rows_of_either_file_can_be_set_aside(tmp_path: Path) -> None:
    path, rejects = tmp_path / "gold.tsv", tmp_path / "rejects.tsv"
    path.write_text("a\tb\nlonely\n")
    words = ("--on-error", "reject", "--rejects", rejects)
    result = mining(*words, path, text="a\tb\t1\n\tb\t1\n")
    assert cut_table(result)["best", "f1"][1] == "1.0000"
    assert "2 rejected" in result.stderr
    assert [line.split("\t")[0] for line in rejects.read_text().splitlines()] == ["2", "2"]


@pytest.mark.parametrize(
    ("rows", "doubt"),
    [
        ([(target, source, "1") for source, target in GOLD], "the columns look swapped"),
        ([("x", "y", "1")], "are texts changed?"),
    ],
)
def test_if_nothing_is_right_there_is_a_warning(
    gold: Path, rows: list[tuple[str, ...]], doubt: str
) -> None:
    result = mining(gold, text=written(rows))
    assert f"no mined pair is in {gold}: {doubt}" in result.stderr
    assert cut_table(result)["all", "f1"][1] == "0.0000"
    assert "warning" not in mining(gold, text=written(mined_rows())).stderr
