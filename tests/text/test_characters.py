"""Tables of properties, against the expression for one character after the other."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import regex
from numpy.typing import NDArray

from bitextfilter.text.characters import in_category, in_script, is_alphabetic

CODES = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
TEXT = "".join(map(chr, CODES))


@pytest.mark.parametrize(
    ("table", "expression"),
    [
        (in_category("L"), r"\p{L}"),
        (in_category("Lu", "Nd"), r"[\p{Lu}\p{Nd}]"),
        (in_category("Cn"), r"\p{Cn}"),
        (in_category("Cc", "Co", "Cf"), r"[\p{Cc}\p{Co}\p{Cf}]"),
        (in_script("Han", "Yi"), r"[\p{Script=Han}\p{Script=Yi}]"),
        (in_script("Common", "Unknown"), r"[\p{Script=Common}\p{Script=Unknown}]"),
        (is_alphabetic(), r"\p{Alphabetic}"),
    ],
)
def test_tables_have_the_property_of_each_character(
    table: NDArray[np.bool_], expression: str
) -> None:
    found = sorted(map(ord, regex.findall(expression, TEXT)))
    assert np.flatnonzero(table).tolist() == found
    assert not table.flags.writeable


def test_surrogates_have_no_property() -> None:
    assert not in_category("C")[0xD800:0xE000].any()
