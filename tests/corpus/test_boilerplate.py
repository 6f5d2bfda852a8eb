"""Lines of boilerplate: many, in their language, whole."""

from __future__ import annotations

import random

import pytest

from bitextfilter.corpus.boilerplate import boilerplate_line, boilerplate_templates


@pytest.mark.parametrize("language", [*boilerplate_templates(), "xx"])
def test_lines_differ_and_have_no_gaps(language: str) -> None:
    chooser = random.Random(1)
    lines = [boilerplate_line(chooser, language) for _ in range(2000)]
    assert len(set(lines)) > 1000
    assert all(line.isprintable() and not set(line) & set("{}") for line in lines)


def test_languages_differ_and_others_are_english() -> None:
    lines = {
        language: {boilerplate_line(random.Random(seed), language) for seed in range(200)}
        for language in ("en", "de", "fr", "xx")
    }
    assert lines["xx"] == lines["en"]
    assert not lines["de"] & lines["en"] and not lines["de"] & lines["fr"]
