"""Bilingual word vectors: skip-gram of each language, a map between them, one table of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from bitextfilter.arrays import Vectors
from bitextfilter.errors import InputError
from bitextfilter.models.device import resolve_device
from bitextfilter.settings import from_groups, group_rows
from bitextfilter.training.mapping import (
    Adversarial,
    Induced,
    MappingSettings,
    adversarial_map,
    identical_pairs,
    map_of_pairs,
    mapped,
    normalised,
    refine,
    seed_pairs,
)
from bitextfilter.training.word_vectors import SkipGram, WordVectors

Seeds = Sequence[tuple[str, str]]
"""Entries of a dictionary."""

Notify = Callable[[str, int, Induced], object]
"""Called with the step (``epoch`` of the adversarial training, or ``refinement``), its number, and
the dictionary that its map induces."""


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
    """Bring both languages into one space, that of the target's normalised vectors.

    Args:
        sides: source and target: words by frequency, with vectors as wide on either side.
        seeds: a dictionary, ``identical`` or ``adversarial``.
        config: the settings.
        notify: see :data:`Notify`.
        device: where the adversarial training computes.

    Raises:
        DeviceError: there is no such device.
        InputError: the vectors differ in width, or there are no seeds.
        SettingsError: the adversarial training diverged.
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
