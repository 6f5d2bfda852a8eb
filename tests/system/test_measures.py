"""The measures of examples/train-a-pair."""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Iterator
from datetime import datetime
from types import ModuleType

import pytest
from console import ROOT

ROUNDED = 0.06
"""Two digits that count on either side: 1.0 may be 0.95 or 1.05."""


@pytest.fixture(scope="module")
def measures() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "examples" / "train-a-pair")
        yield importlib.import_module("measures")


@pytest.mark.parametrize(
    ("value", "english", "german"),
    [(7.62, "7.6", "7,6"), (3, "3", "3"), (24.4, "24", "24"), (1219, "1,200", "1.200"),
     (-12.2, "-12", "-12"), (0.25, "0.2", "0,2"), (9.96, "10", "10")],
)  # fmt: skip
def test_numbers_are_rounded_and_written_as_each_language_does(
    measures: ModuleType, value: float, english: str, german: str
) -> None:
    assert measures.number(value, "en") == english
    assert measures.number(value, "de") == german


@pytest.mark.parametrize(
    ("english", "metric", "value", "other"),
    [("feet", "m", 100, 30.5), ("yards", "m", 100, 91.4), ("miles", "km", 26.2, 42.16),
     ("inches", "cm", 10, 25.4), ("acres", "ha", 100, 40.5), ("square miles", "km²", 10, 25.9),
     ("square feet", "m²", 1000, 92.9), ("pounds", "kg", 220.5, 100), ("gallons", "l", 10, 37.85),
     ("mph", "km/h", 62.1, 100), ("°F", "°C", 212, 100), ("°F", "°C", 32, 0)],
)  # fmt: skip
def test_units_are_those_of_the_world(
    measures: ModuleType, english: str, metric: str, value: float, other: float
) -> None:
    found = [entry for entry in measures.IMPERIAL if english in entry[0].split("|")]
    ((_, unit, factor, offset),) = found
    assert unit == metric
    assert value * factor + offset == pytest.approx(other, rel=2e-3, abs=0.02)


def read(phrase: str) -> tuple[float, str]:
    """An English or German phrase → its figure and its unit."""
    figure, unit = re.fullmatch(r"(-?[0-9.,]+) ?(.+)", phrase).groups()  # type: ignore[union-attr]
    whole = figure if re.search(r"[.,][0-9]$", figure) else re.sub("[.,]", "", figure)
    return float(whole.replace(",", ".")), unit


def test_quantities_are_equal(measures: ModuleType) -> None:
    metric = {n: unit for unit, names in measures.METRIC.items() for n in names["de"].split("|")}
    metres = {n: unit for unit, names in measures.METRIC.items() for n in names["en"].split("|")}
    draw, imperial = random.Random(3), 0
    for _ in range(500):
        (value, name), (converted, german) = map(read, measures.quantity(draw, "en", "de"))
        unit = metric[german]
        if name in metres:
            assert (value, metres[name]) == (converted, unit)
            continue
        imperial += 1
        factors = [e[2:] for e in measures.IMPERIAL if name in e[0].split("|") and e[1] == unit]
        wanted = [value * factor + offset for factor, offset in factors]
        assert any(converted == pytest.approx(one, rel=ROUNDED, abs=0.5) for one in wanted)
    assert 300 < imperial < 450


def test_languages_without_other_units_agree_to_the_figure(measures: ModuleType) -> None:
    for seed in range(50):
        german, french = measures.quantity(random.Random(seed), "de", "fr")
        digits = [
            re.sub(r"\D", "", text.split(" ")[0].replace("m²", "")) for text in (german, french)
        ]
        assert digits[0] == digits[1] != ""


def test_times_are_equal(measures: ModuleType) -> None:
    seen = set()
    for seed in range(300):
        english, german = measures.time(random.Random(seed), "en", "de")
        clock = english.removeprefix("at ").replace("a.m.", "AM").replace("p.m.", "PM").upper()
        form = "%I %p" if clock.split()[0].isdigit() else "%I:%M %p"
        at = datetime.strptime(clock.replace(".", ":"), form)
        hour, *minute = re.findall("[0-9]+", german)
        assert (at.hour, at.minute) == (int(hour), int(minute[0]) if minute else 0)
        seen.add(at.hour)
    assert seen == set(range(24))


def test_dates_are_equal(measures: ModuleType) -> None:
    for seed in range(100):
        english, french = measures.day(random.Random(seed), "en", "fr")
        form = "on %m/%d/%Y" if "/" in english else "on %Y-%m-%d"
        on = datetime.strptime(english, form)
        day, month, year = map(int, re.findall("[0-9]+", french))
        assert (on.day, on.month, on.year) == (day, month, year)


@pytest.mark.parametrize(
    ("pair", "wanted"),
    [
        (("We go.", "Wir gehen."), {("We go 80 ft.", "Wir gehen 25 m.")}),
        (("We go", "Wir gehen..."), {("We go 80 ft", "Wir gehen 25 m...")}),
        (
            ("We go, you stay!", "Wir gehen, ihr bleibt!"),
            {
                ("We go 80 ft, you stay!", "Wir gehen 25 m, ihr bleibt!"),
                ("We go, you stay 80 ft!", "Wir gehen, ihr bleibt 25 m!"),
            },
        ),
        (("We go, all.", "Wir gehen alle."), {("We go, all 80 ft.", "Wir gehen alle 25 m.")}),
        (("It is 3.5%", "Es sind 3,5%"), {("It is 3.5% 80 ft", "Es sind 3,5% 25 m")}),
    ],
)
def test_a_phrase_stands_before_the_same_mark_of_both_sides(
    measures: ModuleType, pair: tuple[str, str], wanted: set[tuple[str, str]]
) -> None:
    bracketed = {tuple(re.sub("(80 ft|25 m)", r"(\1)", side) for side in one) for one in wanted}
    phrases = "80 ft", "25 m"
    made = {measures.inserted(random.Random(seed), pair, phrases) for seed in range(100)}
    assert made == wanted | bracketed


def test_some_pairs_of_listed_languages_get_one(measures: ModuleType) -> None:
    pairs = [(f"the train {i}", f"der Zug {i}") for i in range(5000)]
    found = measures.measured(pairs, ("en", "de"), 1)
    assert (
        found
        == measures.measured(pairs, ("en", "de"), 1)
        != measures.measured(pairs, ("en", "de"), 2)
    )
    assert 130 < len(found) < 270
    assert all(new[0].startswith(f"{old[0]} ") and old != new for old, new in found.items())
    assert measures.measured(pairs, ("en", "pl"), 1) == {}
