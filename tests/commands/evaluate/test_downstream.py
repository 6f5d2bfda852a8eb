"""bitext-evaluate downstream: its table, going on after a kill, and what is refused."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toys
from click.testing import Result
from console import invoke, says_one_line

from bitextfilter.evaluation import result
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.models.folders import model_digest
from bitextfilter.training import loop
from bitextfilter.translation.translator import SearchSettings, load_translator
from bitextfilter.tuning.downstream import SystemResult, result_lines

pytest.importorskip("sacrebleu")

Whole = tuple[Path, str]

TINY: dict[str, Any] = {
    "shape": {"width": 8, "heads": 2, "layers": 1, "feed_forward": 8},
    "segmentation": {"kind": "none"},
    "training": {"batch_size": 16, "passes": 2, "validate_every": 3, "warmup": 2},
}
LEARNING: dict[str, Any] = {
    "shape": {"width": 32, "heads": 2, "layers": 1, "feed_forward": 64},
    "segmentation": {"kind": "none"},
    "training": {
        "batch_size": 32, "updates": 200, "validate_every": 100, "learning_rate": 0.01,
        "schedule": "linear", "warmup": 20, "dropout": 0.0, "label_smoothing": 0.0
    }
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of which a third is clean, scored well, badly, and well again in another unit."""
    home = tmp_path_factory.mktemp("downstream")
    sources, targets = toys.sentences(900, 1)
    random, lines = np.random.default_rng(1), ["a\tb\tlabel\tgood\tbad\talike\n"]
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        clean = number % 3 == 0
        target, label = (target, "clean") if clean else (targets[number - 1], "shuffled")
        good, bad = clean + random.random() / 2, random.random()
        lines.append(f"{source}\t{target}\t{label}\t{good}\t{bad}\t{2 * good - 9}\n")
    (home / "scored.tsv").write_text("".join(lines))
    for name, count, seed in (("dev", 8, 2), ("test", 10, 3), ("more", 5, 4)):
        rows = zip(*toys.sentences(count, seed), strict=True)
        (home / f"{name}.tsv").write_text("".join(f"{b}\t{a}\n" for a, b in rows))
    (home / "tiny.json").write_text(json.dumps(TINY))
    (home / "learning.json").write_text(json.dumps(LEARNING))
    return home


def downstream(files: Path, work: Path, *more: object, code: int = 0, settings: str = "tiny",
               words: int = 400, header: bool = True) -> Result:  # fmt: skip
    line = ["downstream", files / "scored.tsv", "--words", words, "--languages", "aa,ba",
            "--development", files / "dev.tsv", "--test", files / "test.tsv", "--dev-scol", 2,
            "--dev-tcol", 1, "--settings", files / f"{settings}.json", "--work", work,
            "--threads", 1, "--beam", 2, *(["--header"] if header else []), *more]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result, "Bootstrap", partial(Bootstrap, 50))
        return invoke("bitext-evaluate", *line, code=code)


def lines(table: str) -> list[dict[str, str]]:
    header, *rows = (line.split("\t") for line in table.splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


SYSTEMS = ("--scores", "bad,good,alike", "--random", "--oracle", "label")


@pytest.fixture(scope="module")
def whole(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The folder and the table of an uninterrupted run."""
    work = tmp_path_factory.mktemp("whole") / "work"
    more = ("--seeds", "1,2", "--test", files / "more.tsv")
    return work, downstream(files, work, *SYSTEMS, *more).stdout


def test_a_line_for_each_system_test_and_seed(whole: Whole) -> None:
    rows = lines(whole[1])
    order = [(row["system"], row["test"], row["seed"]) for row in rows]
    assert order == [
        (system, test, seed)
        for system in ("bad", "good", "alike", "random", "oracle")
        for test in ("test.tsv", "more.tsv")
        for seed in ("1", "2", "mean", "sd")
    ]
    for row in rows:
        if row["seed"] in "12":
            assert 392 < int(row["words"]) <= 400
            assert row["subwords"] == row["words"]
            assert (row["difference"] == "") == (row["system"] == "bad")
        assert row["bleu_signature"].startswith("nrefs:1|case:mixed")
        assert "nc:6" in row["chrf_signature"]


def test_means_and_deviations(whole: Whole, files: Path) -> None:
    work, _ = whole
    more = ("--seeds", "1,2", "--test", files / "more.tsv", "--json")
    found = json.loads(downstream(files, work, *SYSTEMS, *more).stdout)
    assert (found["task"], len(found["results"])) == ("downstream", 40)
    for start in range(0, 40, 4):
        first, second, mean, sd = found["results"][start : start + 4]
        for name in ("rows", "words", "bleu", "chrf"):
            values = first[name], second[name]
            assert mean[name] == pytest.approx(sum(values) / 2)
            assert sd[name] == pytest.approx(statistics.stdev(values))
        assert first["difference"] is None or set(first["difference"]) == {"value", "low", "high"}
        assert mean["difference"] is None


def test_the_same_rows_make_the_same_model(whole: Whole) -> None:
    work, table = whole
    assert model_digest(work / "good.1" / "model") == model_digest(work / "alike.1" / "model")
    assert model_digest(work / "good.1" / "model") != model_digest(work / "good.2" / "model")
    assert model_digest(work / "good.1" / "model") != model_digest(work / "bad.1" / "model")
    figures = {(row["system"], row["test"], row["seed"]): row["bleu"] for row in lines(table)}
    assert figures["good", "test.tsv", "2"] == figures["alike", "test.tsv", "2"]


def test_all_systems_have_the_same_words_and_as_many_updates(whole: Whole) -> None:
    folders = sorted(whole[0].glob("*/model"))
    assert len(folders) == 10
    texts = {(folder / "vocabulary.tsv").read_bytes() for folder in folders}
    assert len(texts) == 1 and texts.pop().count(b"\n") == 1 + 2 * toys.WORDS
    histories = [json.loads((f / "training.json").read_text())["validation"] for f in folders]
    settings = [json.loads((f / "training.json").read_text())["training"] for f in folders]
    assert {row["updates"] for row in settings} == {round(2 * 900 * 400 / words_of_all() / 16)}
    assert all(history[-1]["update"] <= settings[0]["updates"] for history in histories)
    assert {row["patience"] for row in settings} == {0}


def words_of_all() -> int:
    """Target words of the corpus: each target stands there once or twice."""
    _, targets = toys.sentences(900, 1)
    shown = [targets[number - (number % 3 > 0)] for number in range(900)]
    return sum(len(target.split()) for target in shown)


def test_translations_are_those_of_the_kept_model(whole: Whole, files: Path) -> None:
    folder = whole[0] / "@oracle.label.clean.1"
    outcome = json.loads((folder / "outcome.json").read_text())
    found = {path.name for path in folder.iterdir()}
    assert found == {"choice.json", "model", "outcome.json", "pairs.tsv"}
    sources = [line.split("\t")[1] for line in (files / "more.tsv").read_text().splitlines()]
    made = load_translator(folder / "model").translate(sources, SearchSettings(width=2))
    assert outcome["translations"][1] == [each.hypotheses[0].text for each in made]


def test_what_is_finished_is_not_done_again(
    whole: Whole, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(whole[0], tmp_path / "work")
    shutil.rmtree(tmp_path / "work" / "good.2")
    for left in (".model.training.lock", ".model.1.partial"):  # by a run that ended suddenly
        (tmp_path / "work" / "good.1" / left).touch()
    more = ("--seeds", "1,2", "--test", files / "more.tsv")
    done = downstream(files, tmp_path / "work", *SYSTEMS, *more)
    assert done.stdout == whole[1]
    assert "1 trained, 9 kept" in done.stderr
    assert not list((tmp_path / "work" / "good.1").glob(".*"))
    monkeypatch.setattr("bitextfilter.training.loop.update", None)
    fewer = downstream(files, tmp_path / "work", "--scores", "bad", *more)
    assert lines(fewer.stdout) == lines(whole[1])[:8]


POINTS = [
    ("bitextfilter.tuning.downstream.write_subset", 2, False),
    ("bitextfilter.training.loop.update", 2, False),
    ("bitextfilter.training.loop.update", 5, True),
    ("bitextfilter.training.loop.save_state", 2, False),
    ("bitextfilter.training.loop.save_state", 3, True),
    ("bitextfilter.models.registry.write_config", 2, True),
    ("bitextfilter.tuning.downstream.load_translator", 1, False),
    ("bitextfilter.tuning.downstream.write_whole", 1, False),
    ("bitextfilter.tuning.downstream.write_record", 1, True),
    ("bitextfilter.tuning.downstream.write_record", 3, False),
    ("bitextfilter.tuning.downstream.write_record", 3, True),
    ("bitextfilter.tuning.downstream.chrf", 1, False),
]


@pytest.mark.gate(2)
@pytest.mark.parametrize(("name", "count", "after"), POINTS)
def test_it_goes_on_after_a_kill_at_any_point(
    files: Path, whole: Whole, tmp_path: Path, name: str, count: int, after: bool,
    monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    module, _, function = name.rpartition(".")
    owner = sys.modules[module]
    real, calls = getattr(owner, function), []

    def killed(*arguments: Any, **more: Any) -> Any:
        calls.append(arguments)
        if len(calls) == count and not after:
            raise KeyboardInterrupt
        found = real(*arguments, **more)
        if len(calls) == count:
            raise KeyboardInterrupt
        return found

    more = ("--scores", "bad,good", "--test", files / "more.tsv")
    with monkeypatch.context() as patch:
        patch.setattr(owner, function, killed)
        downstream(files, tmp_path / "work", *more, code=130)
    found = lines(downstream(files, tmp_path / "work", *more).stdout)
    expected = [row for row in lines(whole[1]) if row["seed"] == "1"]
    assert found == [row for row in expected if row["system"] in ("bad", "good")]
    for system in ("bad.1", "good.1"):
        folder = tmp_path / "work" / system
        assert model_digest(folder / "model") == model_digest(whole[0] / system / "model")
        left = {path.name for path in folder.iterdir() if "model." in path.name}
        assert not left, "of the training"


def test_a_training_goes_on_whatever_the_development_file_is_called(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, real = [], loop.update

    def counted(*arguments: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(*arguments, **more)

    monkeypatch.setattr(loop, "update", counted)
    downstream(files, tmp_path / "work", "--scores", "bad", code=130)
    shutil.copy(files / "dev.tsv", tmp_path / "same.tsv")
    more = ("--development", tmp_path / "same.tsv")
    downstream(files, tmp_path / "work", "--scores", "bad", *more)
    (settings,) = (tmp_path / "work" / "bad.1" / "model").glob("training.json")
    updates = json.loads(settings.read_text())["training"]["updates"]
    assert len(calls) - 5 == updates - 3  # validated, and kept, after every third


def test_lines_that_are_cut_and_words_that_are_few_are_told(files: Path, tmp_path: Path) -> None:
    (tmp_path / "long.tsv").write_text("b1\t" + "a1 " * 400 + "\n")
    more = ("--oracle", "label", "--test", tmp_path / "long.tsv")
    more = (*more, "--set", "training.passes=0.01")
    said = downstream(files, tmp_path / "work", *more, words=100_000).stderr
    assert "oracle: 1 lines of the test sets were too long" in said
    assert "warning: oracle has only" in said
    assert "words, in 300 rows" in said


@pytest.mark.parametrize("seeds", [(1, 2), (2, 1)])
def test_differences_are_from_the_first_system_of_the_same_seed(seeds: tuple[int, int]) -> None:
    texts = {("one", 1): "a b c d", ("one", 2): "a b c e", ("two", 1): "a b c d"}
    texts[("two", 2)] = "a b c d"
    outcomes = {
        (name, seed): SystemResult(1, 4, 4, 1, 0.0, [[texts[name, seed]]])
        for name in ("one", "two")
        for seed in seeds
    }
    found = result_lines(outcomes, {"test": ["a b c d"]}, Bootstrap(10))
    differences = {line.seed: line.difference for line in found if line.system == "two"}
    assert differences["1"] and differences["1"].value == 0
    assert differences["2"] and differences["2"].value > 1


@pytest.mark.gate(0)
def test_the_oracle_beats_chance(files: Path, tmp_path: Path) -> None:
    more = ("--random", "--oracle", "label")
    found = downstream(files, tmp_path, *more, settings="learning", words=1500)
    random, oracle = lines(found.stdout)
    assert float(oracle["bleu"]) > float(random["bleu"]) + 30
    assert float(oracle["chrf"]) > float(random["chrf"]) + 20
    assert float(oracle["difference_low"]) > 10
    assert abs(float(oracle["difference"]) - float(oracle["bleu"]) + float(random["bleu"])) < 0.02


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--set", "training.passes=4"], "training.passes was 2, now it is 4"),
        (["--set", "shape.layers=2"], "shape.layers was 1, now it is 2"),
        (["--words", "401"], "words was 400, now it is 401"),
        (["--beam", "3"], "beam was 2, now it is 3"),
        (["--languages", "aa,ce"], "languages was"),
        (["--scol", "b", "--tcol", "a"], "columns was"),
        (["--test", "DEV"], "tests was"),
        (["--development", "TEST"], "development was"),
    ],
)
def test_a_folder_of_other_settings_is_refused(
    whole: Whole, files: Path, more: list[str], said: str
) -> None:
    named = {"DEV": str(files / "dev.tsv"), "TEST": str(files / "test.tsv")}
    more = ["--test", str(files / "more.tsv"), *(named.get(word, word) for word in more)]
    done = downstream(files, whole[0], "--scores", "bad", *more, code=78)
    says_one_line(done, 78, f"is of another run: {said}")


def test_a_folder_of_another_input_and_no_folder_of_ours_are_refused(
    whole: Whole, files: Path, tmp_path: Path
) -> None:
    more = ("--scores", "bad", "--test", files / "more.tsv")
    copied(files, tmp_path, lambda row: ["x", *row[1:]])
    assert "pairs was" in downstream(tmp_path, whole[0], *more, code=78).stderr
    copied(files, tmp_path, lambda row: [row[0], "x", *row[2:]])
    assert "pairs was" in downstream(tmp_path, whole[0], *more, code=78).stderr
    assert "holds no earlier run" in downstream(files, tmp_path, *more, code=78).stderr


def copied(files: Path, place: Path, change: Callable[[list[str]], list[str]]) -> None:
    """The same files, but for the last row of the corpus."""
    for name in ("dev.tsv", "test.tsv", "tiny.json"):
        shutil.copy(files / name, place)
    *kept, last = (files / "scored.tsv").read_text().splitlines()
    lines = [*kept, "\t".join(change(last.split("\t")))]
    (place / "scored.tsv").write_text("\n".join(lines) + "\n")


def test_columns_that_are_not_asked_for_may_change_and_those_that_are_may_not(
    whole: Whole, files: Path, tmp_path: Path
) -> None:
    copied(files, tmp_path, lambda row: [*row[:5], "7"])
    more = ("--test", files / "more.tsv", "--seeds", "1,2")
    done = downstream(tmp_path, whole[0], "--scores", "bad", *more)
    assert "0 trained, 2 kept" in done.stderr
    done = downstream(tmp_path, whole[0], "--scores", "bad,alike", *more, code=78)
    assert "alike.1 is of other scores" in done.stderr


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ([], 2, "no system"),
        (["--scores", "bad,bad"], 2, "two systems are called bad"),
        (["--scores", "bad", "--test", "x/test.tsv"], 2, "have the same name"),
        (["--random", "--seeds", "1,1"], 2, "different whole numbers"),
        (["--random", "--set", "training.pases=1"], 78, "pases"),
        (["--random", "--test", "missing.tsv"], 66, "missing.tsv"),
        (["--scores", "bad,gut"], 65, "scored.tsv:1: column 'gut' (--scores) is not in the header"),
        (["--scores", "bad,label"], 65, "scored.tsv:2: the score 'clean' is not a number"),
        (["--scores", "bad", "--oracle", "label", "--clean-label", "x"], 65, "no row has a label"),
        (["--scores", "bad", "--no-header"], 2, "--header"),
        (["--random", "--words", "1"], 65, "raise --words"),
        (["--random", "--set", "training.seed=7"], 2, "give --seeds"),
        (
            ["--random", "--set", "architecture=controlled", "--set", "shape={}"],
            2,
            "controlled writes by templates",
        ),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_trained(
    files: Path, tmp_path: Path, more: list[str], code: int, said: str
) -> None:
    header = "--no-header" not in more
    more = [word for word in more if word != "--no-header"]
    done = downstream(files, tmp_path / "work", *more, code=code, header=header)
    assert said in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("work/*/model*"))
    assert done.stdout == ""


def test_without_sacrebleu(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    done = downstream(files, tmp_path / "work", "--random", code=69)
    assert "bitextfilter[bleu]" in done.stderr
