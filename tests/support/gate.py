"""Which cases of a test the gate runs: ``make check-long`` runs all.

Above a test, ``@pytest.mark.gate(3)`` leaves three of its cases in the gate, spread evenly;
``@pytest.mark.gate("word", "gran")`` those of these names; ``@pytest.mark.gate(0)`` none. Of a test
without a mark it runs at most MOST cases, but in WHOLE all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import pytest

MOST = 12
WHOLE = ("tests/contract/", "tests/test_", "tests/encoders/test_contract", "tests/filters/test_")
"""Files whose cases are no samples: each is a command, a page, a language, an encoder or a rule."""


def spread(cases: Sequence[str], count: int) -> list[str]:
    """Return *count* of the cases, evenly spread; all if there are no more."""
    step = max(len(cases) / max(count, 1), 1)
    return [cases[int(place * step)] for place in range(min(count, len(cases)))]


def left_out(items: Iterable[pytest.Item]) -> set[str]:
    """Return the ids of the cases that the gate does not run.

    Raises ValueError for a mark that names a case that its test lacks.
    """
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("gate") or not item.nodeid.startswith(WHOLE):
            tests[item.nodeid.partition("[")[0]].append(item)
    out: set[str] = set()
    for test, cases in tests.items():
        marks = next(cases[0].iter_markers("gate"), pytest.mark.gate(MOST).mark).args
        ids = [case.nodeid for case in cases]
        if marks and isinstance(marks[0], int):
            kept = spread(ids, marks[0])
        else:
            kept = [f"{test}[{name}]" for name in marks]
            if unknown := set(kept) - set(ids):
                raise ValueError(f"no such cases: {sorted(unknown)}")
        out |= set(ids) - set(kept)
    return out
