"""What one pass over scored rows keeps of them, for 10 million rows as for ten.

A row costs 4 bytes a score, 8 for its two lengths and 1 for its label; text is only sampled.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bitextfilter.reports.samples import Reservoir, Sample
from bitextfilter.text.lengths import Counter, characters, words

__all__ = ["COUNTS", "MOST_LABELS", "NO_LABEL", "OTHER_LABELS", "Survey", "blocks"]

SAMPLE_SIZE = 20_000
MOST_LABELS = 40
OTHER_LABELS = "(other labels)"
NO_LABEL = "(none)"


COUNTS: dict[str, Counter] = {"words": words, "characters": characters}
"""What a length may be: words between white space, or characters where there is none."""


def blocks(size: int, step: int = 1 << 20) -> Iterator[slice]:
    """Yield slices that cover *size* rows, *step* at a time."""
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


class Survey:
    """Scores, lengths and labels of all rows, and a random sample of whole rows.

    ``names`` are those of the scores, ``unit`` that of the lengths; ``labels`` are the distinct
    labels as they came: those after the first 40 are one, ``(other labels)``.
    """

    def __init__(
        self, names: Sequence[str], *, unit: str = "words", seed: int = 1, size: int = SAMPLE_SIZE
    ) -> None:
        """Start with no rows; *size* is that of the sample, drawn with *seed*."""
        self.names = tuple(names)
        self.unit = unit
        self.labels: list[str] = []
        self._count = COUNTS[unit]
        self._scores = [array("f") for _ in self.names]
        self._lengths = (array("I"), array("I"))
        self._codes = array("B")
        self._code_of: dict[str, int] = {}
        self._reservoir = Reservoir(size, seed)

    def __len__(self) -> int:
        """Return how many rows there were."""
        return len(self._codes)

    def add(self, rows: Sequence[Sample]) -> None:
        """Take the next rows of the stream."""
        for place, scores in enumerate(self._scores):
            scores.extend([row.scores[place] for row in rows])
        self._lengths[0].extend(self._count([row.source for row in rows]))
        self._lengths[1].extend(self._count([row.target for row in rows]))
        self._codes.extend([self._code(row.label) for row in rows])
        self._reservoir.offer(rows)

    def _code(self, label: str) -> int:
        code = self._code_of.get(label)
        if code is None:
            code = len(self._code_of)
            if code < MOST_LABELS:
                self._code_of[label] = code
            if code == len(self.labels):
                self.labels.append((label or NO_LABEL) if code < MOST_LABELS else OTHER_LABELS)
        return code

    @property
    def labelled(self) -> bool:
        """Whether any row has a label."""
        return any(label != NO_LABEL for label in self.labels)

    def scores(self, place: int) -> NDArray[np.float32]:
        """Return one of the scores of all rows (n,)."""
        return np.frombuffer(self._scores[place], dtype=np.float32)

    def lengths(self, side: int) -> NDArray[np.uint32]:
        """Return the lengths of the source (0) or target (1) of all rows (n,)."""
        return np.frombuffer(self._lengths[side], dtype=np.uint32)

    def codes(self) -> NDArray[np.uint8]:
        """Return the place in ``labels`` of each row's label (n,)."""
        return np.frombuffer(self._codes, dtype=np.uint8)

    def samples(self) -> list[Sample]:
        """Return the random sample, in random order."""
        return self._reservoir.rows()
