"""Settings of a training run: frozen, checked, kept as JSON beside the model."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bitextfilter.errors import NotFoundError, SettingsError

Settings = TypeVar("Settings")

CHOICES = {
    "decode": ("source", "target", "both"),
    "softmax": ("full", "sampled", "adaptive"),
    "optimiser": ("adam", "lazy-adam", "sgd"),
    "schedule": ("linear", "paper", "constant"),
    "precision": ("float32", "bfloat16"),
    "triplet_sides": ("both", "one"),
    "negatives": ("same", "other"),
    "dropout_kind": ("plain", "variational"),
    "initial": ("normal", "uniform"),
}

LARGEST_SEARCH = 32_768
"""Pairs of a mega-batch: each is compared with each, in some GB."""

OBJECTIVES = ("translation", "autoencoding", "ranking", "triplet", "contrastive")
LEAST = dict.fromkeys((*OBJECTIVES, "drift", "composition", "scramble"), 0) | {
    **dict.fromkeys(("triplet_margin", "contrastive_margin", "warmup", "clip", "seed"), 0),
    **dict.fromkeys(("batch_size", "mega_batch", "samples", "maximum_length"), 1),
    **dict.fromkeys(("validate_every", "decay_every"), 1),
}


@dataclass(frozen=True)
class TrainingSettings:
    """How an encoder is trained. Defaults are ours unless a source is given.

    Objectives, each with its weight (0 leaves it out): ``translation`` and ``autoencoding`` are
    cross-entropies in nats a token (Kim et al. 2019, eq. 7 and 8), ``ranking`` the in-batch
    softmax on cosine with its ``margin`` and the start of its learnt ``scale``, ``triplet`` the
    margin loss with hardest negatives (Wieting et al. 2017, 2018), ``contrastive`` the loss on
    cosine distance with random negatives (Sjöblom et al. 2018). Penalties: ``drift`` of the
    token vectors from where they started, and size of the ``composition``, all other parameters.
    """

    translation: float = 1.0
    autoencoding: float = 1.0
    ranking: float = 1.0
    decode: str = "target"
    """The language the decoder writes and autoencodes; Kim et al. 2019: target."""
    decoded_share: float = 1.0
    """Share of a mini-batch's pairs that the decoder writes, 1/2, 1/3, 1/4...: decoding costs
    most, ranking gains from a large batch."""
    margin: float = 0.1
    scale: float = 20.0
    softmax: str = "sampled"
    samples: int = 2048
    triplet: float = 0.0
    triplet_margin: float = 0.4
    triplet_sides: str = "both"
    """Whether the target seeks a negative, too (Wieting et al. 2017), or the source alone
    (Wieting & Gimpel 2018)."""
    negatives: str = "same"
    """Those of a sentence are of its own side (Wieting et al. 2017) or of the other."""
    mega_batch: int = 1
    """Mini-batches among whose pairs the hardest negatives are sought (Wieting & Gimpel 2018:
    1, 20, 40)."""
    contrastive: float = 0.0
    contrastive_margin: float = 0.5
    """Cosine distance, 0 to 2, beyond which a negative costs nothing; the paper states none."""
    drift: float = 0.0
    composition: float = 0.0

    batch_size: int = 120
    """Sentence pairs a mini-batch (Kim et al. 2019: 120)."""
    passes: float = 6.0
    """Times the training data is read; may be a fraction."""
    maximum_length: int = 60
    """Pairs with a longer side, in subwords, are left out of training (Kim et al. 2019: 60)."""
    optimiser: str = "adam"
    """``lazy-adam`` updates only the token vectors that a mini-batch holds: faster with many."""
    learning_rate: float = 0.001
    schedule: str = "linear"
    """``linear``: warm-up, then down to 0 at the end. ``paper``: constant for ``decay_start``
    updates, then times 0.9 every ``decay_every``. ``constant``: warm-up only."""
    warmup: int = 500
    """Updates over which the learning rate rises from 0 (not used by ``paper``)."""
    decay_start: int = 100_000
    decay_every: int = 50_000
    clip: float = 5.0
    """Largest norm of the gradient; a larger one is scaled down. 0: never."""
    dropout: float = 0.0
    """Share of the token vectors' numbers zeroed in training."""
    dropout_kind: str = "plain"
    """``variational``: the same numbers at every position of a sentence (Sjöblom et al. 2018)."""
    scramble: float = 0.0
    """Chance of a sentence to have its pieces in random order (Wieting & Gimpel 2018: 0.3)."""
    initial: str = "normal"
    """``uniform``: token vectors within 0.01, Xavier matrices (Sjöblom et al. 2018)."""
    precision: str = "float32"
    seed: int = 1
    validate_every: int = 1000
    """Updates between validations."""
    patience: int = 0
    """Validations without a better one after which training stops; 0: never."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_values(self, CHOICES, LEAST)
        if max(getattr(self, name) for name in OBJECTIVES) <= 0:
            raise SettingsError(f"at least one of {', '.join(OBJECTIVES)} must be > 0")
        if self.passes <= 0 or self.learning_rate <= 0 or not 0 <= self.dropout < 1:
            raise SettingsError("passes and learning_rate must be > 0, dropout in [0, 1)")
        if not 0 < self.decoded_share <= 1 or self.scramble > 1:
            raise SettingsError("decoded_share must be in (0, 1], scramble in [0, 1]")
        if self.mega_batch > 1 and self.mega_batch * self.batch_size > LARGEST_SEARCH:
            raise SettingsError(
                f"mega_batch times batch_size must be at most {LARGEST_SEARCH} pairs"
            )
        if self.validate_every % self.mega_batch:
            raise SettingsError(
                f"validate_every must be a multiple of mega_batch={self.mega_batch}, so that a"
                " resumed run finds the same negatives"
            )

    @property
    def decodes(self) -> bool:
        """Whether a decoder takes part."""
        return self.translation > 0 or self.autoencoding > 0

    @property
    def decoded_sides(self) -> tuple[int, ...]:
        """Sides (0 source, 1 target) whose language the decoder writes."""
        return {"source": (0,), "target": (1,), "both": (0, 1)}[self.decode]

    def learning_rate_at(self, update: int, updates: int) -> float:
        """Learning rate of an update, counted from 0, of a run of that many updates."""
        if self.schedule == "paper":
            steps = max(0, update - self.decay_start) // self.decay_every
            steps += update >= self.decay_start
            return float(self.learning_rate * 0.9**steps)
        rise = min(1.0, (update + 1) / self.warmup) if self.warmup else 1.0
        if self.schedule == "constant":
            return self.learning_rate * rise
        fall = (updates - update) / max(1, updates - self.warmup)
        return self.learning_rate * min(rise, max(0.0, fall))


def check_values(
    settings: object, choices: Mapping[str, Sequence[str]], least: Mapping[str, float]
) -> None:
    """Raise SettingsError for a setting that is none of its choices, or less than allowed."""
    for name, allowed in choices.items():
        if (chosen := getattr(settings, name)) not in allowed:
            raise SettingsError(f"{name} {chosen!r} is none of {', '.join(allowed)}")
    for name, lowest in least.items():
        if getattr(settings, name) < lowest:
            raise SettingsError(f"{name} must be at least {lowest}")


def check_groups(known: Iterable[str], values: Mapping[str, Any]) -> None:
    """Raise SettingsError for a name among *values* that is no group of settings."""
    if unknown := sorted(set(values).difference(known)):
        raise SettingsError(f"{unknown[0]!r} is no group of settings: {', '.join(known)}")


def from_mapping(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Build a settings object from names and values.

    Raises SettingsError for a name that it lacks, and for a value of another kind.
    """
    if not isinstance(values, Mapping):
        raise SettingsError(f"settings are names and values, not {values!r}")
    fields = {field.name: field.type for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    known: dict[str, Any] = {}
    for name, value in values.items():
        if name not in fields:
            raise SettingsError(f"{name!r} is no setting; there are {', '.join(fields)}")
        known[name] = _of_kind(name, str(fields[name]), value)
    return kind(**known)


def _of_kind(name: str, wanted: str, value: Any) -> Any:
    """The value, a whole number as int; raises SettingsError where it is of another kind."""
    number = type(value) in (int, float) and math.isfinite(value)
    if wanted == "int" and number and value == int(value):
        return int(value)
    fits = {"str": isinstance(value, str), "bool": isinstance(value, bool), "float": number}
    if not fits.get(wanted, False):
        raise SettingsError(f"setting {name} must be {wanted}, not {value!r}")
    return value


def read_settings(path: Path) -> dict[str, Any]:
    """Read a settings file (JSON). Raises NotFoundError or SettingsError."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFoundError(f"{path}: no such settings file") from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: not a settings file: {error}") from error
    if not isinstance(values, dict):
        raise SettingsError(f"{path}: settings are an object of names and values")
    return values
