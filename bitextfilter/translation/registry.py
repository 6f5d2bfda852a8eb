"""The translation architectures by name, and translators' model folders read and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.models import checkpoint
from bitextfilter.models.device import product_type, resolve_device
from bitextfilter.models.folders import read_architecture, read_config
from bitextfilter.text.processor import TextProcessor
from bitextfilter.translation.network import TranslationNetwork
from bitextfilter.translation.recurrent import (
    ControlledNetwork,
    ControlledSettings,
    RecurrentSettings,
    RecurrentTranslationNetwork,
)
from bitextfilter.translation.transformer import TransformerNetwork, TransformerSettings
from bitextfilter.translation.translator import Translator

ARCHITECTURES: dict[str, tuple[type[Any], Any]] = {
    "transformer": (TransformerSettings, TransformerNetwork),
    "recurrent": (RecurrentSettings, RecurrentTranslationNetwork),
    "controlled": (ControlledSettings, ControlledNetwork),
}
"""Name → (settings, network); a network takes (settings, size of the vocabulary)."""

FOLLOWING = ("controlled",)
"""Those that follow templates: settings with ``symbols``, the size of their table."""

_PART = "translator"
"""Of a model's configuration."""


def settings_kind(name: str) -> type[Any]:
    """The settings class of an architecture. Raises SettingsError for unknown names."""
    if name not in ARCHITECTURES:
        raise SettingsError(f"architecture {name!r} is none of {', '.join(ARCHITECTURES)}")
    return ARCHITECTURES[name][0]


def architecture_settings(name: str, values: Mapping[str, Any]) -> Any:
    """The settings object of an architecture. Raises SettingsError for unknown names."""
    kind = settings_kind(name)
    if unknown := sorted(set(values) - set(kind.__dataclass_fields__)):
        raise SettingsError(f"{unknown[0]!r} is no setting of the architecture {name}")
    return kind(**values)


def build_network(name: str, settings: Any, vocabulary: int) -> TranslationNetwork:
    """A freshly initialised network, for a vocabulary of so many ids."""
    network: TranslationNetwork = ARCHITECTURES[name][1](settings, vocabulary)
    return network


def save_translator(
    folder: Path,
    kind: tuple[str, Any],
    network: TranslationNetwork,
    processor: TextProcessor,
    quantise: bool = False,
) -> None:
    """Write a translator into an existing folder; ``kind``: its architecture and settings."""
    name, settings = kind
    processor.save(folder)
    config = {**processor.config(), _PART: {"architecture": name, **asdict(settings)}}
    checkpoint.save_network(folder, _PART, network, config, quantise)


def _load_network(folder: Path) -> tuple[str, Any, TranslationNetwork, TextProcessor]:
    """Architecture name, settings, network and text processor of a translator's folder.

    Raises:
        NotFoundError: no model there, or a file of it is missing.
        ModelError: it is no translator, damaged, or of a newer version.
    """
    config = read_config(folder)
    name, settings = read_architecture(folder, config, _PART, architecture_settings)
    processor = TextProcessor.load(folder, config)
    _check_templates(folder, name, settings, processor)
    size = len(processor.vocabulary)
    network = checkpoint.load_network(folder, _PART, lambda: build_network(name, settings, size))
    return name, settings, network, processor


def _check_templates(folder: Path, name: str, settings: Any, processor: TextProcessor) -> None:
    """Raise ModelError unless there are symbols of templates where they are needed, and fit."""
    known = processor.templates
    if (known is not None) != (name in FOLLOWING):
        raise ModelError(f"{folder}: symbols of templates are missing, or belong to another model")
    if known is not None and len(known) > settings.symbols:
        raise ModelError(f"{folder}: more symbols of templates than the table of them has rows")


def load_translator(folder: Path, device: str = "cpu", threads: int = 1) -> Translator:
    """The translator of a model folder, ready to translate. Errors as :func:`load_network`.

    Where the device is fast at it, matrices are multiplied in bfloat16: a score is then off by
    some thousandths, and the same each time.
    """
    _, _, network, processor = _load_network(folder)
    if product_type(resolve_device(device)) == torch.bfloat16:
        network.eval().narrow()
    return Translator(processor, network, device, threads)
