"""Mining against a naive version in loops; every retrieval, similarity, bound and tie."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.errors import SettingsError
from bitextfilter.mining.comparable import (
    MINING_SIMILARITIES,
    RETRIEVALS,
    Mined,
    MiningSettings,
    choose_pairs,
    joint_evidence,
    scorer_for,
)
from bitextfilter.pairs.base import PairScorer
from bitextfilter.search.bidirectional import bidirectional_search
from bitextfilter.similarity.vectors import (
    MARGINS,
    cosine_matrix,
    euclidean_matrix,
    margin_matrix,
    unit_rows,
)

Pair = tuple[int, int]

GENERATOR = np.random.default_rng(0)
TARGET = GENERATOR.standard_normal((60, 16)).astype(np.float32)
SOURCE = (TARGET[10:50] + 0.8 * GENERATOR.standard_normal((40, 16))).astype(np.float32)
TRUE = {(i, i + 10) for i in range(40)}


def probabilities(a: Vectors, b: Vectors) -> Scores:
    """A stand-in for a classifier: as good as any function of two rows."""
    return np.asarray(1 / (1 + np.exp(-(a * b).sum(axis=1) + b[:, 0])), dtype=np.float32)


def by_place(source: Vectors, target: Vectors) -> PairScorer:
    return lambda rows, columns: probabilities(source[rows], target[columns])


def matrix(similarity: str, source: Vectors, target: Vectors, k: int) -> Scores:
    """Every source with every target, from the matrix forms."""
    match similarity:
        case "cosine":
            return cosine_matrix(source, target)
        case "euclidean":
            return euclidean_matrix(source, target)
        case "mlp":
            rows = [probabilities(np.repeat(row[None], len(target), 0), target) for row in source]
            return np.stack(rows)
    return margin_matrix(MARGINS[similarity], source, target, k)


def naive_mine(source: Vectors, target: Vectors, settings: MiningSettings) -> list[Pair]:
    """Candidates, retrieval and bound in plain loops."""
    scores = matrix(settings.similarity, source, target, settings.neighbours)
    cosines = cosine_matrix(source, target)
    n, m, k = len(source), len(target), settings.neighbours
    there = {
        (i, j) for i in range(n) for j in sorted(range(m), key=lambda j: (-cosines[i, j], j))[:k]
    }
    back = {
        (i, j) for j in range(m) for i in sorted(range(n), key=lambda i: (-cosines[i, j], i))[:k]
    }

    def rank(pair: Pair) -> tuple[float, int, int]:
        return -float(scores[pair]), *pair

    forward = [min((p for p in there if p[0] == i), key=rank) for i in range(n)]
    backward = [min((p for p in back if p[1] == j), key=rank) for j in range(m)]
    greedy: list[Pair] = []
    for pair in sorted({*forward, *backward}, key=rank):
        if not any(pair[0] == i or pair[1] == j for i, j in greedy):
            greedy.append(pair)
    found = {
        "forward": forward,
        "backward": backward,
        "intersect": [pair for pair in forward if pair in backward],
        "max": greedy,
    }[settings.retrieval]
    low = -np.inf if settings.min_score is None else settings.min_score
    return sorted((pair for pair in found if scores[pair] >= low), key=rank)


def mine_vectors(
    source: Vectors, target: Vectors, settings: MiningSettings, scorer: PairScorer | None = None
) -> Mined:
    """Search the nearest, and choose among them."""
    wanted = scorer_for(settings, ((source, []), (target, [])), lambda *_: scorer)
    if settings.similarity == "joint":
        wanted = scorer
    units = unit_rows(source), unit_rows(target)
    nearest = bidirectional_search(*units, settings.neighbours, settings.threads)
    return choose_pairs(nearest, settings, wanted)


def pairs_of(mined: Mined) -> list[Pair]:
    return list(zip(mined.source.tolist(), mined.target.tolist(), strict=True))


@pytest.mark.parametrize("retrieval", RETRIEVALS)
@pytest.mark.parametrize("similarity", [name for name in MINING_SIMILARITIES if name != "joint"])
@pytest.mark.parametrize("k", [3, 10])
def test_agrees_with_the_naive_version(similarity: str, retrieval: str, k: int) -> None:
    scores = matrix(similarity, SOURCE, TARGET, k)
    for low in (None, float(np.quantile(scores, 0.98))):
        settings = MiningSettings(similarity, retrieval, k, low)
        mined = mine_vectors(SOURCE, TARGET, settings, by_place(SOURCE, TARGET))
        expected = naive_mine(SOURCE, TARGET, settings)
        assert expected
        assert pairs_of(mined) == expected
        values = scores[mined.source, mined.target]
        if similarity == "mlp":
            np.testing.assert_allclose(mined.score, values, rtol=1e-5)
        else:
            assert np.array_equal(mined.score, values)


@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_csls_chooses_and_other_evidence_has_a_say(retrieval: str) -> None:
    scorer = by_place(SOURCE, TARGET)
    chosen = mine_vectors(SOURCE, TARGET, MiningSettings("csls", retrieval))
    found = mine_vectors(SOURCE, TARGET, MiningSettings("joint", retrieval), scorer)
    scores = {}
    for pair, csls in zip(pairs_of(chosen), chosen.score.tolist(), strict=True):
        scores[pair] = csls + float(scorer(*np.array(pair)[:, None])[0])
    assert set(pairs_of(found)) == set(scores)
    np.testing.assert_allclose(found.score, [scores[pair] for pair in pairs_of(found)], atol=1e-5)
    assert (np.diff(found.score) <= 0).all()
    assert pairs_of(found) != pairs_of(chosen)
    low = float(found.score[len(found) // 2])
    part = mine_vectors(SOURCE, TARGET, MiningSettings("joint", retrieval, min_score=low), scorer)
    assert pairs_of(part) == pairs_of(found)[: len(part)]


@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_a_bound_cuts_the_list_and_changes_nothing_else(retrieval: str) -> None:
    whole = mine_vectors(SOURCE, TARGET, MiningSettings(retrieval=retrieval))
    low = float(whole.score[len(whole) // 2])
    part = mine_vectors(SOURCE, TARGET, MiningSettings(retrieval=retrieval, min_score=low))
    assert 0 < len(part) < len(whole)
    assert pairs_of(part) == pairs_of(whole)[: len(part)]
    assert (whole.score[len(part) :] < low).all()


@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_it_finds_translations(retrieval: str) -> None:
    found = set(pairs_of(mine_vectors(SOURCE, TARGET, MiningSettings(retrieval=retrieval))))
    assert len(found & TRUE) >= 36


@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_order_of_the_lines_decides_nothing(retrieval: str) -> None:
    settings = MiningSettings(retrieval=retrieval)
    whole = mine_vectors(SOURCE, TARGET, settings)
    i, j = GENERATOR.permutation(40), GENERATOR.permutation(60)
    shuffled = mine_vectors(SOURCE[i], TARGET[j], MiningSettings(retrieval=retrieval, threads=2))
    assert np.array_equal(shuffled.score, whole.score)
    assert set(zip(i[shuffled.source], j[shuffled.target], strict=True)) == set(pairs_of(whole))


def test_ties_go_to_the_earlier_sentences() -> None:
    source = np.ones((3, 4), np.float32)
    target = np.ones((2, 4), np.float32)
    for retrieval, expected in {
        "forward": [(0, 0), (1, 0), (2, 0)],
        "backward": [(0, 0), (0, 1)],
        "intersect": [(0, 0)],
        "max": [(0, 0)],
    }.items():
        assert (
            pairs_of(mine_vectors(source, target, MiningSettings("cosine", retrieval))) == expected
        )


@pytest.mark.parametrize("retrieval", RETRIEVALS)
@pytest.mark.parametrize("similarity", MINING_SIMILARITIES)
def test_nothing_on_a_side(similarity: str, retrieval: str) -> None:
    settings = MiningSettings(similarity, retrieval)
    for source, target in itertools.product((SOURCE, SOURCE[:0]), (TARGET, TARGET[:0])):
        if not len(source) or not len(target):
            assert len(mine_vectors(source, target, settings, by_place(source, target))) == 0


def test_settings_are_checked() -> None:
    with pytest.raises(SettingsError, match="'margin' is none of cosine"):
        MiningSettings(similarity="margin")
    with pytest.raises(SettingsError, match="'fwd' is none of forward"):
        MiningSettings(retrieval="fwd")
    with pytest.raises(SettingsError, match="not 0"):
        MiningSettings(neighbours=0)
    for name in ("mlp", "joint"):
        with pytest.raises(SettingsError, match=f"{name} needs a classifier"):
            mine_vectors(SOURCE, TARGET, MiningSettings(name))


@pytest.mark.parametrize("similarity", ["mlp", "joint"])
def test_nothing_is_chosen_by_a_classifier_that_is_not_there(similarity: str) -> None:
    """Not even where the search has been done already."""
    nearest = bidirectional_search(unit_rows(SOURCE), unit_rows(TARGET), 4)
    with pytest.raises(SettingsError, match=f"{similarity} needs a classifier"):
        choose_pairs(nearest, MiningSettings(similarity))
    assert len(choose_pairs(nearest, MiningSettings(similarity), by_place(SOURCE, TARGET)))


PROBABILITIES = np.array([[0.0, 0.5, 1.0], [0.9, 0.2, 0.00011]], dtype=np.float32)
CHARACTERS = [50, 7], [60, 0, 1000]


def test_joint_evidence_is_the_logit_and_the_length_of_the_shorter_side() -> None:
    asked: list[int] = []

    def probabilities(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        asked.append(len(i))
        return PROBABILITIES[i, j]

    score = joint_evidence(probabilities, tuple(map(np.array, CHARACTERS)))
    pairs = [(i, j) for i in range(2) for j in range(3)]
    found = score(*np.array(pairs).T)
    for (i, j), value in zip(pairs, found.tolist(), strict=True):
        p = min(max(float(PROBABILITIES[i, j]), 1e-4), 1 - 1e-4)
        c = min(max(min(CHARACTERS[0][i], CHARACTERS[1][j]), 1), 150)
        assert value == pytest.approx(math.log(p / (1 - p)) / 32 + math.log(c / 50) / 6, abs=1e-5)
    assert asked == [6]
    assert found.dtype == np.float32


def test_joint_evidence_has_bounds() -> None:
    sides = (np.array([0, 10_000]), np.array([0, 10_000]))
    for place, probability, bound in ((0, 0.0, -0.940), (1, 1.0, 0.471)):
        known = np.full((2, 2), probability, np.float32)
        score = joint_evidence(lambda i, j, known=known: known[i, j], sides)
        np.testing.assert_allclose(score(*np.array([[place]] * 2)), [bound], atol=1e-3)
