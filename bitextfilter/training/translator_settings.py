"""Settings of a translator's training."""

from __future__ import annotations

from dataclasses import dataclass

from bitextfilter.settings import check, setting

__all__ = ["TranslatorSettings"]


@dataclass(frozen=True)
class TranslatorSettings:
    """How a translator is trained. Defaults are ours unless a source is given."""

    label_smoothing: float = setting(
        0.1,
        "share of the probability that all tokens have in common (Vaswani et al. 2017: 0.1)",
        within=">= 0, < 1",
    )
    batch_size: int = setting(128, "pairs of like length of a mini-batch", within=">= 1")
    passes: float = setting(
        10.0, "times the data is read; may be a fraction", within="> 0", needs="updates=0"
    )
    updates: int = setting(0, "of a run; 0: as many as `passes` have", within=">= 0")
    maximum_length: int = setting(
        100, "pairs with a longer side, in subwords, are left out of training", within=">= 1"
    )
    optimiser: str = setting("adam", "", choices=("adam", "sgd"))
    learning_rate: float = setting(0.001, "the highest of the schedule", within="> 0")
    schedule: str = setting(
        "inverse-root",
        "warm-up, then as 1/√update (Vaswani et al. 2017, eq. 3); `linear`: then down to 0;"
        " `constant`: warm-up alone",
        choices=("inverse-root", "linear", "constant"),
    )
    warmup: int = setting(1000, "updates over which the learning rate rises from 0", within=">= 0")
    clip: float = setting(
        1.0, "largest norm of the gradient; a larger one is scaled down; 0: never", within=">= 0"
    )
    dropout: float = setting(
        0.1,
        "share of numbers zeroed in the vectors and in what each layer adds",
        within=">= 0, < 1",
    )
    precision: str = setting(
        "float32",
        "`bfloat16`: faster where the processor has it",
        choices=("float32", "bfloat16"),
    )
    seed: int = setting(1, "of everything that is drawn", within=">= 0")
    validate_every: int = setting(
        0,
        "updates between validations; 0: four times a pass, and at least ten times a run and every"
        " 1,000 updates",
        within=">= 0",
    )
    validation: str = setting(
        "cross-entropy",
        "the error on the development pairs: nats a subword; or 100 less the BLEU of greedy search",
        choices=("cross-entropy", "bleu"),
    )
    patience: int = setting(
        10, "validations without a better one after which training stops; 0: never", within=">= 0"
    )

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check(self)

    def learning_rate_at(self, update: int, updates: int) -> float:
        """Learning rate of an update, counted from 0, of a run of that many updates."""
        warmup = max(1, self.warmup)
        rise = min(1.0, (update + 1) / warmup)
        if self.schedule == "linear":
            rise = min(rise, (updates - update) / max(1, updates - warmup))
        elif self.schedule == "inverse-root" and update >= warmup:
            rise = (warmup / (update + 1)) ** 0.5
        return self.learning_rate * max(0.0, rise)
