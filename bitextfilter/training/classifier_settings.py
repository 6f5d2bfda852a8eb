"""Settings of a classifier's training."""

from __future__ import annotations

from dataclasses import dataclass

from bitextfilter.settings import check, setting

__all__ = ["ClassifierTraining"]


@dataclass(frozen=True)
class ClassifierTraining:
    """How the classifier is trained. Raises SettingsError for a value that makes no sense.

    ``sharpness`` and ``lenience`` were chosen by the AUC of fifteen kinds of noise in news and
    talks, none of which was trained on.
    """

    epochs: int = setting(
        20,
        "times over the pairs, at most; the epoch with the lowest tuning loss is kept",
        within=">= 1",
    )
    patience: int = setting(3, "epochs without a lower tuning loss to stop after", within=">= 1")
    batch_size: int = setting(256, "pairs of a mini-batch", within=">= 1")
    learning_rate: float = setting(0.001, "of Adam", within="> 0")
    weight_decay: float = setting(0.01, "decoupled (Loshchilov & Hutter 2019)", within=">= 0")
    label_smoothing: float = setting(
        0.02,
        "labels are this / 2 and 1 - this / 2, so that probabilities stay apart at both ends",
        within=">= 0, < 1",
    )
    vector_noise: float = setting(
        1.5,
        "Gaussian noise on each vector in training, at most this many times as long on average as"
        " the vector: vectors of pairs that the encoder was trained on are nearer to each other"
        " than those of new pairs",
        within=">= 0",
    )
    word_dropout: float = setting(
        0.1, "part of the words whose vectors are hidden in training", within=">= 0, < 1"
    )
    held_out: float = setting(
        0.1,
        "part of the pairs that is measured on, and the part that stopping and temperature use",
        within="> 0, < 0.5",
    )
    sharpness: float = setting(
        1.6,
        "with pairs that are nearly translations: the first logit, whether a pair is a translation"
        " at all, becomes sharpness times (logit + lenience)",
        within="> 0",
    )
    lenience: float = setting(1.5, "see `sharpness`; 0 for text as in training")
    calibrate: bool = setting(True, "whether a temperature is fitted")
    seed: int = setting(1, "of everything that is drawn", within=">= 0")

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check(self)
