"""Language models of the rules of fluency: files, KenLM or not, and settings."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.errors import DeviceError, ModelError, NotFoundError, SettingsError
from bitextfilter.filters.fluency import CrossEntropy, Perplexity, load_language_model
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import make_rule, parse_rule
from bitextfilter.text.ngram_model import write_arpa
from bitextfilter.text.words import TokenUnits
from bitextfilter.training.monolingual import NgramSettings, TokenCorpus, estimate

WORDS = ["Haus", "Baum", "alt", "rot", "ist", "das", "ein", "grün."]


def text(seed: int, count: int) -> list[str]:
    drawn = random.Random(seed)
    return [" ".join(drawn.choices(WORDS, k=drawn.randrange(1, 9))) for _ in range(count)]


def arpa(path: Path, units: TokenUnits, order: int = 3) -> str:
    corpus = TokenCorpus(units(sentence) for sentence in text(1, 200))
    with open(path, "wb") as stream:
        write_arpa(estimate(corpus, NgramSettings(order), units).model, stream)
    return str(path)


@pytest.mark.parametrize("unit", ["words", "tokens", "characters"])
def test_a_file_says_what_its_tokens_are(unit: str, tmp_path: Path) -> None:
    path = arpa(tmp_path / "model.arpa", TokenUnits(unit))
    logprobs, counts = load_language_model(path).scores(["Das HAUS.", ""])
    assert counts.tolist() == [{"words": 3, "tokens": 4, "characters": 12}[unit], 1]
    assert logprobs.tolist() == load_language_model(path).scores(["das haus.", " "])[0].tolist()
    kept, _ = load_language_model(path, lowercase=False).scores(["Das HAUS."])
    assert kept[0] < logprobs[0]
    assert load_language_model(path, "characters").scores(["ab c"])[1].tolist() == [7]


@pytest.mark.parametrize("order", [2, 3, 6])
def test_kenlm_and_our_reader_agree(
    order: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("kenlm")
    path = arpa(tmp_path / "model.arpa", TokenUnits("characters"), order)
    sentences = [*text(2, 100), "", "漢字 <s> \u0301"]
    by_kenlm, counts = load_language_model(path).scores(sentences)
    monkeypatch.setitem(sys.modules, "kenlm", None)
    load_language_model.cache_clear()
    by_us, same = load_language_model(path).scores(sentences)
    load_language_model.cache_clear()
    np.testing.assert_allclose(by_kenlm, by_us, rtol=1e-5)
    assert counts.tolist() == same.tolist()
    assert by_kenlm.tolist() != by_us.tolist()  # one is in float32, the other is not


@pytest.mark.parametrize("order", [1, 7])
def test_orders_that_kenlm_does_not_take(order: int, tmp_path: Path) -> None:
    path = arpa(tmp_path / "model.arpa", TokenUnits("characters"), order)
    assert (load_language_model(path).scores(text(2, 3))[0] < 0).all()


def test_binary_files_need_kenlm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.binary"
    path.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0cut")
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(DeviceError, match=r"pip install 'bitextfilter\[kenlm\]'"):
        load_language_model(str(path))


def test_a_damaged_binary_file(tmp_path: Path) -> None:
    pytest.importorskip("kenlm")
    path = tmp_path / "model.binary"
    path.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0cut")
    with pytest.raises(ModelError, match=r"model\.binary: KenLM cannot read it"):
        load_language_model(str(path))


def test_rules_find_bad_files_before_they_judge(tmp_path: Path) -> None:
    bad = tmp_path / "bad.arpa"
    bad.write_text("\\data\\\nngram 1=2\n\n\\1-grams:\n-1\t<s>\n", encoding="utf-8")
    rule = make_rule("perplexity", {"source": str(bad), "maximum": 9})
    with pytest.raises(ModelError, match=r"bad\.arpa:6: the file ends too early"):
        rule.prepare(None)
    with pytest.raises(NotFoundError):
        make_rule("perplexity", {"target": str(tmp_path / "none"), "maximum": 9}).prepare(None)
    good = arpa(tmp_path / "good.arpa", TokenUnits())
    both = {"source": good, "source-general": str(tmp_path / "none")}
    with pytest.raises(NotFoundError):
        make_rule("cross-entropy-difference", both).prepare(None)
    make_rule("perplexity", {"source": good, "maximum": 9}).prepare(None)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("perplexity:maximum=9", "perplexity: needs a language model"),
        ("perplexity:source=x", "needs a bound"),
        ("perplexity:source=x,maximum=9,units=syllables", "syllables"),
        (
            "cross-entropy:source=x,maximum=9,per=line",
            "per 'line' is none of token, word",
        ),
        ("cross-entropy-gap:source=x", "needs two models"),
        ("cross-entropy-difference:source=x", "a side needs two models"),
        ("cross-entropy-difference:source=x,target-general=y", "a side needs two models"),
        ("language-model-classifier:target=x", "needs two models"),
    ],
)
def test_settings(spec: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_rule(spec)


def test_values_are_what_they_are_called(tmp_path: Path) -> None:
    """From the probability of five tokens, or of four words, and the end."""
    path = arpa(tmp_path / "model.arpa", TokenUnits("tokens"))
    sentence = "das Haus ist grün."
    probability = 10 ** load_language_model(path).scores([sentence])[0][0]
    perplexity, by_token, by_word = (
        kind(source=path, maximum=1, **more).values(Pairs([sentence], ["anything"]))
        for kind, more in ((Perplexity, {}), (CrossEntropy, {}), (CrossEntropy, {"per": "word"}))
    )
    no = pytest.approx(np.nan, nan_ok=True)
    assert perplexity.tolist() == [[pytest.approx(probability ** (-1 / 6)), no]]
    assert by_token.tolist() == [[pytest.approx(-np.log2(probability) / 6), no]]
    assert by_word.tolist() == [[pytest.approx(-np.log2(probability) / 5), no]]
