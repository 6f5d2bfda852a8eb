"""Settings of training runs: frozen, checked, kept as JSON beside the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bitextfilter.errors import SettingsError
from bitextfilter.settings import Settings, from_0, from_1, part, setting, share

LARGEST_SEARCH = 32_768
"""Pairs of a mega-batch: each is compared with each, in some GB."""

OBJECTIVES = ("translation", "autoencoding", "ranking", "triplet", "contrastive")

_DECODER = "translation|autoencoding"
_MOST_UPDATES = 1000


def count_updates(rows: float, passes: float, batch_size: int) -> int:
    """Updates of *passes* over a (weighted) number of rows, in mini-batches."""
    return max(1, round(passes * rows / batch_size))


def validation_interval(updates: int, passes: float, block: int = 1) -> int:
    """Default number of updates between validations, a multiple of ``block``.

    Four validations a pass, at least ten a run, and one every 1,000 updates, as far as the block
    allows.
    """
    often = min(updates / 10, updates / max(passes, 1e-9) / 4, _MOST_UPDATES)
    return max(1, int(often / block)) * block


class LoopSettings(Settings):
    """Settings that the training loop reads, with defaults for those that a training lacks."""

    learning_rate: float
    """The highest of the schedule."""
    optimiser: str = "adam"
    schedule: str = "constant"
    warmup: int = 0
    clip: float = 0.0
    precision: str = "float32"
    patience: int = 0
    updates: int = 0
    """Of a run; 0: as many as its passes have."""

    def learning_rate_at(self, update: int, updates: int) -> float:
        """Learning rate of an update, counted from 0, in a run of *updates*."""
        rise = min(1.0, (update + 1) / self.warmup) if self.warmup else 1.0
        if self.schedule == "linear":
            rise = min(rise, (updates - update) / max(1, updates - self.warmup))
        elif self.schedule == "inverse-root" and update >= self.warmup:
            rise = (max(1, self.warmup) / (update + 1)) ** 0.5
        return self.learning_rate * max(0.0, rise)


def run_length(
    settings: TrainingSettings | TranslatorSettings, rows: float, block: int = 1
) -> tuple[int, int]:
    """Updates of a run over some (weighted) rows, and those between its validations."""
    updates = settings.updates or count_updates(rows, settings.passes, settings.batch_size)
    return updates, settings.validate_every or validation_interval(updates, settings.passes, block)


def _precision(meaning: str) -> Any:
    return setting("float32", meaning, choices=("float32", "bfloat16"))


def _clip(default: float) -> Any:
    meaning = "largest norm of the gradient; a larger one is scaled down; 0: never"
    return from_0(default, meaning)


def _patience(default: int) -> Any:
    meaning = "validations without a better one after which training stops; 0: never"
    return from_0(default, meaning)


def _validate_every() -> Any:
    return from_0(
        0,
        "updates between validations; 0: four times a pass, at least ten times a run and every"
        " 1,000",
    )


@dataclass(frozen=True)
class TrainingSettings(LoopSettings):
    """Settings of an encoder's training. Defaults are ours unless a source is given.

    Objectives, each with its weight (0 leaves it out): ``translation`` and ``autoencoding`` are
    cross-entropies in nats a token, or by ``loss`` a sentence (Kim et al. 2019, eq. 7 and 8),
    ``ranking`` the in-batch softmax on cosine with its ``margin`` and the start of its learnt
    ``scale``, ``triplet`` the margin loss with hardest negatives (Wieting et al. 2017, 2018),
    ``contrastive`` the loss on cosine distance with random negatives (Sjöblom et al. 2018),
    ``cosine`` the cosine distance of a pair, never alone. Penalties: ``drift`` of the
    token vectors from where they started, and size of the ``composition``, all other parameters.
    """

    translation: float = from_0(1.0, "weight of the decoded translation")
    autoencoding: float = from_0(1.0, "weight of the decoded sentence itself")
    ranking: float = from_0(
        1.0, "weight of telling a translation from the mini-batch's other sentences"
    )
    decode: str = setting(
        "target",
        "the language that is decoded, and autoencoded (Kim et al.: target)",
        choices=("source", "target", "both"),
        needs=_DECODER,
    )
    decoded_share: float = setting(
        1.0,
        "share of a mini-batch that is decoded: 1/2, 1/3, 1/4...",
        within="> 0, <= 1",
        needs=_DECODER,
    )
    loss: str = setting(
        "mean",
        "the mean over the subwords of a mini-batch, or over its sentences of their sums (Kim et"
        " al., eq. 7 and 8)",
        choices=("mean", "sum"),
        needs=_DECODER,
    )
    feed: bool = setting(
        False,
        "the sentence vector is read beside every subword, too (Artetxe & Schwenk 2019)",
        needs=_DECODER,
    )
    decoder_dropout: float = part(
        0.0,
        "share of the subwords hidden while the next ones are decoded (Bowman et al. 2016,"
        " section 3.1)",
        needs=_DECODER,
    )
    decoder_width: int = from_0(
        0,
        "width, started from a linear map of the sentence vector; 0: as wide as that, which is"
        " its start (Kim et al.)",
        needs=_DECODER,
    )
    cosine: float = from_0(
        0.0, "weight of 1 − cosine of a pair, beside other objectives (future work of Kim et al.)"
    )
    margin: float = setting(
        0.1, "by which a translation's cosine must be higher than others'", needs="ranking"
    )
    scale: float = setting(
        20.0, "of the cosines; it is learnt from there", within="> 0", needs="ranking"
    )
    softmax: str = setting(
        "sampled",
        "over the decoder's vocabulary",
        choices=("full", "sampled", "adaptive"),
        needs=_DECODER,
    )
    samples: int = from_1(
        2048, "subwords beside the right one", needs=(_DECODER, "softmax=sampled")
    )
    triplet: float = from_0(0.0, "weight of the margin loss with hardest negatives")
    triplet_margin: float = from_0(0.4, "its margin, in cosine", needs="triplet")
    triplet_sides: str = setting(
        "both",
        "whether sources and targets have negatives (Wieting et al. 2017), or sources alone"
        " (Wieting & Gimpel 2018)",
        choices=("both", "one"),
        needs="triplet",
    )
    negatives: str = setting(
        "same",
        "of a sentence's own side, or of the other, as wrong translations are",
        choices=("same", "other"),
        needs="triplet",
    )
    mega_batch: int = from_1(
        1,
        "mini-batches among whose pairs, 32,768 at most, negatives are sought (Wieting & Gimpel"
        " 2018: 1, 20, 40)",
        needs="triplet",
    )
    language_exponent: float = share(
        0.5,
        "more than two languages: pairs of languages are read in proportion to their pairs to"
        " this power (Conneau & Lample 2019: 0.5)",
    )
    without_first: float = share(
        0.1, "more than two languages: share of the mini-batches without the first"
    )
    three_way: float = share(
        0.0,
        "more than two languages: share of the mini-batches in three, the first among them",
        needs="ranking",
    )
    taught: float = share(
        0.5,
        "with --taught: share of the mini-batches that are taught, in which a teacher's vectors"
        " are ranked as translations are",
    )
    contrastive: float = from_0(
        0.0, "weight of the contrastive loss, with a random negative for each pair"
    )
    contrastive_margin: float = from_0(
        0.5, "cosine distance, 0 to 2, beyond which a negative costs nothing", needs="contrastive"
    )
    drift: float = from_0(0.0, "weight of the token vectors' squared distance from their start")
    composition: float = from_0(0.0, "weight of the squares of all other parameters")

    batch_size: int = from_1(120, "pairs of a mini-batch (Kim et al.: 120)")
    passes: float = from_0(
        6.0,
        "times the data is read, may be a fraction; 0: by the number of pairs, 10 up to 50,000 and"
        " 3 from 166,667 on",
        needs="updates=0",
    )
    updates: int = from_0(0, "of a run; 0: as many as `passes` have")
    maximum_length: int = from_0(
        60,
        "pairs with a longer side, in subwords, are left out of training (Kim et al.: 60); 0: by"
        " the size of the vocabulary, 60 of 24,000 and 104 of 2,000",
    )
    optimiser: str = setting(
        "adam",
        "`lazy-adam` updates only the token vectors of the mini-batch: much faster",
        choices=("adam", "lazy-adam", "sgd"),
    )
    learning_rate: float = setting(0.001, "the highest of the schedule", within="> 0")
    schedule: str = setting(
        "linear",
        "warm-up, then down to 0; `constant`: warm-up alone; `paper`: times 0.9 every"
        " `decay_every` updates after `decay_start`",
        choices=("linear", "paper", "constant"),
    )
    warmup: int = from_0(
        500, "updates over which the learning rate rises from 0", needs="schedule=linear|constant"
    )
    decay_start: int = from_0(100_000, "in updates", needs="schedule=paper")
    decay_every: int = from_1(50_000, "in updates", needs="schedule=paper")
    clip: float = _clip(5.0)
    dropout: float = part(0.0, "share of the token vectors' numbers zeroed in training")
    dropout_kind: str = setting(
        "plain",
        "`variational`: the same numbers at every position of a sentence (Sjöblom et al.)",
        choices=("plain", "variational"),
        needs="dropout",
    )
    fixed_updates: int = from_0(0, "updates over which token vectors stay as they start")
    scramble: float = share(
        0.0, "chance of a sentence to have its pieces in random order (Wieting & Gimpel 2018: 0.3)"
    )
    initial: str = setting(
        "normal",
        "how token vectors start; `uniform`: within 0.01, and all matrices as Glorot & Bengio 2010",
        choices=("normal", "uniform"),
    )
    precision: str = _precision(
        "`bfloat16`: two to three times as fast, where the processor has it"
    )
    seed: int = from_0(1, "of everything that is drawn")
    validate_every: int = _validate_every()
    patience: int = _patience(0)

    def __post_init__(self) -> None:
        """Raise SettingsError for values that do not fit."""
        super().__post_init__()
        if max(getattr(self, name) for name in OBJECTIVES) <= 0:
            raise SettingsError(f"{', '.join(OBJECTIVES)}: at least one must be above 0")
        if self.mega_batch > 1 and self.mega_batch * self.batch_size > LARGEST_SEARCH:
            raise SettingsError(
                f"mega_batch times batch_size must be at most {LARGEST_SEARCH} pairs, not"
                f" {self.mega_batch} times {self.batch_size}"
            )
        if self.validate_every % self.mega_batch:
            raise SettingsError(
                f"validate_every must be a multiple of mega_batch={self.mega_batch}, so that a"
                " resumed run finds the same negatives"
            )

    @property
    def decodes(self) -> bool:
        """Whether there is a decoder."""
        return self.translation > 0 or self.autoencoding > 0

    @property
    def decoded_sides(self) -> tuple[int, ...]:
        """Sides (0 source, 1 target) whose language the decoder writes."""
        return {"source": (0,), "target": (1,), "both": (0, 1)}[self.decode]

    def learning_rate_at(self, update: int, updates: int) -> float:
        """See :meth:`LoopSettings.learning_rate_at`."""
        if self.schedule != "paper":
            return super().learning_rate_at(update, updates)
        steps = max(0, update - self.decay_start) // self.decay_every
        steps += update >= self.decay_start
        return float(self.learning_rate * 0.9**steps)


@dataclass(frozen=True)
class ClassifierTraining(LoopSettings):
    """Settings of a classifier's training."""

    epochs: int = from_1(20, "times over the pairs, at most")
    keep: str = setting(
        "best", "the epoch kept: of the lowest tuning loss, or the last", choices=("best", "last")
    )
    patience: int = from_1(3, "epochs without a lower tuning loss to stop after")
    batch_size: int = from_1(256, "pairs of a mini-batch")
    learning_rate: float = setting(0.001, "of Adam", within="> 0")
    weight_decay: float = from_0(0.01, "decoupled (Loshchilov & Hutter 2019)")
    label_smoothing: float = part(
        0.02, "labels are this / 2 and 1 - this / 2, so that scores differ near 0 and 1"
    )
    vector_noise: float = from_0(
        1.5, "largest mean length of the Gaussian noise on a vector, relative to the vector's"
    )
    word_dropout: float = part(0.1, "part of the words whose vectors are hidden in training")
    bigram_dropout: float = share(
        0.5, "largest part of a pair's bigrams that is hidden in training"
    )
    comparison_weight: float = from_0(
        1.0, "of the loss that compares a pair with its better version"
    )
    margin: float = from_0(
        2.0, "difference in logits between a pair of quality 1 and its version of 0"
    )
    held_out: float = setting(
        0.1,
        "part of the pairs that is measured on, and the part that stopping and calibration use",
        within="> 0, < 0.5",
    )
    logit_scale: float = setting(
        1.0,
        "of two outputs, the translation logit becomes logit_scale (logit + logit_bias)",
        within="> 0",
    )
    logit_bias: float = setting(0.0, "see `logit_scale`")
    start_share: float = part(
        0.0,
        "of the weights that the training starts from (--start), in the mean with the trained ones",
    )
    calibrate: bool = setting(True, "fit an offset and a temperature")
    precision: str = _precision(
        "of word classifiers in training; `bfloat16`: faster, where the processor has it"
    )
    seed: int = from_0(1, "of everything that is drawn")

    clip = 5.0

    def learning_rate_at(self, update: int, updates: int) -> float:
        """Learning rate of an update: it rises over the first 1 % of *updates*, then falls to 0."""
        return self.learning_rate * min((update + 1) / (0.01 * updates), 1 - update / updates)


@dataclass(frozen=True)
class TranslatorSettings(LoopSettings):
    """Settings of a translator's training. Defaults are ours unless a source is given."""

    label_smoothing: float = part(
        0.1, "share of the probability that all tokens have in common (Vaswani et al. 2017: 0.1)"
    )
    batch_size: int = from_1(128, "pairs of like length of a mini-batch")
    passes: float = setting(
        10.0, "times the data is read; may be a fraction", within="> 0", needs="updates=0"
    )
    updates: int = from_0(0, "of a run; 0: as many as `passes` have")
    maximum_length: int = from_1(
        100, "pairs with a longer side, in subwords, are left out of training"
    )
    optimiser: str = setting("adam", "", choices=("adam", "sgd"))
    learning_rate: float = setting(0.001, "the highest of the schedule", within="> 0")
    schedule: str = setting(
        "inverse-root",
        "warm-up, then as 1/√update (Vaswani et al. 2017, eq. 3); `linear`: then down to 0;"
        " `constant`: warm-up alone",
        choices=("inverse-root", "linear", "constant"),
    )
    warmup: int = from_0(1000, "updates over which the learning rate rises from 0")
    clip: float = _clip(1.0)
    dropout: float = part(
        0.1, "share of numbers zeroed in the vectors and in the output of each layer"
    )
    precision: str = _precision("`bfloat16`: faster; `float32` where the processor lacks it")
    seed: int = from_0(1, "of everything that is drawn")
    validate_every: int = _validate_every()
    validation: str = setting(
        "cross-entropy",
        "the error on the development pairs: nats a subword; or 100 less the BLEU of greedy search",
        choices=("cross-entropy", "bleu"),
    )
    patience: int = _patience(10)
