"""Tokenisers in files ``tokenizer.json`` of the library tokenizers: read, and written of our own.

Where a tokeniser of another library gives a sentence the ids of its words, read alone.
That holds for tokenisers that cut at white space first, as BERT's, and for those that put a mark
before each word, as SentencePiece's (``Metaspace``). Words and sentences for which it may not hold
are told apart here.

Our text processing as such a file is exact for words, and for sentencepiece's unigram models, with
our normalisation. Two things follow the library: the versions of Unicode by which it composes and
lower-cases letters, and the sums of log-probabilities, of 64 bits instead of 32, by which equally
likely segmentations are told apart.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import regex
import sentencepiece
from numpy.typing import NDArray

from bitextfilter.arrays import Indices
from bitextfilter.errors import DeviceError, ModelError, NotFoundError, SettingsError
from bitextfilter.io.files import write_whole
from bitextfilter.io.records import parse_json
from bitextfilter.text import characters
from bitextfilter.text.normalise import INVISIBLE, SPACES, Normalisation
from bitextfilter.text.processor import TextProcessor, TokenCache
from bitextfilter.text.ragged import Ragged, View
from bitextfilter.text.segment import UNKNOWN, WORD_START

_SPLITTING = ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")
"""Pre-tokenisers that cut at white space first."""
_CHARACTERWISE = (
    "BertNormalizer",
    "Lowercase",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Precompiled",
    "Strip",
    "StripAccents",
)
"""Normalisers that treat words alike in a sentence and alone."""
_SPACES = {"Regex": " {2,}"}
"""The pattern of a normaliser that joins spaces."""
_MARK = "\u2581"
_CONTROLS = re.compile("[\0\x0b\x0c\x1c-\x1f\x85]")
"""White space to us, but not to all tokenisers."""
_UNUSUAL_SPACES = re.compile(f"{_CONTROLS.pattern}|[^\\S ]|  |^ | $")
_CHARACTER = regex.compile(r"\X")


class WordCut:
    """How a tokeniser cuts sentences into words."""

    def __init__(self, tokenizer: Any, marked: bool) -> None:
        """Take a tokeniser (of the package ``tokenizers``).

        Args:
            tokenizer: the tokeniser; it has a cut, see :func:`word_cut`.
            marked: it puts a mark before each word, and cuts there.
        """
        self._marked, self._normaliser = marked, tokenizer.normalizer
        self._added = [each.content for each in tokenizer.get_added_tokens_decoder().values()]
        self._spaces = _UNUSUAL_SPACES if marked else _CONTROLS

    def unusual_sentence(self, sentence: str) -> bool:
        """Whether the white space of a sentence is other than we and the tokeniser agree on."""
        return self._spaces.search(sentence) is not None

    def unusual_word(self, word: str) -> bool:
        """Whether a word may be read otherwise in a sentence than alone."""
        if not word.isascii():
            characters = _CHARACTER.findall(f" {word} ")
            if characters[0] != " " or characters[-1] != " ":
                return True  # a character of the word and the space before or after it are one
        return self._marked and self._spaced(word)

    def _spaced(self, word: str) -> bool:
        """Whether the tokeniser cuts or drops a word, or finds one of its own tokens there."""
        normal = f"x{word}x"
        if self._normaliser is not None:
            normal = self._normaliser.normalize_str(normal)
        return (
            _MARK in normal
            or len(normal.split()) != 1
            or normal == "xx"
            or any(token in word or token in normal for token in self._added)
        )


def word_cut(tokenizer: Any) -> WordCut | None:
    """Return how a tokeniser (of ``tokenizers``) cuts words; None: not that we can tell."""
    parts = [*_parts(tokenizer.pre_tokenizer), {}]
    first = parts[0]
    added = (each.content for each in tokenizer.get_added_tokens_decoder().values())
    marked = _marks(first, ("always", "first"))
    cuts = marked or first.get("type") in _SPLITTING
    # Behind a cut, a mark before the first word alone would be one before each word alone.
    alike = all(each.get("type") != "Metaspace" or _marks(each, ("always",)) for each in parts[1:])
    if not cuts or not alike or any(token.split() != [token] for token in added):
        return None
    return WordCut(tokenizer, marked) if all(map(_wordwise, _parts(tokenizer.normalizer))) else None


def _marks(part: Mapping[str, Any], schemes: tuple[str, ...]) -> bool:
    """Whether a pre-tokeniser puts the usual mark before words, by one of *schemes*."""
    return (
        part.get("type") == "Metaspace"
        and part.get("replacement") == _MARK
        and part.get("prepend_scheme") in schemes
        and part.get("split", True) is True
    )


def _wordwise(part: Mapping[str, Any]) -> bool:
    """Whether a normaliser treats words alike in a sentence and alone."""
    if part.get("type") == "Replace":
        return part.get("pattern") == _SPACES and part.get("content") in (" ", _MARK)
    return part.get("type") in _CHARACTERWISE


def _parts(step: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a normaliser or pre-tokeniser; none for None."""
    if step is not None:
        yield from _flat(parse_json(step.__getstate__()))


def _flat(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if part.get("type") != "Sequence":
        yield part
    for inner in part.get("normalizers") or part.get("pretokenizers") or ():
        yield from _flat(inner)


_IDS, _WHOLE = "ids", -1
_REMEMBERED = 1 << 21
"""Characters of words that are remembered: some 50 MB."""


class TokenizerFile:
    """A tokeniser, by the package ``tokenizers``. A sentence's ids depend on it alone."""

    def __init__(self, path: Path, longest: int | None = None, marks: bool = False) -> None:
        """Read the file.

        Args:
            path: ``tokenizer.json``.
            longest: ids of a sentence, at most, the rest is cut off; None: all.
            marks: begin and end marks and the like are added.

        Raises DeviceError without the package, NotFoundError without the file, ModelError for a
        damaged one.
        """
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            message = "the package tokenizers is missing: pip install 'bitextfilter[static]'"
            raise DeviceError(message) from error
        if not path.is_file():
            raise NotFoundError(f"{path}: missing from the model folder")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # our threads are side by side
        self._path, self._marks = path, marks
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
            self._tokenizer.no_padding()
            if longest is None:
                self._tokenizer.no_truncation()
            else:
                self._tokenizer.enable_truncation(longest)
            self.unknown = self._unknown()
            ids = self._tokenizer.get_vocab(with_added_tokens=True).values()
        except BaseException as error:  # a panic of the package is no Exception
            raise _damaged(path, error) from error
        self.size = max(ids, default=-1) + 1
        """One more than the highest id."""
        whole = marks or longest is not None
        self._cut = None if whole else word_cut(self._tokenizer)
        self.by_words = self._cut is not None
        """Each distinct word is read once: faster with many sentences at a time."""
        self._words = TokenCache(self._word_ids, _REMEMBERED)

    def _unknown(self) -> int | None:
        """Return the id of unknown tokens, None if there is none."""
        model = self._tokenizer.model
        if hasattr(model, "unk_token"):
            token = model.unk_token
            return None if token is None else self._tokenizer.token_to_id(token)
        number = parse_json(self._tokenizer.to_str())["model"].get("unk_id")
        return None if number is None else int(number)

    def __call__(self, sentences: Sequence[str]) -> Ragged:
        """Return the ids of ``n`` sentences; none for one without a token."""
        if self._cut is None:
            return self._read(sentences)
        ids = self._by_words(sentences)
        unusual = np.fromiter(map(self._cut.unusual_sentence, sentences), bool, len(sentences))
        unusual |= ids.holding(_WHOLE)
        if not unusual.any():
            return ids
        rows, order = np.flatnonzero(unusual), np.arange(len(ids))
        order[rows] = len(ids) + np.arange(len(rows))
        return ids.followed_by(self._read([sentences[row] for row in rows.tolist()])).take(order)

    def _by_words(self, sentences: Sequence[str]) -> Ragged:
        rows, words = self._words.read(sentences)
        return View(rows, words[_IDS]).ids()

    def _word_ids(self, words: list[str]) -> Mapping[str, Ragged]:
        """Return the ids of words: ``_WHOLE`` where the sentence must be read whole."""
        ids, cut = self._read(words), self._cut
        unusual = [row for row, word in enumerate(words) if cut and cut.unusual_word(word)]
        order = np.arange(len(words))
        order[unusual] = len(words)
        return {_IDS: ids.followed_by(Ragged.of_lists([[_WHOLE]])).take(order)}

    def _read(self, sentences: Sequence[str]) -> Ragged:
        try:
            found = self._tokenizer.encode_batch_fast(
                list(sentences), add_special_tokens=self._marks
            )
        except BaseException as error:
            raise _damaged(self._path, error) from error
        return Ragged.of_lists([each.ids for each in found])


def _damaged(path: Path, error: BaseException) -> BaseException:
    """Return the error of a tokeniser that fails: what is no fault of the file stays as it is."""
    if isinstance(error, Exception) or type(error).__name__ == "PanicException":
        return ModelError(f"{path}: an unusable tokeniser: {' '.join(str(error).split())}")
    return error


_UNKNOWN_TOKEN = 2 * WORD_START + "unknown"
"""No text has it: normalisation replaces the mark."""

_COUNT = 0x110000
_PERHAPS_CASED = (*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200))
"""Code points that may have a case, or be passed over: the others are Chinese, or nobody's."""


def save_tokenizer(processor: TextProcessor, path: Path) -> Indices:
    """Write the file; return our id of each of the library's ids, ``(n,)``.

    Raises SettingsError for a processing that the library cannot do alike, and OutputError.
    """
    if not processor.normalisation.by_words:
        raise SettingsError("its normalisation by sacremoses has no like in tokenizers")
    kind = processor.segmenter.kind
    if kind not in ("unigram", "none"):
        raise SettingsError(
            f"its segmentation {kind!r} has no like in tokenizers: unigram and none"
        )
    index = processor.vocabulary.index
    model: dict[str, Any]
    if kind == "none":
        pieces = [_UNKNOWN_TOKEN, *index]
        vocabulary = {piece: number for number, piece in enumerate(pieces)}
        model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": _UNKNOWN_TOKEN}
    else:
        scored = _scored_pieces(processor.segmenter.to_bytes())
        pieces = [piece for piece, _ in scored]
        model = {"type": "Unigram", "unk_id": 0, "vocab": scored, "byte_fallback": False}
    described: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": _sequence("normalizers", _normalizers(processor.normalisation)),
        "pre_tokenizer": _sequence("pretokenizers", _splitters(processor.normalisation, kind)),
        "post_processor": None,
        "decoder": None,
        "model": model,
    }
    write_whole(path, json.dumps(described, ensure_ascii=False).encode())
    return np.array([index.get(piece, UNKNOWN) for piece in pieces], np.int64)


def _scored_pieces(model: bytes) -> list[tuple[str, float]]:
    """Return the pieces of a model of sentencepiece and their scores, the unknown one first."""
    read = sentencepiece.SentencePieceProcessor(model_proto=model)
    rest = [number for number in range(len(read)) if number != read.unk_id()]
    scored = [(read.id_to_piece(number), float(read.get_score(number))) for number in rest]
    return [(_UNKNOWN_TOKEN, 0.0), *scored]


def _sequence(name: str, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "Sequence", name: list(parts)}


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _normalizers(settings: Normalisation) -> list[dict[str, Any]]:
    """Return the steps of :class:`Normalisation`."""
    steps = [
        _replace(f"[{_ranges(_matching(INVISIBLE))}]", ""),
        _replace(f"[{_ranges(_matching(SPACES))}]", " "),
        _replace(WORD_START, "_"),
        {"type": "NFC"},
    ]
    if settings.lowercase:
        steps += [_final_sigma(), {"type": "Lowercase"}, {"type": "NFC"}]
    return steps


def _splitters(settings: Normalisation, kind: str) -> list[dict[str, Any]]:
    """Return the steps from a normalised sentence to words, or to their marked beginnings."""
    steps: list[dict[str, Any]] = [{"type": "WhitespaceSplit"}]
    if settings.apart:
        marks = f"[{_ranges(characters.in_category('P', 'S'))}]"
        isolated = {"behavior": "Isolated", "invert": False}
        steps.append({"type": "Split", "pattern": {"Regex": marks}, **isolated})
    if kind != "none":
        always = {"prepend_scheme": "always", "split": False}
        steps.append({"type": "Metaspace", "replacement": WORD_START, **always})
    return steps


def _final_sigma() -> dict[str, Any]:
    """Return the step that Python's ``lower`` does, and the library does not: Σ at a word's end.

    That is: behind a cased letter and before none. Up to two signs in between do not count before
    it, any number behind.
    """
    cased, ignored = (f"[{_ranges(table)}]" for table in _cased())
    before = "|".join(cased + ignored * number for number in range(3))
    return _replace(f"(?<={before})\u03a3(?!{ignored}*{cased})", "\u03c2")


@functools.cache
def _cased() -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the characters that are cased, and those that such a rule passes over."""
    cased, ignored = np.zeros((2, _COUNT), dtype=bool)
    for code in _PERHAPS_CASED:
        text = chr(code)
        behind = f"A{text}\u03a3".lower().endswith("\u03c2")
        alone = f"{text}\u03a3".lower().endswith("\u03c2")
        ignored[code] = behind and not alone
        cased[code] = alone or (f"A\u03a3{text}".lower()[1] == "\u03c3" and not ignored[code])
    return cased, ignored


def _matching(pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Return the table of the characters that a pattern of single ones, or of runs, matches."""
    table = np.zeros(_COUNT, dtype=bool)
    for found in pattern.finditer("".join(map(chr, range(_COUNT)))):
        table[found.start() : found.end()] = True
    return table


def _ranges(table: NDArray[np.bool_]) -> str:
    """Return the inside of a set in a regular expression: the characters of a table."""
    codes = np.flatnonzero(table)
    runs = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
    return "".join(
        f"\\x{{{run[0]:x}}}" + (f"-\\x{{{run[-1]:x}}}" if len(run) > 1 else "") for run in runs
    )
