"""All settings of a translator's training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bitextfilter.settings import check_groups, from_mapping, listed
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.training.translator_settings import TranslatorSettings
from bitextfilter.translation.registry import ARCHITECTURES, settings_kind

__all__ = ["TranslatorPlan", "settings_rows"]

CASED: Mapping[str, Any] = {"lowercase": False}
"""Translations are written as the training text is."""
SMALL: Mapping[str, Any] = {"vocabulary_size": 8000, "merges": 8000}


@dataclass(frozen=True)
class TranslatorPlan:
    """What a settings file holds, and a model folder keeps."""

    architecture: str = "transformer"
    shape: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the architecture, by name."""
    normalisation: Normalisation = field(default_factory=lambda: Normalisation(**CASED))
    segmentation: SegmenterSettings = field(default_factory=lambda: SegmenterSettings(**SMALL))
    training: TranslatorSettings = field(default_factory=TranslatorSettings)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TranslatorPlan:
        """Build from nested names and values; what is left out has its default.

        Raises:
            SettingsError: an unknown name, or a value that does not fit.
        """
        check_groups([part.name for part in dataclasses.fields(cls)], values)
        name = str(values.get("architecture", "transformer"))
        return cls(
            name,
            dataclasses.asdict(from_mapping(settings_kind(name), values.get("shape", {}), "shape")),
            from_mapping(Normalisation, values.get("normalisation", {}), "normalisation", CASED),
            from_mapping(SegmenterSettings, values.get("segmentation", {}), "segmentation", SMALL),
            from_mapping(TranslatorSettings, values.get("training", {}), "training"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Every setting, nested, as :meth:`from_dict` takes it."""
        return dataclasses.asdict(self)


def settings_rows() -> list[tuple[str, str, str, str]]:
    """Every setting of a translator's training."""
    plan = TranslatorPlan.from_dict({})
    shapes = [
        row for name, (kind, _) in ARCHITECTURES.items() for row in listed(kind(), "shape", name)
    ]
    return [
        ("architecture", plan.architecture, ", ".join(ARCHITECTURES), "the network"),
        *shapes,
        *listed(plan.normalisation, "normalisation"),
        *listed(plan.segmentation, "segmentation"),
        *listed(plan.training, "training"),
    ]
