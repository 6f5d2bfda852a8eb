"""Quantities: figures with a unit, and which units measure the same thing."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import regex

from bitextfilter.filters.numbers import Number, scale_words

_UNITS = """
millimetre length 0.001
    mm millimeter* millimetre* millimètre* milímetro* millimetri milimetr* миллиметр* 毫米
centimetre length 0.01
    cm centimeter* centimetre* centimètre* centímetro* centimetri centimetr* zentimeter* 厘米
    сантиметр*
metre length 1
    m meter* metre* mètre* metro metros metri metr metru metry metrů metrech metrem metrów метр* 米
kilometre length 1000
    km kilometer* kilometre* kilomètre* kilómetro* quilómetro* quilômetro* chilometr* kilometr*
    километр* 公里
inch length 0.0254
    inch inches zoll pouce pouces pulgada* pollici polegada* palec palce palců palcový* cali дюйм*
foot length 0.3048
    ft foot feet ' ′ fuß pied pieds pies piedi pés voet stopa stopy stop stopách футов фута 英尺
yard length 0.9144
    yd yds yard yards jard jardy jardů ярд*
mile length 1609.344
    mile miles meile* milla millas miglia milha milhas mijl míle míli mílí mila mil mili миля мили
    миль 英里
milligram mass 1e-6
    mg milligram* miligram* миллиграмм*
gram mass 0.001
    g gram grams gramm gramme grammes gramo gramos grammi gramas gramů gramy грамм* 克
kilogram mass 1
    kg kilo kilos kilogram* chilogramm* chili quilo* килограмм* 公斤
tonne mass 1000
    t ton tons tonne* tonelada* tonnellat* tuna tun tuny тонн* 吨
pound mass 0.4536
    lb lbs pound pounds pfund livre livres libra libras libbre liber фунт* 磅
ounce mass 0.02835
    oz ounce ounces unze unzen once onces onza onzas unce uncí унци*
millilitre volume 0.001
    ml milliliter* millilitre* mililitr* mililitro* миллилитр*
litre volume 1
    l liter* litre* litro litros litri litr litry litrů litrów литр* 升
gallon volume 3.785
    gallon* gallone* galones galon galonů галлон*
square-metre area 1
    m² qm sqm
hectare area 1e4
    ha hectare* hectárea* hektar* ettari гектар* 公顷
acre area 4046.86
    acre acres akr akry akrů akrech akrov* acri акр* 英亩
square-kilometre area 1e6
    km² sqkm
kilometre-per-hour speed 1
    km/h kmh kph stundenkilometer*
mile-per-hour speed 1.609
    mph
celsius temperature 1
    °c ℃ ° degree degrees grad degré degrés grados gradi graus stupeň stupňů stupně stopni градус*
    度
fahrenheit temperature 0.5556 -32
    °f ℉ ° degree degrees grad degré degrés grados gradi graus stupeň stupňů stupně stopni градус*
    度
percent share 1
    % ％ percent* prozent* procent* porcent* percentual* pct процент*
second time 1
    s sec secs sek second seconds sekunde* seconde* segundo* secondi sekund* секунд* 秒
minute time 60
    m min mins minute* minuto* minuti minut* минут* 分钟
hour time 3600
    h hr hrs hour hours hourly stunde* stündig* heure* hora horas ore uur uren hodin* godzin* timm*
    час часа часов 小时
day time 86400
    day days daily tag tage tagen tages tägig* jour jours día días dia dias giorni giorno dag dagen
    dagar den dny dnů dní dnech dn dni dzień день дня дней 天
week time 604800
    week weeks woche* wöchig* semaine* semana semanas settiman* weken týden týdn* tydzień tygodn*
    vecka veckor недел* 周
month time 2629800
    month months monat* mois mes meses mesi mês maand* měsíc* miesi* månad* месяц* 个月
year time 31557600
    yr yrs year years jahr* jähr* ans année* año años anno anni ano anos jaar jar rok roku roky let
    lat år лет год года 年
dollar money-dollar 1
    $ us$ usd dollar* dólar* dolar* доллар* 美元
euro money-euro 1
    € eur euro* evro евро 欧元
pound-sterling money-pound 1
    £ gbp pound pounds pfund livre livres libra libras liber libr* sterlin* quid фунт* 英镑
yen money-yen 1
    ¥ jpy yen jenů иен*
yuan money-yuan 1
    ¥ cny rmb yuan* jüan* юан* 元
franc money-franc 1
    chf franken franc francs franků
crown money-crown 1
    kč czk sek nok dkk crown crowns korun* krone* kronor kroner
rouble money-rouble 1
    ₽ rub rouble* rubel rublů rubles roubl* рубл*
kilobyte data 1e3
    kb kib kilobyte*
megabyte data 1e6
    mb mib megabyte*
gigabyte data 1e9
    gb gib gigabyte*
terabyte data 1e12
    tb tib terabyte*
watt power 1
    watt watts ватт*
kilowatt power 1e3
    kw kilowatt* киловатт*
megawatt power 1e6
    mw megawatt* мегаватт*
"""
"""Name, what it measures, how much of the base unit (and what to add before); how it is written.

A form that ends in ``*`` may go on. A form of two units may mean either.
"""

_RANGE = r"\s?(?:[-–—]|to|bis|au|à|až|do|tot|till)\s?[0-9][0-9.,]*"
_PER = r"\s?(?:/|(?:per|pro|an|a|za|v|par|por|na)\s\p{L}|all'|à l)"
_ENTRY = regex.compile(r"\n(?! )")
_PREFIXES = "us$ $ € £ ¥ ₽ usd eur gbp jpy cny chf kč".split()  # noqa: SIM905 - one line
_LONGEST_PREFIX = 5

_TOLERANCE = 0.1
"""How far apart a converted quantity may be, of the larger one: conversions are rounded."""


class Unit(NamedTuple):
    """A unit: what it measures, and ``(value + offset) * factor`` of that in the base unit."""

    name: str
    measures: str
    factor: float
    offset: float = 0.0


class Quantity(NamedTuple):
    """A number and the units that it may be of."""

    number: Number
    text: str
    units: frozenset[Unit]

    @property
    def values(self) -> set[str]:
        """The values that the number may have."""
        return {reading[0] for reading in self.number.readings if len(reading) == 1}

    def converts_to(self, other: Quantity) -> bool:
        """Say whether *other* may be the same in another unit, give or take a tenth."""
        return any(
            one.name != two.name and one.measures == two.measures and _near(first, second)
            for one, first in self._amounts()
            for two, second in other._amounts()
        )

    def _amounts(self) -> Iterator[tuple[Unit, float]]:
        for unit in self.units:
            for value in self.values:
                yield unit, (float(value) + unit.offset) * unit.factor


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _TOLERANCE * max(one, other)


def read_quantities(text: str, numbers: Iterable[Number]) -> list[Quantity]:
    """Return those of the *numbers* of a *text* that have a unit."""
    return list(filter(None, (_quantity(text, number) for number in numbers)))


def _quantity(text: str, number: Number) -> Quantity | None:
    before, after = _patterns()
    start, end = number.start, number.end
    found: frozenset[Unit] = frozenset()
    if unit := before.search(text, max(0, number.start - _LONGEST_PREFIX), number.start):
        start = unit.start()
        found = _units_of(unit[1])
    elif unit := after.match(text, number.end):
        end = unit.end()
        found = _units_of(unit[1])
    return Quantity(number, text[start:end], found) if found else None


@functools.lru_cache(maxsize=1 << 12)
def _units_of(form: str) -> frozenset[Unit]:
    """Return the units that are written so."""
    folded = form.lower()
    exact, stems = _table()
    found = exact.get(folded, frozenset())
    if not found:
        for size in range(len(folded), 0, -1):
            if folded[:size] in stems:
                return stems[folded[:size]]
    return found


@functools.cache
def _table() -> tuple[dict[str, frozenset[Unit]], dict[str, frozenset[Unit]]]:
    """Return the units by their whole forms, and by how their longer forms begin."""
    exact: dict[str, set[Unit]] = {}
    stems: dict[str, set[Unit]] = {}
    for unit, form in _forms():
        where, key = (stems, form[:-1]) if form.endswith("*") else (exact, form)
        where.setdefault(key.lower(), set()).add(unit)
    return (
        {form: frozenset(units) for form, units in exact.items()},
        {form: frozenset(units) for form, units in stems.items()},
    )


def _forms() -> Iterator[tuple[Unit, str]]:
    """Read the table: a line on the unit, and indented ones of how it is written."""
    for entry in _ENTRY.split(_UNITS.strip()):
        head, *lines = entry.splitlines()
        name, measures, *numbers = head.split()
        unit = Unit(name, measures, *map(float, numbers))
        for form in " ".join(lines).split():
            yield unit, form


@functools.cache
def _patterns() -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Return what finds a unit that ends where a number starts, and one that follows."""
    exact, stems = _table()
    words = [regex.escape(form) for form in exact]
    words += [rf"{regex.escape(stem)}\p{{L}}*" for stem in stems]
    either = "|".join(sorted(words, key=len, reverse=True))
    prefixes = "|".join(map(regex.escape, _PREFIXES))
    return (
        regex.compile(rf"({prefixes})\s?$", regex.IGNORECASE),
        regex.compile(
            rf"(?:{_RANGE})?[\s-]?(?:(?:{scale_words()})\s)?(?:de\s|d')?({either})(?![\p{{Latin}}\p{{Cyrillic}}\p{{N}}])"
            rf"(?!{_PER})",
            regex.IGNORECASE,
        ),
    )
