"""A lexicon against IBM model 1 as nested loops, and the words that it leaves uncovered."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.arrays import Vectors
from bitextfilter.errors import InputError, NotFoundError
from bitextfilter.io.files import open_output
from bitextfilter.mining import word_coverage, word_lexicon
from bitextfilter.mining.monotonic import LinkSize
from bitextfilter.mining.word_alignment import NULL, TENSION, Alignments, Links
from bitextfilter.mining.word_coverage import HIGH, LOW, WordCoverage, document_words
from bitextfilter.mining.word_lexicon import (
    SYMMETRISATIONS,
    Lexicon,
    LexiconLearner,
    pharaoh,
    read_lexicon,
    unaligned_share,
)

Pair = tuple[list[str], list[str]]
Table = dict[tuple[str, str], float]


def toy(count: int, seed: int = 1) -> tuple[list[Pair], list[Links]]:
    """Pairs whose words are written backwards, some left out and some changing places."""
    rng = random.Random(seed)
    vocabulary = [a + b for a in "abcdefgh" for b in "uvwxyz"]
    pairs, gold = [], []
    for _ in range(count):
        source = rng.sample(vocabulary, rng.randint(4, 12))
        order = [place for place in range(len(source)) if rng.random() < 0.9] or [0]
        if len(order) > 1 and rng.random() < 0.5:
            place = rng.randrange(len(order) - 1)
            order[place : place + 2] = order[place + 1], order[place]
        pairs.append((source, [source[place][::-1] for place in order]))
        gold.append({(i, j) for j, i in enumerate(order)})
    return pairs, gold


def learnt(pairs: list[Pair], iterations: int = 5) -> Lexicon:
    learner = LexiconLearner()
    for pair in pairs:
        learner.add(pair)
    assert len(learner) == len(pairs)
    return learner.learn(iterations)


def prior(i: int, j: int, given: int, explained: int) -> float:
    close = [math.exp(-TENSION * abs((k + 1) / given - (j + 1) / explained)) for k in range(given)]
    return (1 - NULL) * close[i] / sum(close)


def naive_table(pairs: list[Pair], iterations: int) -> Table:
    """t(explained | given), and t(explained | none) beside an empty word."""
    table: Table = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts: Table = defaultdict(float)
        for given, explained in pairs:
            for j, word in enumerate(explained):
                shares = [("", NULL * table["", word])]
                for i, other in enumerate(given):
                    p = prior(i, j, len(given), len(explained))
                    shares.append((other, p * table[other, word]))
                total = sum(share for _, share in shares)
                for other, share in shares:
                    counts[other, word] += share / total
        totals: dict[str, float] = defaultdict(float)
        for (given_word, _), count in counts.items():
            totals[given_word] += count
        table = defaultdict(float, {key: c / totals[key[0]] for key, c in counts.items()})
    return table


def naive_links(pair: Pair, table: Table) -> Links:
    """The likeliest word of the first side for each of the second, or none."""
    given, explained = pair
    links = set()
    for j, word in enumerate(explained):
        scores = [
            prior(i, j, len(given), len(explained)) * table[other, word]
            for i, other in enumerate(given)
        ]
        best = max(range(len(given)), key=lambda i: scores[i])
        if scores[best] > NULL * table["", word]:
            links.add((best, j))
    return links


def test_links_are_those_of_nested_loops() -> None:
    """Also in pairs that were not learnt from, some of whose words are unknown."""
    pairs, _ = toy(60)
    lexicon = learnt(pairs, 3)
    forward = naive_table(pairs, 3)
    backward = naive_table([(target, source) for source, target in pairs], 3)
    new = toy(40, seed=2)[0] + [(["zz", "au"], ["ua", "zz"])]
    found = lexicon.align(pairs + new)
    some = 0
    for pair, links in zip(pairs + new, found, strict=True):
        turned = {(i, j) for j, i in naive_links((pair[1], pair[0]), backward)}
        assert links == Alignments(naive_links(pair, forward), turned)
        some += len(links.forward)
    assert some > 500
    assert list(lexicon.align([(["zz"], ["zz"])])) == [Alignments(set(), set())]


def error_rate(found: list[Links], gold: list[Links]) -> float:
    """AER of sure links: 1 - 2 |A and S| / (|A| + |S|) (Och and Ney 2003)."""
    both = sum(len(a & s) for a, s in zip(found, gold, strict=True))
    return 1 - 2 * both / sum(len(a) + len(s) for a, s in zip(found, gold, strict=True))


def test_a_known_alignment_is_found() -> None:
    pairs, gold = toy(400)
    alignments = list(learnt(pairs).align(pairs))
    rates = {
        name: error_rate([unite(found) for found in alignments], gold)
        for name, unite in SYMMETRISATIONS.items()
    }
    assert rates["intersection"] < 0.01
    assert max(rates.values()) < 0.05
    assert error_rate([{(i, i) for i, _ in links} for links in gold], gold) > 0.3  # the diagonal


def test_ways_to_make_one_of_two() -> None:
    found = Alignments({(0, 0), (1, 1), (3, 3), (4, 0)}, {(0, 0), (2, 1), (6, 6)})
    one = {name: unite(found) for name, unite in SYMMETRISATIONS.items()}
    assert one["forward"] == found.forward and one["backward"] == found.backward
    assert one["intersection"] == {(0, 0)}
    assert one["union"] == found.forward | found.backward
    assert one["grow-diag"] == {(0, 0), (1, 1), (2, 1)}
    assert one["grow-diag-final-and"] == {(0, 0), (1, 1), (2, 1), (3, 3), (6, 6)}
    assert found == Alignments({(0, 0), (1, 1), (3, 3), (4, 0)}, {(0, 0), (2, 1), (6, 6)})


def test_the_form_of_links() -> None:
    assert pharaoh({(10, 0), (2, 11), (2, 3)}) == "2-3 2-11 10-0"
    assert pharaoh(set()) == ""
    assert unaligned_share({(0, 0), (0, 1)}, (2, 3)) == pytest.approx(2 / 5)
    assert unaligned_share(set(), (1, 1)) == 1 and unaligned_share({(0, 0)}, (1, 1)) == 0


def test_case_and_marks_at_the_ends_do_not_matter() -> None:
    lexicon = learnt(toy(200)[0])
    plain, marked = lexicon.align(
        [(["au", "bv"], ["ua", "vb"]), (["«AU,", "Bv"], ["Ua?", "(vb)."])]
    )
    assert plain == marked == Alignments({(0, 0), (1, 1)}, {(0, 0), (1, 1)})


@pytest.mark.parametrize("name", ["lexicon", "lexicon.gz"])
def test_a_lexicon_comes_back_from_its_file(tmp_path: Path, name: str) -> None:
    pairs, _ = toy(100)
    pairs.append((["naïve", "«", "漢字"], ["“", "naiv"]))
    lexicon = learnt(pairs)
    with open_output(tmp_path / name) as stream:
        for line in lexicon.lines():
            stream.write(line)
    back = read_lexicon(str(tmp_path / name))
    assert sorted(back.lines()) == sorted(lexicon.lines())
    assert len(back) == len(lexicon) > 500
    new = toy(50, seed=3)[0]
    assert list(back.align(pairs + new)) == list(lexicon.align(pairs + new))


def test_improbable_pairs_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, _ = toy(300)
    whole = learnt(pairs)
    monkeypatch.setattr(word_lexicon, "LEAST", 0.1)
    short = learnt(pairs)
    assert 40 < len(short) < 100 < len(whole)


def test_nothing_learnt() -> None:
    lexicon = LexiconLearner().learn()
    assert (len(lexicon), list(lexicon.lines())) == (0, [])
    assert list(lexicon.align([(["a"], ["b"])])) == [Alignments(set(), set())]
    assert list(lexicon.align([])) == []


@pytest.mark.parametrize(
    "line",
    [b"", b"a\tb\t0.5", b"a\tb\t0.5\t0.5\t1", b"a\tb\t1.5\t0.5", b"a\tb\tnan\t0", b"a\tb\t\t0.5",
     b"\t\t0.5\t", b"\tb\t\t0.5", b"a\xff\tb\t1\t1", b"a\tb\tx\t1"],
)  # fmt: skip
def test_lines_that_are_none(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "f").write_bytes(b"a\tc\t0.5\t1e-05\n" + line + b"\n")
    with pytest.raises(InputError, match="f:2: not a line of a lexicon"):
        read_lexicon(str(tmp_path / "f"))


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\tc\t0.5\t0.5\nx\ty\t0\t1\na\tc\t0.5\t0.5\n")
    with pytest.raises(InputError, match="a, c stand twice"):
        read_lexicon(str(tmp_path / "f"))
    with pytest.raises(NotFoundError):
        read_lexicon(str(tmp_path / "none"))


DIM = 6
SIZES = [LinkSize(a, b) for a in (1, 2, 3) for b in (1, 2, 3)]


@functools.cache
def vector(word: str) -> Vectors:
    seeds = 1000 * int(word[1:]), 1000 * int(word[1:]) + ord(word[0])
    shared, own = (np.random.default_rng(seed).standard_normal(DIM) for seed in seeds)
    return (shared + 0.7 * own).astype(np.float32)


def encode(words: list[str]) -> Vectors:
    return np.array([vector(word) for word in words], np.float32).reshape(len(words), DIM)


def made(letter: str, n: int, seed: int) -> list[str]:
    generator = random.Random(seed)
    sentences = [
        " ".join(f"{letter}{generator.randrange(30)}" for _ in range(generator.randrange(7)))
        for _ in range(n)
    ]
    return [sentences[0].upper(), *sentences[1:]]


def bag(sentence: str) -> set[str]:
    return set(sentence.lower().split())


def weight(word: str, side: list[str]) -> float:
    return math.log((1 + len(side)) / sum(word in bag(sentence) for sentence in side))


def covered(word: str, others: set[str]) -> float:
    one = vector(word).astype(float)
    cosines = [
        one @ vector(other) / np.linalg.norm(one) / np.linalg.norm(vector(other))
        for other in others
    ]
    return min(1.0, max(0.0, (max(cosines, default=0.0) - LOW) / (HIGH - LOW)))


def uncovered(here: list[str], there: list[str], side: list[str]) -> float:
    others = set().union(*map(bag, there))
    return sum(
        weight(word, side) * (1 - covered(word, others))
        for sentence in here
        for word in bag(sentence)
    )


def unit_of(sides: list[list[str]]) -> float:
    """The mean weight of a sentence."""
    masses = [
        sum(weight(word, side) for word in bag(sentence)) for side in sides for sentence in side
    ]
    return sum(masses) / len(masses)


def coverage_of(sides: list[list[str]]) -> WordCoverage:
    return WordCoverage(*(document_words(side, encode) for side in sides), 3)


@pytest.mark.parametrize("products", [1 << 22, 40])
@pytest.mark.parametrize("part", [(slice(0, 9), slice(0, 8)), (slice(3, 6), slice(2, 8))])
def test_uncovered_words_by_definition(
    products: int, part: tuple[slice, slice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_coverage, "_PRODUCTS", products)
    sides = [made("s", 8, 1), made("t", 7, 2)]
    assert any(not sentence for side in sides for sentence in side)
    found = coverage_of(sides).uncovered(SIZES, *part)
    unit = unit_of(sides)
    for size, block in zip(SIZES, found, strict=True):
        for i, j in itertools.product(*(range(each.start, each.stop) for each in part)):
            if i >= size.source and j >= size.target:
                here, there = sides[0][i - size.source : i], sides[1][j - size.target : j]
                expected = uncovered(here, there, sides[0]) + uncovered(there, here, sides[1])
                cell = block[i - part[0].start, j - part[1].start]
                assert cell == pytest.approx(expected / unit, abs=1e-4)


def test_the_words_of_a_sentence_weigh_1_in_the_mean() -> None:
    sides = [made("s", 8, 1), made("t", 7, 2)]
    masses = coverage_of(sides).masses
    assert np.concatenate(masses).mean() == pytest.approx(1)
    for found, side in zip(masses, sides, strict=True):
        expected = [sum(weight(word, side) for word in bag(sentence)) for sentence in side]
        assert found * unit_of(sides) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize("sides", [[[], []], [["s1"], []], [[], ["t1"]], [["", "-"], ["..."]]])
def test_nothing_to_cover(sides: list[list[str]]) -> None:
    found = coverage_of(sides)
    rows, columns = (slice(0, len(side) + 1) for side in sides)
    assert found.uncovered(SIZES, rows, columns).shape == (9, len(sides[0]) + 1, len(sides[1]) + 1)
    assert [len(masses) for masses in found.masses] == [len(side) for side in sides]


def test_a_sentence_of_very_many_words_counts_by_some() -> None:
    sentence = " ".join(f"s{number}" for number in range(1000))
    words = document_words([sentence, "s1 s2"], encode)
    assert 200 <= words.numbers.lengths[0] <= word_coverage.MOST_WORDS
    assert words.numbers.lengths[1] == 2
