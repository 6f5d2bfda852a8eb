"""bitext-train-embeddings and bitext-train-language-model: from text to tables and ARPA files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from console import invoke

from bitextfilter.commands.train_embeddings import main
from bitextfilter.commands.train_language_model import main as main_of_lm
from bitextfilter.io.vectors import read_word_vectors, write_word_vectors
from bitextfilter.text.ngram_model import read_arpa
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.segment import SegmenterSettings, learn_segmenter, save_segmenter
from bitextfilter.text.words import UNITS, TokenUnits

SKIP_GRAM = ("dim=12", "epochs=8", "minimum_count=2", "longest=0", "subsampling=1")
SETTINGS = [part for value in SKIP_GRAM for part in ("--set", f"skip_gram.{value}")]
LANGUAGES = ["--languages", "aa,ba"]


def sentences(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Sentences of three words that go together, in any order; numbers are alike in both."""
    drawer = np.random.default_rng(0)
    subjects = np.concatenate([drawer.permutation(40) for _ in range(6)]).reshape(80, 3)
    generator = np.random.default_rng(seed)
    source, target = [], []
    for _ in range(count):
        words = generator.permutation(subjects[generator.integers(0, 80)])
        source.append(" ".join(f"{n}" if n % 5 == 0 else f"A{n}x" for n in words) + ".")
        target.append(" ".join(f"{n}" if n % 5 == 0 else f"b{n}y" for n in words) + ".")
    return source, target


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text of both languages that is no translation of each other, and dictionaries."""
    pytest.importorskip("fasttext")
    folder = tmp_path_factory.mktemp("embeddings")
    source, target = sentences(1500, 1)[0], sentences(1500, 2)[1]
    (folder / "text.aa").write_text("".join(f"{line}\n" for line in source))
    (folder / "text.ba").write_text("".join(f"{line}\n" for line in target))
    known = [n for n in range(40) if n % 5]
    (folder / "seeds.tsv").write_text("".join(f"A{n}x\tb{n}y\n" for n in known[::2]))
    (folder / "test.tsv").write_text("".join(f"a{n}x\tb{n}y\n" for n in known[1::2]))
    return folder


def train(*words: object, code: int | None = 0) -> Result:
    return invoke(main, *LANGUAGES, "--device", "cpu", *words, code=code)


def texts(home: Path) -> list[object]:
    return ["--source-text", home / "text.aa", "--target-text", home / "text.ba", *SETTINGS]


@pytest.fixture(scope="module")
def trained(home: Path) -> Path:
    """The files of a run from text, mapped by a dictionary."""
    done = train(
        *texts(home),
        *("--map", "dictionary", "--dictionary", home / "seeds.tsv"),
        *("--separate", home / "aa.vec", home / "ba.vec", "-o", home / "both.vec"),
        *("--manifest", home / "manifest.json"),
    )
    assert done.stdout == ""
    assert "refinement 0: criterion 0." in done.stderr
    assert "41 aa words, 41 ba words, 73 words" in done.stderr
    kept = json.loads((home / "manifest.json").read_text())
    assert kept["facts"] == {"map": "dictionary", "seed": 1}
    assert kept["counts"] == {
        "lines": 3000, "rows": 16, "rejected": 0, "entries": 16, "aa words": 41, "ba words": 41,
        "words": 73,
    }  # fmt: skip
    return home


def test_words_are_translated(trained: Path) -> None:
    words = ("--source", trained / "aa.vec", "--target", trained / "ba.vec", "--json")
    done = invoke("bitext-evaluate", "words", *words, trained / "test.tsv")
    results = json.loads(done.stdout)["results"]
    found = {(r["similarity"], r["rank"]): r["precision"] for r in results}
    assert found["csls", 1] > 50
    assert found["csls", 5] > 90


def test_the_table_of_both_has_weighted_means_of_what_both_have(trained: Path) -> None:
    sides = [read_word_vectors(trained / f"{name}.vec") for name in ("aa", "ba")]
    words, vectors = read_word_vectors(trained / "both.vec")
    assert words == list(dict.fromkeys([*sides[0][0], *sides[1][0]]))
    source, target = (dict(zip(*side, strict=True)) for side in sides)
    table = dict(zip(words, vectors, strict=True))
    assert table["a1x"] == pytest.approx(source["a1x"], abs=1e-5)
    assert table["b1y"] == pytest.approx(target["b1y"], abs=1e-5)
    assert np.linalg.norm(source["a1x"]) == pytest.approx(1, abs=1e-4)
    counts = [
        (trained / f"text.{name}").read_text().replace(".", " .").split().count("15")
        for name in ("aa", "ba")
    ]
    mean = (counts[0] * source["15"] + counts[1] * target["15"]) / sum(counts)
    assert table["15"] == pytest.approx(mean, abs=1e-5)


def test_identical_strings_as_seeds_from_vectors_given(tmp_path: Path) -> None:
    """A language and its turned self, of which some words are the same strings."""
    generator = np.random.default_rng(1)
    x = generator.normal(size=(60, 5)).astype(np.float32)
    z = (x @ np.linalg.qr(generator.normal(size=(5, 5)))[0]).astype(np.float32)
    sides = [[f"{i}" if i % 4 == 0 else f"{letter}{i}" for i in range(60)] for letter in "ab"]
    for name, words, vectors in (("s", sides[0], x), ("t", sides[1], z)):
        with open(tmp_path / name, "wb") as file:
            write_word_vectors(file, words, vectors)
    given = ["--source-vectors", tmp_path / "s", "--target-vectors", tmp_path / "t"]
    plain = ["--set", "mapping.normalise=unit", "--separate", tmp_path / "a", tmp_path / "b"]
    assert train("-q", *given, *plain, "-o", tmp_path / "both").output == ""
    a, b = (read_word_vectors(tmp_path / name) for name in "ab")
    assert (a[0], b[0]) == tuple(sides)
    assert a[1] == pytest.approx(b[1], abs=1e-4)
    words, vectors = read_word_vectors(tmp_path / "both")
    assert vectors[words.index("8")] == pytest.approx((a[1][8] + b[1][8]) / 2, abs=1e-4)
    train("-q", *given, "--maximum-words", "9", "-o", tmp_path / "few")
    assert len(read_word_vectors(tmp_path / "few")[0]) == 9 + 9 - 3


@pytest.mark.usefixtures("slow")
def test_a_long_epoch_says_how_far_it_is(trained: Path, tmp_path: Path) -> None:
    vectors = ["--source-vectors", trained / "aa.vec", "--target-vectors", trained / "ba.vec"]
    sizes = ("units=4", "updates=3", "epochs=2")
    options = [part for size in sizes for part in ("--set", f"adversarial.{size}")]
    told = train(*vectors, "--map", "adversarial", *options, "-o", tmp_path / "v").stderr
    assert [f": {n} of 6 updates, " in told for n in range(1, 7)] == [True] * 6


def test_adversarial_settings_reach_the_training(trained: Path, tmp_path: Path) -> None:
    sizes = ("units=4", "updates=3", "epochs=2", "starts=2")
    options = [part for size in sizes for part in ("--set", f"adversarial.{size}")]
    vectors = ["--source-vectors", trained / "aa.vec", "--target-vectors", trained / "ba.vec"]
    words = (*vectors, "--map", "adversarial", *options, "-o")
    said = train(*words, tmp_path / "v").stderr
    assert [f"epoch {n}: criterion" in said for n in range(1, 6)] == [True] * 4 + [False]
    assert "refinement 0: criterion" in said
    train("-q", *words, tmp_path / "w")
    other = train(*words, tmp_path / "x", "--seed", "2").stderr
    assert (tmp_path / "v").read_bytes() == (tmp_path / "w").read_bytes()
    assert "epoch 1" in other and other != said


def test_pieces_of_a_segmenter(home: Path, tmp_path: Path) -> None:
    """The same run gives the same bytes."""
    lines = "".join((home / f"text.{name}").read_text() for name in ("aa", "ba")).splitlines()
    normalise = Normalisation()
    normalised = [normalise(line, "") for line in lines]
    segmenter = learn_segmenter(normalised, SegmenterSettings("bpe", merges=30))
    save_segmenter(segmenter, tmp_path)
    config = {"normalisation": normalise.to_dict(), "segmentation": segmenter.kind}
    (tmp_path / "config.json").write_text(json.dumps(config))
    quick = (*texts(home), "--set", "skip_gram.epochs=1", "--segmenter", tmp_path, "-o")
    for name in ("v.vec", "w.vec"):
        train("-q", *quick, tmp_path / name)
    assert (tmp_path / "v.vec").read_bytes() == (tmp_path / "w.vec").read_bytes()
    words, _ = read_word_vectors(tmp_path / "v.vec")
    assert set(words) <= {piece for pieces in segmenter.segment_all(normalised) for piece in pieces}
    assert len(words) > 20 and any(word.startswith("\u2581") for word in words)


def test_help_says_what_memory_holds_and_how_shared_words_are_averaged() -> None:
    text = " ".join(invoke(main, "--help").stdout.split())
    assert "(2 x words + buckets) x dim x 4 bytes" in text
    assert "the mean of its two vectors, weighted by its counts where both" in text


LINES = ["The house is old.", "the  House, red", "", "is the red house old?", "a tree"]
TEXT = "".join(f"{line}\n" for line in LINES)


def trained_of_lm(*words: object, text: str | bytes = TEXT, code: int = 0) -> Result:
    return invoke(main_of_lm, *words, data=text, code=code)


def test_writes_an_arpa_file_that_says_how_it_was_made() -> None:
    done = trained_of_lm("-q")
    assert done.stderr == ""
    lines = done.stdout.split("\n")
    assert lines[:2] == [TokenUnits("tokens").note(), "\\data\\"]
    assert lines[2:5] == ["ngram 1=13", "ngram 2=19", "ngram 3=16"]
    assert lines[-2:] == ["\\end\\", ""]
    text = "a b c\na b c\na b d\n"
    assert "ngram 3=5\n" in trained_of_lm("-q", text=text).stdout
    assert "ngram 3=3\n" in trained_of_lm("-q", "--set", "minimum_count=2", text=text).stdout


@pytest.mark.parametrize("unit", UNITS)
def test_units_orders_and_case(unit: str, tmp_path: Path) -> None:
    path = tmp_path / "model.arpa.gz"
    trained_of_lm("-q", "--unit", unit, "--keep-case", "-o", path)
    assert path.read_bytes().startswith(gzip.compress(b"")[:2])
    model = read_arpa(path)
    assert model.units == TokenUnits(unit, lowercase=False)
    assert model.order == (5 if unit == "characters" else 3)
    assert model.units is not None
    assert {token for line in LINES for token in model.units(line)} == set(model.words[3:])
    trained_of_lm("-q", "--unit", unit, "--set", "order=2", "-o", path)
    assert read_arpa(path).order == 2


def test_column_by_name_bad_lines_and_too_long_an_order(tmp_path: Path) -> None:
    table = "en\tde\n" + "".join(f"{line}\tHaus {i}\n" for i, line in enumerate(LINES))
    plain = trained_of_lm("-q").stdout
    assert trained_of_lm("-q", "--header", "--column", "en", text=table).stdout == plain
    assert trained_of_lm("-q", "--column", "1", text=table[6:]).stdout == plain
    assert "--header" in trained_of_lm("--column", "en", text=table, code=2).stderr
    rejects, bad = tmp_path / "bad.tsv", TEXT.encode() + b"not \xff\n"
    words = ("-q", "--on-error", "reject", "--rejects", rejects)
    assert trained_of_lm(*words, text=bad).stdout == plain
    assert rejects.read_bytes().endswith(b"\tnot \xff\n")
    failed = trained_of_lm("--set", "order=9", "--unit", "words", text="a b\n", code=78)
    assert "n-grams of 5 tokens" in failed.stderr


def test_counts_and_facts(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    done = trained_of_lm("--manifest", manifest, "-o", tmp_path / "model.arpa")
    kept = json.loads(manifest.read_text(encoding="utf-8"))
    counts = {"rows": 5, "rejected": 0, "1-grams": 13, "2-grams": 19, "3-grams": 16}
    assert kept["counts"] == counts
    assert kept["facts"] == {"unit": "tokens", "order": 3, "lowercase": True}
    warning = "no discounts for n-grams of length 1, 2, 3: 0.5, 1 and 1.5 are taken"
    assert warning in done.stderr
