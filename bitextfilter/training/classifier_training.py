"""Classifier training from files: negatives, encoding, training, the model folder, its table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitextfilter.arrays import Indices, Scores, drawn
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.records import json_bytes
from bitextfilter.models.device import torch_threads
from bitextfilter.models.folders import THRESHOLDS, copy_model, is_foreign, writing_folder
from bitextfilter.pairs.base import (
    ClassifierSettings,
    SentenceClassifierSettings,
    WordClassifierSettings,
)
from bitextfilter.pairs.classifier import PairClassifier, SentenceClassifier, save_classifier
from bitextfilter.scoring.background import BACKGROUND
from bitextfilter.scoring.calibration import general_calibration
from bitextfilter.scoring.model import Model, distinct
from bitextfilter.settings import Settings, from_mapping, group_rows, none_of, setting
from bitextfilter.similarity.vectors import NEIGHBOURS
from bitextfilter.text.features import SURFACE_WIDTH
from bitextfilter.training.classifier import ClassifierReport, train_classifier
from bitextfilter.training.labelled_pairs import (
    Grades,
    LabelledPairs,
    LabelledVectors,
    LabelledWords,
    WordSide,
)
from bitextfilter.training.loop import Course
from bitextfilter.training.settings import ClassifierTraining
from bitextfilter.training.start import started

_Pair = tuple[str, str]
_BACKGROUND_PAIRS = 1000
"""Pairs in the background sample of a model of another library."""
_Sides = tuple[Sequence[str], Sequence[str]]
_NoisyCorpus = Callable[[], Iterable[Sequence[_Pair]]]
"""Yields the windows of a noisy corpus from its beginning, at each call."""

_KINDS = ("worst", "random", "repaired", "given")
"""``worst`` (of the best P %) and ``random`` rows of a noisy corpus, the positives ``repaired``
with each other's targets, or all rows ``given``."""


@dataclass(frozen=True)
class Negatives:
    """The choice of pairs as negatives.

    Kim et al. 2019, section 4: the worst of a noisy corpus by cosine are negatives, and (table 5)
    the last of its best 20, 40, 60 or 80 % are harder ones.
    """

    kind: str = "worst"
    """A name in ``_KINDS``."""
    percent: float = 100.0
    """With ``worst``: the part of the corpus, best first, whose last rows are taken."""

    @classmethod
    def parse(cls, text: str) -> Negatives:
        """Read ``worst``, ``worst:60%``, ``random``, ``repaired`` or ``given``.

        Raises SettingsError for anything else.
        """
        match = re.fullmatch(r"worst:([0-9]+(?:\.[0-9]+)?)%?", text)
        if match and 0 < float(match[1]) <= 100:
            return cls("worst", float(match[1]))
        if text not in _KINDS:
            raise SettingsError(f"negatives: {none_of(text, ('worst:P%', *_KINDS))}")
        return cls(text)


def last_of_best(scores: Scores, percent: float, count: int) -> Indices:
    """Return the places of the last *count* of the best *percent* of ``(n,)`` scores, ascending.

    Of equal scores the earlier place is the better. Fewer where there are no more.
    """
    best_first = np.argsort(-scores, kind="stable")
    portion = best_first[: math.ceil(len(scores) * percent / 100)]
    return np.sort(portion[max(0, len(portion) - count) :])


def repaired(pairs: Sequence[_Pair], count: int, seed: int) -> list[_Pair]:
    """Return *count* pairs of a source and the target of another pair, both chosen by *seed*.

    Each source and each target serves in turn; pairs that are the same as one given are left out,
    so that there may be fewer.
    """
    generator = np.random.default_rng(seed)
    known = set(pairs)
    made: list[_Pair] = []
    while len(pairs) > 1 and len(made) < count:
        order = generator.permutation(len(pairs))
        new = [
            (pairs[one][0], pairs[other][1])
            for one, other in zip(order, np.roll(order, 1), strict=True)
        ]
        wrong = [pair for pair in new if pair not in known]
        if not wrong:
            break
        made += wrong[: count - len(made)]
    return made


_RECORD = "classifier.json"
"""The file of a model folder with the settings and results of its classifier's training."""


_CHOICES = ("negatives", "count", "kind", "quantise", "start")
"""Names of a record that are no settings."""

_SHAPE = {"sentences": {"hidden": 512}, "words": {"hidden": 256}}
_TRAINING: dict[str, dict[str, Any]] = {
    "sentences": {},
    "words": {"epochs": 3, "vector_noise": 0.5, "batch_size": 128},
}
"""The defaults of either kind."""


@dataclass(frozen=True)
class ClassifierConfig(Settings):
    """All settings of a run."""

    negatives: Negatives = field(default_factory=Negatives)
    count: int | None = None
    """Number of negatives; None: one a positive."""
    kind: str = "sentences"
    """Input of the classifier: the vectors of ``sentences``, or their ``words``."""
    minor_error_quality: float = setting(
        0.01,
        "quality of a pair with a minor error (--nearly); a translation has 1, any other pair 0",
        within=">= 0, < 0.5",
    )
    sum_weight: float = setting(
        1.0,
        "of the sum of the two outputs, where there are two: 0 lets the worse one decide alone",
        within=">= 0",
    )
    features: str = setting(
        "products",
        "of the vectors: both, with their difference and product; or without",
        choices=("products", "concatenation"),
        needs="kind=sentences",
    )
    surface: bool = setting(
        True,
        "describe length, figures, names and spelling beside the vector",
        needs="kind=sentences",
    )
    width: int = setting(64, "units of a word in its context", within=">= 1", needs="kind=words")
    bigrams: int = setting(
        1 << 21,
        "buckets of the hashes that bigrams are counted by, four to a byte; 0: none are",
        within=">= 0",
        needs="kind=words",
    )
    language_weight: float = setting(
        0.8,
        "lowers a score's logit by so many times the nats by which another language leads",
        within=">= 0",
        needs="kind=words",
    )
    hidden: int = setting(512, "units of a hidden layer", within=">= 1")
    training: ClassifierTraining = field(default_factory=ClassifierTraining)
    quantise: bool = False
    """Keep the matrices as int8 in the model; the report is of the float32 ones."""
    start: str | None = None
    """Name of the model whose classifier is trained further."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], **choices: Any) -> ClassifierConfig:
        """Build from names and values, or from a record, with the defaults of the kind.

        *choices* are the other fields, ``kind`` and so on. Raises SettingsError for an unknown
        name, a value that does not fit, or one without effect.
        """
        values = {n: v for n, v in values.items() if n not in _CHOICES}
        kind = choices.get("kind", "sentences")
        given = values.pop("training", {})
        training = from_mapping(ClassifierTraining, given, "training", _TRAINING[kind])
        for name in ("word_dropout", "bigram_dropout", "precision"):
            changed = getattr(training, name) != getattr(ClassifierTraining, name)
            if kind == "sentences" and changed:
                raise SettingsError(
                    f"training.{name} has no effect without --kind words: leave it out"
                )
        hidden = training.bigram_dropout != ClassifierTraining.bigram_dropout
        if values.get("bigrams") == 0 and hidden:
            name = "training.bigram_dropout"
            raise SettingsError(f"{name} has no effect with bigrams=0: leave it out")
        return from_mapping(cls, values, defaults={**choices, **_SHAPE[kind], "training": training})

    @staticmethod
    def rows() -> list[tuple[str, str, str, str]]:
        """Every setting as a row; in brackets the default of a classifier of words."""
        sentences, words = (ClassifierConfig.from_dict({}, kind=kind) for kind in _SHAPE)
        return [
            *group_rows(sentences, other=words),
            *group_rows(sentences.training, "training", other=words.training),
        ]

    def fitting(self, examples: Examples) -> ClassifierConfig:
        """Return the same with a quality of 0, if no example has a minor error."""
        between = examples.nearly or examples.contrasts or examples.graded
        return self if between else replace(self, minor_error_quality=0.0, sum_weight=0.0)


def choose_negatives(
    model: Model, positives: Sequence[_Pair], noisy: _NoisyCorpus | None, config: ClassifierConfig
) -> list[_Pair]:
    """Return the negatives of the configuration.

    Reads a noisy corpus twice, for memory holds its scores but not its text. Raises InputError
    if there are none. A noisy corpus must be given unless the positives are re-paired.
    """
    wanted, seed = config.count or len(positives), config.training.seed
    if config.negatives.kind == "repaired":
        chosen = repaired(positives, wanted, seed)
    else:
        assert noisy is not None, "the caller gives a noisy corpus"
        chosen = _from_corpus(model, noisy, config, wanted)
    if not chosen:
        raise InputError("no negatives to learn from")
    return chosen


def _from_corpus(
    model: Model, noisy: _NoisyCorpus, config: ClassifierConfig, wanted: int
) -> list[_Pair]:
    """Choose among the rows of a noisy corpus."""
    kind = config.negatives.kind
    if kind == "given":
        return [pair for window in noisy() for pair in window]
    if kind == "random":
        places = drawn(sum(len(window) for window in noisy()), wanted, config.training.seed)
    else:
        cosines = [
            model.score([pair[0] for pair in window], [pair[1] for pair in window], "cosine")
            for window in noisy()
        ]
        scores = np.concatenate([np.empty(0, dtype=np.float32), *(c["cosine"] for c in cosines)])
        places = last_of_best(scores, config.negatives.percent, wanted)
    chosen = set(places.tolist())
    every = (pair for window in noisy() for pair in window)
    return [pair for place, pair in enumerate(every) if place in chosen]


LabelledRows = tuple[Scores, Indices, Grades | None]
"""Qualities, versions and grades of ``LabelledPairs``."""


class GradedPairs(NamedTuple):
    """Pairs with grades by one scale."""

    pairs: Sequence[_Pair]
    grades: Sequence[float]
    """From 0 to 1, higher is better."""
    weight: float = 1.0
    """Of their loss."""


class Contrast(NamedTuple):
    """A translation with a mistake."""

    pair: _Pair
    quality: float
    """What is left of its worth, from 0 to 1."""
    better: _Pair
    """The same without the mistake."""


@dataclass(frozen=True)
class Examples:
    """Pairs to learn from."""

    positives: Sequence[_Pair]
    """Translations."""
    negatives: Sequence[_Pair]
    nearly: Sequence[_Pair] = ()
    """Translations with a minor error."""
    contrasts: Sequence[Contrast] = ()
    """Translations with a mistake, beside the same ones without it."""
    graded: Sequence[GradedPairs] = ()
    """Sets of pairs with grades of their own scales."""
    text: Sequence[_Pair] = ()
    """More pairs, whose words and bigrams are counted."""

    def apart(self) -> Examples:
        """Return the same without the negatives that are in another class, too."""
        right = set(self.positives).union(each.better for each in self.contrasts)
        contrasts = [each for each in self.contrasts if each.pair not in right]
        spoilt = {each.pair for each in contrasts}
        nearly = [pair for pair in self.nearly if pair not in right | spoilt]
        known = right.union(nearly, spoilt)
        negatives = [pair for pair in self.negatives if pair not in known]
        return replace(self, negatives=negatives, nearly=nearly, contrasts=contrasts)

    def counts(self) -> dict[str, int]:
        """Return the number of each kind of pairs."""
        names = ("positives", "negatives", "nearly", "contrasts", "text")
        graded = sum(len(each.pairs) for each in self.graded)
        return {**{name: len(getattr(self, name)) for name in names}, "graded": graded}

    def grades(self) -> Grades | None:
        """Return the sets of graded pairs, which are the last of the rows."""
        sets = np.repeat(np.arange(len(self.graded)), [len(each.pairs) for each in self.graded])
        return Grades(sets, tuple(each.weight for each in self.graded)) if len(sets) else None

    def rows(self, minor: float) -> tuple[list[_Pair], Scores, Indices]:
        """Return all pairs, their qualities, and the place of each one's better version."""
        graded = [pair for each in self.graded for pair in each.pairs]
        grades = [grade for each in self.graded for grade in each.grades]
        positives = list(dict.fromkeys([*self.positives, *(c.better for c in self.contrasts)]))
        pairs = [*positives, *self.negatives, *self.nearly, *(c.pair for c in self.contrasts)]
        pairs += graded
        counts = [len(positives), len(self.negatives), len(self.nearly)]
        qualities = np.repeat(np.array([1, 0, minor], dtype=np.float32), counts)
        worth = [each.quality for each in self.contrasts]
        others = np.array([*worth, *grades], dtype=np.float32)
        place = {pair: number for number, pair in enumerate(positives)}
        better = np.arange(len(pairs))
        first = sum(counts)
        better[first : first + len(worth)] = [place[each.better] for each in self.contrasts]
        return pairs, np.concatenate([qualities, others]), better


def train_on_pairs(
    model: Model,
    examples: Examples,
    config: ClassifierConfig,
    course: Course,
    start: Model | None = None,
) -> tuple[PairClassifier, ClassifierReport]:
    """Encode all kinds of pairs, train a classifier on them, and measure it.

    A pair that is in several kinds counts in each: see :meth:`Examples.apart`. Pairs with the same
    source text are never in two parts. The classifier of
    *start* is trained further; None for a new one. Raises SettingsError if it does not fit.
    """
    config = config.fitting(examples)
    rows, qualities, better = examples.rows(config.minor_error_quality)
    sources, targets = ([pair[side] for pair in rows] for side in (0, 1))
    groups = [sources[place] for place in better]
    sides = sources, targets
    if len(model.processor.known) > 2:
        sides = _turned(sources, targets, better, config.training.seed)
    read = _by_words if config.kind == WordClassifierSettings.kind else _by_vectors
    shape, pairs = read(model, sides, (qualities, better, examples.grades()), config)
    if isinstance(pairs, LabelledWords) and examples.text:
        more = [pair[0] for pair in examples.text], [pair[1] for pair in examples.text]
        pairs = replace(pairs, text=more)
    first = shape if start is None else started(start, model, shape, sides)
    with torch_threads(model.threads):
        return train_classifier(pairs, groups, first, config.training, course)


def labelled_pairs(
    model: Model,
    pairs: Sequence[_Pair],
    qualities: Scores,
    config: ClassifierConfig,
) -> LabelledPairs:
    """Read pairs with their qualities ``(n,)`` in the form that a classifier learns from."""
    sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    read = _by_words if config.kind == WordClassifierSettings.kind else _by_vectors
    return read(model, sides, (qualities, np.arange(len(pairs)), None), config)[1]


def _turned(
    sources: list[str], targets: list[str], groups: Indices, seed: int
) -> tuple[list[str], list[str]]:
    """Swap the sides of half of the groups, drawn by *seed*: any language may be the source."""
    drawn = (np.random.default_rng(seed).random(len(sources)) < 0.5)[groups]
    pairs = zip(sources, targets, drawn, strict=True)
    turned = [(two, one) if other else (one, two) for one, two, other in pairs]
    return [pair[0] for pair in turned], [pair[1] for pair in turned]


def _by_words(
    model: Model, sides: _Sides, examples: LabelledRows, config: ClassifierConfig
) -> tuple[ClassifierSettings, LabelledPairs]:
    """Read the pairs for a classifier of words, and say which shape it has."""
    many = len(model.processor.known) > 2
    cut = model.processor.cut if many else None
    source, target = (
        WordSide.of(side, partial(model.encode, language=language), cut)
        for side, language in zip(sides, model.languages, strict=True)
    )
    pairs = LabelledWords(source, target, *examples)
    dim, length = model.encoder.dim, pairs.word_length
    settings = WordClassifierSettings(
        dim,
        length,
        config.width,
        hidden=config.hidden,
        minor_error_quality=config.minor_error_quality,
        sum_weight=config.sum_weight,
        multilingual=many,
        spacing=True,
        bigrams=config.bigrams,
        language_weight=config.language_weight,
    )
    return settings, pairs


def _by_vectors(
    model: Model, sides: _Sides, examples: LabelledRows, config: ClassifierConfig
) -> tuple[ClassifierSettings, LabelledPairs]:
    """Encode the pairs for a classifier of sentences, and say which shape it has."""
    surface = SURFACE_WIDTH if config.surface else 0
    shape = SentenceClassifierSettings(
        model.encoder.dim,
        config.features,
        config.hidden,
        surface,
        minor_error_quality=config.minor_error_quality,
        sum_weight=config.sum_weight,
    )
    classifier, rows = SentenceClassifier(shape), []
    for side, language in zip(sides, model.languages, strict=True):
        different, places = distinct(side)
        rows.append(classifier.rows(model.encode(different, language), different)[places])
    return shape, LabelledVectors(rows[0], rows[1], *examples)


def write_model(
    model: Model,
    folder: Path,
    classifier: PairClassifier,
    record: dict[str, Any],
    bits: int = 32,
) -> None:
    """Write *model* with its new classifier to *folder*, which may be its own, whole or not.

    It gets the general calibration: other labels, other models. *record* says how it was trained.
    """
    with writing_folder(folder) as draft:
        # Thresholds are of the scores it had.
        copy_model(model.folder, draft, without=THRESHOLDS, languages=model.languages)
        if is_foreign(model.folder) and model.background is not None:
            model.background.save(draft / BACKGROUND)
        save_classifier(classifier, draft, bits)
        general_calibration(len(model.processor.known)).write(draft)
        (draft / _RECORD).write_bytes(json_bytes(record, indent=2))


def with_background(model: Model, pairs: Sequence[_Pair], seed: int) -> Model:
    """Return a model of two languages of another library with a background sample of *pairs*.

    *seed* draws some of them. Other models stay as they are.
    """
    if not is_foreign(model.folder) or len(model.processor.known) > 2:
        return model
    count = min(len(pairs), _BACKGROUND_PAIRS)
    chosen = np.random.default_rng(seed).choice(len(pairs), count, replace=False).tolist()
    sources, targets = ([pairs[place][side] for place in chosen] for side in (0, 1))
    return replace(model, background=model.sample(sources, targets, NEIGHBOURS))


def described(
    config: ClassifierConfig, report: ClassifierReport, examples: Examples
) -> dict[str, Any]:
    """Return settings, numbers of examples, and report, as JSON takes them."""
    config = config.fitting(examples)
    return {"settings": asdict(config), **examples.counts(), "report": asdict(report)}


def table(report: ClassifierReport) -> str:
    """Return figures and distributions, before and after, a line each."""
    both = report.before, report.after
    rows = [["held-out pairs", "before", "after"]]
    for name in ("accuracy", "auc", "calibration_error"):
        cells = (f"{getattr(figures, name):.4f}" for figures in both)
        rows.append([name.replace("_", " "), *cells])
    for kind in ("positives", "negatives"):
        for tenth, counts in enumerate(zip(*(getattr(f, kind) for f in both), strict=True)):
            tenths = f"{tenth / 10:.1f}-{(tenth + 1) / 10:.1f}"
            rows.append([f"{kind} {tenths}", *map(str, counts)])
    rows.append(["offset", "0.0000", f"{report.offset:.4f}"])
    rows.append(["temperature", "1.0000", f"{report.temperature:.4f}"])
    return "".join("\t".join(row) + "\n" for row in rows)
