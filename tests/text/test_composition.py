"""Normal forms of long texts."""

from __future__ import annotations

import unicodedata

import pytest
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.text.composition import normal_form

MARKS = ["\u0301", "\u0323", "\u0308", "\u0344", "\u0345", "\u0334", "\u093e", "\u20e0", "\u3099"]
PARTS = st.lists(
    st.sampled_from([*MARKS, *MARKS, "e", "é", "ố", "가", "ﾊ", "\u0f73"]), max_size=200
)


@given(PARTS, st.sampled_from(["NFC", "NFKC"]))
def test_is_that_of_unicodedata(parts: list[str], form: str) -> None:
    text = "".join(parts) * 20
    assert normal_form(text, form) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_takes_no_longer_for_marks_in_disorder(form: str) -> None:
    assert_linear(lambda n: normal_form("a" + "\u0301\u0323" * n, form), 250_000)
