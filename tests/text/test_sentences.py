"""Text into sentences, and what is said where the package is missing."""

from __future__ import annotations

import sys

import pytest

from bitextfilter.errors import DeviceError
from bitextfilter.text.sentences import split_sentences


def test_rules_are_of_the_language() -> None:
    assert split_sentences("Das ist z.B. einer.  Am 3. Mai kam er. Gut!", "de") == [
        "Das ist z.B. einer.",
        "Am 3. Mai kam er.",
        "Gut!",
    ]
    assert split_sentences("你好。世界！", "zh") == ["你好。", "世界！"]


def test_nothing() -> None:
    assert split_sentences("", "en") == []
    assert split_sentences("  ", "en") == []


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(DeviceError, match=r"bitextfilter\[sentences\]"):
        split_sentences("A. B.", "en")
