"""examples/wmt18-in-miniature and train-translators: what their scripts make of each other's files.

Corpora are made by the real commands. Those that score or train are stand-ins, which keep to the
columns and folders of the real ones and write down what they were asked.
"""

from __future__ import annotations

import gzip
import lzma
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from console import BIN, ROOT, stand_ins

RECIPE = ROOT / "examples" / "wmt18-in-miniature"
TRAIN = ROOT / "examples" / "train-translators" / "train.sh"

ROWS = [
    tuple(line.split("\t")[:2])
    for line in (ROOT / "examples" / "pairs.en-de.tsv").read_text("utf-8").splitlines()
]
CLEAN = (ROWS * 2)[:100]

OPTIONS = """echo "${0##*/} $*" >> "$ASKED"
while [ $# -gt 0 ]; do
    case $1 in -i) in=$2 ;; -o | --output) out=$2 ;; --similarity) names=$2 ;; esac
    last=$1
    shift
done
"""
STAND_INS = {
    # As many columns as measures; each is the length of the English side.
    "bitext-score": """gzip -dc "$in" | awk -F '\\t' -v OFS='\\t' -v names="$names" '
        { n = split(names, x, ","); line = length($1)
          for (i = 2; i <= n; i++) line = line OFS length($1) + i / 10
          print line }'""",
    "bitext-train-classifier": 'mkdir "$out"',
    "bitext-train-language-model": 'cat > "$out"',
    "bitext-evaluate": "printf 'system\\tseed\\n'",
    "bitext-train-translator": """mkdir -p "$out"
        if [ -e "$out.training/broken" ]; then echo "no room" >&2; exit 74; fi
        mkdir -p "$out.training"; echo "bitext-train-translator: 8 updates, 1 s" >&2""",
}


def corpus(rows: Sequence[Sequence[str]]) -> bytes:
    return gzip.compress("".join("\t".join(row) + "\n" for row in rows).encode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``bin`` with the stand-ins, and ``data``."""
    home = tmp_path_factory.mktemp("miniature")
    stand_ins(home / "bin", OPTIONS, STAND_INS)
    train = home / "data" / "train"
    files = {
        "en-de/captions.research": CLEAN[:60],
        "en-de/wmt-mix.research": CLEAN[60:],
        "comparable/captions.en-de.research": [(a, b) for (a, _), (_, b) in pairwise(CLEAN)],
        "en-fr/captions.research": ROWS,
        "en-cs/captions.research": ROWS,
        "en-de/postedits": [("A dog , here .", "Ein Hund , hier .")] * 3,
    }
    for name, rows in files.items():
        path = train / f"{name}.tsv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(corpus(rows))
    (home / "data" / "mono").mkdir()
    for name in ("en.mixed.research", "de.news.research", "de.law"):
        (home / "data" / "mono" / f"{name}.txt.gz").write_bytes(gzip.compress(b"text\n"))
    return home


def run(folder: Path, script: Path, *words: object, **more: str) -> list[str]:
    """Run a script; returns what the stand-ins were asked."""
    asked = folder / "asked"
    asked.write_text("")
    search = [folder / "bin", BIN, Path(sys.executable).parent, os.environ["PATH"]]
    done = subprocess.run(
        [str(script), str(folder / "data"), *map(str, words)], capture_output=True, text=True,
        timeout=120, check=False,
        env={**os.environ, "PATH": os.pathsep.join(map(str, search)), "ASKED": str(asked), **more},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return asked.read_text().splitlines()


@pytest.fixture(scope="module")
def made(folder: Path) -> Path:
    run(folder, RECIPE / "make-corpus.sh", folder / "out")
    return folder / "out"


def table(path: Path) -> list[list[str]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [line.split("\t") for line in text.decode().splitlines()]


@pytest.mark.gate(0)
def test_a_quarter_is_clean_and_the_rest_of_the_pairs_is_positives(made: Path) -> None:
    rows = table(made / "noisy.tsv.gz")
    labels = Counter(row[2] for row in rows)
    assert len(rows) == 320 and labels["clean"] == 80 and labels["comparable"] == 99
    assert len(labels) > 5
    clean = [(row[0], row[1]) for row in rows if row[2] == "clean"]
    positives = [(row[0], row[1]) for row in table(made / "positives.tsv")]
    assert sorted(clean + positives) == sorted(CLEAN) and len(positives) == 20
    assert [row[2] for row in rows] != sorted(row[2] for row in rows)


@pytest.mark.gate(0)
def test_labels_are_counted(made: Path) -> None:
    counts = {row[0]: [int(cell) for cell in row[1:]] for row in table(made / "labels.tsv")}
    for name, place in (("noisy", 0), ("filtered", 2)):
        rows = table(made / f"{name}.tsv.gz")
        for label in {row[2] for row in rows}:
            some = [row[0] for row in rows if row[2] == label]
            assert counts[label][place : place + 2] == [
                len(some), sum(len(text.split()) for text in some)
            ]  # fmt: skip
        assert counts["all"][place] == len(rows)


@pytest.fixture(scope="module")
def scored(folder: Path, made: Path) -> tuple[Path, list[str]]:
    """Scores, at first without translators; and what was asked when there were some."""
    run(folder, RECIPE / "score.sh", made)
    for name in ("de-en", "en-de", "pivot"):
        (folder / "translators" / name).mkdir(parents=True)
    return made, run(folder, RECIPE / "score.sh", made, folder / "translators")


@pytest.mark.gate(0)
def test_scores_stand_beside_their_rows(folder: Path, scored: tuple[Path, list[str]]) -> None:
    output, asked = scored
    names = ["levenshtein", "cosine", "csls", "mlp", "translation", "dual", "nmt+lm", "pivot"]
    names += ["mlp-random", *(f"mlp-{percent}" for percent in (20, 40, 60, 80, 100))]
    header, *rows = table(output / "scored.tsv.gz")
    assert header == ["en", "de", "label", *names]
    assert [row[:3] for row in rows] == table(output / "filtered.tsv.gz")
    for row in rows:
        assert float(row[4]) == len(row[0]) and float(row[8]) == len(row[0]) + 0.2
        assert 0 <= float(row[3]) <= 1
    assert table(output / "raw.tsv.gz")[0] == ["en", "de", "label", "cosine", "csls", "mlp"]
    assert [row[:3] for row in table(output / "raw.tsv.gz")[1:]] == table(output / "noisy.tsv.gz")
    assert [line.split()[0] for line in asked] == [
        "bitext-train-language-model", "bitext-train-language-model", "bitext-score", "bitext-score"
    ], "what was there already is kept"  # fmt: skip
    ways = f"{folder}/translators/en-de,{folder}/translators/de-en"
    assert f"--translator {ways}" in asked[2] and "translation,dual,log-linear" in asked[2]


@pytest.mark.gate(0)
def test_a_model_without_a_classifier_has_no_mlp_of_its_own(folder: Path, made: Path) -> None:
    model, output = folder / "encoder", folder / "other"
    model.mkdir()
    (model / "config.json").touch()
    output.mkdir()
    for name in ("noisy.tsv.gz", "filtered.tsv.gz", "labels.tsv"):
        (output / name).write_bytes((made / name).read_bytes())
    run(folder, RECIPE / "score.sh", output, MODEL=str(model))
    scored, raw = (table(output / f"{name}.tsv.gz")[0][3:] for name in ("scored", "raw"))
    assert scored[:4] == ["levenshtein", "cosine", "csls", "mlp-random"]
    assert raw == ["cosine", "csls"]
    asked = run(folder, RECIPE / "run.sh", output)
    assert "--scores cosine,levenshtein,csls " in asked[0] and "--scores cosine,csls " in asked[2]


@pytest.mark.gate(0)
def test_each_system_gets_as_many_words(folder: Path, scored: tuple[Path, list[str]]) -> None:
    output, _ = scored
    clean = next(int(row[4]) for row in table(output / "labels.tsv") if row[0] == "clean")
    first, second, raw = run(folder, RECIPE / "run.sh", output, SEEDS="1,2", PASSES="3")
    for line in (first, second, raw):
        assert f"--words {clean * 9 // 10} --seeds 1,2" in line
        assert "--scol de --tcol en" in line and "training.passes=3" in line
    assert "--random --oracle label" in first
    assert "--scores cosine,levenshtein,csls,mlp,translation,dual,nmt+lm,pivot " in first
    assert "--scores mlp-random,mlp-20,mlp-40,mlp-60,mlp-80,mlp-100 " in second
    assert raw.endswith("raw.tsv.gz") and "--scores cosine,csls,mlp" in raw


@pytest.mark.gate(0)
def test_translators_are_trained_once_and_gone_on_with(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "en-de.training").mkdir()
    (tmp_path / "en-de.training" / "state.json").touch()
    there, back = run(folder, TRAIN, tmp_path)
    assert "--languages de,en --scol 2 --tcol 1 " in there and "--dev-scol 1 --dev-tcol 2" in there
    assert "--languages en,de --scol 1 --tcol 2 " in back and "--dev-scol 2 --dev-tcol 1" in back
    assert "--resume" in back and "--resume" not in there
    assert (tmp_path / "postedits.tsv").read_text() == "A dog, here.\tEin Hund, hier.\n" * 3
    assert not list(tmp_path.glob("*.training"))
    assert run(folder, TRAIN, tmp_path) == []


@pytest.mark.gate(0)
def test_a_translator_from_another_language_reads_all_open_pairs(
    folder: Path, tmp_path: Path
) -> None:
    multi = folder / "data" / "train" / "multi"
    multi.mkdir(exist_ok=True)
    (multi / "one.tsv.xz").write_bytes(lzma.compress(b"en\tcs\tfr\na\t\tb\nc\td\te\n"))
    (asked,) = run(folder, TRAIN, tmp_path, "cs-en")
    assert "--languages cs,en --scol 2 --tcol 1 " in asked
    assert "/dev/ted.en-cs.tsv --dev-scol 2 --dev-tcol 1" in asked
    assert asked.count("--pairs ") == 3 and asked.count("/train/en-cs/") == 2
    assert (tmp_path / "cs.tsv").read_text() == "c\td\n"
