"""bitext-paraphrase train and score: a classifier that tells references from translations."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from toys import toy_model

from bitextfilter.commands.paraphrase import main
from bitextfilter.encoders.reference_classifier import load_reference_classifier
from bitextfilter.models.folders import model_digest
from bitextfilter.papers.references import ReferenceTraining, _parts

QUICK = ("--threads", 1, "--set", "shape.embedding=16", "--set", "training.learning_rate=0.01",
         "--set", "training.batch_size=40")  # fmt: skip


def written(path: Path, shift: int, best: int = 1) -> Path:
    """500 references of the words w0 … w19, translations of those *shift* further on."""
    random = np.random.default_rng(7)

    def sentence(first: int) -> str:
        return " ".join(f"w{n}" for n in random.integers(first, first + 20, random.integers(9, 14)))

    rows = [(sentence(0), sentence(shift)) for _ in range(500)]
    more = [(reference, sentence(shift)) for reference, _ in rows for _ in range(best - 1)]
    path.write_text("".join(f"{one}\t{other}\n" for one, other in [*rows, *more]))
    return path


def call(*words: object, data: bytes = b"", code: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words], input=data)
    assert result.exit_code == code, result.output
    return result


def accuracies(result: Result) -> dict[str, tuple[float, int]]:
    head, *rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert head == ["class", "accuracy", "sentences"]
    return {name: (float(figure), int(count)) for name, figure, count in rows}


@pytest.fixture(scope="module")
def different(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("pairs") / "different.tsv", 10, best=3)


@pytest.fixture(scope="module")
def model(different: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "references"
    call("train", *QUICK, "-o", path, different)
    return path


def test_the_first_translation_of_a_reference_is_measured(tmp_path: Path) -> None:
    """The first are like references, those after them are not."""
    alike, other = written(tmp_path / "alike.tsv", 0), written(tmp_path / "other.tsv", 20)
    lines = [*alike.read_text().splitlines(), *2 * other.read_text().splitlines()]
    translations: dict[str, list[str]] = {}
    rows = (line.split("\t") for line in lines)
    references = [line.split("\t")[0] for line in alike.read_text().splitlines()]
    for number, row in enumerate(rows):
        translations.setdefault(references[number % 500], []).append(row[1])
    text = "".join(f"{one}\t{each}\n" for one, some in translations.items() for each in some)
    (tmp_path / "pairs.tsv").write_text(text)
    found = call("train", *QUICK, "--architecture", "averaging", "-o", tmp_path / "model",
                 tmp_path / "pairs.tsv")  # fmt: skip
    assert accuracies(found)["references"][0] > 90
    assert accuracies(found)["translations"][0] < 50


@pytest.mark.gate(1)
@pytest.mark.parametrize("architecture", ["lstm", "averaging"])
@pytest.mark.parametrize("negatives", ["random", "hardest"])
def test_it_learns_what_differs(
    different: Path, tmp_path: Path, architecture: str, negatives: str
) -> None:
    kind = ("--architecture", architecture, "--set", f"training.negatives={negatives}")
    result = call("train", *QUICK, *kind, "-o", tmp_path / "model", different)
    found = accuracies(result)
    assert found["total"][0] >= 99
    assert [count for _, count in found.values()] == [50, 50, 100]
    assert "1500 rows, 0 rejected, 500 references, " in result.stderr


def test_it_does_not_learn_what_is_the_same(tmp_path: Path) -> None:
    same = written(tmp_path / "same.tsv", 0)
    found = accuracies(
        call("train", *QUICK, "--set", "training.held_out=0.3", "-o", tmp_path / "m", same)
    )
    assert found["total"][1] == 300 and 40 < found["total"][0] < 60


def test_the_best_epoch_is_kept(different: Path, tmp_path: Path) -> None:
    words = (
        "--set",
        "training.penalty=1e-6",
        "--set",
        "training.epochs=5",
        "--architecture",
        "averaging",
        "--json",
    )
    record = json.loads(call("train", *QUICK, *words, "-o", tmp_path / "m", different).stdout)
    assert record == json.loads((tmp_path / "m" / "training.json").read_text())
    scores = record["development"]
    assert len(scores) == 5 and scores[record["epoch"] - 1] == max(scores)
    assert max(scores[record["epoch"] :], default=0) < max(scores)
    assert record["references"] == [400, 50, 50] and record["translations"] == 1500
    assert record["training"]["penalty"] == 1e-6
    assert record["test"]["total"] == pytest.approx(
        (record["test"]["references"] + record["test"]["translations"]) / 2
    )
    pairs = [line.split("\t") for line in different.read_text().splitlines()]
    data: dict[str, list[str]] = {}
    for reference, translation in pairs:
        data.setdefault(reference, []).append(translation)
    test = _parts(data, ReferenceTraining())[2]
    classifier = load_reference_classifier(tmp_path / "m")
    right = [p > 0.5 for p in classifier.probabilities(test)]
    assert record["test"]["references"] == pytest.approx(100 * sum(right) / 50)
    right = [p <= 0.5 for p in classifier.probabilities([data[each][0] for each in test])]
    assert record["test"]["translations"] == pytest.approx(100 * sum(right) / 50)


def test_the_parts_share_no_reference_and_leave_none_out() -> None:
    data = {f"r{n}": [f"t{n}"] for n in range(50_000)}
    parts = _parts(data, ReferenceTraining(seed=3))
    assert [len(part) for part in parts] == [40_000, 5_000, 5_000]
    assert sorted(parts[0] + parts[1] + parts[2]) == sorted(data)
    assert _parts(data, ReferenceTraining(seed=4)) != parts


def test_the_seed_decides_and_threads_do_not(different: Path, tmp_path: Path) -> None:
    few = ("--set", "training.epochs=1", "--architecture", "averaging")
    for name, more in (("one", ()), ("same", ("--threads", 2)), ("other", ("--seed", 2))):
        call("train", *QUICK, *few, *more, "-o", tmp_path / name, different)
    digests = [model_digest(tmp_path / name) for name in ("one", "same", "other")]
    assert digests[0] == digests[1] != digests[2]


def test_vectors_are_a_start(different: Path, tmp_path: Path) -> None:
    few = ("--set", "training.epochs=1", "--set", "training.learning_rate=1e-9")
    (tmp_path / "v.vec").write_text(f"w1{' 3' * 16}\nother{' 1' * 16}\n")
    words = ("train", *QUICK, *few, "--embeddings", tmp_path / "v.vec", "-o", tmp_path / "m")
    result = call(*words, different)
    assert "initial vectors of 1 of 30 pieces: " in result.stderr
    classifier = load_reference_classifier(tmp_path / "m")._encoder
    place = classifier.processor.vocabulary.index["w1"]
    (table,) = classifier.network.piece_tables()
    assert table.weight[place].tolist() == pytest.approx([3] * 16, rel=0.01)
    record = json.loads((tmp_path / "m" / "training.json").read_text())
    assert record["material"] == {"vectors": "v.vec"}
    call(*words, "--settings", tmp_path / "m" / "training.json", different)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("w1 1 2", 65, "v.vec: vectors of 2 numbers, expected 16; set shape.embedding=2, or"),
        (f"z{' 1' * 16}", 65, "v.vec: no vector is of a piece of the vocabulary"),
        (f"w1{' 1' * 16}\nw2 1", 65, "v.vec:2: expected a word and 16 numbers; remove the line"),
        (None, 66, "v.vec: cannot be opened"),
    ],
)
def test_vectors_that_cannot_be_used(
    different: Path, tmp_path: Path, text: str | None, code: int, message: str
) -> None:
    if text is not None:
        (tmp_path / "v.vec").write_text(f"{text}\n")
    words = ("--embeddings", tmp_path / "v.vec", "-o", tmp_path / "m", different)
    failed = call("train", *QUICK, *words, code=code)
    assert message in failed.stderr.splitlines()[-1]
    assert (failed.stdout, (tmp_path / "m").exists()) == ("", False)


def test_bad_rows_and_files(different: Path, tmp_path: Path) -> None:
    bad = different.read_bytes().replace(b"\n", b"\n\n", 1)
    words = ("train", *QUICK, "--set", "training.epochs=1", "--architecture", "averaging", "-o",
             tmp_path / "m")  # fmt: skip
    assert "stdin:2: the source is empty" in call(*words, "-", data=bad, code=65).stderr
    assert "1 rejected" in call(*words, "--on-error", "reject", "-", data=bad).stderr
    few = call(*words, "-", data=b"a\tb\nc\td\n", code=65)
    assert "2 references are too few" in few.stderr
    assert "stdin: no rows" in call(*words, "-", code=65).stderr
    assert "only one file can be stdin" in call(*words, "-", "-", code=2).stderr
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "other").write_text("mine")
    taken = call("train", *QUICK, "-o", tmp_path / "full", different, code=74)
    assert "is not a model folder" in taken.stderr


def scored(model: Path, *words: object, data: bytes, code: int = 0) -> Result:
    return call("score", "--model", model, *words, data=data, code=code)


def lines_of(pairs: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{one}\t{other}\n" for one, other in pairs).encode()


PAIRS = [("w1 w2 w3 w4 w5 w1", "w25 w26 w27 w28 w22"), ("a", "w12"), ("W1", "w3, w4!")]


def test_rows_get_a_probability(model: Path) -> None:
    result = scored(model, data=lines_of(PAIRS))
    classifier = load_reference_classifier(model)
    expected = classifier.probabilities([other for _, other in PAIRS])
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert [row[:2] for row in rows] == [list(pair) for pair in PAIRS]
    assert [row[2] for row in rows] == [f"{p:.4f}" for p in expected]
    first = scored(model, "--column", 1, "--digits", 2, data=lines_of(PAIRS)).stdout.split("\n")[0]
    assert float(first.split("\t")[2]) > 0.9 and float(rows[0][2]) < 0.1
    assert f"model references {model_digest(model)}" in result.stderr


def test_a_probability_has_no_company(model: Path, different: Path) -> None:
    data = different.read_bytes()
    whole = scored(model, "--digits", 9, data=data).stdout_bytes
    for words in (("--batch-size", 7), ("--threads", 1), ("--threads", 3)):
        assert scored(model, "--digits", 9, *words, data=data).stdout_bytes == whole
    turned = b"".join(reversed(data.splitlines(keepends=True)))
    lines = scored(model, "--digits", 9, data=turned).stdout_bytes.splitlines(keepends=True)
    assert b"".join(reversed(lines)) == whole


def test_odd_rows_and_a_header(model: Path, tmp_path: Path) -> None:
    data = b"one\ttwo\r\na\tw1 w2\r\nb\t \r\nc\n\xff\tw3"
    assert "stdin:3: the sentence is empty" in scored(model, "--header", data=data, code=65).stderr
    words = ("--header", "--column", "two", "--on-error", "reject", "--rejects", tmp_path / "bad")
    lines = scored(model, *words, data=data).stdout_bytes.split(b"\n")
    assert lines[0] == b"one\ttwo\tp_reference\r"
    assert [line.split(b"\t")[-1] == b"" for line in lines[2:4]] == [False, True]
    assert lines[2] == b"b\t \t\r" and lines[3] == b"c\t" and lines[4].startswith(b"\xff\tw3\t0.")
    assert len((tmp_path / "bad").read_bytes().splitlines()) == 2


def test_what_is_no_classifier(model: Path, tmp_path: Path) -> None:
    assert "no model here" in scored(tmp_path, data=b"", code=66).stderr
    other = toy_model(tmp_path / "encoder")
    assert "bitext-paraphrase train makes one" in scored(other, data=b"", code=65).stderr
