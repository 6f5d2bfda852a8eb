"""Settings of a translator's training: frozen, checked, kept as JSON beside the model."""

from __future__ import annotations

from dataclasses import dataclass

from bitextfilter.errors import SettingsError
from bitextfilter.training.settings import check_values

__all__ = ["TranslatorSettings"]

CHOICES = {
    "optimiser": ("adam", "sgd"),
    "schedule": ("inverse-root", "linear", "constant"),
    "precision": ("float32", "bfloat16"),
    "validation": ("cross-entropy", "bleu"),
}
LEAST = {
    **dict.fromkeys(("batch_size", "maximum_length", "validate_every"), 1),
    **dict.fromkeys(("updates", "warmup", "clip", "seed", "patience"), 0),
}


@dataclass(frozen=True)
class TranslatorSettings:
    """How a translator is trained. Defaults are ours unless a source is given."""

    label_smoothing: float = 0.1
    """Share of the probability that all tokens have in common (Vaswani et al. 2017: 0.1)."""
    batch_size: int = 128
    """Sentence pairs of like length a mini-batch."""
    passes: float = 10.0
    """Times the training data is read; may be a fraction."""
    updates: int = 0
    """Updates of a run; 0: as many as ``passes`` have."""
    maximum_length: int = 100
    """Pairs with a longer side, in subwords, are left out of training."""
    optimiser: str = "adam"
    learning_rate: float = 0.001
    """The highest of the schedule."""
    schedule: str = "inverse-root"
    """``inverse-root``: warm-up, then as 1/√update (Vaswani et al. 2017, eq. 3);
    ``linear``: warm-up, then down to 0 at the end; ``constant``: warm-up only."""
    warmup: int = 1000
    """Updates over which the learning rate rises from 0."""
    clip: float = 1.0
    """Largest norm of the gradient; a larger one is scaled down. 0: never."""
    dropout: float = 0.1
    """Share of numbers zeroed in the vectors and in what each layer adds."""
    precision: str = "float32"
    seed: int = 1
    validate_every: int = 1000
    """Updates between validations."""
    validation: str = "cross-entropy"
    """What is lowest for the best network, on the development pairs: nats a token; or, with
    ``bleu``, 100 less the BLEU of greedy search."""
    patience: int = 10
    """Validations without a better one after which training stops; 0: never."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_values(self, CHOICES, LEAST)
        if self.passes <= 0 or self.learning_rate <= 0:
            raise SettingsError("passes and learning_rate must be > 0")
        if not 0 <= self.dropout < 1 or not 0 <= self.label_smoothing < 1:
            raise SettingsError("dropout and label_smoothing must be in [0, 1)")

    def learning_rate_at(self, update: int, updates: int) -> float:
        """Learning rate of an update, counted from 0, of a run of that many updates."""
        warmup = max(1, self.warmup)
        rise = min(1.0, (update + 1) / warmup)
        if self.schedule == "linear":
            rise = min(rise, (updates - update) / max(1, updates - warmup))
        elif self.schedule == "inverse-root" and update >= warmup:
            rise = (warmup / (update + 1)) ** 0.5
        return self.learning_rate * max(0.0, rise)
