"""Search: against all sequences there are, greedy search, and the cost of what was found."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor
from translators import CASES, network, rows

from bitextfilter.models.device import one_torch_thread
from bitextfilter.text.vocabulary import PAD
from bitextfilter.translation.network import (
    Beam,
    Decoded,
    Limits,
    Sampler,
    SearchResult,
    State,
    TokenRows,
    TranslationNetwork,
    search_translations,
)
from bitextfilter.translation.translator import log_probabilities

SOURCES = [[4, 6, 5], [6], [5, 5, 4, 6, 6]]
VOCABULARY = 7
"""Four marks and three pieces, 4 to 6."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with one_torch_thread():
        yield


def run(made: TranslationNetwork, width: int, longest: int = 3) -> SearchResult:
    with torch.no_grad():
        return search_translations(
            made, rows(*SOURCES), torch.ones(3, dtype=torch.bool), Beam(width), Limits(longest)
        )


def written(found: SearchResult, row: int) -> list[tuple[list[int], float]]:
    return [
        ([number for number in ids if number != PAD], score)
        for ids, score in zip(found.ids[row].tolist(), found.scores[row].tolist(), strict=True)
        if score > float("-inf")
    ]


def scored(made: TranslationNetwork, source: list[int], targets: list[list[int]]) -> list[float]:
    with torch.no_grad():
        every = rows(*[source] * len(targets))
        return log_probabilities(made, every, rows(*targets)).tolist()


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_a_wide_beam_finds_the_best_of_all_sequences(name: str, shape: dict[str, object]) -> None:
    made = network(name, shape, VOCABULARY)
    every = [list(s) for n in (1, 2, 3) for s in itertools.product((4, 5, 6), repeat=n)]
    found = run(made, len(every))
    for row, source in enumerate(SOURCES):
        scores = scored(made, source, every)
        best = sorted(zip(every, scores, strict=True), key=lambda pair: -pair[1])
        got = written(found, row)
        assert [ids for ids, _ in got] == [ids for ids, _ in best]
        np.testing.assert_allclose([s for _, s in got], [s for _, s in best], atol=1e-5)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_no_word_is_hollow(name: str, shape: dict[str, object]) -> None:
    """4 starts a word and is nothing else, 5 is a whole word, 6 goes on with one."""
    made = network(name, shape, VOCABULARY)
    starting = torch.tensor([number in (3, 4, 5) for number in range(VOCABULARY)])
    every = [list(s) for n in (1, 2, 3) for s in itertools.product((4, 5, 6), repeat=n)]
    good = [ids for ids in every if all(b == 6 for a, b in itertools.pairwise([*ids, 3]) if a == 4)]
    with torch.no_grad():
        limits, real = Limits(3, 4, starting), torch.ones(3, dtype=torch.bool)
        found = search_translations(made, rows(*SOURCES), real, Beam(len(every)), limits)
    for row in range(len(SOURCES)):
        assert sorted(ids for ids, _ in written(found, row)) == sorted(good)


@pytest.mark.parametrize(("name", "shape"), CASES)
@pytest.mark.parametrize("width", [1, 2, 4])
def test_found_are_sorted_distinct_and_scored_as_they_cost(
    name: str, shape: dict[str, object], width: int
) -> None:
    made = network(name, shape, VOCABULARY, seed=2)
    found = run(made, width, longest=12)
    for row, source in enumerate(SOURCES):
        got = written(found, row)
        assert len(got) == width and len({tuple(ids) for ids, _ in got}) == width
        assert all(1 <= len(ids) <= 12 for ids, _ in got)
        scores = [score for _, score in got]
        assert scores == sorted(scores, reverse=True)
        np.testing.assert_allclose(scores, scored(made, source, [i for i, _ in got]), atol=1e-5)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_no_beam_is_worse_than_greedy_search(name: str, shape: dict[str, object]) -> None:
    better = 0
    for seed in range(4):
        made = network(name, shape, VOCABULARY, seed)
        greedy = run(made, 1, 8)
        for width in (2, 3, 5):
            gain = run(made, width, 8).scores[:, 0] - greedy.scores[:, 0]
            assert gain.min() > -1e-5
            better += int((gain > 1e-3).sum())
    assert better > 3


class Scripted(TranslationNetwork):
    """Knows by heart what follows each prefix of A, B, C (4, 5, 6) and E, the end."""

    def __init__(self, script: dict[str, dict[str, float]]) -> None:
        super().__init__(VOCABULARY, 2)
        self.script = script

    def states(self, sources: TokenRows, inputs: Tensor) -> Decoded:
        raise NotImplementedError

    def start(self, sources: TokenRows, width: int) -> State:
        return ScriptedState(self.script, width)

    def output(self, states: Tensor) -> Tensor:
        return states


class ScriptedState(State):
    def __init__(self, script: dict[str, dict[str, float]], width: int) -> None:
        self.script, self.prefixes = script, [""] * width

    def step(self, tokens: Tensor) -> Decoded:
        shares = torch.full((1, len(self.prefixes), VOCABULARY), 1e-9)
        for row, token in enumerate(tokens[0].tolist()):
            self.prefixes[row] += {4: "A", 5: "B", 6: "C"}.get(token, "")
            follows = self.script.get(self.prefixes[row], {"E": 0.01, "A": 0.5, "B": 0.49})
            for name, share in follows.items():
                shares[0, row, "EABC".index(name) + 3] = share
        return Decoded(shares.log())

    def select(self, parents: Tensor) -> None:
        self.prefixes = [self.prefixes[parent] for parent in parents[0].tolist()]


def texts(script: dict[str, dict[str, float]], width: int) -> list[str]:
    found = search_translations(
        Scripted(script), rows([4]), torch.tensor([True]), Beam(width), Limits(4)
    )
    return ["".join(" ABC"[i - 3] for i in ids) for ids, _ in written(found, 0)]


def test_a_beam_does_not_lose_the_way_of_greedy_search() -> None:
    """Two ways that look better push it out, and lead nowhere."""
    script = {
        "": {"A": 0.40, "B": 0.35, "C": 0.25},
        "A": {"A": 0.34, "B": 0.33, "C": 0.33},
        "B": {"B": 0.5, "C": 0.5},
        "AA": {"E": 1.0},
    }
    assert texts(script, 1) == ["AA"]
    assert texts(script, 2)[0] == "AA"


def test_what_has_ended_and_what_goes_on_are_compared_by_the_mean() -> None:
    """At the third token, B E has the higher sum (log .3), A A B (log .23) the higher mean."""
    script = {
        "": {"A": 0.6, "B": 0.4},
        "A": {"A": 0.9, "B": 0.05, "C": 0.05},
        "B": {"E": 0.75, "C": 0.25},
        "AA": {"A": 0.5, "B": 0.42, "C": 0.08},
        "AAA": {"E": 1.0},
        "AAB": {"E": 1.0},
    }
    assert texts(script, 2) == ["AAA", "AAB"]
    assert texts(script, 8)[:3] == ["AAA", "AAB", "B"]


@pytest.mark.parametrize("case", [CASES[0], CASES[-1]])
def test_greedy_search_takes_the_likeliest_each_time(case: tuple[str, dict[str, object]]) -> None:
    made = network(*case, VOCABULARY)
    found = run(made, 1, 6)
    for row, source in enumerate(SOURCES):
        ids: list[int] = []
        while len(ids) < 6:
            ends = [[*ids, piece] for piece in (4, 5, 6)]
            with torch.no_grad():
                inputs = torch.tensor([[2, *ids]])
                logits = made.predict(made.states(rows(source), inputs))[0, -1]
            best = max((4, 5, 6) if not ids else (3, 4, 5, 6), key=lambda i: float(logits[i]))
            if best == 3:
                break
            ids = next(end for end in ends if end[-1] == best)
        assert written(found, row)[0][0] == ids


def test_what_must_end_is_told_apart() -> None:
    made = network(*CASES[0], VOCABULARY)
    with torch.no_grad():
        made.bias[3] = -20.0
        assert not run(made, 2, 4).whole.any()
        made.bias[3] = 20.0
        found = run(made, 2, 4)
    assert found.whole.all()
    assert (found.ids[:, 0] != PAD).sum(1).tolist() == [1, 1, 1]


def test_rows_that_fill_up_cost_nothing() -> None:
    made = network(*CASES[0], VOCABULARY)
    real = torch.tensor([True, False, True])
    with torch.no_grad():
        found = search_translations(made, rows(*SOURCES), real, Beam(2), Limits(5))
    assert (found.ids[1, 0] == PAD).all() and found.scores[1, 1] == float("-inf")
    np.testing.assert_array_equal(found.ids[2], run(made, 2, 5).ids[2])


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("case", [CASES[0], CASES[-1]])
def test_samples_follow_the_model(case: tuple[str, dict[str, object]], temperature: float) -> None:
    """Counts of 4,000 samples of at most two pieces against their probabilities."""
    made = network(*case, VOCABULARY, seed=4)
    number = 4000
    chances = torch.from_numpy(np.random.default_rng(1).random((1, number, 3)))
    sampler = Sampler(chances, temperature)
    with torch.no_grad():
        found = search_translations(
            made, rows(SOURCES[0]), torch.ones(1, dtype=torch.bool), sampler, Limits(2)
        )
    got = [tuple(ids) for ids, _ in written(found, 0)]
    expected: dict[tuple[int, ...], float] = {}
    for first in (4, 5, 6):
        for second in (3, 4, 5, 6):
            shares = []
            for ids, allowed in (([], (4, 5, 6)), ([first], (3, 4, 5, 6))):
                with torch.no_grad():
                    decoded = made.states(rows(SOURCES[0]), torch.tensor([[2, *ids]]))
                    logits = made.predict(decoded)[0, -1].double() / temperature
                weights = {i: float(logits[i].exp()) for i in allowed}
                wanted = [first, second][len(ids)]
                shares.append(weights[wanted] / sum(weights.values()))
            expected[(first,) if second == 3 else (first, second)] = shares[0] * shares[1]
    assert sum(expected.values()) == pytest.approx(1)
    for ids, share in expected.items():
        error = 4 * (share * (1 - share) / number) ** 0.5 + 1e-3
        assert abs(got.count(ids) / number - share) < error, ids
    if temperature == 1.0:
        scores = [score for _, score in written(found, 0)]
        costs = scored(made, SOURCES[0], [list(ids) for ids in got[:50]])
        np.testing.assert_allclose(scores[:50], costs, atol=1e-5)
