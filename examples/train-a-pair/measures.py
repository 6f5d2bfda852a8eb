"""Measures, times and dates as translators convert them: 80 feet are 25 metres, 3 p.m. is 15 Uhr.

Few training texts have them, and a classifier that has not seen them takes any other figure for a
mistake. :func:`measured` puts one on both sides of a pair, each in the manner of its language:
English has other units, too. Languages that are not listed get none.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import date, timedelta

Pair = tuple[str, str]
Measure = Callable[[random.Random, str, str], Pair]
"""From two languages to one phrase in each."""

METRIC = {
    "m": {"en": "metres|meters|m", "de": "Meter|Metern|m", "fr": "mètres|m", "cs": "metrů|m"},
    "km": {"en": "kilometres|kilometers|km", "de": "Kilometer|Kilometern|km"}
    | {"fr": "kilomètres|km", "cs": "kilometrů|km"},
    "cm": {"en": "centimetres|cm", "de": "Zentimeter|cm", "fr": "centimètres|cm", "cs": "cm"},
    "ha": {"en": "hectares|ha", "de": "Hektar|ha", "fr": "hectares|ha", "cs": "hektarů|ha"},
    "km²": {"en": "square kilometres|km²", "de": "Quadratkilometer|km²"}
    | {"fr": "kilomètres carrés|km²", "cs": "km²"},
    "m²": {"en": "square metres|m²", "de": "Quadratmeter|m²", "fr": "mètres carrés|m²", "cs": "m²"},
    "kg": {"en": "kilograms|kilos|kg", "de": "Kilogramm|Kilo|kg", "fr": "kilos|kg", "cs": "kg"},
    "l": {"en": "litres|liters", "de": "Liter|Litern", "fr": "litres", "cs": "litrů"},
    "km/h": {"en": "km/h|kilometres per hour", "de": "km/h|Stundenkilometer"}
    | {"fr": "km/h|kilomètres à l'heure", "cs": "km/h"},
    "°C": dict.fromkeys(("de", "fr", "cs"), "°C") | {"en": "°C|degrees Celsius"}
    | {"de": "°C|Grad|Grad Celsius", "fr": "°C|degrés"},
}
"""What units are called, after a number of them."""
IMPERIAL = [
    ("feet|ft|-foot", "m", 0.3048, 0),
    ("yards", "m", 0.9144, 0),
    ("miles|miles|-mile", "km", 1.609344, 0),
    ("inches|-inch", "cm", 2.54, 0),
    ("acres|-acre", "ha", 0.40468564, 0),
    ("square miles", "km²", 2.58998811, 0),
    ("square feet|sq ft", "m²", 0.09290304, 0),
    ("pounds|lbs", "kg", 0.45359237, 0),
    ("gallons", "l", 3.785411784, 0),
    ("mph|miles an hour", "km/h", 1.609344, 0),
    ("°F|degrees|degrees Fahrenheit", "°C", 5 / 9, -160 / 9),
]
"""English units, and the metric ones that stand for them: factor and offset."""
SEPARATORS = {"en": ",.", "de": ".,", "fr": "\N{NARROW NO-BREAK SPACE},", "cs": "\xa0,"}
"""What stands before the thousands, and what before the tenths."""
TIMES = {
    "en": "at {hour12} {half}|at {hour12}:{minute} {half}|at {hour12}.{minute} {half}",
    "de": "um {hour} Uhr|um {hour}.{minute} Uhr|um {hour}:{minute} Uhr",
    "fr": "à {hour} heures|à {hour}h{minute}|à {hour} h {minute}",
    "cs": "v {hour} hodin|v {hour}.{minute}|v {hour}:{minute}",
}
"""The first of each is for full hours only."""
DATES = {
    "en": "on {month}/{day}/{year}|on {month:02}/{day:02}/{year}|on {year}-{month:02}-{day:02}",
    "de": "am {day}.{month}.{year}|am {day:02}.{month:02}.{year}|am {day}. {month}. {year}",
    "fr": "le {day}/{month}/{year}|le {day:02}/{month:02}/{year}|le {day}.{month}.{year}",
    "cs": "{day}. {month}. {year}|{day}.{month}.{year}|dne {day}. {month}. {year}",
}
SHARE = 0.04
"""The part of the pairs that gets one."""
MARK = re.compile(r"[,;:](?=\s)|(?<![.!?])[.!?]*$")
"""What one stands before: a mark within the text, or those at its end."""


def number(value: float, language: str) -> str:
    """Two digits that count, and the language's separators."""
    value = float(f"{value:.2g}")
    thousands, tenths = SEPARATORS[language]
    text = f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"
    return text.translate({ord(","): thousands, ord("."): tenths})


def quantity(draw: random.Random, *languages: str) -> Pair:
    """So much of a unit; in English, mostly of one of its own."""
    own, unit, factor, offset = draw.choice(IMPERIAL)
    value = draw.choice((1, 2, 3, 5, 8, 12, 15, 25, 40, 60, 75, 90)) * draw.choice((1, 1, 10, 100))
    imperial = draw.random() < 0.75

    def phrase(language: str) -> str:
        english = language == "en" and imperial
        name = draw.choice((own if english else METRIC[unit][language]).split("|"))
        figure = number(value if english else value * factor + offset, language)
        return f"{figure}{name}" if name.startswith("-") else f"{figure} {name}"

    return phrase(languages[0]), phrase(languages[1])


def time(draw: random.Random, *languages: str) -> Pair:
    """A time of day: English counts to twelve twice."""
    hour = draw.randrange(24)
    minute = draw.choice(("00", "00", "10", "15", "30", "45"))
    half = draw.choice((("a.m.", "p.m."), ("am", "pm"), ("AM", "PM")))[hour >= 12]
    values = {"hour": hour, "hour12": (hour - 1) % 12 + 1, "minute": minute, "half": half}
    whole = int(minute == "00")
    sayings = [draw.choice(TIMES[language].split("|")[1 - whole :]) for language in languages]
    return sayings[0].format(**values), sayings[1].format(**values)


def day(draw: random.Random, *languages: str) -> Pair:
    """A date in figures."""
    on = date(1950, 1, 1) + timedelta(days=draw.randrange(365 * 80))
    values = {"day": on.day, "month": on.month, "year": on.year}
    sayings = [draw.choice(DATES[language].split("|")) for language in languages]
    return sayings[0].format(**values), sayings[1].format(**values)


MEASURES: dict[Measure, int] = {quantity: 3, time: 2, day: 1}
"""With their weights."""


def inserted(draw: random.Random, pair: Pair, phrases: Pair) -> Pair:
    """Each phrase before the same mark, if both sides have as many; else at the end."""
    places = [[mark.start() for mark in MARK.finditer(text)] for text in pair]
    place = draw.randrange(len(places[0])) if len(places[0]) == len(places[1]) else -1
    form = draw.choice((" {}", " {}", " ({})"))
    sides = [
        text[: marks[place]] + form.format(phrase) + text[marks[place] :]
        for text, marks, phrase in zip(pair, places, phrases, strict=True)
    ]
    return sides[0], sides[1]


def measured(pairs: list[Pair], languages: tuple[str, str], seed: int) -> dict[Pair, Pair]:
    """Pairs that get a measure, and what they are then."""
    if not set(languages) <= set(SEPARATORS):
        return {}
    draw = random.Random(seed)
    kinds, weights = list(MEASURES), list(MEASURES.values())
    drawn = [pair for pair in pairs if draw.random() < SHARE]
    return {
        pair: inserted(draw, pair, draw.choices(kinds, weights)[0](draw, *languages))
        for pair in drawn
    }
