"""Training sentences: read from files, kept as arrays of ids, cut into mini-batches.

Everything is a function of the seed and the pass, so that a resumed run sees the very batches
an uninterrupted one would have seen. Negatives are sought among some thousand vectors a side.

Letters: m pairs to seek negatives in, d width of a vector, p pairs of pairs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, zip_longest
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from bitextfilter.arrays import Floats, Ids, Indices, Integers
from bitextfilter.encoders.base import Inputs, Padded
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import is_table, open_rows, read_lines
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import Columns, is_blank, strict
from bitextfilter.io.vectors import GivenVectors
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.device import one_torch_thread, product_type
from bitextfilter.text.parses import template_of
from bitextfilter.text.ragged import PIECES, TRIGRAMS, Ragged
from bitextfilter.training.settings import TrainingSettings

POOL_BATCHES = 32
"""Batches that are sorted by length together: neighbours in length, yet mixed anew each pass."""


_DIGEST_BYTES = 8


class Sentences:
    """Many sentences as ids of their pieces, and of their words' trigrams if needed."""

    def __init__(self, rows: Ragged | Iterable[Ids], trigrams: Ragged | None = None) -> None:
        self.views = {PIECES: rows if isinstance(rows, Ragged) else Ragged.of(rows)}
        if trigrams is not None:
            self.views[TRIGRAMS] = trigrams
        self.lengths = self.views[PIECES].lengths

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def keys(self) -> Integers:
        """A number of each text, ``(n,)``: equal for texts that read the same in all views.

        Eight bytes of BLAKE2b: two texts of a billion have the same with a chance of 3 %.
        """
        keys = np.empty(len(self), dtype=np.int64)
        for place, rows in enumerate(zip(*self.views.values(), strict=True)):
            digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
            for row in rows:
                digest.update(len(row).to_bytes(_DIGEST_BYTES, "little") + row.tobytes())
            keys[place] = int.from_bytes(digest.digest(), "little", signed=True)
        return keys

    def padded(self, view: str, rows: Indices, device: torch.device) -> tuple[Tensor, Tensor]:
        """The ids ``(n, t)`` of some sentences, filled up with 0, and their lengths ``(n,)``."""
        return padded(self.views[view], rows, device)

    def take(self, rows: Indices) -> Sentences:
        """A copy of the sentences of these places."""
        return Sentences(*(view.take(rows) for view in self.views.values()))

    def at(self, places: Indices) -> Sentences:
        """The sentences of these places, not copied."""
        return _Chosen(self, places)

    def followed_by(self, other: Sentences) -> Sentences:
        """Return the concatenation with *others*, which have the same views."""
        return Sentences(*(own.followed_by(other.views[name]) for name, own in self.views.items()))


class _Chosen(Sentences):
    """Some of other sentences, by their places there."""

    def __init__(self, every: Sentences, places: Indices) -> None:
        self._every, self._places = every, places
        self.views = every.views
        self.lengths = every.lengths[places]

    @cached_property
    def keys(self) -> Integers:
        return self._every.keys[self._places]

    def padded(self, view: str, rows: Indices, device: torch.device) -> tuple[Tensor, Tensor]:
        return self._every.padded(view, self._places[rows], device)

    def take(self, rows: Indices) -> Sentences:
        return self._every.at(self._places[rows])


def padded(texts: Ragged, rows: Indices, device: torch.device) -> tuple[Tensor, Tensor]:
    """The ids ``(n, t)`` of some rows, filled up with 0, and their lengths ``(n,)``."""
    ids, lengths = texts.padded(rows)
    return torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device)


def inputs_of(
    sentences: Sentences, rows: Indices, views: Iterable[str], device: torch.device
) -> Inputs:
    """The chosen sentences as an encoder reads them."""
    return {view: Padded(*sentences.padded(view, rows, device)) for view in views}


@dataclass(frozen=True)
class Lessons:
    """A teacher's vectors of the rows of a corpus: where its sentences are to lie."""

    vectors: GivenVectors
    places: Indices
    """Of the rows' vectors, ``(n,)``."""
    side: int = 0
    """The side, 0 or 1, of sentences that have no translation."""

    def take(self, rows: Indices) -> Lessons:
        """Return those of some rows."""
        return Lessons(self.vectors, self.places[rows], self.side)

    def at(self, rows: Indices) -> Tensor:
        """Return the vectors of some rows, float32 ``(rows, d)``."""
        return torch.from_numpy(self.vectors[self.places[rows]])

    @cached_property
    def keys(self) -> Integers:
        """A number of each vector, ``(n,)``: equal for equal vectors."""
        starts = np.arange(0, len(self.places), _KEYED)
        blocks = [self.vectors[self.places[start : start + _KEYED]] for start in starts]
        every = [np.frombuffer(b"".join(map(_digest, block)), "<i8") for block in blocks]
        return np.concatenate([np.zeros(0, np.int64), *every])


_KEYED = 4096
"""Vectors held while their keys are made."""


def _digest(row: NDArray[np.generic]) -> bytes:
    return hashlib.blake2b(row.tobytes(), digest_size=_DIGEST_BYTES).digest()


@dataclass(frozen=True)
class Corpus:
    """Parallel sentences, row-aligned, each row with the weight of its file.

    With ``lessons``, ``source`` and ``target`` may be one: sentences of one language.
    """

    source: Sentences
    target: Sentences
    weights: Floats
    """Times a row is read in a pass, ``(n,)``; a fraction is a chance drawn each pass."""
    templates: Ragged | None = None
    """Symbols of the template of each target, for translators that follow templates."""
    third: Sentences | None = None
    """The same in a third language."""
    lessons: Lessons | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def sides(self) -> tuple[Sentences, ...]:
        """Source, target and, if there is one, the third language; or one language alone."""
        if self.lessons is not None and self.source is self.target:
            return (self.source,)
        both = self.source, self.target
        return both if self.third is None else (*both, self.third)

    def side(self, side: int) -> Sentences:
        """Source (0) or target (1)."""
        return self.target if side else self.source

    @property
    def lengths(self) -> Integers:
        """The pieces of the longest side of each row, ``(n,)``."""
        return np.max([side.lengths for side in self.sides], axis=0)  # type: ignore[no-any-return]

    @property
    def rows(self) -> float:
        """The weighted number of pairs that a pass reads."""
        return float(self.weights.sum())

    def mega_batches(self, settings: TrainingSettings, skip: int) -> Iterator[MegaBatch]:
        """Endless mega-batches; *skip*: mini-batches passed over, a multiple of their number."""
        batches = self.batches(settings.batch_size, settings.seed, skip)
        while True:
            yield self, list(islice(batches, settings.mega_batch))

    def batches(self, size: int, seed: int, skip: int) -> Iterator[Indices]:
        """Mini-batches of pairs of similar length: see :func:`endless_batches`."""
        return endless_batches(self.lengths, self.weights, size, seed, skip)

    def up_to(self, length: int) -> Corpus:
        """The rows whose sides all have at most *length* pieces."""
        kept = np.flatnonzero(self.lengths <= length)
        templates = self.templates and self.templates.take(kept)
        lessons = self.lessons and self.lessons.take(kept)
        source, *others = (side.take(kept) for side in self.sides)
        target, *third = others or [source]
        return Corpus(
            source, target, self.weights[kept], templates, third[0] if third else None, lessons
        )

    @property
    def keys(self) -> tuple[Integers, ...]:
        """Numbers of the texts of each side, ``(n,)``: equal for texts that read the same.

        A text on both sides, as with paraphrases, has one number. Trigrams, if there are any,
        distinguish texts whose pieces are all unknown. Vectors of ``lessons`` are as texts.
        """
        keys = tuple(side.keys for side in self.sides)
        return keys if self.lessons is None else (*keys, self.lessons.keys)


MegaBatch = tuple[Corpus, list[Indices]]
"""Mini-batches of pairs, as places in a corpus; negatives are sought among all of them."""


def rows_of_pass(weights: Floats, seed: int, number: int) -> Indices:
    """Row numbers read in a pass, repeated by weight and shuffled."""
    random = np.random.default_rng([seed, number])
    whole = np.floor(weights)
    times = whole + (random.random(len(weights)) < weights - whole)
    rows = np.repeat(np.arange(len(weights)), times.astype(np.int64))
    return random.permutation(rows)


def batches_of_pass(
    lengths: Integers, weights: Floats, size: int, seed: int, number: int
) -> list[Indices]:
    """Row numbers of a pass, cut into mini-batches of similar length in random order.

    The last batch may be smaller than ``size``; every drawn row stands in exactly one batch.
    """
    rows = rows_of_pass(weights, seed, number)
    batches: list[Indices] = []
    for start in range(0, len(rows), size * POOL_BATCHES):
        pool = rows[start : start + size * POOL_BATCHES]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    order = np.random.default_rng([seed, number, 1]).permutation(len(batches))
    return [batches[i] for i in order]


def endless_batches(
    lengths: Integers, weights: Floats, size: int, seed: int, skip: int = 0
) -> Iterator[Indices]:
    """Mini-batches pass after pass, from the ``skip``-th on."""
    number = 0
    if not weights.sum() > 0:
        raise SettingsError("no sentences to train on: every weight is 0")
    while True:
        batches = batches_of_pass(lengths, weights, size, seed, number)
        yield from batches[skip:]
        skip = max(0, skip - len(batches))
        number += 1


@dataclass(frozen=True)
class PairFile:
    """One file of pairs, or two of the same number of lines.

    ``weight``: times it is read in a pass (a fraction reads that share of it).
    """

    source: str
    target: str | None = None
    """None: ``source`` is a TSV or a table."""
    weight: float = 1.0
    columns: Columns = field(default_factory=Columns)

    def texts(self) -> Iterator[tuple[str, ...]]:
        """Yield the pairs, each with the template of its target where the columns have one.

        Raises:
            NotFoundError: a file cannot be opened.
            InputError: a bad row or parse, or two files of different length.
        """
        if self.target is not None:
            yield from _two_files(self.source, self.target)
            return
        header = is_table(self.source)
        with open_rows(self.source) as stream:
            reader = RowReader(stream, self.source, self.columns, header, "mend the row")
            for row in strict(reader):
                try:
                    templates = [template_of(text) for text in row.texts[2:]]
                except InputError as error:
                    raise InputError(error.message, file=self.source, line=row.number) from error
                yield (*row.texts[:2], *templates)


def _two_files(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of two files side by side."""
    for number, (left, right) in enumerate(zip_longest(read_lines(source), read_lines(target)), 1):
        if left is None or right is None:
            short, long = (source, target) if left is None else (target, source)
            raise InputError(
                f"ends here, {long} goes on",
                file=short,
                line=number,
                remedy="the two files must have the same number of lines",
            )
        if is_blank(left) or is_blank(right):
            raise InputError(
                "empty line",
                file=source if is_blank(left) else target,
                line=number,
                remedy="take the line out of both files",
            )
        yield left, right


class PairTexts(NamedTuple):
    """The pairs of some files, row by row."""

    sources: list[str]
    targets: list[str]
    weights: list[float]
    templates: list[str]
    """Of the targets; empty where the files have none."""


def read_pairs(files: Sequence[PairFile]) -> PairTexts:
    """Read all pairs of some files.

    Raises the errors of :meth:`PairFile.texts`, and InputError if there is no pair at all.
    """
    texts = PairTexts([], [], [], [])
    for file in files:
        for source, target, *template in file.texts():
            texts.sources.append(source)
            texts.targets.append(target)
            texts.weights.append(file.weight)
            texts.templates.extend(template)
    if not texts.sources:
        raise InputError("no pairs to train on", file=files[0].source)
    return texts


def read_monolingual(paths: Sequence[str]) -> list[str]:
    """The sentences of plain text files; empty lines are passed over."""
    return [line for path in paths for line in read_lines(path) if not is_blank(line)]


_BLOCK_ROWS = 1000
"""Rows searched at a time."""
_MARGIN = 2.0**-6
"""Between two cosines of bfloat16 whose order is sure. Numbers and sums are rounded by 2^-9 each:
so a cosine is off by less than 2^-8 + 2^-9, and a difference of two by less than 0.012."""
_MOST = 1 << 24
"""Pairs of pairs that share a text, in :func:`sharing`."""


def sharing(keys: tuple[Integers, ...]) -> Tensor | None:
    """Return the places ``(2, p)`` of every two of m pairs that share a text, on any sides.

    Each pair shares its texts with itself. *keys*: a number of each text, by side, ``(m,)`` each.
    None for too many places to be listed.
    """
    count = len(keys[0])
    names, group = np.unique(np.concatenate(keys), return_inverse=True)
    owned = np.unique(group * count + np.tile(np.arange(count), len(keys)))  # by group
    group, owner = np.divmod(owned, count)
    sizes = np.bincount(group, minlength=len(names))
    if int((sizes * sizes).sum()) > _MOST:
        return None
    others = Ragged(owner, sizes).take(group).flat
    return torch.from_numpy(np.stack([np.repeat(owner, sizes[group]), others]))


@torch.no_grad()
def search_negatives(
    source: Tensor, target: Tensor, shared: Tensor, negatives: str, threads: int = 1
) -> tuple[Tensor, Tensor]:
    """Return places as :func:`~bitextfilter.training.objectives.hardest_negatives` does.

    Args:
        source, target: row-aligned vectors ``(m, d)``.
        shared: places ``(2, p)`` of pairs that are no negatives of each other, each pair with
            itself among them.
        negatives: ``same`` or ``other``.
        threads: blocks of rows searched side by side, on a CPU.
    """
    units = [functional.normalize(side.float(), dim=1) for side in (source, target)]
    candidates = {"same": units, "other": units[::-1]}[negatives]
    shared = shared[:, shared[0].argsort()].to(source.device)
    kind = product_type(source.device)
    rounded = [side.to(kind) for side in candidates]

    def search(block: tuple[int, int]) -> Tensor:
        side, first = block
        rows = units[side][first : first + _BLOCK_ROWS]
        bounds = torch.tensor([first, first + len(rows)], device=shared.device)
        here = slice(*torch.searchsorted(shared[0].contiguous(), bounds).tolist())
        cosines = rows.to(kind) @ rounded[side].T
        cosines[shared[0, here] - first, shared[1, here]] = float("-inf")
        if kind == torch.float32:
            return first_highest(cosines)
        return _first_highest_of(cosines, rows, candidates[side])

    starts = range(0, len(source), _BLOCK_ROWS)
    blocks = [(side, first) for side in (0, 1) for first in starts]
    with one_torch_thread():
        found = map_blocks(search, blocks, threads)
    return torch.cat(found[: len(starts)]), torch.cat(found[len(starts) :])


def first_highest(values: Tensor) -> Tensor:
    """Column of each row's highest value, the first of equal ones; -1 where all are -inf."""
    highest, place = values.max(dim=1)
    return place.masked_fill(highest.isneginf(), -1)


def _first_highest_of(rough: Tensor, rows: Tensor, candidates: Tensor) -> Tensor:
    """Return the same of the cosines of rows with candidates, of which *rough* are nearly."""
    highest = rough.amax(dim=1)
    near = rough >= (highest.float() - _MARGIN).to(rough.dtype)[:, None]
    near &= ~rough.isneginf()
    row, column = near.nonzero(as_tuple=True)
    cosines = (rows[row] * candidates[column]).sum(dim=1)
    best = cosines.new_full((len(rows),), float("-inf"))
    best = best.scatter_reduce(0, row, cosines, "amax")
    hit = cosines == best[row]
    nobody = len(candidates)
    place = column.new_full((len(rows),), nobody)
    place = place.scatter_reduce(0, row[hit], column[hit], "amin")
    return place.masked_fill(place == nobody, -1)
