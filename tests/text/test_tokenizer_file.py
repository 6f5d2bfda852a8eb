"""Tokenisers of other libraries: words read once give what whole sentences give."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

import pytest

from bitextfilter.text.tokenizer_file import TokenizerFile

pytest.importorskip("tokenizers")

SPACES = [chr(n) for n in range(0x3001) if chr(n).isspace() or unicodedata.category(chr(n)) == "Zs"]
ODD = [*SPACES, "\0", "\x01", "\u200b", "\u00ad", "\ufeff", "\u0301", "\u4e2d", "\u00df", "\u03a3"]
PIECES = [*"abc", "ab", "ABC", ".", "#", "##b", "[UNK]", "[MASK]", "na\u00efve", *ODD]


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


@pytest.mark.parametrize("normaliser", ["BertNormalizer", "Lowercase", "NFKC"])
@pytest.mark.parametrize("splitter", ["BertPreTokenizer", "Whitespace", "WhitespaceSplit"])
def test_words_give_what_sentences_give(tmp_path: Path, normaliser: str, splitter: str) -> None:
    read = TokenizerFile(written(tmp_path, normaliser, splitter))
    assert read.by_words
    chance = random.Random(1)
    texts = [
        "".join(chance.choices([*PIECES, " ", " "], k=chance.randrange(12))) for _ in range(4000)
    ]
    for first in range(0, len(texts), 40):
        some = texts[first : first + 40]
        whole = read._read(some)
        assert [row.tolist() for row in read(some)] == [row.tolist() for row in whole]
    assert [row.tolist() for row in read([])] == []


def test_only_known_steps_are_read_by_words(tmp_path: Path) -> None:
    assert not TokenizerFile(written(tmp_path, "NFKC", "Metaspace")).by_words
    assert not TokenizerFile(written(tmp_path, "Nmt", "Whitespace")).by_words
    assert not TokenizerFile(written(tmp_path, "NFC", "Whitespace", mark="two words")).by_words
    assert not TokenizerFile(written(tmp_path, "NFD", "Whitespace"), longest=9).by_words
