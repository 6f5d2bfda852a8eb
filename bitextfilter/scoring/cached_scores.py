"""Scores that are kept in a folder, so that each pair is scored once.

The key of a score is made of both sentences and a digest of everything else that it depends on:
measure, model or model scorers, background sample, versions and processor. A cached score is the
very float32 that was computed.

The scores are in an SQLite table that several processes add to at once. Each carries a checksum
over its key and itself: a damaged one counts as missing.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sqlite3
import tempfile
import time
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bitextfilter import __version__
from bitextfilter.arrays import Mask, Scores
from bitextfilter.encoders.protocol import of_processor
from bitextfilter.errors import BitextError, InputError, ModelError, OutputError
from bitextfilter.io.files import check_is_here
from bitextfilter.models.folders import full_model_digest, read_config
from bitextfilter.models.foreign import files_of
from bitextfilter.pairs.compiled_words import lanes
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES
from bitextfilter.scoring.model import Model, distinct

if TYPE_CHECKING:
    from bitextfilter.scoring.model_scorers import ModelScorers

KEY_BYTES = 16
"""The width of a key, which must be a digest (evenly distributed)."""

CACHE_FILE = "scores.sqlite"
_FORMAT = 1
"""The table's ``user_version``."""

_PENDING, _SECONDS = 1 << 16, 5.0
"""The most new entries that wait in memory, and the longest wait."""

ASKED = 1024
"""Keys in one query."""

_PATIENCE = 60.0
"""Seconds to wait for other writers, each of which has the table for a moment."""

_TABLE = "create table if not exists scores (key blob primary key, entry integer) without rowid"
_QUERY = "select key, entry from scores where typeof(entry) = 'integer' and key in ({})"


class Cache(AbstractContextManager["Cache"]):
    """The scores of a folder, which is made when there is something to keep.

    Processes of one machine may share it: one at a time writes, readers never wait, and each finds
    the entries of the others. A killed process loses its last five seconds. As a context manager,
    it keeps pending entries at the end.
    """

    def __init__(self, folder: str | Path) -> None:
        """Open the cache.

        Raises InputError if *folder* is something else, or damaged; OutputError for a URL.
        """
        check_is_here(folder)
        self._folder = Path(folder)
        self._file = self._folder / CACHE_FILE
        self._base: sqlite3.Connection | None = None
        self._opened: os.stat_result | None = None
        self._pending: dict[bytes, float] = {}
        self._kept = time.monotonic()
        try:
            with self._naming():
                self._open()
        except BitextError:
            self.close()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.keep()
        except BitextError:
            if kind is None:  # else it would hide the first error
                raise
        finally:
            self.close()

    def close(self) -> None:
        """Close the table without keeping pending entries."""
        if self._base is not None:
            with suppress(sqlite3.Error):
                self._base.close()
        self._base = None

    def get(self, keys: Sequence[bytes]) -> tuple[Scores, Mask]:
        """Look up ``n`` keys → their scores ``(n,)``, and a mask of those found, ``(n,)``.

        Raises InputError if the table is damaged.
        """
        with self._naming():
            known = self._stored(keys) | self._pending
        numbers = [known.get(key) for key in keys]
        values = np.array([0.0 if number is None else number for number in numbers], np.float32)
        return values, np.array([number is not None for number in numbers], np.bool_)

    def put(self, keys: Sequence[bytes], values: Scores) -> None:
        """Add ``n`` keys and their scores ``(n,)``. Raises OutputError."""
        self._pending.update(zip(keys, values.tolist(), strict=True))
        if len(self._pending) >= _PENDING or time.monotonic() - self._kept >= _SECONDS:
            self.keep()

    def keep(self) -> None:
        """Write pending entries. Raises OutputError, and InputError if the table is damaged."""
        self._kept = time.monotonic()
        if not self._pending:
            return
        keys = sorted(self._pending)
        bits = np.array([self._pending[key] for key in keys], dtype=np.float32).view(np.uint32)
        with self._naming():
            self._folder.mkdir(parents=True, exist_ok=True)
            if not self._is_current():
                self.close()
            base = self._base or self._open() or self._connected()
            with base:
                base.execute("begin immediate")
                rows = zip(keys, _sealed(keys, bits).tolist(), strict=True)
                base.executemany("insert or replace into scores values (?, ?)", rows)
        self._pending.clear()

    def _open(self) -> sqlite3.Connection | None:
        """Return the table, None if there is none; InputError if the folder is something else."""
        if not self._folder.exists():
            return None
        if not self._folder.is_dir():
            raise self._refusal()
        # Looked at once: another process may be making the table.
        names = [path.name for path in self._folder.iterdir()]
        if any(name.startswith(CACHE_FILE) for name in names):
            return self._connected()
        if any(not name.endswith(".partial") for name in names):
            raise self._refusal()
        return None

    def _connected(self) -> sqlite3.Connection:
        """Return the table, a new one if there is none."""
        self._check_locks()
        base = sqlite3.connect(self._file, timeout=_PATIENCE, isolation_level=None)
        self._base, self._opened = base, self._file.stat()
        base.execute("pragma synchronous = normal")
        base.execute("pragma cell_size_check = on")
        base.execute("pragma cache_size = -16384")
        if base.execute("pragma user_version").fetchone() == (0,):  # an empty file, so far
            with base:
                base.execute("begin immediate")
                base.execute(_TABLE)
                base.execute(f"pragma user_version = {_FORMAT}")
        if base.execute("pragma user_version").fetchone() != (_FORMAT,):
            raise self._refusal()
        return base

    def _check_locks(self) -> None:
        """Raise OSError on a file system without locks, for which SQLite would wait long."""
        try:
            probe = tempfile.TemporaryFile(dir=self._folder)
        except OSError:  # a folder to read alone
            return
        with probe:
            fcntl.lockf(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _is_current(self) -> bool:
        """Return whether the open table is still the file of its name, which others may delete."""
        try:
            return self._opened is not None and os.path.samestat(self._file.stat(), self._opened)
        except FileNotFoundError:
            return False

    def _refusal(self) -> InputError:
        message = "not a cache of this version of bitextfilter"
        remedy = "name a new folder, or an empty one"
        return InputError(message, file=str(self._folder), remedy=remedy)

    def _stored(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Return the intact entries of *keys* in the table."""
        base = self._base or self._open()
        if base is None:
            return {}
        rows: list[tuple[bytes, int]] = []
        wanted = sorted(keys)
        for start in range(0, len(wanted), ASKED):
            some = wanted[start : start + ASKED]
            rows += base.execute(_QUERY.format(",".join("?" * len(some))), some)
        entries = np.array([entry for _, entry in rows], dtype=np.int64)
        bits = (entries & 0xFFFFFFFF).astype(np.uint32)
        found = [key for key, _ in rows]
        intact = (_sealed(found, bits) == entries).tolist()
        values = bits.view(np.float32).tolist()
        return {key: value for key, value, good in zip(found, values, intact, strict=True) if good}

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Raise errors of the disk and of SQLite as BitextErrors with the file."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise OutputError(f"{self._folder}: cannot be written: {reason}") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a message that is not UTF-8
            if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                raise OutputError(f"{self._file}: cannot be used: {error}") from error
            remedy = "delete it, and its scores are computed again"
            raise InputError("damaged cache", file=str(self._file), remedy=remedy) from error


def _sealed(keys: Sequence[bytes], bits: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return entries: a CRC-32 over key and score above the *bits* of the float32 score."""
    checks = np.fromiter(map(zlib.crc32, keys, bits.tolist()), dtype=np.uint64, count=len(keys))
    entries: NDArray[np.uint64] = checks << np.uint64(32) | bits
    return entries.view(np.int64)


Compute = Callable[[Sequence[str], Sequence[str], Sequence[str]], Mapping[str, Scores]]
"""Scores ``n`` pairs, sources and targets, by some measures → the scores of each ``(n,)``."""

_UTF8 = "utf-8", "surrogatepass"

SCORES = 3
"""Raised where a change of the code changes the scores of an existing model."""

PACKAGES = (
    *("morfessor", "numpy", "regex", "sacremoses", "sentencepiece", "subword-nmt"),
    "torch",
)
"""Packages that read sentences, or compute."""


FOREIGN_PACKAGES = ("onnxruntime", "sentence-transformers", "tokenizers", "transformers")
"""Packages of encoders of other libraries."""


class CachedScores:
    """Scores each pair only once by each measure.

    ``counts["cached"]`` counts the pairs with nothing to compute: all scores are in the cache, or
    the pair stands earlier in the window; ``counts["scored"]`` counts the others.
    """

    def __init__(self, cache: Cache, counts: Counter[str]) -> None:
        """Use *cache*, and count in *counts*."""
        self._cache, self._counts = cache, counts
        self._counts.update(cached=0, scored=0)

    def __call__(
        self,
        digests: Mapping[str, bytes],
        sources: Sequence[str],
        targets: Sequence[str],
        compute: Compute,
    ) -> dict[str, Scores]:
        """Score ``n`` pairs → float32 ``(n,)`` by measure, equal to *compute* of all of them.

        ``digests``: for each measure, everything but the pair that its scores depend on. Raises
        InputError and OutputError of the cache.
        """
        pairs, rows = distinct(list(zip(sources, targets, strict=True)))
        keys = {name: pair_keys(digest, pairs) for name, digest in digests.items()}
        scores, missing = {}, {}
        for name in digests:
            scores[name], found = self._cache.get(keys[name])
            missing[name] = ~found

        new = np.flatnonzero(np.any([*missing.values()], axis=0))
        if names := [name for name in digests if missing[name].any()]:
            left, right = ([pairs[place][side] for place in new] for side in (0, 1))
            computed = compute(left, right, names)
            for name in names:
                scores[name][new] = computed[name]
                fresh = np.flatnonzero(missing[name])
                self._cache.put([keys[name][place] for place in fresh], scores[name][fresh])
        self._counts.update(cached=len(sources) - len(new), scored=len(new))
        return {name: values[rows] for name, values in scores.items()}


def pair_keys(digest: bytes, pairs: Sequence[tuple[str, str]]) -> list[bytes]:
    """Return the key of each pair: BLAKE2b of both sides, with the length of the first.

    *digest*: of everything else that the scores depend on.
    """
    sides = ((source.encode(*_UTF8), target.encode(*_UTF8)) for source, target in pairs)
    texts = (b"%d:%b%b" % (len(source), source, target) for source, target in sides)
    return [hashlib.blake2b(text, digest_size=KEY_BYTES, key=digest).digest() for text in texts]


def score_digest(scorer: Model | ModelScorers, measure: str) -> bytes:
    """Return the digest of all but the pair that a scorer's scores by a measure depend on.

    Raises SettingsError as ``Model.score``, and ModelError where the model's folder has changed
    since the model was loaded.
    """
    return _of_vectors(scorer, measure) if isinstance(scorer, Model) else _of(scorer, measure)


def _of_vectors(model: Model, measure: str) -> bytes:
    model.check([measure])
    folder = full_model_digest(model.folder)
    short, _, width = model.digest.partition("@")
    if not folder.startswith(short):
        raise ModelError(f"{model.folder}: has changed since it was read")
    parts = [*_software(model.encoder.arithmetic()), folder, measure]
    parts += [f"@{width}"] if width else []
    if len(model.processor.known) > 2 or model.exchanged:
        parts += model.languages
    if files_of(model.folder, read_config(model.folder)) is not None:
        parts += [[name, _version(name)] for name in FOREIGN_PACKAGES]
    needs = MEASURES[measure].needs
    if model.background is not None and needs == "neighbours":
        parts.append(model.background.digest())
    if needs in ("classifier", "calibration"):
        parts.append(lanes() or of_processor())
    return _digest(parts)


def _of(scorers: ModelScorers, measure: str) -> bytes:
    """Only the model scorers that the measure uses count, by ``ModelScorers.digests``."""
    from bitextfilter.models.device import CPU, arithmetic
    from bitextfilter.scoring.model_scorers import LONGEST

    known = TRANSLATION_MEASURES.get(measure)
    forward, backward, *language_models = scorers.digests
    fluent = known is not None and known.language_models
    parts: list[object] = [measure]
    parts.append([forward, backward, LONGEST] if known is None or known.translators else [])
    parts.append([*language_models, _version("kenlm")] if fluent else [])
    parts.append(list(scorers.weights) if measure == "log-linear" else [])
    translators = [model for model in (scorers.forward, scorers.backward) if model is not None]
    packages = sorted({name for model in translators for name in model.packages})
    parts += [[name, _version(name)] for name in packages]
    device = translators[0].device if translators else CPU
    return _digest([*_software(arithmetic(device)), *parts])


def _software(computer: list[str]) -> list[object]:
    """Return the versions that all scores depend on, and the result of ``arithmetic``."""
    versions = [[name, _version(name)] for name in PACKAGES]
    return [SCORES, __version__, versions, unicodedata.unidata_version, computer]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _digest(parts: list[object]) -> bytes:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=32).digest()
