"""Tokenisers in the file ``tokenizer.json`` of other libraries: sentences in, ids out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bitextfilter.errors import DeviceError, ModelError, NotFoundError
from bitextfilter.io.json_text import parse_json
from bitextfilter.text.processor import TokenCache
from bitextfilter.text.ragged import Ragged, View
from bitextfilter.text.tokenizer_words import word_cut

_IDS, _WHOLE = "ids", -1
_REMEMBERED = 1 << 21
"""Characters of words that are remembered: some 50 MB."""


class TokenizerFile:
    """A tokeniser, by the package ``tokenizers``. A sentence's ids depend on it alone."""

    def __init__(self, path: Path, longest: int | None = None, marks: bool = False) -> None:
        """Read the file.

        Args:
            path: ``tokenizer.json``.
            longest: ids of a sentence, at most, the rest is cut off; None: all.
            marks: begin and end marks and the like are added.

        Raises DeviceError without the package, NotFoundError without the file, ModelError for a
        damaged one.
        """
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            message = "the package tokenizers is missing: pip install 'bitextfilter[static]'"
            raise DeviceError(message) from error
        if not path.is_file():
            raise NotFoundError(f"{path}: missing from the model folder")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # our threads are side by side
        self._path, self._marks = path, marks
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
            self._tokenizer.no_padding()
            if longest is None:
                self._tokenizer.no_truncation()
            else:
                self._tokenizer.enable_truncation(longest)
            self.unknown = self._unknown()
            ids = self._tokenizer.get_vocab(with_added_tokens=True).values()
        except BaseException as error:  # a panic of the package is no Exception
            raise _damaged(path, error) from error
        self.size = max(ids, default=-1) + 1
        """One more than the highest id."""
        whole = marks or longest is not None
        self._cut = None if whole else word_cut(self._tokenizer)
        self.by_words = self._cut is not None
        """Each distinct word is read once: faster with many sentences at a time."""
        self._words = TokenCache(self._word_ids, _REMEMBERED)

    def _unknown(self) -> int | None:
        """Return the id of unknown tokens, None if there is none."""
        model = self._tokenizer.model
        if hasattr(model, "unk_token"):
            token = model.unk_token
            return None if token is None else self._tokenizer.token_to_id(token)
        number = parse_json(self._tokenizer.to_str())["model"].get("unk_id")
        return None if number is None else int(number)

    def __call__(self, sentences: Sequence[str]) -> Ragged:
        """Return the ids of ``n`` sentences; none for one without a token."""
        if self._cut is None:
            return self._read(sentences)
        ids = self._by_words(sentences)
        unusual = np.fromiter(map(self._cut.unusual_sentence, sentences), bool, len(sentences))
        unusual |= ids.holding(_WHOLE)
        if not unusual.any():
            return ids
        rows, order = np.flatnonzero(unusual), np.arange(len(ids))
        order[rows] = len(ids) + np.arange(len(rows))
        return ids.followed_by(self._read([sentences[row] for row in rows.tolist()])).take(order)

    def _by_words(self, sentences: Sequence[str]) -> Ragged:
        rows, words = self._words.read(sentences)
        return View(rows, words[_IDS]).ids()

    def _word_ids(self, words: list[str]) -> Mapping[str, Ragged]:
        """Return the ids of words: ``_WHOLE`` where the sentence must be read whole."""
        ids, cut = self._read(words), self._cut
        unusual = [row for row, word in enumerate(words) if cut and cut.unusual_word(word)]
        order = np.arange(len(words))
        order[unusual] = len(words)
        return {_IDS: ids.followed_by(Ragged.of_lists([[_WHOLE]])).take(order)}

    def _read(self, sentences: Sequence[str]) -> Ragged:
        try:
            found = self._tokenizer.encode_batch_fast(
                list(sentences), add_special_tokens=self._marks
            )
        except BaseException as error:
            raise _damaged(self._path, error) from error
        return Ragged.of_lists([each.ids for each in found])


def _damaged(path: Path, error: BaseException) -> BaseException:
    """Return the error of a tokeniser that fails: what is no fault of the file stays as it is."""
    if isinstance(error, Exception) or type(error).__name__ == "PanicException":
        return ModelError(f"{path}: an unusable tokeniser: {' '.join(str(error).split())}")
    return error
