"""Scores from a cache: those that would be computed, to the last bit, and each computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import score_table, sentences, toy_model, toy_words_model

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.scoring import cached_scores as module
from bitextfilter.scoring.background import BACKGROUND, BackgroundSample
from bitextfilter.scoring.cached_scores import Cache, CachedScores, pair_keys, score_digest
from bitextfilter.scoring.measures import MEASURES
from bitextfilter.scoring.model import Model, load

SOURCES, TARGETS = sentences(200, 5)
ALL = list(MEASURES)


@pytest.fixture(scope="module", params=["plain", "words"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A toy model, and one whose classifier reads words."""
    folder = tmp_path_factory.mktemp("models") / "toy"
    return load((toy_model if request.param == "plain" else toy_words_model)(folder))


class Scorer:
    """``score_table`` by a cache."""

    calls: ClassVar[list[tuple[int, tuple[str, ...]]]] = []
    """How many pairs were computed, and by what, in each call."""

    def __init__(self, cache: Cache, counts: Counter[str]) -> None:
        self.cached = CachedScores(cache, counts)

    def __call__(
        self,
        model: Model,
        sources: Sequence[str],
        targets: Sequence[str],
        measures: Sequence[str],
        background: BackgroundSample | None = None,
    ) -> np.ndarray:
        model = model if background is None else replace(model, background=background)

        def compute(
            left: Sequence[str], right: Sequence[str], names: Sequence[str]
        ) -> dict[str, np.ndarray]:
            self.calls.append((len(left), tuple(names)))
            return model.score(left, right, names)

        digests = {name: score_digest(model, name) for name in measures}
        found = self.cached(digests, sources, targets, compute)
        return np.column_stack([found[name] for name in measures])


@pytest.fixture
def computed() -> list[tuple[int, tuple[str, ...]]]:
    """``Scorer.calls`` from now on."""
    Scorer.calls.clear()
    return Scorer.calls


def run(folder: Path, *call: Any) -> tuple[np.ndarray, Counter[str]]:
    """Score by a cache that is opened and closed: a run of its own."""
    counts: Counter[str] = Counter()
    with Cache(folder) as cache:
        return Scorer(cache, counts)(*call), counts


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def test_the_same_scores_and_each_once(
    model: Model, tmp_path: Path, computed: list[tuple[int, tuple[str, ...]]]
) -> None:
    expected = score_table(model, SOURCES, TARGETS, ALL)
    for cached in (0, 200, 200):
        scores, counts = run(tmp_path, model, SOURCES, TARGETS, ALL)
        assert same(scores, expected)
        assert counts == {"cached": cached, "scored": 200 - cached}
    assert computed == [(200, tuple(ALL))]


def test_in_another_order_with_repetitions_and_new_pairs(
    model: Model, tmp_path: Path, computed: list[tuple[int, tuple[str, ...]]]
) -> None:
    run(tmp_path, model, SOURCES[:150], TARGETS[:150], ["mlp", "csls"])
    order = np.random.default_rng(1).choice(200, 500).tolist()
    new = len({place for place in order if place >= 150})
    mixed = [SOURCES[i] for i in order], [TARGETS[i] for i in order]
    scores, counts = run(tmp_path, model, *mixed, ["csls", "mlp"])
    assert same(scores, score_table(model, *mixed, ["csls", "mlp"]))
    assert counts == {"cached": 500 - new, "scored": new}
    assert computed == [(150, ("mlp", "csls")), (new, ("csls", "mlp"))]


def test_only_what_is_missing_is_computed(
    model: Model, tmp_path: Path, computed: list[tuple[int, tuple[str, ...]]]
) -> None:
    run(tmp_path, model, SOURCES[:80], TARGETS[:80], ["cosine"])
    run(tmp_path, model, SOURCES[40:120], TARGETS[40:120], ["mlp"])
    scores, counts = run(tmp_path, model, SOURCES[:80], TARGETS[:80], ["mlp", "cosine"])
    assert same(scores, score_table(model, SOURCES[:80], TARGETS[:80], ["mlp", "cosine"]))
    assert computed[1:] == [(80, ("mlp",)), (40, ("mlp",))]
    assert counts == {"cached": 40, "scored": 40}
    scores, counts = run(tmp_path, model, SOURCES, TARGETS, ["mlp", "cosine"])
    assert same(scores, score_table(model, SOURCES, TARGETS, ["mlp", "cosine"]))
    assert counts == {"cached": 80, "scored": 120}


def test_swapped_sides_and_moved_bounds_are_other_pairs(model: Model, tmp_path: Path) -> None:
    pairs = [("a1 a2", "b1"), ("a1", "a2 b1"), ("b1", "a1 a2"), ("a1 a2b1", "a3"), ("a1 a2 b1", "")]
    for source, target in pairs:
        scores, counts = run(tmp_path, model, [source], [target], ["mlp", "cosine"])
        assert counts["scored"] == 1
        assert same(scores, score_table(model, [source], [target], ["mlp", "cosine"]))


TEXTS = st.text(st.sampled_from("ab\t\n\0:19ä\ud800"), max_size=5)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=50))
def test_keys_are_equal_where_pairs_are(pairs: list[tuple[str, str]]) -> None:
    tricky = [("a\tb", "c"), ("a", "b\tc"), ("ab", "c"), ("a", "bc"), ("1:a", "b"), ("1", ":ab")]
    pairs += [*tricky, ("", "abc"), ("abc", "")]
    assert len(set(pair_keys(b"context", pairs))) == len(set(pairs))
    assert len({key for c in (b"1", b"2") for key in pair_keys(c, tricky)}) == 2 * len(tricky)


def test_other_neighbours_miss_where_they_matter(
    model: Model, tmp_path: Path, computed: list[tuple[int, tuple[str, ...]]]
) -> None:
    call = model, SOURCES[:30], TARGETS[:30], ["mlp", "csls", "ratio"]
    run(tmp_path, *call)
    own = model.background
    assert own is not None
    others = [
        BackgroundSample(own.target, own.source, own.k),
        BackgroundSample(own.source, own.target, own.k + 1),
        BackgroundSample(own.source[:-1], own.target, own.k),
        model.sample(SOURCES, TARGETS, own.k),
    ]
    for other in others:
        scores, counts = run(tmp_path, *call, other)
        assert same(scores, score_table(*call, other))
        assert counts == {"cached": 0, "scored": 30}
        assert computed[-1] == (30, ("csls", "ratio"))
    own_file = BackgroundSample.load(model.folder / BACKGROUND)
    assert run(tmp_path, *call, own_file)[1] == {"cached": 30, "scored": 0}


def test_one_cache_for_two_models_and_neighbours_in_turns(
    model: Model, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whose scores they are is asked at each call, not once."""
    other = load(toy_model(tmp_path_factory.mktemp("models") / "other", dim=8))
    sample = model.sample(SOURCES, TARGETS, 3)
    counts: Counter[str] = Counter()
    with Cache(tmp_path) as cache:
        score = Scorer(cache, counts)
        for _ in range(2):
            for some, background in ((model, None), (other, None), (model, sample)):
                call = some, SOURCES[:9], TARGETS[:9], ["cosine", "distance"], background
                assert same(score(*call), score_table(*call))
    assert counts == {"cached": 27, "scored": 27}


@pytest.mark.parametrize("what", ["SCORES", "__version__", "arithmetic", "_version", "model"])
def test_whatever_else_decides_a_score_is_in_the_key(
    model: Model, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = SOURCES[:5], TARGETS[:5], ["cosine"]
    run(tmp_path, model, *call)
    values = {
        "SCORES": module.SCORES + 1,
        "__version__": "99",
        "arithmetic": lambda: ["another"],
        "_version": lambda name: "99" if name == "torch" else "1",
        "model": model,
    }
    if what == "model":
        digest = "0" * 64
        model = replace(model, digest=digest[:12])
        monkeypatch.setattr(module, "full_model_digest", lambda folder: digest)
    else:
        owner = model.encoder if what == "arithmetic" else module
        monkeypatch.setattr(owner, what, values[what])
    assert run(tmp_path, model, *call)[1]["scored"] == 5
    assert run(tmp_path, model, *call)[1]["scored"] == 0


def test_a_model_that_has_changed_meanwhile_is_refused(model: Model, tmp_path: Path) -> None:
    other = replace(model, digest="0123456789ab")
    with pytest.raises(ModelError, match="has changed since it was read"):
        run(tmp_path, other, ["a1"], ["b1"], ["cosine"])


def test_what_a_model_refuses_is_refused(model: Model, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="'cos' is none of"):
        run(tmp_path, model, ["a1"], ["b1"], ["cos"])
    with pytest.raises(SettingsError, match="needs neighbours"):
        run(tmp_path, replace(model, background=None), ["a1"], ["b1"], ["csls"])
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        run(tmp_path, model, ["a1", "a2"], ["b1"], ["cosine"])


def test_no_pairs(model: Model, tmp_path: Path) -> None:
    assert run(tmp_path, model, [], [], ALL)[0].shape == (0, len(ALL))
