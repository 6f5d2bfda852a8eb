"""Reversing: train, translate and score a toy task in a few seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitextfilter.training.data import PairFile
from bitextfilter.training.runs import Environment, TrainingFiles
from bitextfilter.training.translator_training import TranslatorConfig, TranslatorTraining
from bitextfilter.translation.translator import SearchSettings, load_translator

SHAPES: dict[str, dict[str, Any]] = {
    "transformer": {"width": 32, "heads": 4, "layers": 2, "feed_forward": 64},
    "recurrent": {"width": 32, "hidden": 32, "decoder_layers": 1},
}
TRAINING = {
    "batch_size": 64, "passes": 10, "validate_every": 100, "label_smoothing": 0.0,
    "dropout": 0.0, "learning_rate": 0.008, "schedule": "linear", "warmup": 50, "patience": 0,
}  # fmt: skip


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of 1 to 5 of 8 words; the translation has them in reverse order."""
    random = np.random.default_rng(seed)
    rows = [[f"w{i}" for i in random.integers(0, 8, random.integers(1, 6))] for _ in range(count)]
    return [(" ".join(row), " ".join(row[::-1])) for row in rows]


@pytest.mark.gate("transformer")
@pytest.mark.parametrize("architecture", SHAPES)
def test_a_toy_task_is_learnt(tmp_path: Path, architecture: str) -> None:
    for name, count, seed in (("train", 4000, 1), ("dev", 100, 2)):
        text = "".join(f"{a}\t{b}\n" for a, b in pairs(count, seed))
        (tmp_path / f"{name}.tsv").write_text(text)
    values = {"shape": SHAPES[architecture], "segmentation": {"kind": "none"}}
    plan = TranslatorConfig.from_dict(
        {"architecture": architecture, "training": TRAINING, **values}
    )
    train, dev = (PairFile(str(tmp_path / f"{name}.tsv")) for name in ("train", "dev"))
    material = TrainingFiles(("aa", "ba"), [train], dev)
    TranslatorTraining(plan, material, Environment(tmp_path / "model")).run()
    translator = load_translator(tmp_path / "model")
    sources, targets = zip(*pairs(400, 3), strict=True)
    for width in (1, 4):
        found = translator.translate(sources, SearchSettings(width))
        right = [row.best == target for row, target in zip(found, targets, strict=True)]
        assert np.mean(right) >= 0.99
    scores = translator.log_probabilities(sources, targets)
    wrong = translator.log_probabilities(sources, targets[1:] + targets[:1])
    assert np.mean(scores > wrong + 0.5) > 0.95
