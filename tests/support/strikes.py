"""Signals that come at the worst time."""

from __future__ import annotations

from typing import Any

import pytest

from bitextfilter.io.drafts import interrupt


def strike_after(patch: pytest.MonkeyPatch, home: Any, name: str, number: int = 1) -> list[Any]:
    """Have Ctrl-C follow a call of a function at once; return the results of all calls.

    *number* is that of the call, from 1; 0 for none.
    """
    usual, results = getattr(home, name), list[Any]()

    def struck(*words: Any, **more: Any) -> Any:
        results.append(usual(*words, **more))
        if len(results) == number:
            interrupt(KeyboardInterrupt())
        return results[-1]

    patch.setattr(home, name, struck)
    return results
