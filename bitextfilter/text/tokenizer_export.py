"""Our text processing as the file ``tokenizer.json`` of the library tokenizers.

Exact for words, and for sentencepiece's unigram models, with our normalisation. Two things follow
the library: the versions of Unicode by which it composes and lower-cases letters, and the sums of
log-probabilities, of 64 bits instead of 32, by which equally likely segmentations are told apart.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from bitextfilter.arrays import Indices
from bitextfilter.errors import SettingsError
from bitextfilter.io.files import write_whole
from bitextfilter.text import characters
from bitextfilter.text.normalise import INVISIBLE, SPACES, Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import UNKNOWN, WORD_START

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
