"""Near duplicates: texts that share most of their character n-grams.

Candidates come from MinHash (Broder 1997) with banding (Leskovec, Rajaraman and Ullman, *Mining
of Massive Datasets*, section 3.4). Their Jaccard similarity is then computed exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
import rensa

from bitextfilter.arrays import mixed
from bitextfilter.corpus.duplicate_keys import DedupSettings, text_key
from bitextfilter.io.spill import Records
from bitextfilter.text.wording import figures

_HASHES = 128
"""Most MinHash values of a set of shingles."""

_RECALL = 0.99
"""Least probability that two texts of just the required similarity become candidates."""

_SEED = 1
_CACHED_TEXTS = 1024
_LONGEST = 10_000
"""Characters of a text that are compared, which bounds the memory."""

_BLOCK = 1024
"""Rows hashed at once."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ over the golden ratio."""

_Integers = npt.NDArray[np.uint64]


def _shingles(text: str, size: int) -> set[str]:
    """Return the *size*-grams of characters of *text*; a shorter text is filled up to one."""
    text = text.ljust(size, "\0")
    return {text[start : start + size] for start in range(len(text) - size + 1)}


def _recall(similarity: float, bands: int, rows: int) -> float:
    """Return the probability that sets of this *similarity* agree in all *rows* of a band."""
    return float(1 - (1 - similarity**rows) ** bands)


def _banding(similarity: float) -> tuple[int, int]:
    """Return the number of bands, and of rows in each, for a least *similarity*.

    These are the most rows, hence the fewest false candidates, that reach ``_RECALL`` with at most
    ``_HASHES`` values in all.
    """
    choices = ((_HASHES // rows, rows) for rows in range(_HASHES, 0, -1))
    return next((b, r) for b, r in choices if _recall(similarity, b, r) >= _RECALL or r == 1)


class _Sketcher:
    """Computes keys of texts; similar texts probably share one."""

    def __init__(self, similarity: float, size: int) -> None:
        """Make keys for a least Jaccard *similarity* of *size*-grams."""
        self.bands, self._rows = _banding(similarity)
        self._size = size

    def keys(self, texts: Sequence[str], sides: int, kind: int = 0) -> _Integers:
        """Return the keys ``(n, bands)`` of n rows; *texts* has *sides* texts for each.

        Equal shingles of different sides have different hashes, and equal texts of different
        *kind* different keys.
        """
        first = kind * self.bands
        kinds: _Integers = np.arange(first, first + self.bands, dtype=np.uint64)
        keys: _Integers = np.empty((len(texts) // sides, self.bands), np.uint64)
        for start in range(0, len(keys), _BLOCK):
            part = self._signatures(texts[start * sides : (start + _BLOCK) * sides], sides)
            block = np.broadcast_to(kinds, part.shape[:2])
            for row in range(self._rows):
                block = mixed(block + part[:, :, row] + _FACTOR)  # a step of SplitMix64
            keys[start : start + _BLOCK] = block
        return keys

    def _signatures(self, texts: Sequence[str], sides: int) -> _Integers:
        """Return the MinHash values of each row: ``(n, bands, rows of a band)``."""
        hashes, counts = _shingle_hashes(texts, self._size)
        tags = np.arange(len(texts), dtype=np.uint64) % np.uint64(sides)
        hashes = mixed(hashes + np.repeat(tags, counts) + _FACTOR)
        ends = np.cumsum(counts, dtype=np.uint64)[sides - 1 :: sides]
        offsets = np.concatenate([np.zeros(1, np.uint64), ends])
        width = self.bands * self._rows
        matrix = rensa.RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, width, _SEED)
        return np.array(matrix.to_rows(), np.uint64).reshape(-1, self.bands, self._rows)


def _shingle_hashes(texts: Sequence[str], size: int) -> tuple[_Integers, npt.NDArray[np.int64]]:
    """Return hashes of all *size*-grams of *texts*, concatenated, and their number in each text.

    A hash is a polynomial of the characters, modulo 2⁶⁴.
    """
    filled = [text.ljust(size, "\0") for text in texts]
    lengths = np.fromiter(map(len, filled), np.int64, len(filled))
    data = "".join(filled).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(data, "<u4").astype(np.uint64)
    places = len(codes) - size + 1
    hashes: _Integers = np.zeros(max(places, 0), np.uint64)
    for start in range(size):
        hashes *= _FACTOR
        hashes += codes[start : start + max(places, 0)]
    counts = lengths - (size - 1)
    inside = np.ones(len(codes), bool)
    for back in range(1, size):
        inside[np.cumsum(lengths) - back] = False
    return hashes[inside[: len(hashes)]], counts


class NearTexts(ExitStack):
    """The texts of rows on disk: computes their keys, and compares rows."""

    def __init__(self, settings: DedupSettings) -> None:
        """Compare by the ``by``, ``similarity`` and ``shingle`` of *settings*."""
        super().__init__()
        self._settings = settings
        self._sketcher = _Sketcher(settings.similarity, settings.shingle)
        self._texts = self.enter_context(Records())
        self._first = 0
        self._figures = figures(settings.ignore)
        self._text = lru_cache(_CACHED_TEXTS)(self._read)
        self._shingles = lru_cache(_CACHED_TEXTS)(partial(_shingles, size=settings.shingle))

    def add(self, lines: npt.NDArray[np.int64], rows: Sequence[Sequence[str]]) -> _Integers:
        """Add *rows* by their lines, which ascend, and return their keys, ``(n, keys)``."""
        rows = [[text[:_LONGEST] for text in row] for row in rows]
        sides = self._settings.sides
        records: list[bytes] = []
        for line, row in zip(lines.tolist(), rows, strict=True):
            self._first = self._first or line
            missing = (line - self._first) * sides - len(self._texts) - len(records)
            records += [b""] * missing
            records += [text.encode("utf-8", "surrogatepass") for text in row]
        self._texts.extend(records)
        if self._settings.by != "either":
            keys = self._sketcher.keys([text for row in rows for text in row], sides)
            return self._by_figures(keys, rows)
        columns = ([[row[side]] for row in rows] for side in range(sides))
        kinds = (
            self._by_figures(self._sketcher.keys([text for (text,) in column], 1, kind), column)
            for kind, column in enumerate(columns)
        )
        return np.concatenate(list(kinds), axis=1)

    def _by_figures(self, keys: _Integers, rows: Sequence[Sequence[str]]) -> _Integers:
        """Return keys that rows share only with the same figures.

        So rows of one template with other numbers do not crowd each other's candidates.
        """
        figures = [text_key([*map(self._figures, row)])[:8] for row in rows]
        return keys ^ np.frombuffer(b"".join(figures), "<u8").astype(np.uint64)[:, None]

    def similar(self, one: int, other: int) -> bool:
        """Return True if the rows of two lines are similar enough: in all sides, or either.

        Texts with other figures are not similar.
        """

        def jaccard(side: int) -> float:
            texts = self._text(one, side), self._text(other, side)
            if texts[0] == texts[1]:
                return 1.0
            if len(set(map(self._figures, texts))) > 1:
                return 0.0
            first, second = map(self._shingles, texts)
            common = len(first & second)
            return common / (len(first) + len(second) - common)

        found = (jaccard(side) >= self._settings.similarity for side in range(self._settings.sides))
        return any(found) if self._settings.by == "either" else all(found)

    def _read(self, line: int, side: int) -> str:
        record = self._texts[(line - self._first) * self._settings.sides + side]
        return record.decode("utf-8", "surrogatepass")
