"""The tokens met so far, and the ids that each is read as: text repeats itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from threading import Lock

import numpy as np

from bitextfilter.text.ragged import Ragged

__all__ = ["TokenMemory"]

MOST = 1 << 19
"""With more characters than that in its tokens, it begins anew: one may be as long as a line."""


class TokenMemory:
    """Looks at each token once, and remembers it for the next sentences. Threads may share it."""

    def __init__(self, look: Callable[[list[str]], Mapping[str, Ragged]], most: int = MOST) -> None:
        """``look``: tokens → the ids of each, in each view; other tokens change nothing."""
        self._look, self._most = look, most
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._places: dict[str, int] = {}
        self._characters = 0
        self._views = dict(self._look([]))

    def read(self, tokens: Sequence[str]) -> dict[str, Ragged]:
        """Return the ids of distinct tokens, in each view."""
        with self._lock:
            if self._characters > self._most:
                self._forget()
            known = self._places
            if new := [token for token in tokens if token not in known]:
                for view, ids in self._look(new).items():
                    self._views[view] = self._views[view].followed_by(ids)
                known.update(zip(new, count(len(known)), strict=False))
                self._characters += sum(map(len, new))
            places = np.fromiter(map(known.__getitem__, tokens), np.int64, len(tokens))
            return {view: ids.take(places) for view, ids in self._views.items()}
