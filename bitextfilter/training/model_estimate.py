"""The time that the training of a model will take, by a trial of its stages on this machine."""

from __future__ import annotations

import math
import random
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from bitextfilter.io.drafts import temporary_folder
from bitextfilter.io.files import read_lines
from bitextfilter.search.bidirectional import bidirectional_search
from bitextfilter.similarity.vectors import unit_rows
from bitextfilter.training.classifier_examples import CANDIDATES
from bitextfilter.training.loop import Progress
from bitextfilter.training.model_training import Divided, ModelConfig, ModelFiles, ModelTraining
from bitextfilter.training.settings import run_length

_PAIRS = 4000
"""Pairs of the trial."""
_FOR_CLASSIFIER = 600
"""Of these, pairs for the classifier."""
_UPDATES = 80
"""Of the encoder: two mega-batches of the default settings."""
_CUTS = 5.0
"""Seconds of the last stages."""
_SOME = 2
"""Updates that are not left out of a mean where there are no others."""


class _Clock:
    """Times of the updates of a training."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.times: list[float] = []

    def __call__(self, progress: Progress, updates: int) -> None:
        self.times.append(time.monotonic())

    @property
    def before(self) -> float:
        """Seconds before the end of the first update."""
        return self.times[0] - self.begun

    def seconds_each(self) -> float:
        """Mean of the seconds of an update, without the first and the last if there are others."""
        gaps = np.diff([self.begun, *self.times])
        return float(np.mean(gaps[1:-1] if len(gaps) > _SOME else gaps))


def estimate(training: ModelTraining) -> dict[str, float]:
    """Return the seconds of each stage after the first, which is done.

    A few of the pairs are trained on.
    """
    parts = training.read_pairs()
    with temporary_folder() as folder:
        trial = _trial(training, parts, folder)
        seconds = {"encoder": 0.0}
        if training.encoder is None:
            seconds["encoder"] = _encoder_seconds(trial, training.config, parts)
        return {**seconds, **_classifier_seconds(trial, training, parts), "cuts": _CUTS}


def _trial(training: ModelTraining, parts: Divided, folder: Path) -> ModelTraining:
    """Return the same training of a few pairs, in another folder."""
    draw = random.Random(training.config.seed)
    total = sum(map(len, parts.files))
    share = min(1.0, _PAIRS / total)
    every = []
    for pairs in parts.files:
        places = draw.sample(range(len(pairs)), math.ceil(share * len(pairs)))
        every += [pairs[place] for place in sorted(places)]
    place = training.place._replace(work=folder, note=lambda _: None)
    trial = replace(
        training,
        config=_short(training.config, len(every)),
        files=ModelFiles(["trial"], (), list(read_lines(training.place.work / "foreign.txt"))),
        place=place,
    )
    trial.write_pairs(Divided([every], [], parts.development, 0, 0))
    return trial


def _short(config: ModelConfig, pairs: int) -> ModelConfig:
    """Return the same settings for a few updates of the encoder, and an epoch of the classifier."""
    fitted = config.encoder.fitting(pairs).training
    updates = min(_UPDATES, run_length(fitted, pairs)[0])
    block = max(1, fitted.mega_batch)
    training = replace(fitted, updates=updates, validate_every=-(-updates // block) * block)
    classifier = {**config.classifier, "training": {**config.classifier["training"], "epochs": 1}}
    return replace(
        config, encoder=replace(config.encoder, training=training), classifier=classifier
    )


def _encoder_seconds(trial: ModelTraining, config: ModelConfig, parts: Divided) -> float:
    """Train the encoder of the trial; returns the seconds of the whole training."""
    total, clock = sum(map(len, parts.files)), _Clock()
    trial.train_encoder(clock)
    times, mega = clock.times, config.encoder.training.mega_batch
    fitted = config.encoder.fitting(total).training
    updates, _ = run_length(fitted, total)
    if len(times) <= _SOME + 1:
        return (times[-1] - clock.begun) * updates / len(times)
    *gaps, negatives = np.sort(np.diff(times)[:-1])  # before the longest, negatives are sought
    each = float(np.mean(gaps))
    validation = max(0.0, times[-1] - times[-2] - each)
    text = max(0.0, clock.before - negatives - each) * total / min(total, _PAIRS)
    many = updates / max(1, mega) * negatives + updates / fitted.validate_every * validation
    return float(text + updates * each + many)


def _classifier_seconds(
    trial: ModelTraining, training: ModelTraining, parts: Divided
) -> dict[str, float]:
    """Train the classifier of the trial; returns the seconds of the whole stages."""
    every = sum(map(len, training.positives()))
    (pairs,) = trial.read_pairs().files
    trial.write_pairs(Divided([pairs[:: -(-len(pairs) // _FOR_CLASSIFIER)]], [], [], 0, 0))
    begun = time.monotonic()
    made = trial.make_examples()
    taken, clock = time.monotonic() - begun, _Clock()
    trial.train_classifier(clock)
    after = time.monotonic() - clock.times[-1]
    times = every / max(1, made["positives"])
    config = training.config.classifier_config(sum(map(len, parts.files)))
    counts = {name: count * times for name, count in made.items()}
    if most := training.config.negatives:
        counts["negatives"] = min(counts["negatives"], most)
    counts["graded"] = sum(len(one.pairs) for one in training.graded())
    rows = sum(counts.values()) * (1 - 2 * config.training.held_out)
    updates = config.training.epochs * math.ceil(rows / config.training.batch_size)
    return {
        "examples": taken * times + _search_seconds(training, every),
        "classifier": (clock.before + after) * times + updates * clock.seconds_each(),
    }


def _search_seconds(training: ModelTraining, rows: int) -> float:
    """Return the seconds of a search for the nearest of some rows, by one of fewer."""
    fewer = min(_PAIRS, rows)
    normal = np.random.default_rng(1).standard_normal((fewer, 512))
    vectors = unit_rows(normal.astype(np.float32))
    begun = time.monotonic()
    bidirectional_search(vectors, vectors, CANDIDATES, training.place.threads)
    return (time.monotonic() - begun) * (rows / fewer) ** 2
