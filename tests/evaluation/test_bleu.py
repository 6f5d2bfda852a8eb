"""BLEU, chrF and their comparison, against sacreBLEU on resampled texts."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest

from bitextfilter.evaluation.result import Bootstrap, resamples

pytest.importorskip("sacrebleu")

from bitextfilter.training.translator_training import bleu, bleu_difference, chrf

REFERENCES = [
    "the cat sat on the mat by the door",
    "two dogs run over a green field",
    "a man reads the paper on a bench",
    "children play in the snow",
    "it rains .",
]
GOOD = [REFERENCES[0], "two dogs run on a green field", *REFERENCES[2:]]
BAD = ["the cat on mat", "dogs field", "a man reads", "children in the snow play", "it rains ."]


def naive_chrf(translations: list[str], references: list[str]) -> float:
    """Popović 2015, with counts summed over the corpus: white space left out, n up to 6, β 2."""
    found = []
    for n in range(1, 7):
        matched = ours = theirs = 0
        for pair in zip(translations, references, strict=True):
            texts = ["".join(text.split()) for text in pair]
            a, b = (Counter(t[i : i + n] for i in range(len(t) - n + 1)) for t in texts)
            matched, ours = matched + (a & b).total(), ours + a.total()
            theirs += b.total()
        found.append((matched / ours, matched / theirs))
    precision, recall = (sum(side) / 6 for side in zip(*found, strict=True))
    return 100 * 5 * precision * recall / (4 * precision + recall)


@pytest.mark.parametrize("translations", [GOOD, BAD, BAD[1:] + BAD[:1]])
def test_chrf_is_that_of_its_definition(translations: list[str]) -> None:
    found = chrf(translations, REFERENCES)
    assert found.score == pytest.approx(naive_chrf(translations, REFERENCES))
    assert "nc:6" in found.signature and "nw:0" in found.signature


def test_perfect_translations() -> None:
    assert bleu(REFERENCES, REFERENCES).score == pytest.approx(100)
    assert chrf(REFERENCES, REFERENCES).score == pytest.approx(100)


def test_the_difference_is_that_of_bleu_on_resampled_sentences() -> None:
    bootstrap = Bootstrap(60, 7)
    found = bleu_difference(GOOD, BAD, REFERENCES, bootstrap)
    assert found.value == pytest.approx(bleu(GOOD, REFERENCES).score - bleu(BAD, REFERENCES).score)
    drawn = []
    for (counts,) in resamples([np.ones(5)], bootstrap):
        rows = [row for row, count in enumerate(counts.tolist()) for _ in range(int(count))]
        good, bad, references = ([t[row] for row in rows] for t in (GOOD, BAD, REFERENCES))
        drawn.append(bleu(good, references).score - bleu(bad, references).score)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))


def test_equal_translations_do_not_differ() -> None:
    assert bleu_difference(BAD, BAD, REFERENCES, Bootstrap(20)) == (0.0, 0.0, 0.0)


def test_an_empty_translation_and_no_word_of_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = bleu_difference(["", *GOOD[1:]], GOOD, REFERENCES, Bootstrap(20))
    assert found.value < 0
    assert caplog.records == []
