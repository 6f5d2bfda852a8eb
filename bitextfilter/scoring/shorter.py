"""Vectors of fewer numbers, along the principal directions of the model's own sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bitextfilter.encoders.protocol import SentenceEncoder
from bitextfilter.encoders.shorter import ShorterEncoder, principal_directions
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.scoring.background import BackgroundSample, load_samples
from bitextfilter.similarity.vectors import unit_rows


def shorter(
    folder: Path, encoder: SentenceEncoder, background: BackgroundSample | None, width: int
) -> tuple[ShorterEncoder, BackgroundSample]:
    """Return an encoder of vectors of *width* numbers, and its background sample.

    The directions are those of the samples of all languages in *folder*, so that all pairs of
    languages have them. Raises ModelError where it has no sample, and SettingsError for a width
    that is no less than the encoder's.
    """
    if background is None:
        raise ModelError(f"{folder}: stores no neighbours, by which @{width} shortens vectors")
    if width >= encoder.dim:
        raise SettingsError(
            f"@{width}: the vectors of {folder.name} have {encoder.dim} numbers; give fewer"
        )
    samples = load_samples(folder)
    first = encoder.processor.first_trigrams  # a language that was added changes no direction
    if first and first.keys() <= samples.keys():
        samples = {name: samples[name] for name in first if first[name] == min(first.values())}
    rows = unit_rows(np.concatenate(list(samples.values())))
    made = ShorterEncoder(encoder, principal_directions(rows)[:, :width])
    source, target = made.shorten(background.source), made.shorten(background.target)
    return made, BackgroundSample(source, target, background.k)
