"""One long line: the time of each rule, repair and the like grows as its length."""

from __future__ import annotations

import random
import time
import unicodedata
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import regex
from click.testing import CliRunner
from growth import assert_linear
from hypothesis import example, given
from hypothesis import strategies as st
from identifiers import identifier_of

from bitextfilter.commands.filter import main as bitext_filter
from bitextfilter.corpus.duplicate_keys import DedupSettings
from bitextfilter.corpus.near_duplicates import NearTexts
from bitextfilter.corpus.repair import REPAIRS, Repairer
from bitextfilter.damage.noise import NoiseSettings, noisy_pairs
from bitextfilter.errors import InputError
from bitextfilter.filters import custom, rule
from bitextfilter.filters.agreement import _EMAIL
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.registry import RULES, parse_rule
from bitextfilter.filters.repetition import Repetition
from bitextfilter.filters.shape import _GLUED
from bitextfilter.filters.web import _BESIDE, _MACROS, _URL
from bitextfilter.text.composition import normal_form
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.segment import SegmenterSettings, learn_segmenter
from bitextfilter.text.words import split_sentences

N = 40_000
"""Characters of a long line."""

ARPA = Path(__file__).parents[1] / "filters" / "one.arpa"


def checked(spec: str, source: str, target: str, languages: tuple[str, str] | None = None) -> str:
    """The reason of a rule, or nothing."""
    found = parse_rule(spec).check(Pairs([source], [target], languages))
    return "" if found.keep[0] else found.reason(0)


def hostile_lines(n: int) -> list[tuple[str, str, str]]:
    """Rules, and lines of some n characters that could take long."""
    return [
        ("longest-common-substring", "a" * n, "a" * n),
        ("longest-common-substring:maximum=0.2", "ab" * n, "ba" * n), ("urls", "a." * n, "x"),
        ("urls", "a@" + "a" * n, "a" * n + "@" + "b" * n),
        ("urls", "+".join(["a" * n] * 2), "a.com+" * (n // 6)),
        ("glued-words", "a" * n + "Ba " + "aB " * 5, "1" * n),
        ("glued-words", " ".join(f"a{place}B" for place in range(n // 2)), "aA" * (4 * n)),
        ("email-addresses", "a" * n + "@", "a.@" * n),
        ("email-addresses", "a" * n + "@" + "b" * n, "a@" + "a." * n),
        ("placeholders", "%" + "0" * n, "%1" * (10 * n)), ("boilerplate", "agb" + " " * n, "x"),
        ("boilerplate", "agb " + "- " * n, "agb " + "/x" * n),
        ("dates", "1. listopad" + "a" * (5 * n), "2. listopadu"),
        ("units", "1 centimetr" + "a" * (5 * n), "1 metru"), ("units", "1-" * (4 * n), "1 km"),
        ("numbers", "1 2a" * (4 * n), "1 km"), ("repetition", "\u3000" * n, "\r" * n),
        ("repetition:repeats=2", "a a  a   a b " * (n // 13), "ab " * n),
        ("numerals", "1234567890" * n, "9876543210" * n),
    ]  # fmt: skip


@pytest.mark.gate(6)
@pytest.mark.parametrize("place", range(len(hostile_lines(1))))
def test_rules_on_hostile_lines(place: int) -> None:
    checked(hostile_lines(1)[place][0], "warm 1 May up", "5 km")
    assert_linear(lambda n: checked(*hostile_lines(n)[place]), N)


def test_figures_are_read_in_the_first_100_000_characters() -> None:
    for name, item in (("numbers", " 5"), ("dates", " 1 May 2020")):
        assert not checked(name, "x" * 100_000 + item, "y")
        assert checked(name, "x" * 99_000 + item, "y")


def of_a_few(count: int, *signs: str) -> str:
    chooser = random.Random(count)
    return "".join(chooser.choice(signs) for _ in range(count))


LINES = (
    of_a_few(N // 2, *"aB1.@-:/ <>&%'\"(é日\u0300\u3000\u200b"),
    of_a_few(
        N // 4, "a ", "B", "1,", "1 ", "not ", "cent ", "www.", "<a ", "&amp;", "May ", "ab ab "
    ),
)


def test_every_rule_on_long_lines() -> None:
    both = f"source={ARPA},target={ARPA}"
    needed = {
        "perplexity": f":{both},maximum=9",
        "cross-entropy": f":{both},maximum=9",
        "cross-entropy-gap": f":{both}",
        "cross-entropy-difference": f":{both},source-general={ARPA},target-general={ARPA}",
        "language-model-classifier": f":{both}",
        "regular-expression": r":pattern=\d{9}\b",
        "unwanted-words": f":words={ARPA}",
    }
    specs = [name + needed.get(name, "") for name in RULES if name != "paraphrase-score"]
    assert set(needed) < set(RULES)
    for spec in specs:
        checked(spec, "warm 1 May a@b.c", "up", ("en", "de"))
        for line in LINES:
            work = partial(checked_beginning, spec, line)
            assert_linear(work, len(line))


def checked_beginning(spec: str, line: str, size: int) -> None:
    checked(spec, line[:size], LINES[0][:size], ("en", "de"))


MARKS = ("\u0300\u0316", "\u0f73", "\uff9e\u0300")
"""Marks whose order is not the normal one."""


@pytest.mark.gate(1)
@pytest.mark.parametrize("marks", MARKS)
def test_combining_marks_without_end(marks: str) -> None:
    repairer, normalise = Repairer(list(REPAIRS), "de"), Normalisation()
    assert_linear(lambda n: normal_form("a" + marks * n), N)
    assert_linear(lambda n: normal_form("a" + marks * n, "NFKC"), N)
    assert_linear(lambda n: normalise("a" + marks * n, "en"), N)
    assert_linear(lambda n: repairer("a" + marks * n), N)


@given(
    st.lists(
        st.text("aéÅ\u1100\u1161\u0915 \u0300\u0316\u0345\u0f73\u0344\uff9e\uff9f…", min_size=1),
        min_size=1,
        max_size=6,
    )
)
def test_normal_forms_are_those_of_unicode(parts: list[str]) -> None:
    text = "".join(part * (1 + 1100 // len(part)) for part in parts)
    assert normal_form(text) == unicodedata.normalize("NFC", text)
    assert normal_form(text, "NFKC") == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("unit", ["a.m. ", "a. ", ".", "@", "日"])
def test_tokens_of_moses(unit: str) -> None:
    normalise = Normalisation(tokenise=True)
    normalise("warm up", "en")
    assert_linear(lambda n: normalise(unit * (n // len(unit)), "en"), N)


def test_merges_on_an_endless_word() -> None:
    words = ["ab" * length for length in range(1, 40)]
    segmenter = learn_segmenter([" ".join(words)], SegmenterSettings(kind="bpe", merges=30))
    word = of_a_few(5 * N, *"ab")
    (pieces,) = segmenter.segment_all([word])
    assert segmenter.join(pieces) == word
    assert_linear(lambda n: segmenter.segment_all([word[:n]]), len(word))
    (whole,), (long,) = (segmenter.segment_all([word[:size]]) for size in (1000, 1001))
    cuts = [word[start : start + 100] for start in range(0, 1000, 100)] + [word[1000]]
    assert "".join(long) == "".join(whole) + word[1000]
    assert long != [*whole, word[1000]]
    assert len(long) == len(segmenter.segment_all([" ".join(cuts)])[0])
    again = learn_segmenter([word[:1001]], SegmenterSettings(kind="bpe", merges=30))
    parts = learn_segmenter([" ".join(cuts)], SegmenterSettings(kind="bpe", merges=30))
    assert again.to_bytes() == parts.to_bytes()


def test_sentences_are_divided_piece_by_piece() -> None:
    text = "“a. " * 100_000
    found = list(split_sentences(text, "en"))
    assert_linear(lambda n: list(split_sentences(text[:n], "en")), len(text))  # at once, six
    assert len(found) > 99_900 and "".join(found).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("ngrams", "py3langid"),
        ("py3langid", "py3langid"),
        ("cld2", "pycld2"),
        ("lingua", "lingua"),
    ],
)
def test_the_language_of_an_endless_word(name: str, package: str) -> None:
    """Lingua took four seconds, and four times that of twice the length."""
    pytest.importorskip(package)
    identifier = identifier_of(name)
    identifier.probabilities(["a"], "en")
    assert_linear(lambda n: identifier.probabilities(["a" * n], "en"), 3 * N)
    (found,) = identifier.probabilities(["a" * (3 * N)], "en")
    assert 0 <= found <= 1


def test_near_duplicates_by_their_beginnings() -> None:
    line = of_a_few(10_000, *"abcdefgh")
    tails = of_a_few(N, *"abcdefgh"), of_a_few(N + 1, *"ijklmnop")
    rows = [(line + tails[0], "x"), (line + tails[1], "x"), ("c" + line[5000:], "x")]
    with NearTexts(DedupSettings(match="near")) as texts:
        keys = texts.add(np.arange(1, 4), rows)
        assert (keys[0] == keys[1]).all()
        assert texts.similar(1, 2)
        assert not texts.similar(1, 3)


def test_noise_leaves_endless_sides_alone() -> None:
    words = NoiseSettings(("fr", "en"), words=(1, 60))
    line = "n'" * N
    (made,) = noisy_pairs([(line, "not " + " " * N + "a")], {"negation": 1.0}, 1, words)
    assert made[2] == "clean"
    (made,) = noisy_pairs([("Ce n'est pas bon", "This is good")], {"negation": 1.0}, 1, words)
    assert made[2] == "negation"


def test_an_expression_without_end_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custom, "PATIENCE", 0.1)
    path = tmp_path / "pairs.tsv"
    path.write_text("good\tgut\n" + "a" * 60 + "b\tx\nmore\tmehr\n", "utf-8")
    for more in ([], ["--on-error", "reject"], ["--fast", "--rule", "length"]):
        line = ["--threads", "1", "--rule", "regular-expression:pattern=^(a|aa)+$", *more]
        ended = CliRunner().invoke(bitext_filter, [*line, "-i", str(path)])
        assert ended.exit_code == 65
        assert f"{path}:2: regular-expression: " in ended.stderr
        assert ended.stdout == ""
    with pytest.raises(InputError, match="regular-expression"):
        checked(r"regular-expression:pattern=^(a|aa)+$", "a" * 60 + "b", "x")
    with pytest.raises(rule.SlowRuleError, match="boilerplate"):
        raise rule.SlowRuleError("boilerplate", 3)


OLD = {
    _URL: regex.compile(
        r"(?:https?|ftps?)://[!-~]+|www\.[\w-]+\.[!-~]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
        r"|(?<![\w@.-])(?:[a-z0-9-]+\.)+"
        r"(?:com|org|net|info|edu|gov|eu|at|be|br|ca|ch|cn|cz|de|es|fr|in|it|jp|nl|pl|ru|uk)"
        r"(?:/[!-~]*|(?![\w.]))",
        regex.IGNORECASE,
    ),
    _EMAIL: regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}._%+-]*@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}"),
    _GLUED: regex.compile(
        r"[\p{L}\p{N}]*(?:\p{Ll}|\p{Ll}{2}[.!?](?=\p{Lu}\p{Ll}))\p{Lu}[\p{L}\p{N}]*"
    ),
}
"""The plain expressions, whose time grows with the square of the length."""

PARTS = ["a", "B", ".", "@", "-", "+", "%", "_", "1", "é", "日", " ", "/", "!", "de", "com"]
PARTS += ["www.", "http://"]


@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join))
@example("http://aé@b.de")
@example("a@b.c.+d@e.de")
@example("a.com-b.de-c.x")
def test_expressions_find_the_same(text: str) -> None:
    for new, old in OLD.items():
        assert [m.span() for m in new.finditer(text)] == [m.span() for m in old.finditer(text)]


def expanded(expression: str) -> regex.Pattern[str]:
    for name, meaning in _MACROS.items():
        expression = expression.replace(name, meaning)
    return regex.compile(expression, regex.IGNORECASE)


MENU = expanded("{menu}(?:terms|IMPRINT)(?:{joint}|$)")
PLAIN_MENU = expanded(f"(?:^(?=.*{_BESIDE})|{_BESIDE})(?:terms|IMPRINT)(?:{{joint}}|$)")
ITEMS = ["terms", "Imprint", " ", "  ", "|", " | ", "/", " / ", "> ", " –", "-", "·", "\n", "x "]


@given(st.lists(st.sampled_from(ITEMS), max_size=9).map("".join))
@example("/|terms")
@example("x  /·imprint\n")
@example("terms x | terms")
@example("x-\nterms / imprint")
def test_items_of_menus_are_those_of_the_plain_expression(text: str) -> None:
    found, expected = MENU.search(text), PLAIN_MENU.search(text)
    assert (found and (found.span(), found[0])) == (expected and (expected.span(), expected[0]))


PIECES = st.sampled_from([(1, 1, 4), (2, 2, 3), (2, 3, 101), (1, 4, 9), (3, 1, 2)])


@given(st.lists(st.text("ab \u3000\x1c", max_size=24), min_size=1, max_size=4), PIECES)
@example(["a  a  a  a ", "ab  ab  ab  "], (2, 3, 101))
@example(["a a a", "ab ab a b ab"], (1, 2, 3))
def test_repetitions_are_those_of_the_expression(
    sentences: list[str], numbers: tuple[int, int, int]
) -> None:
    repeats, shortest, longest = numbers
    piece = rf"(\S.{{{shortest - 1},{longest - 1}}}?)(?: *\1){{{repeats},}}"
    expected = [regex.search(piece, sentence) for sentence in sentences]
    rule = Repetition(repeats=repeats, shortest=shortest, longest=longest)
    assert rule.faulty(BatchSide(sentences)).tolist() == [found is not None for found in expected]
    assert [rule.fault(s) for s in sentences] == [found and found[1] for found in expected]


@pytest.mark.parametrize(("power", "linear"), [(0, True), (1, True), (1.3, True), (2, False)])
def test_the_square_of_the_size_is_noticed(
    power: float, linear: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: clock[0])

    def work(size: int) -> None:
        clock[0] += 2 * (size / N) ** power

    if linear:
        assert_linear(work, N)
    else:
        with pytest.raises(AssertionError, match=r"2\.00 s for 40000, 0\.12 s for 10000"):
            assert_linear(work, N)
