"""Training pairs of many languages: read from multi-parallel files, grouped by pair of languages.

A multi-parallel file has a column a language; an empty cell has no translation. Any two cells of
a row are a pair. Every mini-batch, and every mega-batch of them, is of one pair of languages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import read_lines
from bitextfilter.io.vectors import GivenVectors, check_count
from bitextfilter.languages import find_language
from bitextfilter.training.data import Corpus, Lessons, MegaBatch, Sentences
from bitextfilter.training.settings import TrainingSettings

LanguagePair = tuple[str, str]


@dataclass(frozen=True)
class LanguageFile:
    """A multi-parallel TSV. ``weight``: times it is read in a pass."""

    source: str
    languages: tuple[str, ...] = ()
    """Of its columns, ``-`` for one that is passed over; none: the first line names them."""
    weight: float = 1.0

    def described(self) -> list[Any]:
        """Its name without the folder, its languages and weight."""
        return [Path(self.source).name, list(self.languages), self.weight]

    def texts(self, known: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
        """Yield the cells of each row that are not empty, with their languages' places in *known*.

        Raises:
            NotFoundError: the file cannot be opened.
            InputError: a header or a row is bad, or names a language that is not *known*.
        """
        lines = enumerate(read_lines(self.source), 1)
        names = self.languages
        if not names:
            names = tuple(next(lines, (1, ""))[1].split("\t"))
        columns = self._columns(names, known)
        for number, line in lines:
            cells = line.split("\t")
            if len(cells) != len(names):
                raise InputError(
                    f"{len(cells)} column{'s' * (len(cells) != 1)}, expected {len(names)}",
                    file=self.source,
                    line=number,
                    remedy="mend the row; an empty cell stands for no translation",
                )
            yield [(place, cells[i]) for i, place in columns if cells[i].strip()]

    def _columns(self, names: Sequence[str], known: Sequence[str]) -> list[tuple[int, int]]:
        """Return the columns to read, each with the place of its language in *known*."""
        names = [find_language(name, known) or name for name in names]
        wanted = [name for name in names if name != "-"]
        strange = next((name for name in wanted if name not in known), None)
        if strange is not None:
            raise InputError(
                f"the header has {strange!r:.40}, which is none of --languages",
                file=self.source,
                line=1,
                remedy="name the columns: --pairs en,de,-=FILE passes over the third",
            )
        double = next((name for name in wanted if wanted.count(name) > 1), None)
        if double is not None:
            raise InputError(
                f"two columns are {double}", file=self.source, line=1, remedy="leave one out"
            )
        return [(i, known.index(name)) for i, name in enumerate(names) if name != "-"]


@dataclass(frozen=True)
class TaughtFile:
    """A multi-parallel TSV, or text of one language, and a teacher's vectors of its rows."""

    file: LanguageFile
    vectors: str
    """A file of vectors: see :class:`~bitextfilter.io.vectors.GivenVectors`."""


class TaughtRows(NamedTuple):
    """The rows of a file with a teacher's vectors."""

    rows: NDArray[np.int32]
    """See ``LanguageTexts.rows``; a row for each vector."""
    weight: float
    vectors: GivenVectors


@dataclass
class LanguageTexts:
    """The sentences of each language, each once, and the rows of the files that hold them."""

    texts: list[list[str]]
    """By language."""
    rows: list[tuple[NDArray[np.int32], float]] = field(default_factory=list)
    """Of each file: places of sentences ``(rows, languages)``, -1 for none; and its weight."""
    taught: list[TaughtRows] = field(default_factory=list)


def read_multilingual(
    files: Sequence[LanguageFile], known: Sequence[str], taught: Sequence[TaughtFile] = ()
) -> LanguageTexts:
    """Read all rows of some files, perhaps none, and of those that are taught.

    Raises the errors of :meth:`LanguageFile.texts` and ``GivenVectors``, and InputError where a
    language has no pair, vectors and rows differ in number, or a vector is not finite.
    """
    places: list[dict[str, int]] = [{} for _ in known]
    read = LanguageTexts([])
    for file in files:
        rows = [row for row in _rows(file, known, places) if (row >= 0).sum() > 1]
        if not rows:
            raise InputError("no pairs to train on", file=file.source)
        read.rows.append((np.array(rows), file.weight))
    empty = [name for name, own in zip(known, places, strict=True) if not own]
    if files and empty:
        raise InputError(f"no pair has a sentence of {empty[0]}", file=files[0].source)
    read.taught = _taught(taught, known, places)
    read.texts = [list(own) for own in places]
    return read


def _taught(
    files: Sequence[TaughtFile], known: Sequence[str], places: Sequence[dict[str, int]]
) -> list[TaughtRows]:
    """Read the files that are taught; see :func:`_rows`."""
    read = []
    for each in files:
        rows, vectors = list(_rows(each.file, known, places)), GivenVectors(each.vectors)
        check_count([vectors], len(rows), each.file.source)
        if not any((row >= 0).any() for row in rows):
            raise InputError("no text to be taught", file=each.file.source)
        bad = next((n for n in range(len(rows)) if not vectors.is_finite(n)), None)
        if bad is not None:
            remedy = "leave it out of the text and of the vectors"
            raise InputError(f"row {bad + 1} is not finite", file=each.vectors, remedy=remedy)
        read.append(TaughtRows(np.array(rows), each.file.weight, vectors))
    return read


def _rows(
    file: LanguageFile, known: Sequence[str], places: Sequence[dict[str, int]]
) -> Iterator[NDArray[np.int32]]:
    """Yield the places of the sentences of each row, -1 for none, and add new ones to *places*."""
    for cells in file.texts(known):
        row = np.full(len(known), -1, dtype=np.int32)
        for language, text in cells:
            own = places[language]
            row[language] = own.setdefault(text, len(own))
        yield row


def pair_corpora(
    read: LanguageTexts,
    sentences: Sequence[Sentences],
    known: Sequence[str],
    longest: int,
    three_way: bool = False,
) -> dict[LanguagePair, Corpus]:
    """The distinct pairs of each two languages that have any, up to a length in pieces.

    *sentences*: those of ``read.texts``, as ids. A pair of several files has their highest weight.
    *three_way*: rows in the first language and two others, by these two.
    """
    corpora = {}
    for i, j in combinations(range(three_way, len(known)), 2):
        corpus = _corpus(read, sentences, [0, i, j] if three_way else [i, j], longest)
        if len(corpus):
            corpora[known[i], known[j]] = corpus
    return corpora


def taught_corpora(
    read: LanguageTexts, sentences: Sequence[Sentences], longest: int
) -> list[Corpus]:
    """The taught rows, up to a length in pieces.

    Those of one language are a corpus of it alone. Of more languages, the first that the model
    knows and each other one are pairs. *sentences*: those of ``read.texts``, as ids.
    """
    corpora, two = [], len(sentences) <= 2
    for rows, weight, vectors in read.taught:
        first, *others = np.flatnonzero((rows >= 0).any(axis=0)).tolist()
        for other in others or [first]:
            places = np.flatnonzero((rows[:, [first, other]] >= 0).all(axis=1))
            source = sentences[first].at(rows[places, first].astype(np.int64))
            target = source
            if other != first:
                target = sentences[other].at(rows[places, other].astype(np.int64))
            weights = np.full(len(places), weight)
            lessons = Lessons(vectors, places, first if two else 0)
            corpora.append(Corpus(source, target, weights, lessons=lessons).up_to(longest))
    return [corpus for corpus in corpora if len(corpus)]


def _corpus(
    read: LanguageTexts, sentences: Sequence[Sentences], languages: list[int], longest: int
) -> Corpus:
    """Return the distinct rows in some languages, up to a length."""
    places, weights = _distinct(read, languages)
    one, other, *third = (
        sentences[number].at(own) for number, own in zip(languages, places.T, strict=True)
    )
    return Corpus(one, other, weights, None, third[0] if third else None).up_to(longest)


def _distinct(read: LanguageTexts, languages: list[int]) -> tuple[Indices, Floats]:
    """Return distinct rows in some languages as places ``(n, languages)``, and their weights."""
    places, weights = [], []
    for rows, weight in read.rows:
        chosen = rows[:, languages].astype(np.int64)
        chosen = chosen[(chosen >= 0).all(axis=1)]
        places.append(chosen)
        weights.append(np.full(len(chosen), weight))
    every = np.concatenate(places)
    numbers = every[:, 0]
    for column in every.T[1:]:  # of two columns at a time, so that the products stay small
        before = np.unique(numbers, return_inverse=True)[1]
        numbers = before * (column.max(initial=0) + 1) + column
    _, first, row = np.unique(numbers, return_index=True, return_inverse=True)
    highest = np.zeros(len(first))
    np.maximum.at(highest, row, np.concatenate(weights))
    return every[first], highest


def chances(data: MultilingualCorpus, settings: TrainingSettings) -> Floats:
    """Chance of each corpus to be a mega-batch's, ``(corpora,)``; they sum to 1.

    Proportional to a power of its rows (Conneau & Lample 2019, section 3.1), apart for the pairs
    with the first language, those without, rows in three languages, and taught ones.
    """
    rows = np.array([corpus.rows for corpus in data.every])
    kinds = np.array(
        [data.first not in pair for pair in data.pairs]
        + [2] * len(data.three_way)
        + [3] * len(data.taught)
    )
    sizes: Floats = rows**settings.language_exponent
    shares = [1.0, settings.without_first, settings.three_way, settings.taught]
    shares[1:] = [share * (kinds == kind).any() for kind, share in enumerate(shares[1:], 1)]
    shares[0] -= sum(shares[1:])
    for kind, share in enumerate(shares):
        own = kinds == kind
        if own.any():
            sizes[own] *= share / sizes[own].sum()
    total: Floats = sizes / sizes.sum()
    return total


_DRAWS = 4096


def draw_corpora(chance: Floats, seed: int) -> Iterator[int]:
    """Yield endless places, each with its chance."""
    number = 0
    while True:
        random = np.random.default_rng([seed, 2, number])
        yield from random.choice(len(chance), _DRAWS, p=chance).tolist()
        number += 1


@dataclass(frozen=True)
class MultilingualCorpus:
    """Parallel sentences of many languages, or of two beside text that is taught."""

    pairs: Mapping[LanguagePair, Corpus]
    """By pair of languages."""
    first: str
    """The language that most pairs have."""
    three_way: Mapping[LanguagePair, Corpus] = field(default_factory=dict)
    """Rows in the first language and two others, by these two."""
    taught: Sequence[Corpus] = ()
    """See :func:`taught_corpora`."""

    @property
    def every(self) -> list[Corpus]:
        """All corpora."""
        return [*self.pairs.values(), *self.three_way.values(), *self.taught]

    @property
    def rows(self) -> float:
        """The weighted number of pairs with the first language."""
        return sum(corpus.rows for pair, corpus in self.pairs.items() if self.first in pair)

    def mega_batches(self, settings: TrainingSettings, skip: int) -> Iterator[MegaBatch]:
        """Endless mega-batches, each of a corpus drawn by its chance.

        Those of three languages have two thirds of the rows, so as many sentences as others.
        *skip*: mini-batches passed over, a multiple of those in a mega-batch.
        """
        every, block = self.every, settings.mega_batch
        draws = draw_corpora(chances(self, settings), settings.seed)
        before = np.bincount(list(islice(draws, skip // block)), minlength=len(every)) * block
        batches: dict[int, Iterator[Indices]] = {}
        for place in draws:
            corpus = every[place]
            if place not in batches:
                size = max(1, 2 * settings.batch_size // max(2, len(corpus.sides)))
                seed, done = settings.seed + 1000 * place, int(before[place])
                batches[place] = corpus.batches(size, seed, done)
            yield corpus, list(islice(batches[place], block))


def check_width(taught: Sequence[Corpus], width: int) -> None:
    """Raise SettingsError unless all vectors of teachers have *width* numbers."""
    for vectors in (corpus.lessons.vectors for corpus in taught if corpus.lessons is not None):
        if vectors.dim != width:
            raise SettingsError(
                f"{vectors.name}: vectors of {vectors.dim} numbers, and those of the new model"
                f" have {width}: set shape.embedding so that they have as many"
            )


def check_taught(settings: TrainingSettings, taught: bool) -> None:
    """Raise SettingsError for a share without effect. *taught*: whether there are such files."""
    if (settings.taught == 0) if taught else (settings.taught != TrainingSettings().taught):
        needs = "a share above 0" if taught else "files: give --taught FILE VECTORS"
        raise SettingsError(f"training.taught={settings.taught:g} needs {needs}")


def check_multilingual(settings: TrainingSettings, taught: bool = False) -> None:
    """Raise SettingsError for objectives that take two languages.

    *taught*: whether there are files that are taught.
    """
    if settings.decodes:
        raise SettingsError(
            "a decoder writes one of two languages, and here are more: set training.translation"
            " and training.autoencoding to 0"
        )
    if settings.three_way and any((settings.triplet, settings.cosine, settings.contrastive)):
        raise SettingsError(
            "training.three_way goes with training.ranking alone: set training.triplet,"
            " training.cosine and training.contrastive to 0"
        )
    total = settings.without_first + settings.three_way + settings.taught * taught
    if total > 1:
        raise SettingsError(
            "training.without_first, training.three_way and training.taught are shares of the"
            f" mini-batches: their sum is at most 1, not {total:g}"
        )
