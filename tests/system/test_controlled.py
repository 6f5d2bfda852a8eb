"""Templates decide the order of words: train a toy, and write each sentence in both orders."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.io.rows import Columns, WantedColumn
from bitextfilter.training.data import PairFile
from bitextfilter.training.runs import Environment, TrainingFiles
from bitextfilter.training.translator_training import TranslatorConfig, TranslatorTraining
from bitextfilter.translation.translator import SearchSettings, load_translator

VALUES = {
    "architecture": "controlled",
    "shape": {"width": 32, "hidden": 32, "decoder_layers": 1},
    "segmentation": {"kind": "none"},
    "training": {
        "batch_size": 50, "passes": 24, "validate_every": 200, "label_smoothing": 0.0,
        "dropout": 0.0, "learning_rate": 0.005, "schedule": "linear", "warmup": 20, "patience": 0,
    },
}  # fmt: skip
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
    material = TrainingFiles(("aa", "ba"), [train], dev)
    plan = TranslatorConfig.from_dict(VALUES)
    TranslatorTraining(plan, material, Environment(tmp_path / "model")).run()
    translator, told = load_translator(tmp_path / "model"), SENTENCES[370:]
    for template, step in zip(TEMPLATES, (1, -1), strict=True):
        texts = [" ".join(words) for words in told]
        found = translator.translate(texts, SearchSettings(3), [template] * len(texts))
        right = [t.best == " ".join(w[::step]) for t, w in zip(found, told, strict=True)]
        assert np.mean(right) >= 0.99, float(np.mean(right))
