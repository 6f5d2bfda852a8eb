"""Templates decide the order of words: train a toy, and write each sentence in both orders."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bitextfilter.io.columns import TemplatedColumns
from bitextfilter.training.sources import PairFile
from bitextfilter.translation.registry import load_translator
from bitextfilter.translation.translator import SearchSettings
from bitextfilter.workflows.plan import Material, Surroundings
from bitextfilter.workflows.translator_plan import TranslatorPlan
from bitextfilter.workflows.translator_training import TranslatorTraining

VALUES = {
    "architecture": "controlled",
    "shape": {"width": 32, "hidden": 32, "decoder_layers": 1, "attention": "additive"},
    "segmentation": {"kind": "none"},
    "training": {
        "batch_size": 64, "passes": 15, "validate_every": 200, "label_smoothing": 0.0,
        "dropout": 0.0, "learning_rate": 0.005, "schedule": "linear", "warmup": 50, "patience": 0,
    },
}  # fmt: skip
PARSES = ("(ROOT (S (NP (DT the)) (VP (VB go))))", "(ROOT (S (VP (VB go)) (NP (DT the))))")
TEMPLATES = ["( S ( NP ) ( VP ) )", "( S ( VP ) ( NP ) )"]


def sentences(count: int, seed: int) -> list[list[str]]:
    """Sentences of 1 to 4 of 8 words."""
    random = np.random.default_rng(seed)
    return [[f"w{i}" for i in random.integers(0, 8, random.integers(1, 5))] for _ in range(count)]


def test_the_template_decides_the_order_of_words(tmp_path: Path) -> None:
    for name, count, seed in (("train", 1400, 1), ("dev", 40, 2)):
        rows = [
            (" ".join(words), " ".join(words[::step]), parse)
            for words in sentences(count, seed)
            for step, parse in zip((1, -1), PARSES, strict=True)
        ]
        (tmp_path / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    columns = TemplatedColumns(1, 2, template=3)
    train, dev = (PairFile(str(tmp_path / f"{n}.tsv"), columns=columns) for n in ("train", "dev"))
    plan = TranslatorPlan.from_dict(VALUES)
    where = Surroundings(tmp_path / "model")
    TranslatorTraining(plan, Material(("aa", "bb"), [train], dev), where).run()
    translator, told = load_translator(tmp_path / "model"), sentences(300, 3)
    for template, step in zip(TEMPLATES, (1, -1), strict=True):
        texts = [" ".join(words) for words in told]
        found = translator.translate(texts, SearchSettings(3), [template] * len(texts))
        right = [t.best == " ".join(w[::step]) for t, w in zip(found, told, strict=True)]
        assert np.mean(right) >= 0.99, np.mean(right)
