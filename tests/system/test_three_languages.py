"""One model of three languages, of which two were never seen together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from console import ROOT, command, script_module
from safetensors.torch import load_file
from toys import invented_words

import bitextfilter
from bitextfilter.encoders.base import Network
from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.errors import SettingsError
from bitextfilter.io.records import write_digests
from bitextfilter.models.folders import ATTRIBUTION, unverified, writing_folder
from bitextfilter.scoring.background import BACKGROUND
from bitextfilter.training.multilingual_training import SAMPLE_ROWS, MultilingualTraining

NAMES = ("aa", "ba", "ce")
ADDED = "dv"
WORDS = [invented_words(seed, 200) for seed in range(4)]
SCRIPT = str.maketrans("bdfgklmnprstvzaeiou", "бдфгклмнпрствзаеиоу")
"""The third language is written in Cyrillic letters."""


def sentence(row: list[int], language: int) -> str:
    words = [WORDS[language][number] for number in row]
    text = " ".join(reversed(words) if language == 1 else words)
    return text.translate(SCRIPT) if language == 2 else text


def table(path: Path, count: int, seed: int, languages: tuple[int, ...]) -> Path:
    """Write a multi-parallel table with a header."""
    random = np.random.default_rng(seed)
    lines = ["\t".join((*NAMES, ADDED)[language] for language in languages)]
    for _ in range(count):
        row = random.integers(0, 200, random.integers(3, 9)).tolist()
        lines.append("\t".join(sentence(row, language) for language in languages))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def pairs(path: Path, count: int, seed: int, languages: tuple[int, ...]) -> Path:
    """Write pairs without a header."""
    lines = table(path, count, seed, languages).read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join(lines[1:]), encoding="utf-8")
    return path


def bitext(name: str, *arguments: object, stdin: str | None = None, code: int = 0) -> str:
    """Run a command in this process; returns stdout, or stderr where it fails."""
    done = CliRunner().invoke(command(f"bitext-{name}"), list(map(str, arguments)), input=stdin)
    assert done.exit_code == code, done.stderr
    return done.stderr if code else done.stdout


SETTINGS = (
    "segmentation.kind=none", "segmentation.vocabulary_size=700", "shape.embedding=32",
    "trigrams.size=2000", "trigrams.syllabic=true", "training.passes=4", "training.batch_size=60",
    "training.mega_batch=4", "training.learning_rate=0.015", "training.validate_every=132",
)  # fmt: skip


def train(home: Path, output: str, *more: object, code: int = 0) -> str:
    """Train on aa-ba and aa-ce."""
    arguments = ["--languages", ",".join(NAMES), "--threads", 1, "-o", home / output]
    for name in ("ab.tsv", "ac.tsv"):
        arguments += ["--pairs", home / name]
    for name in ("ab-dev.tsv", "ac-dev.tsv"):
        arguments += ["--development", home / name]
    for setting in SETTINGS:
        arguments += ["--set", setting]
    return bitext("train-encoder", *arguments, *more, code=code)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("three")
    for name, languages, seed in (("ab", (0, 1), 1), ("ac", (0, 2), 2)):
        table(folder / f"{name}.tsv", 2000, seed, languages)
        table(folder / f"{name}-dev.tsv", 100, seed + 10, languages)
    pairs(folder / "bc.tsv", 200, 9, (1, 2))
    train(folder, "model")
    return folder


def error(home: Path, model: str, file: str) -> float:
    """The CSLS error of a file in percent."""
    out = bitext(
        "evaluate", "recovery", home / file, "--model", home / model, "--similarity", "csls",
        "--languages", "ba,ce", "--json",
    )  # fmt: skip
    return float(json.loads(out)["results"][0]["mean"])


@pytest.mark.gate(0)
def test_languages_never_seen_together_are_aligned(home: Path) -> None:
    assert error(home, "model", "bc.tsv") <= 5


def test_a_pair_is_named_by_an_option_or_with_the_model(home: Path) -> None:
    rows = (home / "bc.tsv").read_text(encoding="utf-8")
    names = ("--similarity", "cosine,csls")
    model = home / "model"
    one = bitext("score", "--model", model, "--languages", "ba,ce", *names, stdin=rows)
    other = bitext("score", "--model", f"{model}:ba,ce", *names, stdin=rows)
    assert one == other
    scores = [float(line.split("\t")[2]) for line in one.splitlines()]
    assert np.mean(scores) > 0.8
    sources, targets = zip(*(line.split("\t") for line in rows.splitlines()), strict=True)
    loaded = bitextfilter.load(f"{model}:ba,ce")
    assert loaded.languages == ("ba", "ce")
    cosine = loaded.score(sources, targets, "cosine")["cosine"]
    np.testing.assert_allclose(cosine, scores, atol=5.1e-5)


def test_a_vector_depends_on_its_sentence_alone(home: Path) -> None:
    texts = [sentence([n % 200, 7, 3 * n % 200] * (1 + n % 3), 2) for n in range(700)]
    one = bitextfilter.load(f"{home / 'model'}:aa,ce").encode(texts, "ce")
    other = bitextfilter.load(f"{home / 'model'}:ce,ba", threads=2)
    order = np.random.default_rng(1).permutation(len(texts))[:300]
    assert np.array_equal(other.encode([texts[n] for n in order], "ce"), one[order])


def test_a_sentence_of_any_language_is_encoded(home: Path) -> None:
    model = bitextfilter.load(f"{home / 'model'}:ba,ce")
    text = sentence([1, 2, 3], 0)
    other = bitextfilter.load(f"{home / 'model'}:aa,ba")
    assert np.array_equal(model.encode([text], "aa"), other.encode([text], "aa"))
    with pytest.raises(SettingsError, match="languages are aa, ba and ce, not 'dv'"):
        model.encode([text], "dv")


def test_a_model_of_three_needs_two_named(home: Path) -> None:
    with pytest.raises(SettingsError, match=r"3 languages \(aa, ba, ce\): load\("):
        bitextfilter.load(home / "model")
    said = bitext(
        "score", "--model", home / "model", "--languages", "aa,dv", stdin="a\tb\n", code=78
    )
    assert "languages are aa, ba and ce, not 'dv'" in said


def test_swapped_columns_are_told(home: Path) -> None:
    rows = (home / "bc.tsv").read_text(encoding="utf-8")
    arguments = ["--model", str(home / "model"), "--languages", "ce,ba", "--similarity", "cosine"]
    done = CliRunner().invoke(command("bitext-score"), arguments, input=rows)
    assert done.exit_code == 0
    assert "the columns look swapped" in done.stderr


def test_a_model_of_three_is_shown_and_verified(home: Path) -> None:
    facts = json.loads(bitext("models", "show", home / "model", "--json"))
    assert facts["languages"] == list(NAMES)
    assert facts["neighbours"] == [SAMPLE_ROWS] * 2
    bitext("models", "verify", home / "model")


def test_a_pruned_model_of_two_has_the_same_scores(home: Path) -> None:
    rows = (home / "bc.tsv").read_text(encoding="utf-8")
    bitext("models", "prune", home / "model", "--languages", "ba,ce", "-o", home / "pruned")
    names = ("--similarity", "cosine,csls", "--digits", "9")
    one = bitext("score", "--model", f"{home / 'model'}:ba,ce", *names, stdin=rows)
    assert bitext("score", "--model", home / "pruned", *names, stdin=rows) == one
    sizes = [(home / name / "encoder.safetensors").stat().st_size for name in ("model", "pruned")]
    assert sizes[1] < 0.8 * sizes[0]
    bitext("models", "verify", home / "pruned")
    pruned = bitextfilter.load(home / "pruned")
    assert pruned.languages == ("ba", "ce")
    with pytest.raises(SettingsError, match="languages are ba and ce, not 'aa'"):
        pruned.encode(["x"], "aa")
    bitext("models", "prune", home / "model", "--languages", "ce,ba", "-o", home / "turned")
    assert bitextfilter.load(home / "turned").languages == ("ba", "ce")


def mlp(model: object, rows: list[list[str]]) -> np.ndarray:
    text = "".join("\t".join(row) + "\n" for row in rows)
    lines = bitext("score", "--model", model, "--similarity", "mlp", "--digits", "9", stdin=text)
    return np.array([float(line.rsplit("\t", 1)[1]) for line in lines.splitlines()])


def judged(home: Path, output: str, *more: object, code: int = 0) -> str:
    """Train a classifier on pairs of the first language with each other one: folder, or stderr."""
    rows = []
    for name in ("ab", "ac"):
        lines = (home / f"{name}.tsv").read_text(encoding="utf-8").splitlines()[1:1001]
        rows += [line.split("\t") for line in lines]
    wrong = [[one[0], other[1]] for one, other in zip(rows, rows[7:] + rows[:7], strict=True)]
    for name, some in (("right", rows), ("wrong", wrong)):
        text = "".join("\t".join(row) + "\n" for row in some)
        (home / f"{name}.tsv").write_text(text, encoding="utf-8")
    said = bitext(
        "train-classifier", "--noisy", home / "wrong.tsv", "--negatives", "given", "--kind",
        "words", "--threads", 1, "--set", "hidden=16", "--set", "width=8", *more, "-o",
        home / output, home / "right.tsv", code=code,
    )  # fmt: skip
    return said if code else str(home / output)


@pytest.fixture(scope="module")
def judge(home: Path) -> Path:
    return Path(judged(home, "judge", "--model", home / "model", "--set", "training.epochs=2"))


def told_apart(home: Path, model: Path | str) -> float:
    """AUC of pairs of the two languages that no row of the training had, and shuffled ones."""
    unseen = [line.split("\t") for line in (home / "bc.tsv").read_text("utf-8").splitlines()]
    shuffled = [[one[0], other[1]] for one, other in zip(unseen, unseen[3:], strict=False)]
    right, other = (mlp(f"{model}:ba,ce", rows) for rows in (unseen, shuffled))
    return float(np.mean(right[:, None] > other))


def test_a_classifier_of_all_pairs_of_languages(home: Path, judge: Path) -> None:
    config = json.loads((judge / "config.json").read_text())
    assert config["classifier"]["multilingual"] and config["format"] == 3
    assert told_apart(home, judge) > 0.95
    bitext("models", "prune", judge, "--languages", "ba,ce", "-o", home / "judge-bc")
    unseen = [line.split("\t") for line in (home / "bc.tsv").read_text("utf-8").splitlines()]
    assert np.array_equal(mlp(home / "judge-bc", unseen), mlp(f"{judge}:ba,ce", unseen))


@pytest.mark.gate(0)
def test_a_classifier_is_carried_to_another_encoder(home: Path, judge: Path) -> None:
    """Its vectors are turned, so that nothing but the map between words can help."""
    shutil.copytree(home / "model", home / "turned-encoder")
    loaded = ENCODERS.load(home / "model")
    with torch.no_grad():
        for table in loaded.network.tables():
            turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=[table.embedding_dim] * 2))
            table.weight.copy_(table.weight @ torch.from_numpy(turn.astype(np.float32)))
    kind = loaded.architecture, loaded.settings
    ENCODERS.save(home / "turned-encoder", kind, loaded.network, loaded.processor)
    write_digests(home / "turned-encoder")
    still = ("--model", home / "turned-encoder", "--set", "training.learning_rate=1e-9")
    assert told_apart(home, judged(home, "carried", "--start", judge, *still)) > 0.95
    assert told_apart(home, judged(home, "untaught", *still)) < 0.8
    bitext("models", "prune", judge, "--languages", "ba,ce", "-o", home / "judge-of-two")
    said = judged(home, "refused", "--start", home / "judge-of-two", *still, code=78)
    assert "judge-of-two lacks its language aa" in said


def test_a_cut_for_each_pair_of_languages(home: Path) -> None:
    for pair, file in (("ba,ce", "bc.tsv"), ("aa,ba", "ab.tsv")):
        text = (home / file).read_text(encoding="utf-8").replace("aa\tba\n", "")
        cut = bitext(
            "evaluate", "filtering", "--suggest-threshold", "--json", "--model", home / "model",
            "--languages", pair, "--similarity", "cosine", "-",
            stdin="".join(text.splitlines(keepends=True)[:200]),
        )  # fmt: skip
        name = f"{home / 'model'}:{pair}"
        shown = bitext("models", "recommend", name, "-", "-o", home / "model", stdin=cut)
        assert f"threshold.filtering.cosine.f1.{pair}\t" in shown
    lines = (line.split("\t") for line in shown.splitlines())
    cuts = {line[0].rsplit(".", 1)[1]: float(line[1]) for line in lines}
    assert sorted(cuts) == ["aa,ba", "ba,ce"] and cuts["aa,ba"] != cuts["ba,ce"]
    rows = (home / "bc.tsv").read_text(encoding="utf-8")
    scored = bitext("score", "--model", name.replace("aa,ba", "ba,ce"), "--similarity", "cosine",
                    stdin=rows)  # fmt: skip
    for pair, value in cuts.items():
        told = CliRunner().invoke(
            command("bitext-filter"),
            ["--model", str(home / "model"), "--languages", pair, "--similarity", "cosine",
             "--rule", "score:minimum=balanced"], input=scored,
        )  # fmt: skip
        assert told.exit_code == 0, told.stderr
        assert f"balanced: cosine>={value!r}; " in told.stderr
        assert f" (for filtering of {pair}, by f1, model model " in told.stderr
    done = CliRunner().invoke(
        command("bitext-filter"),
        ["--model", f"{home / 'model'}:aa,ce", "--similarity", "cosine",
         "--rule", "score:minimum=balanced"], input=scored,
    )  # fmt: skip
    assert done.exit_code == 2
    assert "has no cut for aa,ce for filtering by cosine" in done.stderr


def test_languages_are_told_from_the_text(home: Path, tmp_path: Path) -> None:
    rows = (home / "bc.tsv").read_text(encoding="utf-8")
    words = ("--similarity", "cosine", "--model")
    named = bitext("score", *words, f"{home / 'model'}:ba,ce", stdin=rows)
    for size in (1, 8192):
        told = CliRunner().invoke(
            command("bitext-score"),
            [*words, str(home / "model"), "--batch-size", str(size)], input=rows,
        )  # fmt: skip
        assert (told.exit_code, told.stdout) == (0, named)
        assert "the columns look like ba and ce (--languages chooses others)" in told.stderr
    alike = "".join("\t".join([line.split("\t")[0]] * 2) + "\n" for line in rows.splitlines())
    for text in (alike, "".join(rows.splitlines(keepends=True)[:5]), "B-12\t0x5\n" * 100, ""):
        said = bitext("score", *words, home / "model", stdin=text, code=78)
        assert "3 languages, and the rows do not tell which two they are in; give --lang" in said
    (tmp_path / "rows.tsv").write_text(rows, encoding="utf-8")
    bitext("score", *words, home / "model", "-i", tmp_path / "rows.tsv", "--resume",
           tmp_path / "kept", "-o", tmp_path / "out.tsv", code=78)  # fmt: skip


def test_a_weak_language_is_named_and_warned_of(home: Path, tmp_path: Path) -> None:
    model, digest = tmp_path / "graded", bitextfilter.load(f"{home / 'model'}:aa,ba").digest
    table(tmp_path / "ab.tsv", 100, 31, (0, 1))
    lines = (tmp_path / "ab.tsv").read_text(encoding="utf-8").splitlines()[1:]
    random = np.random.default_rng(2)
    for name, sides in (("good", random.permutation(lines)), ("bad", lines)):
        rows = [line.split("\t") for line in sides]
        order = range(len(rows)) if name == "good" else random.permutation(len(rows))
        text = [f"{rows[i][1]}\tnote\t{row[0]}" for i, row in zip(order, rows, strict=True)]
        (tmp_path / f"{name}.tsv").write_text("\n".join(text) + "\n", encoding="utf-8")
    files = f"ba,-,aa={tmp_path / 'good.tsv'}", f"ce,-,aa={tmp_path / 'bad.tsv'}"
    bitext("models", "grade", home / "model", *files, "--weak-above", 20, "-o", model)
    shown = json.loads(bitext("models", "show", "--json", model))
    good, bad = shown["grades"]
    out = bitext(
        "evaluate", "recovery", tmp_path / "good.tsv", "--model", model, "--similarity", "csls",
        "--languages", "aa,ba", "--scol", 3, "--tcol", 1, "--json",
    )  # fmt: skip
    assert good["error"] == pytest.approx(json.loads(out)["results"][0]["mean"], abs=0.005)
    assert (good["language"], good["weak"], good["file"]) == ("ba", False, "good.tsv")
    assert bad["weak"] and bad["error"] > 90 and bad["pairs"] == len(set(lines))
    assert shown["digest"] == digest
    text = bitext("models", "show", model)
    assert f"error.ce\t{bad['error']:.2f}\tweak pairs=" in text
    bitext("models", "grade", model, files[1], "--weak-above", 100, "-o", tmp_path / "mild")
    grades = json.loads(bitext("models", "show", "--json", tmp_path / "mild"))["grades"]
    assert grades == [good, {**bad, "weak": False}]
    bitext("models", "prune", model, "--languages", "ba,ce", "-o", tmp_path / "two")
    for opened, warned in ((f"{model}:aa,ba", 0), (f"{model}:ba,ce", 1), (tmp_path / "two", 1)):
        done = CliRunner().invoke(command("bitext-score"), ["--model", str(opened)], input="a\tb\n")
        assert done.exit_code == 0
        assert done.stderr.count("ce is a weak language of this model") == warned, opened
    for named, code, said in (
        ("ba,ce", 78, "name aa and one other"), ("aa,dv", 78, "name aa and one other"),
        ("aa,ba,ce", 78, "name aa and one other"), ("aa,ba", 65, "3 columns, expected 2"),
    ):  # fmt: skip
        wrong = f"{named}={tmp_path / 'good.tsv'}"
        assert said in bitext("models", "grade", model, wrong, "-o", tmp_path / "no", code=code)
    (model / "grades.json").write_text('{"format": 1, "grades": [{"language": "ba"}]}')
    with unverified():
        assert "grade 1: other fields" in bitext("models", "show", model, code=65)
        assert "grade 1: other fields" in bitext("models", "verify", model, code=65)


@pytest.mark.parametrize(
    ("model", "languages", "said"),
    [
        ("model", "ba,dv", "languages are aa, ba and ce, not 'dv'"),
        ("en-de", "en,de", "a model of two languages: there is nothing to leave out"),
    ],
)
def test_bad_prunings(home: Path, model: str, languages: str, said: str) -> None:
    name = model if model == "en-de" else home / model
    out = home / "unmade"
    assert said in bitext("models", "prune", name, "--languages", languages, "-o", out, code=78)
    assert not out.exists()


def test_embed_needs_one_language_only(home: Path) -> None:
    bitext(
        "embed", "--model", home / "model", "--language", "ce", "-o", home / "ce.npy",
        stdin=sentence([5, 6], 2) + "\n",
    )  # fmt: skip
    expected = bitextfilter.load(f"{home / 'model'}:aa,ce").encode([sentence([5, 6], 2)], "ce")
    assert np.array_equal(np.load(home / "ce.npy"), expected)


@pytest.mark.gate(0)
def test_a_resumed_run_ends_with_the_same_model(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    validate, calls = MultilingualTraining.validate, list[int]()

    def interrupted(self: MultilingualTraining, network: Network) -> float:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return validate(self, network)

    with monkeypatch.context() as patched:
        patched.setattr(MultilingualTraining, "validate", interrupted)
        train(home, "resumed", code=130)
    train(home, "resumed", "--resume")
    for name in ("encoder.safetensors", "neighbours.npz"):
        assert (home / "resumed" / name).read_bytes() == (home / "model" / name).read_bytes()


def test_a_training_starts_from_a_model_of_the_same_languages(home: Path) -> None:
    words = ["--languages", ",".join(NAMES), "--threads", 1, "--start", home / "model"]
    words += ["--pairs", home / "ab.tsv", "--pairs", home / "ac.tsv"]
    words += ["--development", home / "ab-dev.tsv", "--set", "shape.embedding=32"]
    more = ["--set", "training.updates=4", "--set", "training.mega_batch=4"]
    bitext("train-encoder", *words, *more, "-o", home / "further")
    assert error(home, "further", "bc.tsv") <= 6
    said = bitext("train-encoder", *words, "--start", "en-de", "-o", home / "x", code=78)
    assert "en-de is a model of en-de, not aa-ba-ce" in said


def test_the_recipe_exchanges_rare_ngrams_for_those_of_a_language_that_has_few(home: Path) -> None:
    """New text in Cyrillic letters; a sentence without what went, or came, keeps its vector.

    A new n-gram has the direction of its text, and twice the length of others.
    """
    recipe = script_module(ROOT / "examples" / "train-multi" / "ngrams.py")
    news = ["щука щука щукаю", "щука\u2028ехала", "ехала"]
    (home / "news.tsv").write_text("".join(f"-\t{text}\n" for text in news), encoding="utf-8")
    options = ["--taught", f"aa,ce={home / 'news.tsv'}@2", str(home / "news.npy")]
    (home / "lessons.done").write_text("\n".join(options) + "\n", encoding="utf-8")
    more = ("--architecture", "word+trigram", "--set", "training.mega_batch=1")
    train(home, "summed", *more, "--set", "training.passes=1")
    recipe.main(home / "summed", home / "exchanged", home / "lessons.done", {"ce": 5})
    before, after = (ENCODERS.load(home / name) for name in ("summed", "exchanged"))
    grams = [each.processor.trigrams.vocabulary for each in (before, after)]
    old, new = (dict(zip(each.pieces, each.counts.tolist(), strict=True)) for each in grams)
    came, went = set(new) - set(old), set(old) - set(new)
    assert len(came) == 5
    assert {" щу", "щук"} < came  # the most frequent ones
    assert new["щук"] == [0, 0, 4]
    assert went == set([gram for gram in old if recipe.is_latin(gram)][-5:])
    models = [bitextfilter.load(f"{home / name}:aa,ce") for name in ("summed", "exchanged")]
    texts = [sentence([n, n + 1, 7], 2) for n in range(50)]
    vectors = [model.encode([*texts, *news], "ce") for model in models]
    np.testing.assert_allclose(vectors[1][:50], vectors[0][:50], atol=1e-5)
    assert not np.allclose(vectors[1][50:], vectors[0][50:], atol=0.01)
    table, begun = (
        each.network.state_dict()["vectors.0.trigrams.weight"] for each in (before, after)
    )
    expected = models[0].encode([gram.strip() for gram in grams[1].pieces[-5:]], "ce")
    expected *= 2 * table.norm(dim=1).median().item() / np.linalg.norm(expected, axis=1)[:, None]
    np.testing.assert_allclose(begun[-5:].numpy(), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(SystemExit, match="not a model of word"):
        recipe.main(home / "model", home / "x", home / "lessons.done", {"ce": 5})


@pytest.fixture(scope="module")
def lessons(home: Path) -> Path:
    """Text of one language, and of another, with the vectors of a model that knows all three."""
    folder = home / "lessons"
    folder.mkdir()
    for number, name in ((0, "aa"), (2, "ce")):
        pairs(folder / name, 1500, 20 + number, (number,))
        bitext(
            "embed", "--model", home / "model", "--language", name, "-i", folder / name,
            "-o", folder / f"{name}.npy",
        )  # fmt: skip
    pairs(folder / "few.tsv", 20, 30, (0, 2))
    return folder


def taught(home: Path, lessons: Path, output: str, *more: object, code: int = 0) -> str:
    """Train on aa-ba and 20 pairs of aa-ce."""
    arguments = ["--languages", ",".join(NAMES), "--threads", 1, "-o", home / output]
    arguments += ["--pairs", home / "ab.tsv", "--pairs", f"aa,ce={lessons / 'few.tsv'}"]
    arguments += ["--development", home / "ac-dev.tsv"]
    for setting in (*SETTINGS[:5], *SETTINGS[6:7], "training.updates=240", "training.ranking=1"):
        arguments += ["--set", setting]
    arguments += ["--set", "training.triplet=0", "--set", "training.learning_rate=0.01"]
    return bitext("train-encoder", *arguments, *more, code=code)


@pytest.mark.gate(0)
def test_a_language_is_taught_by_vectors_alone(home: Path, lessons: Path) -> None:
    given = [
        w for n in ("aa", "ce") for w in ("--taught", f"{n}={lessons / n}", lessons / f"{n}.npy")
    ]
    last = {}
    for name, more in (("untaught", []), ("taught", given)):
        taught(home, lessons, name, *more)
        record = json.loads((home / name / "training.json").read_text())
        last[name] = record["validation"][-1]["error"]
    assert last["untaught"] > 60
    assert last["taught"] <= 8
    assert record["material"]["taught"] == [["aa", ["aa"], 1.0], ["ce", ["ce"], 1.0]]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("shape.embedding=24", "vectors of 64 numbers, and those of the new model have 48"),
        ("training.taught=0", "training.taught=0 needs a share above 0"),
    ],
)
def test_lessons_that_do_not_fit(home: Path, lessons: Path, setting: str, said: str) -> None:
    given = ["--taught", f"ce={lessons / 'ce'}", lessons / "ce.npy", "--set", setting]
    assert said in taught(home, lessons, "never", *given, code=78)


def test_initial_vectors(home: Path, tmp_path: Path) -> None:
    vectors = "".join(f"{WORDS[0][n]} {' '.join(['0.1'] * 32)}\n" for n in range(50))
    (tmp_path / "v.vec").write_text(vectors)
    words = ["--languages", ",".join(NAMES), "--threads", 1, "--embeddings", tmp_path / "v.vec"]
    words += ["--pairs", home / "ab.tsv", "--pairs", home / "ac.tsv", "-o", home / "begun"]
    words += ["--development", home / "ab-dev.tsv", "--set", "training.updates=1"]
    for setting in (*SETTINGS[:5], "training.mega_batch=1"):
        words += ["--set", setting]
    done = CliRunner().invoke(command("bitext-train-encoder"), list(map(str, words)))
    assert done.exit_code == 0, done.stderr
    assert "% of a language's text" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scol", "2"], "--scol is for models of two languages"),
        (["--parallel", "a", "b"], "--parallel is for models of two languages"),
        (["--set", "training.ranking=1", "--set", "training.translation=1"], "a decoder writes"),
        (["--set", "shape.tables=separate"], "shape.tables is separate"),
    ],
)
def test_options_of_two_languages(home: Path, options: list[str], said: str) -> None:
    code = 2 if said.startswith("--") else 78
    assert said in train(home, "other", *options, code=code)


def test_an_unknown_language_in_a_header(home: Path, tmp_path: Path) -> None:
    other = table(tmp_path / "x.tsv", 3, 1, (0, 1))
    other.write_text(other.read_text().replace("ba", "dv", 1))
    said = train(home, "other", "--pairs", other, code=65)
    assert "x.tsv:1: the header has 'dv', which is none of --languages" in said


ADDITION = (
    "trigrams.size=300", "shape.embedding=32", "training.triplet=0", "training.mega_batch=1",
    "training.ranking=1", "training.batch_size=100", "training.passes=30",
    "training.learning_rate=0.04", "training.validate_every=120",
)  # fmt: skip


def add(home: Path, output: Path, *more: object, languages: str = "aa,dv", code: int = 0) -> str:
    """Add a language to the model, by pairs with the first one."""
    arguments = ["--languages", languages, "--start", home / "model", "--threads", 1]
    arguments += ["--pairs", home / "ad.tsv", "--development", home / "ad-dev.tsv", "-o", output]
    for setting in ADDITION:
        arguments += ["--set", setting]
    return bitext("train-encoder", *arguments, *more, code=code)


def test_settings_that_the_start_replaces(home: Path) -> None:
    more = ("--start", home / "model", "--set", "trigrams.size=99")
    said = train(home, "unmade", *more, code=78)
    assert "trigrams.size=99 has no effect with --start, which brings its own" in said


@pytest.fixture(scope="module")
def added(home: Path) -> Path:
    """A model with a fourth language, beside the first."""
    pairs(home / "ad.tsv", 1500, 41, (0, 3))
    pairs(home / "ad-dev.tsv", 100, 42, (0, 3))
    add(home, home / "more")
    return home / "more"


def test_a_language_is_added(home: Path, added: Path) -> None:
    pairs(home / "bd.tsv", 200, 43, (1, 3))
    out = bitext(
        "evaluate", "recovery", home / "bd.tsv", "--model", f"{added}:ba,dv",
        "--similarity", "csls", "--json",
    )  # fmt: skip
    assert json.loads(out)["results"][0]["mean"] <= 8
    shown = json.loads(bitext("models", "show", f"{added}", "--json"))
    assert shown["languages"] == [*NAMES, ADDED]
    bitext("models", "verify", added)


def test_the_others_keep_their_vectors_to_the_last_bit(home: Path, added: Path) -> None:
    before, after = (
        bitextfilter.load(f"{home / 'model'}:aa,ce"),
        bitextfilter.load(f"{added}:aa,ce"),
    )
    of_new = [sentence([n, 2 * n % 200], 3) for n in range(200)]  # words with new n-grams
    for number, name in enumerate(NAMES):
        texts = [sentence([n, 3 * n % 200], number) for n in range(200)] + of_new
        assert np.array_equal(before.encode(texts, name), after.encode(texts, name))
    assert not np.array_equal(after.encode(of_new, "aa"), after.encode(of_new, ADDED))
    rows = "".join(f"{sentence([n, 9], 0)}\t{sentence([n, 9], 2)}\n" for n in range(50))
    names = ("--similarity", "cosine,csls", "--digits", "9", "--languages", "aa,ce", "--model")
    assert bitext("score", *names, home / "model", stdin=rows) == bitext(
        "score", *names, added, stdin=rows
    )


def test_an_addition_to_few_bits_keeps_them(home: Path, added: Path, tmp_path: Path) -> None:
    loaded = ENCODERS.load(home / "model")
    with writing_folder(tmp_path / "model") as draft:
        kind = loaded.architecture, loaded.settings
        ENCODERS.save(draft, kind, loaded.network, loaded.processor, bits=3)
        shutil.copyfile(home / "model" / BACKGROUND, draft / BACKGROUND)
        (draft / ATTRIBUTION).write_text("Owners\n")
    for name in ("ad.tsv", "ad-dev.tsv"):
        shutil.copyfile(home / name, tmp_path / name)
    assert "have 3 bits, which must stay: give --bits 3" in add(tmp_path, tmp_path / "no", code=78)
    add(tmp_path, tmp_path / "more", "--bits", 3, "--set", "training.passes=1")
    before, after = (load_file(tmp_path / n / "encoder.safetensors") for n in ("model", "more"))
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name][: len(tensor)])
    assert (tmp_path / "more" / ATTRIBUTION).exists()
    texts = [sentence([n, 3 * n % 200], 1) for n in range(50)]
    one, other = (
        bitextfilter.load(f"{tmp_path / name}@9:ba,ce").encode(texts, "ba")
        for name in ("model", "more")
    )
    assert np.array_equal(one, other)


def test_a_pruned_model_reads_an_added_language_alike(home: Path, added: Path) -> None:
    bitext("models", "prune", added, "--languages", "ce,dv", "-o", home / "cd")
    whole, pruned = bitextfilter.load(f"{added}:ce,dv"), bitextfilter.load(home / "cd")
    for number, name in ((2, "ce"), (3, "dv")):
        texts = [sentence([n, 3 * n % 200], number) for n in range(200)]
        assert np.array_equal(whole.encode(texts, name), pruned.encode(texts, name))


def test_a_second_language_is_added(home: Path, added: Path) -> None:
    rows = (line.split("\t") for line in (home / "ad.tsv").read_text("utf-8").splitlines())
    text = "".join(f"{one}\t{other.translate(SCRIPT)}\n" for one, other in rows)
    (home / "ae.tsv").write_text(text, encoding="utf-8")
    files = ("--pairs", home / "ae.tsv", "--development", f"aa,ee={home / 'ad-dev.tsv'}")
    settings = [word for setting in ADDITION for word in ("--set", setting)]
    bitext(
        "train-encoder", "--languages", "aa,ee", "--start", added, "--threads", 1, *files,
        *settings, "--set", "training.passes=1", "-o", home / "five",
    )  # fmt: skip
    before, after = bitextfilter.load(f"{added}:aa,dv"), bitextfilter.load(f"{home / 'five'}:aa,dv")
    texts = [sentence([n, 3 * n % 200], 3) for n in range(200)]
    assert np.array_equal(before.encode(texts, "dv"), after.encode(texts, "dv"))


@pytest.mark.parametrize(
    ("languages", "setting", "said"),
    [
        ("aa,ba", "seed=1", "model has aa and ba already: name a language that it lacks"),
        ("dv,aa", "seed=1", "the first of --languages is one that model has, as en,xx"),
        ("dv,ee", "seed=1", "the first of --languages is one that model has, as en,xx"),
        ("aa,dv", "architecture=word+trigram", "is word,trigram: give --architecture word,tri"),
        ("aa,dv", "shape.embedding=16", "the model to start from has no"),
        ("aa,dv", "trigrams.longest=5", "of trigrams, trigrams.size alone has an effect here"),
        ("aa,dv", "training.three_way=0.5", "no row is in three languages"),
        ("aa,dv", "segmentation.vocabulary_size=99", "99 has no effect with --start, which brings"),
    ],
)
def test_bad_additions(home: Path, added: Path, languages: str, setting: str, said: str) -> None:
    changed = ("--set", setting) if "." in setting else ()
    if setting.startswith("architecture"):
        changed = ("--architecture", setting.partition("=")[2])
    assert said in add(home, home / "unmade", *changed, languages=languages, code=78)
    assert not (home / "unmade").exists()
