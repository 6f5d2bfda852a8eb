"""Commands that are killed, stopped, hung up on or raced.

Each output is old or new and whole, nothing of a run lives on, and the next run ends as if nothing
had happened, with nothing left behind.
"""

from __future__ import annotations

import functools
import getpass
import os
import re
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from lines import LINES, NEW, Content, again, check_outputs, content, home, outputs, prepare
from runs import Blow, Run, processes

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

CODES = {0, 2, 65, 66, 69, 74, 78}
"""The documented exit codes but for a signal's; 70 is a bug."""

TORCHS = f"torchinductor_{getpass.getuser()}"
"""An empty folder that torch makes in TMPDIR."""


@functools.cache
def undisturbed(name: str) -> tuple[Content, int, float]:
    """What a line leaves, its events, and its seconds."""
    folder = trial_folder(Path(tempfile.mkdtemp(dir=home())))
    began = time.monotonic()
    run = Run(LINES[name], folder)
    ended = run.end()
    assert ended == (0, ""), f"{LINES[name]}: {ended}"
    seconds, found, events = time.monotonic() - began, content(folder), run.events()
    assert outputs(found) and events
    assert not strays(folder), f"{LINES[name]} left {strays(folder)}"
    shutil.rmtree(folder.parent)
    return found, events, seconds


def trial_folder(home: Path) -> Path:
    """Make a folder to work in, beside one of temporary files."""
    (home / "tmp").mkdir()
    (home / "work").mkdir()
    return home / "work"


def strays(folder: Path) -> list[str]:
    """The names that have no business in the folder, and drafts in what is kept."""
    known = re.compile(r"(out(\.[^/]*)?|kept|cache)(/[^.]|$)")
    paths = [str(path.relative_to(folder)) for path in folder.rglob("*")]
    return [path for path in paths if not known.match(path) or re.search(r"(^|/)\.", path)]


def check_new(name: str, folder: Path, story: str) -> None:
    """The outputs are those of an undisturbed run, and nothing else is there."""
    differ = {path for path, _ in content(folder).items() ^ undisturbed(name)[0].items()}
    differ = {path for path in differ if ".training/" not in path}
    assert not differ, f"{story}: another than undisturbed: {sorted(differ)}"


def check_next(name: str, folder: Path, story: str) -> None:
    """The next run ends as an undisturbed one, whatever the files' dates, and leaves no others."""
    for number, path in enumerate(sorted(folder.rglob("*"))):
        moment = time.time() + 5e5 * (number % 5 - 2)
        os.utime(path, (moment, moment))
    for path in NEW:
        shutil.rmtree(folder / path, ignore_errors=True)  # else the next run is refused
    ended = Run(again(LINES[name], folder), folder).end()
    assert ended == (0, ""), f"{story}; the next run: {ended}"
    check_new(name, folder, f"{story}; the next run")


def strike(name: str, folder: Path, blow: Blow, wait: float = 0.0, old: bool = False) -> None:
    """End a run by a signal, at an event or after some seconds; then run it again.

    With *old*, there are outputs of an earlier run.
    """
    known, number = undisturbed(name)[0], signal.Signals(blow.number)
    before = prepare(name, known, folder) if old else {}
    run = Run(LINES[name], folder, blow)
    if not blow.event:
        if run.begun():
            time.sleep(wait)
        run.send(number, blow.group)
    code, errors = run.end()
    story = f"{LINES[name]}: {blow} after {wait:.3f} s: {code}, {errors[-2000:]!r}"
    assert code in (0, -number, 128 + number), story
    assert errors.count("\n") <= 1 and "Traceback" not in errors, story
    try:
        check_outputs(name, before, content(folder), known)
    except AssertionError as error:
        raise AssertionError(f"{story}: {error}") from error
    left = strays(folder)
    if number == signal.SIGKILL:
        left = [path for path in left if not re.search(r"(^|/)\.", path)]
    elif name in WORKERS:  # which are killed
        left = [path for path in left if not path.startswith("kept/.")]
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
    run, group = Run(LINES[name], folder), chooser.random() < 0.5
    run.begun()
    for _ in range(3):
        time.sleep(chooser.uniform(0, undisturbed(name)[2] / 3))
        run.send(signal.SIGSTOP, group)
        time.sleep(0.05)
        run.send(signal.SIGCONT, group)
    story = f"{LINES[name]}: stopped and continued"
    ended = run.end()
    assert ended == (0, ""), f"{story}: {ended}"
    check_new(name, folder, story)
    return Counter(stops=1)


def kill_a_worker(name: str, chooser: Random, folder: Path) -> Counter[str]:
    """A worker process that is lost is replaced."""
    run, killed = Run(LINES[name], folder), 0
    if run.begun():
        time.sleep(chooser.uniform(0, undisturbed(name)[2]))
        workers = run.workers()
        for pid in workers[:1]:
            with suppress(ProcessLookupError):
                os.kill(pid, chooser.choice(SIGNALS[:2]))
                killed = 1
    story = f"{LINES[name]}: a worker was killed"
    ended = run.end()
    assert ended == (0, ""), f"{story}: {ended}"
    check_new(name, folder, story)
    return Counter({"killed workers": killed})


def close_the_reader(name: str, chooser: Random, folder: Path) -> Counter[str]:
    """A reader that ends early ends the command quietly."""
    there, here = processes().Pipe(duplex=False)
    line = re.sub(r"-o \S+", "-o -", LINES[name])
    run = Run(line, folder, reader=here)
    here.close()
    os.read(there.fileno(), chooser.randrange(1, 5000))
    there.close()
    ended = run.end()
    assert ended == (0, ""), f"{line}: its reader ended: {ended}"
    left = strays(folder)
    assert not left, f"{line}: its reader ended: it left {left}"
    return Counter({"closed readers": 1})


def race(name: str, chooser: Random, folder: Path) -> Counter[str]:
    """Two runs at once: both end well, or one is refused."""
    story = f"{LINES[name]}: two at once"
    one = Run(LINES[name], folder)
    one.begun()
    time.sleep(chooser.uniform(0, undisturbed(name)[2]))
    other = Run(LINES[name], folder)
    ends = [one.end(), other.end()]
    story = f"{story}: {ends}"
    for code, errors in ends:
        assert code in CODES and errors.count("\n") == (code != 0), story
        assert "Traceback" not in errors, story
    assert 0 in (code for code, _ in ends), story
    check_new(name, folder, story)
    return Counter(races=1)


Attack = Callable[[str, Random, Path], Counter[str]]

WORKERS = ["filter by processes", "filter resumed", "fix by processes"]
STREAMS = ["rank", "convert to tmx", "noise", "segment a text", "report", "lexicon", "corpus"]

ATTACKS: dict[Attack, tuple[int, list[str]]] = {
    kill: (6, sorted(LINES)), stop: (1, sorted(LINES)), kill_a_worker: (1, WORKERS),
    close_the_reader: (1, STREAMS), race: (1, sorted(LINES)),
}  # fmt: skip
"""How often each is chosen, and its lines."""


def trial(chooser: Random, folder: Path) -> Counter[str]:
    """One attack on one command."""
    shares = [share for share, _ in ATTACKS.values()]
    (attack,) = chooser.choices([*ATTACKS], shares)
    return attack(chooser.choice(ATTACKS[attack][1]), chooser, trial_folder(folder))
