"""Word alignment against naive loops, and on a cipher that it must break."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from bitextfilter.errors import SettingsError
from bitextfilter.mining import word_alignment
from bitextfilter.mining.word_alignment import (
    TENSION,
    Alignments,
    PhraseCounts,
    WordAligner,
    consistent_spans,
    entries_of,
    extract,
    phrase_key,
    phrase_words,
    symmetrised,
)
from bitextfilter.text.ragged import Ragged

Pair = tuple[list[int], list[int]]


def ragged(rows: list[list[int]]) -> Ragged:
    return Ragged.of_lists(rows)


def random_pairs(count: int, size: int, seed: int) -> list[Pair]:
    random = np.random.default_rng(seed)
    sides = ([random.integers(0, size, random.integers(1, 6)).tolist() for _ in range(count)]
             for _ in "ab")  # fmt: skip
    return list(zip(*sides, strict=True))


def prior(i: int, j: int, given: int, explained: int, swapped: bool) -> float:
    """Of one of *given* words i for word j of *explained*; swapped: the target is given."""

    def close(place: int) -> float:
        return math.exp(-TENSION * abs((place + 1) / given - (j + 1) / explained))

    return (1 - word_alignment.NULL) * close(i) / sum(close(each) for each in range(given))


Table = dict[tuple[int | None, int], float]


def naive(pairs: list[Pair], size: int, iterations: int, swapped: bool) -> Table:
    """t(explained | given) as nested loops; None gives a word by itself."""
    table: Table = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts: Table = defaultdict(float)
        for pair in pairs:
            given, explained = pair[::-1] if swapped else pair
            for j, word in enumerate(explained):
                shares: list[tuple[int | None, float]] = [
                    (None, word_alignment.NULL * table[None, word])
                ]
                for i, other in enumerate(given):
                    p = prior(i, j, len(given), len(explained), swapped)
                    shares.append((other, p * table[other, word]))
                total = sum(share for _, share in shares)
                for other_, share in shares:
                    counts[other_, word] += share / total
        totals: dict[int | None, float] = defaultdict(float)
        for (given_word, _), count in counts.items():
            totals[given_word] += count
        table = defaultdict(float, {key: c / totals[key[0]] for key, c in counts.items()})
    return table


def probability(aligner: WordAligner, source: int, target: int) -> tuple[float, ...]:
    """Of the source word given the target word, and the reverse; 0 for word pairs not seen."""
    (places,) = np.nonzero(aligner._keys == source * aligner._size + target)
    return tuple(float(way.table[places].sum()) for way in aligner.directions)


@pytest.mark.parametrize("block", [7, 1 << 20])
def test_probabilities_are_those_of_naive_loops(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(word_alignment, "_BLOCK", block)
    pairs, size = random_pairs(12, 5, 1), 5
    aligner = WordAligner(*(ragged([p[side] for p in pairs]) for side in (0, 1)), size)
    aligner.learn(3)
    backward, forward = (naive(pairs, size, 3, swapped) for swapped in (True, False))
    for a in range(size):
        for b in range(size):
            expected = backward.get((b, a), 0.0), forward.get((a, b), 0.0)
            assert probability(aligner, a, b) == pytest.approx(expected, rel=1e-9)
    for direction, table in zip(aligner.directions, (backward, forward), strict=True):
        np.testing.assert_allclose(direction.null, [table[None, word] for word in range(size)])


@pytest.mark.parametrize("block", [7, 1 << 20])
def test_links_are_the_likeliest_of_naive_loops(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(word_alignment, "_BLOCK", block)
    monkeypatch.setattr(word_alignment, "NULL", 0.4)
    pairs = random_pairs(20, 6, 2)
    aligner = WordAligner(*(ragged([p[side] for p in pairs]) for side in (0, 1)), 6)
    aligner.learn(2)
    tables = [naive(pairs, 6, 2, swapped) for swapped in (False, True)]
    none = 0
    for pair, found in zip(pairs, aligner.align(), strict=True):
        for swapped, links in enumerate(found):
            given, explained = pair[::-1] if swapped else pair
            expected = set()
            for j, word in enumerate(explained):
                scores = [
                    prior(i, j, len(given), len(explained), bool(swapped))
                    * tables[swapped][e, word]
                    for i, e in enumerate(given)
                ]
                i = int(np.argmax(scores))
                if scores[i] > word_alignment.NULL * tables[swapped][None, word]:
                    expected.add((j, i) if swapped else (i, j))
                else:
                    none += 1
            assert links == expected
    assert none > 0


def test_a_cipher_is_broken() -> None:
    """Word n is written n + 30, and neighbours may change places."""
    random = np.random.default_rng(3)
    source, target, gold = [], [], []
    for _ in range(300):
        words = random.permutation(30)[: random.integers(3, 9)]
        order = np.arange(len(words))
        if random.random() < 0.5:
            place = random.integers(0, len(words) - 1)
            order[[place, place + 1]] = order[[place + 1, place]]
        source.append(words.tolist())
        target.append((words[order] + 30).tolist())
        gold.append({(int(i), j) for j, i in enumerate(order)})
    aligner = WordAligner(ragged(source), ragged(target), 60)
    aligner.learn()
    for found, links in zip(aligner.align(), gold, strict=True):
        assert found.forward == found.backward == links
    assert all(min(probability(aligner, n, n + 30)) > 0.9 for n in range(30))
    assert probability(aligner, 0, 0) == (0.0, 0.0)


Links = set[tuple[int, int]]


def random_links(random: np.random.Generator, lengths: tuple[int, int], share: float) -> Links:
    places = product(range(lengths[0]), range(lengths[1]))
    return {place for place in places if random.random() < share}


def test_phrase_pairs_are_all_that_are_consistent() -> None:
    random = np.random.default_rng(1)
    found_some = 0
    for _ in range(300):
        lengths = int(random.integers(1, 7)), int(random.integers(1, 7))
        links = random_links(random, lengths, random.choice([0.1, 0.2, 0.4]))
        most = int(random.integers(1, 5))
        expected = set()
        for i, end in product(range(lengths[0]), range(1, lengths[0] + 1)):
            for j, stop in product(range(lengths[1]), range(1, lengths[1] + 1)):
                if not (0 < end - i <= most and 0 < stop - j <= most):
                    continue
                inside = [i <= a < end and j <= b < stop for a, b in links]
                touched = [i <= a < end or j <= b < stop for a, b in links]
                if any(inside) and inside == touched:
                    expected.add(((i, end), (j, stop)))
        found = [tuple(span) for span in consistent_spans(links, lengths, most)]
        assert sorted(found) == sorted(expected)
        found_some += len(found)
    assert found_some > 500


def test_symmetrisation_by_hand() -> None:
    forward = {(0, 0), (1, 1), (1, 2), (4, 4), (5, 0)}
    backward = {(0, 0), (2, 1), (3, 5), (4, 4)}
    # (0, 0) and (4, 4) are in both. (1, 1) is a neighbour of the first, (1, 2) of (1, 1), (2, 1)
    # too; (3, 5) is a diagonal neighbour of (4, 4). (5, 0) has none, and word 0 has a link.
    expected = {(0, 0), (1, 1), (1, 2), (2, 1), (3, 5), (4, 4)}
    assert symmetrised(Alignments(forward, backward)) == expected
    far = Alignments({(0, 5), (1, 5)}, {(7, 0)})
    assert symmetrised(far) == {(0, 5), (7, 0)}
    assert symmetrised(Alignments(set(), set())) == set()


def test_symmetrisation_lies_between_both_and_either() -> None:
    random = np.random.default_rng(2)
    for _ in range(200):
        one, other = (random_links(random, (6, 6), 0.2) for _ in "ab")
        links = symmetrised(Alignments(one, other))
        assert one & other <= links <= one | other
        sources, targets = {i for i, _ in links}, {j for _, j in links}
        for i, j in one | other:
            assert i in sources or j in targets


def test_phrases_are_numbers_and_back() -> None:
    most = (1 << word_alignment._BITS) - 2
    phrases = [[0], [0, 0], [0, 0, 0], [most] * 3, [5, 0, 7], [most]]
    keys = [phrase_key(phrase) for phrase in phrases]
    assert [phrase_words(key) for key in keys] == phrases
    assert len(set(keys)) == len(keys) and max(keys) < 1 << 63


def counted(pairs: list[tuple[int, int]], buffer: int, monkeypatch: pytest.MonkeyPatch) -> PhraseCounts:  # fmt: skip # noqa: E501
    monkeypatch.setattr(word_alignment, "_BUFFER", buffer)
    counts = PhraseCounts()
    for start in range(0, len(pairs), 3):
        counts.add(pairs[start : start + 3])
    return counts


@pytest.mark.parametrize("buffer", [1, 50, 10**6])
@pytest.mark.parametrize("least", [1, 3])
def test_scores_are_those_of_naive_counts(
    monkeypatch: pytest.MonkeyPatch, buffer: int, least: int
) -> None:
    random = np.random.default_rng(4)
    pairs = [(int(a), int(b)) for a, b in random.integers(1, 9, (500, 2)) ** 2 // 9 + 1]
    both, one, other = Counter(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = {
        (a, b): (count, math.log(count * 500 / (one[a] * other[b])), count / one[a],
                 count / other[b])
        for (a, b), count in both.items() if a != b and count >= least
    }  # fmt: skip
    entries = entries_of(counted(pairs, buffer, monkeypatch), least)
    rows = list(zip(*(column.tolist() for column in entries), strict=True))
    assert {row[:2] for row in rows} == set(expected) and len(rows) == len(expected)
    for a, b, *numbers in rows:
        assert numbers == pytest.approx(expected[a, b], rel=1e-12)
    assert [row[3] for row in rows] == sorted((row[3] for row in rows), reverse=True)
    assert any(a == b and count >= least for (a, b), count in both.items())


def test_nothing_counted_gives_no_entries() -> None:
    assert [len(column) for column in entries_of(PhraseCounts(), 1)] == [0] * 6


def test_a_cipher_gives_its_dictionary() -> None:
    """Of words n written n + 20; word 40 is a full stop, and is in no phrase."""
    random = np.random.default_rng(5)
    texts = [random.permutation(20)[: random.integers(3, 8)] for _ in range(300)]
    source = Ragged.of_lists([[*text.tolist(), 40] for text in texts])
    target = Ragged.of_lists([[*(text + 20).tolist(), 40] for text in texts])
    words = np.arange(41) < 40
    counts = extract(source, target, words)
    entries = entries_of(counts, 2)
    found = [
        (phrase_words(a), phrase_words(b))
        for a, b in zip(entries.phrases.tolist(), entries.paraphrases.tolist(), strict=True)
    ]
    assert all(b == [word + 20 for word in a] for a, b in found)
    assert {a[0] for a, _ in found if len(a) == 1} == set(range(20))
    assert np.allclose(entries.forward, 1) and np.allclose(entries.backward, 1)
    whole = Counter(tuple(t[i : i + n]) for t in texts for n in (1, 2, 3) for i in range(len(t) - n + 1))  # fmt: skip # noqa: E501
    numbers = {tuple(a): n for (a, _), n in zip(found, entries.counts.tolist(), strict=True)}
    assert numbers == {phrase: count for phrase, count in whole.items() if count >= 2}


def test_too_many_words_are_refused() -> None:
    with pytest.raises(SettingsError, match="2 million"):
        extract(Ragged.of_lists([[0]]), Ragged.of_lists([[0]]), np.ones(1 << 21, dtype=bool))
