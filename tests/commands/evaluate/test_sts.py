"""bitext-evaluate sts and paraphrase through their streams, on the toy languages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import console
import numpy as np
import pytest
from click.testing import Result
from console import invoke
from toys import as_older, sentences

from bitextfilter.commands.evaluate.sts import set_name
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.evaluation.sts import RatedSet, measure_correlations
from bitextfilter.papers import paraphrases as paraphrase_detection
from bitextfilter.papers.paraphrases import DetectionConfig, measure_detectors
from bitextfilter.scoring.model import load
from bitextfilter.similarity.vectors import cosine_pairs
from bitextfilter.training.labelled_pairs import LabelledVectors

HEAD = [
    *("set", "sets", "pairs", "skipped", "pearson", "pearson_low", "pearson_high"),
    *("spearman", "spearman_low", "spearman_high", "signature"),
]
GRADES = ["set", "grade", "pairs", "mean", "deviation", "p", "differs", "signature"]
FAST = ("--bootstrap", "20")
Rows = list[tuple[str, ...]]


def similar(count: int, seed: int, languages: str = "ab") -> Rows:
    """Human score 0 to 5, source, target, of which a part is translated from the source."""
    sides = dict(zip("ab", sentences(count, seed), strict=True))
    others = dict(zip("ab", sentences(count, seed + 100), strict=True))
    first, second = languages
    rows: Rows = []
    for place, source in enumerate(sides[first]):
        words, grade = sides[second][place].split(), place % 6
        kept = words[: round(len(words) * grade / 5)]
        target = " ".join([*kept, *others[second][place].split()[: len(words) - len(kept)]])
        rows.append((str(grade), source, target))
    return rows


def written(rows: Rows) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def sts(*words: object, text: str = "") -> Result:
    line = ("sts", "--threads", 1, "--device", "cpu", *FAST, *words)
    return invoke("bitext-evaluate", *line, data=text)


def lines_of(result: Result, head: list[str]) -> list[dict[str, str]]:
    first, *lines = console.table(result)
    assert first == head
    return [dict(zip(head, line, strict=True)) for line in lines]


def table(result: Result) -> dict[str, dict[str, str]]:
    found = {line["set"]: line for line in lines_of(result, HEAD)}
    for line in found.values():
        assert line["signature"].startswith(
            f"pearson = {line['pearson']} spearman = {line['spearman']} | n={line['pairs']}"
        )
    return found


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("y12.one.tsv", "y12.two.tsv", "y13.one.tsv")]
    for seed, path in enumerate(paths, 1):
        path.write_text(written(similar(30 + seed, seed)), encoding="utf-8")
    return paths


def test_the_table_has_the_figures_of_the_library(model: Path, files: list[Path]) -> None:
    found = table(sts("-q", "--seed", "4", "--model", model, *files))
    toy, sets = load(model), []
    for path in files:
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        human, sources, targets = zip(*rows, strict=True)
        scores = toy.score(sources, targets, ["cosine"])["cosine"].astype(np.float64)
        sets.append(RatedSet(path.stem, np.array(human, dtype=np.float64), scores))
    expected = measure_correlations(sets, Bootstrap(20, 4))
    assert list(found) == [result.name for result in expected]
    assert list(found)[3:] == ["mean y12", "mean"]
    for result in expected:
        line = found[result.name]
        assert result.pearson and result.spearman and result.pearson.value > 70
        figures = [f"{number:.2f}" for number in (*result.pearson, *result.spearman)]
        assert [line[name] for name in HEAD[4:10]] == figures
        assert [line[name] for name in HEAD[1:4]] == [str(len(result.sets)), str(result.pairs), "0"]
        assert f"sim:cosine model:{toy.digest} boot:20 seed:4 v:" in line["signature"]


def test_scores_of_a_column_need_no_model(model: Path, files: list[Path]) -> None:
    rows = [tuple(row.split("\t")) for row in files[0].read_text(encoding="utf-8").splitlines()]
    scores = load(model).score([r[1] for r in rows], [r[2] for r in rows], ["cosine"])["cosine"]
    scored = [(*row, repr(score)) for row, score in zip(rows, scores.tolist(), strict=True)]
    words = ("-q", "--model", "nowhere", "--column", "-1")
    (line,) = table(sts(*words, text=written(scored))).values()
    expected = table(sts("-q", "--model", model, files[0]))["y12.one"]
    assert [line[name] for name in HEAD[1:10]] == [expected[name] for name in HEAD[1:10]]
    assert (line["set"], " column:-1 " in line["signature"]) == ("stdin", True)
    headed = "human\ta\tb\tcosine\n" + written(scored)
    words = (*words[:-2], "--header", "--human", "human", "--column", "cosine")
    (named,) = table(sts(*words, text=headed)).values()
    assert [named[name] for name in HEAD[:10]] == [line[name] for name in HEAD[:10]]


@pytest.mark.parametrize("languages", ["aa", "bb", "ba"])
def test_other_languages_than_the_model_was_made_for(model: Path, languages: str) -> None:
    rows = similar(40, 7, languages)
    first, second = ({"a": "aa", "b": "ba"}[side] for side in languages)
    chosen = first if first == second else f"{first},{second}"
    (line,) = table(sts("-q", "--model", model, "--language", chosen, text=written(rows))).values()
    assert f" language:{chosen} " in line["signature"]
    toy = load(model)
    sides = (toy.encode([r[i + 1] for r in rows], own) for i, own in enumerate((first, second)))
    human = np.array([float(row[0]) for row in rows])
    scores = cosine_pairs(*sides).astype(np.float64)
    (expected,) = measure_correlations([RatedSet("x", human, scores)], Bootstrap(20))
    assert expected.pearson and line["pearson"] == f"{expected.pearson.value:.2f}"
    assert float(line["pearson"]) > 70


def test_a_model_of_one_language(model: Path, tmp_path: Path) -> None:
    """It is the bilingual one with both sides in that language, and needs not be told so."""
    folder = as_older(shutil.copytree(model, tmp_path / "one"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["languages"] = ["aa", "aa"]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    text = written(similar(40, 7, "aa"))
    (expected,) = table(sts("-q", "--model", model, "--language", "aa", text=text)).values()
    for words in ((), ("--language", "aa"), ("--similarity", "mlp", "--language", "aa")):
        (line,) = table(sts("-q", "--model", folder, *words, text=text)).values()
        same = [line[name] for name in HEAD[1:10]] == [expected[name] for name in HEAD[1:10]]
        assert same == ("mlp" not in words)


def test_columns_measures_and_windows(model: Path, files: list[Path]) -> None:
    rows = [line.split("\t") for line in files[0].read_text(encoding="utf-8").splitlines()]
    turned = written([("x", target, source, human) for human, source, target in rows])
    words = ("-q", "--model", model, "--similarity")
    columns = ("--human", "4", "--scol", "3", "--tcol", "2", "--batch-size", "7")
    for measure in ("euclidean", "csls", "mlp"):
        (line,) = table(sts(*words, measure, *columns, text=turned)).values()
        expected = table(sts(*words, measure, files[0]))["y12.one"]
        assert [line[name] for name in HEAD[1:10]] == [expected[name] for name in HEAD[1:10]]
        assert f" sim:{measure} " in line["signature"]


def test_missing_scores_are_skipped_and_counted(files: list[Path]) -> None:
    rows = [tuple(row.split("\t")) for row in files[0].read_text(encoding="utf-8").splitlines()]
    scored = [(row[0], "0.5" if place % 2 else "0.25") for place, row in enumerate(rows)]
    holes = [*scored[:5], ("", "0.5"), (" ", ""), ("3", ""), *scored[5:]]
    result = sts("--column", "2", text=written(holes))
    (line,) = table(result).values()
    (expected,) = table(sts("--column", "2", text=written(scored))).values()
    assert (line["pairs"], line["skipped"]) == ("31", "3")
    assert [line[name] for name in HEAD[4:10]] == [expected[name] for name in HEAD[4:10]]
    assert "34 rows, 0 rejected, 3 skipped" in result.stderr
    assert "| n=31 skipped:3 " in line["signature"]


@pytest.mark.parametrize(
    ("human", "score", "what"), [("2", "i", "human scores"), ("i", "2", "scores")]
)
def test_constants_correlate_with_nothing(human: str, score: str, what: str) -> None:
    rows = [tuple(str(i) if each == "i" else each for each in (human, score)) for i in range(5)]
    result = sts("--column", "2", text=written(rows))
    (line,) = table(result).values()
    assert [line[name] for name in HEAD[4:10]] == 6 * ["-"]
    (warning,) = [each for each in result.stderr.splitlines() if "warning" in each]
    assert f"warning: stdin: all {what} are the same: nothing correlates" in warning
    (record,) = json.loads(sts("-q", "--json", "--column", "2", text=written(rows)).stdout)[
        "results"
    ]
    assert (record["pearson"], record["spearman"], record["pairs"]) == (None, None, 5)


def test_grades(model: Path, files: list[Path]) -> None:
    pytest.importorskip("scipy")
    words = ("-q", "--model", model, "--grades", "--grade-step", "1", *files[:2])
    found = lines_of(sts(*words), GRADES)
    assert [(line["set"], line["grade"]) for line in found] == [
        (path.stem, str(grade)) for path in files[:2] for grade in range(6)
    ]
    assert {line["differs"] for line in found[1:6]} <= {"yes", "no"}
    assert [found[0][name] for name in ("p", "differs")] == ["-", "-"]
    whole = json.loads(sts("--json", *words).stdout)
    records = [grade for record in whole["results"] for grade in record["grades"]]
    for line, record in zip(found, records, strict=True):
        assert line["mean"] == f"{record['mean']:.4f}"
        assert line["deviation"] == f"{record['deviation']:.4f}"
        assert line["p"] == ("-" if record["p"] is None else f"{record['p']:.3g}")
        assert line["differs"] == {None: "-", True: "yes", False: "no"}[record["differs"]]
    assert all("grades" not in record for record in whole["means"])


def test_names_of_sets() -> None:
    assert [set_name(name) for name in ("a/sts2012.OnWN.tsv", "b.tsv.gz", "c.txt", "-")] == [
        "sts2012.OnWN",
        "b",
        "c.txt",
        "stdin",
    ]


@pytest.mark.gate(3)
@pytest.mark.parametrize(
    ("written_in", "language", "warning"),
    [
        ("en,en", "en", ""),
        ("de,de", "en", "stdin: the source column does not look like en"),
        ("en,de", "en", "stdin: the target column does not look like en"),
        ("de,en", "de,en", ""),
        ("en,en", "en,de", "stdin: the target column looks like en, not de"),
    ],
)
def test_sentences_of_another_language_get_a_warning(
    written_in: str, language: str, warning: str
) -> None:
    """By the shipped model, whose vocabulary has seen enough to tell."""
    patterns = {"en": "there are {} of them in the house", "de": "davon sind {} in dem alten Haus"}
    first, second = (patterns[name] for name in written_in.split(","))
    rows = [(str(i), first.format(i), second.format(11 - i)) for i in range(12)]
    result = sts("--language", language, text=written(rows))
    assert ("warning" in result.stderr, warning in result.stderr) == (bool(warning), True)


def test_ratings_are_learnt_by_regression(model: Path, tmp_path: Path) -> None:
    for name, count, seed in (("train", 300, 5), ("dev", 100, 6), ("test", 100, 7)):
        (tmp_path / f"{name}.tsv").write_text(written(similar(count, seed)))
    words = ("--model", model, "--regression", tmp_path / "train.tsv")
    words += ("--development", tmp_path / "dev.tsv", tmp_path / "test.tsv")
    found, again = table(sts(*words))["test"], table(sts(*words))["test"]
    assert found == again
    assert " sim:regression train:300 epoch:" in found["signature"]
    assert 50 < float(found["pearson"]) <= 100


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """A few epochs."""
    with pytest.MonkeyPatch.context() as patch:
        training = replace(paraphrase_detection.TRAINING, epochs=3)
        patch.setattr(paraphrase_detection, "TRAINING", training)
        yield


Rows_PARAPHRASED = list[tuple[str, str, str]]


def rows_of(count: int, seed: int) -> Rows_PARAPHRASED:
    """Label, source, target: translations with a word changed, and strangers."""
    sources, targets = sentences(count, seed)
    labels = np.random.default_rng(seed).random(count) < 0.6
    strangers = targets[1:] + targets[:1]
    return [
        (str(int(label)), source, f"{target} b1" if label else stranger)
        for label, source, target, stranger in zip(labels, sources, targets, strangers, strict=True)
    ]


DEVELOPMENT, TEST = rows_of(120, 5), rows_of(90, 6)


@pytest.fixture(scope="module")
def development(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "dev.tsv"
    path.write_text(written(DEVELOPMENT), encoding="utf-8")
    return path


def paraphrase(*words: object, text: str = "") -> Result:
    line = ("paraphrase", "--threads", 1, "--device", "cpu", "--bootstrap", 20, *words)
    return invoke("bitext-evaluate", *line, data=text)


def detected(result: Result) -> dict[str, list[str]]:
    head, *rows = console.table(result)
    assert " ".join(head) == (
        "method accuracy accuracy_low accuracy_high f1 f1_low f1_high pairs paraphrases signature"
    )
    return {row[0]: row[1:] for row in rows}


def vectors(folder: Path, rows: Rows_PARAPHRASED) -> LabelledVectors:
    model, (labels, *sides) = load(folder), zip(*rows, strict=True)
    source, target = (model.encode(s, n) for s, n in zip(sides, ("aa", "ba"), strict=True))
    return LabelledVectors(source, target, np.array([label == "1" for label in labels]))


def test_detectors_have_the_figures_of_the_library(model: Path, development: Path) -> None:
    words = ("-q", "--model", model, "--development", development, "--seed", "3")
    found = detected(paraphrase(*words, "-", text=written(TEST)))
    plan = DetectionConfig(seed=3, bootstrap=Bootstrap(20, 3))
    groups = [source for _, source, _ in DEVELOPMENT]
    sets = vectors(model, DEVELOPMENT), vectors(model, TEST)
    expected = list(measure_detectors(sets[0], groups, sets[1], plan))
    assert list(found) == [name for name, _, _ in expected] == ["majority", "cosine", "mlp"]
    for name, figures, facts in expected:
        *numbers, pairs, positives, signature = found[name]
        assert numbers == [f"{n:.4f}" for n in (*figures.accuracy, *figures.f1)]
        assert (pairs, positives) == ("90", str(sum(label == "1" for label, *_ in TEST)))
        assert signature.startswith(f"accuracy = {numbers[0]} | n=90 paraphrases:{positives} by:")
        assert all(f" {fact}:" in signature for fact in facts)
        assert f" dev:120 model:{load(model).digest} boot:20 seed:3 v:" in signature
    assert float(found["cosine"][0]) > 0.9 > 0.75 > float(found["majority"][0])


def test_other_columns_and_windows(model: Path, development: Path, tmp_path: Path) -> None:
    def turned(rows: Rows_PARAPHRASED) -> str:
        return "t\ts\tl\n" + written([(target, source, label) for label, source, target in rows])

    (tmp_path / "dev.tsv").write_text(turned(DEVELOPMENT), encoding="utf-8")
    words = ("-q", "--model", model, "--development")
    columns = ("--header", "--scol", "s", "--tcol", "1", "--label-column", "-1")
    other = paraphrase(
        *words, tmp_path / "dev.tsv", *columns, "--batch-size", "7", "-", text=turned(TEST)
    )
    assert detected(other) == detected(paraphrase(*words, development, "-", text=written(TEST)))


def test_languages(model: Path, development: Path, tmp_path: Path) -> None:
    """Both columns in one language, and the sides the other way round."""
    words = ("-q", "--model", model, "--development")
    swapped = [
        [(label, target, source) for label, source, target in r] for r in (DEVELOPMENT, TEST)
    ]
    (tmp_path / "dev.tsv").write_text(written(swapped[0]), encoding="utf-8")
    straight = detected(paraphrase(*words, development, "-", text=written(TEST)))
    result = paraphrase(
        *words, tmp_path / "dev.tsv", "--language", "ba,aa", "-", text=written(swapped[1])
    )
    assert detected(result)["cosine"][:-1] == straight["cosine"][:-1]
    assert detected(result)["cosine"][-1] == straight["cosine"][-1].replace(
        " model:", " language:ba,aa model:"
    )
    same = [[(label, source, source) for label, source, _ in rows] for rows in (DEVELOPMENT, TEST)]
    (tmp_path / "same.tsv").write_text(written(same[0]), encoding="utf-8")
    one = paraphrase(*words, tmp_path / "same.tsv", "--language", "aa", "-", text=written(same[1]))
    assert detected(one)["cosine"][:6] == detected(one)["majority"][:6]  # all cosines are 1


def test_pairs_in_another_language_get_a_warning(tmp_path: Path) -> None:
    patterns = {"en": "there are {} of them in the house", "de": "davon sind {} in dem alten Haus"}
    rows = [
        (str(n % 2), patterns["en"].format(n), patterns["de"].format(n + n % 2)) for n in range(40)
    ]
    path = tmp_path / "rows.tsv"
    path.write_text(written(rows), encoding="utf-8")
    wrong = paraphrase("--language", "en", "--development", path, path)
    assert f"{path}: the target column does not look like en (--language" in wrong.stderr
    assert "source column" not in wrong.stderr
