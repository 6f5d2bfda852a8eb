"""Hostile rows through every command: the attacks of the modules ``fuzz_...``, drawn at random."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from bench import Bench, references
from fuzz_formats import convert, headers, misread, together
from fuzz_long_rows import long
from fuzz_paraphrases import paraphrase
from fuzz_reports import evaluate, report
from fuzz_rows import dedup, filter_, fix, noise, rank, score
from fuzz_texts import align, align_documents, embed, segment, translate
from fuzz_trainings import language_model

PATIENCE = 300
"""Seconds after which a trial is given up."""

Attack = Callable[[Bench], None]
"""Runs commands on hostile rows; an AssertionError is a broken promise."""

ATTACKS: dict[Attack, int] = {
    score: 3,
    fix: 5,
    filter_: 8,
    dedup: 4,
    rank: 4,
    noise: 3,
    convert: 4,
    misread: 2,
    embed: 2,
    translate: 1,
    segment: 1,
    align: 1,
    align_documents: 1,
    report: 1,
    evaluate: 3,
    paraphrase: 1,
    language_model: 1,
    headers: 4,
    long: 2,
    together: 2,
}
"""Each attack, and how often it is drawn."""


def attack(chooser: Random, folder: Path, attacks: int, rows: int) -> Counter[str]:
    """Run some attacks here, each in an empty folder."""
    counts: Counter[str] = Counter()
    for place in range(attacks):
        (chosen,) = chooser.choices(list(ATTACKS), list(ATTACKS.values()))
        longest = chooser.choice((10, 300, 2000, 10000))
        (folder / str(place)).mkdir()
        bench = Bench(chooser, folder / str(place), rows, longest)
        chosen(bench)
        counts += bench.counts
        (folder / "command").write_text(chosen.__name__)
    return counts


def apart(function: Callable[[], Counter[str]], folder: Path) -> Counter[str]:
    """Run a function in a process of its own, which cannot hang, and return its counts."""
    answer = folder / "answer"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads only wait
        child = os.fork()
    if child == 0:
        try:
            answer.write_text(json.dumps(function()))
        except BaseException as error:  # noqa: BLE001 (told by the parent)
            (folder / "error").write_text("".join(traceback.format_exception(error)))
        finally:
            os._exit(0)
    end = time.monotonic() + PATIENCE
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"hangs: {commands(folder)}")
        time.sleep(0.01)
    if (folder / "error").exists():
        raise AssertionError((folder / "error").read_text())
    assert answer.exists(), f"died: {commands(folder)}"
    return Counter(json.loads(answer.read_text()))


def commands(folder: Path) -> str:
    """The latest command of each attack."""
    return "\n".join(os.fsdecode(path.read_bytes()) for path in sorted(folder.rglob("command")))


def trial(chooser: Random, folder: Path) -> Counter[str]:
    """Send some thousand hostile rows through a few commands."""
    references()
    return apart(lambda: attack(chooser, folder, 4, 1000), folder)
