"""The translation architectures by name, and translators loaded from model folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from bitextfilter.errors import ModelError
from bitextfilter.models.device import product_type, resolve_device
from bitextfilter.models.registry import Registry
from bitextfilter.text.processor import TextProcessor
from bitextfilter.translation.network import TranslationNetwork
from bitextfilter.translation.translator import Translator

TRANSLATORS: Registry[TranslationNetwork, TextProcessor] = Registry(
    "translator",
    {
        "transformer": "bitextfilter.translation.transformer:TRANSFORMER",
        "recurrent": "bitextfilter.translation.recurrent:RECURRENT",
        "controlled": "bitextfilter.translation.recurrent:CONTROLLED",
    },
    TextProcessor.load,
)

TEMPLATED = ("controlled",)
"""Architectures that follow templates; their settings have ``symbols``, the size of the table."""


def _check_templates(folder: Path, name: str, settings: Any, processor: TextProcessor) -> None:
    """Raise ModelError unless template symbols are there where they are needed, and fit."""
    known = processor.templates
    if (known is not None) != (name in TEMPLATED):
        raise ModelError(f"{folder}: symbols of templates are missing, or belong to another model")
    if known is not None and len(known) > settings.symbols:
        raise ModelError(f"{folder}: more symbols of templates than the table of them has rows")


def load_translator(folder: Path, device: str = "cpu", threads: int = 1) -> Translator:
    """Load the translator of a model folder. Errors as :meth:`Registry.load`.

    On devices that multiply bfloat16 fast, matrices are multiplied in bfloat16: scores then change
    by some thousandths, reproducibly.
    """
    model = TRANSLATORS.load(folder)
    _check_templates(folder, model.architecture, model.settings, model.processor)
    if product_type(resolve_device(device)) == torch.bfloat16:
        model.network.eval().narrow()
    return Translator(model.processor, model.network, device, threads)
