"""Two encoders side by side, their joined vectors; blocks of sentences of like length."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import sentences, toy_model

from bitextfilter.encoders.base import blocks_by_length
from bitextfilter.encoders.protocol import JoinedEncoder, row_lengths
from bitextfilter.encoders.registry import load_encoder
from bitextfilter.errors import BitextError, ModelError, SettingsError
from bitextfilter.models.folders import SECOND, read_config
from bitextfilter.scoring.background import load_background
from bitextfilter.scoring.model import load
from bitextfilter.similarity.vectors import cosine_pairs
from bitextfilter.training.model_folders import join_models

WEIGHT = 0.3


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, and their encoders joined with neighbours."""
    home = tmp_path_factory.mktemp("joined")
    first = toy_model(home / "first")
    second = toy_model(home / "second", dim=24, recurrent=True)
    pairs = home / "pairs.tsv"
    rows = zip(*sentences(60, seed=8), strict=True)
    pairs.write_text("".join(f"{one}\t{other}\n" for one, other in rows), encoding="utf-8")
    join_models((first, second), WEIGHT, [str(pairs)], home / "both")
    return home


def test_the_cosine_is_the_weighted_mean_of_both(home: Path) -> None:
    sources, targets = sentences(40, seed=5)
    targets = targets[1:] + targets[:1]
    cosines = []
    for name in ("first", "second", "both"):
        encoder = load_encoder(home / name)
        vectors = [encoder.encode(*each) for each in ((sources, "aa"), (targets, "ba"))]
        assert vectors[0].shape == (40, encoder.dim)
        cosines.append(cosine_pairs(*vectors))
    first, second, both = cosines
    np.testing.assert_allclose(both, (1 - WEIGHT) * first + WEIGHT * second, atol=1e-6)
    assert np.abs(first - second).max() > 0.05


def test_each_side_has_its_share_of_length_1(home: Path) -> None:
    encoder = load_encoder(home / "both")
    first, second = np.split(encoder.encode(sentences(9, seed=2)[0], "aa"), [32], axis=1)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1) ** 2, 1 - WEIGHT, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(second, axis=1) ** 2, WEIGHT, atol=1e-6)


def test_a_vector_does_not_depend_on_its_company(home: Path) -> None:
    encoder, threads = load_encoder(home / "both"), load_encoder(home / "both", threads=2)
    texts, _ = sentences(300, seed=6)
    vectors = encoder.encode(texts, "aa")
    np.testing.assert_array_equal(vectors, threads.encode(texts, "aa"))
    for row in range(0, 300, 37):
        np.testing.assert_array_equal(vectors[row], encoder.encode([texts[row]], "aa")[0])
    assert encoder.encode([], "aa").shape == (0, encoder.dim)


@pytest.mark.parametrize("width", [1, 2, 5, 512, 769])
def test_row_lengths(width: int) -> None:
    rows = np.random.default_rng(width).standard_normal((30, width)).astype(np.float32)
    rows[3] = 0
    expected = np.linalg.norm(rows.astype(np.float64), axis=1)
    np.testing.assert_allclose(row_lengths(rows), expected, rtol=1e-12)


def test_the_neighbours_are_of_the_joined_vectors(home: Path) -> None:
    background = load_background(home / "both")
    assert background is not None and background.dim == 56
    model = load(home / "both")
    assert model.classifier is None and model.default_measure == "cosine"
    for side in (background.source, background.target):
        np.testing.assert_allclose(np.linalg.norm(side, axis=1), 1, atol=1e-5)
        share = np.linalg.norm(side[:, :32], axis=1) ** 2
        np.testing.assert_allclose(share, 1 - WEIGHT, atol=0.02)  # they are kept as int8


def test_without_pairs_it_has_no_neighbours(home: Path, tmp_path: Path) -> None:
    join_models((home / "first", home / "second"), 0.5, [], tmp_path / "new")
    assert load_background(tmp_path / "new") is None


@pytest.mark.parametrize("weight", [0.0, 1.0, -1.0, float("nan")])
def test_a_weight_is_between_0_and_1(home: Path, weight: float, tmp_path: Path) -> None:
    models = home / "first", home / "second"
    with pytest.raises(BitextError, match="not between 0 and 1"):
        join_models(models, weight, [], tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_both_are_of_the_same_languages(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "second", tmp_path / "other")
    (tmp_path / "other" / "digests.json").unlink()
    config = read_config(tmp_path / "other")
    (tmp_path / "other" / "config.json").write_text(
        json.dumps({**config, "languages": ["aa", "ce"]})
    )
    with pytest.raises(SettingsError, match=r"aa-ba, .* of aa-ce"):
        join_models((home / "first", tmp_path / "other"), WEIGHT, [], tmp_path / "new")
    one, other = load_encoder(home / "first"), load_encoder(tmp_path / "other")
    with pytest.raises(SettingsError, match="aa-ba and of aa-ce"):
        JoinedEncoder(one, other, WEIGHT)  # type: ignore[arg-type]


def test_a_joined_model_is_not_joined_again(home: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="has two encoders already"):
        join_models((home / "first", home / "both"), WEIGHT, [], tmp_path / "new")


@pytest.mark.parametrize("section", [3, {}, {"weight": "much"}, {"weight": 2}, {"weight": None}])
def test_a_damaged_section_is_refused(home: Path, tmp_path: Path, section: object) -> None:
    shutil.copytree(home / "both", tmp_path / "new")
    (tmp_path / "new" / "digests.json").unlink()
    config = read_config(tmp_path / "new")
    (tmp_path / "new" / "config.json").write_text(json.dumps({**config, SECOND: section}))
    with pytest.raises(ModelError, match="the configuration's second is unusable"):
        load_encoder(tmp_path / "new")


@given(st.lists(st.integers(1, 9)), st.integers(1, 4))
def test_blocks_hold_each_item_once_beside_its_like(lengths: list[int], rows: int) -> None:
    blocks = blocks_by_length(np.array(lengths, np.int64), ((4, rows), (6, 2)))
    order = [int(i) for block in blocks for i in block.items]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[i] for i in order] == sorted(lengths)
    for low, high, size in ((1, 4, rows), (5, 6, 2), (7, 9, 1)):
        some = [block for block in blocks if low <= lengths[block.items[0]] <= high]
        assert all(low <= lengths[i] <= high for block in some for i in block.items)
        assert all(block.rows == size for block in some)
        assert all(len(block.items) == size for block in some[:-1])
        assert all(1 <= len(block.items) <= size for block in some)
