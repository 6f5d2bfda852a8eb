"""The mistakes that ``mutate.py`` makes still find the formulas that they make wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutations import MUTATIONS, Mutation

import bitextfilter

PACKAGE = Path(bitextfilter.__file__).parent


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.formula}: {m.mistake}")
def test_the_formula_stands_where_the_mistake_is_made(mutation: Mutation) -> None:
    text = (PACKAGE / mutation.file).read_text(encoding="utf-8")
    assert text.count(mutation.right) == 1
    assert (PACKAGE.parent / mutation.tests).exists()
