"""The architectures by name, and model folders read and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bitextfilter.encoders.autoencoder import AutoencoderNetwork, AutoencoderSettings
from bitextfilter.encoders.averaging import AveragingNetwork, AveragingSettings
from bitextfilter.encoders.base import Encoder, Network, NetworkEncoder
from bitextfilter.encoders.combination import (
    PARTS,
    CombinationNetwork,
    CombinationSettings,
    parse,
    views_of,
)
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.models import checkpoint
from bitextfilter.models.folders import read_architecture, read_config
from bitextfilter.text.processor import TextProcessor

PIVOT = "pivot"
"""The encoders of ``autoencoder`` with a decoder of a third language (``training/pivot.py``)."""

ARCHITECTURES: dict[str, tuple[type[Any], Any]] = {
    "autoencoder": (AutoencoderSettings, AutoencoderNetwork),
    PIVOT: (AutoencoderSettings, AutoencoderNetwork),
    "averaging": (AveragingSettings, AveragingNetwork),
}
"""Name → (settings, network); a network takes (settings, sizes of the views). Any other name is
an expression of parts (``combination.py``)."""

_PART = "encoder"
"""Of a model's configuration."""


def architecture_settings(name: str, values: Mapping[str, Any]) -> Any:
    """The settings object of an architecture. Raises SettingsError for unknown names."""
    views(name)
    kind = ARCHITECTURES[name][0] if name in ARCHITECTURES else CombinationSettings
    if unknown := sorted(set(values) - set(kind.__dataclass_fields__)):
        raise SettingsError(f"{unknown[0]!r} is no setting of the architecture {name}")
    return kind(**values)


def views(name: str) -> tuple[str, ...]:
    """What an architecture reads of a sentence. Raises SettingsError for unknown names."""
    return Network.views if name in ARCHITECTURES else views_of(name)


def sees_order(name: str) -> bool:
    """Whether an architecture tells sentences apart by the order of their pieces.

    Raises SettingsError for unknown names.
    """
    if name in ARCHITECTURES:
        return name != "averaging"
    return any(PARTS[part].recurrent for added in parse(name) for part in added)


def build_network(name: str, settings: Any, sizes: Mapping[str, int]) -> Network:
    """A freshly initialised network; ``sizes``: how many ids each view of the text has."""
    if name not in ARCHITECTURES:
        return CombinationNetwork(name, settings, sizes)
    network: Network = ARCHITECTURES[name][1](settings, sizes)
    return network


def save_encoder(
    folder: Path,
    kind: tuple[str, Any],
    network: Network,
    processor: TextProcessor,
    quantise: bool = False,
) -> None:
    """Write an encoder into an existing folder; ``kind``: its architecture and settings."""
    name, settings = kind
    processor.save(folder)
    config = {**processor.config(), _PART: {"architecture": name, **asdict(settings)}}
    checkpoint.save_network(folder, _PART, network, config, quantise)


def load_network(folder: Path) -> tuple[str, Any, Network, TextProcessor]:
    """Architecture name, settings, network and text processor of a model folder.

    Raises:
        NotFoundError: no model there, or a file of it is missing.
        ModelError: the model is damaged, or of a newer version.
    """
    config = read_config(folder)
    name, settings = read_architecture(folder, config, _PART, architecture_settings)
    processor = TextProcessor.load(folder, config)
    sizes = processor.sizes()
    try:
        network = checkpoint.load_network(
            folder, _PART, lambda: build_network(name, settings, sizes)
        )
    except KeyError as error:
        raise ModelError(f"{folder}: {name} needs {error}, which its text side lacks") from error
    return name, settings, network, processor


def load_encoder(folder: Path, device: str = "cpu", threads: int = 1) -> Encoder:
    """The encoder of a model folder, ready to encode. Errors as :func:`load_network`."""
    _, _, network, processor = load_network(folder)
    return NetworkEncoder(processor, network, device, threads)
