"""The pictures of the documentation against the tables that they show."""

from __future__ import annotations

import re
import runpy

import pytest
from console import ROOT

pytest.importorskip("matplotlib", reason="needs the extra report")
SCRIPT = runpy.run_path(str(ROOT / "benchmarks" / "plots.py"))
DRAWINGS, PICTURES, picture = (SCRIPT[name] for name in ("DRAWINGS", "PICTURES", "picture"))


def words(svg: bytes) -> list[str]:
    """The texts of a picture. Its lines may differ between versions of matplotlib."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.decode())


@pytest.mark.gate(4)
@pytest.mark.parametrize("name", DRAWINGS)
def test_a_picture_shows_the_figures_of_its_table(name: str) -> None:
    made = picture(name)
    assert made == picture(name)
    assert len(words(made)) > 10
    assert words(made) == words((PICTURES / f"{name}.svg").read_bytes())


def test_every_picture_is_shown_and_no_other() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    drawn = {*DRAWINGS, "languages"}  # tests/system/test_multi.py holds that one to its model
    drawn.add("reliability")  # examples/people/reliability.py draws it of labels that are elsewhere
    shown = {name for name in drawn if f"pictures/{name}.svg" in pages}
    assert shown == drawn == {path.stem for path in PICTURES.glob("*.svg")}
