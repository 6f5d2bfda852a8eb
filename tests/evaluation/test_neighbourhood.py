"""Nearest lines, hubs and histograms against the whole matrix, however the lines come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.errors import InputError
from bitextfilter.evaluation import neighbourhood
from bitextfilter.evaluation.neighbourhood import (
    EDGES,
    PRECISION_RANKS,
    WORD_SIMILARITIES,
    Histograms,
    Hubness,
    Hubs,
    Lexicon,
    NearestLines,
    Translations,
    translate_words,
)
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.similarity.vectors import cosine_matrix

GENERATOR = np.random.default_rng(4)
LINES = GENERATOR.standard_normal((300, 10)).astype(np.float32)
LINES[GENERATOR.integers(0, 300, 90)] = LINES[7]  # many equally near lines
QUERIES = np.concatenate([LINES[5:9], GENERATOR.standard_normal((9, 10)).astype(np.float32)])
QUERIES[-1] = 0


def windows(size: int) -> Iterator[tuple[Vectors, list[tuple[int, str]]]]:
    for first in range(0, len(LINES), size):
        part = LINES[first : first + size]
        yield part, [(n, f"line {n}") for n in range(first, first + len(part))]


@pytest.fixture(params=[(512, 4096), (4, 7)], ids=["large", "small"], autouse=True)
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "QUERY_ROWS", request.param[0])
    monkeypatch.setattr(neighbourhood, "BASE_ROWS", request.param[1])


@pytest.mark.gate(12)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [1, 11, 64, 300])
@pytest.mark.parametrize("k", [1, 10, 400])
def test_the_nearest_are_those_of_the_whole_matrix(size: int, k: int, threads: int) -> None:
    nearest = NearestLines(QUERIES, k, threads)
    for vectors, numbers in windows(size):
        nearest.add(vectors, numbers)
    found = list(nearest)
    assert len(found) == len(QUERIES)
    for row, lines in zip(cosine_matrix(QUERIES, LINES).tolist(), found, strict=True):
        order = sorted(range(len(row)), key=lambda line: (-row[line], line))[:k]
        assert lines == [(row[line], (line, f"line {line}")) for line in order]


def test_lines_that_are_not_near_are_let_go() -> None:
    nearest = NearestLines(QUERIES, 3)
    for vectors, numbers in windows(20):
        nearest.add(vectors, numbers)
        assert len(nearest._lines) <= 3 * len(QUERIES)
        assert all(best.values.shape[1] == 3 for best in nearest._best)
    assert set(nearest._lines) == {line for lines in nearest for _, (line, _) in lines}


def naive_scores(name: str, queries: Vectors, k: int) -> Scores:
    """Similarities of each query to each line, without blocks."""
    a, b = queries.astype(np.float64), LINES.astype(np.float64)
    if name == "euclidean":
        return -np.linalg.norm(a[:, None] - b[None], axis=2)
    cosines = (a / np.linalg.norm(a, axis=1)[:, None]) @ (b / np.linalg.norm(b, axis=1)[:, None]).T
    if name == "cosine":
        return cosines
    forward, backward = (-np.sort(-one, axis=1)[:, :k].mean(axis=1) for one in (cosines, cosines.T))
    return 2 * cosines - forward[:, None] - backward


def naive_counts(name: str, queries: Vectors, k: int) -> list[int]:
    """The number of queries that each line is among the k nearest of."""
    near = Counter(
        line
        for row in np.round(naive_scores(name, queries, k), 6).tolist()
        for line in sorted(range(len(row)), key=lambda line: (-row[line], line))[:k]
    )
    return [near[line] for line in range(len(LINES))]


def hubs(queries: Vectors, k: int, threads: int, size: int) -> Hubs:
    found = Hubs(queries, k, threads)
    for vectors, lines in windows(size):
        found.add(vectors, lines)
    return found


MANY = GENERATOR.standard_normal((120, 10)).astype(np.float32) + LINES[7]


@pytest.mark.gate(5)
@pytest.mark.parametrize(("size", "threads"), [(11, 1), (64, 3), (300, 1)])
@pytest.mark.parametrize("k", [1, 10, 150])
def test_hubs_are_those_of_the_whole_matrix(size: int, k: int, threads: int) -> None:
    found = hubs(MANY, k, threads, size)
    records, measures = found.records(200), found.hubness()
    assert list(measures) == ["cosine", "csls", "euclidean"]
    for name, hubness in measures.items():
        counts = naive_counts(name, MANY, k)
        order = sorted(range(len(counts)), key=lambda line: (-counts[line], line))
        assert [r for r in records if r["similarity"] == name] == [
            {
                "similarity": name,
                "rank": rank,
                "queries": counts[line],
                "line": line,
                "sentence": f"line {line}",
            }
            for rank, line in enumerate(order[:200], 1)
            if counts[line]
        ]
        skew = np.mean((np.array(counts) - np.mean(counts)) ** 3) / np.std(counts) ** 3
        assert hubness.skew == pytest.approx(skew)
        assert hubness.antihubs == pytest.approx(counts.count(0) / len(LINES))
        assert (hubness.largest, hubness.lines) == (max(counts), len(LINES))


def test_hubness_by_hand_and_as_scipy() -> None:
    """One of four lines is nearest to all three queries: of 3, 0, 0, 0 the skew is 2/√3."""
    nearest = NearestLines(np.eye(4, dtype=np.float32)[[0, 0, 0]], 1)
    nearest.add(np.eye(4, dtype=np.float32), [(n, "") for n in range(4)])
    assert Hubness.of(nearest) == Hubness(pytest.approx(2 / 3**0.5), 0.75, 3, 4)
    stats = pytest.importorskip("scipy.stats")
    skew = hubs(MANY, 10, 1, 300).hubness()["cosine"].skew
    assert skew == pytest.approx(stats.skew(naive_counts("cosine", MANY, 10)))


def test_csls_lessens_hubs() -> None:
    """Of vectors with a common part, those near to their mean are near to all by cosine."""
    generator = np.random.default_rng(5)
    lines = (generator.standard_normal((200, 50)) + 1).astype(np.float32)
    queries = lines + generator.standard_normal((200, 50)).astype(np.float32) / 2
    found = Hubs(queries)
    found.add(lines, [(n, "") for n in range(200)])
    measures = found.hubness()
    assert measures["csls"].skew < 0.7 * measures["cosine"].skew
    assert measures["csls"].largest < 0.7 * measures["cosine"].largest


def test_lines_that_are_near_to_as_many_have_no_skew() -> None:
    found = hubs(MANY, len(LINES), 1, 300).hubness()
    assert np.isnan([each.skew for each in found.values()]).all()
    assert {(each.antihubs, each.largest) for each in found.values()} == {(0.0, len(MANY))}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [1, 11, 300])
def test_histograms_count_every_line_once(size: int, threads: int) -> None:
    histograms = Histograms(QUERIES, threads)
    for vectors, _ in windows(size):
        histograms.add(vectors)
    for row, counts in zip(cosine_matrix(QUERIES, LINES), histograms.counts, strict=True):
        naive = [0] * 100
        for cosine in row.tolist():
            place = next(i for i in range(100) if cosine < EDGES[i + 1] or i == 99)
            naive[place] += 1
        assert counts.tolist() == naive
        assert sum(naive) == len(LINES)
    assert histograms.counts[-1, 50] == len(LINES)  # the cosine of nothing is 0


def test_edges_and_both_ends() -> None:
    assert [f"{edge:.2f}" for edge in EDGES[[0, 1, 50, 99, 100]]] == [
        "-1.00",
        "-0.98",
        "0.00",
        "0.98",
        "1.00",
    ]
    one = np.array([[1.0, 0.0]], dtype=np.float32)
    histograms = Histograms(one)
    histograms.add(np.array([[2, 0], [-3, 0], [0, 1]], dtype=np.float32))
    assert np.flatnonzero(histograms.counts[0]).tolist() == [0, 50, 99]


def lexicon(letter: str, n: int, seed: int) -> Lexicon:
    vectors = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    return Lexicon([f"{letter}{i}" for i in range(n)], vectors)


def noisy() -> tuple[Lexicon, Lexicon]:
    """Two languages, word by word much alike."""
    source, other = lexicon("s", 140, 1), lexicon("t", 142, 2)
    other.vectors[:140] = 0.3 * other.vectors[:140] + source.vectors
    return source, other


def dictionary(seed: int = 3) -> list[tuple[str, str]]:
    """Entries with repeated sources, repeated entries, and words that have no vector."""
    generator = np.random.default_rng(seed)
    entries = [(f"s{a}", f"t{b}") for a, b in generator.integers(0, 145, (60, 2))]
    entries += [(f"s{a}", f"t{a}") for a in range(145)]
    return [*entries, entries[0], ("x", "t1"), ("s0", "y"), ("x", "y"), ("z", "t2")]


def naive(source: Lexicon, target: Lexicon, k: int) -> dict[tuple[str, int], float]:
    """Precisions by the definitions, one word at a time."""

    def cosine(i: int, j: int) -> float:
        a, b = source.vectors[i].astype(float), target.vectors[j].astype(float)
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    n, m = len(source.words), len(target.words)
    table = [[cosine(i, j) for j in range(m)] for i in range(n)]
    columns = [sum(sorted(row[j] for row in table)[-k:]) / k for j in range(m)]
    right: dict[str, set[str]] = {}
    for one, other in dictionary():
        if one in source.words and other in target.words:
            right.setdefault(one, set()).add(other)
    found = {}
    for name in WORD_SIMILARITIES:
        for rank in PRECISION_RANKS:
            hits = 0
            for word, answers in right.items():
                row = table[source.words.index(word)]
                mean = sum(sorted(row)[-k:]) / k
                scores = [
                    c if name == "cosine" else 2 * c - mean - columns[j] for j, c in enumerate(row)
                ]
                best = sorted(range(m), key=lambda j, s=scores: -s[j])[:rank]  # type: ignore[misc]
                hits += any(target.words[j] in answers for j in best)
            found[name, rank] = 100 * hits / len(right)
    return found


def test_precisions_against_a_double_loop() -> None:
    source, target = noisy()
    result = translate_words(source, target, dictionary(), 3)
    asked = {one for one, _ in dictionary()}
    assert result.words + result.without == len(asked)
    expected = naive(source, target, 3)
    assert len(set(expected.values())) == len(expected)
    found = {(row.similarity, row.rank): row.precision for row in result.precisions}
    assert {kind: figure.value for kind, figure in found.items()} == pytest.approx(expected)
    assert all(f.low <= f.value <= f.high and f.low < f.high for f in found.values())


def values(result: Translations) -> list[float]:
    return [row.precision.value for row in result.precisions]


def test_a_perfect_lexicon_is_right_and_the_interval_is_a_point() -> None:
    source = lexicon("s", 30, 1)
    target = Lexicon([word.replace("s", "t") for word in source.words], 3 * source.vectors)
    entries = [(f"s{i}", f"t{i}") for i in range(10)]
    result = translate_words(source, target, entries)
    assert values(result) == [100] * 4
    assert result.precisions[0].precision == (100, 100, 100)
    assert (result.words, result.without) == (10, 0)
    one_of_two = translate_words(source, target, [("s1", "t1"), ("s1", "t2"), ("s2", "t1")])
    assert values(one_of_two)[0] == 50


def test_the_interval_is_that_of_words_drawn_anew() -> None:
    source, target = noisy()
    figures = [
        translate_words(source, target, dictionary(), 3, Bootstrap(400, seed)).precisions[0]
        for seed in (1, 1, 2)
    ]
    assert figures[0] == figures[1]
    assert figures[0].precision[1:] != figures[2].precision[1:]
    p, n = figures[0].precision.value / 100, translate_words(source, target, dictionary(), 3).words
    width = figures[0].precision.high - figures[0].precision.low
    assert width == pytest.approx(2 * 196 * (p * (1 - p) / n) ** 0.5, rel=0.2)


def test_nothing_to_measure() -> None:
    source, target = lexicon("s", 5, 1), lexicon("t", 5, 2)
    with pytest.raises(InputError, match="no entry of the dictionary has a vector on both sides"):
        translate_words(source, target, [("s9", "t1")])
    narrow = Lexicon(target.words, target.vectors[:, :3])
    with pytest.raises(InputError, match="of 4 numbers, target vectors of 3"):
        translate_words(source, narrow, [("s1", "t1")])
