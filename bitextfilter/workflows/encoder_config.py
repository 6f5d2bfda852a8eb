"""What a training run is made of: its settings, its files, and where it happens."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from bitextfilter.encoders.autoencoder import AutoencoderSettings
from bitextfilter.encoders.averaging import AveragingSettings
from bitextfilter.encoders.combination import CombinationSettings
from bitextfilter.encoders.registry import ENCODERS, PIVOT, sees_order, views
from bitextfilter.errors import SettingsError
from bitextfilter.settings import check_groups, from_mapping, group_rows
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.ragged import TRIGRAMS
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.trigrams import TrigramSettings
from bitextfilter.training.data import PairFile
from bitextfilter.training.loop import Progress
from bitextfilter.training.settings import TrainingSettings, validation_interval

Group = TypeVar("Group")

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
"""The defaults of its architecture, and the architecture if none is said: those of the models that
come with the package."""


def _whole(least: int, number: float, most: int) -> int:
    """The whole number at or below a number, within bounds."""
    return int(min(max(number, least), most))


@dataclass(frozen=True)
class EncoderConfig:
    """All settings of a run: what a settings file holds, and a model folder keeps."""

    architecture: str = "word,trigram"
    shape: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the architecture, by name."""
    normalisation: Normalisation = field(default_factory=Normalisation)
    segmentation: SegmenterSettings = field(default_factory=SegmenterSettings)
    trigrams: TrigramSettings = field(default_factory=TrigramSettings)
    """For architectures that read the trigrams of words."""
    training: TrainingSettings = field(default_factory=TrainingSettings)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> EncoderConfig:
        """Build from nested names and values; what is left out has its default.

        Raises:
            SettingsError: an unknown name, or a value that does not fit.
        """
        check_groups([part.name for part in dataclasses.fields(cls)], values)
        name = str(values.get("architecture", RECIPE["architecture"]))
        usual = RECIPE if name == RECIPE["architecture"] else {"training": _objectives(name)}
        shape = ENCODERS.find(name).settings

        def made(kind: type[Group], group: str) -> Group:
            return from_mapping(kind, values.get(group, {}), group, usual.get(group))

        plan = cls(
            name,
            dataclasses.asdict(made(shape, "shape")),
            made(Normalisation, "normalisation"),
            made(SegmenterSettings, "segmentation"),
            made(TrigramSettings, "trigrams"),
            made(TrainingSettings, "training"),
        )
        plan._check_architecture()
        return plan

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
        """The same with what the number of pairs decides: see the meanings of these settings.

        The sizes are those of trials of 5,000 to 437,842 pairs (docs/train-your-own.md).
        """
        segmentation, training = self.segmentation, self.training
        vocabulary = segmentation.vocabulary_size or 1000 * _whole(
            2, 4 * (pairs / 5000) ** 0.4 + 0.5, 24
        )
        passes = training.passes or _whole(3, 500_000 / max(pairs, 1), 10)
        longest = training.maximum_length or max(60, 108 - vocabulary // 500)
        updates = max(1, round(passes * pairs / training.batch_size))
        every = training.validate_every or validation_interval(updates, passes, training.mega_batch)
        return dataclasses.replace(
            self,
            segmentation=dataclasses.replace(segmentation, vocabulary_size=vocabulary),
            training=dataclasses.replace(
                training, passes=passes, maximum_length=longest, validate_every=every
            ),
        )

    def check_files(self, material: TrainingFiles) -> None:
        """Raise SettingsError for files or languages that the architecture is not for.

        That is text that nothing autoencodes, sides with parts of their own where both are one
        language, and pairs with a third language for anything but the architecture pivot.
        """
        separate = [name for name, value in self.shape.items() if value == "separate"]
        if separate and len(set(material.languages)) == 1:
            raise SettingsError(
                f"shape.{separate[0]} is separate, but both sides are {material.languages[0]}:"
                " one of the two would never be used"
            )
        if (self.architecture == PIVOT) != (material.pivot is not None):
            raise SettingsError(
                "the architecture pivot, and no other, is trained on pairs with a third language,"
                " which bitext-train-encoder takes"
            )
        for side, option in enumerate(("--source-text", "--target-text")):
            written = side in self.training.decoded_sides and self.training.autoencoding
            if material.monolingual.get(side) and not written:
                raise SettingsError(
                    f"{option} has no effect: nothing autoencodes it; set training.autoencoding"
                    f" above 0 and training.decode to {option[2:8]} or both, or leave it out"
                )
        if material.start is not None and material.segmenter is not None:
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

    def to_dict(self) -> dict[str, Any]:
        """Every setting, nested, as :meth:`from_dict` takes it."""
        return dataclasses.asdict(self)


def settings_rows() -> list[tuple[str, str, str, str]]:
    """Every setting of an encoder's training; in brackets the default of other architectures."""
    plan = EncoderConfig.from_dict({})
    parts = from_mapping(CombinationSettings, plan.shape)
    meaning = "parts such as word+lstm,trigram, autoencoder, pivot or averaging"
    return [
        ("architecture", plan.architecture, "", meaning),
        *group_rows(parts, "shape", "parts", CombinationSettings()),
        *group_rows(AutoencoderSettings(), "shape", "autoencoder and pivot"),
        *group_rows(AveragingSettings(), "shape", "averaging"),
        *group_rows(plan.normalisation, "normalisation", other=Normalisation()),
        *group_rows(plan.segmentation, "segmentation", other=SegmenterSettings()),
        *group_rows(plan.trigrams, "trigrams", other=TrigramSettings()),
        *group_rows(plan.training, "training", other=TrainingSettings()),
    ]


def _objectives(architecture: str) -> dict[str, float]:
    """The objectives if nothing is said: without a decoder for what needs none."""
    without = () if architecture in ENCODERS else ("translation", "autoencoding")
    if architecture == PIVOT:
        without = ("autoencoding", "ranking")
    return dict.fromkeys(without, 0.0)


@dataclass(frozen=True)
class PivotFiles:
    """The files that the architecture pivot is trained on, instead of pairs."""

    language: str
    """A third language."""
    sides: tuple[Sequence[PairFile], Sequence[PairFile]]
    """Pairs of sources and the same in the third language; pairs of targets and the same."""


@dataclass(frozen=True)
class TrainingFiles:
    """The files of a run."""

    languages: tuple[str, str]
    pairs: Sequence[PairFile]
    development: PairFile
    """Pairs on which the network is validated; never trained on."""
    monolingual: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Plain text files to autoencode besides, by side (0 source, 1 target)."""
    start: Path | None = None
    """A model whose text processing and fitting tensors are taken over."""
    segmenter: Path | None = None
    """A learnt segmenter's folder, to use instead of learning one."""
    vectors: Path | None = None
    """Initial vectors of subwords, in text form."""
    pivot: PivotFiles | None = None

    def described(self) -> dict[str, Any]:
        """The files by name, without their folders: a model names no path of a machine."""

        def name(path: str | Path | None) -> str | None:
            return None if path is None else Path(path).name

        def names(files: Sequence[PairFile]) -> list[Any]:
            return [[name(file.source), name(file.target), file.weight] for file in files]

        described: dict[str, Any] = {
            "languages": list(self.languages),
            "pairs": names(self.pairs),
            "monolingual": {
                str(side): [name(path) for path in paths]
                for side, paths in self.monolingual.items()
            },
            "development": name(self.development.source),
            "start": name(self.start),
            "segmenter": name(self.segmenter),
            "vectors": name(self.vectors),
        }
        if (pivot := self.pivot) is not None:
            sides = [names(files) for files in pivot.sides]
            described["pivot"] = {"language": pivot.language, "sides": sides}
        return described


def _silent(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Environment:
    """Where a run happens and whom it talks to."""

    output: Path
    device: str = "cpu"
    threads: int = 1
    quantise: bool = False
    """Keep matrices as int8 in the model."""
    resume: bool = False
    note: Callable[[str], None] = _silent
    report: Callable[[Progress, int], None] = lambda *_: None

    @property
    def state(self) -> Path:
        """The folder of the training state, beside the model."""
        return self.output.with_name(self.output.name + ".training")
