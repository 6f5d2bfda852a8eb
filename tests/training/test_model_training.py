"""A whole model from pairs: what is trained on, settings, estimates, and the pages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import invented_pairs

import bitextfilter
from bitextfilter.commands.train import duration
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.training import model_estimate
from bitextfilter.training.model_card import attribution_page, card_page
from bitextfilter.training.model_training import (
    DEVELOPMENT_PAIRS,
    Divided,
    GivenPairs,
    ModelConfig,
    ModelFiles,
    ModelTraining,
    Pair,
    Place,
    divided,
    epochs_for,
)
from bitextfilter.training.settings import count_updates

SIDES = st.sampled_from("abcdefgh")
FILES = st.lists(st.lists(st.tuples(SIDES, SIDES), max_size=30), min_size=1, max_size=3)


def naive(files: list[list[Pair]], development: list[Pair]) -> Divided:
    """The same by comparing every pair with all others."""
    kept: list[list[Pair]] = [[] for _ in files]
    before: list[Pair] = []
    duplicates = known = 0
    for pairs, mine in zip(files, kept, strict=True):
        for pair in pairs:
            if pair in before:
                duplicates += 1
            elif any(pair[0] == d[0] or pair[1] == d[1] for d in development):
                known += 1
            else:
                mine.append(pair)
            before.append(pair)
    return Divided(kept, [], development, duplicates, known)


@given(FILES, st.none() | st.lists(st.tuples(SIDES, SIDES), max_size=3), st.integers(0, 9))
def test_pairs_are_divided_as_by_comparing_all(
    files: list[list[Pair]], development: list[Pair] | None, seed: int
) -> None:
    copies = [list(pairs) for pairs in files]
    try:
        found = divided(GivenPairs(files, [], development, []), seed)
    except InputError as error:
        distinct = len({pair for pairs in files for pair in pairs})
        if "validate" in str(error):
            assert development == [] or (development is None and distinct < 10)
        else:
            assert development is None or not any(naive(files, development).files)
        return
    assert files == copies, "what is given stays as it is"
    wanted = naive(files, found.development)
    drawn = len(found.development) if development is None else 0
    assert found == wanted._replace(known=wanted.known - drawn)
    assert any(found.files)
    if development is None:
        distinct = len({pair for pairs in files for pair in pairs})
        assert len(set(found.development)) == len(found.development) == distinct // 10
        assert found == divided(GivenPairs(files, [], None, []), seed)
    else:
        assert found.development == development


def test_the_classifiers_own_pairs_are_none_of_the_development() -> None:
    pairs = [[("a", "b"), ("c", "d"), ("e", "b")]]
    found = divided(GivenPairs([[("x", "y")]], pairs, [("a", "b")], []), 1)
    assert found.more == [[("c", "d")]] and found.known == 2


def test_the_seed_draws_the_development_pairs() -> None:
    pairs = [(f"a{n}", f"b{n}") for n in range(20 * DEVELOPMENT_PAIRS)]
    halves = GivenPairs([pairs[:5000], pairs[5000:]], [], None, [])
    one, other = (set(divided(halves, seed).development) for seed in (1, 2))
    assert len(one) == len(other) == DEVELOPMENT_PAIRS and len(one & other) < 200
    assert all(one & set(pairs) for pairs in halves.files), "of every file"


@pytest.mark.parametrize(
    ("files", "development", "message"),
    [
        ([[("a", "b")] * 9], None, "none is left to validate on"),
        ([[("a", "b")]], [], "none is left to validate on"),
        ([[("a", "b"), ("a", "c")], [("d", "b")]], [("a", "b")], "none is left to train on"),
    ],
)
def test_too_few_pairs(
    files: list[list[Pair]], development: list[Pair] | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        divided(GivenPairs(files, [], development, []), 1)


def test_epochs_of_the_classifier() -> None:
    counts = (0, 1, 30_000, 30_001, 60_000, 99_999, 100_000, 10**9)
    assert [epochs_for(pairs) for pairs in counts] == [10, 10, 10, 9, 5, 3, 3, 3]
    every = [epochs_for(pairs) for pairs in range(0, 200_000, 97)]
    assert every == sorted(every, reverse=True)
    config = ModelConfig.from_dict({})
    assert config.classifier_config(60_000).training.epochs == 5
    given = ModelConfig.from_dict({"classifier": {"training.epochs": 2}})
    assert given.classifier_config(60_000).training.epochs == 2


def test_a_setting_within_a_group_within_a_group() -> None:
    """By a name with a point, or by objects in objects; the latter come first, from a file."""
    values: dict[str, Any] = {
        "encoder": {"training.passes": 4, "shape": {"embedding": 16}, "training.batch_size": 7},
        "classifier": {"training": {"epochs": 2, "batch_size": 9}, "training.epochs": 4},
        "negatives": 5,
    }
    config = ModelConfig.from_dict(values)
    assert (config.encoder.training.passes, config.encoder.training.batch_size) == (4, 7)
    classifier = config.classifier_config(10)
    assert (classifier.training.epochs, classifier.training.batch_size) == (4, 9)
    assert (config.seed, config.negatives) == (1, 5)
    again = ModelConfig.from_dict(config.to_dict())
    assert again.to_dict() == config.to_dict()
    assert ModelConfig.from_dict({}).to_dict() != config.to_dict()


def test_the_seed_reaches_both_trainings() -> None:
    config = ModelConfig.from_dict({"seed": 7, "encoder": {"training.passes": 2}})
    assert config.seed == config.encoder.training.seed == 7
    assert config.classifier_config(10).training.seed == 7
    config = ModelConfig.from_dict({"seed": 7, "classifier": {"training.seed": 3}})
    assert (config.encoder.training.seed, config.classifier_config(10).training.seed) == (7, 3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nonsense": 1}, "'nonsense' is none of encoder, classifier, seed"),
        ({"encoders": {}}, "'encoders'"),
        ({"encoder": {"nonsense": 1}}, "nonsense"),
        ({"encoder": {"training.nonsense": 1}}, "training.nonsense"),
        ({"encoder": {"training": {"nonsense": 1}}}, "training.nonsense"),
        ({"classifier": {"nonsense": 1}}, "nonsense"),
        ({"classifier": {"training.nonsense": 1}}, "training.nonsense"),
        ({"classifier": {"training.epochs": 0}}, "training.epochs"),
        ({"classifier": {"training.epochs": "two"}}, "training.epochs"),
        ({"classifier": {"kind": "sentences"}}, "kind"),
        ({"encoder": {"training.batch_size": 0}}, "batch_size"),
        ({"seed": -1}, "seed"),
        ({"negatives": "all"}, "negatives"),
        ({"encoder": 3}, "encoder"),
        ({"classifier": [1]}, "classifier"),
        ({"encoder": {"training": 3}}, "training"),
        ({"classifier": {"training": None}}, "training"),
    ],
)
def test_settings_that_cannot_be(values: Mapping[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        ModelConfig.from_dict(values)


def test_every_listed_setting_is_taken() -> None:
    """And its default is the one listed."""
    taken = 0
    for name, default, *_ in ModelConfig.rows():
        group, _, rest = name.partition(".")
        if "shape." in name or default.count("`") != 2:  # of several architectures
            continue
        value: Any = default.strip("`")
        if value in ("true", "false"):
            value = value == "true"
        elif value.replace(".", "").isdigit():
            value = float(value) if "." in value else int(value)
        ModelConfig.from_dict({group: {rest: value}} if rest else {group: value})
        taken += 1
    assert taken > 60


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"), (0.4, "0 s"), (89, "89 s"), (90, "2 min"), (100, "2 min"), (600, "10 min"),
        (5399, "90 min"), (5400, "1.5 h"), (36_000, "10.0 h"), (90_000, "25.0 h"),
    ],
)  # fmt: skip
def test_a_time_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


VALUES: dict[str, Any] = {
    "encoder": {
        "shape": {"embedding": 8},
        "segmentation": {"kind": "none"},
        "trigrams": {"size": 200},
        "training": {"passes": 2, "batch_size": 16, "mega_batch": 2, "validate_every": 10},
    },
    "classifier": {
        "width": 4, "hidden": 4, "bigrams": 0,
        "training": {"epochs": 2, "batch_size": 16, "held_out": 0.1},
    },
}  # fmt: skip


def toy_training(work: Path, count: int, values: Mapping[str, Any] = VALUES) -> ModelTraining:
    """A training of invented pairs, which are gathered."""
    work.mkdir()
    config = ModelConfig.from_dict(values)
    place = Place(work, "cpu", 1, lambda _: None)
    training = ModelTraining(("aa", "ba"), config, ModelFiles(["pairs"], ()), place)
    facts = training.gather(GivenPairs([invented_pairs(count, 3)], [], None, []))
    assert facts["files"] == [["pairs", count - count // 10]]
    assert facts["pairs"] == count - facts["development"] == count - count // 10
    return training


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each look at the clock of a small trial take a second."""
    clock = [0.0]

    def tick() -> float:
        clock[0] += 1
        return clock[0]

    monkeypatch.setattr(model_estimate, "time", SimpleNamespace(monotonic=tick))
    monkeypatch.setattr(model_estimate, "_PAIRS", 120)
    monkeypatch.setattr(model_estimate, "_UPDATES", 12)


@pytest.mark.usefixtures("steady")
def test_estimates_grow_with_the_pairs(tmp_path: Path) -> None:
    found = []
    for count in (150, 600):
        training = toy_training(tmp_path / str(count), count)
        before = sorted(training.place.work.rglob("*"))
        found.append(model_estimate.estimate(training))
        assert sorted(training.place.work.rglob("*")) == before, "the trial is elsewhere"
    few, many = found
    assert list(few) == list(many) == ["encoder", "examples", "classifier", "cuts"]
    for name in ("encoder", "examples", "classifier"):
        assert 0 < 2.5 * few[name] < many[name], name
    assert few["cuts"] == many["cuts"] > 0
    for seconds, count in zip(found, (135, 540), strict=True):
        updates = count_updates(count, 2, 16)
        assert updates <= seconds["encoder"] < 2 * updates + 20


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize(
    ("name", "group", "stage"),
    [("training.passes", "encoder", "encoder"), ("training.epochs", "classifier", "classifier")],
)
def test_estimates_grow_with_the_updates(tmp_path: Path, name: str, group: str, stage: str) -> None:
    """Of their own stage."""
    other = {**VALUES, group: {**VALUES[group], name: 8}}
    one, more = (
        model_estimate.estimate(toy_training(tmp_path / str(n), 200, values))
        for n, values in enumerate((VALUES, other))
    )
    assert more[stage] > 2 * one[stage]
    assert {n for n in one if one[n] != pytest.approx(more[n])} == {stage}


@pytest.mark.usefixtures("steady")
def test_estimates_of_few_pairs_are_numbers(tmp_path: Path) -> None:
    """However few updates there are to measure."""
    large = {**VALUES["classifier"], "training.batch_size": 4096}
    training = toy_training(tmp_path / "few", 100, {**VALUES, "classifier": large})
    found = model_estimate.estimate(training)
    assert all(0 < seconds < 10_000 for seconds in found.values()), found


RECORDS: dict[str, dict[str, Any]] = {
    "pairs": {
        "files": [["talks.tsv", 123_000], ["news.tmx", 456]],
        "pairs": 123_456,
        "development": 1000,
    },
    "encoder": {"error": 12.5},
    "examples": {"positives": 60_001, "negatives": 170_002, "contrasts": 220_003},
    "classifier": {"auc": 0.98765},
}


def test_a_card() -> None:
    page = card_page("en-pl", ("en", "pl"), RECORDS)
    assert page.startswith("# en-pl\n")
    assert f"in en and pl. Made by bitext-train {bitextfilter.__version__}." in page
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    figures = [row[1] for row in cells if len(row) == 2]
    assert figures[2:] == ["123,456", "1,000", "12.50 %", "0.9877"]
    for count in ("60,001", "170,002", "220,003"):
        assert count in page
    assert "shipped `" not in page and "{" not in page
    shipped = {"shipped": "multi:en,pl", "shipped_error": 1.5}
    compared = card_page("en-pl", ("en", "pl"), {**RECORDS, "pairs": RECORDS["pairs"] | shipped})
    (line,) = set(compared.splitlines()) - set(page.splitlines())
    assert "`multi:en,pl`" in line and line.endswith("| 1.50 % |")


def test_the_sources() -> None:
    page = attribution_page("en-pl", RECORDS, {"en-de": "# Whose data\n\nTatoeba\n"})
    assert "made of the model `en-de`, too:\n\n## Whose data\n\nTatoeba" in page
    assert "en-pl" in page.splitlines()[0]
    assert "| talks.tsv | 123,000 | | |\n| news.tmx | 456 | | |\n" in page
    assert "123,456 pairs" in page and "{" not in page
    assert page.count("\n\n\n") == 0
