"""Bilingual word vectors: a map between the languages (Procrustes, self-refined or adversarial).

An orthogonal map is found from pairs of words (Procrustes), new pairs from the mapped vectors
(mutual nearest neighbours by CSLS), and so on: Artetxe et al. 2017, Conneau et al. 2018. The first
pairs are a dictionary or identical strings, or the first map is an adversarial one.

The adversarial map is from Conneau et al. 2018, "Word translation without parallel data",
section 2.1: a discriminator learns to separate mapped source vectors and target vectors, the map
learns to make it fail, staying close to orthogonal; the loss is binary cross-entropy with smoothed
labels. The best map is chosen by the criterion of section 3.2. The decay is from the authors'
code. Two optimisers work against each other in turn, so this is no run of the training loop.

Letters: n source words, m target words, d dimensions; words are in the order of their frequency,
the most frequent first. A map is ``(d, d)``, and maps source vectors ``x`` to ``x @ map``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from bitextfilter.arrays import Floats, Integers, Vectors
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.models.device import one_torch_thread, resolve_device
from bitextfilter.settings import Settings, from_0, from_1, from_groups, group_rows, part, setting
from bitextfilter.similarity.vectors import NEIGHBOURS, matches, neighbourhood_means, unit_rows
from bitextfilter.training.monolingual import SkipGram, WordVectors

_STEPS = ("unit", "centre")
_CPU = torch.device("cpu")


@dataclass(frozen=True)
class MappingSettings(Settings):
    """Settings of the refinement of a map."""

    normalise: str = setting(
        "unit,centre,unit",
        "steps on the vectors of each language first, in this order: `unit` length, and `centre`,"
        " which takes the mean of all vectors away; the last must be `unit`",
    )
    words: int = from_1(10_000, "most frequent words of each language to find translations of")
    neighbours: int = from_1(NEIGHBOURS, "of CSLS")
    refinements: int = from_0(30, "rounds of new pairs and a new map, at most")
    gain: float = from_0(0.001, "the last round is the first with less; 0: any gain will do")

    def __post_init__(self) -> None:
        """Raise SettingsError for values that do not fit."""
        super().__post_init__()
        steps = self.normalise.split(",")
        if not set(steps) <= set(_STEPS) or steps[-1] != "unit":
            raise SettingsError(
                f"normalise {self.normalise!r} is not of unit and centre, with unit at the end"
            )


class Induced(NamedTuple):
    """The dictionary that a map induces, and its criterion."""

    pairs: Integers
    """Words that are each other's best by CSLS."""
    criterion: float
    """Mean cosine of the source words with their best by CSLS, -1 to 1, higher is better: the
    model selection of Conneau et al. 2018, which needs no dictionary."""


def normalised(vectors: NDArray[np.floating], steps: str) -> Vectors:
    """Apply the steps of :class:`MappingSettings` to vectors ``(n, d)``; the last is ``unit``."""
    rows = np.asarray(vectors, dtype=np.float32)
    for step in steps.split(","):
        rows = unit_rows(rows) if step == "unit" else rows - rows.mean(axis=0, dtype=np.float64)
    return np.asarray(rows, dtype=np.float32)


def procrustes(source: NDArray[np.floating], target: NDArray[np.floating]) -> Floats:
    """Return the orthogonal map for which ``source @ map`` is closest to ``target``.

    Schönemann 1966: ``U @ V.T``, of the singular value decomposition ``U S V.T`` of
    ``source.T @ target``. Row i of both, ``(p, d)``, belong together.
    """
    left, _, right = np.linalg.svd(source.astype(np.float64).T @ target.astype(np.float64))
    return np.asarray(left @ right)


def mapped(vectors: Vectors, map_: Floats) -> Vectors:
    """Return unit vectors ``(n, d)`` in the other language's space, of unit length again."""
    return unit_rows(vectors.astype(np.float64) @ map_)


def induce(source: Vectors, target: Vectors, settings: MappingSettings) -> Induced:
    """Translate the most frequent words both ways by CSLS; the source is mapped already."""
    a, b = source[: settings.words], target[: settings.words]
    means = (
        neighbourhood_means(a, b, settings.neighbours),
        neighbourhood_means(b, a, settings.neighbours),
    )
    forward = matches(a, b, means=means)[:, 0]
    backward = matches(b, a, means=means[::-1])[:, 0]
    mutual = np.flatnonzero(backward[forward] == np.arange(len(a)))
    cosines = np.einsum("nd,nd->n", a, b[forward], dtype=np.float64)
    return Induced(np.stack([mutual, forward[mutual]], axis=1), float(cosines.mean()))


def refine(
    source: Vectors,
    target: Vectors,
    start: Floats,
    settings: MappingSettings,
    notify: Callable[[int, Induced], object],
) -> Floats:
    """Return the best map by the criterion: *start*, or one of its refinements.

    Both sides are normalised, ``(n, d)`` and ``(m, d)``. *notify* is called with the number of each
    map, from 0, and its dictionary.
    """
    best, highest, current = start, -np.inf, start
    for round_ in range(settings.refinements + 1):
        induced = induce(mapped(source[: settings.words], current), target, settings)
        notify(round_, induced)
        ended = induced.criterion - highest < settings.gain
        if induced.criterion > highest:
            best, highest = current, induced.criterion
        if ended or round_ == settings.refinements or not len(induced.pairs):
            break
        current = map_of_pairs(source, target, induced.pairs)
    return best


def map_of_pairs(source: Vectors, target: Vectors, pairs: Integers) -> Floats:
    """Return the Procrustes map of pairs of words."""
    return procrustes(source[pairs[:, 0]], target[pairs[:, 1]])


def seed_pairs(
    dictionary: Sequence[tuple[str, str]], source: Sequence[str], target: Sequence[str]
) -> Integers:
    """Return the places of the entries that both languages have, each once.

    Raises InputError where there are none.
    """
    at = [{word: place for place, word in enumerate(words)} for words in (source, target)]
    known = dict.fromkeys(
        (at[0][one], at[1][other]) for one, other in dictionary if one in at[0] and other in at[1]
    )
    if not known:
        raise InputError(
            "no entry of the dictionary has a vector on both sides",
            remedy="add entries of more frequent tokens",
        )
    return np.array(list(known), dtype=np.int64)


def identical_pairs(source: Sequence[str], target: Sequence[str]) -> Integers:
    """Return the places of the words that are the same strings in both languages.

    Raises InputError where there are none.
    """
    try:
        return seed_pairs([(word, word) for word in source], source, target)
    except InputError:
        raise InputError(
            "no word is the same in both languages", remedy="use --map adversarial or dictionary"
        ) from None


@dataclass(frozen=True)
class Adversarial(Settings):
    """Settings of the adversarial training; sizes and rates are from Conneau et al. 2018."""

    words: int = from_1(50_000, "most frequent words of each language that the discriminator sees")
    layers: int = from_1(2, "hidden layers of the discriminator")
    units: int = from_1(2048, "of each hidden layer")
    leak: float = from_0(0.2, "slope of the leaky rectifiers below 0")
    input_dropout: float = part(0.1, "share of the discriminator's input that is zeroed")
    smoothing: float = setting(0.1, "the labels are this far from 0 and 1", within=">= 0, < 0.5")
    batch_size: int = from_1(32, "words of each language in a mini-batch")
    discriminator_updates: int = from_1(5, "updates of the discriminator for one of the map")
    starts: int = from_1(
        1,
        "trainings from different first maps; the best is taken (ours: some end in a bad optimum)."
        " The first begins with the identity, the others with random rotations",
    )
    epochs: int = from_1(5, "of each start")
    updates: int = from_1(31_250, "updates of the map in an epoch")
    learning_rate: float = setting(0.1, "of plain SGD, for both", within="> 0")
    decay: float = setting(
        0.98,
        "factor of the learning rate after each epoch; it is halved besides where the criterion"
        " fell",
        within="> 0, <= 1",
    )
    orthogonality: float = setting(
        0.01,
        "after each update the map W becomes (1 + b) W - b (W Wᵀ) W, with this b; 0 leaves it",
        within=">= 0, <= 0.5",
    )
    threads: int = from_1(1, "of each operation; more may change the last digits, and so the map")
    seed: int = from_0(1, "of everything that is drawn")


class Discriminator(nn.Sequential):
    """Logits of vectors to be mapped ones: ``(b, d)`` → ``(b, 1)``."""

    def __init__(self, dim: int, settings: Adversarial) -> None:
        """Start at random."""
        widths = [dim, *[settings.units] * settings.layers]
        hidden: list[nn.Module] = []
        for before, after in pairwise(widths):
            hidden += [nn.Linear(before, after), nn.LeakyReLU(settings.leak)]
        super().__init__(nn.Dropout(settings.input_dropout), *hidden, nn.Linear(widths[-1], 1))


def adversarial_map(
    source: Vectors,
    target: Vectors,
    settings: tuple[Adversarial, MappingSettings],
    notify: Callable[[int, Induced | None], object],
    device: torch.device = _CPU,
) -> Floats:
    """Learn a map from normalised vectors ``(n, d)`` and ``(m, d)`` of words by frequency.

    The same vectors and settings give the same map, on a CPU. *notify* is called with the epoch,
    from 1 on over all starts, and None after each update, the dictionary of its map at its end.

    Returns the best by the criterion, of all starts and epochs, made orthogonal.
    """
    training, mapping = settings
    maps: list[tuple[float, Floats]] = []
    with torch.random.fork_rng(devices=[]), one_torch_thread():
        torch.set_num_threads(training.threads)
        torch.manual_seed(training.seed)
        for start in range(training.starts):
            run = _AdversarialRun((source, target), training, start > 0, device)
            before = -np.inf
            for _ in range(training.epochs):
                current = run.epoch(lambda: notify(len(maps) + 1, None))
                induced = induce(mapped(source[: mapping.words], current), target, mapping)
                maps.append((induced.criterion, current))
                notify(len(maps), induced)
                run.scale_rate(training.decay * (0.5 if induced.criterion < before else 1.0))
                before = induced.criterion
    return max(maps, key=lambda pair: pair[0])[1]


class _AdversarialRun:
    """The map, the discriminator, and the words they learn from."""

    def __init__(
        self,
        sides: tuple[Vectors, Vectors],
        settings: Adversarial,
        rotated: bool,
        device: torch.device,
    ) -> None:
        """Start from the identity, or *rotated*: from a random orthogonal map."""
        self._settings = settings
        self._sides = [torch.from_numpy(side[: settings.words]).to(device) for side in sides]
        dim = self._sides[0].shape[1]
        self._discriminator = Discriminator(dim, settings).to(device)
        first = torch.linalg.qr(torch.randn(dim, dim))[0] if rotated else torch.eye(dim)
        self._map = nn.Parameter(first.to(device))
        labels = torch.arange(2.0, device=device).repeat_interleave(settings.batch_size)
        self._labels = labels.clamp(settings.smoothing, 1 - settings.smoothing)[:, None]
        parameters = self._discriminator.parameters(), [self._map]
        self._optimisers = [torch.optim.SGD(p, lr=settings.learning_rate) for p in parameters]

    def epoch(self, moved: Callable[[], object]) -> Floats:
        """Train for an epoch; returns the orthogonal map that is nearest to the one learnt.

        Each update of the map comes after some of the discriminator; *moved* is called after it.
        Raises SettingsError if the map diverged.
        """
        settings, b, w = self._settings, self._settings.orthogonality, self._map
        for _ in range(settings.updates):
            self._discriminator.train()
            for _ in range(settings.discriminator_updates):
                with torch.no_grad():
                    words = self._words()
                self._update(0, words, self._labels)
            self._discriminator.eval()
            self._update(1, self._words(), 1 - self._labels)
            with torch.no_grad():
                w.copy_((1 + b) * w - b * (w @ w.T) @ w)
            moved()
        learnt = w.detach().cpu().numpy()
        if not np.isfinite(learnt).all():
            raise SettingsError(
                "the adversarial training diverged: set adversarial.learning_rate lower"
            )
        return procrustes(np.eye(len(learnt)), learnt)

    def _words(self) -> Tensor:
        """A mini-batch, of target words, then of mapped source words ``(2b, d)``."""
        source, target = (
            side[torch.randint(len(side), (self._settings.batch_size,)).to(side.device)]
            for side in self._sides
        )
        return torch.cat([target, source @ self._map])

    def _update(self, which: int, words: Tensor, labels: Tensor) -> None:
        """One step of the discriminator's (0) or the map's (1) optimiser."""
        loss = binary_cross_entropy_with_logits(self._discriminator(words), labels)
        for optimiser in self._optimisers:
            optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimisers[which].step()

    def scale_rate(self, factor: float) -> None:
        """Multiply the learning rates."""
        for optimiser in self._optimisers:
            for group in optimiser.param_groups:
                group["lr"] *= factor


Seeds = Sequence[tuple[str, str]]
"""Entries of a dictionary."""

Notify = Callable[[str, int, Induced | None], object]
"""Called with the step (``epoch`` of the adversarial training, or ``refinement``), its number, and
the dictionary that its map induces; with None after each update of an epoch."""


@dataclass(frozen=True)
class EmbeddingConfig:
    """All settings of a run, in groups."""

    skip_gram: SkipGram = field(default_factory=SkipGram)
    mapping: MappingSettings = field(default_factory=MappingSettings)
    adversarial: Adversarial = field(default_factory=Adversarial)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> EmbeddingConfig:
        """Build from names and values by group; SettingsError for an unknown one."""
        kinds = {"skip_gram": SkipGram, "mapping": MappingSettings, "adversarial": Adversarial}
        return cls(**from_groups(kinds, values))

    @staticmethod
    def rows() -> list[tuple[str, str, str, str]]:
        """Every setting as a row."""
        config = EmbeddingConfig()
        groups = [group_rows(getattr(config, part.name), part.name) for part in fields(config)]
        return [row for group in groups for row in group if not row[0].endswith(".threads")]

    def on_threads(self, threads: int) -> EmbeddingConfig:
        """The same, computed by some threads."""
        return replace(
            self,
            skip_gram=replace(self.skip_gram, threads=threads),
            adversarial=replace(self.adversarial, threads=threads),
        )


def map_sides(
    sides: tuple[WordVectors, WordVectors],
    seeds: Seeds | str,
    config: EmbeddingConfig,
    notify: Notify,
    device: str = "cpu",
) -> tuple[WordVectors, WordVectors]:
    """Bring both languages into one space, the target's of normalised vectors.

    Args:
        sides: source and target, with vectors as wide on either side.
        seeds: a dictionary, ``identical`` or ``adversarial``.
        config: the settings.
        notify: see :data:`Notify`.
        device: where the adversarial training computes.

    Raises DeviceError without such a device; InputError where the vectors differ in width, or there
    are no seeds; SettingsError where the adversarial training diverged.
    """
    where = resolve_device(device)
    source, target = sides
    widths = source.vectors.shape[1], target.vectors.shape[1]
    if widths[0] != widths[1]:
        raise InputError(f"source vectors of {widths[0]} numbers, target vectors of {widths[1]}")
    x, z = (normalised(side.vectors, config.mapping.normalise) for side in sides)
    if seeds == "adversarial":
        settings = config.adversarial, config.mapping
        start = adversarial_map(x, z, settings, partial(notify, "epoch"), where)
    elif isinstance(seeds, str):
        start = map_of_pairs(x, z, identical_pairs(source.words, target.words))
    else:
        start = map_of_pairs(x, z, seed_pairs(seeds, source.words, target.words))
    best = refine(x, z, start, config.mapping, partial(notify, "refinement"))
    return source._replace(vectors=mapped(x, best)), target._replace(vectors=z)


def joint_table(source: WordVectors, target: WordVectors) -> tuple[list[str], Vectors]:
    """Put the words of both, in one space, into one table: the source's, then the target's others.

    A word of both has the mean of its two vectors, weighted by how often each language has it;
    where that is not known of both, they weigh the same.
    """
    words = list(dict.fromkeys([*source.words, *target.words]))
    at = {word: place for place, word in enumerate(words)}
    total = np.zeros((len(words), source.vectors.shape[1]))
    weight = np.zeros(len(words))
    known = source.counts is not None and target.counts is not None
    for side in (source, target):
        places = np.array([at[word] for word in side.words], dtype=np.int64)
        counts = np.ones(len(places)) if side.counts is None or not known else side.counts
        total[places] += side.vectors * counts[:, None]
        weight[places] += counts
    return words, (total / weight[:, None]).astype(np.float32)
