"""A lexicon against IBM model 1 as nested loops, on a cipher with gaps, and through its file."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from pathlib import Path

import pytest

from bitextfilter.errors import InputError, NotFoundError
from bitextfilter.io.files import open_output
from bitextfilter.mining import word_lexicon
from bitextfilter.mining.word_alignment import NULL, TENSION, Alignments, Links
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
