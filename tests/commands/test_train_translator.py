"""bitext-train-translator: its files, settings, errors, and resuming; bitext-translate."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import toys
from click.testing import Result
from console import invoke
from toys import toy_model
from translators import CASES, network, processor

from bitextfilter.commands.train_translator import main
from bitextfilter.commands.translate import main as translate
from bitextfilter.models.folders import model_digest, writing_folder
from bitextfilter.translation import translator
from bitextfilter.translation.translator import TRANSLATORS, SearchSettings, load_translator

TINY = {
    "shape": {"width": 8, "heads": 2, "layers": 1, "feed_forward": 8},
    "segmentation": {"kind": "none"},
    "training": {"batch_size": 16, "passes": 2, "validate_every": 3, "warmup": 2},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return toys.training_home(tmp_path, TINY)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trained model, which no test changes."""
    folder = toys.training_home(tmp_path_factory.mktemp("first"), TINY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translator, "product_type", lambda device: torch.float32)
        (folder / "said").write_text(train(folder).stderr)
    return folder


def train(home: Path, *more: object, pairs: bool = True, code: int = 0) -> Result:
    arguments = ["-o", home / "model", "--languages", "aa,ba", "--threads", 1]
    arguments += ["--development", home / "dev.tsv", "--settings", home / "settings.json"]
    arguments += ["--pairs", home / "train.tsv"] if pairs else []
    result = invoke(main, *arguments, *more, code=code)
    assert result.stdout == ""
    return result


def test_a_model_is_written_with_all_it_needs(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its error is the cross-entropy of a subword of the development pairs."""
    monkeypatch.setattr(translator, "product_type", lambda device: torch.float32)  # as it trained
    said, model = (first / "said").read_text(), load_translator(first / "model")
    assert "cross-entropy" in said and "parameters" in said
    assert model.processor.languages == ("aa", "ba")
    files = {path.name for path in (first / "model").iterdir()}
    assert files == {"config.json", "digests.json", "segmenter.json", "segmenter.model",
                     "training.json", "translator.safetensors", "vocabulary.tsv"}  # fmt: skip
    kept = json.loads((first / "model" / "training.json").read_text())
    assert kept["normalisation"]["lowercase"] is False
    assert kept["material"]["pairs"] == [["train.tsv", None, 1.0]]
    assert str(first) not in (first / "model" / "training.json").read_text()
    assert [row["update"] for row in kept["validation"]][-1] <= 8
    rows = [line.split("\t") for line in (first / "dev.tsv").read_text().splitlines()]
    sources, targets = ([row[side] for row in rows] for side in (0, 1))
    means = model.log_probabilities(sources, targets)
    steps = [len(target.split()) + 1 for target in targets]
    assert len(set(steps)) > 1
    total = sum(mean * count for mean, count in zip(means, steps, strict=True)) / sum(steps)
    assert min(row["error"] for row in kept["validation"]) == pytest.approx(-total, abs=1e-5)
    assert abs(means.mean() - total) > 1e-4


def tensors(home: Path) -> bytes:
    return (home / "model" / "translator.safetensors").read_bytes()


def test_the_settings_of_a_model_make_it_again(first: Path, home: Path) -> None:
    (home / "settings.json").write_bytes((first / "model" / "training.json").read_bytes())
    train(home, "--parallel", home / "train.a", home / "train.b", pairs=False)
    assert tensors(home) == tensors(first)


def test_other_data_cannot_resume(home: Path) -> None:
    (home / "v.vec").write_text("a1 1 2 3 4 5 6 7 8\n")
    more = ["--embeddings", home / "v.vec"]
    with pytest.MonkeyPatch.context() as patch:
        stopped = Mock(side_effect=[*5 * [{"translation": 1.0}], KeyboardInterrupt])
        patch.setattr("bitextfilter.training.loop.update", stopped)
        train(home, *more, code=130)
    train(home, *more, "--set", "training.passes=3", "--resume", code=78)
    for name in ("train.tsv", "dev.tsv", "v.vec"):
        before = (home / name).read_bytes()
        (home / name).write_bytes(2 * before)
        result = train(home, *more, "--resume", code=78)
        assert f"is of another run: the content of {name} was " in result.stderr.splitlines()[-1]
        (home / name).write_bytes(before)
    train(home, *more, "--resume")


@pytest.mark.parametrize("architecture", ["transformer", "recurrent"])
def test_vectors_are_a_start(home: Path, architecture: str) -> None:
    shape = TINY["shape"] if architecture == "transformer" else {"width": 8, "hidden": 4}
    more = ["--architecture", architecture, "--set", f"shape={json.dumps(shape)}",
            "--set", "training.learning_rate=1e-9"]  # fmt: skip
    (home / "v.vec").write_text("a1 1 2 3 4 5 6 7 8\nb1 8 7 6 5 4 3 2 1\nc 0 0 0 0 0 0 0 0\n")
    result = train(home, *more, "--embeddings", home / "v.vec")
    assert "initial vectors of 2 of " in result.stderr
    model = load_translator(home / "model")
    place = model.processor.vocabulary.index["b1"]
    assert model.network.table.weight[place].tolist() == pytest.approx([*range(8, 0, -1)], rel=0.01)
    kept = json.loads((home / "model" / "training.json").read_text())
    assert kept["material"]["vectors"] == "v.vec"


def test_the_recurrent_architecture_int8_and_the_other_direction(home: Path) -> None:
    shape = json.dumps({"width": 8, "hidden": 4})
    train(home, "--architecture", "recurrent", "--set", f"shape={shape}", "--quantise",
          "--scol", 2, "--tcol", 1, "--dev-scol", -1, "--dev-tcol", 1)  # fmt: skip
    translator = load_translator(home / "model")
    found = translator.translate(["b1 b2"])[0]
    assert found.hypotheses
    pieces = json.loads((home / "model" / "config.json").read_text())["translator"]
    assert pieces["architecture"] == "recurrent" and pieces["decoder_layers"] == 2


CONTROLLED = ("--architecture", "controlled", "--set", 'shape={"width": 8, "hidden": 4}')


@pytest.fixture
def parsed(home: Path) -> Path:
    """Parses stand in the third column, and in the first of the development pairs."""
    for name in ("train", "dev"):
        rows = (home / f"{name}.tsv").read_text().splitlines()
        parses = [f"(ROOT (S (NP (X a)) {'(VP b)' * (i % 3)}))" for i in range(len(rows))]
        cells = [row.split("\t") for row in rows]
        table = [
            "\t".join([*row, parse] if name == "train" else [parse, *row])
            for row, parse in zip(cells, parses, strict=True)
        ]
        (home / f"{name}.tsv").write_text("".join(f"{row}\n" for row in table))
    return home


def test_the_controlled_architecture(parsed: Path) -> None:
    columns = ("--template-column", 3, "--dev-scol", 2, "--dev-tcol", 3, "--dev-template-column", 1)
    train(parsed, *CONTROLLED, *columns, "--set", "shape.symbols=5")
    config = json.loads((parsed / "model" / "config.json").read_text())
    assert config["templates"] == ["(", ")", "NP"]  # S and NP are as frequent
    first = model_digest(parsed / "model")
    (parsed / "settings.json").write_bytes((parsed / "model" / "training.json").read_bytes())
    train(parsed, *columns)
    assert model_digest(parsed / "model") == first
    translator = load_translator(parsed / "model")
    assert translator.translate(["a1"], None, ["( S ( NP ) )"])[0].hypotheses


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (CONTROLLED, 78, "needs a column of parses"),
        (("--template-column", 3), 78, "follows no templates"),
        ((*CONTROLLED, "--template-column", 1, "--dev-template-column", 1), 65, "outside its"),
        ((*CONTROLLED, "--template-column", 4), 65, "expected at least 4 (--template-column 4)"),
        (("--dev-template-column", 1), 2, "goes with --template-column"),
        ((*CONTROLLED, "--template-column", 3), 65, "dev.tsv:1: "),
        ((*CONTROLLED, "--template-column", 3, "--dev-template-column", 1, "--parallel"), 78,
         "needs a column of parses"),
    ],
)  # fmt: skip
def test_templates_that_are_wrong(
    parsed: Path, more: tuple[object, ...], code: int, said: str
) -> None:
    (parsed / "settings.json").write_text(json.dumps({**TINY, "shape": {}}))
    plain = (parsed / "train.a", parsed / "train.b") if "--parallel" in more else ()
    columns = (*more, *plain, "--dev-scol", 2, "--dev-tcol", 3)
    result = train(parsed, *columns, pairs=not plain, code=code)
    assert said in result.stderr.splitlines()[-1]


def test_validation_by_bleu(home: Path) -> None:
    pytest.importorskip("sacrebleu")
    assert "100 - BLEU = " in train(home, "--set", "training.validation=bleu").stderr


def test_validation_by_bleu_needs_sacrebleu(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    result = train(home, "--set", "training.validation=bleu", code=69)
    assert "bitextfilter[bleu]" in result.stderr
    assert "no training pairs" in train(home, pairs=False, code=2).stderr
    assert not (home / "model").exists()


RANDOM = np.random.default_rng(1)
LINES = [
    " ".join(f"a{n}" for n in RANDOM.integers(0, 20, RANDOM.integers(1, 9))) for _ in range(12)
]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text, (name, shape) = processor(), CASES[3]
    path = tmp_path_factory.mktemp("models") / "toy"
    with writing_folder(path) as draft:
        made = network(name, shape, len(text.vocabulary))
        TRANSLATORS.save(draft, (name, TRANSLATORS.settings(name, shape)), made, text)
    return path


def call(folder: Path, *words: object, data: bytes = TEXT, code: int = 0) -> Result:
    return invoke(translate, "--model", folder, "--max-length", 12, *words, data=data, code=code)


def test_one_line_for_each_line_in_order(folder: Path) -> None:
    result = call(folder)
    lines = result.stdout.split("\n")
    assert len(lines) == len(LINES) + 1 and all(lines[:-1]) and not lines[-1]
    translator = load_translator(folder)
    for line, written in zip(LINES, lines, strict=False):
        alone = call(folder, data=f"{line}\n".encode()).stdout
        assert alone == f"{written}\n"
        assert translator.translate([line])[0].hypotheses
    assert "12 rows, 0 rejected, 0 overlong, " in result.stderr
    assert f"model toy {model_digest(folder)}" in result.stderr


@pytest.mark.parametrize("more", [(), ("--beam", 1), ("--n-best", 3, "--digits", 9), ("--sample",)])
def test_nothing_depends_on_the_window_or_the_threads(
    folder: Path, more: tuple[object, ...]
) -> None:
    first = call(folder, *more, "--threads", 1).stdout
    for batch in (1, 5):
        assert call(folder, *more, "--batch-size", batch, "--threads", 2).stdout == first


def test_the_best_few_are_distinct_and_sorted(folder: Path) -> None:
    rows = [line.split("\t") for line in call(folder, "--n-best", 4).stdout.splitlines()]
    plain = call(folder).stdout.splitlines()
    for number, group in groupby(rows, key=lambda row: int(row[0])):
        some = list(group)
        assert [row[1] for row in some] == [str(i) for i in range(1, len(some) + 1)]
        scores = [float(row[2]) for row in some]
        assert scores == sorted(scores, reverse=True) and max(scores) < 0
        assert len({row[3] for row in some}) == len(some) <= 4
        assert some[0][3] == plain[number - 1]
    assert {int(row[0]) for row in rows} == set(range(1, 13))
    translator = load_translator(folder)
    costs = translator.log_probabilities([LINES[int(r[0]) - 1] for r in rows], [r[3] for r in rows])
    np.testing.assert_allclose([float(row[2]) for row in rows], costs, atol=1e-4)


def test_odd_lines_keep_their_places(folder: Path) -> None:
    data = b"\xef\xbb\xbfa1\r\n\n \xc2\xa0\n" + b"a2 " * 15 + b"\na3"
    result = call(folder, data=data)
    lines = result.stdout_bytes.split(b"\n")
    assert [bool(line.strip(b"\r")) for line in lines] == [True, False, False, True, True]
    assert lines[0].startswith(b"\xef\xbb\xbf") and lines[0].endswith(b"\r")
    assert "line 4: its end (3 subwords) was not read (--max-length)" in result.stderr
    assert "1 overlong" in result.stderr
    rows = call(folder, "--n-best", 2, data=data).stdout_bytes.split(b"\n")
    assert rows[2:4] == [b"2\t1\t\t", b"3\t1\t\t"] and rows[-1] == b""


def test_only_some_overlong_lines_are_named(folder: Path) -> None:
    """And translations that do not end are counted; a rejected last line is a blank one."""
    stderr = call(folder, data=(b"a2 " * 15 + b"\n") * 9).stderr
    assert stderr.count("was not read") == 5 and "9 overlong" in stderr
    found = load_translator(folder).translate(LINES, SearchSettings(5, 12))
    number = sum(not row.hypotheses[0].whole for row in found)
    assert 0 < number < len(LINES)
    assert f" {number} unfinished, " in call(folder).stderr
    result = call(folder, "--on-error", "reject", data=b"a1\n\xff")
    assert (result.stdout.count("\n"), result.stdout[-2:]) == (2, "\n\n")
    assert not call(folder, data=b"a1\na2").stdout.endswith("\n")


def test_samples_follow_the_seed(folder: Path, tmp_path: Path) -> None:
    facts = ("--manifest", tmp_path / "m.json")
    one, same, other = (call(folder, "--sample", "--seed", s, *facts).stdout for s in (1, 1, 2))
    assert one == same != other
    few = call(folder, "--sample", "--n-best", 3, "--temperature", 0.5).stdout.splitlines()
    assert 12 < len(few) <= 36
    told = json.loads((tmp_path / "m.json").read_text())
    assert model_digest(folder) in json.dumps(told) and told["counts"]["rows"] == 12


@pytest.mark.parametrize(
    "more",
    [("--n-best", 6, "--beam", 3), ("--sample", "--beam", 2), ("--seed", 3), ("--temperature", 2),
     ("--beam", 0), ("--sample", "--temperature", 0)],
)  # fmt: skip
def test_options_that_contradict_each_other(folder: Path, more: tuple[object, ...]) -> None:
    assert call(folder, *more, code=2).stdout == ""


def test_what_is_no_translator_is_said_to_be_none(tmp_path: Path) -> None:
    assert "no model here" in call(tmp_path, code=66).stderr
    stderr = call(toy_model(tmp_path / "encoder"), code=65).stderr
    assert "no translator; bitext-train-translator makes one" in stderr
