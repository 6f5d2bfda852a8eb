"""``bitext-train``: pairs in, a whole model out, in stages that go on where they ended."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from console import ROOT, invoke, says_one_line, table
from toys import invented_pairs, sentences, toy_model

from bitextfilter.commands.frame.training import TrainingReporter
from bitextfilter.commands.train import main
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.evaluation.thresholds import CutSettings
from bitextfilter.scoring.model import load
from bitextfilter.training import loop, model_estimate, model_training
from bitextfilter.training.loop import Progress
from bitextfilter.training.model_training import Divided, ModelTraining

Pairs = list[tuple[str, str]]

EXAMPLES = ROOT / "examples/pairs.en-de.tsv"
ENCODER = {
    "shape": {"embedding": 16},
    "segmentation": {"kind": "none"},
    "trigrams": {"size": 500},
    "training": {"updates": 12, "batch_size": 16, "mega_batch": 2, "validate_every": 6},
}
CLASSIFIER = {"training": {"epochs": 1, "batch_size": 32, "held_out": 0.1}}
SMALL = ("classifier.width=4", "classifier.hidden=4", "classifier.bigrams=0")
"""Settings of a classifier that has no other model's to start from."""
INVENTED = ("--languages", "aa,ba", *(word for setting in SMALL for word in ("--set", setting)))
STAGES = ["pairs", "encoder", "examples", "classifier", "cuts", "model"]
GUESSED = {"encoder": 3.0, "examples": 1.0, "classifier": 2.0, "cuts": 100.0}


def write(path: Path, pairs: Pairs) -> Path:
    path.write_text("".join(f"{one}\t{other}\n" for one, other in pairs), encoding="utf-8")
    return path


def read(path: Path) -> Pairs:
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [(row[0], row[1]) for row in rows]


def facts(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pairs, of which 20 are there twice and 9 share a side with other pairs."""
    folder = tmp_path_factory.mktemp("data")
    pairs, development = invented_pairs(180, 3), invented_pairs(30, 4)
    shared = [(source, pairs[n][1]) for n, (source, _) in enumerate(development[:4])]
    shared += [(pairs[n][0], target) for n, (_, target) in enumerate(development[4:8])]
    write(folder / "pairs.tsv", [*pairs[:150], *pairs[:20], *shared, development[8], *pairs[150:]])
    write(folder / "distinct.tsv", pairs)
    write(folder / "dev.tsv", development)
    values = {"encoder": ENCODER, "classifier": CLASSIFIER}
    (folder / "settings.json").write_text(json.dumps(values))
    return folder


def train(data: Path, *words: object, code: int | None = 0, text: str | bytes = b"") -> Result:
    usual = ("--settings", data / "settings.json", "--threads", 1, "--device", "cpu")
    return invoke(main, *usual, *words, code=code, data=text)


def few_resamples(patch: pytest.MonkeyPatch) -> None:
    """Let cuts be found with hardly an interval, which no model keeps."""
    patch.setattr(model_training, "CutSettings", partial(CutSettings, bootstrap=Bootstrap(2)))


def small_trial(patch: pytest.MonkeyPatch) -> None:
    """Let the trial that tells the time take three seconds."""
    patch.setattr(model_estimate, "_PAIRS", 190)
    patch.setattr(model_estimate, "_UPDATES", 20)


@pytest.fixture(scope="module")
def made(data: Path) -> Path:
    """A folder with a model of the pairs, the files of its stages, and what the command wrote."""
    words = (data / "pairs.tsv", "--development", data / "dev.tsv", *INVENTED, "--keep")
    folder = data / "made"
    with pytest.MonkeyPatch.context() as patch:
        few_resamples(patch)
        small_trial(patch)
        done = train(data, *words, "-o", folder / "model", "--manifest", data / "manifest.json")
    (folder / "stdout").write_text(done.stdout)
    (folder / "stderr").write_text(done.stderr)
    return folder


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Divided]:
    """The pairs of each training from here on, whose time is guessed without a trial."""
    found: list[Divided] = []

    def guess(training: ModelTraining) -> dict[str, float]:
        found.append(training.read_pairs())
        return GUESSED

    few_resamples(monkeypatch)
    monkeypatch.setattr(model_estimate, "estimate", guess)
    return found


Planned = Callable[..., Divided]


@pytest.fixture
def planned(data: Path, tmp_path: Path, seen: list[Divided]) -> Planned:
    """Return the pairs that a training would have; it leaves no file."""

    def plan(*words: object, code: int = 0, text: str | bytes = b"") -> Divided:
        before = sorted(tmp_path.iterdir())
        train(data, "--dry-run", "-o", tmp_path / "new", *words, code=code, text=text)
        assert sorted(tmp_path.iterdir()) == before
        return seen.pop()

    return plan


def test_the_folder_is_a_whole_model(made: Path) -> None:
    model = load(made / "model")
    assert model.languages == ("aa", "ba")
    assert model.classifier is not None and model.background is not None
    assert model.calibration is not None and model.default_measure == "probability"
    thresholds = facts(made / "model/thresholds.json")["thresholds"]
    measures = {"mlp", "csls", "ratio", "distance", "cosine", "euclidean"}
    assert {each["measure"] for each in thresholds} == measures
    assert {(each["use"], each["file"]) for each in thresholds} == {
        ("filtering", "development.tsv")
    }
    assert facts(made / "model/classifier.json")["settings"]["start"] is None
    assert model.digest in invoke("bitext-models", "verify", made / "model").stdout
    assert not list(made.glob(".*"))


def test_a_model_scores_and_cleans(data: Path, made: Path, tmp_path: Path) -> None:
    usual = ("--model", made / "model", "--threads", 1)
    for words in ((), ("--similarity", "mlp,csls,cosine")):
        rows = table(invoke("bitext-score", *usual, *words, "-i", data / "dev.tsv"))
        assert len(rows) == 30
        assert all(-99 < float(each) < 99 for row in rows for each in row[2:])
    cut = ("--min-score", "balanced", "-o", tmp_path / "clean.tsv", data / "dev.tsv")
    done = invoke("bitext-clean", *usual, *cut)
    assert "scored by" in done.stderr and "probability>=" in done.stderr
    kept, left = (tmp_path / name for name in ("clean.tsv", "clean.rejects.tsv"))
    assert sum(len(path.read_text().splitlines()) for path in (kept, left)) == 30


def test_its_pages_name_files_and_numbers(made: Path) -> None:
    card, sources = ((made / "model" / n).read_text() for n in ("card.md", "attribution.md"))
    assert card.startswith("# model\n") and "in aa and ba" in card
    assert "| training pairs | 180 |" in card and "| development pairs | 30 |" in card
    assert "| pairs.tsv | 180 |" in sources and "180 pairs" in sources
    assert str(made) not in card + sources
    counts = facts(made / "model.training/examples.json")
    for name in ("positives", "negatives", "contrasts"):
        assert f"{counts[name]:,}" in card


def test_a_line_for_each_stage(data: Path, made: Path) -> None:
    rows = [line.split("\t") for line in (made / "stdout").read_text().splitlines()]
    assert rows[0][:2] == ["stage", "seconds"]
    assert [row[0] for row in rows[1:]] == STAGES
    assert all(float(row[1]) >= 0 for row in rows[1:])
    estimates = {row[0]: float(row[2]) for row in rows[1:] if row[2]}
    assert estimates.keys() == {"encoder", "examples", "classifier", "cuts"}
    assert all(0 <= seconds < 300 for seconds in estimates.values())
    figures = {row[0]: row[3] for row in rows[1:]}
    assert figures["pairs"].startswith("180 pairs, 30 ")
    digest = load(made / "model").digest
    assert digest in figures["model"]
    manifest = facts(data / "manifest.json")
    assert digest in json.dumps(manifest) and manifest["counts"]["rows"] == 209 + 30


def test_what_is_told(made: Path) -> None:
    told = (made / "stderr").read_text()
    assert "bitext-train: aa,ba: 180 pairs, 30 to validate on" in told
    assert "20 duplicates, 9 that share a sentence" in told
    assert "fewer than 20,000 pairs" in told
    assert " in all: encoder " in told and " cuts " in told
    assert "which is shipped" not in told
    for number, stage in enumerate(STAGES[1:], 2):
        assert f"stage {number} of 6, {stage}: about " in told
    assert "recovery error" in told and "tuning loss" in told


def test_no_pair_twice_and_none_of_a_development_pair(data: Path, made: Path) -> None:
    (file,) = (made / "model.training/pairs").iterdir()
    assert read(file) == read(data / "distinct.tsv")
    assert read(made / "model.training/development.tsv") == read(data / "dev.tsv")
    known = facts(made / "model.training/pairs.json")
    assert (known["pairs"], known["duplicates"], known["known"]) == (180, 20, 9)
    sides = [set(column) for column in zip(*read(data / "dev.tsv"), strict=True)]
    for pair in read(made / "model.training/positives.tsv"):
        assert pair[0] not in sides[0] and pair[1] not in sides[1]


def test_the_same_pairs_and_seed_make_the_same_model(
    data: Path, made: Path, tmp_path: Path
) -> None:
    words = (data / "pairs.tsv", "--development", data / "dev.tsv", *INVENTED)
    done = train(data, *words, "-o", tmp_path / "model", "-q")
    assert done.stderr == "" and [row[0] for row in table(done)[1:]] == STAGES
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert load(tmp_path / "model").digest == load(made / "model").digest


def test_a_tenth_of_the_pairs_is_held_out(data: Path, planned: Planned) -> None:
    words = (data / "distinct.tsv", *INVENTED)
    one, same, other = (planned(*words, "--seed", seed) for seed in (1, 1, 2))
    every = set(read(data / "distinct.tsv"))
    assert one == same
    assert set(one.development) != set(other.development)
    for parts in (one, other):
        assert len(set(parts.development)) == 18
        (left,) = parts.files
        assert set(left) == every - set(parts.development) and len(left) == 162


def test_at_most_a_thousand_pairs_are_held_out(tmp_path: Path, planned: Planned) -> None:
    pairs = list(zip(*sentences(11_000, 3, lengths=(12, 16)), strict=True))
    parts = planned(write(tmp_path / "many.tsv", pairs), *INVENTED)
    assert len(parts.development) == 1000
    assert len(parts.files[0]) == len(set(pairs)) - 1000


def test_files_are_told_apart(data: Path, tmp_path: Path, planned: Planned) -> None:
    """A pair is of the first file that has it."""
    pairs = read(data / "distinct.tsv")
    two = [write(tmp_path / f"{n}.tsv", part) for n, part in enumerate((pairs[:100], pairs[50:]))]
    parts = planned(*two, "--development", data / "dev.tsv", *INVENTED)
    assert parts.files == [pairs[:100], pairs[100:]]


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English and German pairs in files of several formats."""
    folder, pairs = tmp_path_factory.mktemp("formats"), read(EXAMPLES)
    plain = write(folder / "plain.tsv", pairs)
    (folder / "packed.tsv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    rows = "".join(f"{n}\t{b}\t{a}\n" for n, (a, b) in enumerate(pairs))
    (folder / "named.tsv").write_text("id\tGerman\tEnglish\n" + rows, encoding="utf-8")
    for form in ("tmx", "jsonl", "csv", "parquet"):
        words = ("--languages", "en,de") if form == "tmx" else ()
        path = folder / f"pairs.{form}"
        invoke("bitext-convert", "--to", form, *words, "-i", plain, "-o", path)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "packed.tsv.gz",
        "named.tsv --header --scol English --tcol German",
        "pairs.tmx",
        "pairs.jsonl",
        "pairs.csv",
        "pairs.parquet --scol source --tcol target",
        "-",
    ],
)
def test_any_format_gives_the_same_pairs(english: Path, planned: Planned, words: str) -> None:
    file, *more = words.split()
    languages = ("--languages", "en,de")
    plain = english / "plain.tsv"
    expected = planned(plain, *languages)
    assert (len(expected.files[0]), len(expected.development)) == (58, 6)
    path, text = (file, plain.read_bytes()) if file == "-" else (english / file, b"")
    assert planned(path, *languages, *more, text=text) == expected


def test_a_file_and_stdin_of_other_columns(english: Path, planned: Planned) -> None:
    """The columns are those of every TSV; other formats have their own."""
    columns = ("--header", "--scol", "English", "--tcol", "German", "--languages", "en,de")
    text = (english / "named.tsv").read_bytes()
    parts = planned("-", english / "pairs.jsonl", english / "pairs.tmx", *columns, text=text)
    assert [len(pairs) for pairs in parts.files] == [58, 0, 0]


def test_languages_are_found_in_the_text(data: Path, english: Path, tmp_path: Path) -> None:
    for words, languages in (
        ((), "en,de"),
        (("--scol", 2, "--tcol", 1), "de,en"),
        (("--languages", "en-GB,de"), "en-GB,de"),
    ):
        dry = ("--dry-run", "-o", tmp_path / "new")
        told = train(data, english / "plain.tsv", *dry, *words).stderr
        assert f"bitext-train: {languages}: 58 pairs" in told
        assert "shipped en-de may be enough" in told and "0.00 % of the" in told


def test_a_dry_run_writes_its_estimates_alone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    small_trial(monkeypatch)
    words = (data / "distinct.tsv", *INVENTED, "-o", tmp_path / "new")
    done = train(data, *words, "--dry-run")
    rows = table(done)
    assert rows[0] == ["stage", "estimate"]
    assert [row[0] for row in rows[1:]] == ["encoder", "examples", "classifier", "cuts"]
    assert all(0 <= float(row[1]) < 300 for row in rows[1:])
    assert not list(tmp_path.iterdir())


def test_an_estimate_of_few_updates(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial of two updates of the classifier has a time, too."""
    monkeypatch.undo()
    small_trial(monkeypatch)
    large = ("--set", "classifier.training.batch_size=512")
    words = (data / "distinct.tsv", *INVENTED, *large, "-o", tmp_path / "new")
    done = train(data, *words, "--dry-run")
    assert "nan" not in done.output and "Warning" not in done.stderr
    assert all(float(row[1]) >= 0 for row in table(done)[1:])


Stop = Callable[[str, int], None]


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> Stop:
    """Interrupt a stage after an update of its training."""
    own, errors = (
        TrainingReporter.__call__,
        {"encoder": "recovery error", "classifier": "tuning loss"},
    )
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)

    def after(stage: str, update: int) -> None:
        def report(self: TrainingReporter, progress: Progress, updates: int) -> None:
            own(self, progress, updates)
            if self._error.startswith(errors[stage]) and progress.update == update:
                raise KeyboardInterrupt

        monkeypatch.setattr(TrainingReporter, "__call__", report)

    return after


def test_an_interrupted_training_goes_on(
    data: Path, made: Path, tmp_path: Path, stop: Stop
) -> None:
    """Within the encoder, and then within the classifier; no stage is done twice."""
    words = (data / "pairs.tsv", "--development", data / "dev.tsv", *INVENTED)
    model, work = tmp_path / "model", tmp_path / "model.training"
    records: dict[str, bytes] = {}

    def interrupted(stage: str, update: int, *done: str) -> str:
        stop(stage, update)
        told = train(data, *words, "-o", model, code=130).stderr
        assert not model.exists() and not (work / f"{stage}.json").exists()
        for name in done:
            records[name] = (work / name).read_bytes()
        return told

    assert "update 6 of 12" in interrupted("encoder", 8, "pairs.json", "estimate.json")
    told = interrupted("classifier", 5, "encoder.json", "examples.json")
    assert "update 6 of 12" not in told and "update 12 of 12" in told
    assert "stage 2 of 6" in told and "stage 4 of 6" in told
    stop("classifier", 0)
    told = train(data, *words, "-o", model, "--keep").stderr
    assert "stage 3 of 6" not in told and "stage 4 of 6" in told
    assert {name: (work / name).read_bytes() for name in records} == records
    assert load(model).digest == load(made / "model").digest


def test_a_training_that_is_done_is_not_done_again(
    data: Path, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    words = (data / "pairs.tsv", "--development", data / "dev.tsv", *INVENTED)
    with monkeypatch.context() as patch:
        patch.setattr(loop, "update", lambda *_: pytest.fail("it trains"))
        done = train(data, *words, "-o", tmp_path / "model", "--keep")
    assert "stage " not in done.stderr
    assert done.stdout == (made / "stdout").read_text()
    shutil.rmtree(tmp_path / "model")
    done = train(data, *words, "-o", tmp_path / "model")
    assert "stage 6 of 6" in done.stderr and "stage 5 of 6" not in done.stderr
    assert load(tmp_path / "model").digest == load(made / "model").digest
    assert not (tmp_path / "model.training").exists()


@pytest.mark.parametrize(
    ("more", "difference"),
    [
        ("--set encoder.training.updates=13", "encoder.training.updates was 12, now it is 13"),
        ("--set classifier.width=5", "classifier.width was 4, now it is 5"),
        ("--seed 3", "seed was 1, now it is 3"),
        ("--languages aa,ca", "languages"),
        ("--start en-de", "--start"),
        ("--encoder en-de", "--encoder"),
        ("--graded scored.tsv", "--graded 1, scored.tsv, was not given"),
        ("--classifier-pairs distinct.tsv", "--classifier-pairs 1, distinct.tsv, was not given"),
        ("--foreign dev.tsv", "--foreign 1, dev.tsv, was not given"),
        ("--development distinct.tsv", "--development 1, d"),
        ("--scol 2 --tcol 1", "col"),
    ],
)
def test_a_training_of_something_else_does_not_go_on(
    data: Path,
    made: Path,
    tmp_path: Path,
    more: str,
    difference: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(data)
    rows = "".join(f"{one}\t{other}\t0.5\n" for one, other in read(data / "dev.tsv"))
    Path("scored.tsv").write_text(rows)
    words = ["--development", data / "dev.tsv", *INVENTED, *more.split()]
    if more.startswith("--development"):
        words = words[2:]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = train(data, data / "pairs.tsv", *words, "-o", tmp_path / "model", code=None)
    says_one_line(done, 78, "model.training is of another run", difference)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("removed", [1, 8, 25])
def test_a_run_that_is_ended_while_it_removes_its_files(
    data: Path, made: Path, tmp_path: Path, removed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same again finds nothing amiss in what is left."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    words = (data / "pairs.tsv", "--development", data / "dev.tsv", *INVENTED)
    unlink, calls = os.unlink, 0

    def interrupted(*words: Any, **options: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == removed + 1:
            raise KeyboardInterrupt
        unlink(*words, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", interrupted)
        train(data, *words, "-o", tmp_path / "model", code=130)
    done = train(data, *words, "-o", tmp_path / "model", code=None)
    assert done.exit_code == 0, done.stderr
    assert load(tmp_path / "model").digest == load(made / "model").digest
    assert not (tmp_path / "model.training").exists()


def test_two_files_of_one_name(data: Path, tmp_path: Path, stop: Stop) -> None:
    """A run does not go on if either has changed."""
    pairs = read(data / "distinct.tsv")
    files = [tmp_path / name / "pairs.tsv" for name in "ab"]
    for file, part in zip(files, (pairs[:90], pairs[90:]), strict=True):
        file.parent.mkdir()
        write(file, part)
    words = (*files, "--development", data / "dev.tsv", *INVENTED, "-o", tmp_path / "model")
    stop("encoder", 2)
    train(data, *words, code=130)
    write(files[0], pairs[:80])
    says_one_line(train(data, *words, code=None), 78, "is of another run: ", "pairs.tsv, was ")


def test_an_encoder_is_taken(data: Path, tmp_path: Path) -> None:
    """With --encoder no encoder is trained; its languages are those of the training."""
    toy = toy_model(tmp_path / "toy", classifier=False)
    pairs = write(tmp_path / "pairs.tsv", list(zip(*sentences(150, 7), strict=True)))
    words = (pairs, "--encoder", toy, *INVENTED[2:], "-o", tmp_path / "new")
    done = train(data, *words)
    assert "aa,ba: 135 pairs" in done.stderr and "triplet" not in done.stderr
    figures = {row[0]: row[3] for row in table(done)[1:]}
    assert figures["encoder"].startswith("recovery error 0.00 %")
    model = load(tmp_path / "new")
    assert model.encoder.dim == load(toy).encoder.dim and model.default_measure == "probability"
    sides = sentences(9, 8)
    expected = load(toy).score(*sides, ("cosine",))["cosine"]
    assert model.score(*sides, ("cosine",))["cosine"] == pytest.approx(expected, abs=0.03)


def test_a_classifier_is_trained_further(data: Path, tmp_path: Path) -> None:
    """By default that of the shipped model of the languages."""
    train(data, EXAMPLES, "-o", tmp_path / "new", "--encoder", "en-de")
    assert facts(tmp_path / "new/classifier.json")["settings"]["start"] == "en-de"
    model = load(tmp_path / "new")
    assert model.languages == ("en", "de") and model.digest != load("en-de").digest


def test_the_shipped_classifier_to_start_from(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the languages, or of one of them; none of two unknown languages."""
    found: list[str | None] = []

    def guess(training: ModelTraining) -> dict[str, float]:
        found.append(training.start)
        return GUESSED

    monkeypatch.setattr(model_estimate, "estimate", guess)
    words = (data / "distinct.tsv", "--dry-run", "-o", tmp_path / "new", "--languages")
    for languages, expected in {
        "aa,ba": {None},
        "en,de": {"en-de"},
        "fr,de": {"de-fr"},
        "en,ba": {"en-de", "en-fr"},
        "cs,en": {"multi"},
    }.items():
        train(data, *words, languages)
        assert found.pop() in expected, languages
    for given, start in (("none", None), ("en-fr", "en-fr")):
        train(data, *words, "en,de", "--start", given)
        assert found.pop() == start


def test_a_start_of_another_kind(data: Path, tmp_path: Path) -> None:
    start = toy_model(tmp_path / "start")
    words = (data / "distinct.tsv", *INVENTED, "--start", start, "-o", tmp_path / "new", "-q")
    says_one_line(train(data, *words, code=None), 78, "its classifier is of sentences")
    assert not (tmp_path / "new").exists()


def test_what_else_a_classifier_learns_from(data: Path, tmp_path: Path) -> None:
    """Pairs of its own, pairs with grades, and foreign sentences, which become negatives."""
    toy = toy_model(tmp_path / "toy", classifier=False)
    sides = [list(zip(*sentences(n, seed), strict=True)) for n, seed in ((150, 7), (60, 8))]
    pairs, more = (write(tmp_path / f"{n}.tsv", part) for n, part in enumerate(sides))
    graded = tmp_path / "graded.tsv"
    rows = (f"{one}\t{other}\t{n % 2}\n" for n, (one, other) in enumerate(sides[1][:20]))
    graded.write_text("".join(rows))
    foreign = tmp_path / "foreign"
    foreign.write_text("".join(f"strange{n} words{n} here\n" for n in range(40)))
    usual = (pairs, "--encoder", toy, *INVENTED[2:], "--set", "negatives=60", "--keep")
    every = ("--classifier-pairs", more, "--graded", f"{graded}@2", "--foreign", foreign)
    counts, texts = [], []
    for output, words in ((tmp_path / "one", ()), (tmp_path / "other", every)):
        train(data, *usual, *words, "-o", output)
        counts.append(facts(output / "classifier.json"))
        texts.append((tmp_path / f"{output.name}.training/negatives.tsv").read_text())
    assert counts[0]["positives"] + 30 < counts[1]["positives"]
    assert [each["text"] for each in counts] == [135, 195]
    assert [each["graded"] for each in counts] == [0, 20]
    assert [each["negatives"] for each in counts] == [60, 60]
    assert ["strange" in text for text in texts] == [False, True]


def test_no_pair_of_the_classifier_is_a_development_pair(
    data: Path, tmp_path: Path, stop: Stop
) -> None:
    stop("classifier", 1)
    words = (data / "distinct.tsv", "--development", data / "dev.tsv", *INVENTED)
    own = ("--classifier-pairs", data / "dev.tsv", "-o", tmp_path / "new")
    train(data, *words, *own, code=130)
    learnt = read(tmp_path / "new.training/positives.tsv")
    assert learnt and not set(learnt) & set(read(data / "dev.tsv"))


SMALL_FILES = {
    "empty.tsv": "",
    "one.tsv": "a\tb\n",
    "bad.tsv": "a1 a2\tb1 b2\na1\n",
    "numbers.tsv": "1\t2\n3\t4\n" * 20,
    "text": "a\n",
}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("empty.tsv", 65, "empty.tsv: no pairs to learn from"),
        ("one.tsv", 65, "none is left to validate on"),
        ("one.tsv --development one.tsv", 65, "every pair is a development pair"),
        ("good.tsv --development empty.tsv", 65, "none is left to validate on"),
        ("bad.tsv", 65, "bad.tsv:2: 1 column"),
        ("good.tsv bad.tsv", 65, "bad.tsv:2: 1 column"),
        ("good.tsv --development bad.tsv", 65, "bad.tsv:2: 1 column"),
        ("good.tsv --graded bad.tsv", 65, "bad.tsv"),
        ("good.tsv --classifier-pairs bad.tsv", 65, "bad.tsv:2: 1 column"),
        ("missing.tsv", 66, "missing.tsv"),
        ("good.tsv --development missing.tsv", 66, "missing.tsv"),
        ("good.tsv --graded missing.tsv", 66, "missing.tsv"),
        ("good.tsv --encoder cosmic", 66, "cosmic"),
        ("good.tsv --start cosmic", 66, "cosmic"),
        ("good.tsv --set encoder.nonsense=1", 78, "nonsense"),
        ("good.tsv --set encoder.training.nonsense=1", 78, "training.nonsense is no setting"),
        ("good.tsv --set nonsense=1", 78, "'nonsense' is none of encoder, classifier, seed"),
        ("good.tsv --set classifier.nonsense=1", 78, "nonsense is no setting"),
        ("good.tsv --set classifier.training.nonsense=1", 78, "training.nonsense is no setting"),
        ("good.tsv --set encoder=1", 78, "encoder"),
        ("good.tsv --set classifier=1", 78, "classifier"),
        ("good.tsv --set encoder.training=1", 78, "training"),
        ("good.tsv --set classifier.training=1", 78, "training"),
        ("good.tsv --set classifier.kind=sentences", 78, "kind"),
        ("good.tsv --set classifier.width=0", 78, "width must be at least 1"),
        ("good.tsv --set negatives=-1", 78, "negatives must be at least 0"),
        ("- -", 2, "only one file can be stdin"),
        ("- --development -", 2, "only one file can be stdin"),
        ("good.tsv --graded -", 2, "cannot be stdin"),
        ("good.tsv --foreign -", 2, "cannot be stdin"),
        ("good.tsv -o text", 74, "text: exists and is not a model folder; name another"),
        ("good.tsv -o mine", 74, "mine: exists and is not a model folder; name another"),
        ("", 2, "PAIRS"),
        ("text.srt", 2, "bitext-convert makes one of them"),
    ],
)
def test_what_cannot_be(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    code: int,
    message: str,
) -> None:
    """One line, before any training, and no model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loop, "update", lambda *_: pytest.fail("it trains"))
    for name, text in SMALL_FILES.items():
        Path(name).write_text(text)
    Path("mine").mkdir()
    Path("mine/file").write_text("mine")
    shutil.copy(data / "distinct.tsv", "good.tsv")
    before = sorted(tmp_path.rglob("*"))
    output = () if " -o " in words else ("-o", "new")
    done = train(data, "-q", *INVENTED, *output, *words.split(), code=None)
    says_one_line(done, code, message)
    left = {path for path in tmp_path.rglob("*") if path not in before}
    assert not {path.name for path in left if path.parent == tmp_path} - {"new.training"}


def test_text_that_tells_no_language(data: Path, tmp_path: Path, stop: Stop) -> None:
    """What the message says helps."""
    file = write(tmp_path / "pairs.tsv", invented_pairs(40, 3))
    words = (file, *INVENTED[2:], "-o", tmp_path / "new")
    says_one_line(train(data, *words, code=None), 78, "give --languages SOURCE,TARGET")
    stop("encoder", 1)
    train(data, *words, *INVENTED[:2], code=130)


def test_a_corrected_file_is_taken(data: Path, tmp_path: Path, stop: Stop) -> None:
    file, good = tmp_path / "pairs.tsv", (data / "distinct.tsv").read_text()
    words = (file, *INVENTED, "-o", tmp_path / "new")
    file.write_text(good + "alone\n")
    says_one_line(train(data, *words, code=None), 65, f"{file}:181: 1 column")
    file.write_text(good)
    stop("encoder", 1)
    train(data, *words, code=130)


def test_bad_rows_are_rejected(data: Path, tmp_path: Path, seen: list[Divided]) -> None:
    file, rejects = tmp_path / "pairs.tsv", tmp_path / "bad.tsv"
    file.write_text((data / "distinct.tsv").read_text() + "alone\n")
    reject = ("--on-error", "reject", "--rejects", rejects)
    done = train(data, file, *INVENTED, *reject, "-o", tmp_path / "new", "--dry-run")
    assert "181 rows, 1 rejected" in done.stderr
    assert rejects.read_text().startswith("181\t")
    (parts,) = seen
    assert len(parts.files[0]) == 162


def test_a_folder_of_something_else_is_left_alone(data: Path, tmp_path: Path) -> None:
    """MODEL.training may be somebody's own."""
    own = tmp_path / "new.training" / "precious"
    own.parent.mkdir()
    own.write_text("mine")
    words = (data / "distinct.tsv", *INVENTED, "-o", tmp_path / "new")
    done = train(data, *words, code=None)
    assert own.is_file() and own.read_text() == "mine"
    says_one_line(done, 78, "new.training is not empty, and holds no earlier run")


def test_the_output_must_be_named(data: Path) -> None:
    says_one_line(train(data, data / "distinct.tsv", code=None), 2, "--output")


def test_foreign_sentences_that_are_missing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is told by the trial, before the training."""
    monkeypatch.undo()
    small_trial(monkeypatch)
    words = (data / "distinct.tsv", *INVENTED, "--foreign", tmp_path / "missing.txt")
    done = train(data, *words, "-q", "-o", tmp_path / "new", code=None)
    says_one_line(done, 66, "missing.txt")
    assert not (tmp_path / "new").exists()


def test_a_shipped_encoder_brings_its_sources(data: Path, tmp_path: Path) -> None:
    """The pages are those of the new model, and whole."""
    pairs = Path("examples/pairs.en-de.tsv")
    model = tmp_path / "model"
    train(data, pairs, "--encoder", "en-de", "-o", model)
    invoke("bitext-models", "verify", model)
    text = (model / "attribution.md").read_text()
    assert "pairs.en-de.tsv" in text and "model `en-de`, too" in text and "Tatoeba" in text
    for name, code in (("multi", "is of 33 languages"), ("en-fr", "is of en,fr, not en,de")):
        words = (pairs, "--languages", "en,de", "--encoder", name, "-o", tmp_path / "other")
        done = train(data, "-q", *words, code=78)
        says_one_line(done, 78, f"--encoder {name} {code}")
        assert not (tmp_path / "other.training").exists()


def test_development_pairs_too_short_to_be_damaged(data: Path, tmp_path: Path) -> None:
    """The model is whole, but for thresholds."""
    short = write(tmp_path / "short.tsv", [(f"a{n} a1", f"b{n} b1") for n in range(20)])
    words = (*INVENTED, data / "pairs.tsv", "--development", short, "-o", tmp_path / "model")
    done = train(data, *words)
    assert "no thresholds but the probability's" in done.stderr
    assert load(tmp_path / "model").default_measure == "probability"


def test_columns_of_every_file(data: Path, tmp_path: Path) -> None:
    rows = [line.split("\t") for line in Path("examples/pairs.en-de.tsv").read_text().splitlines()]
    swapped = tmp_path / "swapped.tsv"
    swapped.write_text("".join(f"{row[1]}\t{row[0]}\n" for row in rows))
    words = ("examples/pairs.en-de.tsv", swapped, "--dry-run", "-o", tmp_path / "model")
    told = train(data, *words).stderr
    assert "swapped.tsv: the columns look swapped" in told
    assert "pairs.en-de.tsv: the columns" not in told
