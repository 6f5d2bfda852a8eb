"""What a training run is made of: its settings, its files, and where it happens."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bitextfilter.encoders.registry import ARCHITECTURES, PIVOT, architecture_settings
from bitextfilter.errors import SettingsError
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.trigrams import TrigramSettings
from bitextfilter.training.settings import TrainingSettings, check_groups, from_mapping
from bitextfilter.training.sources import PairFile
from bitextfilter.training.state import Progress


@dataclass(frozen=True)
class Plan:
    """All settings of a run: what a settings file holds, and a model folder keeps."""

    architecture: str = "autoencoder"
    shape: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the architecture, by name."""
    normalisation: Normalisation = field(default_factory=Normalisation)
    segmentation: SegmenterSettings = field(default_factory=SegmenterSettings)
    trigrams: TrigramSettings = field(default_factory=TrigramSettings)
    """For architectures that read the trigrams of words."""
    training: TrainingSettings = field(default_factory=TrainingSettings)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Plan:
        """Build from nested names and values; what is left out has its default.

        Raises:
            SettingsError: an unknown name, or a value that does not fit.
        """
        check_groups([part.name for part in dataclasses.fields(cls)], values)
        name = str(values.get("architecture", "autoencoder"))
        kind = type(architecture_settings(name, {}))
        return cls(
            name,
            dataclasses.asdict(from_mapping(kind, values.get("shape", {}))),
            from_mapping(Normalisation, values.get("normalisation", {})),
            from_mapping(SegmenterSettings, values.get("segmentation", {})),
            from_mapping(TrigramSettings, values.get("trigrams", {})),
            from_mapping(TrainingSettings, _with_objectives(name, values.get("training", {}))),
        )

    def check_material(self, material: Material) -> None:
        """Raise SettingsError for files or languages that the architecture is not for.

        That is sides with parts of their own where both are one language, and pairs with a third
        language for anything but the architecture pivot.
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

    def to_dict(self) -> dict[str, Any]:
        """Every setting, nested, as :meth:`from_dict` takes it."""
        return dataclasses.asdict(self)


def _with_objectives(architecture: str, training: Any) -> Any:
    """What is trained if nothing is said: without a decoder for what needs none."""
    if not isinstance(training, Mapping):
        return training
    without = () if architecture in ARCHITECTURES else ("translation", "autoencoding")
    if architecture == PIVOT:
        without = ("autoencoding", "ranking")
    return {**dict.fromkeys(without, 0.0), **training}


def with_override(values: dict[str, Any], assignment: str) -> dict[str, Any]:
    """Settings with one more, written ``group.name=value`` (the value as JSON, or a word).

    Raises:
        SettingsError: the assignment has another form.
    """
    path, equals, text = assignment.partition("=")
    group, dot, name = path.partition(".")
    if not equals or (dot and not name):
        raise SettingsError(f"{assignment!r} is not of the form group.name=value")
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if not dot:
        return {**values, group: value}
    before = values.get(group, {})
    if not isinstance(before, dict):
        raise SettingsError(f"{group} is {before!r}, which has no {name}")
    return {**values, group: {**before, name: value}}


@dataclass(frozen=True)
class PivotMaterial:
    """The files that the architecture pivot is trained on, instead of pairs."""

    language: str
    """A third language."""
    sides: tuple[Sequence[PairFile], Sequence[PairFile]]
    """Pairs of sources and the same in the third language; pairs of targets and the same."""


@dataclass(frozen=True)
class Material:
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
    pivot: PivotMaterial | None = None

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
class Surroundings:
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
