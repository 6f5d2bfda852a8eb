"""Tokenisers of other libraries: words read once give what whole sentences give."""

from __future__ import annotations

import io
import random
import unicodedata
from pathlib import Path

import pytest

from bitextfilter.text.tokenizer_file import TokenizerFile

pytest.importorskip("tokenizers")

SPACES = [chr(n) for n in range(0x3001) if chr(n).isspace() or unicodedata.category(chr(n)) == "Zs"]
ODD = [*SPACES, "\0", "\x01", "\u200b", "\u00ad", "\ufeff", "\u0301", "\u4e2d", "\u00df", "\u03a3"]
PIECES = [*"abc", "ab", "ABC", ".", "#", "##b", "[UNK]", "[MASK]", "na\u00efve", *ODD]


def marked(folder: Path, scheme: str, precompiled: bytes, *, joined: bool = True) -> Path:
    """A tokeniser like SentencePiece's, with the normaliser of a model of SentencePiece."""
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

    words = ["a", "b", "ab", "\u2581", "\u2581a", "\u2581ab", "\u2581A", "c", "abc", "\u4e2d"]
    pieces = [("<unk>", 0.0), *((word, -1.0 - len(words) / 9) for word in words)]
    made = Tokenizer(models.Unigram(pieces, unk_id=0))
    steps = [normalizers.Precompiled(precompiled)]
    if joined:
        steps += [normalizers.Strip(left=False), normalizers.Replace(Regex(" {2,}"), "\u2581")]
    made.normalizer = normalizers.Sequence(steps)
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    made.add_tokens([AddedToken("[MASK]", lstrip=True), AddedToken("[UNK]")])
    path = folder / "tokenizer.json"
    made.save(str(path))
    return path


def written(folder: Path, normaliser: str, splitter: str, mark: str = "[MASK]") -> Path:
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

    pieces = ["[UNK]", *"abc.#", "##a", "##b", "##c", "ab", "\u4e2d", "\u00df", "##\u03c3"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = getattr(normalizers, normaliser)()
    made.pre_tokenizer = getattr(pre_tokenizers, splitter)()
    made.add_tokens([AddedToken(mark, lstrip=True, rstrip=True)])
    path = folder / f"{normaliser}.{splitter}.json"
    made.save(str(path))
    return path


def check(read: TokenizerFile, pieces: list[str]) -> None:
    """Sentences read by their words have the ids of sentences read whole."""
    assert read.by_words
    chance = random.Random(1)

    def word() -> str:
        return "".join(chance.choices(pieces, k=chance.randrange(1, 4)))

    def between() -> str:
        return " " if chance.random() < 0.95 else "".join(chance.choices([*SPACES, " ", ""], k=2))

    texts = [
        "".join(word() + between() for _ in range(chance.randrange(6))) + word() * (row % 9 > 0)
        for row in range(4000)
    ]
    for first in range(0, len(texts), 40):
        some = texts[first : first + 40]
        assert [row.tolist() for row in read(some)] == [row.tolist() for row in read._read(some)]
    assert [row.tolist() for row in read([])] == []


@pytest.mark.parametrize("normaliser", ["BertNormalizer", "Lowercase", "NFKC"])
@pytest.mark.parametrize("splitter", ["BertPreTokenizer", "Whitespace", "WhitespaceSplit"])
def test_words_give_what_sentences_give(tmp_path: Path, normaliser: str, splitter: str) -> None:
    check(TokenizerFile(written(tmp_path, normaliser, splitter)), PIECES)


RULES = {
    " \u0301": "b",
    "\u0600 ": "c",
    "\u00a8": " \u0308",
    "\u00a0": " ",
    "\u200b": " ",
    "\ufeff": "",
}
"""What a normaliser of SentencePiece makes of characters, those beside a space among them."""


@pytest.fixture(scope="module", params=["nmt_nfkc", "rules"])
def precompiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The normaliser of SentencePiece's default, and one of our own."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    made, rules = io.BytesIO(), tmp_path_factory.mktemp("rules") / "rules.tsv"
    codes = [[" ".join(f"{ord(c):X}" for c in text) for text in rule] for rule in RULES.items()]
    rules.write_text("".join("\t".join(rule) + "\n" for rule in codes))
    own = {"normalization_rule_tsv": str(rules)}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c ab abc"]),
        model_writer=made,
        vocab_size=8,
        model_type="unigram",
        minloglevel=2,
        **(own if request.param == "rules" else {"normalization_rule_name": "nmt_nfkc"}),
    )
    model = sentencepiece_model_pb2.ModelProto.FromString(made.getvalue())
    found: bytes = model.normalizer_spec.precompiled_charsmap
    assert found
    return found


@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize("scheme", ["always", "first"])
def test_marked_words_give_what_sentences_give(
    tmp_path: Path, scheme: str, precompiled: bytes, joined: bool
) -> None:
    read = TokenizerFile(marked(tmp_path, scheme, precompiled, joined=joined))
    plain = [*"abcab\u4e2d"] * 20
    check(read, [*plain, *ODD[len(SPACES) :], *"\u2581\u00a8\ufdfa\u0600\u200d", "[MASK]", "[UNK]"])
    usual = ["a b ab", "abc \u4e2d\u00df"]
    assert not any(map(read._cut.unusual_sentence, usual))  # type: ignore[union-attr]
    assert -1 not in read._by_words(usual).flat


def test_only_known_steps_are_read_by_words(tmp_path: Path) -> None:
    assert TokenizerFile(written(tmp_path, "NFKC", "Metaspace")).by_words
    assert not TokenizerFile(written(tmp_path, "NFKC", "ByteLevel")).by_words
    assert not TokenizerFile(written(tmp_path, "Nmt", "Whitespace")).by_words
    assert not TokenizerFile(written(tmp_path, "NFC", "Whitespace", mark="two words")).by_words
    assert not TokenizerFile(written(tmp_path, "NFD", "Whitespace"), longest=9).by_words
