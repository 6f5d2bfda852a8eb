"""bitext-train-encoder: its files, settings, errors, and resuming."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import toys
from click.testing import Result
from console import ROOT, invoke

import bitextfilter
from bitextfilter.commands.frame import training
from bitextfilter.commands.train_encoder import main
from bitextfilter.encoders.registry import load_encoder
from bitextfilter.io.files import locked_if_free
from bitextfilter.models.checkpoint import load_tensors
from bitextfilter.scoring.model import load
from bitextfilter.settings import read_settings
from bitextfilter.training import runs
from bitextfilter.training.encoder_training import EncoderConfig

TINY = {
    "architecture": "autoencoder",
    "shape": {"embedding": 8, "hidden": 4},
    "segmentation": {"kind": "none", "vocabulary_size": 200},
    "training": {"batch_size": 16, "passes": 2, "validate_every": 3, "warmup": 2},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return toys.training_home(tmp_path, TINY)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of the usual options, which no test changes."""
    folder = toys.training_home(tmp_path_factory.mktemp("first"), TINY)
    (folder / "said").write_text(train(folder).stderr)
    return folder


@pytest.fixture
def trained(first: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(first, tmp_path, dirs_exist_ok=True)


def train(home: Path, *more: object, pairs: bool = True, code: int = 0) -> Result:
    arguments = ["-o", home / "model", "--languages", "aa,ba", "--threads", 1]
    arguments += ["--settings", home / "settings.json"]
    arguments += [] if "--development" in more else ["--development", home / "dev.tsv"]
    arguments += ["--pairs", home / "train.tsv"] if pairs else []
    result = invoke(main, *arguments, *more, code=code)
    assert result.stdout == ""
    return result


def test_a_model_is_written_with_all_it_needs(first: Path) -> None:
    assert "recovery error" in (first / "said").read_text()
    model = load(first / "model")
    assert model.languages == ("aa", "ba")
    assert model.background is not None
    kept = json.loads((first / "model" / "training.json").read_text())
    assert kept["training"]["batch_size"] == 16
    assert kept["material"]["pairs"] == [["train.tsv", None, 1.0]]
    assert str(first) not in (first / "model" / "training.json").read_text()
    assert [row["update"] for row in kept["validation"]][-1] <= 8
    assert {path.name for path in first.glob("*model*")} == {"model", "model.training"}


def test_help_names_columns_and_says_what_is_only_the_default() -> None:
    text = " ".join(invoke(main, "--help").stdout.split())
    for option in ("--scol", "--tcol", "--dev-scol", "--dev-tcol"):
        assert f" {option} COLUMN " in text
    assert "By default they train without a decoder: training.translation and .auto" in text


def test_the_settings_of_a_model_and_two_files_make_it_again(trained: Path) -> None:
    first, text = load(trained / "model"), toys.sentences(5, 9)[0]
    (trained / "settings.json").write_bytes((trained / "model" / "training.json").read_bytes())
    train(trained)
    assert load(trained / "model").digest == first.digest
    train(trained, "--parallel", trained / "train.a", trained / "train.b", pairs=False)
    again = load_encoder(trained / "model").encode(text, "aa")
    np.testing.assert_array_equal(first.encode(text, "aa"), again)


def test_monolingual_text_weights_and_int8_are_taken(home: Path) -> None:
    """Whole numbers may have a point."""
    more = ["--target-text", home / "dev.b", "--source-text", home / "dev.a", "--quantise"]
    sets = ("training.passes=1", "training.batch_size=8.0", "training.decode=both")
    more += [word for value in sets for word in ("--set", value)]
    result = train(home, *more, "--pairs", f"{home / 'train.tsv'}@0.5")
    assert "20 monolingual sentences of aa" in result.stderr
    assert "20 monolingual sentences of ba" in result.stderr
    assert f"{round(1.5 * 60 / 8)} updates" in result.stderr


def test_the_settings_of_a_run_of_so_many_updates_can_be_read_again() -> None:
    """As the model keeps them: passes have no effect beside updates."""
    # Four validations in each of 8.4 passes; one in each mega-batch.
    for name, interval in (("autoencoder", 2), ("word,trigram", 40)):
        values = {"architecture": name, "training": {"updates": 70}}
        fitted = EncoderConfig.from_dict(values).fitting(1000)
        assert EncoderConfig.from_dict(fitted.to_dict()).to_dict() == fitted.to_dict()
        assert fitted.training.validate_every == interval


NOISY = {
    "shape": {},
    "shape.embedding": 8,
    "architecture": "word+gran,trigram",
    "training.triplet": 1,
    "training.mega_batch": 3,
    "training.contrastive": 1,
    "training.scramble": 0.5,
    "training.dropout": 0.2,
    "training.dropout_kind": "variational",
    "training.drift": 0.1,
    "training.optimiser": "lazy-adam",
    "training.fixed_updates": 7,
    "shape.gain": 0.2,
    "shape.standardise": True,
}
HIDDEN = {
    "training.decoder_dropout": 0.3,
    "training.feed": True,
    "training.loss": "sum",
    "training.decoder_width": 5,
    "shape.pooling": "attention",
    "shape.composition": "shared",
    "shape.standardise": True,
}


@pytest.mark.gate("parts")
@pytest.mark.parametrize("settings", [HIDDEN, NOISY], ids=["hidden", "parts"])
def test_resuming_gives_the_model_of_an_uninterrupted_run(
    home: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]
) -> None:
    values = {n: str(v).lower() if isinstance(v, bool) else v for n, v in settings.items()}
    more = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    train(home, *more)
    whole = load(home / "model").digest

    class Unplug(training.TrainingReporter):
        def __call__(self, progress: object, updates: int) -> None:
            super().__call__(progress, updates)  # type: ignore[arg-type]
            if progress.update == 5:  # type: ignore[attr-defined]
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "TrainingReporter", Unplug)
        train(home, *more, code=130)
    train(home, *more, "--resume")
    assert load(home / "model").digest == whole
    (home / ".model.1.partial").mkdir()
    train(home, *more, "--resume")  # at its end: no model is written
    assert not list(home.glob(".*"))


TRIGRAM = "--set shape={} --architecture trigram "
WORD = "--set shape={} --architecture word "


@pytest.mark.parametrize(
    ("name", "text", "more", "message"),
    [
        ("train.tsv", "a1 a2\tb1 b2\na1\n", "", "train.tsv:2: 1 column"),
        ("train.tsv", "a1\tb1\na1\t\n", TRIGRAM, "train.tsv:2: the target is empty"),
        ("train.tsv", "a1\tb1\n\tb1\n", TRIGRAM, "train.tsv:2: the source is empty"),
        ("train.tsv", "a1\t \u200b\u00a0\n", TRIGRAM, "train.tsv:1: the target is empty"),
        ("train.tsv", "", "", "no pairs to train on"),
        ("dev.tsv", "", "", "dev.tsv: no pairs to validate on"),
        ("train.b", "b1\n" * 61, "--parallel train.a train.b", "train.a:61: ends here"),
        ("train.a", "a1\n\na1\n", "--parallel train.a train.b", "train.a:2: empty line"),
        ("v.vec", "a1 1 2 3\n", "--embeddings v.vec",
         "v.vec: vectors of 3 numbers, expected 8; set shape.embedding=3"),
    ],
)  # fmt: skip
def test_bad_files_are_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, more: str, message: str
) -> None:
    """Before any text is segmented."""
    monkeypatch.chdir(home)
    Path(name).write_text(text)
    result = train(home, *more.split(), pairs="--parallel" not in more, code=65)
    assert message in result.stderr.splitlines()[-1]
    assert not re.search("segmentation|subwords", result.stderr)
    assert not list(home.glob("model*"))


def test_pairs_must_be_given_and_plain_files_have_no_columns(home: Path) -> None:
    assert "--pairs FILE" in train(home, pairs=False, code=2).stderr
    files = ("--parallel", home / "train.a", home / "train.b", "--scol", 2)
    assert "--scol" in train(home, *files, pairs=False, code=2).stderr


def test_what_is_no_model_is_refused_before_the_training(home: Path) -> None:
    (home / "model").write_text("precious")
    result = train(home, code=74)
    assert result.stderr.endswith("model: exists and is not a model folder; name another\n")
    assert "pairs" not in result.stderr


def test_a_training_has_its_state_for_itself(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads a pipe of pairs once."""
    learn = runs.learn

    def watched(*arguments: Any) -> Any:
        with locked_if_free(home / "model.training") as free:
            assert not free
        return learn(*arguments)

    monkeypatch.setattr(runs, "learn", watched)
    os.mkfifo(home / "pipe")
    rows = (home / "train.tsv").read_bytes()
    writer = threading.Thread(target=(home / "pipe").write_bytes, args=[rows])
    writer.start()
    train(home, "--pairs", home / "pipe", pairs=False)
    writer.join()


def test_what_cannot_resume(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other settings, a training whose model is gone, and a new one from an older one's state."""
    other = ("--set", "training.seed=2")
    said = train(trained, "--resume", *other, code=78).stderr
    assert "is of another run: training.seed was 1, now it is 2" in said
    (trained / "model").rename(trained / "other")
    said = train(trained, "--resume", code=66).stderr.splitlines()[-1]
    assert "model: the model of this training is missing; train again without --resume" in said
    with monkeypatch.context() as patch:
        patch.setattr("bitextfilter.training.loop.update", Mock(side_effect=KeyboardInterrupt))
        train(trained, *other, code=130)
    assert "nothing to resume" in train(trained, *other, "--resume", code=78).stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.gate(1)
@pytest.mark.parametrize("start", [["--segmenter", "cut"], ["--start", "begun"]])
def test_other_data_cannot_resume(trained: Path, start: list[str]) -> None:
    home = trained
    (home / "settings.json").write_text(json.dumps({**TINY, "segmentation": {"kind": "none"}}))
    (home / "model").rename(home / start[1])
    (home / "v.vec").write_text("a1 1 2 3 4 5 6 7 8\n")
    more = [start[0], home / start[1], "--embeddings", home / "v.vec", "--target-text",
            home / "dev.b", "--parallel", home / "train.a", home / "train.b"]  # fmt: skip
    assert "initial vectors of 1 of" in train(home, *more).stderr
    state = contents(home / "model.training")
    read = ["train.tsv", "train.a", "train.b", "dev.tsv", "dev.b", "v.vec"]
    for path in [*(home / name for name in read), home / start[1] / "vocabulary.tsv"]:
        before = path.read_bytes()
        path.write_bytes(before + before.splitlines(keepends=True)[-1])
        name = path.name if path.parent == home else start[1]
        result = train(home, *more, "--resume", code=78)
        last = result.stderr.splitlines()[-1]
        assert f"model.training is of another run: the content of {name} was " in last
        assert last.endswith("; go on with the same, or name a new folder")
        path.write_bytes(before)
    other = {
        "bits was 32, now it is 8": ["--quantise"],
        " (columns 1, 2), now it is ": ["--scol", 2, "--tcol", 1],
        "the content of dev.tsv was ": ["--dev-scol", 2, "--dev-tcol", 1],
        "material.development was dev.tsv, now it is dev.b": ["--development", home / "dev.b"],
    }
    for message, options in other.items():
        assert message in train(home, *more, *options, "--resume", code=78).stderr
    assert contents(home / "model.training") == state
    train(home, *more, "--resume")


def test_a_start_gets_the_trigrams_that_it_lacks_and_loses_those_not_needed(home: Path) -> None:
    train(home, *WORD.split(), "--set", "shape.embedding=8")
    (home / "model").rename(home / "word")
    more = ["--set", "shape={}", "--set", "shape.embedding=8", "--architecture"]
    often = ["--set", "training.validate_every=40"]
    result = train(home, *more, "word,trigram", *often, "--start", home / "word")
    assert "from word: vectors.0.pieces.weight" in result.stderr
    assert (home / "model" / "trigrams.tsv").exists()
    (home / "model").rename(home / "both")
    result = train(home, *more, "word", "--start", home / "both")
    assert "from both: vectors.0.pieces.weight" in result.stderr
    assert not (home / "model" / "trigrams.tsv").exists()
    assert load(home / "model").encode(["a1"], "aa").shape == (1, 8)


def test_two_models_start_a_combination(home: Path) -> None:
    """An autoencoder over the fixed word vectors of the first becomes a part beside them."""

    def made(name: str, shape: dict[str, object], *starts: str, **training: object) -> Result:
        values = {"architecture": name, "shape": {"embedding": 8, **shape}}
        settings = {**values, "training": {"updates": 4, "batch_size": 16, **training}}
        (home / "settings.json").write_text(json.dumps(settings))
        return train(home, *(word for start in starts for word in ("--start", home / start)))

    made("word,trigram", {})
    (home / "model").rename(home / "words")
    made("autoencoder", {"hidden": 4, "composition": "shared"}, "words", fixed_updates=9)
    (home / "model").rename(home / "order")
    words, order = (
        load_tensors(home / name / "encoder.safetensors") for name in ("words", "order")
    )
    assert torch.equal(words["vectors.0.pieces.weight"], order["embedding.weight"])
    result = made("word,trigram,max-blstm", {}, "words", "order")
    assert "from order: parts.0.max-blstm.layers.backwards.0.bias_hh_l0, " in result.stderr
    assert "from words: vectors.0.pieces.weight, vectors.0.trigrams.weight" in result.stderr


def test_a_second_start_of_other_subwords_is_refused(trained: Path) -> None:
    (trained / "model").rename(trained / "one")
    train(trained, "--set", "segmentation.vocabulary_size=30")
    (trained / "model").rename(trained / "other")
    result = train(trained, "--start", trained / "one", "--start", trained / "other", code=78)
    assert "other has other subwords than" in result.stderr.splitlines()[-1]


def test_a_sentence_of_nothing_known_has_a_vector(home: Path) -> None:
    quick = ("--set", "shape.embedding=8", "--set", "training.validate_every=40")
    for architecture in ("trigram", "word+lstm"):
        train(home, "--set", "shape={}", "--architecture", architecture, *quick)
        vectors = load(home / "model").encode(["", "\u00ad", "漢"], "aa")
        assert np.isfinite(vectors).all()
        assert np.array_equal(vectors[0], vectors[1]) and np.array_equal(vectors[0], vectors[2])


def test_what_a_start_or_a_segmenter_brings_is_refused(trained: Path) -> None:
    start = ("--start", trained / "start")
    (trained / "model").rename(start[1])
    assert "from start: embedding.weight" in train(trained, *start).stderr
    own = "which brings its own; leave it out"
    for setting in ("normalisation.apart=true", "segmentation.vocabulary_size=90"):
        said = train(trained, *start, "--set", setting, code=78).stderr
        assert f"{setting} has no effect with --start, {own}" in said
    segmenter = ("--segmenter", trained / "start")
    said = train(trained, *start, *segmenter, code=78).stderr
    assert "--segmenter has no effect with --start" in said
    said = train(trained, *segmenter, code=78).stderr
    assert f"segmentation.vocabulary_size=200 has no effect with --segmenter, {own}" in said
    said = train(trained, *start, "--languages", "aa,aa", code=78).stderr
    assert "start is a model of aa-ba, not aa-aa" in said


def test_text_of_the_second_language_is_taught(home: Path) -> None:
    """Its encoder learns to give vectors that have nothing to do with the pairs."""
    texts = sorted(set((home / "train.b").read_text().splitlines()))[:30]
    vectors = np.random.default_rng(1).standard_normal((len(texts), 16)).astype(np.float32)
    (home / "taught.b").write_text("\n".join(texts) + "\n")
    np.save(home / "taught.npy", vectors)
    sets = ("shape.embedding=16", "shape.hidden=8", "training.passes=50", "training.taught=0.9")
    sets += ("training.learning_rate=0.03", "training.validate_every=100")
    more = [word for value in sets for word in ("--set", value)]
    said = train(home, *more, "--taught", f"ba={home / 'taught.b'}", home / "taught.npy").stderr
    assert "30 taught rows" in said
    encoder = load_encoder(home / "model")
    found = {name: encoder.encode(texts, name) @ vectors.T for name in ("ba", "aa")}
    shares = {name: (cos.argmax(1) == np.arange(30)).mean() for name, cos in found.items()}
    assert shares["ba"] > 0.8
    assert shares["aa"] < 0.4


def test_lessons_without_their_share(home: Path) -> None:
    said = train(home, "--set", "training.taught=0.3", code=78).stderr
    assert "training.taught=0.3 needs files: give --taught FILE VECTORS" in said


@pytest.mark.usefixtures("slow")
def test_a_line_tells_how_far_a_training_is_where_there_is_no_bar(home: Path) -> None:
    lines = train(home).stderr.splitlines()
    told = [line for line in lines if re.search(r": \d of 8 updates, ", line)]
    assert len(told) == 8
    pattern = r".*: 1 of 8 updates, ranking [\d.]+, translation [\d.]+, autoencoding [\d.]+, "
    assert re.fullmatch(pattern + r"[\d.]+ updates/s, 1 min left", told[0]), told[0]
    *earlier, last = [line for line in lines if re.search(r": update \d of 8: ", line)]
    assert earlier and all(line.endswith(", 1 min left") for line in earlier)
    assert ": update 8 of 8: " in last and "left" not in last
    assert train(home, "-q").stderr == ""


def recipes() -> dict[str, dict[str, Any]]:
    """The settings of shipped models."""
    found = {}
    for path in (Path(bitextfilter.__file__).parent / "pretrained").glob("*/training.json"):
        found[path.parent.name] = json.loads(path.read_text())
        del found[path.parent.name]["material"], found[path.parent.name]["validation"]
    return found


def test_the_defaults_are_the_recipe_of_the_shipped_models() -> None:
    shipped = recipes()
    fitting, first = EncoderConfig.from_dict({}).fitting(384_683), shipped["en-fr"]
    lessons = read_settings(ROOT / "examples/train-a-pair/taught.json")
    by_lessons = {**lessons["training"], "maximum_length": 60, "passes": 1}
    assert replace(fitting.training, **by_lessons) == replace(
        EncoderConfig.from_dict(first).training, **by_lessons
    )
    assert fitting.shape == EncoderConfig.from_dict(first).shape
    assert first["segmentation"]["vocabulary_size"] == fitting.segmentation.vocabulary_size
    assert first["trigrams"]["size"] == fitting.trigrams.size
    assert EncoderConfig.from_dict(first).normalisation == fitting.normalisation
    for kept in shipped.values():
        taken = EncoderConfig.from_dict(kept).fitting(1e9).to_dict()
        before = {name: kept[name] for name in kept if name != "architecture"}
        del taken["architecture"]
        assert {group: values | before.get(group, {}) for group, values in taken.items()} == taken
    taught = EncoderConfig.from_dict(lessons)
    for name in ("en-de", "en-fr", "de-fr"):
        assert EncoderConfig.from_dict(shipped[name]).training == taught.training


def test_a_bare_training_follows_the_recipe(home: Path) -> None:
    (home / "settings.json").write_text('{"segmentation": {"kind": "none"}}')
    train(home)
    kept = json.loads((home / "model" / "training.json").read_text())
    assert kept["architecture"] == "word,trigram"
    assert kept["training"]["passes"] == 10
    assert kept["training"]["validate_every"] == 40


CHINESE = "猫狗鸟鱼马牛羊鸡虎龙"
JAPANESE = "ねこいぬとりうしうま"


@pytest.mark.gate(1)
@pytest.mark.parametrize(
    "more",
    [
        WORD + "--set segmentation.kind=unigram --set segmentation.vocabulary_size=60",
        TRIGRAM + "--set segmentation.kind=none",
        TRIGRAM + "--set trigrams.kind=hashed --set trigrams.size=2000",
    ],
    ids=["unigram", "trigrams", "hashed trigrams"],
)
def test_languages_without_spaces(home: Path, more: str) -> None:
    """A word is then a whole line, but what is read of it are its parts."""
    random = np.random.default_rng(1)
    rows = [random.permutation(10)[: random.integers(3, 8)].tolist() for _ in range(300)]
    words = [[a + side[i // 2] for i, a in enumerate(side)] for side in (CHINESE, JAPANESE)]
    lines = [["".join(side[i] for i in row) for row in rows] for side in words]
    pairs = list(zip(*lines, strict=True))
    for name, part in (("train", pairs[:250]), ("dev", pairs[250:])):
        (home / f"{name}.tsv").write_text("".join(f"{a}。\t{b}。\n" for a, b in part))
    sets = ("shape.embedding=32", "training.passes=12", "training.learning_rate=0.03",
            "training.validate_every=100")  # fmt: skip
    train(home, "--languages", "zh,ja", *more.split(), *(w for s in sets for w in ("--set", s)))
    model = load(home / "model")
    scores = model.score([a for a, _ in pairs[250:]], [b for _, b in pairs[250:]])["cosine"]
    wrong = model.score([a for a, _ in pairs[250:]], [b for _, b in pairs[249:299]])["cosine"]
    assert (scores[:, None] > wrong).mean() > 0.8
