"""Make lessons for a model of many languages: text, and the vectors of a larger encoder.

    python lessons.py LIST OUTPUT FOLDER...

LIST has a line for each file: the languages of its columns (- for a column that is passed over; -
alone: the first line names them), the file, looked for in the FOLDERs, how often it is read in a
pass, and how many rows are taken at most. The teacher reads the first column that it knows. Text of
one language that it lacks is read by a second teacher, whose vectors are mapped to the first's by
English sentences that both have read. In the environment, TEACHERS names both: use,e5. Columns of
languages that LANGUAGES lacks, if that is given, are passed over. TOWARDS is a model that is to be
trained further: the vectors are turned towards its own. Without it, WIDTH is how many numbers a
vector gets.

OUTPUT gets teachers/, with the distinct sentences of each language and their vectors, and a table
and vectors for each file. Writes the options of bitext-train-encoder, a word a line. What is there
is kept, so an interrupted run goes on. Memory holds the text of all files.
"""

from __future__ import annotations

import gzip
import lzma
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.models.folders import find_model, read_config
from bitextfilter.scoring.model import load
from bitextfilter.similarity.vectors import unit_rows

SEED = 1
SHARED = 5_000
"""Sentences that both teachers read,"""
RIDGE = 0.3
"""and the ridge of the map between their vectors."""
SAMPLE = 40_000
"""Texts by which vectors are turned or narrowed."""
OPENED = {".xz": lzma.open, ".gz": gzip.open}

Vectors = NDArray[np.float32]


class Lesson(NamedTuple):
    """Rows of a file, and the place of the column that the teacher reads."""

    name: str
    languages: list[str]
    weight: str
    rows: list[list[str]]
    column: int


def read(line: str, folders: list[Path], known: list[str]) -> Lesson:
    """Take some rows of a file of the list."""
    columns, file, weight, most = line.split("\t")
    path = next(folder / file for folder in folders if (folder / file).exists())
    with OPENED.get(path.suffix, open)(path, "rt", encoding="utf-8") as stream:
        rows = [row.split("\t") for row in stream.read().split("\n") if row]
    every = rows.pop(0) if columns == "-" else columns.split(",")
    if wrong := next((row for row in rows if len(row) != len(every)), None):
        sys.exit(f"{path}: a row of {len(wrong)} columns, not {len(every)}: {wrong}")
    wanted = (os.environ.get("LANGUAGES") or ",".join(every)).split(",")
    kept = [n for n, name in enumerate(every) if name in wanted and name != "-"]
    languages = [every[n] for n in kept]
    rows = [[row[n] for n in kept] for row in rows]
    readable = [n for n, name in enumerate(languages) if name in known]
    column = next((n for n in readable if any(row[n].strip() for row in rows)), 0)
    rows = [row for row in rows if row and row[column].strip()]
    chosen = random.Random(SEED).sample(range(len(rows)), min(int(most), len(rows)))
    name = file.replace("/", ".").removesuffix(path.suffix).removesuffix(".tsv")
    if len(languages) < 4:
        name += "." + "".join(languages)
    return Lesson(name, languages, weight, [rows[n] for n in sorted(chosen)], column)


def embedded(teacher: str, language: str, texts: list[str], folder: Path) -> Vectors:
    """The vectors of distinct texts, by bitext-embed."""
    start = folder / f"{teacher.replace('/', '.')}.{language}"
    plain, vectors = (Path(f"{start}.{kind}") for kind in ("txt", "npy"))
    content = "\n".join(texts) + "\n"
    if not plain.exists() or plain.read_text(encoding="utf-8") != content:
        vectors.unlink(missing_ok=True)  # of other texts
        shutil.rmtree(f"{start}.parts", ignore_errors=True)
        plain.write_text(content, encoding="utf-8")
    if not vectors.exists():
        other = "de" if language == "en" else "en"
        subprocess.run(
            ["bitext-embed", "--model", f"{teacher}:{language},{other}", "--language", language,
             "--dtype", "float16", "--threads", os.environ.get("THREADS", "1"),
             "--resume", f"{start}.parts", "-i", str(plain), "-o", str(vectors)],
            check=True,
        )  # fmt: skip
    found: Vectors = np.load(vectors, mmap_mode="r")
    return found


def mapped(vectors: Vectors, shared: tuple[Vectors, Vectors]) -> Vectors:
    """Vectors of the second teacher in the space of the first, by ridge regression."""
    own, wanted = (np.asarray(side, np.float64) for side in shared)
    centred, mean = own - own.mean(0), wanted.mean(0)
    weights = np.linalg.solve(
        centred.T @ centred + RIDGE * np.eye(own.shape[1]), centred.T @ (wanted - mean)
    )
    return ((vectors - own.mean(0)) @ weights + mean).astype(np.float32)


def turned(vectors: Vectors, wanted: Vectors) -> Vectors:
    """The rotation that brings vectors nearest to others of the same texts (Schönemann 1966)."""
    left, _, right = np.linalg.svd(unit_rows(vectors).T @ unit_rows(wanted), full_matrices=False)
    rotation: Vectors = left @ right
    return rotation


def narrowed(vectors: Vectors, width: int) -> Vectors:
    """The directions in which vectors differ most: ``(d, width)``."""
    unit = unit_rows(vectors)
    directions: Vectors = np.linalg.eigh(unit.T @ unit)[1][:, ::-1][:, :width]
    return directions


def projection(texts: dict[str, dict[str, int]], vectors: dict[str, Vectors]) -> Vectors:
    """The matrix that all vectors are multiplied with, from a sample of the first language's."""
    language = next(iter(texts))
    chosen = sorted(texts[language], key=hash_of)[:SAMPLE]
    sample = vectors[language][[texts[language][text] for text in chosen]].astype(np.float32)
    if towards := os.environ.get("TOWARDS"):
        model = load(towards)
        return turned(sample, model.encode(chosen, language))
    whole: int = sample.shape[1]
    width = int(os.environ.get("WIDTH") or whole)
    return narrowed(sample, width) if width < whole else np.eye(whole, dtype=np.float32)


def main(listed: Path, output: Path, folders: list[Path]) -> None:
    """Write the lessons."""
    first, second = os.environ.get("TEACHERS", "use,e5").split(",")
    known = read_config(find_model(first))["languages"]
    lines = [line for line in listed.read_text(encoding="utf-8").split("\n") if line]
    lessons = [lesson for line in lines if (lesson := read(line, folders, known)).rows]
    (output / "teachers").mkdir(parents=True, exist_ok=True)
    texts: dict[str, dict[str, int]] = {}
    for lesson in lessons:
        own = texts.setdefault(lesson.languages[lesson.column], {})
        for row in lesson.rows:
            own.setdefault(row[lesson.column], len(own))
    vectors = {}
    for language, own in texts.items():
        teacher = first if language in known else second
        vectors[language] = embedded(teacher, language, list(own), output / "teachers")
    if any(language not in known for language in texts):
        long = sorted((text for text in texts["en"] if text.count(" ") > 3), key=hash_of)[:SHARED]
        both = (
            vectors["en"][[texts["en"][text] for text in long]],
            embedded(second, "en", long, output / "teachers"),
        )
        for language in texts:
            if language not in known:
                vectors[language] = mapped(vectors[language], both[::-1])
    matrix = projection(texts, vectors)
    for lesson in lessons:
        language = lesson.languages[lesson.column]
        places = [texts[language][row[lesson.column]] for row in lesson.rows]
        table = output / f"{lesson.name}.tsv"
        table.write_text("".join("\t".join(row) + "\n" for row in lesson.rows), encoding="utf-8")
        np.save(table.with_suffix(".npy"), (vectors[language][places] @ matrix).astype(np.float16))
        print("--taught")
        print(f"{','.join(lesson.languages)}={table}@{lesson.weight}")
        print(table.with_suffix(".npy"))


def hash_of(text: str) -> int:
    """A number that only the text determines."""
    return random.Random(text).getrandbits(32)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [Path(folder) for folder in sys.argv[3:]])
