"""The classes for OpusFilter, by its own base class, or the documented part of it."""

from __future__ import annotations

import importlib
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from console import ROOT

import bitextfilter
from bitextfilter.errors import NotFoundError, SettingsError

PAIRS = [
    ("Good morning!", "Guten Morgen!"),
    ("A brown dog jumps over a low fence.", "Die Sitzung wurde um neun Uhr eröffnet."),
    ("", "Guten Morgen!"),
    ("We bought 15 red chairs.", "Wir haben 16 rote Stühle gekauft."),
    ("We bought 15 red chairs.", "Wir haben 15 rote Stühle gekauft."),
]


class FilterABC(ABC):
    """OpusFilter's base class, as its documentation describes it."""

    def __init__(self, name: str | None = None, workdir: str = "", **kwargs: Any) -> None:
        assert not kwargs, "OpusFilter warns of others"
        self.name, self.workdir = name, workdir

    @property
    @abstractmethod
    def score_direction(self) -> Any: ...

    @abstractmethod
    def score(self, pairs: Any) -> Any: ...

    @abstractmethod
    def accept(self, score: Any) -> bool: ...

    def decisions(self, pairs: Any) -> Iterator[bool]:
        return map(self.accept, self.score(pairs))

    def filter(self, pairs: Any) -> Iterator[Any]:
        return (pair for pair in pairs if self.accept(next(self.score([pair]))))


@pytest.fixture(scope="module")
def module() -> Iterator[ModuleType]:
    """``bitextfilter.opusfilter``, with the real library where it is installed."""
    name = "bitextfilter.opusfilter"
    try:
        importlib.import_module("opusfilter")
        yield importlib.import_module(name)
    except ModuleNotFoundError:
        stand_in: Any = ModuleType("opusfilter")
        stand_in.FilterABC = FilterABC
        stand_in.CLEAN_HIGH, stand_in.CLEAN_TRUE = "clean_high", "clean_true"
        sys.modules["opusfilter"] = stand_in
        try:
            yield importlib.import_module(name)
        finally:
            del sys.modules["opusfilter"], sys.modules[name]


def test_scores_are_those_of_the_model(module: Any) -> None:
    found = [*module.BitextScoreFilter(workdir="w", name="n").score(iter(PAIRS))]
    assert [type(score) for score in found] == [float] * len(PAIRS)
    whole = [pair for pair in PAIRS if all(pair)]
    expected = bitextfilter.load("en-de").score(*map(list, zip(*whole, strict=True)))["mlp"]
    assert found.pop(2) == -math.inf
    assert found == expected.tolist()
    assert [*module.BitextScoreFilter().score([])] == []


def test_decisions_filter_and_filterfalse_agree(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WINDOW", 2)
    for one in (module.BitextScoreFilter(), module.BitextRulesFilter(["default", "numbers"])):
        decisions = [*one.decisions(PAIRS)]
        kept = [pair for pair, keep in zip(PAIRS, decisions, strict=True) if keep]
        gone = [pair for pair, keep in zip(PAIRS, decisions, strict=True) if not keep]
        assert [*one.filter(iter(PAIRS))] == kept != []
        assert [*one.filterfalse(iter(PAIRS))] == gone != []
        assert [*one.filter([])] == []


def test_thresholds_and_measures(module: Any) -> None:
    cut = module.BitextScoreFilter(threshold="recommended")
    assert 0 < cut.threshold < 0.5
    assert cut.accept(cut.threshold) and not cut.accept(cut.threshold - 1e-9)
    cosine = module.BitextScoreFilter(measure="cosine", threshold=0)
    (score,) = cosine.score(PAIRS[:1])
    expected = bitextfilter.load("en-de").score(*([text] for text in PAIRS[0]), "cosine")
    assert score == expected["cosine"].item()
    czech = module.BitextScoreFilter("multi:cs,pl")
    assert next(czech.score([("Dobrý den!", "Dzień dobry!")])) > 0.5


def test_rules_are_those_of_the_command(module: Any) -> None:
    numbers = module.BitextRulesFilter("numbers")
    assert [*numbers.score(PAIRS)] == [True, True, True, False, True]
    languages = module.BitextRulesFilter(languages=["en", "de"], without=["empty"])
    expected = [*bitextfilter.filter_pairs(PAIRS, languages=("en", "de"), without=["empty"])]
    assert [*languages.filter(PAIRS)] == expected


def test_errors(module: Any) -> None:
    with pytest.raises(SettingsError, match="threshold is a number or recommended, not 'high'"):
        module.BitextScoreFilter(threshold="high")
    with pytest.raises(SettingsError, match="similarity 'dual' is none of"):
        module.BitextScoreFilter(measure="dual")
    with pytest.raises(NotFoundError):
        module.BitextScoreFilter("no-model")
    with pytest.raises(SettingsError, match="two, source and target"):
        module.BitextRulesFilter(languages=["en", "de", "fr"])
    for wrong in ([], "de"):
        with pytest.raises(SettingsError, match="languages are two"):
            module.BitextRulesFilter(languages=wrong)
    with pytest.raises(SettingsError, match="BitextRulesFilter is for two files, not 3"):
        [*module.BitextRulesFilter().score([("a", "b", "c")])]


def test_the_example_names_classes_and_parameters(module: Any) -> None:
    yaml = pytest.importorskip("yaml")
    config = yaml.safe_load((ROOT / "examples/opusfilter/config.yaml").read_text())
    filters = [one for step in config["steps"] for one in step["parameters"]["filters"]]
    assert len(filters) == 3
    for one in filters:
        assert one.pop("module") == module.__name__
        ((name, parameters),) = one.items()
        assert [*getattr(module, name)(**parameters, workdir="w").score(PAIRS[:1])]
