"""examples/back-translated-paraphrases/tables.sh: its shares, grids and tables, without trainings.

Commands that take long are stand-ins here, which keep to the columns of the real ones.
"""

from __future__ import annotations

import gzip
import os
import subprocess
from pathlib import Path

import pytest
from console import ROOT, stand_ins

from bitextfilter.tuning.trials import read_grid

SCRIPT = ROOT / "examples" / "back-translated-paraphrases" / "tables.sh"

OPTIONS = """while [ $# -gt 0 ]; do
    case $1 in -i) in=$2 ;; -o) out=$2 ;; --n-best) best=$2 ;; --models) models=$2 ;; esac
    what=${what:-$1}
    shift
done
"""
STAND_INS = {
    "bitext-paraphrase": """case $what in
    make) awk -F '\\t' -v OFS='\\t' -v best="$best" '{
            for (rank = 1; rank <= best; rank++)
                print $1, "made of " $2, rank, -0.3, 4, 0, 0, 0, 0.1
        }' "$in" > "$out" ;;
    train) mkdir "$out"; printf 'class\\taccuracy\\tsentences\\nreferences\\t71.25\\t10\\n'
        printf 'translations\\t74.0\\t10\\ntotal\\t72.625\\t20\\n' ;;
    score) sed 's/$/\\t0.5/' "$in" ;;
    analyse) printf 'figure\\treferences\\ttranslations\\tdifference\\tspearman\\tsentences\\n'
        for figure in entropy trigram_entropy repetition trigram_repetition idf length; do
            printf '%s\\t9.5\\t9.0\\t0.5\\t-12.34\\t40\\n' $figure
        done ;;
esac""",
    "bitext-train-language-model": 'cp "$in" "$out"',
    "bitext-tune": """mkdir -p "$models"
{   printf 'point\\tpearson\\ttrained_pairs\\tarchitecture\\tcolumn.minimum\\tcolumn.maximum\\n'
    printf 'a1\\t61\\t50\\tword\\t10\\t20\\na2\\t60\\t50\\tgran\\t0\\t10\\n'
    printf 'a3\\t59.96\\t40\\tword\\t0\\t10\\na4\\t58\\t50\\tgran\\t10\\t20\\n'
    printf 'a5\\t\\t0\\tgran\\t30\\t100\\n'; } > "$out" """,
    "bitext-evaluate": "printf 'set\\tn\\tpairs\\tskipped\\tpearson\\nmean\\t3\\t9\\t0\\t66.66\\n'",
}


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that makes all tables; ``stdout`` is what it printed."""
    folder = tmp_path_factory.mktemp("tables")
    stand_ins(folder, OPTIONS, STAND_INS)
    data = folder / "data"
    (data / "train" / "en-de").mkdir(parents=True)
    for corpus, first in (("europarl", 0), ("bible", 200), ("tatoeba", 350)):
        rows = [f"English {n}\tDeutsch {n}" for n in range(first, first + 200)]
        text = "".join(f"{row}\n" for row in [*rows, *rows[:20], " \tkein", "no\t "])
        (data / "train" / "en-de" / f"{corpus}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    done = run(folder, data, folder / "output")
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "output" / "stdout").write_text(done.stdout)
    return folder / "output"


def run(commands: Path, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
    sizes = {"ROWS": "180", "HELD_OUT": "100", "CLASSIFIER": "200", "DEVELOPMENT": "30"}
    search = os.pathsep.join([str(commands), "/usr/local/bin", "/usr/bin", "/bin"])
    return subprocess.run(
        [str(SCRIPT), str(words[0]), "translator", *map(str, words[1:])], capture_output=True,
        text=True, timeout=60, check=False,
        env={**os.environ, **sizes, "SAMPLE": "50", "N_BEST": "3", "PATH": search, **more},
    )  # fmt: skip


def first_cells(path: Path) -> list[str]:
    return [line.split("\t")[0] for line in path.read_text().splitlines()]


def test_no_reference_is_in_two_parts(output: Path) -> None:
    parts = [first_cells(output / name) for name in
             ("held-out.txt", "classifier.rows", "dev.rows", "pool.rows")]  # fmt: skip
    assert [len(part) for part in parts[:3]] == [100, 200, 30]
    everything = [text for part in parts for text in part]
    assert len(everything) == len(set(everything)) > 450
    assert set(everything) <= {f"English {n}" for n in range(550)}
    assert everything != sorted(everything)
    rows = (output / "classifier.tsv").read_text().splitlines()
    assert len(rows) == 3 * 200 and rows[0].split("\t")[2] == "1"


def test_the_reference_is_english_and_the_probability_column_is_the_tenth(output: Path) -> None:
    cells = (output / "pool.tsv").read_text().splitlines()[0].split("\t")
    assert len(cells) == 10 and cells[9] == "0.5"


POINTS = {
    "by-length": 14, "random": 1, "by-cost": 5, "by-perplexity": 7, "by-classifier": 10,
    **dict.fromkeys(("overlap1", "overlap2", "overlap3", "bleu"), 20),
}  # fmt: skip


@pytest.mark.parametrize("name", POINTS)
def test_grids_are_those_of_the_paper(output: Path, name: str) -> None:
    points = list(read_grid(output / f"{name}.toml").points())
    assert len(points) == 2 * POINTS[name]
    assert {point.config.architecture for point in points} == {"word", "gran"}
    assert {point.sample for point in points} == {50}


@pytest.mark.parametrize(("chosen", "name"), [("avg", "word"), ("gran", "gran")])
def test_one_architecture_alone(output: Path, chosen: str, name: str) -> None:
    folder = output.parent / chosen
    done = run(output.parent, output.parent / "data", folder, "5", ARCHITECTURES=chosen)
    assert (done.returncode, done.stderr) == (0, "")
    points = list(read_grid(folder / "by-length.toml").points())
    assert [point.config.architecture for point in points] == [name] * 14


def test_more_pairs_each_time(output: Path) -> None:
    pool = len((output / "pool.tsv").read_text().splitlines())
    for part in (8, 4, 2, 1):
        points = read_grid(output / f"of-{part}.toml").points()
        assert {point.sample for point in points} == {pool // part}


def test_another_source_is_translated(output: Path) -> None:
    data = output.parent / "data"
    (data / "train" / "en-cs").mkdir()
    rows = gzip.compress("".join(f"One {n}\tJedna {n}\n" for n in range(500)).encode())
    (data / "train" / "en-cs" / "captions.tsv.gz").write_bytes(rows)
    asked = {"SOURCE": "cs", "CORPORA": "captions", "ROWS": "500"}
    done = run(output.parent, data, output.parent / "cs", "4", **asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert "| cs, captions | 66.7 | 61.0 |" in done.stdout
    assert "made of Jedna" in (output.parent / "cs" / "pool.tsv").read_text()


def test_tables(output: Path) -> None:
    source, *tables, examples, diversity, scaling = (
        (output / "stdout").read_text().strip().split("\n\n")
    )
    assert len(tables) == 6
    assert "| de, europarl bible tatoeba | 66.7 | 61.0 |" in source
    assert scaling.count("| 66.7 | 61.0 |") == 4 and "| overlap, n = 1 |" in diversity
    assert examples.count("| 0.5 | English ") == 10 and "| made of Deutsch " in examples
    tables += [source, examples, diversity, scaling]
    for table in tables:
        rows = [line.split("|") for line in table.splitlines()]
        assert len({len(row) for row in rows}) == 1
    first = [[cell.strip() for cell in line.split("|")[1:-1]] for line in tables[0].splitlines()]
    tested = ["66.7", "60.0", "0–10", "40", "66.7", "60.0", "0–10", "50", "65.7", "66.6"]
    assert first[2] == ["0–10", *tested]
    assert first[4] == ["20–30", *["-"] * 8, "65.3", "66.0"]
    assert "| tuned length | 66.7 | 61.0 | 10–20 | 50 | 66.7 | 60.0 | 0–10 | 50 |" in tables[1]
    assert "| lstm-hardest | 71.2 | 74.0 | 72.6 |" in tables[3]
    assert "| entropy | 9.50 | 9.00 | +0.50 | +0.46 |" in tables[4]
    assert "| repetition | -12.3 | 40 | -35.1 |" in tables[5]


def test_what_is_finished_is_kept(output: Path) -> None:
    (output.parent / "bitext-paraphrase").write_text("#!/bin/sh\nexit 9\n")
    done = run(output.parent, output.parent / "data", output, "8", "10")
    assert done.returncode == 0 and done.stdout.count("|---|") == 2
    wrong = run(output.parent, output.parent / "data", output, "14")
    assert (wrong.returncode, wrong.stdout) == (2, "") and "no table 14" in wrong.stderr
