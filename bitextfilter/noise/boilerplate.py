"""Lines that web pages repeat, drawn from templates."""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any

from bitextfilter.io.files import read_toml

_SURNAMES = (
    "Adams Albrecht Baker Becker Bernard Brandt Clark Dubois Fischer Girard Harris Hoffmann Jensen "
    "Keller Lambert Lehmann Martin Meyer Miller Moreau Novak Petit Richter Rossi Schulz Turner "
    "Vogel Walker Weber Winter"
)
_FORENAMES = "Anna Ben Carla David Emma Felix Hugo Julia Laura Marc Nina Paul Sara Thomas"


@functools.cache
def _boilerplate_templates() -> dict[str, dict[str, Any]]:
    """Return the templates of web pages' boilerplate in each language."""
    return read_toml(Path(__file__).with_name("boilerplate.toml"))


def boilerplate_line(chooser: random.Random, language: str) -> str:
    """Return a line of boilerplate in *language*, else in English, drawn by *chooser*."""
    templates = _boilerplate_templates()
    table = templates.get(language, templates["en"])
    return str(chooser.choice(table["lines"])).format_map(_Fields(chooser, table))


def remark(chooser: random.Random, language: str, text: str) -> str:
    """Return *text* with a remark of a language model, in *language* or in English, or a refusal.

    Drawn by *chooser*.
    """
    templates = _boilerplate_templates()
    tables = [templates.get(language, templates["en"]), templates["en"]]
    line: str = chooser.choice(chooser.choice(tables).get("remarks", templates["en"]["remarks"]))
    return line.replace("{text}", text)


class _Fields:
    """Values of the names in braces, drawn anew each time."""

    def __init__(self, chooser: random.Random, table: dict[str, Any]) -> None:
        self._chooser = chooser
        self._table = table

    def __getitem__(self, name: str) -> str:
        value: str = getattr(self, f"_{name}")()
        return value

    def _year(self) -> str:
        return str(self._chooser.randint(1998, 2024))

    def _number(self) -> str:
        return str(self._chooser.randint(2, 9999))

    def _surname(self) -> str:
        return self._chooser.choice(_SURNAMES.split())

    def _company(self) -> str:
        return f"{self._surname()} {self._chooser.choice(self._table['companies'])}"

    def _domain(self) -> str:
        end = self._chooser.choice(self._table["domains"])
        return f"{self._surname().lower()}-{self._surname().lower()}.{end}"

    def _mail(self) -> str:
        return f"{self._chooser.choice(('info', 'contact', 'office'))}@{self._domain()}"

    def _name(self) -> str:
        return f"{self._chooser.choice(_FORENAMES.split())} {self._surname()}"

    def _phone(self) -> str:
        parts = (self._chooser.randint(10, 9999) for _ in range(3))
        return f"+{self._chooser.randint(30, 49)} {' '.join(map(str, parts))}"

    def _date(self) -> str:
        day, month = self._chooser.randint(1, 28), self._chooser.randint(1, 12)
        return str(self._table["date"]).format(day=day, month=month, year=self._year())

    def _price(self) -> str:
        euros, cents = self._chooser.randint(1, 999), self._chooser.randint(0, 99)
        return str(self._table["price"]).format(euros=euros, cents=cents)

    def _trail(self) -> str:
        """Return a breadcrumb trail from the first page on."""
        first, *others = self._table["sections"].split()
        steps = self._chooser.sample(others, self._chooser.randint(2, 5))
        return self._chooser.choice((" > ", " » ", " / ")).join([first, *steps])

    def _menu(self) -> str:
        sections = self._table["sections"].split()
        items = self._chooser.sample(sections, self._chooser.randint(4, 9))
        return self._chooser.choice((" | ", " · ", " - ")).join(items)
