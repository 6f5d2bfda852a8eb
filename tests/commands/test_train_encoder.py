"""bitext-train-encoder: its files, settings, errors, and resuming."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import toys
from click.testing import CliRunner, Result

import bitextfilter
from bitextfilter.commands.frame import training
from bitextfilter.commands.train_encoder import main
from bitextfilter.encoders.expressions import PARTS
from bitextfilter.encoders.registry import load_encoder
from bitextfilter.io.files import locked_if_free
from bitextfilter.models.checkpoint import load_tensors
from bitextfilter.scoring.model import load
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


def train(home: Path, *more: object, pairs: bool = True, code: int = 0) -> Result:
    arguments = ["-o", home / "model", "--languages", "aa,ba", "--threads", 1]
    arguments += ["--settings", home / "settings.json"]
    arguments += [] if "--development" in more else ["--development", home / "dev.tsv"]
    arguments += ["--pairs", home / "train.tsv"] if pairs else []
    result = CliRunner().invoke(main, [str(part) for part in (*arguments, *more)])
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return result


def test_a_model_is_written_with_all_it_needs(home: Path) -> None:
    result = train(home)
    assert "recovery error" in result.stderr
    model = load(home / "model")
    assert model.languages == ("aa", "ba")
    assert model.background is not None
    kept = json.loads((home / "model" / "training.json").read_text())
    assert kept["training"]["batch_size"] == 16
    assert kept["material"]["pairs"] == [["train.tsv", None, 1.0]]
    assert str(home) not in (home / "model" / "training.json").read_text()
    assert [row["update"] for row in kept["validation"]][-1] <= 8


def test_help_names_columns_and_says_what_is_only_the_default() -> None:
    text = " ".join(CliRunner().invoke(main, ["--help"]).stdout.split())
    for option in ("--scol", "--tcol", "--dev-scol", "--dev-tcol"):
        assert f" {option} COLUMN " in text
    assert "By default they train without a decoder: training.translation and .auto" in text


def test_the_settings_of_a_model_make_it_again(home: Path) -> None:
    train(home)
    first = load(home / "model").digest
    (home / "settings.json").write_bytes((home / "model" / "training.json").read_bytes())
    train(home)
    assert load(home / "model").digest == first


def test_two_files_train_the_same_model_as_a_table(home: Path) -> None:
    train(home)
    texts = toys.sentences(5, 9)[0]
    one = load_encoder(home / "model").encode(texts, "aa")
    train(home, "--parallel", home / "train.a", home / "train.b", pairs=False)
    np.testing.assert_array_equal(one, load_encoder(home / "model").encode(texts, "aa"))


def test_monolingual_text_weights_and_int8_are_taken(home: Path) -> None:
    more = ["--target-text", home / "dev.b", "--quantise", "--pairs", f"{home / 'train.tsv'}@0.5"]
    result = train(home, *more, "--set", "training.passes=1", "--set",
                   "training.batch_size=8")  # fmt: skip
    assert "20 monolingual sentences of ba" in result.stderr
    assert f"{round(1.5 * 60 / 8)} updates" in result.stderr


def test_a_model_or_vectors_are_a_start(home: Path) -> None:
    train(home, "--architecture", "averaging", "--set", "shape={}", "--set",
          "shape.embedding=8", "--set", "training.translation=0", "--set",
          "training.autoencoding=0")  # fmt: skip
    (home / "model").rename(home / "averaging")
    result = train(home, "--start", home / "averaging")
    assert "from averaging: embedding.weight" in result.stderr
    (home / "some.vec").write_text("2 8\n▁a1 1 2 3 4 5 6 7 8\na1 1 2 3 4 5 6 7 8\n")
    assert "initial vectors of 1 of" in train(home, "--embeddings", home / "some.vec").stderr


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
@pytest.mark.parametrize("settings", [{}, HIDDEN, NOISY], ids=["plain", "hidden", "parts"])
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


GRAMMAR = (
    f"it is autoencoder, pivot, averaging, or parts ({', '.join(PARTS)}), added with + and side by"
    " side with a comma: word+lstm,trigram"
)
TRIGRAM = ["--set", "shape={}", "--architecture", "trigram"]
WORD = ["--set", "shape={}", "--architecture", "word"]


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--languages", "aa"], 2, "two languages"),
        (["--dev-scol", "en"], 2, "'en' is not a number"),
        (["--set", "training.speed=9"], 78, "training.speed is no setting; did you mean seed?"),
        (["--set", "training.passes=many"], 78, "training.passes must be a number, not 'many'"),
        (["--set", "training.softmax=hard"], 78, "softmax 'hard' is none of full, sampled"),
        (["--set", "shape.average=true", "--set", "shape.hidden=5"], 78, "twice hidden"),
        (["--set", "nonsense"], 78, "group.name=value"),
        (["--set", "training=5"], 78, "settings are names and values, not 5"),
        (["--set", "training=5", "--set", "training.seed=1"], 78, "training is 5, which has no"),
        (["--set", "training.seed=-1"], 78, "training.seed must be at least 0, not -1"),
        (["--set", "training.passes=1e999"], 78, "training.passes must be a number, not inf"),
        (["--set", "training.batch_size=1.5"], 78, "batch_size must be a whole number, not"),
        (["--set", "shape=[]"], 78, "settings are names and values, not []"),
        (["--set", "shape.hidden=wide"], 78, "shape.hidden must be a whole number, not 'wide'"),
        (["--set", "shape.embedding=0"], 78, "shape.embedding must be at least 1, not 0"),
        (["--set", "architecture=[1]"], 78, "no part is called '[1]'"),
        (["--set", "architecture=transformer"], 78, "transformer"),
        (["--architecture", "words"], 78, f"no part is called 'words'; {GRAMMAR}"),
        (["--architecture", "word,,trigram"], 78, f"no part is called ''; {GRAMMAR}"),
        (["--architecture", ""], 78, f"no part is called ''; {GRAMMAR}"),
        (["--architecture", "word+word"], 78, f"a part stands twice; {GRAMMAR}"),
        (["--architecture", "averaging,word"], 78, f"no part is called 'averaging'; {GRAMMAR}"),
        (
            [*TRIGRAM, "--set", "training.translation=1"],
            78,
            "autoencoding to 0, or add a part that reads pieces, such as word",
        ),
        (
            [*TRIGRAM, "--embeddings", "x.vec"],
            78,
            "--embeddings has no effect: the architecture trigram has no vectors of pieces; add",
        ),
        ([*WORD, "--set", "shape.tables=one"], 78, "tables 'one' is none of shared, separate"),
        (
            [*WORD, "--languages", "aa,aa", "--set", "shape.tables=separate"],
            78,
            "shape.tables is separate, but both sides are aa",
        ),
        ([*TRIGRAM, "--set", "trigrams.kind=all"], 78, "kind 'all' is none of counted, hashed"),
        (
            ["--set", "training.triplet=1", "--set", "training.mega_batch=4000"],
            78,
            "mega_batch times batch_size must be at most",
        ),
        (["--set", "training.maximum_length=1"], 78, "longer than"),
        (["--resume"], 78, "nothing to resume"),
        (["--start", "nowhere"], 66, "nowhere"),
        (["--settings", "nowhere.json"], 66, "nowhere.json"),
        (["--pairs", "nowhere.tsv"], 66, "nowhere.tsv"),
        (["--device", "cuda:9"], 69, "cuda:9"),
        (["--pairs", "train.tsv@0"], 2, "weight must be above 0"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(
    home: Path, more: list[str], code: int, message: str
) -> None:
    result = train(home, *more, code=code)
    assert message in result.stderr.splitlines()[-1]
    assert not (home / "model").exists()


def test_whole_numbers_may_have_a_point(home: Path) -> None:
    train(home, "--set", "training.batch_size=16.0", "--set", "shape.hidden=4.0")


def test_no_pairs_at_all(home: Path) -> None:
    assert "--pairs FILE" in train(home, pairs=False, code=2).stderr
    (home / "train.tsv").write_text("")
    assert "no pairs to train on" in train(home, code=65).stderr
    (home / "dev.tsv").write_text("")
    assert "dev.tsv: no pairs to validate on" in train(home, code=65).stderr
    assert not (home / "model.training").exists()


def test_what_is_no_model_is_refused_before_the_training(home: Path) -> None:
    (home / "model").write_text("precious")
    result = train(home, code=74)
    assert result.stderr.endswith("model: exists and is not a model folder; name another\n")
    assert "pairs" not in result.stderr


def test_bad_rows_are_named(home: Path) -> None:
    (home / "train.tsv").write_text("a1 a2\tb1 b2\na1\n")
    assert "train.tsv:2: 1 column" in train(home, code=65).stderr
    with (home / "train.b").open("a") as file:
        file.write("b1\n")
    result = train(home, "--parallel", home / "train.a", home / "train.b", pairs=False, code=65)
    assert "train.a:61: ends here" in result.stderr
    (home / "train.b").write_text((home / "train.b").read_text().replace("b", "", 1))
    lines = (home / "train.a").read_text().split("\n")
    (home / "train.a").write_text("\n".join([lines[0], "", *lines[2:]]))
    result = train(home, "--parallel", home / "train.a", home / "train.b", pairs=False, code=65)
    assert "train.a:2: empty line" in result.stderr


def test_a_training_has_its_state_for_itself(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn = runs.learn

    def watched(*arguments: Any) -> Any:
        with locked_if_free(home / "model.training") as free:
            assert not free
        return learn(*arguments)

    monkeypatch.setattr(runs, "learn", watched)
    train(home)
    assert {path.name for path in home.glob("*model*")} == {"model", "model.training"}


def test_other_settings_cannot_resume(home: Path) -> None:
    train(home)
    result = train(home, "--resume", "--set", "training.seed=2", code=78)
    assert "is of another run: training.seed was 1, now it is 2" in result.stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.gate(1)
@pytest.mark.parametrize("start", [["--segmenter", "cut"], ["--start", "begun"]])
def test_other_data_cannot_resume(home: Path, start: list[str]) -> None:
    config = json.loads((home / "settings.json").read_text())
    (home / "settings.json").write_text(json.dumps({**config, "segmentation": {"kind": "none"}}))
    train(home)
    (home / "model").rename(home / start[1])
    (home / "v.vec").write_text("a1 1 2 3 4 5 6 7 8\n")
    more = [start[0], home / start[1], "--embeddings", home / "v.vec", "--target-text",
            home / "dev.b", "--parallel", home / "train.a", home / "train.b"]  # fmt: skip
    train(home, *more)
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


def test_one_development_file_and_one_number_of_bits(home: Path) -> None:
    dev = ["--development", home / "dev.tsv"]
    said = train(home, *dev, *dev, code=2).stderr
    assert "--development is one file, but for more than two languages" in said
    assert "--quantise is --bits 8" in train(home, "--quantise", "--bits", 4, code=2).stderr


def test_settings_of_many_languages_have_no_effect_on_two(home: Path) -> None:
    said = train(home, "--set", "training.without_first=0.5", code=78).stderr
    assert "training.without_first has no effect with two languages; leave it out" in said


def test_a_training_whose_model_is_gone_cannot_resume(home: Path) -> None:
    train(home)
    (home / "model").rename(home / "other")
    result = train(home, "--resume", code=66)
    message = "model: the model of this training is missing; train again without --resume"
    assert message in result.stderr.splitlines()[-1]


def test_a_pipe_of_pairs_is_read_once(home: Path) -> None:
    os.mkfifo(home / "pipe")
    rows = (home / "train.tsv").read_bytes()
    writer = threading.Thread(target=(home / "pipe").write_bytes, args=[rows])
    writer.start()
    train(home, "--pairs", home / "pipe", pairs=False)
    writer.join()


def test_a_new_run_is_not_resumed_from_the_state_of_an_older_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(home)
    with monkeypatch.context() as patch:
        patch.setattr("bitextfilter.training.loop.update", Mock(side_effect=KeyboardInterrupt))
        train(home, "--set", "training.seed=2", code=130)
    result = train(home, "--set", "training.seed=2", "--resume", code=78)
    assert "nothing to resume" in result.stderr


def test_vectors_of_another_width_are_refused(home: Path) -> None:
    (home / "some.vec").write_text("a1 1 2 3\n")
    result = train(home, "--embeddings", home / "some.vec", code=65)
    assert "some.vec: vectors of 3 numbers, expected 8; set shape.embedding=3" in result.stderr
    assert not re.search("segmentation|subwords", result.stderr)


def test_a_start_gets_the_trigrams_that_it_lacks_and_loses_those_not_needed(home: Path) -> None:
    train(home, *WORD, "--set", "shape.embedding=8")
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


@pytest.mark.parametrize(("model", "wanted"), [("aa,ba", "aa,aa"), ("aa,aa", "aa,ba")])
def test_a_start_of_other_languages_is_refused(home: Path, model: str, wanted: str) -> None:
    train(home, *WORD, "--languages", model)
    (home / "model").rename(home / "start")
    result = train(home, *WORD, "--languages", wanted, "--start", home / "start", code=78)
    message = f"start is a model of {model.replace(',', '-')}, not {wanted.replace(',', '-')}"
    assert message in result.stderr.splitlines()[-1]


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


def test_a_second_start_of_other_subwords_is_refused(home: Path) -> None:
    train(home)
    (home / "model").rename(home / "one")
    train(home, "--set", "segmentation.vocabulary_size=30")
    (home / "model").rename(home / "other")
    result = train(home, "--start", home / "one", "--start", home / "other", code=78)
    assert "other has other subwords than" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("row", ["a1\t", "\tb1", "a1\t \u200b\u00a0"])
def test_empty_sentences_are_named(home: Path, row: str) -> None:
    with (home / "train.tsv").open("a") as file:
        file.write(f"{row}\n")
    side = "source" if row.startswith("\t") else "target"
    result = train(home, *TRIGRAM, code=65)
    assert f"train.tsv:61: the {side} is empty" in result.stderr.splitlines()[-1]


def test_a_sentence_of_nothing_known_has_a_vector(home: Path) -> None:
    for architecture in ("trigram", "word+lstm"):
        train(home, "--set", "shape={}", "--architecture", architecture)
        vectors = load(home / "model").encode(["", "\u00ad", "漢"], "aa")
        assert np.isfinite(vectors).all()
        np.testing.assert_array_equal(vectors[0], vectors[1])
        np.testing.assert_array_equal(vectors[0], vectors[2])


MONOLINGUAL = "has no effect: nothing autoencodes it; set training.autoencoding above 0"
OWN = "brings its own; leave it out"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--source-text", "dev.a"], f"--source-text {MONOLINGUAL} and training.decode to source"),
        (["--target-text", "dev.b", "--set", "training.decode=source"], "--target-text has no"),
        ([*WORD, "--target-text", "dev.b"], f"--target-text {MONOLINGUAL}"),
        (["--set", "training.triplet_margin=1"], "triplet_margin=1 has no effect without"
         " training.triplet above 0: set that, or leave training.triplet_margin out"),
        (["--set", "training.mega_batch=3"], "has no effect without training.triplet above 0"),
        (["--set", "training.contrastive_margin=1"], "without training.contrastive above 0"),
        ([*WORD, "--set", "training.decode=both"],
         "without training.translation or training.autoencoding above 0"),
        ([*WORD, "--set", "training.ranking=0", "--set", "training.triplet=1", "--set",
          "training.margin=1"], "training.margin=1 has no effect without training.ranking"),
        (["--set", "training.softmax=full", "--set", "training.samples=9"],
         "training.samples=9 has no effect without training.softmax=sampled"),
        (["--set", "training.decay_every=9"], "without training.schedule=paper"),
        (["--set", "training.schedule=paper"], "without training.schedule=linear or constant"),
        (["--set", "training.dropout_kind=variational"], "without training.dropout above 0"),
        ([*TRIGRAM, "--set", "training.scramble=0.5"], "training.scramble has no effect: the"),
        ([*TRIGRAM, "--set", "shape.gain=0.5"], "shape.gain has no effect: the"),
        ([*TRIGRAM, "--set", "shape.standardise=true"], "shape.standardise has no effect: the"),
        (["--set", "trigrams.size=9"], "the architecture autoencoder reads none"),
        (["--set", "segmentation.merges=9"], "without segmentation.kind=bpe"),
        (["--set", "training.seeds=9"], "no setting; did you mean seed? there are translation"),
        (["--set", "train.seed=9"], "'train' is no group of settings: architecture, shape,"),
        (["--set", "training.softmax=samplde"], "adaptive; did you mean sampled?"),
        (["--parallel", "train.a", "train.b", "--scol", "2"], "--scol"),
    ],
)  # fmt: skip
def test_what_would_have_no_effect_is_refused(home: Path, more: list[str], message: str) -> None:
    code = 2 if "--scol" in more else 78
    more = [str(home / word) if (home / word).is_file() else word for word in more]
    result = train(home, *more, code=code, pairs=code != 2)
    assert message in result.stderr.splitlines()[-1]
    assert not (home / "model").exists()


def test_text_settings_that_a_start_replaces_are_refused(home: Path) -> None:
    train(home)
    (home / "model").rename(home / "start")
    train(home, "--start", home / "start")
    for setting in ("normalisation.apart=true", "segmentation.vocabulary_size=90"):
        result = train(home, "--start", home / "start", "--set", setting, code=78)
        assert f"{setting} has no effect with --start, which {OWN}" in result.stderr
    result = train(home, "--start", home / "start", "--segmenter", home / "start", code=78)
    assert "--segmenter has no effect with --start" in result.stderr
    more = ["--segmenter", home / "start"]
    result = train(home, *more, code=78)
    assert f"segmentation.vocabulary_size=200 has no effect with --segmenter, which {OWN}" in (
        result.stderr
    )


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


def test_the_defaults_are_the_recipe_of_the_shipped_models() -> None:
    folder = Path(bitextfilter.__file__).parent / "pretrained"
    kept = json.loads((folder / "en-de" / "training.json").read_text())
    del kept["material"], kept["validation"]
    assert EncoderConfig.from_dict({}).fitting(437_842) == EncoderConfig.from_dict(kept)
    other = json.loads((folder / "de-fr" / "training.json").read_text())
    del other["material"], other["validation"]
    smaller = {"segmentation": {"vocabulary_size": 12000}, "trigrams": {"size": 8000}}
    assert EncoderConfig.from_dict(smaller).fitting(201_208) == EncoderConfig.from_dict(other)


def test_the_settings_of_shipped_models_are_taken() -> None:
    for path in (Path(bitextfilter.__file__).parent / "pretrained").glob("*/training.json"):
        kept = json.loads(path.read_text())
        del kept["material"], kept["validation"]
        taken = EncoderConfig.from_dict(kept).fitting(1e9).to_dict()
        del kept["architecture"], taken["architecture"]
        assert {group: values | kept.get(group, {}) for group, values in taken.items()} == taken


def test_a_bare_training_follows_the_recipe(home: Path) -> None:
    (home / "settings.json").write_text('{"segmentation": {"kind": "none"}}')
    train(home)
    kept = json.loads((home / "model" / "training.json").read_text())
    assert kept["architecture"] == "word,trigram"
    assert kept["training"]["passes"] == 10
    assert kept["training"]["validate_every"] == 40


def test_monolingual_text_of_both_sides_is_used(home: Path) -> None:
    more = ["--source-text", home / "dev.a", "--target-text", home / "dev.b"]
    result = train(home, *more, "--set", "training.decode=both")
    assert "20 monolingual sentences of aa" in result.stderr
    assert "20 monolingual sentences of ba" in result.stderr


CHINESE = "猫狗鸟鱼马牛羊鸡虎龙"
JAPANESE = "ねこいぬとりうしうま"


@pytest.mark.gate(1)
@pytest.mark.parametrize(
    "more",
    [
        [*WORD, "--set", "segmentation.kind=unigram", "--set", "segmentation.vocabulary_size=60"],
        [*TRIGRAM, "--set", "segmentation.kind=none"],
        [*TRIGRAM, "--set", "trigrams.kind=hashed", "--set", "trigrams.size=2000"],
    ],
    ids=["unigram", "trigrams", "hashed trigrams"],
)
def test_languages_without_spaces(home: Path, more: list[str]) -> None:
    """A word is then a whole line, but what is read of it are its parts."""
    random = np.random.default_rng(1)
    rows = [random.permutation(10)[: random.integers(3, 8)].tolist() for _ in range(300)]
    words = [[a + side[i // 2] for i, a in enumerate(side)] for side in (CHINESE, JAPANESE)]
    lines = [["".join(side[i] for i in row) for row in rows] for side in words]
    pairs = list(zip(*lines, strict=True))
    for name, part in (("train", pairs[:250]), ("dev", pairs[250:])):
        (home / f"{name}.tsv").write_text("".join(f"{a}。\t{b}。\n" for a, b in part))
    more = [*more, "--set", "shape.embedding=32", "--set", "training.passes=20"]
    more += ["--set", "training.learning_rate=0.02", "--set", "training.validate_every=100"]
    train(home, "--languages", "zh,ja", *more)
    model = load(home / "model")
    scores = model.score([a for a, _ in pairs[250:]], [b for _, b in pairs[250:]])["cosine"]
    wrong = model.score([a for a, _ in pairs[250:]], [b for _, b in pairs[249:299]])["cosine"]
    assert (scores[:, None] > wrong).mean() > 0.8
