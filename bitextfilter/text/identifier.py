"""Language identification by the characters of words: fast, and the same in any company.

A sentence is the bag of the n-grams of its words' letters; each n-gram, hashed to a bucket, has a
weight for every language, and the sums of the weights tell the language (Joulin et al. 2017, Bag of
Tricks for Efficient Text Classification, with one layer). The weights are small integers, so that
no sum depends on its order. ``examples/train-identifier`` makes them. The loops are those of
``ngrams.c``, where it was built (:mod:`bitextfilter.io.compiled`); numpy computes the same.

All identifiers take some languages and scripts for one another, or do not know them.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers
from bitextfilter.errors import ModelError
from bitextfilter.io.compiled import INTEGER, CompiledLibrary, array_of
from bitextfilter.io.files import open_output
from bitextfilter.io.records import json_bytes
from bitextfilter.languages import Language, any_language, find_language
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.units import compiled
from bitextfilter.text.words import numbered

FOLDER = Path(__file__).parents[1] / "pretrained" / "identifier"
LONGEST = 4
"""N-grams have one character up to these; a word is read with a space on both sides."""
LOWEST = -7.0
"""How far a language may be behind, in nats: one part in a thousand."""
ENOUGH = 120
"""N-grams of some thirty letters."""
_STEP, _SPREAD = np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x9E3779B97F4A7C15)
"""Odd factors: a prime of xxHash, and of the golden ratio."""
_SPACE = 32
_REMEMBERED = 1 << 17
"""Words: some 20 MB."""

SLOT = np.dtype([("key", np.uint64), ("id", np.int64)])
"""Of the library's table of keys."""
_I32, _I64, _U64 = array_of(np.int32), array_of(np.int64), array_of(np.uint64)
_TEXT, _WEIGHTS = (array_of(np.uint32), _I64, _I64, INTEGER), (array_of(np.int8), INTEGER, INTEGER)
_ROWS, _GROUPS = (array_of(np.int8, np.int32), *[INTEGER] * 3), (_I64, INTEGER, _I64, INTEGER)
_SECRET, _SLOTS = ctypes.c_uint64, array_of(SLOT)
LIBRARY = CompiledLibrary(
    __file__,
    "ngrams",
    layout=2,
    ngrams_evidence=(None, *_TEXT, *_WEIGHTS, _I32),
    ngrams_sums=(INTEGER, *_ROWS, *_GROUPS, _I32),
    ngrams_runs=(INTEGER, _I32, *[INTEGER] * 4, *_GROUPS, _I32),
    ngrams_index=(None, _U64, _I32, INTEGER, _SECRET, _SLOTS, INTEGER),
    ngrams_find=(None, _U64, INTEGER, _SECRET, _SLOTS, INTEGER, _I32),
)


def is_taken(array: NDArray[np.generic], *kinds: type[np.generic]) -> bool:
    """Whether the library takes an array as one of these *kinds* of number."""
    return array.dtype in kinds and array.flags.c_contiguous


def _given(groups: Ragged) -> tuple[Integers, int, Integers, int]:
    """Return rows of places as the library takes them: see ``_GROUPS``."""
    flat, lengths = (np.ascontiguousarray(each, np.int64) for each in (groups.flat, groups.lengths))
    return flat, len(flat), lengths, len(lengths)


def ngrams(words: Sequence[str], buckets: int) -> Ragged:
    """Return the buckets of the n-grams of each word's runs of letters, in lower case.

    Args:
        words: ``u`` of them, or whole texts.
        buckets: a power of 2.
    """
    characters, runs = _runs(words)
    codes, bits = characters.astype(np.uint64), np.uint64(64 - (buckets.bit_length() - 1))
    run = np.repeat(np.arange(len(runs)), runs.lengths)
    owner = runs.flat[run]
    keys, places = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    mixed = np.zeros(len(codes), np.uint64)
    for n in range(1, LONGEST + 1):
        count = max(0, len(codes) - n + 1)
        mixed = mixed[:count] * _STEP + codes[n - 1 :] + np.uint64(1)
        inside = run[:count] == run[n - 1 :]
        if n == 1:
            inside &= characters != _SPACE
        keys.append((mixed[inside] + np.uint64(n)) * _SPREAD >> bits)
        places.append(owner[:count][inside])
    owner = np.concatenate(places)
    order = np.argsort(owner, kind="stable")
    flat = np.concatenate(keys)[order].astype(np.int64)
    return Ragged(flat, np.bincount(owner, minlength=len(words)).astype(np.int64))


def _runs(words: Sequence[str]) -> tuple[NDArray[np.uint32], Ragged]:
    """Return the code points of the runs of letters of words, in lower case, between spaces.

    And the word of each run, as ``flat``, and its number of characters with the spaces.
    """
    find, runs, counts = compiled(r"[\p{L}\p{M}]+").findall, list[str](), list[int]()
    for word in words:
        found = find(word.lower())
        runs += found
        counts.append(len(found))
    text = f" {'  '.join(runs)} " if runs else ""
    owners = np.repeat(np.arange(len(words)), np.array(counts, dtype=np.int64))
    lengths = np.fromiter(map(len, runs), np.int64, len(runs)) + 2
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.uint32, copy=False)
    return codes, Ragged(owners, lengths)


def group_sums(rows: NDArray[np.integer], groups: Ragged) -> NDArray[np.int32]:
    """Add up the *rows* ``(m, l)``, int8 or int32, at the places of each group: ``(n, l)``."""
    library, sums = LIBRARY.open(), np.zeros((len(groups), rows.shape[1]), dtype=np.int32)
    if library is not None and is_taken(rows, np.int8, np.int32):
        table = rows, rows.itemsize, *rows.shape
        if not library.ngrams_sums(*table, *_given(groups), sums):
            return sums
    for size in np.unique(groups.lengths):  # a dozen times as fast as reduceat
        some = np.flatnonzero(groups.lengths == size)
        places = groups.flat[groups.starts[some][:, None] + np.arange(size)]
        sums[some] = rows[places].sum(axis=1, dtype=np.int32)
    return sums


def longest_runs(
    evidence: NDArray[np.int32], groups: Ragged, places: tuple[int, int]
) -> NDArray[np.int32]:
    """Find the run of words of each text that another language explains better than its own.

    Args:
        evidence: of words, see :meth:`NgramIdentifier.evidence`: ``(u, l + 1)``.
        groups: the words of ``n`` texts.
        places: the columns of the text's own language, and of a certain other one, or -1.

    Returns:
        ``(n, 3)``: the largest sum, over neighbouring words, of how much more evidence any other
        language has than the own one; that of the certain one; and the number of n-grams. Sums are
        at least 0.
    """
    own, other = places
    library, out = LIBRARY.open(), np.zeros((len(groups), 3), dtype=np.int32)
    if library is not None and is_taken(evidence, np.int32):
        table = evidence, len(evidence), evidence.shape[1] - 1, own, other
        if not library.ngrams_runs(*table, *_given(groups), out):
            return out
    gains = evidence[:, :-1] - evidence[:, own, None]
    for row, words in zip(out, groups, strict=True):
        sums = np.vstack([np.zeros_like(gains[:1]), np.cumsum(gains[words], axis=0)])
        best = (sums - np.minimum.accumulate(sums, axis=0)).max(axis=0)
        counted = best[other] if other >= 0 else 0
        row[:] = best.max(initial=0), counted, evidence[words, -1].sum()
    return out


@dataclass(frozen=True)
class NgramIdentifier:
    """The weights of n-grams for ``l`` languages."""

    languages: tuple[str, ...]
    weights: NDArray[np.int8]
    """``(buckets, l)``."""
    scale: float
    """A weight of 1, in nats."""

    def place(self, language: str) -> int | None:
        """Return the column of a language, in any spelling; None if it is unknown."""
        own = find_language(language, self.languages)
        return None if own is None else self.languages.index(own)

    def evidence(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the sums of the weights of each word, and its number of n-grams: ``(u, l + 1)``.

        The evidence of a text is the sum of its words'.
        """
        library, (buckets, width) = LIBRARY.open(), self.weights.shape
        if library is None or not is_taken(self.weights, np.int8):
            grams = ngrams(words, buckets)
            sums = group_sums(self.weights, grams)
            return np.hstack([sums, grams.lengths[:, None].astype(np.int32)])
        characters, runs = _runs(words)
        out, shift = np.zeros((len(words), width + 1), np.int32), 64 - (buckets.bit_length() - 1)
        text = characters, runs.lengths, runs.flat, len(runs)
        library.ngrams_evidence(*text, self.weights, width, shift, out)
        return out

    def logits(self, evidence: NDArray[np.int32]) -> Floats:
        """Return the logits of the languages by the evidence of texts: ``(n, l)``, in nats.

        Sums are divided by the root of their number: long texts tell more than short ones.
        """
        sums, counts = evidence[:, :-1].astype(np.float64), np.maximum(evidence[:, -1:], 1)
        found: Floats = sums * self.scale / np.sqrt(counts)
        return found

    def behind(self, evidence: NDArray[np.int32], place: int) -> Floats:
        """Return how far the language in a column is behind the likeliest one, ``(n,)``, in nats.

        From ``LOWEST`` to 0, by the evidence of texts: 0 where it is the likeliest itself, or the
        text has no letters. Of a text with fewer n-grams than ``ENOUGH``, a part in proportion: a
        word alone may be of many languages.
        """
        logits = self.logits(evidence)
        behind = np.maximum(logits[:, place] - logits.max(axis=1), LOWEST)
        found: Floats = behind * np.minimum(1, evidence[:, -1] / ENOUGH)
        return found

    def probabilities(self, evidence: NDArray[np.int32]) -> Floats:
        """Return the probability of each language by the evidence of texts: ``(n, l)``, 0 to 1.

        A text without letters has the same for all.
        """
        logits = self.logits(evidence)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        found: Floats = powers / powers.sum(axis=1, keepdims=True)
        return found


class WordEvidence:
    """The evidence of texts, given as words that are learnt one by one."""

    def __init__(self, identifier: NgramIdentifier) -> None:
        self._identifier = identifier
        self.forget()

    def forget(self) -> None:
        """Begin again without words."""
        self._evidence = self._identifier.evidence([])

    def learn(self, words: Sequence[str]) -> None:
        """Append words to those known."""
        self._evidence = np.concatenate([self._evidence, self._identifier.evidence(words)])

    @property
    def words(self) -> NDArray[np.int32]:
        """The evidence of the words known: ``(u, l + 1)``."""
        return self._evidence

    def of(self, rows: Ragged) -> NDArray[np.int32]:
        """Return :meth:`NgramIdentifier.evidence` of texts, the places of their words."""
        return group_sums(self._evidence, rows)


class TextReader:
    """Reads the evidence of texts, and remembers that of their words. Thread-safe."""

    def __init__(self, identifier: NgramIdentifier, most: int = _REMEMBERED) -> None:
        """*most*: words that are remembered, or a few more."""
        self._words, self._most, self._lock = WordEvidence(identifier), most, Lock()
        self._places: dict[str, int] = {}

    def evidence(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Return :meth:`NgramIdentifier.evidence` of the texts."""
        rows, words = numbered(texts)
        with self._lock:
            places = self._places
            if len(places) > self._most:
                places.clear()
                self._words.forget()
            new = [word for word in words if word not in places]
            try:
                self._words.learn(new)
                places.update(zip(new, count(len(places)), strict=False))
            except BaseException:  # it may know words without places
                places.clear()
                self._words.forget()
                raise
            known = np.fromiter(map(places.__getitem__, words), np.int64, len(words))
            return self._words.of(Ragged(known[rows.flat], rows.lengths))


class LanguageLag(WordEvidence):
    """Tells how far one language is behind in texts, given as words that are learnt one by one."""

    def __init__(self, identifier: NgramIdentifier, place: int) -> None:
        """*place*: the column of the language."""
        super().__init__(identifier)
        self._place = place

    def behind(self, rows: Ragged) -> Floats:
        """Return :meth:`NgramIdentifier.behind` of texts, the places of their words: ``(n,)``."""
        return self._identifier.behind(self.of(rows), self._place)


@functools.cache
def load_ngram_identifier(folder: Path = FOLDER) -> NgramIdentifier:
    """Return the identifier in a folder, the shipped one.

    Raises ModelError where a file is missing or damaged.
    """
    try:
        about = json.loads((folder / "identifier.json").read_text(encoding="utf-8"))
        data = (folder / "weights.bin").read_bytes()
        if hashlib.sha256(data).hexdigest() != about["sha256"]:
            raise ValueError("the weights are damaged")
        languages = tuple(map(str, about["languages"]))
        weights = np.frombuffer(data, np.int8).reshape(-1, len(languages))
        return NgramIdentifier(languages, weights, float(about["scale"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder}: unusable language identifier: {error}") from error


def save_ngram_identifier(identifier: NgramIdentifier, folder: Path) -> None:
    """Write the files of an identifier, whole or not. Raises OutputError."""
    data = identifier.weights.tobytes()
    about = {
        "languages": identifier.languages,
        "scale": identifier.scale,
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    for name, content in (("weights.bin", data), ("identifier.json", json_bytes(about, indent=2))):
        with open_output(folder / name) as stream:
            stream.write(content)


_WITHIN = {
    "ar": "acm acq aeb afb ajp apc apd ars ary arz ayl",
    "bs": "hr sr",
    "ff": "fuv",
    "hr": "bs sr",
    "kok": "gom",
    "lv": "ltg",
    "ms": "id",
    "no": "nn",
    "sr": "bs hr",
    "uz": "uzs",
    "zh": "lzh wuu yue",
}
"""Languages → those within them, or written alike, that identifiers tell apart by chance."""


def _alike(code: str) -> set[str]:
    """Return the codes that identifiers may take a language for, itself among them."""
    groups = [{head, *others.split()} for head, others in _WITHIN.items()]
    inside = (group for group in groups if code in group and code not in _WITHIN)
    return {code, *_WITHIN.get(code, "").split()}.union(*inside)


def untaught_scripts(language: Language) -> tuple[str, ...]:
    """Return the scripts of a language in which identifiers have hardly seen it: not its first.

    Latin is among them only where the tag names it: most text in another language is in Latin.
    """
    firsts = {code: Language(code).written_in[:1] for code in _alike(language.code)}
    taught = {s for code, first in firsts.items() for s in Language(code, "".join(first)).scripts}
    if not language.script or language.code == "crh":  # known in Latin, though the CLDR has it last
        taught.add("Latn")
    return tuple(script for script in language.scripts if script not in taught)


def labels_of(language: str, labels: Iterable[str]) -> list[str]:
    """Return the labels of an identifier for text in a language, in any spelling; or none.

    All whose language, with its script, is this one, or one that identifiers take it for; a label
    of that very spelling is the only one if it names a script, or no language.
    """
    every = list(labels)
    wanted = any_language(language)
    if not wanted.says_language:
        return []
    codes = _alike(wanted.code)
    if language in every and (wanted.script or codes == {wanted.code}):
        return [language]
    return [
        label
        for label in every
        if (own := any_language(label)).code in codes
        and (not own.script or own.script in wanted.written_in)
    ]
