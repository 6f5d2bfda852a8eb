"""Skip-gram word vectors with subwords, by fastText's library (Bojanowski et al. 2017).

The library does not set all of its tables: with fewer than ten threads a part of the vectors
starts with old contents of the memory, and a training then fails ("Encountered NaN") or
differs from run to run. So each training runs in a process of its own, where memory is fresh,
and where GNU's C library hands out zeros. With one thread the same text and settings then give
the same vectors: the library's seed is fixed.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import DeviceError, InputError, SettingsError
from bitextfilter.io.drafts import temporary_folder, undisturbed
from bitextfilter.io.records import parse_json
from bitextfilter.settings import Settings, from_0, from_1, setting

TokenisedText = Iterable[Sequence[str]]
"""The tokens of each sentence."""

_SENTENCE_END = "</s>"
"""The library's own mark; it has a vector like a word."""

_CHILD = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from bitextfilter.training.word_vectors import train_here; train_here(sys.argv[1])"
)

_ZEROS = {"MALLOC_PERTURB_": "255"}
"""Makes GNU's C library fill new memory with the complement of 255."""


@dataclass(frozen=True)
class SkipGram(Settings):
    """Settings of skip-gram; the defaults are fastText's own unless they say otherwise."""

    dim: int = from_1(300, "width (fastText: 100; Conneau et al. 2018: 300)")
    epochs: int = from_1(5, "times over the text")
    minimum_count: int = from_1(5, "words that occur less often get no vector")
    window: int = from_1(5, "words on either side that are predicted, at most")
    negatives: int = from_1(5, "words drawn beside the right one")
    shortest: int = from_1(
        3,
        "characters of the shortest n-grams of a word, its ends among them, that have a vector",
        needs="longest",
    )
    longest: int = from_0(6, "of the longest n-grams; 0 for words alone")
    buckets: int = from_1(
        500_000,
        "vectors that the n-grams share by their hash (fastText: 2,000,000)",
        needs="longest",
    )
    subsampling: float = setting(
        0.0001,
        "words of a larger part of the text are passed over at times; a text of few words needs 1,"
        " for never",
        within="> 0, <= 1",
    )
    learning_rate: float = setting(0.05, "of stochastic gradient descent", within="> 0, <= 1")
    threads: int = from_1(1, "more are faster, but then the vectors differ from run to run")

    def __post_init__(self) -> None:
        """Raise SettingsError for values that do not fit."""
        super().__post_init__()
        if self.longest and self.shortest > self.longest:
            raise SettingsError(f"shortest must be at most longest={self.longest}")


class WordVectors(NamedTuple):
    """Words, the most frequent first, with their vectors and counts."""

    words: list[str]
    vectors: NDArray[np.float32]
    """``(n, d)``."""
    counts: NDArray[np.int64] | None
    """Times each occurs, ``(n,)``; None where unknown."""

    def most_frequent(self, n: int) -> WordVectors:
        """Return the first *n*, or all."""
        counts = None if self.counts is None else self.counts[:n]
        return WordVectors(self.words[:n], self.vectors[:n], counts)


@contextmanager
def skip_gram(text: TokenisedText, settings: SkipGram) -> Iterator[Callable[[], WordVectors]]:
    """Start learning a vector for each token that is frequent enough; end it with this context.

    Tokens must be without white space. The text is read at once, and lies in a temporary file
    meanwhile. Memory of the training is for two tables of float32 by ``dim``: of the words and
    buckets, and of the words.

    Yields:
        A function that waits for the vectors. It raises InputError where no token is frequent
        enough, and SettingsError where the training diverged.

    Raises:
        DeviceError: fastText is not installed.
    """
    if importlib.util.find_spec("fasttext") is None:
        raise DeviceError("skip-gram needs fastText: pip install 'bitextfilter[fasttext]'")
    with temporary_folder() as folder, ExitStack() as stack:
        with open(folder / "text", "w", encoding="utf-8", newline="\n") as file:
            file.writelines(" ".join(tokens) + "\n" for tokens in text if tokens)
        values = json.dumps(dataclasses.asdict(settings))
        (folder / "settings.json").write_text(values, encoding="utf-8")
        command = [sys.executable, "-c", _CHILD, str(folder), *sys.path]
        with open(folder / "errors", "wb") as errors, undisturbed():
            child = subprocess.Popen(
                command,
                env=os.environ | _ZEROS,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
            )
            stack.enter_context(child)
            stack.callback(child.kill)
        yield partial(_result, folder, child)


def _result(folder: Path, child: subprocess.Popen[bytes]) -> WordVectors:
    """Wait for a training, and read its vectors; raises its errors."""
    if child.wait() != 0:
        errors = (folder / "errors").read_text(encoding="utf-8", errors="replace").strip()
        if "Encountered NaN" in errors:
            raise _diverged()
        if "Empty vocabulary" in errors:
            raise InputError(
                "no token of the text is frequent enough for a vector",
                remedy="give more text, or a lower skip_gram.minimum_count",
            )
        raise RuntimeError(f"fastText ended with {child.returncode}: {errors}")
    words = (folder / "words").read_text(encoding="utf-8").split("\n")
    vectors, counts = np.load(folder / "vectors.npy"), np.load(folder / "counts.npy")
    if not np.isfinite(vectors).all():
        raise _diverged()
    return WordVectors(words, vectors, counts)


def _diverged() -> SettingsError:
    return SettingsError(
        "the training of the word vectors diverged: set skip_gram.learning_rate lower"
    )


def train_here(name: str) -> None:
    """Train in this process, on the text and the settings in the folder *name*; write into it."""
    library: Any = importlib.import_module("fasttext")
    folder = Path(name)
    settings = SkipGram(**parse_json((folder / "settings.json").read_text(encoding="utf-8")))
    model = library.train_unsupervised(
        str(folder / "text"),
        model="skipgram",
        dim=settings.dim,
        epoch=settings.epochs,
        minCount=settings.minimum_count,
        ws=settings.window,
        neg=settings.negatives,
        minn=settings.shortest if settings.longest else 0,
        maxn=settings.longest,
        bucket=settings.buckets if settings.longest else 0,
        t=settings.subsampling,
        lr=settings.learning_rate,
        thread=settings.threads,
        verbose=0,
    )
    counted = zip(*model.get_words(include_freq=True), strict=True)
    kept = [pair for pair in counted if pair[0] != _SENTENCE_END]
    if not kept:
        raise ValueError("Empty vocabulary")
    words, counts = zip(*kept, strict=True)
    (folder / "words").write_bytes("\n".join(words).encode())
    np.save(folder / "counts.npy", np.array(counts, dtype=np.int64))
    np.save(folder / "vectors.npy", np.stack([model.get_word_vector(word) for word in words]))
