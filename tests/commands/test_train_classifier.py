"""bitext-train-classifier through its streams, on the toy languages."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import Result
from console import invoke, says_one_line, table
from toys import as_older, sentences, toy_model

import bitextfilter
from bitextfilter.commands.train_classifier import main
from bitextfilter.io.records import write_digests
from bitextfilter.pairs.classifier import PairClassifier, load_classifier
from bitextfilter.pairs.word_classifier import WordClassifier
from bitextfilter.scoring.model import Model, load
from bitextfilter.settings import current_names
from bitextfilter.training.classifier_training import ClassifierConfig
from bitextfilter.training.model_folders import join_models

QUICK = ("--set", "hidden=32", "--set", "training.epochs=1", "--threads", 1, "--device", "cpu")
LEARNING = ("--set", "training.epochs=8")


def write(path: Path, pairs: Sequence[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{one}\t{other}\n" for one, other in pairs), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, translations, a few of them, and a corpus with half strangers."""
    folder = tmp_path_factory.mktemp("data")
    toy_model(folder / "model", classifier=False)
    pairs = list(zip(*sentences(300, seed=3), strict=True))
    write(folder / "clean.tsv", pairs)
    write(folder / "few.tsv", pairs[:100])
    sources, targets = sentences(600, seed=4)
    strangers = [*targets[1:300], targets[0], *targets[300:]]
    write(folder / "noisy.tsv", list(zip(sources, strangers, strict=True)))
    return folder


@pytest.fixture(scope="module")
def worded(data: Path) -> Path:
    """A model whose classifier reads words, and has learnt from the corpus."""
    noisy = ("--noisy", data / "noisy.tsv", "--negatives", "given", "--quantise", "--json", "-q")
    options = ("--kind", "words", "--set", "width=16", "--model", data / "model", *LEARNING)
    done = train(data / "clean.tsv", *noisy, *options, "-o", data / "worded")
    assert done.stderr == ""
    assert json.loads(done.stdout)["settings"]["kind"] == "words"
    config = json.loads((data / "worded" / "config.json").read_text(encoding="utf-8"))
    section = config["classifier"]
    assert (section["kind"], section["width"], section["hidden"]) == ("words", 16, 32)
    assert tells_apart(data / "worded")
    return data / "worded"


def train(*words: object, code: int | None = 0) -> Result:
    """Train for one epoch, unless *words* say more."""
    return invoke(main, *QUICK, *words, code=code)


@pytest.fixture
def learn(data: Path, tmp_path: Path) -> Callable[..., Result]:
    """Train on a few translations, and write ``tmp_path / "new"``."""

    def called(*words: object, code: int | None = 0) -> Result:
        output = () if "-o" in words else ("-o", tmp_path / "new")
        few = (data / "few.tsv", "--negatives", "repaired", "--model", data / "model")
        return train(*few, *output, *words, code=code)

    return called


def tells_apart(model: Path) -> bool:
    """Whether the model's mlp gives translations more than strangers."""
    sources, targets = sentences(100, seed=5)
    loaded = load(model)
    right = loaded.score(sources, targets, ("mlp",))["mlp"]
    wrong = loaded.score(sources, targets[1:] + targets[:1], ("mlp",))["mlp"]
    return bool(np.mean(right[:, None] > wrong) > 0.9)


@pytest.mark.parametrize(
    ("negatives", "features"),
    [
        ("worst", "products"),
        ("worst:60%", "concatenation"),
        ("random", "products"),
        ("given", "products"),
        ("repaired", "products"),
    ],
)
def test_negatives(data: Path, tmp_path: Path, negatives: str, features: str) -> None:
    noisy = () if negatives == "repaired" else ("--noisy", data / "noisy.tsv")
    words = ("--negatives", negatives, "--set", f"features={features}", "--model", data / "model")
    learning = LEARNING * (negatives == "worst")
    done = train(
        data / "clean.tsv", *noisy, *words, *learning, "-o", tmp_path / "new", "-q", "--json"
    )
    assert done.stderr == ""
    record = json.loads(done.stdout)
    expected = 600 if negatives == "given" else 300
    assert (record["positives"], record["negatives"]) == (300, expected)
    assert record == json.loads((tmp_path / "new/classifier.json").read_text(encoding="utf-8"))
    if learning:
        assert record["report"]["after"]["auc"] > 0.9
        assert tells_apart(tmp_path / "new")


def mean_score(model: Model, pairs: list[tuple[str, str]]) -> float:
    return float(np.mean(model.score(*zip(*pairs, strict=True), ("mlp",))["mlp"]))


def test_what_is_nearly_a_translation_counts_as_part_of_one(data: Path, tmp_path: Path) -> None:
    """Pairs with a word left out are negatives like others, or nearly translations."""
    sources, targets = sentences(300, seed=11)
    short = [(s, " ".join(t.split()[1:])) for s, t in zip(sources, targets, strict=True)]
    nearly = write(tmp_path / "nearly.tsv", short)
    noisy = ("--noisy", data / "noisy.tsv", "--negatives", "given", "--json", *LEARNING)
    given = (data / "clean.tsv", *noisy, "--nearly", nearly, "--model", data / "model")
    means = []
    for quality in (0, 0.45):
        done = train(*given, "--set", f"minor_error_quality={quality}", "-o", tmp_path / "new")
        assert "300 positives, 600 negatives, 300 nearly" in done.stderr
        record, model = json.loads(done.stdout), load(tmp_path / "new")
        assert record["nearly"] == 300
        assert record["settings"]["minor_error_quality"] == quality
        assert model.classifier is not None
        assert model.classifier.settings.minor_error_quality == quality
        means.append(mean_score(model, short))
    assert means[0] + 0.05 < means[1] < 0.75
    assert means[1] < mean_score(model, list(zip(sources, targets, strict=True)))


def test_a_pair_counts_once_as_the_best_that_it_is_said_to_be(data: Path, tmp_path: Path) -> None:
    clean, noisy = data / "clean.tsv", data / "noisy.tsv"
    one, other = (write(tmp_path / name, [(f"a1 {name}", "b1")]) for name in ("one", "other"))

    def trained(*nearly: object) -> tuple[PairClassifier, dict[str, Any], str]:
        given = ("--noisy", noisy, "--negatives", "given", "--model", data / "model", "--json")
        done = train(clean, *given, "-o", tmp_path / "new", *nearly)
        classifier = load(tmp_path / "new").classifier
        assert isinstance(classifier, PairClassifier)
        return classifier, json.loads(done.stdout), done.stderr

    classifier, record, told = trained("--nearly", clean)
    assert "300 positives, 600 negatives, 0 nearly" in told
    assert classifier.settings.minor_error_quality == 0
    assert record["settings"]["minor_error_quality"] == 0
    assert "300 positives, 0 negatives, 600 nearly" in trained("--nearly", noisy)[2]
    both = ("--nearly", one, "--nearly", other)
    classifier, record, told = trained(*both)
    assert "300 positives, 600 negatives, 2 nearly" in told
    assert classifier.settings.minor_error_quality == 0.01
    weights = ("--set", "training.logit_scale=1.6", "--set", "training.logit_bias=1.5")
    weighed, other_record, _ = trained(*both, *weights)
    for each, chosen in ((record, (1, 0)), (other_record, (1.6, 1.5))):
        kept = each["settings"]["training"]
        assert (kept["logit_scale"], kept["logit_bias"]) == chosen
    before, after = classifier.output_layer, weighed.output_layer
    offset, new_offset = (each["report"]["offset"] for each in (record, other_record))
    torch.testing.assert_close(1.6 * before.weight[0], after.weight[0])
    torch.testing.assert_close(1.6 * (before.bias[0] - offset + 1.5), after.bias[0] - new_offset)


def test_settings_by_their_former_names_are_read(
    data: Path, tmp_path: Path, learn: Callable[..., Result]
) -> None:
    """Files and --set of earlier versions mean the same; the last of two names of one counts."""
    file = tmp_path / "settings.json"
    file.write_text('{"worth": 0.3, "training": {"sharpness": 2, "lenience": 0.5, "epochs": 1}}')
    words = ("--nearly", data / "noisy.tsv", "--settings", file, "--json")
    kept = json.loads(learn(*words, "--set", "training.logit_bias=1").stdout)["settings"]
    assert (kept["minor_error_quality"], "worth" in kept) == (0.3, False)
    assert (kept["training"]["logit_scale"], kept["training"]["logit_bias"]) == (2, 1)
    assert not {"sharpness", "lenience"} & set(kept["training"])


def test_table(tmp_path: Path, learn: Callable[..., Result]) -> None:
    done = learn("--count", 40, "--set", "training.epochs=2")
    rows = table(done)
    assert rows[0] == ["held-out pairs", "before", "after"]
    names = [row[0] for row in rows]
    assert names[1:5] == ["accuracy", "auc", "calibration error", "positives 0.0-0.1"]
    assert names[-3:] == ["negatives 0.9-1.0", "offset", "temperature"]
    for column in (1, 2):
        counted = {
            kind: sum(int(row[column]) for row in rows if row[0].startswith(kind))
            for kind in ("positives", "negatives")
        }
        assert counted["positives"] > counted["negatives"] > 0
    assert ": tuning loss" in done.stderr
    assert "100 positives, 40 negatives" in done.stderr
    assert learn("-q").stderr == ""


@pytest.mark.usefixtures("slow")
def test_a_long_epoch_says_how_far_it_is(learn: Callable[..., Result]) -> None:
    done = learn("--set", "training.epochs=2", "--set", "training.batch_size=40")
    lines = done.stderr.splitlines()
    told = [line for line in lines if re.search(r"\d of \d+ updates, ", line)]
    assert len(told) == 2 * 4
    assert re.fullmatch(r"bitext-train-classifier: 1 of 8 updates, classification .*", told[0])
    one, last = [line for line in lines if re.search(r": update \d+ of 8", line)]
    assert ": update 4 of 8: tuning loss" in one and one.endswith(", 1 min left")
    assert ": update 8 of 8: tuning loss" in last and "left" not in last


def test_the_record_of_a_training_makes_the_same_again_and_everything_else_is_kept(
    data: Path, tmp_path: Path, learn: Callable[..., Result]
) -> None:
    learn("--set", "training.vector_noise=1", "--seed", 2, "-o", tmp_path / "one")
    learn("--settings", tmp_path / "one/classifier.json", "-o", tmp_path / "two")
    assert load(tmp_path / "one").digest == load(tmp_path / "two").digest
    for file in (data / "model").iterdir():
        if file.name not in ("config.json", "digests.json"):
            assert (tmp_path / "one" / file.name).read_bytes() == file.read_bytes()


def test_int8_is_smaller_and_scores_alike(tmp_path: Path, learn: Callable[..., Result]) -> None:
    learn("-o", tmp_path / "whole")
    learn("-o", tmp_path / "small", "--quantise")
    sizes = [(tmp_path / n / "classifier.safetensors").stat().st_size for n in ("whole", "small")]
    assert sizes[1] < 0.5 * sizes[0]
    sides = sentences(50, seed=6)
    whole, small = (load(tmp_path / n).score(*sides, ("mlp",))["mlp"] for n in ("whole", "small"))
    assert np.abs(whole - small).max() < 0.05


def test_in_place(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    as_older(shutil.copytree(data / "model", model))
    before = load(model)
    assert before.classifier is None
    (model / "thresholds.json").write_text('{"format": 1, "thresholds": []}')
    train(data / "few.tsv", "--negatives", "repaired", "--model", model, "-q", "--in-place")
    assert not (model / "thresholds.json").exists()
    after = load(model)
    assert after.classifier is not None and after.digest != before.digest
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    two = write(tmp_path / "two", [("a1", "b1"), ("a2", "b2")])
    words = ("--negatives", "repaired", "--model", model, "--in-place")
    assert "too few pairs" in train(two, *words, code=65).stderr
    assert load(model).digest == after.digest


def test_columns_files_and_rejected_rows(data: Path, tmp_path: Path) -> None:
    """What is read twice of a noisy corpus is counted once."""
    pairs = [line.split("\t") for line in (data / "clean.tsv").read_text().splitlines()]
    turned = write(tmp_path / "turned.tsv", [("ba", "aa"), *((b, a) for a, b in pairs[:100])])
    bad = write(tmp_path / "bad.tsv", [("ba", "aa"), *((b, a) for a, b in pairs[100:])])
    bad.write_text(bad.read_text() + "alone\n")
    columns = ("--header", "--scol", "aa", "--tcol", "ba", "--model", data / "model", "--json")
    words = (turned, bad, *columns, "-o", tmp_path / "new", "--negatives")
    failed = train(*words, "repaired", code=65)
    assert failed.stdout == "" and "bad.tsv:202: 1 column" in failed.stderr
    assert not (tmp_path / "new").exists()
    done = train(*words, "repaired", "--on-error", "reject")
    assert json.loads(done.stdout)["positives"] == 300
    assert "1 rejected" in done.stderr
    done = train(turned, "--noisy", bad, *columns, "-o", tmp_path / "new", "--on-error", "reject")
    assert "301 rows, 1 rejected, 100 positives, 100 negatives" in done.stderr


def test_a_folder_that_is_none_of_ours_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    words = ("--negatives", "repaired", "none.tsv")
    says_one_line(train(*words, "-o", tmp_path, code=None), 74, "name another")
    assert (tmp_path / "data").read_text() == "mine"
    says_one_line(train(*words, code=None), 2, "--in-place")


def test_the_settings_of_shipped_classifiers_are_taken() -> None:
    for path in (Path(bitextfilter.__file__).parent / "pretrained").glob("*/classifier.json"):
        kept = json.loads(path.read_text())
        plan = ClassifierConfig.from_dict(kept["settings"], kind=kept["settings"]["kind"])
        training = dataclasses.asdict(plan)["training"]
        assert training | current_names(kept["settings"]["training"]) == training


WORDS = ("--kind", "words", "--negatives", "repaired", "--set", "width=8")


def test_a_classifier_is_trained_further(data: Path, worded: Path, tmp_path: Path) -> None:
    """By hardly any training on, a model with the same first encoder scores as well."""
    toy_model(tmp_path / "second", classifier=False, dim=24, recurrent=True)
    join_models((worded, tmp_path / "second"), 0.2, [], tmp_path / "both")
    slow = ("--set", "width=16", "--set", "training.learning_rate=1e-9")
    options = (*WORDS, *slow, "--model", tmp_path / "both", "-o", tmp_path / "new")
    train("--start", worded, *options, data / "few.tsv")
    record = json.loads((tmp_path / "new" / "classifier.json").read_text())
    assert record["settings"]["start"] == "worded"
    assert load(tmp_path / "new").encoder.dim == load(worded).encoder.dim + 24
    assert tells_apart(tmp_path / "new")
    shutil.rmtree(tmp_path / "new")
    train(*options, data / "few.tsv")  # with nothing to start from, nothing is learnt
    assert not tells_apart(tmp_path / "new")


def test_the_words_of_more_text_are_counted(data: Path, tmp_path: Path) -> None:
    """Once a sentence: text that repeats the translations counts nothing."""
    few, text = (
        data / "few.tsv",
        write(tmp_path / "more.tsv", list(zip(*sentences(500, 9), strict=True))),
    )
    quick = (few, *WORDS, "--set", "bigrams=4096", "--model", data / "model", "-o")
    counts, levels = [], []
    for number, more in enumerate(((), (few,), (few, text))):
        output = tmp_path / str(number)
        train(*quick, output, *(word for path in more for word in ("--text", path)))
        kept = load_classifier(output)
        assert isinstance(kept, WordClassifier) and kept.bigrams is not None
        counts.append(int(kept.counts.sum()))
        levels.append(int((kept.bigrams & 3).sum()))
    assert counts[0] == counts[1] < counts[2]
    assert levels[0] == levels[1] < levels[2]
    assert json.loads((output / "classifier.json").read_text())["text"] == 600


def test_a_start_that_cannot_be(data: Path, tmp_path: Path, learn: Callable[..., Result]) -> None:
    """That is told before any pair is encoded; one of sentences has no wider copy."""
    start = toy_model(tmp_path / "start")
    join_models((start, start), 0.2, [], tmp_path / "both")
    foreign = toy_model(tmp_path / "foreign", classifier=False, dim=24)
    train(*WORDS, "--in-place", "--model", foreign, data / "few.tsv")
    config = (foreign / "config.json").read_text()
    (foreign / "config.json").write_text(config.replace('"aa"', '"fi"').replace('"ba"', '"et"'))
    write_digests(foreign)
    for words, message in (
        ((*WORDS, "--start", start), "its classifier is of sentences, not words"),
        (("--start", start, "--model", tmp_path / "both"), "only a classifier of words can be"),
        (("--start", data / "model"), "it has no classifier"),
        ((*WORDS, "--start", foreign), "no language in"),
    ):
        says_one_line(learn(*words, code=None), 78, message)
        assert not (tmp_path / "new").exists()


@pytest.mark.gate(0)
def test_a_classifier_is_carried_to_another_encoder(
    data: Path, worded: Path, tmp_path: Path
) -> None:
    """With an encoder of its own, and one language in common, a model scores as well at once."""
    other = toy_model(tmp_path / "other", classifier=False, dim=24)
    slow = (*WORDS, "--set", "width=16", "--set", "training.learning_rate=1e-9", "--model", other)
    options = (*slow, "--start", worded, "-o", tmp_path / "new", data / "few.tsv")
    train(*options)
    assert tells_apart(tmp_path / "new")
    train("--set", "training.start_share=0.5", *options)
    assert tells_apart(tmp_path / "new")
