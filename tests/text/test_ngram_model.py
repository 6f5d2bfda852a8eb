"""ARPA files of n-gram models."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.text.ngram_model import NgramModel, arpa_units, read_arpa, write_arpa
from bitextfilter.text.words import TokenUnits

ARPA = """\
# bitextfilter unit=words lowercase=no

\\data\\
ngram 1=5
ngram 2=4
ngram 3=2

\\1-grams:
-2.5\t<unk>
-99\t<s>\t-0.5
-1.25\t</s>
-0.5\tb\t-0.125
-0.75\tä\t-0.25

\\2-grams:
-0.25\tä b\t-0.0625
-0.375\t<s> ä\t-0.03125
-0.4375\tb </s>
-1\tä <unk>\t-2

\\3-grams:
-0.015625\t<s> ä b
-0.0078125 ä b </s>

\\end\\
"""


def model_of(text: str | bytes, folder: Path) -> NgramModel:
    path = folder / "model.arpa"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_arpa(path)


def naive(text: str, tokens: list[str]) -> float:
    """The log10 probability of a sentence, from the lines of an ARPA file as they stand."""
    grams: dict[tuple[str, ...], tuple[float, float]] = {}
    n = 0
    for line in text.split("\n"):
        if line.endswith("-grams:"):
            n = int(line[1])
        elif n and line and not line.startswith("\\"):
            number, *rest = line.split()
            grams[tuple(rest[:n])] = float(number), float(rest[n]) if len(rest) > n else 0.0

    def logprob(context: tuple[str, ...], word: str) -> float:
        if (*context, word) in grams:
            return grams[(*context, word)][0]
        return grams.get(context, (0.0, 0.0))[1] + logprob(context[1:], word)

    known = [token if (token,) in grams else "<unk>" for token in tokens]
    words = ["<s>", *known, "</s>"]
    return sum(logprob(tuple(words[max(0, i - 2) : i]), words[i]) for i in range(1, len(words)))


def test_scores_by_hand(tmp_path: Path) -> None:
    model = model_of(ARPA, tmp_path)
    assert model.order == 3
    assert model.logprobs([["ä", "b"]]).tolist() == [-0.375, -0.015625, -0.0078125]
    assert model.scores([["ä", "b"]]).tolist() == [-0.3984375]
    # </s> after nothing backs off from <s>; b after <s> too, and then "b </s>" is a bigram.
    assert model.scores([[]]).tolist() == [-0.5 - 1.25]
    assert model.logprobs([["b"]]).tolist() == [-0.5 - 0.5, -0.4375]
    # "<s> ä" and "ä" are contexts, the trigram is not there; then nothing begins with <unk>.
    assert model.logprobs([["ä", "zz"]]).tolist() == [-0.375, -0.03125 - 1, -2 - 1.25]


def test_scores_are_those_of_the_definition_in_any_company(tmp_path: Path) -> None:
    model = model_of(ARPA, tmp_path)
    sentences = [
        list(tokens) for n in range(5) for tokens in itertools.product(["ä", "b", "zz"], repeat=n)
    ]
    scores = model.scores(sentences)
    np.testing.assert_allclose(scores, [naive(ARPA, tokens) for tokens in sentences], rtol=1e-12)
    assert scores.tolist() == [model.scores([tokens])[0] for tokens in sentences]
    assert model.scores([]).shape == (0,)


def test_batches_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(ARPA, tmp_path)
    drawn = random.Random(1)
    sentences = [drawn.choices(["ä", "b", "zz"], k=drawn.randrange(9)) for _ in range(50)]
    whole = model.scores(sentences)
    monkeypatch.setattr("bitextfilter.text.ngram_model._BATCH", 5)
    assert model.scores(sentences).tolist() == whole.tolist()


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    model = model_of(ARPA, tmp_path)
    stream = io.BytesIO()
    write_arpa(model, stream)
    again = model_of(stream.getvalue(), tmp_path)
    assert (again.words, again.units) == (model.words, TokenUnits("words", lowercase=False))
    for level, other in zip(model.levels, again.levels, strict=True):
        for one, two in zip(level, other, strict=True):
            assert (one.tolist(), one.dtype) == (two.tolist(), two.dtype)
    assert b"\n-0.4375\tb </s>\t0\n" in stream.getvalue()


@pytest.mark.parametrize(("name", "pack"), [("m.arpa.gz", gzip.compress), ("m.bz2", bz2.compress)])
def test_compressed_by_name(name: str, pack: object, tmp_path: Path) -> None:
    assert callable(pack)
    (tmp_path / name).write_bytes(pack(ARPA.encode()))
    assert read_arpa(tmp_path / name).order == 3
    assert arpa_units(tmp_path / name) == TokenUnits("words", lowercase=False)


def test_other_heads(tmp_path: Path) -> None:
    """Whatever stands before \\data\\ is no fault, and says nothing of the tokens."""
    text = ARPA.replace("# bitextfilter unit=words lowercase=no", "made by hand\n# or so")
    assert model_of(text, tmp_path).units is None
    assert arpa_units(tmp_path / "model.arpa") is None


def test_unknown_words(tmp_path: Path) -> None:
    """As KenLM: <UNK> is <unk>, and is least probable where there is none."""
    other = model_of(ARPA.replace("<unk>", "<UNK>"), tmp_path)
    assert other.scores([["zz", "ä", "zz"]]) == model_of(ARPA, tmp_path).scores([["y", "ä", "y"]])
    lines = [line for line in ARPA.split("\n") if "<unk>" not in line]
    text = "\n".join(lines).replace("ngram 1=5", "ngram 1=4").replace("ngram 2=4", "ngram 2=3")
    assert model_of(text, tmp_path).logprobs([["zz"]])[0] == -0.5 - 100


def test_a_length_without_ngrams(tmp_path: Path) -> None:
    text = ARPA[: ARPA.index("-0.015625")].replace("ngram 3=2", "ngram 3=0") + "\\end\\\n"
    assert model_of(text, tmp_path).logprobs([["ä", "b"]])[1] == -0.25 - 0.03125


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("\\data\\", "data", 8, "not an ARPA file"),
        (ARPA, "", 1, "too early"),
        (ARPA[ARPA.index("\\3-grams") :], "", 21, "too early"),
        (ARPA[ARPA.index("-0.0078") :], "", 23, "too early"),
        ("\\end\\", "", 26, "too early"),
        ("\\end\\", "end", 25, "expected \\\\end"),
        ("ngram 2=4", "ngram 3=4", 5, "expected ngram 2=COUNT"),
        ("ngram 2=4", "ngram 2=four", 5, "expected ngram 2=COUNT"),
        ("ngram 2=4", "ngram 2=5", 20, "not one of the 5 2-grams"),
        ("ngram 2=4", "ngram 2=3", 19, "expected \\\\3-grams"),
        ("ngram 1=5\nngram 2=4\nngram 3=2\n", "", 4, "no n-grams are counted"),
        ("\\2-grams", "\\4-grams", 15, "expected \\\\2-grams"),
        ("-0.5\tb\t", "nonsense\tb\t", 12, "a number up to 0"),
        ("-0.5\tb\t", "nan\tb\t", 12, "a number up to 0"),
        ("-0.5\tb\t", "0.5\tb\t", 12, "a number up to 0"),
        ("\tb\t-0.125", "\tb\tinf", 12, "a number up to 0"),
        ("-0.5\tb\t", "-0.5\tä\t", 13, "given twice"),
        ("-0.5\tb\t", "-0.5\tb c\t", 12, "not one of the 5 1-grams"),
        ("</s>\n-0.5", "c\n-0.5", 13, "</s> is missing"),
        ("-0.25\tä b\t", "-0.25\tä c\t", 16, "a 2-gram of unknown words"),
        ("-0.25\tä b\t", "-0.25\t<s> ä\t", 19, "a 2-gram is given twice"),
        ("<s> ä b\n", "b ä b\n", 22, "without its context"),
        ("-0.015625\t<s> ä b", "-0.015625\t<s> ä b\t0", 22, "not one of the 2 3-grams"),
        ("unit=words", "unit=syllables", None, "newer"),
    ],
)
def test_damage(old: str, new: str, line: int | None, message: str, tmp_path: Path) -> None:
    assert old in ARPA
    with pytest.raises(ModelError, match=message) as caught:
        model_of(ARPA.replace(old, new, 1), tmp_path)
    if line is not None:
        assert f"model.arpa:{line}: " in str(caught.value)


def test_other_damage(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not UTF-8"):
        model_of(ARPA.encode("latin-1"), tmp_path)
    with pytest.raises(ModelError, match="not an ARPA file"):
        model_of(b"mmap lm http://kheafield.com/code format version 5\n\0", tmp_path)
    with pytest.raises(NotFoundError):
        read_arpa(tmp_path / "none.arpa")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(ARPA.encode())[:-20])
    with pytest.raises(ModelError, match=r"cut\.gz"):
        read_arpa(tmp_path / "cut.gz")


def test_kenlm_scores_the_same(tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm")
    model = model_of(ARPA, tmp_path)
    other = kenlm.Model(str(tmp_path / "model.arpa"))
    for n in range(5):
        for tokens in itertools.product(["ä", "b", "zz"], repeat=n):
            assert model.scores([tokens])[0] == pytest.approx(
                other.score(" ".join(tokens)), abs=1e-5
            )
