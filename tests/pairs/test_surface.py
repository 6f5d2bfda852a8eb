"""Comparing what sentences look like, and the classifier that sees it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from toys import as_older, sentences, toy_model

from bitextfilter.errors import SettingsError
from bitextfilter.pairs.base import SentenceClassifierSettings
from bitextfilter.pairs.classifier import (
    COMPARISONS,
    SentenceClassifier,
    compare_surfaces,
    save_classifier,
)
from bitextfilter.scoring.model import load
from bitextfilter.text.features import (
    FIGURE_BAG,
    NAME_BAG,
    SURFACE,
    SURFACE_WIDTH,
    WORD_BAG,
    surface_features,
)

SOURCES = ["Peter paid 5 and 1,500 dollars.", "no figures here", "", "A 7 7 7 7 b", "Only Berlin"]
TARGETS = ["Peter zahlte 6 und 1.500 Dollar.", "no figures here", "x", "B 7 7", "In Berlin nur"]


def naive(a: np.ndarray, b: np.ndarray) -> list[float]:
    """Count what two descriptions share, bucket by bucket."""
    counts = []
    for one, other in (
        (FIGURE_BAG, FIGURE_BAG),
        (NAME_BAG, WORD_BAG),
        (WORD_BAG, NAME_BAG),
        (WORD_BAG, WORD_BAG),
    ):
        x, y = a[one], b[other]
        both = sum(min(p, q) for p, q in zip(x, y, strict=True))
        counts.append([both, x.sum() - both, y.sum() - both])
    # the names of b against the words of a: what is in both, and in the names only
    counts[2] = [counts[2][0], counts[2][2]]
    logs = [math.log1p(count) for part in counts for count in part]
    both = counts[3][0]
    return [*logs, 2 * both / max(1, a[WORD_BAG].sum()), 2 * both / max(1, b[WORD_BAG].sum())]


def test_comparisons_are_as_counted() -> None:
    a, b = surface_features(SOURCES), surface_features(TARGETS)
    found = compare_surfaces(torch.from_numpy(a).double(), torch.from_numpy(b).double()).numpy()
    assert found.shape == (len(SOURCES), COMPARISONS)
    np.testing.assert_allclose(found, [naive(x, y) for x, y in zip(a, b, strict=True)])


def test_parts_of_a_description() -> None:
    assert SURFACE.start == 0
    assert (SURFACE.stop, FIGURE_BAG.stop, NAME_BAG.stop) == (
        FIGURE_BAG.start,
        NAME_BAG.start,
        WORD_BAG.start,
    )
    row = surface_features(["Peter met Paul in May 2020, 20 and 20 and 20 and 20."])[0]
    assert sorted(row[FIGURE_BAG][row[FIGURE_BAG] > 0].tolist()) == [1, 3]
    assert row[NAME_BAG].sum() == 2
    assert row[WORD_BAG].sum() == 6


def test_only_this_version_of_descriptions() -> None:
    with pytest.raises(SettingsError, match="this version has"):
        SentenceClassifierSettings(8, surface=SURFACE_WIDTH + 1)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    texts = SOURCES * 130, TARGETS * 130
    return tuple(  # type: ignore[return-value]
        np.hstack(
            [generator.standard_normal((len(side), 8)).astype(np.float32), surface_features(side)]
        )
        for side in texts
    )


def test_probabilities_are_those_of_the_network(rows: tuple[np.ndarray, np.ndarray]) -> None:
    torch.manual_seed(1)
    classifier = SentenceClassifier(
        SentenceClassifierSettings(8, hidden=16, surface=SURFACE_WIDTH)
    ).eval()
    a, b = rows
    with torch.no_grad():
        logits = classifier(torch.from_numpy(a), torch.from_numpy(b))
    expected = torch.sigmoid(logits[:, 0]).numpy()
    found = classifier.probabilities(a, b)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    order = np.random.default_rng(1).permutation(len(a))
    assert np.array_equal(classifier.probabilities(a[order], b[order], 2), found[order])
    assert np.array_equal(classifier.probabilities(a[:1], b[:1]), found[:1])
    changed = a.copy()
    changed[:, 8 + WORD_BAG.start :] = 0
    assert not np.array_equal(classifier.probabilities(changed, b), found)


def test_a_model_with_such_a_classifier(tmp_path: Path) -> None:
    folder = as_older(toy_model(tmp_path / "model", classifier=False))
    plain = load(folder)
    torch.manual_seed(1)
    save_classifier(
        SentenceClassifier(
            SentenceClassifierSettings(plain.encoder.dim, hidden=16, surface=SURFACE_WIDTH)
        ),
        folder,
    )
    model = load(folder)
    sources, targets = sentences(20, 1)
    scores = model.score(sources, targets)["mlp"]
    alone = [model.score([s], [t])["mlp"][0] for s, t in zip(sources, targets, strict=True)]
    assert scores.tolist() == alone
    vectors = [
        model.encode(side, language)
        for side, language in zip((sources, targets), model.languages, strict=True)
    ]
    scorer = model.pair_scorer((vectors[0], sources), (vectors[1], targets))
    assert scorer is not None
    places = np.arange(20)
    assert scorer(places, places).tolist() == alone
    assert plain.pair_scorer((vectors[0], sources), (vectors[1], targets)) is None
