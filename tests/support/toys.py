"""Toy language pairs, and a model that knows one word by word, made in a blink.

The language ``aa`` has the words a0, a1, …, the language ``ba`` b0, b1, …; a sentence is
translated word by word. The model averages one random vector for each pair of words.

The languages of :func:`invented_pairs` have words of syllables, to train models from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.io.records import DIGESTS
from bitextfilter.models.folders import copy_model, writing_folder
from bitextfilter.pairs.base import (
    SentenceClassifierSettings,
    WordClassifierSettings,
)
from bitextfilter.pairs.classifier import SentenceClassifier, save_classifier
from bitextfilter.pairs.word_classifier import WordClassifier
from bitextfilter.scoring.background import BACKGROUND, BackgroundSample, save_samples
from bitextfilter.scoring.calibration import general_calibration
from bitextfilter.scoring.model import Model
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.trigrams import TrigramSettings

WORDS = 50
DIM = 32
LANGUAGES = ("aa", "ba")


def score_table(
    model: Model,
    sources: Sequence[str],
    targets: Sequence[str],
    measures: Sequence[str],
    background: BackgroundSample | None = None,
) -> np.ndarray:
    """The scores of pairs as an array ``(n, m)``, perhaps by another background sample."""
    model = model if background is None else replace(model, background=background)
    found = model.score(sources, targets, measures)
    return np.stack([found[name] for name in measures], axis=1)


def sentences(
    count: int, seed: int, words: int = WORDS, lengths: tuple[int, int] = (3, 9)
) -> tuple[list[str], list[str]]:
    """Random sentences of 3 to 8 words and their translations."""
    generator = np.random.default_rng(seed)
    rows = [generator.integers(0, words, generator.integers(*lengths)) for _ in range(count)]
    source, target = ([" ".join(f"{s}{n}" for n in row) for row in rows] for s in "ab")
    return source, target


def invented_words(seed: int, count: int) -> list[str]:
    """Distinct words of two to three syllables."""
    random = np.random.default_rng(seed)
    syllables = [c + v for c in ("bdfgklmnprstvz" if seed else "hjlmnpqrstwxyz") for v in "aeiou"]
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(random.choice(syllables, random.integers(2, 4)))] = None
    return list(found)


def invented_pairs(count: int, seed: int, words: int = 200) -> list[tuple[str, str]]:
    """Sentences of 3 to 8 words and their translations.

    The two languages share no word; the second writes the words of a sentence in reverse order
    and folds every ``a b`` of two fixed words into one, so there is something to learn beside a
    dictionary.
    """
    random = np.random.default_rng(seed)
    left, right = invented_words(0, words), invented_words(1, words + 1)
    out = []
    for _ in range(count):
        row = random.integers(0, words, random.integers(3, 9)).tolist()
        source = " ".join(left[i] for i in row)
        target = " ".join(right[i] for i in reversed(row))
        out.append((source, target.replace(f"{right[1]} {right[0]}", right[words])))
    return out


def toy_model(
    folder: Path,
    classifier: bool = True,
    background: bool = True,
    dim: int = DIM,
    recurrent: bool = False,
    seed: int = 1,
    calibrated: bool = False,
) -> Path:
    """Write the model, with an untrained classifier and a background sample of random sentences.

    A *recurrent* one also has the maxima of an untrained network's states in its vectors, a
    *calibrated* one the calibration of models without labels.
    """
    every = [[f"{side}{n}" for n in range(WORDS)] for side in "ab"]
    processor = TextProcessor.learn(
        (every[0], every[1]), LANGUAGES, Normalisation(), SegmenterSettings("none")
    )
    name = "autoencoder" if recurrent else "averaging"
    shape = {"hidden": dim // 2, "average": True} if recurrent else {}
    settings = ENCODERS.settings(name, {"embedding": dim, **shape})
    torch.manual_seed(seed)
    network = ENCODERS.build(name, settings, processor.sizes())
    with torch.no_grad():
        for source, target in zip(*every, strict=True):
            (one,), (other,) = processor.ids([source], "aa")[0], processor.ids([target], "ba")[0]
            network.embedding.weight[int(other)] = network.embedding.weight[int(one)]
            network.embedding.weight[int(other)] += 0.05 * torch.randn(dim) * dim**-0.5
    with writing_folder(folder) as draft:
        ENCODERS.save(draft, (name, settings), network, processor)
        if classifier:
            save_classifier(SentenceClassifier(SentenceClassifierSettings(dim, hidden=16)), draft)
        if calibrated:
            general_calibration().write(draft)
        if background:
            generator = np.random.default_rng(2)
            one, other = generator.standard_normal((2, 40, dim)).astype(np.float32)
            BackgroundSample(one, other, 5).save(draft / BACKGROUND)
    return folder


def toy_many(folder: Path, dim: int = 8) -> Path:
    """Write an untrained model of the three languages aa, ba and ce."""
    names = ("aa", "ba", "ce")
    every = [[f"{name[0]}{n}" for n in range(WORDS)] for name in names]
    processor = TextProcessor.learn(every, names, Normalisation(), SegmenterSettings("none"))
    processor.learn_trigrams(every, TrigramSettings(syllabic=True))
    name = "word,trigram"
    settings = ENCODERS.settings(name, {"embedding": dim})
    torch.manual_seed(1)
    network = ENCODERS.build(name, settings, processor.sizes())
    generator = np.random.default_rng(2)
    samples = {each: generator.standard_normal((40, 2 * dim)).astype(np.float32) for each in names}
    with writing_folder(folder) as draft:
        ENCODERS.save(draft, (name, settings), network, processor, bits=4)
        save_samples(draft / BACKGROUND, samples, 5)
    return folder


def as_older(folder: Path) -> Path:
    """Remove the digests of a model, which older versions did not write, so that it may change."""
    (folder / DIGESTS).unlink()
    return folder


def toy_words_model(folder: Path, calibrated: bool = False) -> Path:
    """Write the model with an untrained classifier that reads words."""
    toy_model(folder, classifier=False, calibrated=calibrated)
    settings = WordClassifierSettings(DIM, 0.5, width=8, meaning=8, word_kinds=2, hidden=16)
    torch.manual_seed(1)
    with writing_folder(folder) as draft:
        copy_model(folder, draft)
        save_classifier(WordClassifier(settings), draft)
    return folder


def training_home(folder: Path, settings: object) -> Path:
    """Write training and development pairs, as rows and side by side, and settings."""
    for name, count, seed in (("train", 60, 1), ("dev", 20, 2)):
        sides = sentences(count, seed)
        rows = "".join(f"{one}\t{other}\n" for one, other in zip(*sides, strict=True))
        (folder / f"{name}.tsv").write_text(rows)
        for side, language in zip(sides, "ab", strict=True):
            (folder / f"{name}.{language}").write_text("".join(f"{line}\n" for line in side))
    (folder / "settings.json").write_text(json.dumps(settings))
    return folder
