"""Calls of the system that fail: the n-th write, open, rename, sync, lock or allocation of a run.

A library in C (``faults.c``), loaded before the C library, counts the calls on files below the
folder of a trial and fails one of them, or all from one on. A run must then end with a documented
code and one clear line, or as if nothing had been; each output is old, new or missing; the next
run gives the bytes of an undisturbed one, and leaves no other file.
"""

from __future__ import annotations

import atexit
import errno
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest.mock import patch

import toys
import translators
from warm import warm

CODES = {65, 66, 69, 71, 74}
"""Exit codes of a run that met a fault."""

SECONDS = 120
"""A run that takes longer hangs."""

TINY = {
    "architecture": "averaging",
    "shape": {"embedding": 8},
    "segmentation": {"kind": "none", "vocabulary_size": 200},
    "training": {"batch_size": 16, "passes": 1, "validate_every": 2, "warmup": 2},
}
TINY_TRANSLATOR = {
    "shape": {"width": 8, "heads": 2, "layers": 1, "feed_forward": 8},
    "segmentation": {"kind": "none"},
    "training": {"batch_size": 16, "passes": 1, "validate_every": 2, "warmup": 2},
}
GRID = """
architecture = "averaging"
[shape]
embedding = [4, 6]
[segmentation]
kind = "none"
[training]
batch_size = 16
validate_every = 2
passes = 1
"""

ENCODER = "--languages aa,bb --development ../in/dev.tsv --settings ../in/encoder.json"
TRANSLATOR = "--languages aa,bb --development ../in/dev.tsv --settings ../in/translator.json"
REJECTS = "--on-error reject --rejects out.rejects.gz --manifest out.json"
MODEL = "--model ../in/model --threads 1"
TEXTS = "../in/text.aa ../in/text.bb"

LINES = {
    "score": f"bitext-score {MODEL} -i ../in/bad.tsv -o out.tsv.gz {REJECTS}",
    "score cached": f"bitext-score {MODEL} -i ../in/rows.tsv -o out.tsv --cache cache",
    "score resumed": f"bitext-score {MODEL} ../in/bad.tsv ../in/rows.tsv.gz -o out.tsv"
    f" --resume kept --shard-rows 50 {REJECTS}",
    "filter": "bitext-filter --rule default --without language --threads 1 -i ../in/bad.tsv"
    f" -o out.tsv.zst --explain {REJECTS}",
    "filter resumed": "bitext-filter --rule default --without language --threads 1"
    " ../in/rows.tsv.gz --shard-rows 60 --resume kept -o out.tsv.xz --manifest out.json",
    "filter by processes": "bitext-filter --rule default --without language --threads 2"
    " -i ../in/rows.tsv -o out.tsv.bz2",
    "fix": f"bitext-fix --threads 1 --explain -i ../in/bad.tsv -o out.tsv {REJECTS}",
    "rank": "bitext-rank -i ../in/scored.tsv -o out.tsv --top-words 600 --rejects out.rejects",
    "rank in order": "bitext-rank -i ../in/scored.tsv --order input --top-lines 50 -o out.tsv.gz",
    "dedup": "bitext-dedup -i ../in/scored.tsv -o out.tsv --match normalised --memory 1M"
    " --keep best --column 3 --groups out.groups --rejects out.rejects",
    "dedup near": "bitext-dedup -i ../in/rows.tsv -o out.tsv --match near --by source --memory 1M",
    "report": "bitext-report -i ../in/scored.tsv --column 3 -o out.html --manifest out.json",
    "convert": "bitext-convert --to moses -i ../in/rows.tsv out.aa out.bb.gz",
    "convert to tmx": "bitext-convert --to tmx --languages aa,bb -i ../in/rows.tsv -o out.tmx",
    "noise": "bitext-noise --rate shuffled=0.2 -i ../in/rows.tsv -o out.tsv",
    "embed": f"bitext-embed {MODEL} --language aa ../in/text.aa -o out.npy",
    "embed resumed": f"bitext-embed {MODEL} --language aa ../in/text.aa -o out.npy --resume kept"
    " --shard-rows 50",
    "align": f"bitext-align {MODEL} {TEXTS} -o out.tsv.gz --manifest out.json",
    "align resumed": f"bitext-align {MODEL} {TEXTS} -o out.tsv --resume kept --batch-size 40",
    "align with an index": f"bitext-align {MODEL} {TEXTS} -o out.tsv --index-save out.index",
    "align by an index": f"bitext-align {MODEL} {TEXTS} -o out.tsv --index ivf --resume kept",
    "align documents": f"bitext-align-documents {MODEL} {TEXTS} -o out.tsv",
    "segment": "bitext-segment learn --kind bpe --merges 30 ../in/text.aa -o out.bpe",
    "language model": "bitext-train-language-model --set order=2 -i ../in/text.aa -o out.arpa.gz",
    "translate": "bitext-translate --model ../in/translator --threads 1 -i ../in/few.aa"
    " -o out.bb --beam 2 --max-length 9",
    "encoder": f"bitext-train-encoder --pairs ../in/train.tsv {ENCODER} --threads 1 -o out.model",
    "translator": f"bitext-train-translator --pairs ../in/train.tsv {TRANSLATOR} --threads 1"
    " -o out.model",
    "classifier": f"bitext-train-classifier {MODEL} ../in/train.tsv --set training.epochs=1"
    " --set hidden=4 --negatives random --noisy ../in/rows.tsv -o out.model",
    "tune": "bitext-tune ../in/grid.toml --languages aa,bb --pairs ../in/train.tsv --processes 1"
    " --development ../in/dev.tsv -o out.tsv --models out.models",
}
"""Command lines in a folder beside that of the inputs; all their outputs are called ``out``."""


NEW = {"out.index", "out.bpe"}
"""Outputs that must not exist before a run."""


@dataclass(frozen=True)
class Fault:
    """An error of some kinds of calls."""

    kinds: str
    """Letters, as in ``faults.c``."""
    error: int
    """The number; 0 for a write of half the bytes."""
    lasting: bool = False
    """Whether the calls after the one that fails do so too."""

    def __str__(self) -> str:
        """Return its kinds and its name."""
        name = errno.errorcode.get(self.error, "half")
        return f"{self.kinds} {name}{' and on' if self.lasting else ''}"


FAULTS = [
    Fault("w", errno.ENOSPC, lasting=True),
    Fault("w", errno.ENOSPC),
    Fault("w", errno.EIO),
    Fault("w", 0),
    Fault("w", errno.EINTR),
    Fault("o", errno.EACCES),
    Fault("o", errno.EMFILE, lasting=True),
    Fault("o", errno.EIO),
    Fault("o", errno.EINTR),
    Fault("s", errno.EIO),
    Fault("s", errno.ENOSPC, lasting=True),
    Fault("n", errno.EACCES),
    Fault("n", errno.ENOSPC, lasting=True),
    Fault("m", errno.ENOSPC),
    Fault("m", errno.EACCES),
    Fault("u", errno.EACCES, lasting=True),
    Fault("u", errno.EIO),
    Fault("l", errno.ENOLCK, lasting=True),
    Fault("l", errno.EIO),
    Fault("t", errno.ENOSPC),
    Fault("r", errno.EIO),
    Fault("r", errno.EINTR),
    Fault("wosnmt", errno.ENOSPC, lasting=True),
    Fault("wosnmtu", errno.EROFS, lasting=True),
    Fault("a", errno.ENOMEM),
    Fault("a", errno.ENOMEM, lasting=True),
    Fault("p", errno.EAGAIN),
    Fault("p", errno.EAGAIN, lasting=True),
]


@functools.cache
def home() -> Path:
    """A folder for all trials, removed at the end."""
    folder = tempfile.TemporaryDirectory(prefix="injected-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@functools.cache
def library() -> Path | None:
    """The library of faults; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    path = home() / "faults.so"
    source = Path(__file__).with_name("faults.c")
    words = [compiler, "-O1", "-shared", "-fPIC", "-o", str(path), str(source), "-ldl"]
    subprocess.run(words, check=True)
    return path


@functools.cache
def commands() -> Path:
    """The folder of commands, which start at once with the library loaded."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = home() / "commands"
    folder.mkdir()
    with patch.dict(os.environ, {"LD_PRELOAD": str(library()), "OMP_NUM_THREADS": "1"}):
        return stack.enter_context(warm(folder))


@functools.cache
def inputs() -> Path:
    """The files that command lines read."""
    folder = home() / "in"
    folder.mkdir()
    for name, count, seed in (("rows", 150, 1), ("dev", 20, 2), ("train", 60, 3), ("few", 5, 4)):
        sides = toys.sentences(count, seed)
        rows = [f"{one}\t{other}\n" for one, other in zip(*sides, strict=True)]
        (folder / f"{name}.tsv").write_text("".join(rows))
        for side, text in zip("ab", sides, strict=True):
            name_of_text = {"rows": "text"}.get(name, name)
            (folder / f"{name_of_text}.{side * 2}").write_text("".join(f"{t}\n" for t in text))
    rows = (folder / "rows.tsv").read_text().splitlines(keepends=True)
    scored = [f"{row[:-1]}\t{index * 37 % 50 / 50}\n" for index, row in enumerate(rows)]
    (folder / "scored.tsv").write_text("".join(scored + scored[:40]))
    (folder / "bad.tsv").write_text("".join([*rows[:40], "alone\n", *rows[40:90], "\tb1\n"]))
    subprocess.run(["gzip", "-k", str(folder / "rows.tsv")], check=True)
    (folder / "encoder.json").write_text(json.dumps(TINY))
    (folder / "translator.json").write_text(json.dumps(TINY_TRANSLATOR))
    (folder / "grid.toml").write_text(GRID)
    toys.toy_model(folder / "model")
    translators.saved(folder / "translator")
    return folder


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    code: int
    told: str
    """Its standard error."""
    calls: list[list[str]]
    """Kind, number and paths of each call."""


def run(folder: Path, words: list[str], fault: Fault | None = None, number: int = 0) -> Ended:
    """Run a command in the folder ``work`` of a trial; its call of this *number* fails."""
    log = folder / "log"
    where = {"TMPDIR": str(folder / "tmp"), "FAULTS_BELOW": f"{folder}/", "FAULTS_LOG": str(log)}
    if fault:
        where |= {"FAULTS_KINDS": fault.kinds, "FAULTS_AT": str(number)}
        where |= {"FAULTS_ERROR": str(fault.error)} | ({"FAULTS_ON": "1"} if fault.lasting else {})
    done = subprocess.run(
        [str(commands() / words[0]), *words[1:]],
        cwd=folder / "work",
        env={**os.environ, **where},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    calls = [line.split("\t") for line in log.read_text().splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    return Ended(done.returncode, done.stderr.decode(), calls)


def begin(folder: Path) -> Path:
    """Make the folders of a trial."""
    folder.mkdir(exist_ok=True)
    for name in ("work", "tmp"):
        (folder / name).mkdir()
    shutil.copytree(inputs(), folder / "in")
    return folder


Content = dict[str, str]
"""Digests of files by their names; a folder has its own line."""


def content(folder: Path) -> Content:
    """What is in a folder, as far as it is the same in each run."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name.startswith("torchinductor_"):  # made by an import of torch
            continue
        data = b"" if path.is_dir() else path.read_bytes()
        if path.name == "out.json":
            data = re.sub(rb'"(seconds|rows_per_second)": [0-9.]+', b"", data)
        elif path.name == "scores.sqlite" or ".training" in str(path):
            data = b""
        elif data.startswith(b"point\t"):  # the table of bitext-tune
            data = re.sub(rb"\t[0-9]+\.[0-9](?=\t)", b"", data)
        found[path.relative_to(folder).as_posix()] = hashlib.sha256(data).hexdigest()[:8]
    return found


@dataclass(frozen=True)
class Clean:
    """An undisturbed run."""

    content: Content
    calls: list[list[str]]

    def count(self, kinds: str) -> int:
        """The number of its calls of some kinds."""
        return sum(call[0] in kinds for call in self.calls)


def unsafe(calls: Sequence[Sequence[str]], work: Path) -> list[str]:
    """The renames that a power cut could spoil.

    Before a rename, all that has the old name must be synced; after it, the folder.
    """
    found, synced, unsynced, folders = [], set[str](), set[str](), set[str]()
    for kind, _, *paths in calls:
        path, other = (os.path.normpath(work / path) for path in paths)
        if "/.tmp" in path:  # by safetensors, which renames it by itself
            continue
        if kind == "w" or (kind == "o" and paths[1]):
            unsynced.add(path)
            synced.discard(path)
        elif kind == "s":
            synced.add(path)
            unsynced.discard(path)
            folders.discard(path)
        elif kind == "n":
            inside = {name for name in unsynced if f"{name}/".startswith(f"{path}/")}
            inside |= {path} - synced
            found += [f"{name} is renamed before it is synced" for name in inside]
            unsynced -= inside
            folders.add(str(Path(other).parent))
    return found + [f"{folder} is not synced after a rename in it" for folder in folders]


@functools.cache
def clean(name: str) -> Clean:
    """Run a command line undisturbed."""
    folder = begin(Path(tempfile.mkdtemp(dir=home())))
    done = run(folder, LINES[name].split())
    assert done.code == 0, done.told
    assert not unsafe(done.calls, folder / "work"), f"{name}: {unsafe(done.calls, folder / 'work')}"
    assert content(folder / "tmp") == {}, f"{name}: {content(folder / 'tmp')}"
    found = content(folder / "work")
    shutil.rmtree(folder)
    return Clean(found, done.calls)


def outputs(found: Mapping[str, str]) -> dict[str, Content]:
    """The content of each output: a file, or a folder with all that is in it."""
    whole: dict[str, Content] = {}
    for path, digest in found.items():
        first, *parts = path.split("/")
        if first == "out.models" and parts:
            first += f"/{parts[0]}"
        if first.startswith("out") and not first.endswith((".training", ".models")):
            whole.setdefault(first, {})[path] = digest
    return whole


def words_again(line: str, work: Path) -> list[str]:
    """The words of the next run, which goes on with a training if that has a state."""
    state = work / "out.model.training"
    has_state = (state / "plan.json").exists() and (state / "state.json").exists()
    return line.split() + (["--resume"] if has_state else [])


def prepare(name: str, work: Path) -> dict[str, Content]:
    """Write an older file of each output that is a file; return these outputs."""
    known = clean(name).content
    for path in outputs(known):
        is_folder = any(other.startswith(f"{path}/") for other in known)
        if not is_folder and name != "tune":  # which goes on with its table
            (work / path).write_bytes(b"old\n")
    return outputs(content(work))


def check_outputs(name: str, before: Mapping[str, Content], after: Content) -> None:
    """Check that each output of a run that failed is old or new."""
    expected = outputs(clean(name).content)
    for path, found in outputs(after).items():
        whole = found in (before.get(path), expected[path])
        if name == "tune" and path == "out.tsv":  # the points so far
            whole = True
        if f"{path}.training" in after:  # that of an earlier update, which is kept
            whole = found.keys() == expected[path].keys()
        assert whole, f"partial: {path} {found}"


def check_strays(folder: Path) -> None:
    """Check that a run that failed has left no draft."""
    found = [path for path in content(folder / "work") if re.search(r"(^|/)\.", path)]
    kept = ("kept/", "out.model.training/")
    hidden = [path for path in found if not path.startswith(kept)]
    left = list(content(folder / "tmp"))
    assert not hidden and not left, f"left behind: {hidden} {left}"


def attack(folder: Path, name: str, fault: Fault, number: int, old: bool) -> None:
    """Fail a call of a command line; check what it leaves, and the run after it."""
    known, work = clean(name).content, begin(folder) / "work"
    before = prepare(name, work) if old else {}
    done = run(folder, LINES[name].split(), fault, number)
    failed = [call for call in done.calls if call[1] == str(number)]
    told = f"{LINES[name]}\n{fault} at {number}: {failed}\nexit {done.code}\n{done.told}"
    try:
        assert done.code in {0} | CODES
        assert "Traceback" not in done.told
        after = content(work)
        if done.code == 0:
            assert outputs(after) == outputs(known), f"not whole: {after.items() ^ known.items()}"
            if after.keys() == known.keys() and not content(folder / "tmp"):
                return
            for path in NEW & set(outputs(known)):
                shutil.rmtree(work / path)
        else:
            assert done.told.splitlines()[-1].startswith("bitext-")
            check_outputs(name, before, after)
            if fault.kinds not in "ul" and not fault.lasting:  # a lock may stay, and holds nobody
                check_strays(folder)
        again = run(folder, words_again(LINES[name], work))
        told += f"\nafterwards: exit {again.code}\n{again.told}"
        assert again.code == 0
        differ = {path for path, _ in content(work).items() ^ known.items()}
        differ = {path for path in differ if ".training/" not in path}
        assert not differ, f"differ: {differ}"
    except AssertionError as error:
        raise AssertionError(f"{name}: {told}\n{error}") from error


def trial(chooser: Random, folder: Path) -> Counter[str]:
    """Fail some calls of one kind in runs of one command line."""
    if library() is None:
        return Counter(skipped=1)
    name, fault = chooser.choice(list(LINES)), chooser.choice(FAULTS)
    total = clean(name).count(fault.kinds)
    numbers = chooser.sample(range(1, total + 1), min(3, total))
    for number in numbers:
        attack(folder / str(number), name, fault, number, chooser.random() < 0.5)
    return Counter({"faults": len(numbers), f"faults of {fault.kinds[:1]}": len(numbers)})
