"""Examples for classifiers: what is chosen, what is damaged, and that it is always the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import toys
from console import ROOT

from bitextfilter.damage.noise import NOISE_KINDS, NoiseSettings
from bitextfilter.errors import InputError
from bitextfilter.scoring.model import load
from bitextfilter.training import classifier_examples as maker


def test_some_blocks_of_fitting_pairs_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(f"we go to the train {i}", f"wir gehen alle zum Zug {i}") for i in range(300)]
    odd = [("long enough this", "x " * 61), rows[7],
           ("open the file menu of it", "open the file menu of it")]  # fmt: skip
    assert maker.chosen(iter([*rows, *odd])) == rows
    monkeypatch.setattr(maker, "BLOCK", 10)
    some = [int(source.split()[-1]) for source, _ in maker.chosen([*rows, *odd], 150)]
    assert some == sorted(some) and 90 <= len(some) <= 210
    assert {number // 10 for number in some} == {number // 10 for number in some[::10]}


def test_hard_negatives_are_near_but_no_translations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(toys.toy_model(tmp_path / "model"))
    one = "a0 a1 a2 a3 a4 a5", "b0 b1 b2 b3 b4 b5"
    same_words = "a5 a4 a3 a2 a1 a0", "b5 b4 b3 b2 b1 b0"
    near = "a0 a1 a2 a16 a17 a18 a19", "b0 b1 b2 b16 b17 b18 b19"
    far = "a30 a31 a32 a33 a34 a35", "b30 b31 b32 b33 b34 b35"
    short = "a0 a1 a2", "b0 b1 b2"
    pairs = [one, same_words, near, far, short]
    found = list(maker.hard(model, pairs))
    wanted = {(one[0], near[1]), (same_words[0], near[1])}
    long = [one, same_words, near, far]
    assert [source for source, _ in found[:4]] == [source for source, _ in long]
    assert [target for _, target in found[4:]] == [target for _, target in long]
    assert wanted <= set(found[:4])
    assert {(near[0], one[1]), (near[0], same_words[1])} <= set(found[4:])
    assert not set(found) & set(pairs) and (one[0], same_words[1]) not in found
    assert list(maker.hard(model, [short])) == []
    monkeypatch.setattr(maker, "DISTANCE", 3.0)  # farther than anything
    assert list(maker.hard(model, pairs)) == []


def test_what_a_language_lacks_is_not_made() -> None:
    pairs = [(f"we do not go to train {i}", f"wir gehen nicht zum Zug {i}") for i in range(90)]
    source = "we do not go to the old train station with all of them now"
    target = "wir gehen mit ihnen allen jetzt doch nicht zu dem alten Bahnhof"
    negated = [(f"{source} {word}", f"{target} {word}") for word in "abcdefgh"]
    for languages, negations in (("xx", "yy"), False), (("en", "de"), True):
        versions = [*maker.NEGATIVES, *maker.CONTRASTS]
        noisy = maker.noise([[*pairs, *negated]], NoiseSettings(languages), versions)
        made = [pair for pair, *_ in noisy]
        assert len(made) >= 2 * len(pairs)
        dropped = {(s.replace(" not", ""), t) for s, t in negated}
        dropped |= {(s, t.replace(" nicht", "")) for s, t in negated}
        assert bool(dropped & set(made)) == negations
        assert {kind for _, kind, _ in noisy} - set(NOISE_KINDS) == set()
        assert {pair for *_, pair in noisy} <= {*pairs, *negated}


def test_contrasts_have_their_quality_and_the_better_pair() -> None:
    good = "a", "b"
    made = [(("a", "y"), "name", good), (("a", "z"), "misspelt", good), (good, "name", ("c", "d"))]
    found = maker.contrasts(iter(made), {good})
    assert found == {("a", "y"): ("name", "0.01", good), ("a", "z"): ("misspelt", "0.7", good)}


def test_near_words_are_no_forms_of_one() -> None:
    one = "the house and the houses, a flat, a dog, a cat, cats"
    other = "das Haus und die Häuser, eine Wohnung, ein Hund, eine Katze, Katzen"
    related, lexicon = maker.near_words(load("en-de"), [(one, other)] * 5)
    assert related["en"] == {} and related["de"]["wohnung"] == ["haus"]
    assert "haus" not in related["de"]["haus"] and "katzen" not in related["de"].get("katze", [])
    assert lexicon["en", "de"]["dog"] == ["hund"] and lexicon["de", "en"]["hund"] == ["dog"]
    assert lexicon["en", "de"]["cats"] == ["katzen", "katze"]
    assert maker.near_words(load("en-de"), [(one, other)] * 3)[1]["en", "de"] == {}


_MAKE = """
import sys
from pathlib import Path
from bitextfilter.io.files import read_lines
from bitextfilter.scoring.model import load
from bitextfilter.training import classifier_examples as maker
maker.HARD = 40  # some, which are drawn
model, text, output, threads = sys.argv[1:]
pairs = [tuple(line.split("\\t")) for line in read_lines(text)]
if __name__ == "__main__":
    foreign = ["uno dos tres", "quatre cinq six"]
    loaded = load(model, threads=int(threads))
    maker.make_examples(loaded, [pairs[:100], pairs[100:]], foreign, Path(output))
"""
_KINDS = ("positives", "negatives", "contrasts")


@pytest.mark.gate(0)
def test_examples_are_always_the_same(tmp_path: Path) -> None:
    """Whatever the order of sets, and the number of threads."""
    sides = toys.sentences(200, seed=3, lengths=(3, 20))
    rows = [
        (f"{one} {n}", f"{other} {n}") for n, (one, other) in enumerate(zip(*sides, strict=True))
    ]
    text, script, made = tmp_path / "pairs.tsv", tmp_path / "make.py", []
    text.write_text("".join(f"{one}\t{other}\n" for one, other in rows))
    script.write_text(_MAKE)
    model = toys.toy_model(tmp_path / "model")
    for seed, threads in (("1", "1"), ("2", "2")):
        output = tmp_path / seed
        output.mkdir()
        words = [sys.executable, str(script), str(model), str(text), str(output), threads]
        subprocess.run(
            words, check=True, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
        )
        made.append([(output / f"{name}.tsv").read_text() for name in _KINDS])
    assert made[0] == made[1]
    right, wrong, fine = (
        {tuple(line.split("\t")) for line in each.splitlines()} for each in made[0]
    )
    worse = {row[:2] for row in fine}
    assert right <= set(rows) and len(right) > 100 and len(wrong) > len(right) and len(worse) > 50
    assert not right & wrong and not worse & (right | wrong)
    assert {row[4:] for row in fine} <= right


def test_there_must_be_positives(tmp_path: Path) -> None:
    model = load(toys.toy_model(tmp_path / "model"))
    with pytest.raises(InputError, match="1 to 60 words"):
        maker.make_examples(model, [[]], [], tmp_path)
