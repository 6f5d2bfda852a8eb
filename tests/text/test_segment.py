"""One contract for every segmenter; tokenisers of other libraries, which read each word once."""

import functools
import io
import random
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from subword_nmt import apply_bpe

from bitextfilter.errors import DeviceError, InputError, ModelError, NotFoundError, SettingsError
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.segment import (
    SEGMENTERS,
    UNKNOWN,
    Segmenter,
    SegmenterSettings,
    learn_segmenter,
    load_segmenter,
    sample,
    save_segmenter,
)
from bitextfilter.text.tokenizer_file import TokenizerFile
from bitextfilter.text.vocabulary import Vocabulary

normalise = Normalisation()


@functools.cache
def sentences() -> tuple[str, ...]:
    chooser = random.Random(3)
    stems = ["haus", "baum", "lauf", "tür", "light", "house", "garden", "slow"]
    endings = ["", "s", "en", "ing", "er", "tür"]
    return tuple(
        " ".join(chooser.choice(stems) + chooser.choice(endings) for _ in range(6)) + "."
        for _ in range(300)
    )


@functools.cache
def learnt(kind: str) -> Segmenter:
    return learn_segmenter(sentences(), SegmenterSettings(kind, vocabulary_size=80, merges=40))


every_kind = pytest.mark.parametrize("kind", SEGMENTERS)


@every_kind
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_join_undoes_segment(kind: str, text: str) -> None:
    normalised = normalise(text, "en")
    segmenter = learnt(kind)
    pieces = segmenter.segment_all([normalised])[0]
    assert segmenter.join(pieces) == normalised
    assert all(pieces)
    assert not any(" " in piece for piece in pieces)


@every_kind
@pytest.mark.parametrize(
    "text", ["", "baum@@ tür", "<s> </s> <unk>", "<pad> ▅ ⁇", "häuser", "xy" * 2_000, "@@ @ \\"]
)
def test_join_undoes_segment_on_awkward_text(kind: str, text: str) -> None:
    normalised = normalise(text, "en")
    assert learnt(kind).join(learnt(kind).segment_all([normalised])[0]) == normalised


@every_kind
def test_many_at_once_are_as_one_by_one(kind: str) -> None:
    some = [*sentences()[:20], "", "日本 unseen 🙂"]
    assert learnt(kind).segment_all(some) == [learnt(kind).segment_all([one])[0] for one in some]


@every_kind
def test_numbering_is_segmenting_and_looking_up(kind: str) -> None:
    segmenter = learnt(kind)
    some = [*sentences()[:50], "", "日本 unseen 🙂 baum", "<unk>"]
    pieces = segmenter.segment_all(some)
    known = segmenter.inventory()
    vocabulary = Vocabulary.build(
        ([p for p in row if known is None or p in known] for row in pieces[:30]), []
    )
    numbers = segmenter.numbering(vocabulary.index)(some)
    index = vocabulary.index
    assert [row.tolist() for row in numbers] == [[index.get(p, 1) for p in row] for row in pieces]
    assert numbers.flat.dtype == "int32"
    assert UNKNOWN in list(numbers)[-2]


@every_kind
def test_saved_and_loaded_is_equal(kind: str, tmp_path: Path) -> None:
    save_segmenter(learnt(kind), tmp_path)
    loaded = load_segmenter(tmp_path)
    assert loaded.kind == kind
    assert loaded.segment_all(sentences()) == learnt(kind).segment_all(sentences())
    assert loaded.inventory() == learnt(kind).inventory()


@every_kind
def test_learning_again_gives_the_same_files(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    contents = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        settings = SegmenterSettings(kind, vocabulary_size=80, merges=40, sample_size=100)
        save_segmenter(learn_segmenter(iter(sentences()), settings), tmp_path / name)
        contents.append({f.name: f.read_bytes() for f in (tmp_path / name).iterdir()})
    assert contents[0] == contents[1]
    assert {f.name for f in tmp_path.iterdir()} == {"first", "second"}
    assert capfd.readouterr() == ("", "")


@every_kind
def test_all_but_none_share_pieces_between_words(kind: str) -> None:
    words = {word for sentence in sentences() for word in sentence.split()}
    pieces = {p for row in learnt(kind).segment_all(sentences()) for p in row}
    assert (pieces == words) if kind == "none" else (len(pieces) < len(words))


@every_kind
def test_nothing_to_learn_from(kind: str) -> None:
    with pytest.raises(InputError, match="no text"):
        learn_segmenter(["", ""], SegmenterSettings(kind))


def test_too_small_a_vocabulary_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match=r"vocabulary of 5 cannot be learnt: .* 5 vs [0-9]+\.$"):
        learn_segmenter(sentences(), SegmenterSettings("unigram", vocabulary_size=5))
    assert capfd.readouterr() == ("", "")


def test_unknown_kind() -> None:
    with pytest.raises(SettingsError, match="unigram"):
        learn_segmenter(sentences(), SegmenterSettings("syllables"))


@every_kind
def test_damaged_files(kind: str, tmp_path: Path) -> None:
    save_segmenter(learnt(kind), tmp_path)
    for file in (tmp_path / "segmenter.json", tmp_path / "segmenter.model"):
        whole = file.read_bytes()
        for damage in (whole[:-2], b"\xff\xfe"):
            file.write_bytes(damage if whole else b"x")
            with pytest.raises(ModelError, match="segmenter"):
                load_segmenter(tmp_path)
        file.unlink()
        with pytest.raises(NotFoundError, match="missing"):
            load_segmenter(tmp_path)
        file.write_bytes(whole)


def test_bpe_cuts_as_subword_nmt_does() -> None:
    segmenter = learnt("bpe")
    theirs = apply_bpe.BPE(io.StringIO(segmenter.to_bytes().decode()))
    for sentence in [*sentences(), "unseen tür 日本 x"]:
        pieces = theirs.segment(sentence).split(" ")
        starts = [True, *(not piece.endswith("@@") for piece in pieces)]
        ours = [
            ("▁" if start else "") + piece.removesuffix("@@")
            for piece, start in zip(pieces, starts, strict=False)
        ]
        assert segmenter.segment_all([sentence])[0] == ours


def test_bpe_needs_a_pair_to_merge() -> None:
    assert learn_segmenter(["a b", "c"], SegmenterSettings("bpe")).segment_all(["ab"]) == [
        ["▁a", "b"]
    ]


@pytest.mark.parametrize(
    "content", [b"", b"#version: 0.1\na b\n", b"#version: 0.2\na b c\n", b"\xff"]
)
def test_damaged_merges(content: bytes) -> None:
    with pytest.raises(ModelError, match=r"segmenter\.model"):
        SEGMENTERS["bpe"].from_bytes("bpe", content)


@pytest.mark.parametrize("content", [b"", b"x haus\n", b"\xff"])
def test_damaged_morphs(content: bytes) -> None:
    with pytest.raises(ModelError, match=r"segmenter\.model"):
        SEGMENTERS["morfessor"].from_bytes("morfessor", content)


def test_morfessor_keeps_what_it_learnt_and_pythons_generator() -> None:
    state = random.getstate()
    segmenter = learn_segmenter(sentences(), SegmenterSettings("morfessor"))
    assert random.getstate() == state
    words = [line.split(" ") for line in segmenter.to_bytes().decode().splitlines()]
    assert {"".join(morphs) for _, *morphs in words} == set(" ".join(sentences()).split())
    assert sum(int(count) for count, *_ in words) == 6 * len(sentences())
    assert any(len(morphs) > 1 for _, *morphs in words)


def test_morfessor_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "morfessor", None)
    with pytest.raises(DeviceError, match=r"bitextfilter\[morfessor\]"):
        learn_segmenter(sentences(), SegmenterSettings("morfessor"))


def test_sample_is_seeded_and_even() -> None:
    everything = [str(i) for i in range(20)]
    assert sample(["", *everything], 20, seed=1) == everything
    assert sample(iter(everything), 5, seed=1) == sample(everything, 5, seed=1)
    drawn = Counter(x for seed in range(4000) for x in sample(everything, 5, seed))
    assert set(drawn) == set(everything)
    assert all(850 < count < 1150 for count in drawn.values())


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
