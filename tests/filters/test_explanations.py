"""Explanations name the words without which the score is higher, and what rules find."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bitextfilter.filters.explanations import Explainer
from bitextfilter.scoring.model import Model, load
from bitextfilter.text.units import word_spans

PAIRS = [
    ("The cat sleeps on the sofa.", "Die Katze schläft auf dem Sofa."),
    ("The cat sleeps on the sofa, train 7.", "Die Katze schläft auf dem Sofa."),
    ("We bought 15 chairs yesterday.", "Wir haben gestern 16 Stühle gekauft."),
    ("He did not come home.", "Er kam nach Hause."),
    ("Red car", "Rotes Auto"),
    ("", "Nichts"),
    ("猫が好きです。", "Die Katze"),
    ("We shall meet again tomorrow.", "Morgen zien wij elkaar weer."),
]


@pytest.fixture(scope="module")
def model() -> Model:
    return load("en-de")


def explainer_of(model: Model, measure: str = "mlp") -> Explainer:
    return Explainer(lambda *sides: model.score(*sides, measure)[measure], measure, ("en", "de"))


def explained(model: Model, measure: str = "mlp") -> list[list[str]]:
    return explainer_of(model, measure)(*map(list, zip(*PAIRS, strict=True)))


def named(reasons: list[str], name: str) -> str:
    return next((reason for reason in reasons if reason.startswith(f"{name}=")), "")


def test_reasons_are_those_of_the_pair(model: Model) -> None:
    found = explained(model)
    assert "15(+" in named(found[2], "source-words")
    assert "8 7(+" in named(found[1], "source-words")
    assert named(found[2], "numbers") == "numbers=15≠16"
    assert named(found[3], "negation") == "negation=not(source only)"
    assert named(found[4], "fragment") == "fragment=2 words"
    assert named(found[5], "fragment") == "fragment=0 words"
    assert named(found[0], "negation") == named(found[0], "fragment") == ""
    assert named(found[7], "target-language").startswith("target-language=nl(+")
    assert named(found[6], "source-language").startswith("source-language=ja(+")
    assert named(found[7], "source-language") == named(found[0], "target-language") == ""


@pytest.mark.parametrize("measure", ["mlp", "cosine"])
def test_gains_are_those_of_scoring_without_the_word(model: Model, measure: str) -> None:
    source, target = PAIRS[1]
    reason = named(explained(model, measure)[1], "source-words")
    spans = word_spans(source)
    for place, word, gain in re.findall(r"(\d+) (\S+?)\(\+([\d.]+)\)", reason):
        start, stop = spans[int(place) - 1]
        assert source[start:stop] == word
        without = source[:start] + source[stop:].lstrip(" ")
        scores = model.score([source, without], [target] * 2, measure)[measure].astype(float)
        levels = np.log(scores / (1 - scores)) if measure == "mlp" else scores * 20
        assert levels[1] - levels[0] == pytest.approx(float(gain), abs=0.06)
    assert reason


def test_reasons_do_not_depend_on_the_other_pairs(model: Model) -> None:
    explainer, every = explainer_of(model), explained(model)
    for (source, target), reasons in zip(PAIRS, every, strict=True):
        assert explainer([source], [target]) == [reasons]
    many = explainer(*map(list, zip(*(PAIRS * 12), strict=True)))
    assert many == every * 12
    assert explainer([], []) == []
