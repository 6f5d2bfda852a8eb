"""A model small enough to make in every test: words, averaged in 8 dimensions, weights random."""

from __future__ import annotations

from pathlib import Path

import torch

from bitextfilter.encoders.averaging import AveragingSettings
from bitextfilter.encoders.registry import build_network, save_encoder
from bitextfilter.scoring.model import load
from bitextfilter.scoring.reference import FILE
from bitextfilter.similarity.classifier import Classifier, ClassifierSettings
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings

SOURCES = ["the dog sleeps", "a cat drinks milk", "the house is old", "1 2 3"]
TARGETS = ["der Hund schläft", "eine Katze trinkt Milch", "das Haus ist alt", "1 2 3"]


def make_model(folder: Path) -> Path:
    """Write a whole model of English and German, classifier and neighbours too; returns it."""
    torch.manual_seed(1)
    settings = SegmenterSettings(kind="none", vocabulary_size=64)
    processor = TextProcessor.learn(SOURCES, TARGETS, ("en", "de"), Normalisation(), settings)
    shape = AveragingSettings(embedding=8)
    network = build_network("averaging", shape, len(processor.vocabulary))
    folder.mkdir(parents=True)
    save_encoder(folder, ("averaging", shape), network, processor)
    Classifier(ClassifierSettings(dim=8, hidden=4)).save(folder)
    load(folder).sample(SOURCES, TARGETS, k=2).save(folder / FILE)
    (folder / "card.md").write_text("# A tiny model\n", encoding="utf-8")
    return folder
