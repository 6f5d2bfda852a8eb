"""Commands that are killed, stopped, hung up on or raced.

Each output is old or new and whole, nothing of a run lives on, and the next run ends as if nothing
had happened, with nothing left behind.
"""

from __future__ import annotations

import atexit
import faulthandler
import functools
import getpass
import gzip
import hashlib
import multiprocessing
import os
import runpy
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import forkserver
from pathlib import Path
from random import Random
from secrets import token_hex
from types import ModuleType
from typing import Any
from unittest.mock import patch

import toys
from console import BIN, ROOT

PATIENCE = 120.0
"""Seconds that a run may take on a busy machine."""

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

CODES = {0, 2, 65, 66, 69, 74, 78}
"""The documented exit codes but for a signal's; 70 is a bug."""

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.listdir", "sqlite3.connect"}
"""The events of Python that a run is ended at: what it does with files."""

TINY = ("segmentation.kind=none", "training.batch_size=16", "training.passes=2")
TINY = (*TINY, "training.validate_every=3", "training.warmup=2")


@dataclass(frozen=True)
class Task:
    """A command line; its files are in the folder of inputs or the trial's own."""

    line: str
    """``@`` stands for the folder of inputs."""
    outputs: tuple[str, ...] = ("out",)
    """Files and folders, the same after every undisturbed run."""
    passing: tuple[str, ...] = ()
    """Files and folders of a run that is not at its end."""
    kept: tuple[str, ...] = ()
    """Files and folders that stay, whatever their bytes."""
    resumes: str = ""
    """A file by which a run can be resumed, with ``--resume``."""


def training(command: str, *more: str) -> Task:
    """A training with a state."""
    sets = " ".join(f"--set {one}" for one in (*TINY, *more))
    line = f"{command} --languages aa,bb --threads 1 --development @/dev.tsv --pairs @/pairs.tsv"
    state = ("out.training",)
    return Task(f"{line} {sets} -o out", kept=state, resumes="out.training/state.json")


SCORE = "bitext-score --model @/model --threads 1 --batch-size 40"
ALIGN = "bitext-align --model @/model --threads 1 --min-score none @/pairs.aa @/pairs.bb -o out"
PARTS = "--resume parts --shard-rows 40"
RULES = "--rule length-ratio --rule identical"

TASKS = {
    "score": Task(f"{SCORE} -i @/bad.tsv --on-error reject --rejects gone -o out", ("out", "gone")),
    "score by shards": Task(
        f"{SCORE} @/bad.tsv @/pairs.tsv.gz --on-error reject --rejects gone -o out {PARTS}",
        ("out", "gone"),
        passing=("parts",),
    ),
    "score from a cache": Task(f"{SCORE} -i @/pairs.tsv --cache cache -o out", kept=("cache",)),
    "filter": Task(
        "bitext-filter --explain --threads 2 --batch-size 40 -i @/bad.tsv --on-error reject"
        " --rejects gone -o out",
        ("out", "gone"),
    ),
    "filter by shards": Task(
        f"bitext-filter --threads 2 {PARTS} @/pairs.tsv @/pairs.tsv.gz -o out", passing=("parts",)
    ),
    "fix": Task("bitext-fix --threads 2 --batch-size 60 -i @/pairs.tsv -o out"),
    "rank": Task("bitext-rank -i @/scored.tsv -o out"),
    "dedup": Task("bitext-dedup @/pairs.tsv @/pairs.tsv.gz --rejects gone -o out", ("out", "gone")),
    "convert": Task("bitext-convert --to jsonl -i @/pairs.tsv -o out"),
    "noise": Task("bitext-noise --rate all=0.5 -i @/pairs.tsv -o out"),
    "segment": Task("bitext-segment apply --segmenter @/model -i @/pairs.aa -o out"),
    "embed by shards": Task(
        f"bitext-embed --model @/model --threads 1 {PARTS} --language aa -i @/pairs.aa -o out.npy",
        ("out.npy",),
        passing=("parts",),
    ),
    "report": Task("bitext-report -i @/scored.tsv -o out", outputs=("out",)),
    "align": Task(f"{ALIGN} --resume parts", kept=("parts",)),
    "align and save": Task(f"{ALIGN} --index-save index", ("out", "index")),
    "language model": Task("bitext-train-language-model -i @/pairs.aa -o out"),
    "classifier": Task(
        "bitext-train-classifier --model @/bare --threads 1 --set hidden=8 --set training.epochs=2"
        " @/pairs.tsv --noisy @/shifted.tsv -o out"
    ),
    "encoder": training(
        "bitext-train-encoder --architecture autoencoder",
        *("shape.embedding=8", "shape.hidden=4", "training.softmax=sampled", "training.samples=9"),
    ),
    "translator": training(
        "bitext-train-translator",
        *("shape.width=8", "shape.heads=2", "shape.layers=1", "shape.feed_forward=8"),
    ),
}


def lasting_folder() -> Path:
    """Make a folder that lasts as long as this process."""
    folder = tempfile.mkdtemp(prefix="kills-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@functools.cache
def inputs() -> Path:
    """The folder of texts and models that all trials read."""
    folder = lasting_folder()
    sides = toys.sentences(150, 3)
    rows = [f"{a}\t{b}\n".encode() for a, b in zip(*sides, strict=True)]
    (folder / "pairs.tsv").write_bytes(b"".join(rows))
    (folder / "pairs.tsv.gz").write_bytes(gzip.compress(b"".join(rows[:90]), mtime=0))
    (folder / "bad.tsv").write_bytes(b"".join([*rows[:60], b"no columns\n", *rows[60:120]]))
    (folder / "dev.tsv").write_bytes(b"".join(rows[:30]))
    (folder / "shifted.tsv").write_text(
        "".join(f"{a}\t{b}\n" for a, b in zip(sides[0], sides[1][1:], strict=False))
    )
    (folder / "scored.tsv").write_bytes(
        b"".join(b"%s\t%d\n" % (row[:-1], number % 7) for number, row in enumerate(rows))
    )
    for language, side in zip("ab", sides, strict=True):
        (folder / f"pairs.{2 * language}").write_text("".join(f"{text}\n" for text in side))
    toys.toy_model(folder / "model")
    toys.toy_model(folder / "bare", classifier=False)
    return folder


HEAVY = ("scoring.model", "scoring.inspection", "workflows.encoder_training", "commands.frame.run")


@functools.cache
def processes() -> multiprocessing.context.ForkServerContext:
    """Processes that have imported what is heavy already; each is a child to wait for."""
    path = [str(ROOT), str(ROOT / "tests/support"), str(Path(__file__).parent)]
    new = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(path)}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kills", *(f"bitextfilter.{name}" for name in HEAVY)])
    with patch.dict(os.environ, new):
        forkserver.ensure_running()
    return context


@dataclass(frozen=True)
class Blow:
    """The end of a run at one of its events of files, the first being 1; 0 for none."""

    number: int = 0
    event: int = 0
    group: bool = False
    """Sent to all processes of the run."""
    late: bool = False
    """Sent just after the event, not just before."""
    clock: float = 0.0
    """Seconds by which the clock jumps at every event."""


class Run:
    """A command at work in the trial's folder."""

    def __init__(
        self, task: Task, folder: Path, blow: Blow, resume: bool = False, reader: Any = None
    ) -> None:
        self._log = folder.with_name(f"{folder.name}-{token_hex(4)}")
        self.line = task.line + " --resume" * resume
        words = self.line.replace("@", str(inputs())).split()
        words.insert(2 if words[0] in ("bitext-segment", "bitext-models") else 1, "-q")
        self._process = processes().Process(
            target=_command, args=(words, folder, blow, self._log, reader)
        )
        with patch.dict(sys.modules, {"__main__": ModuleType("__main__")}):
            self._process.start()
        self.pid = self._process.pid

    def begun(self) -> bool:
        """Wait for the first event of files; whether it came."""
        end = time.monotonic() + PATIENCE
        while self.events() == 0 and self._process.is_alive() and time.monotonic() < end:
            time.sleep(0.005)
        return self._process.is_alive()

    def events(self) -> int:
        """The events so far."""
        path = self._log.with_suffix(".events")
        return path.stat().st_size if path.exists() else 0

    def send(self, number: int, group: bool = False) -> None:
        """Send a signal."""
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, number)

    def others(self) -> list[int]:
        """The other processes of its session that are alive."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                if int(fields[3]) == self.pid and fields[0] != "Z":
                    found.append(int(stat.parent.name))
        return [pid for pid in found if pid != self.pid]

    def workers(self) -> list[int]:
        """The worker processes."""
        found = []
        for pid in self.others():
            with suppress(OSError):
                if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return found

    def end(self) -> tuple[int, str]:
        """Wait for the end of all its processes; the exit code, and stderr."""
        self._process.join(PATIENCE)
        hung = self._process.is_alive()
        if hung:
            os.kill(self.pid, signal.SIGABRT)  # shows where
            self._process.join()
        errors = self._log.with_suffix(".err").read_text(errors="replace")
        assert not hung, f"{self.line}: hung\n{errors}"
        deadline = time.monotonic() + 20
        while self.others() and time.monotonic() < deadline:
            time.sleep(0.01)
        lives = self.others()
        for pid in lives:
            os.kill(pid, signal.SIGKILL)
        assert not lives, f"{self.line}: {len(lives)} of its processes live on\n{errors}"
        assert self._process.exitcode is not None
        return self._process.exitcode, errors


def _command(words: list[str], folder: Path, blow: Blow, log: Path, reader: Any) -> None:
    """Be a command, in a session of its own, as if its launcher had been called."""
    os.setsid()
    os.chdir(folder)
    for descriptor, name in enumerate((os.devnull, f"{log}.out", f"{log}.err")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o666), descriptor)
    if reader is not None:
        os.dup2(reader.fileno(), 1)
        reader.close()
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
    faulthandler.enable(sys.stderr)
    os.environ["TMPDIR"] = str(folder.with_name("tmp"))
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    sys.argv = [str(BIN / words[0]), *words[1:]]
    events = os.open(f"{log}.events", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    seen = [0]

    def strike_now(*_: Any) -> None:
        sys.setprofile(None)
        (os.killpg if blow.group else os.kill)(os.getpid(), blow.number)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event in EVENTS and _ours(arguments[0], folder):
            seen[0] += 1
            os.write(events, b".")
            if seen[0] == blow.event and blow.late:
                sys.setprofile(strike_now)
            elif seen[0] == blow.event:
                strike_now()

    if blow.clock:
        clock = time.time
        time.time = lambda: clock() + blow.clock * seen[0]
    sys.addaudithook(hear)
    runpy.run_path(sys.argv[0], run_name="__main__")


def _ours(path: Any, folder: Path) -> bool:
    """Whether this is a file of the trial."""
    if not isinstance(path, (str, Path)):
        return False
    return not str(path).startswith("/") or str(path).startswith(f"{folder}/")


TORCHS = f"torchinductor_{getpass.getuser()}"
"""An empty folder that torch makes in TMPDIR."""

Picture = dict[str, str]
"""The digests of files, by their paths."""


def picture(path: Path) -> Picture:
    """The files below a folder, or the file."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path] * path.exists()
    return {
        str(file.relative_to(path)): hashlib.sha1(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file()
    }


@functools.cache
def undisturbed(name: str) -> tuple[dict[str, Picture], int, float]:
    """The outputs of a task, its events, and its seconds."""
    task, folder = TASKS[name], trial_folder(lasting_folder())
    began = time.monotonic()
    run = Run(task, folder, Blow())
    assert run.end() == (0, ""), f"{task.line}: {run.end()}"
    seconds = time.monotonic() - began
    pictures = {output: picture(folder / output) for output in task.outputs}
    assert all(pictures.values())
    assert not strays(task, folder), f"{task.line} left {strays(task, folder)}"
    return pictures, run.events(), seconds


def trial_folder(home: Path) -> Path:
    (home / "tmp").mkdir()
    (home / "work").mkdir()
    return home / "work"


def strays(task: Task, folder: Path, *more: str) -> list[str]:
    """The names that have no business in the folder, and drafts in what is kept."""
    known = {*task.outputs, *task.kept, *more}
    found = [path.name for path in folder.iterdir() if path.name not in known]
    drafts = [path for name in task.kept for path in (folder / name).glob(".*")]
    return [*found, *(str(path.relative_to(folder)) for path in drafts)]


def make_old(name: str, folder: Path) -> dict[str, Picture]:
    """Write older outputs."""
    for output, new in undisturbed(name)[0].items():
        if "config.json" in new:
            shutil.copytree(inputs() / "bare", folder / output)
        elif "." in new:  # a file
            (folder / output).write_bytes(b"old\n")
    return {output: picture(folder / output) for output in TASKS[name].outputs}


def check_whole(name: str, folder: Path, old: dict[str, Picture], story: str) -> None:
    """Each output is old or new; a training may have put an earlier model there."""
    for output, new in undisturbed(name)[0].items():
        now = picture(folder / output)
        better = bool(TASKS[name].resumes) and sorted(now) == sorted(new)  # the best so far
        assert better or now in (old[output], new), f"{story}: {output} is neither: {now}"


def check_new(name: str, folder: Path, story: str) -> None:
    """The outputs are those of an undisturbed run, and nothing else is there."""
    for output, new in undisturbed(name)[0].items():
        now = picture(folder / output)
        assert now == new, f"{story}: {output} is another: {now}"
    left = strays(TASKS[name], folder)
    assert not left, f"{story}: {left} are left"


def check_next(name: str, folder: Path, story: str) -> None:
    """The next run ends as an undisturbed one, whatever the files' dates, and leaves no others."""
    task = TASKS[name]
    for number, path in enumerate(sorted(folder.rglob("*"))):
        moment = time.time() + 5e5 * (number % 5 - 2)
        os.utime(path, (moment, moment))
    resume = bool(task.resumes) and (folder / task.resumes).exists()
    if not (folder / "index").exists():  # else the next run is refused
        ended = Run(task, folder, Blow(), resume).end()
        assert ended == (0, ""), f"{story}; the next run: {ended}"
    check_new(name, folder, f"{story}; the next run")


def strike(name: str, folder: Path, blow: Blow, wait: float = 0.0, old: bool = False) -> None:
    """End a run by a signal, at an event or after some seconds; then run it again.

    With *old*, there are outputs of an earlier run.
    """
    task, number = TASKS[name], signal.Signals(blow.number)
    before = make_old(name, folder) if old else {output: Picture() for output in task.outputs}
    run = Run(task, folder, blow)
    if not blow.event:
        if run.begun():
            time.sleep(wait)
        run.send(number, blow.group)
    code, errors = run.end()
    story = f"{task.line}: {blow} after {wait:.3f} s: {code}, {errors[-2000:]!r}"
    assert code in (0, -number, 128 + number), story
    assert errors.count("\n") <= 1 and "Traceback" not in errors, story
    check_whole(name, folder, before, story)
    left = strays(task, folder, *task.passing)
    if number == signal.SIGKILL:
        left = [one for one in left if not one.rpartition("/")[2].startswith(".")]
    else:
        left += [path.name for path in folder.with_name("tmp").iterdir() if path.name != TORCHS]
    assert not left, f"{story}: it left {left}"
    check_next(name, folder, story)


def kill(name: str, chooser: Random, folder: Path) -> Counter[str]:
    """A signal at a random event or time; then the next run."""
    number = chooser.choice(SIGNALS)
    _, events, seconds = undisturbed(name)
    event = chooser.randrange(1, events + 1) if chooser.random() < 0.6 else 0
    clock = chooser.choice([0.0, 0.0, 3600.0, -3600.0])
    group, late = chooser.random() < 0.3, chooser.random() < 0.5
    blow = Blow(number, event, group, late, clock)
    strike(name, folder, blow, chooser.uniform(0, seconds), chooser.random() < 0.5)
    return Counter({"kills": 1, f"kills by {number.name}": 1})


def stop(name: str, chooser: Random, folder: Path) -> Counter[str]:
    """Stopped for a while, as by Ctrl-Z, the command goes on."""
    run, group = Run(TASKS[name], folder, Blow()), chooser.random() < 0.5
    run.begun()
    for _ in range(3):
        time.sleep(chooser.uniform(0, undisturbed(name)[2] / 3))
        run.send(signal.SIGSTOP, group)
        time.sleep(0.05)
        run.send(signal.SIGCONT, group)
    story = f"{TASKS[name].line}: stopped and continued"
    ended = run.end()
    assert ended == (0, ""), f"{story}: {ended}"
    check_new(name, folder, story)
    return Counter(stops=1)


def kill_a_worker(name: str, chooser: Random, folder: Path) -> Counter[str]:
    """A worker process that is lost is replaced."""
    run, killed = Run(TASKS[name], folder, Blow()), 0
    if run.begun():
        time.sleep(chooser.uniform(0, undisturbed(name)[2]))
        workers = run.workers()
        for pid in workers[:1]:
            with suppress(ProcessLookupError):
                os.kill(pid, chooser.choice(SIGNALS[:2]))
                killed = 1
    story = f"{TASKS[name].line}: a worker was killed"
    ended = run.end()
    assert ended == (0, ""), f"{story}: {ended}"
    check_new(name, folder, story)
    return Counter({"killed workers": killed})


def close_the_reader(name: str, chooser: Random, folder: Path) -> Counter[str]:
    """A reader that ends early ends the command quietly."""
    task = TASKS[name]
    there, here = processes().Pipe(duplex=False)
    line = replace(task, line=task.line.replace("-o out", "-o -"), outputs=())
    run = Run(line, folder, Blow(), reader=here)
    here.close()
    os.read(there.fileno(), chooser.randrange(1, 5000))
    there.close()
    ended = run.end()
    assert ended == (0, ""), f"{line.line}: its reader ended: {ended}"
    left = strays(line, folder, *task.passing)
    assert not left, f"{line.line}: its reader ended: it left {left}"
    return Counter({"closed readers": 1})


def race(name: str, chooser: Random, folder: Path) -> Counter[str]:
    """Two runs at once: both end well, or one is refused."""
    task, story = TASKS[name], f"{TASKS[name].line}: two at once"
    one = Run(task, folder, Blow())
    one.begun()
    time.sleep(chooser.uniform(0, undisturbed(name)[2]))
    other = Run(task, folder, Blow())
    ends = [one.end(), other.end()]
    story = f"{story}: {ends}"
    for code, errors in ends:
        assert code in CODES and errors.count("\n") == (code != 0), story
        assert "Traceback" not in errors, story
    assert 0 in (code for code, _ in ends), story
    check_new(name, folder, story)
    return Counter(races=1)


Attack = Callable[[str, Random, Path], Counter[str]]

ATTACKS: dict[Attack, tuple[int, list[str]]] = {
    kill: (6, sorted(TASKS)),
    stop: (1, sorted(TASKS)),
    kill_a_worker: (1, ["filter", "filter by shards", "fix"]),
    close_the_reader: (1, ["rank", "convert", "noise", "segment", "report", "language model"]),
    race: (1, sorted(TASKS)),
}
"""How often each is chosen, and its tasks."""


def trial(chooser: Random, folder: Path) -> Counter[str]:
    """One attack on one command."""
    shares = [share for share, _ in ATTACKS.values()]
    (attack,) = chooser.choices([*ATTACKS], shares)
    return attack(chooser.choice(ATTACKS[attack][1]), chooser, trial_folder(folder))
