"""Segmenters: words, byte-pair merges, sentencepiece, Morfessor; learnt, saved, loaded alike."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import json
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import sentencepiece

from bitextfilter.errors import DeviceError, InputError, ModelError, NotFoundError, SettingsError
from bitextfilter.io.files import write_whole
from bitextfilter.io.records import parse_json
from bitextfilter.settings import Settings, setting
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.words import split_words

WORD_START = "\u2581"
"""U+2581 begins each piece that begins a word, in every segmentation but ``none``."""

UNKNOWN = 1
"""The id of a piece that a vocabulary does not hold."""

T = TypeVar("T")


class Segmenter(ABC):
    """Cuts normalised sentences into pieces, and joins pieces again.

    Of text that has been through ``Normalisation``, the joined pieces are the text.
    """

    kind: str

    @abstractmethod
    def segment_all(self, sentences: Sequence[str]) -> list[list[str]]:
        """Return the pieces of each of the normalised *sentences*; none for an empty one."""

    def join(self, pieces: Sequence[str]) -> str:
        """Return the sentence that was cut into *pieces*."""
        return "".join(pieces).replace(WORD_START, " ").strip(" ")

    def inventory(self) -> frozenset[str] | None:
        """Return all pieces it has learnt, or None if their number is not limited.

        Text with unseen characters gives other pieces too.
        """
        return None

    def numbering(self, index: Mapping[str, int]) -> Callable[[Sequence[str]], Ragged]:
        """Return the function from normalised sentences to ids by *index*, or ``UNKNOWN``."""

        def number(sentences: Sequence[str]) -> Ragged:
            cut = self.segment_all(sentences)
            return Ragged.of_lists([[index.get(p, UNKNOWN) for p in pieces] for pieces in cut])

        return number

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return everything learnt, as data, never code."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, kind: str, content: bytes) -> Segmenter:
        """Return the segmenter of *kind* that :meth:`to_bytes` gave; ModelError if damaged."""


_REMEMBERED = 64
"""Characters of the longest word that is remembered, which bounds the memory."""

_LONGEST_WORD, _PART = 1000, 100
"""Characters of a longest word, and of the parts of a longer one: the time of subword-nmt grows
with the square of the length."""


def _short_words(sentence: str) -> Iterator[str]:
    """Yield the words of a sentence; one of more than 1,000 characters is cut into 100s."""
    for word in sentence.split():
        size = _PART if len(word) > _LONGEST_WORD else _LONGEST_WORD
        yield from (word[start : start + size] for start in range(0, len(word), size))


class _WordwiseSegmenter(Segmenter):
    """A segmenter of single words, which remembers the latest words.

    A word of more than 1,000 characters counts as words of 100.
    """

    def __init__(self) -> None:
        self._remembered = functools.lru_cache(1 << 17)(self.cut)

    @abstractmethod
    def cut(self, word: str) -> Sequence[str]:
        """Return the parts of one word."""

    def segment_all(self, sentences: Sequence[str]) -> list[list[str]]:
        return [
            [
                part if i else WORD_START + part
                for word in sentence.split()
                for i, part in enumerate(
                    self._remembered(word) if len(word) <= _REMEMBERED else self._long(word)
                )
            ]
            for sentence in sentences
        ]

    def _long(self, word: str) -> Iterator[str]:
        """Yield the parts of a word of any length."""
        for short in _short_words(word):
            yield from self.cut(short)


class _WordSegmenter(Segmenter):
    """No segmentation: each word is one piece."""

    kind = "none"

    def segment_all(self, sentences: Sequence[str]) -> list[list[str]]:
        return [sentence.split() for sentence in sentences]

    def join(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces)

    def numbering(self, index: Mapping[str, int]) -> Callable[[Sequence[str]], Ragged]:
        def number(sentences: Sequence[str]) -> Ragged:
            words, counts = split_words(sentences)
            ids = (index.get(word, UNKNOWN) for word in words)
            return Ragged(np.fromiter(ids, dtype=np.int32, count=len(words)), counts)

        return number

    def to_bytes(self) -> bytes:
        return b""

    @classmethod
    def from_bytes(cls, kind: str, content: bytes) -> _WordSegmenter:
        return cls()


_HEADER = "#version: 0.2"


class _MergeSegmenter(_WordwiseSegmenter):
    """Byte-pair encoding by subword-nmt; ``segmenter.model`` is its file of codes."""

    kind = "bpe"

    def __init__(self, merges: Sequence[tuple[str, str]]) -> None:
        """Take the pairs to merge, in the order of learning."""
        super().__init__()
        self._merges = tuple(merges)
        self._ranks = {pair: -rank for rank, pair in enumerate(reversed(self._merges))}

    def cut(self, word: str) -> Sequence[str]:
        from subword_nmt import apply_bpe

        return tuple(apply_bpe.encode(word, self._ranks, {}, None, "", (0, 2), {}))

    def to_bytes(self) -> bytes:
        """Return the codes as subword-nmt writes them: a header, then one pair a line."""
        lines = [_HEADER, *(f"{left} {right}" for left, right in self._merges)]
        return ("\n".join(lines) + "\n").encode()

    @classmethod
    def from_bytes(cls, kind: str, content: bytes) -> _MergeSegmenter:
        try:
            header, *lines = content.decode("utf-8").removesuffix("\n").split("\n")
            pairs = [(left, right) for left, right in (line.split(" ") for line in lines)]
        except ValueError as error:
            raise ModelError("segmenter.model: a line is not a pair of subwords") from error
        if header != _HEADER:
            raise ModelError(f"segmenter.model: does not begin with {_HEADER!r}")
        return cls(pairs)

    @classmethod
    def learn(cls, sentences: Sequence[str], merges: int) -> _MergeSegmenter:
        """Learn at most *merges* merges of pairs that occur at least twice in *sentences*."""
        from subword_nmt import learn_bpe

        codes = io.StringIO()
        if any(len(word) > 1 for sentence in sentences for word in sentence.split()):
            with contextlib.redirect_stderr(io.StringIO()):  # its progress bar cannot be turned off
                learn_bpe.learn_bpe(map(" ".join, map(_short_words, sentences)), codes, merges)
        return cls.from_bytes("bpe", (codes.getvalue() or _HEADER).encode())


class _MorphSegmenter(_WordwiseSegmenter):
    """A Morfessor Baseline model; ``segmenter.model`` lists words: count, then their morphs."""

    kind = "morfessor"

    def __init__(self, analyses: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Take the count and the morphs of every word of the training text."""
        super().__init__()
        self._analyses = [(count, tuple(morphs)) for count, morphs in analyses]
        self._model = _morfessor().BaselineModel()
        self._model.load_segmentations(
            (count, "".join(morphs), morphs) for count, morphs in self._analyses
        )

    def cut(self, word: str) -> Sequence[str]:
        """Return the most probable morphs of one word, known or not."""
        return list(self._model.viterbi_segment(word)[0])

    def to_bytes(self) -> bytes:
        """Return one ``count morph morph ...`` line a word."""
        lines = (" ".join([str(count), *morphs]) for count, morphs in self._analyses)
        return "".join(f"{line}\n" for line in lines).encode()

    @classmethod
    def from_bytes(cls, kind: str, content: bytes) -> _MorphSegmenter:
        try:
            lines = content.decode("utf-8").removesuffix("\n").split("\n")
            rows = (line.split(" ") for line in lines)
            return cls([(int(count), morphs) for count, *morphs in rows])
        except ValueError as error:
            raise ModelError("segmenter.model: a line is not a count and morphs") from error

    @classmethod
    def learn(cls, sentences: Sequence[str], seed: int) -> _MorphSegmenter:
        """Learn from the words of *sentences* and their counts, in an order by *seed*.

        Keeps Morfessor's dots off stderr, and its shuffles apart from Python's own generator.
        Morfessor's defaults: recursive training until an epoch gains less than .005 a word.
        DeviceError if Morfessor is not installed.
        """
        words = Counter(word for sentence in sentences for word in _short_words(sentence))
        model = _morfessor().BaselineModel()
        model.load_data((count, word) for word, count in words.items())
        utils, state = _morfessor().utils, random.getstate()
        shown, utils.show_progress_bar = utils.show_progress_bar, False
        random.seed(seed)
        try:
            model.train_batch()
        finally:
            utils.show_progress_bar = shown
            random.setstate(state)
        # Loaded from its text at once, so that it is the same model before saving and after.
        return cls([(words[word], model.segment(word)) for word in words])


def _morfessor() -> Any:
    """Return the optional package; DeviceError if it is not installed."""
    try:
        import morfessor
    except ImportError as error:
        remedy = "pip install 'bitextfilter[morfessor]'"
        raise DeviceError(f"Morfessor is not installed; {remedy}") from error
    return morfessor


class _SentencePieceSegmenter(Segmenter):
    """A sentencepiece model; unseen characters come out as pieces of their own."""

    def __init__(self, kind: str, model: bytes) -> None:
        """Take the serialised sentencepiece *model*; ModelError if it is not one."""
        self.kind = kind
        self._model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ModelError("not a sentencepiece model") from error
        self._pieces = [self._processor.id_to_piece(i) for i in range(len(self._processor))]

    def segment_all(self, sentences: Sequence[str]) -> list[list[str]]:
        return list(self._processor.encode(list(sentences), out_type=str, num_threads=1))

    def inventory(self) -> frozenset[str]:
        """Return the pieces of the model, but for the unknown one."""
        unknown = self._processor.unk_id()
        return frozenset(piece for i, piece in enumerate(self._pieces) if i != unknown)

    def numbering(self, index: Mapping[str, int]) -> Callable[[Sequence[str]], Ragged]:
        table = np.array([index.get(piece, UNKNOWN) for piece in self._pieces], dtype=np.int32)
        table[self._processor.unk_id()] = UNKNOWN

        def number(sentences: Sequence[str]) -> Ragged:
            ids = Ragged.of_lists(
                self._processor.encode(list(sentences), out_type=int, num_threads=1)
            )
            return Ragged(table[ids.flat], ids.lengths)

        return number

    def to_bytes(self) -> bytes:
        return self._model

    @classmethod
    def from_bytes(cls, kind: str, content: bytes) -> _SentencePieceSegmenter:
        return cls(kind, content)

    @classmethod
    def learn(cls, sentences: Sequence[str], kind: str, size: int) -> _SentencePieceSegmenter:
        """Learn at most *size* pieces; SettingsError if they cannot hold the characters.

        The same sentences in the same order give the same model.
        """
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=model,
                model_type="bpe" if kind == "sentencepiece-bpe" else "unigram",
                vocab_size=size,
                hard_vocab_limit=False,
                character_coverage=0.9998,
                normalization_rule_name="identity",
                num_threads=2,  # sums are split by thread: it is part of the result
                minloglevel=2,
                bos_id=-1,
                eos_id=-1,
            )
        except RuntimeError as error:
            reason = str(error).splitlines()[0].rpartition("] ")[2].partition(" Increase ")[0]
            raise SettingsError(f"a vocabulary of {size} cannot be learnt: {reason}") from error
        return cls(kind, model.getvalue())


SEGMENTERS: dict[str, type[Segmenter]] = {
    "unigram": _SentencePieceSegmenter,
    "sentencepiece-bpe": _SentencePieceSegmenter,
    "bpe": _MergeSegmenter,
    "morfessor": _MorphSegmenter,
    "none": _WordSegmenter,
}
"""Segmenters by the name of the segmentation."""

_LEARNT = "kind=" + "|".join(kind for kind in SEGMENTERS if kind != "none")


@dataclasses.dataclass(frozen=True)
class SegmenterSettings(Settings):
    """Settings for learning a segmentation.

    ``vocabulary_size`` is for ``unigram`` and ``sentencepiece-bpe``, ``merges`` for ``bpe``;
    ``morfessor`` finds its own number. At most ``sample_size`` sentences, chosen by ``seed``,
    are learnt from and held in memory.
    """

    kind: str = setting("unigram", "how words are cut; `none`: not at all", choices=SEGMENTERS)
    vocabulary_size: int = setting(
        32_000,
        "pieces, or words if `kind` is none; 0 in the training of an encoder: by the number of"
        " pairs, 2,000 to 24,000",
        within=">= 0",
    )
    merges: int = setting(20_000, "joins of byte-pair encoding", within=">= 0", needs="kind=bpe")
    sample_size: int = setting(
        1_000_000,
        "sentences to learn from, at most; they are held in memory",
        within=">= 1",
        needs=_LEARNT,
    )
    seed: int = setting(1, "chooses these sentences", within=">= 0", needs=_LEARNT)


def sample(sentences: Iterable[T], size: int, seed: int) -> list[T]:
    """Draw at most *size* of the non-empty *sentences* uniformly, by *seed*.

    Reservoir sampling (algorithm R, Vitter 1985): memory holds *size* sentences.
    """
    chooser = random.Random(seed)
    kept: list[T] = []
    for number, sentence in enumerate(filter(None, sentences)):
        if number < size:
            kept.append(sentence)
        elif (place := chooser.randrange(number + 1)) < size:
            kept[place] = sentence
    return kept


def learn_segmenter(sentences: Iterable[str], settings: SegmenterSettings) -> Segmenter:
    """Learn from normalised *sentences*; the same ones in the same order give the same result.

    InputError if there is no text, SettingsError if *settings* cannot be met.
    """
    if not settings.vocabulary_size:
        raise SettingsError("segmentation.vocabulary_size must be at least 1")
    chosen = sample(sentences, settings.sample_size, settings.seed)
    if not chosen:
        raise InputError("no text to learn a segmentation from")
    match settings.kind:
        case "bpe":
            return _MergeSegmenter.learn(chosen, settings.merges)
        case "morfessor":
            return _MorphSegmenter.learn(chosen, settings.seed)
        case "none":
            return _WordSegmenter()
    return _SentencePieceSegmenter.learn(chosen, settings.kind, settings.vocabulary_size)


_DESCRIPTION, _CONTENT = "segmenter.json", "segmenter.model"


def save_segmenter(segmenter: Segmenter, folder: Path) -> None:
    """Write ``segmenter.json`` (kind, checksum) and ``segmenter.model`` into *folder*."""
    content = segmenter.to_bytes()
    described = {"kind": segmenter.kind, "sha256": hashlib.sha256(content).hexdigest()}
    write_whole(folder / _CONTENT, content)
    write_whole(folder / _DESCRIPTION, (json.dumps(described) + "\n").encode())


def load_segmenter(folder: Path) -> Segmenter:
    """Read the segmenter of a folder; NotFoundError if it is missing, ModelError if damaged."""
    try:
        described = parse_json((folder / _DESCRIPTION).read_text(encoding="utf-8"))
        segmenter, checksum = SEGMENTERS[described["kind"]], described["sha256"]
        content = (folder / _CONTENT).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(f"{error.filename}: missing") from error
    except OSError as error:
        raise ModelError(f"{error.filename}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        known = ", ".join(SEGMENTERS)
        raise ModelError(f"{folder / _DESCRIPTION}: damaged, or not one of {known}") from error
    if hashlib.sha256(content).hexdigest() != checksum:
        raise ModelError(f"{folder / _CONTENT}: damaged: it has changed since it was saved")
    return segmenter.from_bytes(described["kind"], content)
