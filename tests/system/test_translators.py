"""Toy translators, trained in seconds: one reverses, one obeys templates of the order of words."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitextfilter.io.rows import Columns, WantedColumn
from bitextfilter.training.data import PairFile
from bitextfilter.training.runs import Environment, TrainingFiles
from bitextfilter.training.translator_training import TranslatorConfig, TranslatorTraining
from bitextfilter.translation.translator import SearchSettings, Translator, load_translator

SHAPES: dict[str, dict[str, Any]] = {
    "transformer": {"width": 32, "heads": 4, "layers": 2, "feed_forward": 64},
    "recurrent": {"width": 32, "hidden": 32, "decoder_layers": 1},
    "controlled": {"width": 32, "hidden": 32, "decoder_layers": 1},
}
TRAINING = {
    "batch_size": 64, "passes": 10, "validate_every": 100, "label_smoothing": 0.0,
    "dropout": 0.0, "learning_rate": 0.008, "schedule": "linear", "warmup": 50, "patience": 0,
}  # fmt: skip


def trained(architecture: str, train: PairFile, dev: PairFile, **training: float) -> Translator:
    """Train a translator in the folder of *train*."""
    values = {"shape": SHAPES[architecture], "segmentation": {"kind": "none"}}
    plan = TranslatorConfig.from_dict(
        {"architecture": architecture, "training": {**TRAINING, **training}, **values}
    )
    model = Path(train.source).with_name("model")
    TranslatorTraining(plan, TrainingFiles(("aa", "ba"), [train], dev), Environment(model)).run()
    return load_translator(model)


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of 1 to 4 of 8 words; the translation has them in reverse order."""
    random = np.random.default_rng(seed)
    rows = [[f"w{i}" for i in random.integers(0, 8, random.integers(1, 5))] for _ in range(count)]
    return [(" ".join(row), " ".join(row[::-1])) for row in rows]


@pytest.mark.gate("recurrent")
@pytest.mark.parametrize(
    ("architecture", "more"),
    [
        ("transformer", {"passes": 28}),
        ("recurrent", {"batch_size": 100, "passes": 12, "learning_rate": 0.012}),
    ],
    ids=["transformer", "recurrent"],
)
def test_a_toy_task_is_learnt(tmp_path: Path, architecture: str, more: dict[str, float]) -> None:
    for name, count, seed in (("train", 1500, 1), ("dev", 100, 2)):
        text = "".join(f"{a}\t{b}\n" for a, b in pairs(count, seed))
        (tmp_path / f"{name}.tsv").write_text(text)
    train, dev = (PairFile(str(tmp_path / f"{name}.tsv")) for name in ("train", "dev"))
    translator = trained(architecture, train, dev, **more)
    sources, targets = zip(*pairs(400, 3), strict=True)
    for width in (1, 4):
        found = translator.translate(sources, SearchSettings(width))
        right = [row.best == target for row, target in zip(found, targets, strict=True)]
        assert np.mean(right) >= 0.99
    scores = translator.log_probabilities(sources, targets)
    wrong = translator.log_probabilities(sources, targets[1:] + targets[:1])
    assert np.mean(scores > wrong + 0.5) > 0.95


PARSES = ("(ROOT (S (NP (DT the)) (VP (VB go))))", "(ROOT (S (VP (VB go)) (NP (DT the))))")
TEMPLATES = ["( S ( NP ) ( VP ) )", "( S ( VP ) ( NP ) )"]

SENTENCES = [
    [f"{kind}{number}" for kind, number in zip("svo", numbers, strict=True)]
    for numbers in np.random.default_rng(1).permutation(list(product(range(8), repeat=3))).tolist()
]
"""All of a subject, a verb and an object, of 8 words each, in random order."""


def write_pairs(path: Path, sentences: list[list[str]]) -> PairFile:
    """Each sentence as it stands and reversed, with a parse that says so."""
    rows = [
        (" ".join(words), " ".join(words[::step]), parse)
        for words in sentences
        for step, parse in zip((1, -1), PARSES, strict=True)
    ]
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    template = WantedColumn("template", "--template-column", 3)
    return PairFile(str(path), columns=Columns(last=(template,)))


@pytest.mark.gate(0)
def test_the_template_decides_the_order_of_words(tmp_path: Path) -> None:
    """Of sentences that were not trained on, each is written in both orders."""
    train = write_pairs(tmp_path / "train.tsv", SENTENCES[:350])
    dev = write_pairs(tmp_path / "dev.tsv", SENTENCES[350:370])
    more = {"batch_size": 50, "passes": 24, "validate_every": 200, "learning_rate": 0.005}
    translator = trained("controlled", train, dev, warmup=20, **more)
    told = SENTENCES[370:]
    for template, step in zip(TEMPLATES, (1, -1), strict=True):
        texts = [" ".join(words) for words in told]
        found = translator.translate(texts, SearchSettings(3), [template] * len(texts))
        right = [t.best == " ".join(w[::step]) for t, w in zip(found, told, strict=True)]
        assert np.mean(right) >= 0.99, float(np.mean(right))
