"""Processor seconds of the steps of training a model of two languages, beside another checkout's.

    python benchmarks/train_pair.py PAIRS.tsv [--before CHECKOUT] [--threads N] [--turns N]

PAIRS.tsv has some ten thousand translations. Prints milliseconds of processor time of the steps of
the encoder and of the classifier of words: to read a thousand pairs, to find the negatives of a
mega-batch, and an update; the least of some turns. With --before CHECKOUT, its steps are measured
in turns with these, and the ratios printed. The classifier's updates go over the same mini-batches
again and again, so that torch has made its code for their shapes, as after the first minute of a
long training. For whole trainings, `--manifest` of both commands has the seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MEGA, BATCHES = 4, 24
"""Mega-batches of the encoder, and mini-batches of the classifier, over which times are taken."""


class EnoughError(Exception):
    """Enough was measured."""


def timed(times: list[float], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a stopwatch of processor time, in milliseconds."""

    def call(*given: Any, **named: Any) -> Any:
        start = time.process_time()
        result = function(*given, **named)
        times.append(1000 * (time.process_time() - start))
        return result

    return call


def encoder_steps(pairs: Path, threads: int) -> dict[str, float]:
    """Train an encoder for some mega-batches."""
    from bitextfilter.training import encoder_learner, loop
    from bitextfilter.training.data import PairFile
    from bitextfilter.training.encoder_training import EncoderConfig, EncoderTraining
    from bitextfilter.training.runs import Environment, TrainingFiles

    updates = 40 * MEGA
    config = EncoderConfig.from_dict({"training": {"updates": updates, "validate_every": updates}})
    file, found, steps, read = PairFile(str(pairs)), list[float](), list[float](), list[float]()
    encoder_learner.mega_negatives = timed(found, encoder_learner.mega_negatives)
    loop.update = timed(steps, loop.update)
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder) / "model", threads=threads)
        files = TrainingFiles(("en", "de"), [file], file)
        run = timed(read, EncoderTraining)(config, files, environment)
        run.validate, run.keep = (lambda *_: 0.0), (lambda *_: None)
        run.run()
    thousands = len(run.corpus) / 1000
    return {
        "encoder: read 1,000 pairs": read[0] / thousands,
        "encoder: negatives of a mega-batch": min(found[1:]),
        "encoder: an update": sum(steps[40:]) / len(steps[40:]),
    }


def classifier_steps(pairs: Path, threads: int, precision: str) -> dict[str, float]:
    """Train a classifier of words for some mini-batches, again and again."""
    from bitextfilter.scoring.model import load
    from bitextfilter.training import classifier_training as workflow
    from bitextfilter.training import loop
    from bitextfilter.training.loop import Course

    lines = pairs.read_text(encoding="utf-8").split("\n")
    right = [(row[0], row[1]) for row in (line.split("\t") for line in lines) if len(row) > 1]
    examples = workflow.Examples(right, workflow.repaired(right, 3 * len(right), 1))
    values = {"training": {} if precision == "float32" else {"precision": precision}}
    config = workflow.ClassifierConfig.from_dict(values, kind="words")
    batches, times, update = list[Any](), list[float](), loop.update

    def step(model: Any, optimiser: Any, batch: Any, position: tuple[int, int]) -> Any:
        batches.append(batch)
        if len(batches) < BATCHES:
            return update(model, optimiser, batch, position)
        for _ in range(4):
            start = time.process_time()
            for each in batches:
                update(model, optimiser, each, position)
            times.append(1000 * (time.process_time() - start) / BATCHES)
        raise EnoughError

    loop.update = step
    read: list[float] = []
    workflow._by_words = timed(read, workflow._by_words)
    try:
        workflow.train_on_pairs(load("en-de", threads=threads), examples, config, Course())
    except EnoughError:
        pass
    finally:
        loop.update = update
    thousands = 4 * len(right) / 1000
    return {
        "classifier: read 1,000 pairs": read[0] / thousands,
        f"classifier: an update in {precision}": min(times[1:]),
    }


def measure(pairs: Path, threads: int) -> None:
    """Write the milliseconds of all steps of the package on the path, as JSON."""
    steps = encoder_steps(pairs, threads)
    from bitextfilter.training.settings import ClassifierTraining

    narrow = ["bfloat16"] if "precision" in ClassifierTraining.__annotations__ else []
    for precision in ("float32", *narrow):
        steps |= classifier_steps(pairs, threads, precision)
    print(json.dumps(steps))


def measured(checkout: Path, pairs: Path, threads: int) -> dict[str, float]:
    """Measure a checkout in a process of its own."""
    line = [sys.executable, __file__, str(pairs.resolve()), "--threads", str(threads), "--steps"]
    place = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(line, cwd=checkout, env=place, check=True, stdout=subprocess.PIPE)
    steps: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return steps


def main() -> None:
    """Measure one checkout, or two in turns, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--steps", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.steps:
        measure(chosen.pairs, chosen.threads)
        return
    checkouts = [ROOT, *([chosen.before.resolve()] if chosen.before else [])]
    best: list[dict[str, float]] = [{} for _ in checkouts]
    for _ in range(chosen.turns):
        for known, checkout in zip(best, checkouts, strict=True):
            for name, value in measured(checkout, chosen.pairs, chosen.threads).items():
                known[name] = min(value, known.get(name, value))
    print("step\tms" + ("\tms before\ttimes" if chosen.before else ""))
    for name, value in best[0].items():
        before = best[-1].get(name) or best[-1]["classifier: an update in float32"]
        more = f"\t{before:.1f}\t{before / value:.2f}" if chosen.before else ""
        print(f"{name}\t{value:.1f}{more}")


if __name__ == "__main__":
    main()
