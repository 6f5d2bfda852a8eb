"""How a classifier of pairs is trained."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bitextfilter.errors import SettingsError

__all__ = ["ClassifierTraining"]


@dataclass(frozen=True)
class ClassifierTraining:
    """How the classifier is trained. Raises SettingsError for what makes no sense."""

    epochs: int = 20
    """At most so many times over the pairs; the epoch with the lowest tuning loss is kept."""
    patience: int = 3
    """Training ends after so many epochs without a lower tuning loss."""
    batch_size: int = 256
    learning_rate: float = 0.001
    weight_decay: float = 0.01
    """Of Adam, decoupled (Loshchilov & Hutter 2019)."""
    label_smoothing: float = 0.02
    """Labels are this / 2 and 1 - this / 2: so that probabilities stay apart at both ends."""
    vector_noise: float = 1.5
    """Gaussian noise is added to each vector in training, as long on average as this part of it at
    most. Vectors of the pairs that the encoder was trained on lie nearer to each other than those
    of new pairs do; without noise, the classifier would find new pairs too far apart."""
    word_dropout: float = 0.1
    """Part of the words whose vectors are hidden in training, where the classifier reads words."""
    held_out: float = 0.1
    """Part of the pairs that is measured on, and the part that stopping and temperature use."""
    sharpness: float = 1.6
    """Where small mistakes are a question of their own, the logit c of the other one, whether a
    pair is a translation at all, becomes this times c + lenience in the end. Both were chosen by
    the AUC of fifteen kinds of noise in news and talks, of which nothing was trained on."""
    lenience: float = 1.5
    """See ``sharpness``."""
    calibrate: bool = True
    """Whether a temperature is fitted."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if min(self.epochs, self.patience, self.batch_size) < 1 or self.learning_rate <= 0:
            raise SettingsError(
                "epochs, patience, batch size must be at least 1, learning rate > 0"
            )
        if self.weight_decay < 0 or not 0 <= self.label_smoothing < 1:
            raise SettingsError("weight decay must not be negative, label smoothing in [0, 1)")
        if not self.sharpness > 0 or not math.isfinite(self.sharpness + self.lenience):
            raise SettingsError("sharpness must be above 0, and lenience a number")
        if self.vector_noise < 0:
            raise SettingsError("vector noise must not be negative")
        if not 0 <= self.word_dropout < 1:
            raise SettingsError("word dropout must be in [0, 1)")
        if not 0 < self.held_out < 0.5:
            raise SettingsError(f"held out must be between 0 and 0.5, not {self.held_out}")
