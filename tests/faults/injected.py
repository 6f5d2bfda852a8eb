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
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import lines
from lines import LINES, NEW, Content, check_outputs, content, home, outputs, prepare
from torture import Chooser
from warm import warm

CODES = {65, 66, 69, 71, 74}
"""Exit codes of a run that met a fault."""

GIVES_UP = re.compile(r"ThreadPoolBuildError|^memory allocation of \d+ bytes failed", re.MULTILINE)
"""Last words of libraries in Rust without threads or memory: nobody can catch that."""

SECONDS = 200
"""A run that takes longer hangs."""


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
    Fault("w", errno.ENOSPC, lasting=True), Fault("w", errno.ENOSPC), Fault("w", errno.EIO),
    Fault("w", 0), Fault("w", errno.EINTR), Fault("o", errno.EACCES),
    Fault("o", errno.EMFILE, lasting=True), Fault("o", errno.EIO), Fault("o", errno.EINTR),
    Fault("s", errno.EIO), Fault("s", errno.ENOSPC, lasting=True), Fault("n", errno.EACCES),
    Fault("n", errno.ENOSPC, lasting=True), Fault("m", errno.ENOSPC), Fault("m", errno.EACCES),
    Fault("u", errno.EACCES, lasting=True), Fault("u", errno.EIO),
    Fault("l", errno.ENOLCK, lasting=True), Fault("l", errno.EIO), Fault("t", errno.ENOSPC),
    Fault("r", errno.EIO), Fault("r", errno.EINTR), Fault("wosnmt", errno.ENOSPC, lasting=True),
    Fault("wosnmtu", errno.EROFS, lasting=True), Fault("a", errno.ENOMEM),
    Fault("a", errno.ENOMEM, lasting=True), Fault("p", errno.EAGAIN),
    Fault("p", errno.EAGAIN, lasting=True),
]  # fmt: skip


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


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    code: int
    told: str
    """Its standard error."""
    calls: list[list[str]]
    """Kind, number and paths of each call."""


def run(
    folder: Path, line: str, fault: Fault | None = None, number: int = 0, clock: int = 0
) -> Ended:
    """Run a command in the folder ``work`` of a trial; its call of this *number* fails.

    At every call, the clock jumps by so many seconds.
    """
    log = folder / "log"
    where = {"TMPDIR": str(folder / "tmp"), "FAULTS_BELOW": f"{folder}/", "FAULTS_LOG": str(log)}
    where["FAULTS_CLOCK"] = str(clock)
    if fault:
        where |= {"FAULTS_KINDS": fault.kinds, "FAULTS_AT": str(number)}
        where |= {"FAULTS_ERROR": str(fault.error)} | ({"FAULTS_ON": "1"} if fault.lasting else {})
    name, *words = line.replace("@", "../in").split()
    done = subprocess.run(
        [str(commands() / name), *words], cwd=folder / "work", env={**os.environ, **where},
        capture_output=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    calls = [line.split("\t") for line in log.read_text().splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    return Ended(done.returncode, done.stderr.decode(), calls)


def begin(folder: Path) -> Path:
    """Make the folders of a trial."""
    folder.mkdir(exist_ok=True)
    for name in ("work", "tmp"):
        (folder / name).mkdir()
    shutil.copytree(lines.inputs(), folder / "in")
    return folder


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

    Before a rename, all that has the old name must be written and synced; after it, the folder.
    """
    found, synced, unsynced, folders = [], set[str](), set[str](), set[str]()
    renamed = set[str]()
    for kind, _, *paths in calls:
        path, other = (os.path.normpath(work / path) for path in paths)
        if "/.tmp" in path:  # by safetensors, which renames it by itself
            continue
        if kind == "w" and path in renamed:
            found.append(f"{path} is written after its rename")
        elif kind == "w" or (kind == "o" and paths[1]):
            renamed.discard(path)
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
            renamed.add(other)
    return found + [f"{folder} is not synced after a rename in it" for folder in folders]


@functools.cache
def clean(name: str) -> Clean:
    """Run a command line undisturbed."""
    folder = begin(Path(tempfile.mkdtemp(dir=home())))
    done = run(folder, LINES[name])
    assert done.code == 0, done.told
    assert not unsafe(done.calls, folder / "work"), f"{name}: {unsafe(done.calls, folder / 'work')}"
    assert content(folder / "tmp") == {}, f"{name}: {content(folder / 'tmp')}"
    found = content(folder / "work")
    shutil.rmtree(folder)
    return Clean(found, done.calls)


def check_strays(folder: Path) -> None:
    """Check that a run that failed has left no draft."""
    found = [path for path in content(folder / "work") if re.search(r"(^|/)\.", path)]
    kept = ("kept/", "out.model.training/")
    hidden = [path for path in found if not path.startswith(kept)]
    left = list(content(folder / "tmp"))
    assert not hidden and not left, f"left behind: {hidden} {left}"


def attack(folder: Path, name: str, fault: Fault, number: int, old: bool, clock: int = 0) -> None:
    """Fail a call of a command line; check what it leaves, and the run after it."""
    known, work = clean(name).content, begin(folder) / "work"
    before = prepare(name, known, work) if old else {}
    done = run(folder, LINES[name], fault, number, clock)
    failed = [call for call in done.calls if call[1] == str(number)]
    told = f"{LINES[name]}\n{fault} at {number}: {failed}\nexit {done.code}\n{done.told}"
    try:
        died = bool(GIVES_UP.search(done.told))
        assert done.code in {0} | CODES or died
        assert "Traceback" not in done.told
        after = content(work)
        if done.code == 0:
            assert outputs(after) == outputs(known), f"not whole: {after.items() ^ known.items()}"
            if after.keys() == known.keys() and not content(folder / "tmp"):
                return
        else:
            assert done.told.splitlines()[-1].startswith("bitext-") or died
            check_outputs(name, before, after, known)
            if not (died or fault.lasting or fault.kinds in "ul"):  # a lock may stay
                check_strays(folder)
        if outputs(after) == outputs(known):
            for path in NEW & set(outputs(known)):  # else the next run is refused
                shutil.rmtree(work / path)
        again = run(folder, lines.again(LINES[name], work), clock=-clock)
        told += f"\nafterwards: exit {again.code}\n{again.told}"
        assert again.code == 0
        differ = {path for path, _ in content(work).items() ^ known.items()}
        differ = {path for path in differ if ".training/" not in path}
        assert not differ, f"differ: {differ}"
    except AssertionError as error:
        raise AssertionError(f"{name}: {told}\n{error}") from error


@functools.cache
def every_call() -> list[tuple[str, int]]:
    """All calls of all undisturbed runs: the name of the line, and the place in its log."""
    return [(name, place) for name in LINES for place in range(len(clean(name).calls))]


def place_of(number: int, total: int) -> int:
    """The place of a trial's number among *total*: each has one, far from that of the next."""
    golden = max(1, total * 618 // 1000)
    step = next(step for step in range(golden, 0, -1) if math.gcd(step, total) == 1)
    return number * step % total


def trial(chooser: Chooser, folder: Path) -> Counter[str]:
    """Fail one call, by an error that may befall it; seeds go through all calls of all lines."""
    if library() is None:
        return Counter(skipped=1)
    calls = every_call()
    name, place = calls[place_of(chooser.number, len(calls))]
    kind = clean(name).calls[place][0]
    fault = chooser.choice([fault for fault in FAULTS if kind in fault.kinds])
    number = sum(call[0] in fault.kinds for call in clean(name).calls[: place + 1])
    clock = chooser.choice((0, 0, 3600, -3600))
    attack(folder / "trial", name, fault, number, chooser.random() < 0.5, clock)
    return Counter({"faults": 1, f"of {len(calls):,} calls": 1, f"faults of {fault.kinds[:1]}": 1})
