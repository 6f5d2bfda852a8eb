"""Learnt from text of one language: n-gram language models, and skip-gram word vectors.

N-gram models are smoothed by interpolated modified Kneser-Ney: S. F. Chen and J. Goodman, "An
empirical study of smoothing techniques for language modeling", 1998 (TR-10-98), section 3; with the
additions of KenLM's ``lmplz`` (Heafield et al. 2013): the unigrams are interpolated with the
uniform distribution over all words, ``<unk>`` and ``</s>`` among them, ``<s>`` not; n-grams that
begin with ``<s>`` keep their plain counts on all levels.

Word vectors have subwords, by fastText's library (Bojanowski et al. 2017). The library does not set
all of its tables: with fewer than ten threads a part of the vectors starts with old contents of the
memory, and a training then fails ("Encountered NaN") or differs from run to run. So each training
runs in a process of its own, where memory is fresh, and where GNU's C library hands out zeros. With
one thread the same text and settings then give the same vectors: the library's seed is fixed.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, Vectors
from bitextfilter.errors import DeviceError, InputError, SettingsError
from bitextfilter.io.drafts import temporary_folder, undisturbed
from bitextfilter.io.records import parse_json
from bitextfilter.settings import Settings, from_0, from_1, setting
from bitextfilter.text.ngram_model import BEGIN, END, MARKS, Level, NgramModel
from bitextfilter.text.words import TokenUnits

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts of counts 1, 2 and 3 up where the counts of counts give none, as in ``lmplz``."""

_PRUNED_FROM = 3
"""The shortest n-grams that a minimum count may leave out."""


@dataclass(frozen=True)
class NgramSettings(Settings):
    """Settings of the estimation."""

    order: int = from_1(3, "length of the longest n-grams; of characters 5")
    minimum_count: int = from_1(
        1, "n-grams of three tokens and more that are seen less often are left out"
    )


class TokenCorpus:
    """Sentences of tokens as one array of word numbers, each between ``<s>`` and ``</s>``."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        """Read *sentences*; empty ones are passed over.

        Memory: 4 bytes a token, and the words. Raises InputError where a token is a mark of
        the model or has white space in it, or where there is none at all.
        """
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__
        for mark in MARKS:
            _ = numbers[mark]
        ids = array("i")
        self.sentences = 0
        for tokens in sentences:
            if tokens:
                self.sentences += 1
                ids.append(BEGIN)
                ids.extend(map(numbers.__getitem__, tokens))
                ids.append(END)
        self.words = list(numbers)
        self.ids: NDArray[np.int32] = np.frombuffer(ids, dtype=np.int32)
        if not self.sentences:
            raise InputError("there is no text to learn a language model from")
        if int((self.ids <= END).sum()) != 2 * self.sentences:
            raise InputError(f"a token is one of the marks {', '.join(MARKS)}")
        if any(word.encode().split() != [word.encode()] for word in self.words):
            raise InputError("a token is empty or has white space in it")


class Trained(NamedTuple):
    """An estimated model, and the discounts that it rests on."""

    model: NgramModel
    discounts: Floats
    """Of counts 1, 2, and 3 up, for each length of n-grams: shape ``(order, 3)``."""
    fallbacks: list[int]
    """The lengths whose counts of counts gave no discounts, so that they have ``FALLBACK``."""


class _Counts(NamedTuple):
    """The n-grams of one length, numbered as in Level, before smoothing."""

    keys: Integers
    suffixes: NDArray[np.int32]
    """The number of the last n-1 words of each, on the level before; 0 for a unigram."""
    seen: Integers
    """Times each stands in the text."""


def estimate(
    corpus: TokenCorpus, settings: NgramSettings, units: TokenUnits | None = None
) -> Trained:
    """Estimate a model from *corpus*; *units*, of its tokens, are kept in the model.

    The same corpus gives the same model. Memory: some 30 bytes a token and 50 an n-gram.
    Raises SettingsError where no sentence is long enough for the order.
    """
    counts = _count(corpus, settings.order)
    size = len(corpus.words)
    discounts, fallbacks = np.empty((settings.order, 3)), []
    levels: list[Level] = []
    lower = np.full(1, 1 / (size - 1))  # <s> is never predicted
    kept = np.ones(1, dtype=bool)
    for n, level in enumerate(counts, 1):
        adjusted: Integers = level.seen.copy()
        if n < len(counts):  # Kneser-Ney: the number of distinct words before it, if there are any
            before = np.bincount(counts[n].suffixes, minlength=len(adjusted))
            np.copyto(adjusted, before, where=before > 0)
        found = discounts_of(adjusted)
        if found is None:
            fallbacks.append(n)
        discounts[n - 1] = FALLBACK if found is None else found
        contexts, last = np.divmod(level.keys, size)
        places, kept_contexts = np.cumsum(kept) - 1, kept
        kept = level.seen >= (settings.minimum_count if n >= _PRUNED_FROM else 0)
        # Chen & Goodman 1998, equations (20) to (22). The counts of n-grams that are not kept go to
        # the back-off whole.
        taken = np.append(0, discounts[n - 1])[np.minimum(adjusted, 3)]
        totals = np.bincount(contexts, adjusted, len(lower))
        freed = np.bincount(contexts, np.where(kept, taken, adjusted), len(lower))
        weights = np.divide(freed, totals, out=np.ones_like(freed), where=totals > 0)
        lower = (adjusted - taken) / totals[contexts] + weights[contexts] * lower[level.suffixes]
        if n == 1:
            lower[BEGIN] = 1  # as lmplz writes it: it is always there
        else:
            levels[-1] = levels[-1]._replace(backoffs=_log10(weights[kept_contexts]))
        keys = (places[contexts] * size + last)[kept]
        levels.append(Level(keys, _log10(lower[kept]), np.zeros(len(keys), dtype=np.float32)))
    return Trained(NgramModel(corpus.words, levels, units), discounts, fallbacks)


def discounts_of(adjusted: Integers) -> tuple[float, float, float] | None:
    """Return the discounts of counts 1, 2, and 3 up, by Chen & Goodman 1998, equation (26).

    None where the *adjusted* counts give none that are above 0 and not above the count: they are
    too few, or made up.
    """
    of = np.bincount(np.minimum(adjusted, 5), minlength=6)
    if not of[1:4].all():
        return None
    ratio = of[1] / (of[1] + 2 * of[2])
    found = [float(j - (j + 1) * ratio * of[j + 1] / of[j]) for j in (1, 2, 3)]
    if not all(0 < discount <= j for j, discount in enumerate(found, 1)):
        return None
    return found[0], found[1], found[2]


def _count(corpus: TokenCorpus, order: int) -> list[_Counts]:
    """Count all n-grams up to *order*."""
    size = len(corpus.words)
    seen = np.bincount(corpus.ids, minlength=size)
    seen[BEGIN] = 0  # as it is never predicted
    counts = [_Counts(np.arange(size), np.zeros(size, dtype=np.int32), seen)]
    ends = corpus.ids  # the number of the n-gram that ends at each place of the text, or -1
    for n in range(2, order + 1):
        keys = np.full(len(ends), -1, dtype=np.int64)
        keys[1:] = ends[:-1]
        keys[corpus.ids == BEGIN] = -1
        keys *= size
        keys += corpus.ids  # below 0 where there is no context
        by_key = np.argsort(keys)
        keys = keys[by_key]
        first = int(np.searchsorted(keys, 0))
        keys, by_key = keys[first:], by_key[first:]
        if not len(keys):
            raise SettingsError(f"no sentence is long enough for n-grams of {n} tokens")
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        times = np.diff(np.append(starts, len(keys)))
        counts.append(_Counts(keys[starts], ends[by_key[starts]], times))
        ends = np.full(len(ends), -1, dtype=np.int32)
        ends[by_key] = np.repeat(np.arange(len(starts), dtype=np.int32), times)
    return counts


def _log10(probabilities: Floats) -> NDArray[np.float32]:
    return np.log10(probabilities).astype(np.float32)


TokenisedText = Iterable[Sequence[str]]
"""The tokens of each sentence."""

_SENTENCE_END = "</s>"
"""The library's own mark; it has a vector like a word."""

_CHILD = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from bitextfilter.training.monolingual import train_here; train_here(sys.argv[1])"
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
    vectors: Vectors
    """``(n, d)``."""
    counts: Integers | None
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
        values = json.dumps(asdict(settings))
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
