"""Settings of an encoder's training, and the recipe that gives their defaults."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bitextfilter.encoders.combination import CombinationSettings
from bitextfilter.encoders.registry import ENCODERS, PIVOT, sees_order, views
from bitextfilter.errors import SettingsError
from bitextfilter.settings import from_groups, group_rows
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.ragged import TRIGRAMS
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.vocabulary import TrigramSettings
from bitextfilter.training.settings import TrainingSettings, count_updates, validation_interval
from bitextfilter.workflows.runs import NetworkConfig, TrainingFiles

RECIPE: Mapping[str, Any] = {
    "architecture": "word,trigram",
    "shape": {"embedding": 256},
    "normalisation": {"apart": True},
    "segmentation": {"vocabulary_size": 0, "sample_size": 400_000},
    "trigrams": {"size": 40_000},
    "training": {
        "translation": 0.0,
        "autoencoding": 0.0,
        "ranking": 0,
        "triplet": 1,
        "mega_batch": 40,
        "batch_size": 100,
        "passes": 0,
        "maximum_length": 0,
        "optimiser": "lazy-adam",
        "schedule": "constant",
        "warmup": 0,
        "clip": 0,
    },
}
"""The default architecture and its defaults: those of the models that come with the package."""


def _whole(least: int, number: float, most: int) -> int:
    """The whole number at or below a number, within bounds."""
    return int(min(max(number, least), most))


@dataclass(frozen=True)
class EncoderConfig(NetworkConfig):
    """All settings of a run: a settings file holds them, and a model folder keeps them."""

    trigrams: TrigramSettings
    """For architectures that read the trigrams of words."""
    training: TrainingSettings

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> EncoderConfig:
        """Build from nested names and values; missing ones have their defaults.

        Raises:
            SettingsError: an unknown name, or a value that does not fit.
        """
        name = str(values.get("architecture", RECIPE["architecture"]))
        usual = RECIPE if name == RECIPE["architecture"] else {"training": _objectives(name)}
        kinds = {
            "shape": ENCODERS.find(name).settings,
            "normalisation": Normalisation,
            "segmentation": SegmenterSettings,
            "trigrams": TrigramSettings,
            "training": TrainingSettings,
        }
        config = cls(name, **from_groups(kinds, values, usual, ["architecture"]))
        config._check_architecture()
        return config

    @staticmethod
    def rows() -> list[tuple[str, str, str, str]]:
        """Every setting as a row; in brackets the default of other architectures."""
        config = EncoderConfig.from_dict({})
        meaning = "parts such as word+lstm,trigram, autoencoder, pivot or averaging"
        return [
            ("architecture", f"`{config.architecture}`", "", meaning),
            *group_rows(config.shape, "shape", "parts", CombinationSettings()),
            *group_rows(ENCODERS.find("autoencoder").settings(), "shape", "autoencoder and pivot"),
            *group_rows(ENCODERS.find("averaging").settings(), "shape", "averaging"),
            *group_rows(config.normalisation, "normalisation", other=Normalisation()),
            *group_rows(config.segmentation, "segmentation", other=SegmenterSettings()),
            *group_rows(config.trigrams, "trigrams", other=TrigramSettings()),
            *group_rows(config.training, "training", other=TrainingSettings()),
        ]

    def _check_architecture(self) -> None:
        """Raise SettingsError for settings that have no effect on this architecture."""
        if TRIGRAMS not in views(self.architecture) and self.trigrams != TrigramSettings():
            raise SettingsError(
                f"trigrams have no effect: the architecture {self.architecture} reads none; leave"
                " the settings of trigrams out"
            )
        if self.training.scramble and not sees_order(self.architecture):
            raise SettingsError(
                f"training.scramble has no effect: the architecture {self.architecture} does not"
                " see the order of pieces; leave it out"
            )

    def fitting(self, pairs: float) -> EncoderConfig:
        """Return the same with the settings that depend on the number of pairs.

        The sizes are those of trials of 5,000 to 437,842 pairs (docs/train-your-own.md).
        """
        segmentation, training = self.segmentation, self.training
        vocabulary = segmentation.vocabulary_size or 1000 * _whole(
            2, 4 * (pairs / 5000) ** 0.4 + 0.5, 24
        )
        passes = training.passes or _whole(3, 500_000 / max(pairs, 1), 10)
        longest = training.maximum_length or max(60, 108 - vocabulary // 500)
        updates = count_updates(pairs, passes, training.batch_size)
        every = training.validate_every or validation_interval(updates, passes, training.mega_batch)
        return dataclasses.replace(
            self,
            segmentation=dataclasses.replace(segmentation, vocabulary_size=vocabulary),
            training=dataclasses.replace(
                training, passes=passes, maximum_length=longest, validate_every=every
            ),
        )

    def check_files(self, files: TrainingFiles) -> None:
        """Raise SettingsError for files or languages that the architecture cannot use."""
        separate = [name for name, value in vars(self.shape).items() if value == "separate"]
        if separate and len(set(files.languages)) == 1:
            raise SettingsError(
                f"shape.{separate[0]} is separate, but both sides are {files.languages[0]}:"
                " one of the two would never be used"
            )
        if (self.architecture == PIVOT) != (files.pivot is not None):
            raise SettingsError(
                "the architecture pivot, and no other, is trained on pairs with a third language,"
                " which bitext-train-encoder takes"
            )
        for side, option in enumerate(("--source-text", "--target-text")):
            written = side in self.training.decoded_sides and self.training.autoencoding
            if files.monolingual.get(side) and not written:
                raise SettingsError(
                    f"{option} has no effect: nothing autoencodes it; set training.autoencoding"
                    f" above 0 and training.decode to {option[2:8]} or both, or leave it out"
                )
        if files.start is not None and files.segmenter is not None:
            raise SettingsError(
                "--segmenter has no effect with --start, whose segmentation is taken; leave one out"
            )

    def check_text(self, kept: Mapping[str, Any], option: str, groups: Sequence[str]) -> None:
        """Raise SettingsError for settings of the text that a model or a segmenter replaces.

        Args:
            kept: the settings that it was made with, as far as they are known.
            option: names it.
            groups: the names of the groups that it replaces.
        """
        usual = EncoderConfig.from_dict({"architecture": self.architecture})
        for group in groups:
            values, defaults = (dataclasses.asdict(getattr(p, group)) for p in (self, usual))
            theirs = {**defaults, **kept.get(group, {})}
            for name, value in values.items():
                if value not in (defaults[name], theirs[name]):
                    raise SettingsError(
                        f"{group}.{name}={json.dumps(value)} has no effect with {option}, which"
                        " brings its own; leave it out"
                    )


def _objectives(architecture: str) -> dict[str, float]:
    """The default objectives of an architecture: without a decoder where none is needed."""
    without = () if architecture in ENCODERS else ("translation", "autoencoding")
    if architecture == PIVOT:
        without = ("autoencoding", "ranking")
    return dict.fromkeys(without, 0.0)
