"""Subwords by sentencepiece: a unigram language model (Kudo 2018) or byte-pair merges."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import sentencepiece

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.text.pieces import UNKNOWN, Segmenter
from bitextfilter.text.ragged import Ragged

__all__ = ["SentencePieceSegmenter", "learn_sentencepiece"]

_KINDS: dict[Literal["unigram", "bpe"], str] = {"unigram": "unigram", "bpe": "sentencepiece-bpe"}
# The training splits its sums by thread, so this number is part of the result.
_TRAINING_THREADS = 2
_CHARACTER_COVERAGE = 0.9998


class SentencePieceSegmenter(Segmenter):
    """A sentencepiece model; characters that it never saw come out as pieces of their own."""

    def __init__(self, kind: str, model: bytes) -> None:
        """Take the serialised sentencepiece *model*; ModelError if it is not one."""
        self.kind = kind
        self._model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ModelError("not a sentencepiece model") from error

    def segment_all(self, sentences: Sequence[str]) -> list[list[str]]:
        """Return the pieces of each of the normalised *sentences*."""
        pieces: list[list[str]] = self._processor.encode(
            list(sentences), out_type=str, num_threads=1
        )
        return pieces

    def inventory(self) -> frozenset[str]:
        """Return the pieces of the model, its name for unknown ones left out."""
        unknown = self._processor.unk_id()
        names = (self._processor.id_to_piece(i) for i in range(len(self._processor)))
        return frozenset(name for i, name in enumerate(names) if i != unknown)

    def numbering(self, index: Mapping[str, int]) -> Callable[[Sequence[str]], Ragged]:
        """Return the function from sentences to ids, through a table of sentencepiece's ids."""
        names = [self._processor.id_to_piece(i) for i in range(len(self._processor))]
        table = np.array([index.get(name, UNKNOWN) for name in names], dtype=np.int32)
        table[self._processor.unk_id()] = UNKNOWN

        def number(sentences: Sequence[str]) -> Ragged:
            encoded = self._processor.encode(list(sentences), out_type=int, num_threads=1)
            ids = Ragged.of_lists(encoded)
            return Ragged(table[ids.flat], ids.lengths)

        return number

    def to_bytes(self) -> bytes:
        """Return the serialised sentencepiece model."""
        return self._model

    @classmethod
    def from_bytes(cls, kind: str, content: bytes) -> SentencePieceSegmenter:
        """Return the segmenter of a serialised model; ModelError if it is damaged."""
        return cls(kind, content)


def learn_sentencepiece(
    sentences: Sequence[str],
    vocabulary_size: int,
    model_type: Literal["unigram", "bpe"] = "unigram",
) -> SentencePieceSegmenter:
    """Learn at most *vocabulary_size* pieces from normalised *sentences*.

    The same sentences in the same order give the same model. Fewer pieces are learnt where the
    text has no more. SettingsError if *vocabulary_size* is too small to hold the characters.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            model_type=model_type,
            vocab_size=vocabulary_size,
            hard_vocab_limit=False,
            character_coverage=_CHARACTER_COVERAGE,
            normalization_rule_name="identity",
            num_threads=_TRAINING_THREADS,
            minloglevel=2,
            bos_id=-1,
            eos_id=-1,
        )
    except RuntimeError as error:
        reason = str(error).splitlines()[0].rpartition("] ")[2].partition(" Increase ")[0]
        raise SettingsError(
            f"a vocabulary of {vocabulary_size} cannot be learnt: {reason}"
        ) from error
    return SentencePieceSegmenter(_KINDS[model_type], model.getvalue())
