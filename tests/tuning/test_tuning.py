"""A grid, its points and their training, and the table of figures."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toys

from bitextfilter.errors import InputError, NotFoundError, OutputError, SettingsError
from bitextfilter.filters.registry import parse_rule
from bitextfilter.io.rows import Columns
from bitextfilter.scoring.model import load
from bitextfilter.training.data import PairFile
from bitextfilter.training.encoder_training import EncoderConfig, EncoderTraining
from bitextfilter.tuning.trials import (
    MOST_POINTS,
    Grid,
    Point,
    PointResult,
    ResultTable,
    TuningTask,
    mean_pearson,
    read_grid,
)

TINY = {
    "architecture": "averaging",
    "shape": {"embedding": 8},
    "segmentation": {"kind": "none"},
    "training": {"translation": 0, "autoencoding": 0, "batch_size": 16, "validate_every": 2},
}


def point(*rules: str, sample: int | None = None, **training: object) -> Point:
    plan = {**TINY, "training": {**TINY["training"], "passes": 1, **training}}  # type: ignore[dict-item]
    values = {} if sample is None else {"sample": sample}
    return Point(values, EncoderConfig.from_dict(plan), tuple(map(parse_rule, rules)))


@pytest.fixture
def task(tmp_path: Path) -> TuningTask:
    for name, count, seed in (("train", 60, 1), ("dev", 20, 2)):
        pairs = zip(*toys.sentences(count, seed), strict=True)
        (tmp_path / name).write_text("".join(f"{s}\t{t}\n" for s, t in pairs))
    (tmp_path / "work").mkdir()
    development = PairFile(str(tmp_path / "dev"))
    pairs = (str(tmp_path / "train"),)
    return TuningTask(("aa", "ba"), pairs, Columns(), development, tmp_path / "work")


def test_a_key_hangs_on_settings_rules_and_content_alone(task: TuningTask, tmp_path: Path) -> None:
    base = task.key(point("length:maximum=5"))
    assert base == task.key(dataclasses.replace(point("length:maximum=5"), values={"other": 1}))
    (tmp_path / "copy").write_bytes((tmp_path / "train").read_bytes())
    same = dataclasses.replace(task, pairs=(str(tmp_path / "copy"),), models=tmp_path)
    assert base == same.key(point("length:maximum=5"))
    (tmp_path / "model.arpa").write_text("one")
    others = [
        task.key(point("length:maximum=6")),
        task.key(point("length:maximum=5", seed=2)),
        task.key(point("length:maximum=5", sample=3)),
        task.key(dataclasses.replace(point(), values={"pairs": str(tmp_path / "dev")})),
        task.key(point(f"perplexity:source={tmp_path / 'model.arpa'},maximum=9")),
        dataclasses.replace(task, columns=Columns(2, 1)).key(point("length:maximum=5")),
        dataclasses.replace(task, sts=(str(tmp_path / "dev"),)).key(point("length:maximum=5")),
    ]
    (tmp_path / "model.arpa").write_text("other")
    others.append(task.key(point(f"perplexity:source={tmp_path / 'model.arpa'},maximum=9")))
    (tmp_path / "train").write_text("a0\tb0\n")
    others.append(task.key(point("length:maximum=5")))
    assert len({base, *others}) == 1 + len(others)
    with pytest.raises(NotFoundError, match="missing: cannot be opened"):
        dataclasses.replace(task, pairs=("missing",)).key(point())


def test_a_key_hangs_on_the_model_of_a_rule_and_on_the_version(
    task: TuningTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = toys.toy_model(tmp_path / "toy")
    named = point(f"paraphrase-score:model={folder}")
    keys = [task.key(named), task.key(point("paraphrase-score:model=toy"))]
    assert task.key(named) == keys[0]
    monkeypatch.setattr("bitextfilter.models.folders.PRETRAINED", tmp_path)
    keys.append(task.key(point("paraphrase-score:model=toy")))
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    keys += [task.key(named), task.key(point("paraphrase-score:model=toy"))]
    monkeypatch.setattr("bitextfilter.tuning.trials.__version__", "0.0.0")
    keys.append(task.key(named))
    assert len(set(keys)) == 6
    assert task.key(point("literals:any=" + 300 * "a")) != keys[-1]


def test_a_point_is_trained_on_the_pairs_it_selects(task: TuningTask, tmp_path: Path) -> None:
    lines = (tmp_path / "train").read_text().splitlines()
    short = sum(len(line.split("\t")[0].split()) <= 5 for line in lines)
    assert 10 < short < 50
    found = [
        task(("every", point())),
        task(("short", point("length:maximum=5"))),
        task(("sampled", point("length:maximum=5", sample=10))),
    ]
    assert [outcome.pairs for outcome in found] == [60, short, 10]
    assert [outcome.key for outcome in found] == ["every", "short", "sampled"]
    assert all(outcome.figure is not None and 0 <= outcome.figure <= 100 for outcome in found)
    assert found[0].update in (2, 4) and found[0].seconds > 0
    assert list((tmp_path / "work").iterdir()) == []


def test_the_figure_is_that_of_the_kept_model(task: TuningTask, tmp_path: Path) -> None:
    pairs = [line.split("\t") for line in (tmp_path / "dev").read_text().splitlines()]
    judged = "".join(f"{i % 6}\t{s}\t{t}\n" for i, (s, t) in enumerate(pairs))
    (tmp_path / "sts").write_text(judged + f"\t{pairs[0][0]}\t{pairs[1][1]}\n")
    task = dataclasses.replace(task, sts=(str(tmp_path / "sts"),), models=tmp_path / "models")
    outcome = task(("one", point("length:maximum=7")))
    model = load(tmp_path / "models" / "one")
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["one"]
    sources, targets = zip(*pairs, strict=True)
    cosine = model.score(sources, targets, ["cosine"])["cosine"]
    expected = 100 * np.corrcoef(cosine, np.arange(20) % 6)[0, 1]
    assert outcome.figure == pytest.approx(expected, abs=1e-4)


def test_a_half_trained_model_is_not_kept(
    task: TuningTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    keep = EncoderTraining.keep

    def killed(self: EncoderTraining, *given: Any) -> None:
        keep(self, *given)
        seen.extend((tmp_path / "models").glob("*"))
        raise KeyboardInterrupt

    (tmp_path / "models").mkdir()
    task = dataclasses.replace(task, models=tmp_path / "models")
    with monkeypatch.context() as patched:
        patched.setattr(EncoderTraining, "keep", killed)
        with pytest.raises(KeyboardInterrupt):
            task(("one", point()))
    assert seen == [] and list((tmp_path / "models").iterdir()) == []
    outcome = task(("one", point()))
    (kept,) = (tmp_path / "models").iterdir()
    assert kept.name == "one" and outcome.figure is not None
    assert load(kept).languages == ("aa", "ba")


def test_no_pairs_and_a_diverging_training_are_notes(task: TuningTask, tmp_path: Path) -> None:
    outcome = task(("a", point("length:minimum=90,maximum=100")))
    assert outcome.figure is None and outcome.note == "no pair passes the rules"
    outcome = task(("b", point(optimiser="sgd", learning_rate=1e38, warmup=0, passes=5, clip=0)))
    assert outcome.figure is None and "not a number" in outcome.note
    assert list((tmp_path / "work").iterdir()) == []


def decoding(architecture: str, translation: int) -> EncoderConfig:
    return EncoderConfig.from_dict(
        {"architecture": architecture, "training": {"translation": translation, "autoencoding": 0}}
    )


def test_what_every_point_needs_is_checked_before(task: TuningTask) -> None:
    task.check(point("length"))
    with pytest.raises(SettingsError, match="no training pairs"):
        dataclasses.replace(task, pairs=()).check(point())
    with pytest.raises(SettingsError, match="column 'score' is no number"):
        task.check(point("column:column=score"))
    with pytest.raises(SettingsError, match="the architecture trigram reads none"):
        task.check(Point({}, decoding("trigram", 1), ()))
    for fit in (decoding("trigram", 0), decoding("word,trigram", 1), decoding("averaging", 1)):
        task.check(Point({}, fit, ()))
    with pytest.raises(NotFoundError):
        task.check(point("perplexity:source=missing.arpa,maximum=9"))


def test_the_probe_of_the_folder_of_models_does_not_stay(
    task: TuningTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it could not be removed, the next run removes it."""
    task = dataclasses.replace(task, models=tmp_path / "models")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        task.prepare()
    assert list((tmp_path / "models").iterdir())
    task.prepare()
    assert not list((tmp_path / "models").iterdir())


def test_the_mean_is_over_files_and_undefined_with_one_of_them(tmp_path: Path) -> None:
    model = load(toys.toy_model(tmp_path / "model"))
    figures = []
    for seed, count in ((1, 12), (2, 30)):
        sources, targets = toys.sentences(count, seed)[0], toys.sentences(count, seed + 5)[1]
        human = np.random.default_rng(seed).random(count).tolist()
        rows = zip(human, sources, targets, strict=True)
        (tmp_path / f"{seed}").write_text("".join(f"{h!r}\t{s}\t{t}\n" for h, s, t in rows))
        cosine = model.score(sources, targets, ["cosine"])["cosine"]
        figures.append(100 * np.corrcoef(human, cosine)[0, 1])
    files = [str(tmp_path / "1"), str(tmp_path / "2")]
    assert mean_pearson(model, files) == pytest.approx(np.mean(figures), abs=1e-4)
    for few in ("1\ta\tb\n", "\ta\tb\n \ta\tb\n2\tc\td\n", ""):
        (tmp_path / "sts.tsv").write_text(few)
        too_few = r"sts.tsv: too few pairs to correlate: [01], and [02] "
        with pytest.raises(InputError, match=too_few):
            mean_pearson(model, [str(tmp_path / "sts.tsv")])
    (tmp_path / "3").write_text("1\ta1 a2\tb1\n1\ta3 a2\tb3\n")
    assert mean_pearson(model, [*files, str(tmp_path / "3")]) is None
    (tmp_path / "4").write_text("1\ta1 a2\ta1\n2\ta3 a2\ta3 a2\n3\ta4\ta4 a4\n")
    assert mean_pearson(model, [str(tmp_path / "4")], ("aa", "aa")) is not None


def test_blank_scores_are_counted_over_files(task: TuningTask, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("one", "two")]
    Path(files[0]).write_text("1\ta\tb\n\ta\tb\n2\tc\td\n")
    Path(files[1]).write_text("\ta\tb\n1\ta\tb\n \ta\tb\n2\tc\td\n")
    assert dataclasses.replace(task, sts=tuple(files)).prepare() == 3
    assert task.prepare() == 0


PAGE = Path(__file__).parents[2] / "docs" / "tune.md"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "grid.toml"


def grid(path: Path, text: str) -> Grid:
    path.write_text(text, encoding="utf-8")
    return read_grid(path)


def test_lists_are_combined_and_the_last_changes_first(path: Path) -> None:
    """No list is one point; "default" leaves a name out."""
    read = grid(path, 'architecture = "averaging"\n[training]\nmargin = [0.3, 0.4]\nseed = [1, 2]')
    points = list(read.points())
    found = [(p.config.training.margin, p.config.training.seed) for p in points]
    assert found == [(0.3, 1), (0.3, 2), (0.4, 1), (0.4, 2)]
    assert {point.config.architecture for point in points} == {"averaging"}
    assert read.names == ["training.margin", "training.seed", "architecture"]
    assert read.varied == ["training.margin", "training.seed"]
    assert points[0].described(read.varied) == "training.margin=0.3 training.seed=1"
    (point,) = grid(path, "").points()
    assert point.values == {} and point.rules == () and point.pairs is point.sample is None
    text = '"architecture,shape.hidden" = [["averaging", "default"], ["autoencoder", 8]]'
    averaging, autoencoder = grid(path, text).points()
    assert not hasattr(averaging.config.shape, "hidden")
    assert autoencoder.config.shape.hidden == 8
    assert averaging.cells() == {"architecture": "averaging"}


def test_names_between_commas_go_together(path: Path) -> None:
    text = 'architecture = "autoencoder"\n"training.passes,training.learning_rate" = '
    text += "[[1, 0.1], [2, 0.05]]\n"
    text += '[shape]\n"embedding, hidden" = [16, 8]\n'
    with pytest.raises(SettingsError, match="16 is not a list of 2 values"):
        grid(path, text)
    read = grid(path, text.replace("[16, 8]", "[[16, 8], [32, 16]]"))
    found = [
        (p.config.training.passes, p.config.training.learning_rate, p.config.shape.hidden)
        for p in read.points()
    ]
    assert found == [(1, 0.1, 8), (1, 0.1, 16), (2, 0.05, 8), (2, 0.05, 16)]


def test_rules_data_and_bounds(path: Path) -> None:
    text = """
    sample = [10, "default"]
    pairs = ["a.tsv", "b.tsv"]
    [[rule]]
    name = "length"
    maximum = [5, "none"]
    [[rule]]
    name = "column"
    column = 3
    minimum = 0.5
    [[rule]]
    name = "column"
    column = 4
    maximum = 1
    """
    read = grid(path, text)
    points = list(read.points())
    assert len(points) == 8
    expected = ("length:maximum=5", "column:column=3,minimum=0.5", "column:column=4,maximum=1")
    assert points[0].rules == tuple(map(parse_rule, expected))
    assert points[1].rules[0] == parse_rule("length:maximum=none")
    assert [(p.sample, p.pairs) for p in points[::2]] == [
        (10, "a.tsv"), (10, "b.tsv"), (None, "a.tsv"), (None, "b.tsv"),
    ]  # fmt: skip
    assert points[0].cells()["column#2.maximum"] == "1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("training = ", "not TOML"),
        ("[training]\nmargin = []", "training.margin: an empty list"),
        ("[training]\nmargin = [[1, 2]]", "is not a value"),
        ("[training]\nspeed = 1", "training.speed is no setting"),
        ("[training]\nclip = ['wide']", "training.clip must be a number"),
        ("[training]\npasses = [1, -1]", r"passes .* \(at training.passes=-1\)"),
        ("speed = 1", "'speed' is no group of settings"),
        ("architecture = ['transformer']", "transformer"),
        ("sample = [0]", "sample must be a whole number of at least 1, not 0"),
        ("sample = true", "sample must be a whole number"),
        ("pairs = 3", "pairs are the name of a file"),
        ('pairs = ["a.tsv", "-"]', "pairs are read more than once, which stdin cannot be"),
        ("rule = 1", "rules are tables"),
        ("[[rule]]\nmaximum = 1", "a rule has no name"),
        ("[[rule]]\nname = ['length']", "a rule has no name"),
        ("[[rule]]\nname = 'lenght'", "did you mean length"),
        ("[[rule]]\nname = 'length'\nlongest = 1", "no parameter 'longest'"),
        ("[[rule]]\nname = 'length'\nminimum = 9\nmaximum = 8", "nothing is within 9 and 8"),
        ("'training.seed' = 1\n[training]\nseed = 2", "training.seed is given twice"),
        ("[training]\nseed = " + str(list(range(MOST_POINTS + 1))), "100001 points, more than"),
    ],
)
def test_what_is_no_grid_is_said(path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        list(grid(path, text).points())
    assert str(caught.value).count(str(path)) <= 1
    with pytest.raises(NotFoundError, match="cannot be opened"):
        read_grid(path.with_name("missing.toml"))


def test_the_grids_of_the_page_are_grids(path: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    counts = [len(list(grid(path, block).points())) for block in blocks]
    assert counts == [24, 3, 6, 14, 6 * 4 * 4 * 5]


def empty_point(**values: object) -> Point:
    return Point(values, EncoderConfig.from_dict({}), ())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "tuning.tsv"


def rows(place: Path) -> list[list[str]]:
    return [line.split("\t") for line in place.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("figure", "order"), [("recovery_error", "bda"), ("pearson", "adb")])
def test_the_best_comes_first_and_what_has_no_figure_last(
    place: Path, figure: str, order: str
) -> None:
    table = ResultTable(place, figure, ["seed"])
    found = {"a": 30.0, "b": 4.5, "c": None, "d": 12.25}
    for key, value in found.items():
        note = "" if value is not None else "diverged\nat\tonce"
        table.add(empty_point(seed=1), PointResult(key, value, 10, 20, 1.26, note))
        assert len(rows(place)) == 1 + len(table.best_first())
    assert [row[0] for row in rows(place)] == ["point", *order, "c"]
    assert rows(place)[0] == ["point", figure, "trained_pairs", "update", "seconds", "note", "seed"]
    assert rows(place)[-1] == ["c", "", "10", "20", "1.3", "diverged at once", "1"]
    again = ResultTable(place, figure, ["seed"])
    assert [again.finished(key) for key in "abcde"] == [True, True, False, True, False]
    before = place.read_bytes()
    again.add(empty_point(seed=1), PointResult("c", None, 10, 20, 1.26, "diverged at once"))
    assert place.read_bytes() == before


def test_lines_of_another_grid_stay(place: Path) -> None:
    """A point without a figure is replaced."""
    table = ResultTable(place, "pearson", ["seed"])
    table.add(empty_point(seed=1), PointResult("a", None, note="diverged"))
    table.add(empty_point(seed=1), PointResult("a", 1.0))
    table = ResultTable(place, "pearson", ["margin"])
    table.add(empty_point(margin="wide\tand\nodd"), PointResult("b", 2.0))
    assert [row[6:] for row in rows(place)] == [["margin", "seed"], ["wide and odd", ""], ["", "1"]]


def test_two_runs_on_one_table_lose_nothing(place: Path) -> None:
    one, other = ResultTable(place, "pearson", ["seed"]), ResultTable(place, "pearson", ["margin"])
    one.add(empty_point(seed=1), PointResult("a", 1.0))
    other.add(empty_point(margin=0.5), PointResult("b", 2.0))
    one.add(empty_point(seed=2), PointResult("c", 3.0))
    one.add(empty_point(margin=0.5), PointResult("b", None, note="no memory"))
    found = [["c", "3.0000"], ["b", "2.0000"], ["a", "1.0000"]]
    assert [row[:2] for row in rows(place)[1:]] == found
    values = [["seed", "margin"], ["2", ""], ["", "0.5"], ["1", ""]]
    assert [row[6:] for row in rows(place)] == values
    assert [row["point"] for row in one.best_first()] == ["c", "b", "a"]
    place.write_text("something else")
    with pytest.raises(SettingsError, match="no table of pearson"):
        one.add(empty_point(seed=3), PointResult("d", 4.0))
    assert place.read_text() == "something else"
    assert [each.name for each in place.parent.iterdir()] == [place.name]


def test_another_file_is_not_taken_for_a_table(place: Path) -> None:
    """A table that cannot be written is found beforehand."""
    ResultTable(place, "pearson", []).try_folder()
    assert list(place.parent.iterdir()) == []
    with pytest.raises(OutputError, match=r"nowhere/x.tsv: cannot be written"):
        ResultTable(place.parent / "nowhere" / "x.tsv", "pearson", []).try_folder()
    for text in ("", "a\tb\n", "point\trecovery_error\tpairs\n"):
        place.write_text(text)
        with pytest.raises(SettingsError, match=r"tsv: no table of pearson; name another file"):
            ResultTable(place, "pearson", [])
        assert place.read_text() == text


def test_a_damaged_line_is_named(place: Path) -> None:
    ResultTable(place, "pearson", []).add(empty_point(), PointResult("a", 2.0))
    whole = place.read_text()
    place.write_text(whole + "b\t3\n")
    with pytest.raises(InputError, match=r"tuning.tsv:3: 2 columns, expected 6"):
        ResultTable(place, "pearson", [])
    for cell in ("2.0O00", "nan", "1e999"):
        place.write_text(whole.replace("2.0000", cell))
        with pytest.raises(InputError, match=r"tuning.tsv:2: pearson is no number; mend the table"):
            ResultTable(place, "pearson", [])
