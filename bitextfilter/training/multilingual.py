"""Training pairs of many languages: read from multi-parallel files, grouped by pair of languages.

A multi-parallel file has a column a language; an empty cell has no translation. Any two cells of
a row are a pair. Every mini-batch, and every mega-batch of them, is of one pair of languages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import read_lines
from bitextfilter.training.data import Corpus, MegaBatch, Sentences
from bitextfilter.training.settings import TrainingSettings

LanguagePair = tuple[str, str]


@dataclass(frozen=True)
class LanguageFile:
    """A multi-parallel TSV. ``weight``: times it is read in a pass."""

    source: str
    languages: tuple[str, ...] = ()
    """Of its columns, ``-`` for one that is passed over; none: the first line names them."""
    weight: float = 1.0

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


@dataclass
class LanguageTexts:
    """The sentences of each language, each once, and the rows of the files that hold them."""

    texts: list[list[str]]
    """By language."""
    rows: list[tuple[NDArray[np.int32], float]] = field(default_factory=list)
    """Of each file: places of sentences ``(rows, languages)``, -1 for none; and its weight."""


def read_multilingual(files: Sequence[LanguageFile], known: Sequence[str]) -> LanguageTexts:
    """Read all rows of some files.

    Raises the errors of :meth:`LanguageFile.texts`, and InputError where a language has no pair.
    """
    places: list[dict[str, int]] = [{} for _ in known]
    read = LanguageTexts([])
    for file in files:
        rows = []
        for cells in file.texts(known):
            if len(cells) > 1:
                row = np.full(len(known), -1, dtype=np.int32)
                for language, text in cells:
                    own = places[language]
                    row[language] = own.setdefault(text, len(own))
                rows.append(row)
        if not rows:
            raise InputError("no pairs to train on", file=file.source)
        read.rows.append((np.array(rows), file.weight))
    empty = [name for name, own in zip(known, places, strict=True) if not own]
    if empty:
        raise InputError(f"no pair has a sentence of {empty[0]}", file=files[0].source)
    read.texts = [list(own) for own in places]
    return read


def pair_corpora(
    read: LanguageTexts, sentences: Sequence[Sentences], known: Sequence[str], longest: int
) -> dict[LanguagePair, Corpus]:
    """The distinct pairs of each two languages that have any, up to a length in pieces.

    *sentences*: those of ``read.texts``, as ids. A pair of several files has their highest weight.
    """
    corpora = {}
    for one, other in combinations(range(len(known)), 2):
        places, weights = _distinct(read, one, other)
        sides = (sentences[one].at(places[:, 0]), sentences[other].at(places[:, 1]))
        short = Corpus(*sides, weights).up_to(longest)
        if len(short):
            corpora[known[one], known[other]] = short
    return corpora


_BITS = 32
"""Bits that hold the place of a sentence."""


def _distinct(
    read: LanguageTexts, one: int, other: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the distinct pairs of two languages as places ``(n, 2)``, and their weights."""
    places, weights = [], []
    for rows, weight in read.rows:
        both = rows[:, [one, other]].astype(np.int64)
        both = both[(both >= 0).all(axis=1)]
        places.append(both[:, 0] << _BITS | both[:, 1])
        weights.append(np.full(len(both), weight))
    distinct, row = np.unique(np.concatenate(places), return_inverse=True)
    highest = np.zeros(len(distinct))
    np.maximum.at(highest, row, np.concatenate(weights))
    return np.stack([distinct >> _BITS, distinct & ((1 << _BITS) - 1)], axis=1), highest


def chances(
    corpora: Mapping[LanguagePair, Corpus], first: str, settings: TrainingSettings
) -> NDArray[np.float64]:
    """Chance of each pair of languages to be a mega-batch's, ``(corpora,)``; they sum to 1.

    Proportional to a power of its pairs (Conneau & Lample 2019, section 3.1), apart for the pairs
    with the *first* language and those without.
    """
    rows = np.array([corpus.rows for corpus in corpora.values()])
    sizes: NDArray[np.float64] = rows**settings.language_exponent
    without = np.array([first not in pair for pair in corpora])
    share = settings.without_first if without.any() else 0.0
    for kind, part in ((without, share), (~without, 1 - share)):
        if kind.any():
            sizes[kind] *= part / sizes[kind].sum()
    total: NDArray[np.float64] = sizes / sizes.sum()
    return total


_DRAWS = 4096


def draw_corpora(chance: NDArray[np.float64], seed: int) -> Iterator[int]:
    """Yield endless places, each with its chance."""
    number = 0
    while True:
        random = np.random.default_rng([seed, 2, number])
        yield from random.choice(len(chance), _DRAWS, p=chance).tolist()
        number += 1


@dataclass(frozen=True)
class MultilingualCorpus:
    """Parallel sentences of many languages, by pair of languages."""

    corpora: Mapping[LanguagePair, Corpus]
    first: str
    """The language that most pairs have."""

    @property
    def rows(self) -> float:
        """The weighted number of pairs with the first language."""
        return sum(corpus.rows for pair, corpus in self.corpora.items() if self.first in pair)

    def mega_batches(self, settings: TrainingSettings, skip: int) -> Iterator[MegaBatch]:
        """Endless mega-batches, each of one pair of languages; see :meth:`Corpus.mega_batches`."""
        every, block = list(self.corpora.values()), settings.mega_batch
        draws = draw_corpora(chances(self.corpora, self.first, settings), settings.seed)
        before = np.bincount(list(islice(draws, skip // block)), minlength=len(every)) * block
        batches: dict[int, Iterator[Indices]] = {}
        for place in draws:
            corpus = every[place]
            if place not in batches:
                seed, done = settings.seed + 1000 * place, int(before[place])
                batches[place] = corpus.batches(settings.batch_size, seed, done)
            yield corpus, list(islice(batches[place], block))


def check_multilingual(settings: TrainingSettings) -> None:
    """Raise SettingsError for objectives that take two languages."""
    if settings.decodes:
        raise SettingsError(
            "a decoder writes one of two languages, and here are more: set training.translation"
            " and training.autoencoding to 0"
        )
