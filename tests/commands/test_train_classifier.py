"""bitext-train-classifier through its streams, on the toy languages."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from toys import as_older, sentences, toy_model

import bitextfilter
from bitextfilter.commands.train_classifier import main
from bitextfilter.io.records import write_digests
from bitextfilter.pairs.classifier import load_classifier
from bitextfilter.pairs.word_classifier import WordClassifier
from bitextfilter.scoring.model import Model, load
from bitextfilter.settings import current_names
from bitextfilter.training.classifier_training import ClassifierConfig
from bitextfilter.training.encoder_training import join_models

QUICK = ("--set", "hidden=32", "--set", "training.epochs=8", "--threads", "1", "--device", "cpu")


def write(path: Path, pairs: Sequence[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{one}\t{other}\n" for one, other in pairs), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, translations, and a corpus of which half are strangers."""
    folder = tmp_path_factory.mktemp("data")
    toy_model(folder / "model", classifier=False)
    write(folder / "clean.tsv", list(zip(*sentences(300, seed=3), strict=True)))
    sources, targets = sentences(600, seed=4)
    strangers = [*targets[1:300], targets[0], *targets[300:]]
    write(folder / "noisy.tsv", list(zip(sources, strangers, strict=True)))
    return folder


def train(*words: str | Path, text: str = "") -> Result:
    return CliRunner().invoke(main, [*map(str, words), *QUICK], input=text)


def tells_apart(model: Path) -> bool:
    """Whether the model's mlp gives translations more than strangers."""
    sources, targets = sentences(100, seed=5)
    loaded = load(model)
    right = loaded.score(sources, targets, ("mlp",))["mlp"]
    wrong = loaded.score(sources, targets[1:] + targets[:1], ("mlp",))["mlp"]
    return bool(np.mean(right[:, None] > wrong) > 0.9)


@pytest.mark.gate(3)
@pytest.mark.parametrize("negatives", ["worst", "worst:60%", "random", "given", "repaired"])
@pytest.mark.parametrize("features", ["products", "concatenation"])
def test_negatives(data: Path, tmp_path: Path, negatives: str, features: str) -> None:
    noisy = () if negatives == "repaired" else ("--noisy", data / "noisy.tsv")
    words = ("--negatives", negatives, "--set", f"features={features}", "--model", data / "model")
    done = train(data / "clean.tsv", *noisy, *words, "-o", tmp_path / "new", "-q", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    expected = 600 if negatives == "given" else 300
    assert (record["positives"], record["negatives"]) == (300, expected)
    assert record == json.loads((tmp_path / "new/classifier.json").read_text(encoding="utf-8"))
    if (negatives, features) in (("worst", "products"), ("repaired", "products")):
        assert record["report"]["after"]["auc"] > 0.9
        assert tells_apart(tmp_path / "new")


def test_words_are_read(data: Path, tmp_path: Path) -> None:
    noisy = ("--noisy", data / "noisy.tsv", "--negatives", "given", "--quantise", "--json", "-q")
    options = ("--kind", "words", "--set", "width=16", "--model", data / "model")
    done = train(data / "clean.tsv", *noisy, *options, "-o", tmp_path / "new")
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout)["settings"]["kind"] == "words"
    config = json.loads((tmp_path / "new/config.json").read_text(encoding="utf-8"))
    section = config["classifier"]
    assert (section["kind"], section["width"], section["hidden"]) == ("words", 16, 32)
    assert tells_apart(tmp_path / "new")


def mean_score(model: Model, pairs: list[tuple[str, str]]) -> float:
    return float(np.mean(model.score(*zip(*pairs, strict=True), ("mlp",))["mlp"]))


@pytest.mark.gate("words")
@pytest.mark.parametrize("kind", ["sentences", "words"])
def test_what_is_nearly_a_translation_counts_as_part_of_one(
    data: Path, tmp_path: Path, kind: str
) -> None:
    """Pairs with a word left out are negatives like others, or nearly translations."""
    sources, targets = sentences(300, seed=11)
    short = [
        (text, " ".join(other.split()[1:])) for text, other in zip(sources, targets, strict=True)
    ]
    nearly = write(tmp_path / "nearly.tsv", short)
    noisy = ("--noisy", data / "noisy.tsv", "--negatives", "given", "--kind", kind, "--json")
    given = (data / "clean.tsv", *noisy, "--nearly", nearly, "--model", data / "model")
    means = []
    for quality in "0", "0.45":
        done = train(*given, "--set", f"minor_error_quality={quality}", "-o", tmp_path / quality)
        assert "300 positives, 600 negatives, 300 nearly" in done.stderr
        record = json.loads(done.stdout)
        assert (record["nearly"], record["settings"]["minor_error_quality"]) == (
            300,
            float(quality),
        )
        model = load(tmp_path / quality)
        assert (
            model.classifier is not None
            and model.classifier.settings.minor_error_quality == float(quality)
        )
        means.append(mean_score(model, short))
    assert means[0] + 0.05 < means[1] < 0.75
    assert means[1] < mean_score(model, list(zip(sources, targets, strict=True)))


def test_a_pair_counts_once_as_the_best_that_it_is_said_to_be(data: Path, tmp_path: Path) -> None:
    clean, noisy = data / "clean.tsv", data / "noisy.tsv"
    model = ("--model", data / "model", "-o", tmp_path / "new")
    given = (clean, "--noisy", noisy, "--negatives", "given", *model)
    done = train(*given, "--nearly", clean, "--json")
    assert "300 positives, 600 negatives, 0 nearly" in done.stderr
    classifier = load(tmp_path / "new").classifier
    assert classifier is not None and classifier.settings.minor_error_quality == 0
    assert json.loads(done.stdout)["settings"]["minor_error_quality"] == 0
    done = train(*given, "--nearly", noisy)
    assert "300 positives, 0 negatives, 600 nearly" in done.stderr
    one, other = (write(tmp_path / name, [(f"a1 {name}", "b1")]) for name in ("one", "other"))
    done = train(*given, "--nearly", one, "--nearly", other)
    assert "300 positives, 600 negatives, 2 nearly" in done.stderr
    classifier = load(tmp_path / "new").classifier
    assert classifier is not None and classifier.settings.minor_error_quality == 0.01
    record = json.loads((tmp_path / "new/classifier.json").read_text(encoding="utf-8"))
    kept, offset = record["settings"]["training"], record["report"]["offset"]
    assert (kept["logit_scale"], kept["logit_bias"]) == (1, 0)
    weights = ("--set", "training.logit_scale=1.6", "--set", "training.logit_bias=1.5", "--json")
    done = train(*given, "--nearly", one, "--nearly", other, *weights)
    kept = json.loads(done.stdout)
    chosen = kept["settings"]["training"]
    assert (chosen["logit_scale"], chosen["logit_bias"]) == (1.6, 1.5)
    weighed = load(tmp_path / "new").classifier
    assert weighed is not None
    torch.testing.assert_close(
        1.6 * classifier.output_layer.weight[0], weighed.output_layer.weight[0]
    )
    torch.testing.assert_close(
        1.6 * (classifier.output_layer.bias[0] - offset + 1.5),
        weighed.output_layer.bias[0] - kept["report"]["offset"],
    )


def test_settings_by_their_former_names_are_read(data: Path, tmp_path: Path) -> None:
    """Files and --set of earlier versions mean the same; the last of two names of one counts."""
    file = tmp_path / "settings.json"
    file.write_text('{"worth": 0.3, "training": {"sharpness": 2, "lenience": 0.5, "epochs": 1}}')
    given = (data / "clean.tsv", "--negatives", "repaired", "--nearly", data / "noisy.tsv")
    words = ("--model", data / "model", "-o", tmp_path / "new", "--settings", file, "--json")
    kept = json.loads(train(*given, *words, "--set", "training.logit_bias=1").stdout)["settings"]
    assert (kept["minor_error_quality"], "worth" in kept) == (0.3, False)
    assert (kept["training"]["logit_scale"], kept["training"]["logit_bias"]) == (2, 1)
    assert not {"sharpness", "lenience"} & set(kept["training"])


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("words", "features=concatenation"),
        ("words", "surface=false"),
        ("sentences", "width=8"),
        ("sentences", "bigrams=8"),
        ("sentences", "training.word_dropout=0.2"),
        ("sentences", "training.precision=bfloat16"),
        ("sentences", "training.bigram_dropout=0.2"),
    ],
)
def test_a_setting_of_the_other_kind_is_refused(
    data: Path, tmp_path: Path, kind: str, setting: str
) -> None:
    words = (data / "clean.tsv", "--negatives", "repaired", "--model", data / "model")
    done = train(*words, "--kind", kind, "--set", setting, "-o", tmp_path / "new")
    assert done.exit_code == 78
    assert f"{setting.partition('=')[0]}" in done.stderr and "has no effect" in done.stderr


def test_no_bigrams_are_hidden_where_none_are_counted(data: Path, tmp_path: Path) -> None:
    words = (data / "clean.tsv", "--negatives", "repaired", "--model", data / "model")
    sets = ("--kind", "words", "--set", "bigrams=0", "--set", "training.bigram_dropout=0.2")
    done = train(*words, *sets, "-o", tmp_path / "new")
    assert (done.exit_code, "no effect with bigrams=0" in done.stderr) == (78, True)


def test_a_noisy_corpus_is_counted_once(data: Path, tmp_path: Path) -> None:
    noisy = write(tmp_path / "noisy.tsv", list(zip(*sentences(200, seed=6), strict=True)))
    noisy.write_text(noisy.read_text() + "alone\n")
    words = ("--model", data / "model", "-o", tmp_path / "new", "--on-error", "reject")
    done = train(data / "clean.tsv", "--noisy", noisy, *words)
    assert "501 rows, 1 rejected, 300 positives, 200 negatives" in done.stderr


def test_table(data: Path, tmp_path: Path) -> None:
    words = ("--count", "100", "--model", data / "model", "-o", tmp_path / "new")
    done = train(data / "clean.tsv", "--negatives", "repaired", *words)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["held-out pairs", "before", "after"]
    names = [row[0] for row in rows]
    assert names[1:5] == ["accuracy", "auc", "calibration error", "positives 0.0-0.1"]
    assert names[-3:] == ["negatives 0.9-1.0", "offset", "temperature"]
    cells = {row[0]: row[1:] for row in rows[1:]}
    for column in (0, 1):
        counted = {
            kind: sum(int(cells[name][column]) for name in names if name.startswith(kind))
            for kind in ("positives", "negatives")
        }
        assert counted["positives"] > counted["negatives"] > 0
    assert ": tuning loss" in done.stderr
    assert "300 positives, 100 negatives" in done.stderr


@pytest.mark.usefixtures("slow")
def test_a_long_epoch_says_how_far_it_is(data: Path, tmp_path: Path) -> None:
    words = (data / "clean.tsv", "--noisy", data / "noisy.tsv", "--model", data / "model")
    quick = ("--set", "training.epochs=2", "--set", "training.batch_size=100")
    done = CliRunner().invoke(main, [*map(str, (*words, "-o", tmp_path / "new", *quick))])
    told = [line for line in done.stderr.splitlines() if re.search(r"\d of \d+ updates, ", line)]
    assert len(told) == 2 * 5
    assert re.fullmatch(r"bitext-train-classifier: 1 of 10 updates, classification .*", told[0])
    one, last = [
        line for line in done.stderr.splitlines() if re.search(r": update \d+ of 10", line)
    ]
    assert ": update 5 of 10: tuning loss" in one and one.endswith(", 1 min left")
    assert ": update 10 of 10: tuning loss" in last and "left" not in last
    assert train(*words, "-o", tmp_path / "quiet", "-q").stderr == ""


def test_the_same_again_and_everything_else_kept(data: Path, tmp_path: Path) -> None:
    words = (data / "clean.tsv", "--negatives", "repaired", "--model", data / "model", "-q")
    for name in ("one", "two"):
        assert train(*words, "-o", tmp_path / name).exit_code == 0
    assert load(tmp_path / "one").digest == load(tmp_path / "two").digest
    for file in (data / "model").iterdir():
        if file.name not in ("config.json", "digests.json"):
            assert (tmp_path / "one" / file.name).read_bytes() == file.read_bytes()


def test_the_last_epoch_can_be_kept(data: Path, tmp_path: Path) -> None:
    words = (data / "noisy.tsv", "--negatives", "repaired", "--model", data / "model", "--json")
    rate = ("--set", "training.learning_rate=0.01")
    after: dict[str, int] = {}
    for keep in ("best", "last"):
        done = train(*words, *rate, "--set", f"training.keep={keep}", "-o", tmp_path / keep)
        report = json.loads(done.stdout)["report"]
        after[keep] = len(report["tuning_losses"]) - report["epoch"]
    assert after == {"best": 3, "last": 0}, "patience"


def test_int8_is_smaller_and_scores_alike(data: Path, tmp_path: Path) -> None:
    words = (data / "clean.tsv", "--negatives", "repaired", "--model", data / "model", "-q")
    assert train(*words, "-o", tmp_path / "whole").exit_code == 0
    assert train(*words, "-o", tmp_path / "small", "--quantise").exit_code == 0
    sizes = [(tmp_path / n / "classifier.safetensors").stat().st_size for n in ("whole", "small")]
    assert sizes[1] < 0.5 * sizes[0]
    sides = sentences(50, seed=6)
    whole, small = (load(tmp_path / n).score(*sides, ("mlp",))["mlp"] for n in ("whole", "small"))
    assert np.abs(whole - small).max() < 0.05


def test_in_place(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    as_older(shutil.copytree(data / "model", model))
    words = (data / "clean.tsv", "--negatives", "repaired", "--model", model, "-q", "--in-place")
    before = load(model)
    assert before.classifier is None
    (model / "thresholds.json").write_text('{"format": 1, "thresholds": []}')
    assert train(*words).exit_code == 0
    assert not (model / "thresholds.json").exists()
    assert load(model).classifier is not None
    assert load(model).digest != before.digest
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_columns_files_and_rejected_rows(data: Path, tmp_path: Path) -> None:
    pairs = [line.split("\t") for line in (data / "clean.tsv").read_text().splitlines()]
    turned = write(tmp_path / "turned.tsv", [("ba", "aa"), *((b, a) for a, b in pairs[:100])])
    bad = write(tmp_path / "bad.tsv", [("ba", "aa"), *((b, a) for a, b in pairs[100:])])
    bad.write_text(bad.read_text() + "alone\n")
    columns = ("--header", "--scol", "aa", "--tcol", "ba")
    words = (turned, bad, "--negatives", "repaired", "--model", data / "model", "--json", *columns)
    failed = train(*words, "-o", tmp_path / "new")
    assert (failed.exit_code, failed.stdout) == (65, "")
    assert "bad.tsv:202: 1 column" in failed.stderr
    assert not (tmp_path / "new").exists()
    done = train(*words, "-o", tmp_path / "new", "--on-error", "reject")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["positives"] == 300
    assert "1 rejected" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--negatives worst -o new", "--noisy"),
        ("--negatives repaired --noisy x -o new", "--noisy"),
        ("--noisy x -o new --negatives given --count 9", "--count has no"),
        ("--noisy - -o new", "stdin"),
        ("--noisy x -o new --set minor_error_quality=0.3", "--nearly"),
        ("--noisy x -o new --set training.logit_scale=2", "--nearly"),
        ("--noisy x -o new --set training.logit_bias=2", "--nearly"),
        (
            "--noisy x -o new --nearly x --set minor_error_quality=0 --set training.logit_bias=1",
            "training.logit_bias has no effect without minor_error_quality above 0",
        ),
        ("- --noisy x -o new --nearly -", "stdin"),
        ("--negatives repaired -o new --text x", "--text has no effect without"),
        ("--negatives repaired", "--in-place"),
        ("--negatives repaired -o new --seed -1", "--seed"),
        ("--negatives repaired -o new --in-place", "--in-place"),
    ],
)
def test_options_that_do_not_go_together(data: Path, words: str, message: str) -> None:
    failed = train(data / "clean.tsv", "--model", data / "model", *words.split())
    assert (failed.exit_code, message in failed.stderr) == (2, True)


def test_what_cannot_be_done(data: Path, tmp_path: Path) -> None:
    words = ("--model", data / "model", "-o", tmp_path / "new", "--negatives")
    clean = data / "clean.tsv"
    (tmp_path / "empty").touch()
    assert train(clean, *words, "best").exit_code == 78
    assert train(tmp_path / "empty", *words, "repaired").exit_code == 65
    assert train(clean, *words, "worst", "--noisy", tmp_path / "empty").exit_code == 65
    assert train(clean, *words, "worst", "--noisy", tmp_path / "missing").exit_code == 66
    nearly = ("--noisy", tmp_path / "empty", "--nearly", tmp_path / "missing")
    assert train(clean, *words, "worst", *nearly).exit_code == 66
    assert (
        train(clean, *nearly, *words, "worst", "--set", "minor_error_quality=0.5").exit_code == 78
    )
    few = write(tmp_path / "few.tsv", [("a1", "b1"), ("a2", "b2")])
    failed = train(few, *words, "repaired")
    assert (failed.exit_code, "too few pairs" in failed.stderr) == (65, True)
    assert not (tmp_path / "new").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").touch()
    assert (
        train(clean, *words[:2], "-o", tmp_path / "mine", "--negatives", "repaired").exit_code == 74
    )
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]


def test_a_folder_that_is_none_of_ours_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    result = CliRunner().invoke(main, ["--negatives", "repaired", "-o", str(tmp_path), "none.tsv"])
    assert result.exit_code == 74
    assert "name another" in result.stderr


def test_the_record_of_a_training_is_settings_of_another(data: Path, tmp_path: Path) -> None:
    words = (data / "clean.tsv", "--negatives", "repaired", "--model", data / "model", "-q")
    more = ("--set", "training.dropout=0.3", "--seed", "2")
    assert "training.dropout is no setting; did you mean word_dropout?" in (
        train(*words, *more, "-o", tmp_path / "none").stderr
    )
    assert train(*words, "--set", "training.vector_noise=1", "--seed", "2", "-o",
                 tmp_path / "one").exit_code == 0  # fmt: skip
    assert train(*words, "--settings", tmp_path / "one/classifier.json", "-o",
                 tmp_path / "two").exit_code == 0  # fmt: skip
    assert load(tmp_path / "one").digest == load(tmp_path / "two").digest


def test_the_settings_of_shipped_classifiers_are_taken() -> None:
    for path in (Path(bitextfilter.__file__).parent / "pretrained").glob("*/classifier.json"):
        kept = json.loads(path.read_text())
        plan = ClassifierConfig.from_dict(kept["settings"], kind=kept["settings"]["kind"])
        training = dataclasses.asdict(plan)["training"]
        assert training | current_names(kept["settings"]["training"]) == training


WORDS = ("--kind", "words", "--negatives", "repaired", "--set", "width=8")


def test_a_classifier_is_trained_further(data: Path, tmp_path: Path) -> None:
    """By hardly any training on, a model with the same first encoder scores as well."""
    first = tmp_path / "first"
    assert train(*WORDS, "--model", data / "model", "-o", first, data / "clean.tsv").exit_code == 0
    toy_model(tmp_path / "second", classifier=False, dim=24, recurrent=True)
    join_models((first, tmp_path / "second"), 0.2, [], tmp_path / "both")
    slow = ("--set", "training.learning_rate=1e-9", "--model", tmp_path / "both")
    options = (*WORDS, *slow, "-o", tmp_path / "new", data / "clean.tsv")
    result = train("--start", first, *options)
    assert result.exit_code == 0, result.stderr
    record = json.loads((tmp_path / "new" / "classifier.json").read_text())
    assert record["settings"]["start"] == "first"
    assert load(tmp_path / "new").encoder.dim == load(first).encoder.dim + 24
    assert tells_apart(tmp_path / "new")
    shutil.rmtree(tmp_path / "new")
    assert train(*options).exit_code == 0  # with nothing to start from, nothing is learnt
    assert not tells_apart(tmp_path / "new")


def test_the_words_of_more_text_are_counted(data: Path, tmp_path: Path) -> None:
    """Once a sentence: text that repeats the translations counts nothing."""
    text = write(tmp_path / "more.tsv", list(zip(*sentences(500, seed=9), strict=True)))
    quick = (*WORDS, "--set", "training.epochs=1", "--set", "bigrams=4096")
    quick = (*quick, "--model", data / "model")
    counts, levels = [], []
    for number, more in enumerate(((), (data / "clean.tsv",), (data / "clean.tsv", text))):
        output = tmp_path / str(number)
        files = [word for path in more for word in ("--text", path)]
        done = train(*quick, *files, "-o", output, data / "clean.tsv")
        assert done.exit_code == 0, done.stderr
        kept = load_classifier(output)
        assert isinstance(kept, WordClassifier) and kept.bigrams is not None
        counts.append(int(kept.counts.sum()))
        levels.append(int((kept.bigrams & 3).sum()))
    assert counts[0] == counts[1] < counts[2]
    assert levels[0] == levels[1] < levels[2]
    assert json.loads((output / "classifier.json").read_text())["text"] == 800


def test_start_needs_a_classifier_of_the_same_kind(data: Path, tmp_path: Path) -> None:
    """That is told before any pair is encoded; one of sentences has no wider copy."""
    start, output = toy_model(tmp_path / "start"), tmp_path / "new"
    result = train(*WORDS, "--start", start, "--model", start, "-o", output, data / "clean.tsv")
    assert (result.exit_code, output.exists()) == (78, False)
    assert "its classifier is of sentences, not words" in result.stderr
    join_models((start, start), 0.2, [], tmp_path / "both")
    words = ("--negatives", "repaired", "--start", start, "--model", tmp_path / "both")
    result = train(*words, "-o", output, data / "clean.tsv")
    assert (result.exit_code, output.exists()) == (78, False)
    assert "only a classifier of words can be carried to one" in result.stderr


def test_the_start_has_no_share_without_a_start(data: Path, tmp_path: Path) -> None:
    words = (data / "clean.tsv", "--negatives", "repaired", "--model", data / "model")
    done = train(*words, "--set", "training.start_share=0.3", "-o", tmp_path / "new")
    assert done.exit_code == 2
    assert "training.start_share has no effect without --start" in done.stderr


@pytest.mark.gate(0)
def test_a_classifier_is_carried_to_another_encoder(data: Path, tmp_path: Path) -> None:
    """With an encoder of its own, and one language in common, a model scores as well at once."""
    first, other = tmp_path / "first", toy_model(tmp_path / "other", classifier=False, dim=24)
    assert train(*WORDS, "--model", data / "model", "-o", first, data / "clean.tsv").exit_code == 0
    slow = (*WORDS, "--set", "training.learning_rate=1e-9", "--model", other)
    options = (*slow, "--start", first, "-o", tmp_path / "new", data / "clean.tsv")
    result = train("--set", "training.start_share=0.5", *options)
    assert result.exit_code == 78
    assert "another encoder: leave out training.start_share" in result.stderr
    result = train(*options)
    assert result.exit_code == 0, result.stderr
    assert tells_apart(tmp_path / "new")


def test_a_classifier_is_carried_where_languages_are_shared(data: Path, tmp_path: Path) -> None:
    other = toy_model(tmp_path / "other", classifier=False, dim=24)
    assert train(*WORDS, "--in-place", "--model", other, data / "clean.tsv").exit_code == 0
    config = (other / "config.json").read_text()
    (other / "config.json").write_text(config.replace('"aa"', '"fi"').replace('"ba"', '"et"'))
    write_digests(other)
    for start, message in ((data / "model", "it has no classifier"), (other, "no language in")):
        options = ("--start", start, "--model", data / "model", "-o", tmp_path / "new")
        kind = WORDS if start == other else WORDS[2:4]
        result = train(*options, *kind, data / "clean.tsv")
        assert result.exit_code == 78, result.stderr
        assert message in result.stderr


def test_sides_that_are_exchanged_are_refused(data: Path, tmp_path: Path) -> None:
    words = ("--negatives", "repaired", "--model", data / "model", "-o", tmp_path / "new")
    done = train(data / "clean.tsv", *words, "--languages", "ba,aa")
    assert done.exit_code == 78
    assert "a classifier of model reads aa,ba in this order" in done.stderr
    assert not (tmp_path / "new").exists()
