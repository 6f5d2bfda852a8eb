"""Morphs by Morfessor Baseline (Virpioja et al. 2013), kept as text."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from bitextfilter.errors import DeviceError, ModelError
from bitextfilter.text.pieces import WordwiseSegmenter

__all__ = ["MorphSegmenter", "learn_morphs"]


class MorphSegmenter(WordwiseSegmenter):
    """A Morfessor Baseline model; ``segmenter.model`` lists words: count, then their morphs."""

    kind = "morfessor"

    def __init__(self, analyses: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Take the count and the morphs of every word learnt from."""
        super().__init__()
        self._analyses = [(count, tuple(morphs)) for count, morphs in analyses]
        self._model = _morfessor().BaselineModel()
        self._model.load_segmentations(
            (count, "".join(morphs), morphs) for count, morphs in self._analyses
        )

    def cut(self, word: str) -> Sequence[str]:
        """Return the most probable morphs of one word, known or not."""
        morphs: Sequence[str] = self._model.viterbi_segment(word)[0]
        return morphs

    def to_bytes(self) -> bytes:
        """Return one ``count morph morph ...`` line a word."""
        lines = (" ".join([str(count), *morphs]) for count, morphs in self._analyses)
        return "".join(f"{line}\n" for line in lines).encode()

    @classmethod
    def from_bytes(cls, kind: str, content: bytes) -> MorphSegmenter:
        """Read what :meth:`to_bytes` gave; ModelError if it is damaged."""
        try:
            lines = content.decode("utf-8").removesuffix("\n").split("\n")
            analyses = [
                (int(count), morphs) for count, *morphs in (row.split(" ") for row in lines)
            ]
        except ValueError as error:
            raise ModelError("segmenter.model: a line is not a count and morphs") from error
        return cls(analyses)


def learn_morphs(sentences: Sequence[str], seed: int) -> MorphSegmenter:
    """Learn from the words of normalised *sentences* and their counts, in an order by *seed*.

    Morfessor's own defaults: recursive training until an epoch gains less than .005 a word.
    DeviceError if Morfessor is not installed.
    """
    words = Counter(word for sentence in sentences for word in sentence.split())
    model = _morfessor().BaselineModel()
    model.load_data((count, word) for word, count in words.items())
    with _quiet_and_seeded(seed):
        model.train_batch()
    # Loaded from its text at once, so that it is the same model before saving and after.
    return MorphSegmenter([(words[word], model.segment(word)) for word in words])


@contextlib.contextmanager
def _quiet_and_seeded(seed: int) -> Iterator[None]:
    """Keep Morfessor's dots off stderr, and the shuffles it makes from Python's own generator."""
    utils, state = _morfessor().utils, random.getstate()
    shown, utils.show_progress_bar = utils.show_progress_bar, False
    random.seed(seed)
    try:
        yield
    finally:
        utils.show_progress_bar = shown
        random.setstate(state)


def _morfessor() -> Any:
    """Return the package, which is an extra; DeviceError if it is not installed."""
    try:
        import morfessor
    except ImportError as error:
        remedy = "pip install 'bitextfilter[morfessor]'"
        raise DeviceError(f"Morfessor is not installed; {remedy}") from error
    return morfessor
