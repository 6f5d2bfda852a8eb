"""The recipes of examples/train-*, on a small folder of data."""

from __future__ import annotations

import gzip
import lzma
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import toys
from console import BIN, ROOT

from bitextfilter.scoring.model import load
from bitextfilter.scoring.thresholds import read_grades, read_thresholds
from bitextfilter.settings import read_settings
from bitextfilter.similarity.vectors import unit_rows
from bitextfilter.training.encoder_training import EncoderConfig

EXAMPLES = ROOT / "examples"
OPEN = (EXAMPLES / "train-a-pair" / "open.txt").read_text(encoding="utf-8").split()
PAIRS = ["en-de", "en-fr", "en-cs", "de-fr"]


def write(path: Path, rows: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{row}\n" for row in rows).encode()
    packed = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(packed(text))
    return path


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def run(script: Path, *words: object, first: Path = BIN) -> subprocess.CompletedProcess[str]:
    search = os.pathsep.join(
        [str(first), str(BIN), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    return subprocess.run(
        [str(script), *map(str, words)], capture_output=True, text=True, timeout=900, check=False,
        env={**os.environ, "PATH": search, "THREADS": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every open file, with sentences that name their file and language; and some more."""
    folder = tmp_path_factory.mktemp("data")
    pairs = toys.invented_pairs(25, seed=1)
    for name in [*OPEN, "train/en-fr/infopankki.tsv.gz", "train/en-fr/captions.research.tsv.gz"]:
        left, right = Path(name).parent.name.split("-")
        kind = Path(name).name.split(".")[0]
        rows = [f"{a} {n} {kind} {left}\t{b} {n} {kind} {right}" for n, (a, b) in enumerate(pairs)]
        write(folder / name, rows)
    captions = toys.invented_pairs(40, seed=2)
    for language in ("de", "fr", "cs"):
        rows = [f"{a}\t{b} so {language}" for a, b in captions]
        write(folder / f"dev/captions.en-{language}.tsv", rows)
    write(folder / "dev/newstest2014.de-en.tsv", [f"{b} so de\t{a}" for a, b in captions])
    return folder


def stub(command: Path, *script: str) -> Path:
    """Write a script that only looks like a command; returns its folder, to be first in PATH."""
    write(command, ["#!/bin/sh", *script]).chmod(0o755)
    return command.parent


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    """A folder with a bitext-train that only keeps what it was asked to do."""
    return stub(
        tmp_path / "bin" / "bitext-train",
        'asked=$(printf "%s\\n" "$@"); while [ "$1" != -o ]; do shift; done',
        'folder=$(dirname "$2"); mkdir -p "$2"; echo > "$2/config.json"',
        'echo "$asked" > "$folder/asked"',
        'printf "name\\ncsls\\t1\\t1\\t1.25\\ncosine\\t2\\t2\\t2.5\\n" > "$folder/recovery.tsv"',
        'printf "kind\\tAUC\\ncopied\\t0.98765\\nname\\t0.5\\n" > "$folder/noise.tsv"',
        'printf "%s\\t%s\\t0\\tfigures\\n" stage seconds encoder 7 examples 8 classifier 9',
    )


def given(words: Sequence[str], option: str) -> str:
    """The value of an option."""
    return words[words.index(option) + 1]


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory, commands: Path) -> Path:
    """The output of the recipe of en-de."""
    output = tmp_path_factory.mktemp("recipe")
    done = run(EXAMPLES / "train-en-de" / "train.sh", data, output, first=commands)
    assert done.returncode == 0, done.stderr
    return output


@pytest.mark.gate(0)
def test_the_recipe_makes_a_whole_model(trained: Path, commands: Path) -> None:
    model = load(trained / "en-de")
    assert model.languages == ("en", "de") and model.classifier is not None
    assert model.background is not None and model.encoder.dim == 512
    held = {path.name for path in model.folder.iterdir()}
    assert {"card.md", "attribution.md", "thresholds.json", "classifier.json"} <= held
    shown = run(commands / "bitext-models", "show", trained / "en-de").stdout
    measures = [line.split(".")[2] for line in shown.split("\n") if line.startswith("threshold")]
    assert sorted(measures) == ["cosine", "csls", "distance", "euclidean", "mlp", "ratio"]
    names = "positives", "negatives", "contrasts"
    positives, negatives, contrasts = (
        set(lines(trained / "en-de.training" / f"{name}.tsv")) for name in names
    )
    fine = {tuple(line.split("\t")) for line in contrasts}
    worse = {f"{row[0]}\t{row[1]}" for row in fine}
    assert fine and not positives & negatives and not worse & (positives | negatives)
    assert {f"{row[4]}\t{row[5]}" for row in fine} <= positives
    assert {row[2] for row in fine} > {"word-left-out", "punctuation"}
    assert model.classifier.settings.minor_error_quality == 0.01
    assert 7 * 25 < len(positives) <= 8 * 25 and len(negatives) > len(positives)


@pytest.mark.gate(0)
def test_the_recipe_keeps_the_model_and_joins_an_autoencoder_to_it(
    data: Path, trained: Path, commands: Path
) -> None:
    model = load(trained / "en-de")
    words = [EXAMPLES / "train-en-de" / "train.sh", data, trained]
    again = run(*words, first=commands)
    assert again.returncode == 0, again.stderr
    assert "update" not in again.stderr and load(trained / "en-de").digest == model.digest
    words[0] = EXAMPLES / "train-en-de-autoencoder" / "train.sh"
    done = run(*words, first=commands)
    assert done.returncode == 0, done.stderr
    joined = load(trained / "en-de-autoencoder")
    assert joined.classifier is not None and joined.encoder.dim == 768
    texts = ["One house.", "Two"]
    vectors = [unit_rows(each.encode(texts, "en")[:, :512]) for each in (joined, model)]
    np.testing.assert_allclose(*vectors, atol=1e-6)
    assert {"card.md", "attribution.md", "thresholds.json", "second"} <= {
        path.name for path in joined.folder.iterdir()
    }


def word(language: str, number: int) -> str:
    return f"{language}{'ab'[number % 2]}{'cdefgh'[number // 2 % 6]}{number // 12}"


def files_of_multi(data: Path, more: Path) -> Iterator[tuple[str, Path]]:
    """The files of examples/train-multi, with their columns."""
    for name in ("open.txt", "lessons.txt"):
        for line in lines(EXAMPLES / "train-multi" / name):
            columns, file, *_ = line.partition("@")[0].split("\t")
            yield columns, (data if file.startswith("train/") else more) / file


def many_languages(data: Path, more: Path) -> tuple[str, ...]:
    """Write toy files of everything that examples/train-multi reads; returns the languages."""
    recipe, random = EXAMPLES / "train-multi", np.random.default_rng(1)
    script = (recipe / "train.sh").read_text(encoding="utf-8")
    names = re.findall(r"^languages=(.*)$", script, re.MULTILINE)[0].split(",")

    def sentences(languages: Sequence[str], count: int = 12) -> list[str]:
        rows = [random.integers(0, 60, random.integers(3, 10)).tolist() for _ in range(count)]
        return [
            "\t".join(" ".join(word(each, n) for n in row) for each in languages) for row in rows
        ]

    for columns, path in files_of_multi(data, more):
        every = names if columns == "-" else columns.replace("-,", "en,").split(",")
        if not path.exists():
            write(path, ["\t".join(names)][: columns == "-"] + sentences(every, 4))
    for name in ("cs", "nb", "de"):
        rows = sentences(["en", {"nb": "no"}.get(name, name)], 20)
        write(data / f"dev/ted.en-{name}.tsv", rows)
    trees = [row.split("\t") for row in sentences(["en", "ar", "cs"])]
    for place, name in enumerate(("ar", "cs"), 1):
        write(data / f"test/pud.en-{name}.tsv", [f"{row[0]}\t{row[place]}" for row in trees])
    for name in ("is", "ja"):
        write(data / f"test/newstest2021.{name}-en.tsv", sentences([name, "en"]))
    for name, code in (("he", "heb"), ("uk", "ukr"), ("vi", "vie")):
        write(data / f"test/tatoeba/{code}-eng.tsv", sentences([name, "en"]))
    rated = [sentences(["en", "ja", "ru", "zh", "de", "fr"]) for _ in "ab"]
    for place, name in enumerate(("en", "ja", "ru", "zh", "de", "fr")):
        sides = zip(*([row.split("\t")[place] for row in side] for side in rated), strict=True)
        rows = [f"{n % 6}\t{one}\t{other}" for n, (one, other) in enumerate(sides)]
        for part in ("dev", "test"):
            write(data / f"{part}/sts/stsb.{name}.tsv", rows)
    rows = [f"{'VFALE'[n % 5]}\t.5\t{row}" for n, row in enumerate(sentences(["en", "no"], 40))]
    write(data / "dev/crawl/paracrawl.en-nb.tsv", rows)
    return tuple(names)


def nepali(data: Path) -> None:
    """Write toy files of everything that examples/add-a-language reads."""
    random = np.random.default_rng(2)
    rows = [random.integers(0, 60, 5).tolist() for _ in range(80)]
    pairs = [[" ".join(word(name, n) for n in row) for name in ("en", "ne")] for row in rows]
    lines = ["\t".join(pair) for pair in pairs]
    write(data / "train/en-ne/gnome-bible.tsv.gz", lines[:40])
    write(data / "train/en-ne/software.tsv.gz", lines[40:])
    for part in ("dev", "test"):
        write(data / f"{part}/flores.ne-en.tsv", ["\t".join(pair[::-1]) for pair in pairs[:20]])


@pytest.mark.gate(0)
def test_the_recipe_of_many_languages(
    tmp_path: Path, commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SETTINGS", "width=8\nhidden=16\ntraining.batch_size=512")
    monkeypatch.setenv("TEACHERS", "en-de,multi")
    recipe, data, out = EXAMPLES / "train-multi", tmp_path / "data", tmp_path / "out"
    names = many_languages(data, tmp_path / "more")
    done = run(recipe / "train.sh", data, tmp_path / "more", out, first=commands)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (out / "lessons" / "teachers").glob("*.npy")} > {
        "en-de.de.npy", "en-de.en.npy", "multi.en.npy", "multi.ja.npy", "multi.he.npy"
    }  # fmt: skip
    assert "en-no" in done.stderr and "en-zh" in done.stderr
    model = load(f"{out / 'multi'}:uk,th")
    assert model.processor.known == names and model.background is not None
    again = run(recipe / "train.sh", data, tmp_path / "more", out, first=commands)
    assert (again.returncode, "update" in again.stderr) == (0, False)
    graded = run(recipe / "grade.sh", data, out, first=commands)
    assert graded.returncode == 0, graded.stderr
    languages = {"ar", "cs", "de", "he", "ja", "no", "uk", "vi"}
    assert {grade.language for grade in read_grades(out / "multi")} == languages
    cuts = read_thresholds(out / "multi")
    assert len(cuts) == 2 * 6 and {cut.measure for cut in cuts} == {"mlp", "csls"}
    measured = run(recipe / "evaluate.sh", data, out / "multi", first=commands)
    assert measured.returncode == 0, measured.stderr
    rows = [line.split("\t") for line in measured.stdout.splitlines()]
    # Of words unknown to the toy, all vectors are alike, and correlate with nothing.
    alike = [row[1] for row in rows if row[3] == "-"]
    assert set(alike) <= {"ja", "ru", "zh"}
    of_set = {row[0]: [other for other in rows if other[0] == row[0]] for row in rows}
    assert {name: [row[1] for row in found] for name, found in of_set.items()} == {
        "ted": ["en,cs", "en,de", "en,no", "mean of 3"],
        "pud": ["en,ar", "en,cs", "mean of 2"],
        "newstest2021": ["is,en", "ja,en", "mean of 2"],
        "pud-without": ["ar,cs", "cs,ar", "mean of 2"],
        "stsb": ["de", "en", "fr", "ja", "ru", "zh", f"mean of {6 - len(alike)}"],
        "crawl-default": ["en,no", "mean of 1"],
        "crawl-csls": ["en,no", "mean of 1"],
    }
    for found in of_set.values():
        known = [float(row[3]) for row in found[:-1] if row[3] != "-"]
        assert float(found[-1][3]) == pytest.approx(sum(known) / len(known), rel=0.01)
    assert of_set["crawl-csls"][0][2] == "16+16"
    dropped = run(recipe / "drops.sh", data, first=commands)
    assert dropped.returncode == 0, dropped.stderr
    rows = [line.split("\t") for line in dropped.stdout.splitlines()]
    assert [row[:3] for row in rows][:2] == [["ted", "en,cs", "20"], ["ted", "en,de", "20"]]
    assert len(rows) == 7 and all(0 <= float(cell) <= 100 for row in rows for cell in row[3:])
    nepali(data)
    script = EXAMPLES / "add-a-language" / "add.sh"
    adding = run(script, data, out / "multi", out / "ne", first=commands)
    assert adding.returncode == 0, adding.stderr
    assert re.fullmatch(r"hi,en\t[\d.]+\nne,en\t[\d.]+\n", adding.stdout)
    assert load(f"{out / 'ne'}:uk,ne").processor.known == (*names, "ne")


@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_is_trained_on_its_open_files_and_has_a_card(
    pair: str, data: Path, stubs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "models"
    done = run(EXAMPLES / f"train-{pair}" / "train.sh", data, output, first=stubs)
    assert (done.returncode, done.stderr) == (0, "")
    words = lines(output / "asked")
    source, target = given(words, "--languages").split(",")
    assert (f"{source}-{target}", "--keep" in words) == (pair, True)
    model, *files = words[words.index("-o") + 1 :]
    assert model == str(output / pair)
    assert files == [str(data / name) for name in OPEN if f"/{pair}/" in name]
    development, foreign = (Path(given(words, f"--{n}")) for n in ("development", "foreign"))
    assert {row.split("\t")[1].split()[-1] for row in lines(development)} <= {"so", target}
    spoken = {line.split()[-1] for line in lines(foreign)}
    everything = {language for name in OPEN for language in Path(name).parent.name.split("-")}
    assert spoken == everything - {source, target}
    card, attribution = (lines(output / pair / f"{n}.md") for n in ("card", "attribution"))
    assert card[0] == f"# {pair}" and attribution[0] == f"# Whose data {pair} was trained on"


_ASKED = {
    "VOCABULARY": ("12000", ["--set=encoder.segmentation.vocabulary_size=12000"]),
    "TRIGRAMS": ("8000", ["--set=encoder.trigrams.size=8000"]),
    "COUNT": ("150", ["--set=negatives=150"]),
    "SETTINGS": (
        "sum_weight=0.1\ntraining.epochs=2",
        ["--set=classifier.sum_weight=0.1", "--set=classifier.training.epochs=2"],
    ),
}
"""Variables of the environment, values, and what these ask of bitext-train."""


@pytest.mark.parametrize("names", [[], [*_ASKED], ["TRIGRAMS"], ["SETTINGS"]])
def test_the_environment_has_settings(
    names: list[str], data: Path, stubs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*_ASKED, "START"):
        monkeypatch.delenv(name, raising=False)
    if names:
        monkeypatch.setenv("START", "multi")
    for name in names:
        monkeypatch.setenv(name, _ASKED[name][0])
    script, pairs = EXAMPLES / "train-a-pair" / "train-open.sh", tmp_path / "development.tsv"
    done = run(script, "de-fr", data, tmp_path / "out", pairs, first=stubs)
    assert (done.returncode, done.stderr) == (0, "")
    words = lines(tmp_path / "out" / "asked")
    settings = [word for word in words if word.startswith("--set")]
    assert sorted(settings) == sorted(each for name in names for each in _ASKED[name][1])
    assert given(words, "--start") == ("multi" if names else "none") and "--threads=1" in words


def test_a_classifier_also_learns_from_manuals_and_graded_pairs(
    data: Path, stubs: Path, tmp_path: Path
) -> None:
    own, out = tmp_path / "data", tmp_path / "out"
    shutil.copytree(data, own)
    write(own / "train/multi/manuals.tsv.xz", ["fr\ten\tde", "f\te\td", "f\t\td", "f\te\t"])
    write(own / "train/quality/catastrophic.en-fr.tsv.xz", ["NOT\t[1]\te\tf", "ERR\t[3]\te\tg"])
    done = run(EXAMPLES / "train-en-fr" / "train.sh", own, out, first=stubs)
    assert (done.returncode, done.stderr) == (0, "")
    words = lines(out / "asked")
    assert words.count("--classifier-pairs") == words.count("--graded") == 1
    assert lines(Path(given(words, "--classifier-pairs"))) == ["e\tf", "e\tf"]
    assert lines(Path(given(words, "--graded"))) == ["e\tf\t1", "e\tg\t0"]


@pytest.mark.gate(0)
def test_a_pair_is_taught_from_where_its_model_is(
    data: Path, stubs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, more, out, asked = (tmp_path / name for name in ("data", "more", "out", "asked"))
    shutil.copytree(data, own)
    many_languages(own, more)
    stub(
        stubs / "bitext-train-encoder",
        f'printf "%s\\n" "$@" > {asked}; mkdir -p "{out}/encoder.training"',
    )
    for name, value in (("TEXT", more), ("START", "de-fr"), ("TEACHERS", "multi,multi"),
                        ("VOCABULARY", "12000"), ("TRIGRAMS", "8000")):  # fmt: skip
        monkeypatch.setenv(name, str(value))
    recipe, pairs = EXAMPLES / "train-a-pair", write(tmp_path / "pairs.tsv", ["a\tb"])
    done = run(recipe / "train-open.sh", "de-fr", own, out, pairs, first=stubs)
    assert done.returncode == 0, done.stderr
    trained = lines(out / "asked")
    assert given(trained, "--encoder") == str(out / "encoder")
    words = lines(asked)
    assert given(words, "-o") == str(out / "encoder")
    assert given(words, "--start") == given(trained, "--start") == "de-fr"
    assert given(words, "--settings") == str(recipe / "taught.json")
    learnt = [word.removeprefix("--pairs=") for word in words if word.startswith("--pairs=")]
    assert learnt == [str(own / name) for name in OPEN if "/de-fr/" in name]
    assert not [word for word in [*words, *trained] if re.match("--set($|=)", word)]
    taught = [words[n + 1 : n + 3] for n, word in enumerate(words) if word == "--taught"]
    assert {file.split("=")[0] for file, _ in taught} == {"de", "fr", "de,fr"}
    named = {Path(file.split("=")[1]).name.rpartition("@")[0] for file, _ in taught}
    assert {"mono.de.commonvoice.de.tsv", "multi.tico19.defr.tsv"} <= named
    files = [Path(name).name.removesuffix(".tsv.gz") for name in OPEN if "/de-fr/" in name]
    assert {f"train.de-fr.{file}.defr.tsv" for file in files} < named
    assert not [name for name in named if ".en" in name]
    found = next((file, vectors) for file, vectors in taught if "tatoeba-pivot" in file)
    rows = lines(Path(found[0].split("=")[1].rpartition("@")[0]))
    vectors = unit_rows(np.load(found[1]).astype(np.float32))
    texts = [row.split("\t")[0] for row in rows]
    before, after = (unit_rows(load(name).encode(texts, "de")) for name in ("multi:de,fr", "de-fr"))
    np.testing.assert_allclose(vectors @ vectors.T, before @ before.T, atol=0.01)
    assert (vectors * after).sum() > 2 * (before * after).sum()


def test_an_autoencoder_has_the_same_lessons_in_fewer_numbers(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, asked = tmp_path / "out", tmp_path / "asked"
    write(out / "lessons.txt", ["en,de\ttrain/en-de/tatoeba.tsv.gz\t1\t60000"])
    write(out / "lessons.done", [])
    (out / "lessons" / "teachers").mkdir(parents=True)
    stub(tmp_path / "bin" / "bitext-train-encoder", f'printf "%s\\n" "$@" > {asked}; exit 3')
    for name, value in (("TEXT", str(data)), ("TEACHERS", "en-de,multi")):
        monkeypatch.setenv(name, value)
    recipe = EXAMPLES / "train-en-de-autoencoder"
    assert run(recipe / "train.sh", data, out, first=tmp_path / "bin").returncode == 3
    words = lines(asked)
    assert words[words.index("--start") + 1] == str(out / "en-de")
    assert words[words.index("--settings") + 1] == str(recipe / "taught.json")
    file, vectors = words[words.index("--taught") + 1 :][:2]
    rows = lines(Path(file.split("=")[1].removesuffix("@1")))
    texts = [row.split("\t")[0] for row in rows]
    assert len(texts) == 25 and (out / "lessons" / "teachers" / "en-de.en.npy").exists()
    narrow, whole = np.load(vectors), unit_rows(load("en-de").encode(texts, "en"))
    assert narrow.shape == (25, 256)
    cosines = unit_rows(narrow.astype(np.float32))
    np.testing.assert_allclose(cosines @ cosines.T, whole @ whole.T, atol=0.01)


def test_the_autoencoder_starts_from_averages_and_is_measured_beside_the_others(
    data: Path, tmp_path: Path
) -> None:
    output, asked = tmp_path / "models", tmp_path / "asked"
    made = output / "en-de.training"
    for name in "negatives", "contrasts":
        write(made / f"{name}.tsv", ["not a\tpair"])
    for name in ("train-encoder", "train-classifier", "evaluate"):
        stub(tmp_path / "bin" / f"bitext-{name}", *[
            f'echo {name} "$@" >> {asked}',
            'while [ "$1" != -o ] && [ $# -gt 1 ]; do shift; done; mkdir -p "$2" "$2.training"',
        ] if name != "evaluate" else ["printf 'head\\ncsls\\t1.5\\n'"])  # fmt: skip
    recipe = EXAMPLES / "train-en-de"
    done = run(recipe / "autoencoder.sh", data, output, "autoencoder", first=tmp_path / "bin")
    assert (done.returncode, done.stderr) == (0, "")
    averaging, autoencoder, classifier = (line.split() for line in lines(asked))
    for words, name in ((averaging, "averaging"), (autoencoder, "autoencoder")):
        assert words[words.index("-o") + 1] == str(output / name)
        assert words[words.index("--settings") + 1] == str(recipe / f"{name}.json")
        assert sum(word.startswith("--pairs=") for word in words) == 8
    assert autoencoder[autoencoder.index("--start") + 1] == str(output / "averaging")
    assert classifier[0] == "train-classifier" and str(output / "autoencoder-mlp") in classifier
    assert classifier[classifier.index("--contrasts") + 1] == str(made / "contrasts.tsv")
    assert classifier[-1] == str(made / "positives.tsv")
    measured = run(recipe / "evaluate.sh", data, output, "dev", first=tmp_path / "bin").stdout
    found = [line.split("\t") for line in measured.split("\n")[:-1]]
    assert [row[0] for row in found] == ["autoencoder-mlp", "averaging", "autoencoder"] * 2
    assert {tuple(row[2:]) for row in found} == {("csls", "1.5")}


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("train-*/*.json")), ids=lambda path: path.stem
)
def test_settings_can_be_read(path: Path) -> None:
    assert EncoderConfig.from_dict(read_settings(path)).training.passes <= 6


@pytest.mark.parametrize("pair", PAIRS)
def test_attributions_and_cards_count_the_same_pairs(pair: str) -> None:
    """The sum of the table is what both texts say, and each open file has its row."""
    attribution, card = (
        (EXAMPLES / f"train-{pair}" / f"{name}.md").read_text(encoding="utf-8")
        for name in ("attribution", "card")
    )
    rows = [line.split("|") for line in attribution.split("\n") if line.startswith("|")][2:]
    total = f"{sum(int(row[2].replace(',', '')) for row in rows):,}"
    assert f"they are {total} pairs" in attribution and f"\n{total} " in card
    assert len(rows) == sum(f"/{pair}/" in name for name in OPEN)


def test_the_curve_draws_from_each_file_its_share(data: Path, stubs: Path, tmp_path: Path) -> None:
    output, curve = tmp_path / "curve", EXAMPLES / "train-your-own" / "curve.sh"
    done = run(curve, data, output, 80, "all", first=stubs)
    assert (done.returncode, done.stderr) == (0, "")
    names = sorted(Path(name).name for name in OPEN if "/en-de/" in name)
    for size, rows in (("80", 10), ("all", 25)):
        drawn = sorted((output / size / "pairs").iterdir())
        assert [f"{path.name}.gz" for path in drawn] == names
        for path in drawn:
            texts = lines(path)
            source = gzip.decompress((data / "train/en-de" / f"{path.name}.gz").read_bytes())
            every = source.decode().split("\n")
            assert len(texts) == rows and sorted(texts, key=every.index) == texts
        words = lines(output / size / "asked")
        model, *files = words[words.index("-o") + 1 :]
        assert (model, files) == (str(output / size / "en-de"), [str(path) for path in drawn])
        assert (given(words, "--start"), "--keep" in words) == ("none", True)
    header, first, second = (line.split("\t") for line in done.stdout.split("\n")[:3])
    assert header[:6] == ["pairs", "csls", "cosine", "encoder s", "classifier s", "MB"]
    assert header[6:] == ["copied", "name"]
    assert first == ["80", "1.25", "2.5", "7", "9", "0.0", "0.988", "0.500"]
    assert second == ["200", *first[1:]]
    stub(stubs / "bitext-train", "echo stage; exit 3")
    assert run(curve, data, output, 80, "all", first=stubs).stdout == done.stdout
    assert run(curve, data, output, 80, 40, first=stubs).returncode == 3
    assert (output / "40" / "pairs").exists() and not (output / "40" / "stages.tsv").exists()


@pytest.mark.gate(0)
def test_a_crawl_is_judged_and_the_score_learns(tmp_path: Path, commands: Path) -> None:
    model = toys.toy_model(tmp_path / "model")
    sources, targets = toys.sentences(160, seed=4)
    rows = [
        f"{'VFAL'[n % 4]}\t0.5\t{source}\t{targets[n if n % 4 < 2 else (n + 50) % 160]}"
        for n, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]
    crawl = write(tmp_path / "crawl.tsv", rows)
    script = EXAMPLES / "judge-a-crawl" / "judge.sh"
    done = run(script, crawl, model, tmp_path / "out", 80, first=commands)
    assert done.returncode == 0, done.stderr
    head, before, after = (line.split("\t") for line in done.stdout.splitlines())
    assert head == ["model", "AUC", "low", "high", "rows"] and before[4] == after[4]
    assert float(after[1]) >= float(before[1])  # the same where the labels teach nothing
    held = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"sample.tsv", "labels.tsv", "report.tsv", "learnt.tsv", "adapted"} <= held


@pytest.mark.gate(0)
def test_scores_are_measured_by_peoples_labels(tmp_path: Path, commands: Path) -> None:
    pairs = [line.split("\t") for line in lines(EXAMPLES / "pairs.en-de.tsv")][:40]
    crawl = [f"{'VFAL'[n % 4]}\t0.5\t{row[0]}\t{row[1]}" for n, row in enumerate(pairs)]
    write(tmp_path / "dev/crawl/paracrawl.en-de.tsv", crawl)
    errors = [f"{'ERR' if n % 3 else 'NOT'}\t[1]\t{r[0]}\t{r[1]}" for n, r in enumerate(pairs)]
    write(tmp_path / "dev/quality/catastrophic.en-de.tsv", errors)
    ratings = [f"{n}\t{n / 10}\t{row[0]}\t{row[1]}" for n, row in enumerate(pairs)]
    write(tmp_path / "dev/quality/mlqe.en-de.tsv", ratings)
    text = "".join(f"kind{n % 2}\t{r[1]}\t{r[0]}\t{r[0]} 7\n" for n, r in enumerate(pairs))
    contrasts = tmp_path / "dev/contrast/demetr.de-en.tsv.xz"
    contrasts.parent.mkdir()
    contrasts.write_bytes(lzma.compress(text.encode()))
    for model in ("en-de", "multi"):
        done = run(EXAMPLES / "people" / "measure.sh", tmp_path, model, first=commands)
        assert done.returncode == 0, done.stderr
        found = [line.split("\t") for line in done.stdout.splitlines()]
        sets = ["crawl.de", "crawl-all.de", "catastrophic.de", "mlqe.de"]
        sets += ["demetr.de.kind0", "demetr.de.kind1", "demetr.de"]
        assert [row[0] for row in found] == sets
        assert all(float(low) <= float(value) <= float(high) for _, _, value, low, high in found)
