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

import fuzz_formats as formats
import fuzz_long_rows as long_rows
import fuzz_paraphrases as paraphrases
import fuzz_reports as reports
import fuzz_rows as rows
import fuzz_texts as texts
import fuzz_trainings as trainings
from bench import Bench, references

PATIENCE = 300
"""Seconds after which a trial is given up."""

Attack = Callable[[Bench], None]
"""Runs commands on hostile rows; an AssertionError is a broken promise."""

ATTACKS: dict[Attack, float] = {
    rows.score: 3, rows.judges: 1, rows.fix: 5, rows.clean: 2,
    rows.filter_: 8, rows.dedup: 4, rows.rank: 4,
    rows.sample: 1, rows.noise: 3, formats.convert: 4, formats.misread: 2, formats.foreign: 2,
    formats.headers: 4, formats.together: 2, reports.split: 1, reports.align_words: 1,
    reports.combiner: 0.5, reports.bicleaner: 0.5, reports.recipe: 0.5, texts.embed: 2,
    texts.translate: 1, texts.segment: 1, texts.align: 1, texts.indexed: 0.5,
    texts.align_documents: 1, texts.pair_documents: 1, reports.report: 1, reports.evaluate: 3,
    reports.judge: 2, reports.recommend: 0.5, paraphrases.tables: 1, paraphrases.make: 0.5,
    paraphrases.judge: 0.5, paraphrases.generate: 0.5, long_rows.pairs: 2, long_rows.texts: 1,
    long_rows.wide: 2, long_rows.huge: 0.1, trainings.language_model: 1, trainings.join: 0.5,
    trainings.calibrate: 0.5, trainings.whole_model: 0.3,
    trainings.three_languages: 1, trainings.encoder: 0.3, trainings.translator: 0.3,
    trainings.classifier: 0.3, trainings.references: 0.3, trainings.embeddings: 0.3,
    trainings.tune: 0.2, trainings.downstream: 0.2,
}  # fmt: skip
"""Each attack, and how often it is drawn."""


def attack(chooser: Random, folder: Path, attacks: int, most: int) -> Counter[str]:
    """Run some attacks here, each in an empty folder."""
    counts: Counter[str] = Counter()
    for place in range(attacks):
        (chosen,) = chooser.choices(list(ATTACKS), list(ATTACKS.values()))
        longest = chooser.choice((10, 300, 2000, 10000))
        (folder / str(place)).mkdir()
        bench = Bench(chooser, folder / str(place), most, longest)
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
