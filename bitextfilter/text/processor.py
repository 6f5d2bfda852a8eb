"""The text processing of a model: sentences in, arrays of token ids out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.languages import own_language
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.parses import TemplateSymbols
from bitextfilter.text.ragged import PIECES, TRIGRAMS, Ragged, RaggedStore, TokenTable, View
from bitextfilter.text.segment import (
    SEGMENTERS,
    UNKNOWN,
    Segmenter,
    SegmenterSettings,
    learn_segmenter,
    load_segmenter,
    save_segmenter,
)
from bitextfilter.text.trigrams import (
    LONGEST,
    SHORTEST,
    CountedTrigrams,
    HashedTrigrams,
    Trigrams,
    TrigramSettings,
)
from bitextfilter.text.units import is_unspaced
from bitextfilter.text.vocabulary import RESERVED, Vocabulary
from bitextfilter.text.words import split_words

_MOST = 1 << 20
"""The cache begins anew after this many characters: a token may be as long as a line."""


class TokenCache:
    """Numbers each token once, and remembers it for the next sentences. Thread-safe."""

    def __init__(
        self, number: Callable[[list[str]], Mapping[str, Ragged]], most: int = _MOST
    ) -> None:
        """``number``: tokens → the ids of each, by view, which depend on that token alone."""
        self._number, self._most = number, most
        self._none = number([])
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        # The table last: with an older one, no token has ids, and the next read forgets again.
        self._views = {view: RaggedStore(ids) for view, ids in self._none.items()}
        self._characters = 0
        self._table = TokenTable()

    def read(self, sentences: Sequence[str]) -> tuple[Ragged, dict[str, Ragged]]:
        """Return the tokens of each sentence, and the ids of each distinct token, by view.

        The rows are places among the distinct tokens; the first of these is the empty one, which
        is in no sentence.
        """
        with self._lock:
            if self._characters > self._most:
                self._forget()
            try:
                window = self._table.read(sentences)
                if window.new:
                    for view, ids in self._number(window.new).items():
                        self._views[view].append(ids)
            except BaseException:  # the table has tokens without ids
                self._forget()
                raise
            self._characters += sum(map(len, window.new))
            views = {view: ids.take(window.numbers) for view, ids in self._views.items()}
            return window.rows, views


_FOREIGN = "foreign"
"""The segmentation of encoders that read text in their own way."""
_VOCABULARY = "vocabulary.tsv"
_TRIGRAMS = "trigrams.tsv"
_WINDOW = 8192


class TextProcessor:
    """Normalises, segments and numbers sentences of two languages (or twice the same one), or more.

    That of more is made for all of its languages, and loaded for two of them.
    """

    def __init__(
        self,
        languages: tuple[str, ...],
        normalisation: Normalisation,
        segmenter: Segmenter,
        vocabulary: Vocabulary,
        trigrams: Trigrams | None = None,
    ) -> None:
        """Take the parts; *languages* of the source and the target, then further ones."""
        self.languages = (languages[0], languages[1])
        """Of the source and the target."""
        self.known = tuple(dict.fromkeys(languages))
        """All languages whose sentences it reads."""
        self.normalisation = normalisation
        self.segmenter = segmenter
        self.vocabulary = vocabulary
        self.trigrams = trigrams
        self.first_trigrams: dict[str, int] = {}
        """Number of the leading trigrams that a language reads; the rest is of later ones."""
        self.templates: TemplateSymbols | None = None
        """The symbols of a model that follows templates; its trainer sets them."""
        self._piece_ids = segmenter.numbering(vocabulary.index)
        self._caches: dict[tuple[str, tuple[str, ...]], TokenCache] = {}

    @classmethod
    def learn(
        cls,
        texts: Sequence[Sequence[str]],
        languages: tuple[str, ...],
        normalisation: Normalisation,
        segmentation: SegmenterSettings | Segmenter,
    ) -> TextProcessor:
        """Learn one segmentation (or use a given one) and one vocabulary from all languages.

        *texts*: the sentences of each language. The vocabulary holds every learnt piece that
        occurs or, if the segmentation has no fixed inventory, the ``vocabulary_size`` most
        frequent pieces.
        """
        sides = [
            [normalisation(sentence, language) for sentence in sentences]
            for sentences, language in zip(texts, languages, strict=True)
        ]
        everything = (sentence for side in sides for sentence in side)
        if isinstance(segmentation, SegmenterSettings):
            segmenter, settings = learn_segmenter(everything, segmentation), segmentation
        else:
            segmenter, settings = segmentation, SegmenterSettings()
        known = segmenter.inventory()
        if known is None:
            size = settings.vocabulary_size + len(RESERVED)
            found = (_by_windows(segmenter, side) for side in sides)
            vocabulary = Vocabulary.build(*found, size=size)
        else:
            vocabulary = _counted(segmenter, sorted(known), sides)
        return cls(languages, normalisation, segmenter, vocabulary)

    def learn_trigrams(self, texts: Sequence[Sequence[str]], settings: TrigramSettings) -> None:
        """Learn the trigrams of the words of each language: adds the view ``TRIGRAMS``."""
        self._caches.clear()
        size, syllabic, longest = settings.size, settings.syllabic, settings.longest
        if settings.kind == "hashed":
            self.trigrams = HashedTrigrams(size, syllabic, longest)
            return
        sides = zip(texts, self.counted, strict=True)
        normalised = (self.normalise(sentences, language) for sentences, language in sides)
        self.trigrams = CountedTrigrams.learn(
            *normalised, size=size, syllabic=syllabic, longest=longest
        )

    def extended(self, texts: Mapping[str, Sequence[str]], size: int) -> TextProcessor:
        """Return the same for further languages, by their *texts*, with *size* more trigrams.

        Only the further languages read these, so that all others are read as before. SettingsError
        for hashed trigrams, or none: they have no further ones.
        """
        if not isinstance(self.trigrams, CountedTrigrams):
            raise SettingsError("the model counts no trigrams, so that none can be added")
        sides = {
            language: [self.normalisation(sentence, language) for sentence in own]
            for language, own in texts.items()
        }
        first = len(RESERVED)
        counts = [self.vocabulary.counts]
        for side in sides.values():
            ids = self._piece_ids([word for sentence in side for word in sentence.split()]).flat
            counts.append(np.bincount(ids, minlength=len(self.vocabulary))[first:, None])
        vocabulary = Vocabulary(self.vocabulary.pieces, np.concatenate(counts, axis=1))
        trigrams = self.trigrams.extended(*sides.values(), size=size)
        languages, before = (*self.counted, *texts), len(self.trigrams.vocabulary.pieces)
        more = TextProcessor(languages, self.normalisation, self.segmenter, vocabulary, trigrams)
        more.first_trigrams = dict.fromkeys(self.counted, before) | self.first_trigrams
        return more

    def normalise(self, sentences: Sequence[str], language: str) -> list[str]:
        """Return *sentences* normalised; SettingsError unless *language* is ``known``."""
        language = own_language(language, self.known)
        return [self.normalisation(sentence, language) for sentence in sentences]

    def side(self, language: str) -> int:
        """Return the side, 0 or 1, of a known language in training: of more than two, all are 0."""
        return self.known.index(own_language(language, self.known)) if len(self.known) <= 2 else 0

    def cut(self, word: str) -> list[str]:
        """Return the pieces of a normalised word of a script without spaces; others stay whole."""
        if not is_unspaced(word):
            return [word]
        pieces = (self.segmenter.join([piece]) for piece in self.segmenter.segment_all([word])[0])
        return [piece for piece in pieces if piece] or [word]

    def lengths(self, texts: Sequence[str], language: str) -> list[int]:
        """Return the number of pieces of each of *texts*, normalised."""
        return list(map(len, self.segmenter.segment_all(self.normalise(texts, language))))

    def ids(
        self, sentences: Sequence[str], language: str, view: str = PIECES
    ) -> list[npt.NDArray[np.int32]]:
        """Return the ids of each sentence, whole, without begin or end marks.

        Never empty: a sentence that normalises to nothing is one ``UNKNOWN``. SettingsError unless
        *language* is ``known``. Holds the words of some thousand sentences at a time.
        """
        starts = range(0, max(len(sentences), 1), _WINDOW)
        windows = (sentences[start : start + _WINDOW] for start in starts)
        return [
            row for window in windows for row in self.read(window, language, (view,))[view].ids()
        ]

    def read(
        self, sentences: Sequence[str], language: str, views: Sequence[str] = (PIECES,)
    ) -> dict[str, View]:
        """Read *sentences* as their ``PIECES``, as the ``TRIGRAMS`` of their words, or both.

        No sentence is without a token, as with :meth:`ids`. SettingsError unless *language* is
        ``known``.
        """
        language = own_language(language, self.known)
        # Each distinct token is normalised once, in _ids, unless that needs whole sentences.
        if not self.normalisation.by_words:
            sentences = self.normalise(sentences, language)
        key = language, tuple(views)
        if key not in self._caches:
            self._caches.setdefault(key, TokenCache(partial(self._ids, *key)))
        rows, read = self._caches[key].read(sentences)
        # Tokens that normalise to nothing are dropped. A sentence that is left without any gets
        # token 0, the empty one, whose id is UNKNOWN.
        nonempty = read[views[0]].lengths > 0
        if not nonempty[1:].all():
            rows = rows.only(nonempty[rows.flat])
        rows = rows.filled(0)
        return {view: View(rows, read[view].filled(UNKNOWN)) for view in views}

    def _ids(self, language: str, views: Sequence[str], tokens: list[str]) -> dict[str, Ragged]:
        """Return the ids of tokens, by view; no id for a token that normalises to nothing."""
        if self.normalisation.by_words:
            tokens = self.normalisation.each(tokens, language)
        nonempty = np.fromiter(map(bool, tokens), dtype=bool, count=len(tokens))
        found = {}
        for view in views:
            if view == PIECES:
                ids = self._piece_ids(tokens)
            else:
                assert self.trigrams is not None
                words, counts = split_words(tokens)  # a normalised token may contain spaces
                ids = self.trigrams(words, self.first_trigrams.get(language)).merged(counts)
            ids = ids.filled(UNKNOWN)
            found[view] = ids.only(np.repeat(nonempty, ids.lengths))
        return found

    def sizes(self) -> dict[str, int]:
        """Return the number of ids by view."""
        sizes = {PIECES: len(self.vocabulary)}
        return sizes if self.trigrams is None else {**sizes, TRIGRAMS: len(self.trigrams)}

    def of_pair(self, languages: tuple[str, str]) -> TextProcessor:
        """Return the same for two of its languages, which still reads all of them.

        SettingsError unless it knows both.
        """
        first, second = (own_language(language, self.known) for language in languages)
        vocabulary = self.vocabulary.of([self.known.index(own) for own in (first, second)])
        pair = TextProcessor(
            (first, second), self.normalisation, self.segmenter, vocabulary, self.trigrams
        )
        pair.known, pair.first_trigrams = self.known, self.first_trigrams
        pair.templates = self.templates
        return pair

    @property
    def counted(self) -> tuple[str, ...]:
        """The languages of the text that it was learnt from: two, or all that it knows."""
        return self.known if len(self.known) > 2 else self.languages

    def config(self) -> dict[str, Any]:
        """Return the part of ``config.json`` that :meth:`load` needs."""
        config: dict[str, Any] = {
            "languages": list(self.counted),
            "normalisation": self.normalisation.to_dict(),
            "segmentation": self.segmenter.kind,
        }
        if self.trigrams is not None:
            hashed = self.trigrams if isinstance(self.trigrams, HashedTrigrams) else None
            config["trigrams"] = hashed.size if hashed else _TRIGRAMS
            if self.trigrams.syllabic:
                config["syllabic"] = True
            if hashed and hashed.longest > SHORTEST:
                config["longest"] = hashed.longest
        if self.first_trigrams:
            config["first_trigrams"] = self.first_trigrams
        if self.templates is not None:
            config["templates"] = self.templates.symbols
        return config

    def save(self, folder: Path) -> None:
        """Write the segmenter and ``vocabulary.tsv`` into *folder*, without the configuration."""
        save_segmenter(self.segmenter, folder)
        self.vocabulary.save(folder / _VOCABULARY)
        if isinstance(self.trigrams, CountedTrigrams):
            self.trigrams.vocabulary.save(folder / _TRIGRAMS)

    @classmethod
    def plain(cls, languages: tuple[str, ...]) -> TextProcessor:
        """Return the processor of an encoder that reads text in its own way: words, none known."""
        segmenter = SEGMENTERS["none"].from_bytes("none", b"")
        vocabulary = Vocabulary([], np.zeros((0, len(languages)), np.int64))
        return cls(languages, Normalisation(), segmenter, vocabulary)

    @classmethod
    def load(cls, folder: Path, config: dict[str, Any]) -> TextProcessor:
        """Read a saved processor with its :meth:`config`; of foreign encoders, a plain one.

        NotFoundError if a file is missing, ModelError if one is damaged or they disagree.
        """
        try:
            if config.get("segmentation") == _FOREIGN:
                return cls.plain(_languages(config) if config["languages"] else ("", ""))
            languages = _languages(config)
            normalisation = Normalisation.from_dict(config["normalisation"])
            templates = TemplateSymbols(config["templates"]) if "templates" in config else None
            first = {str(k): int(n) for k, n in dict(config.get("first_trigrams", {})).items()}
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{folder}: config.json lacks settings of the text") from error
        except ModelError as error:
            raise ModelError(f"{folder}: {error}") from error
        segmenter = load_segmenter(folder)
        vocabulary = Vocabulary.load(folder / _VOCABULARY)
        trigrams = _load_trigrams(folder, config)
        for counted in (vocabulary, getattr(trigrams, "vocabulary", vocabulary)):
            if counted.counts.shape[1] != len(languages):
                raise ModelError(f"{folder}: counts of other languages than {len(languages)}")
        processor = cls(languages, normalisation, segmenter, vocabulary, trigrams)
        processor.templates, processor.first_trigrams = templates, first
        if segmenter.kind != config.get("segmentation"):
            raise ModelError(f"{folder}: config.json and segmenter.json disagree on the kind")
        return processor


def _languages(config: dict[str, Any]) -> tuple[str, ...]:
    """Return the languages of a configuration: two, or more that differ; ValueError for others."""
    languages = tuple(str(language) for language in config["languages"])
    if len(languages) < 2 or (len(languages) > 2 and len(set(languages)) < len(languages)):
        raise ValueError
    return languages


def _counted(segmenter: Segmenter, pieces: list[str], sides: Sequence[Sequence[str]]) -> Vocabulary:
    """Return the vocabulary of those of some pieces, in order, that occur in any language."""
    first = UNKNOWN + 1
    number = segmenter.numbering({piece: i for i, piece in enumerate(pieces, first)})
    counts = np.zeros((len(pieces), len(sides)), dtype=np.int64)
    for column, side in enumerate(sides):
        for start in range(0, len(side), _WINDOW):
            ids = number(side[start : start + _WINDOW]).flat
            counts[:, column] += np.bincount(ids, minlength=first + len(pieces))[first:]
    totals = counts.sum(axis=1)
    order = np.argsort(-totals, kind="stable")[: np.count_nonzero(totals)]
    return Vocabulary([pieces[place] for place in order], counts[order])


def _by_windows(segmenter: Segmenter, sentences: Sequence[str]) -> Iterator[list[str]]:
    """Yield the pieces of each sentence, some thousands of them in memory at a time."""
    for start in range(0, len(sentences), _WINDOW):
        yield from segmenter.segment_all(sentences[start : start + _WINDOW])


def _load_trigrams(folder: Path, config: Mapping[str, Any]) -> Trigrams | None:
    """Return the trigrams of :meth:`TextProcessor.config`; ModelError if damaged."""
    described, syllabic = config.get("trigrams"), config.get("syllabic", False) is True
    if described is None:
        return None
    if type(described) is int and described > 0:
        longest = config.get("longest", SHORTEST)
        if longest not in range(SHORTEST, LONGEST + 1):
            raise ModelError(f"{folder}: longest n-grams of {longest!r} characters")
        return HashedTrigrams(described, syllabic, int(longest))
    if described != _TRIGRAMS:
        raise ModelError(f"{folder}: trigrams {described!r}: expected a number or {_TRIGRAMS!r}")
    vocabulary = Vocabulary.load(folder / _TRIGRAMS)
    if any(not SHORTEST <= len(piece) <= LONGEST for piece in vocabulary.pieces):
        raise ModelError(f"{folder / _TRIGRAMS}: a piece is not of three to six characters")
    return CountedTrigrams(vocabulary, syllabic)
