"""The translator: nothing depends on company, and no sentence is lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from toys import as_older
from translators import CASES, LARGER, network, processor, text_template

from bitextfilter.errors import ModelError, NotFoundError, SettingsError
from bitextfilter.models.device import product_type
from bitextfilter.models.folders import model_digest, writing_folder
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.vocabulary import END
from bitextfilter.translation.network import shaped_blocks
from bitextfilter.translation.translator import (
    TEMPLATED,
    TRANSLATORS,
    SearchSettings,
    Translation,
    Translator,
    load_translator,
)

TEXTS = {False: processor(), True: processor(symbols=True)}
SEARCHES = [
    SearchSettings(width=1, maximum_length=30),
    SearchSettings(width=3, maximum_length=30),
    SearchSettings(width=2, maximum_length=30, sample=True),
]


def sentences(count: int, seed: int = 1, most: int = 14) -> list[str]:
    random = np.random.default_rng(seed)
    return [
        " ".join(f"a{n}" for n in random.integers(0, 20, random.integers(1, most)))
        for _ in range(count)
    ]


def translator(name: str, shape: dict[str, object], threads: int = 1) -> Translator:
    text = TEXTS[name in TEMPLATED]
    return Translator(text, network(name, shape, len(text.vocabulary)), threads=threads)


def templates(made: Translator, lines: Sequence[str]) -> list[str] | None:
    return None if made.processor.templates is None else [text_template(line) for line in lines]


def translate(
    made: Translator, lines: Sequence[str], settings: SearchSettings | None = None
) -> list[Translation]:
    return made.translate(lines, settings, templates(made, lines))


def costs(made: Translator, sources: list[str], targets: list[str]) -> NDArray[np.float64]:
    return made.log_probabilities(sources, targets, templates(made, sources))


def as_loaded(made: Translator) -> Translator:
    """The same, with products in bfloat16 where this machine is fast at them."""
    if product_type(torch.device("cpu")) == torch.bfloat16:
        made.network.narrow()
    return made


@pytest.mark.gate(5)
@pytest.mark.parametrize(("name", "shape"), [*CASES, *LARGER])
@pytest.mark.parametrize("settings", SEARCHES)
def test_a_translation_is_the_same_to_the_last_bit_in_any_company(
    name: str, shape: dict[str, object], settings: SearchSettings
) -> None:
    lines = sentences(40)
    lines += ["a1 " * 40, lines[3]]
    together = translate(translator(name, shape), lines, settings)
    assert together[-1] == together[3]
    order = np.random.default_rng(2).permutation(len(lines))
    mixed = translate(translator(name, shape, 2), [lines[i] for i in order], settings)
    for place, row in zip(order.tolist(), mixed, strict=True):
        assert row == together[place]
    alone = translator(name, shape)
    for place in (0, 17, 39, 40):
        assert translate(alone, [lines[place]], settings) == [together[place]]
    assert len({t.hypotheses[0].score for t in together}) > 20


@pytest.mark.gate(3)
@pytest.mark.parametrize(("name", "shape"), [*CASES, *LARGER])
def test_a_cost_is_the_same_to_the_last_bit_in_any_company(
    name: str, shape: dict[str, object]
) -> None:
    sources = sentences(70)
    targets = [line.replace("a", "b") for line in sentences(70, seed=5, most=40)]
    together = costs(translator(name, shape), sources, targets)
    order = np.random.default_rng(2).permutation(70)
    mixed = costs(
        translator(name, shape, 2), [sources[i] for i in order], [targets[i] for i in order]
    )
    np.testing.assert_array_equal(mixed, together[order])
    for place in (0, 9, 44):
        alone = costs(translator(name, shape), [sources[place]], [targets[place]])
        assert alone == together[place : place + 1]
    assert (together < 0).all() and len(set(together.tolist())) > 60


@pytest.mark.gate(5)
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_the_score_of_a_translation_is_its_cost(name: str, shape: dict[str, object]) -> None:
    made, lines = translator(name, shape), sentences(20)
    found = translate(made, lines, SEARCHES[1])
    whole = [(line, t.hypotheses[0]) for line, t in zip(lines, found, strict=True)]
    scores = costs(made, [s for s, _ in whole], [h.text for _, h in whole])
    np.testing.assert_allclose([h.score for _, h in whole], scores, atol=1e-5)


def test_blank_and_long_lines_keep_their_places() -> None:
    made = translator(*CASES[0])
    settings = SearchSettings(width=2, maximum_length=8)
    lines = ["", "a1 a2", " \t ", "a3 " * 11, "a3 " * 8, "unknown words"]
    found = made.translate(lines, settings)
    assert [bool(t.hypotheses) for t in found] == [False, True, False, True, True, True]
    assert [t.left for t in found] == [0, 0, 0, 3, 0, 0]
    assert found[3].hypotheses == found[4].hypotheses
    assert made.translate([]) == []
    assert made.log_probabilities([], []).shape == (0,)
    assert all(len(h.text.split()) <= 8 for t in found for h in t.hypotheses)


def test_samples_depend_on_the_seed_and_the_sentence() -> None:
    made, line = translator(*CASES[0]), "a1 a2 a3"
    first, again, other, wider = (
        made.translate([line], SearchSettings(width, 30, sample=True, seed=seed))[0]
        for width, seed in ((3, 1), (3, 1), (3, 2), (6, 1))
    )
    assert first == again != other
    assert {h.text for h in first.hypotheses} <= {h.text for h in wider.hypotheses}


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_a_saved_translator_is_read_back_exactly(
    name: str, shape: dict[str, object], tmp_path: Path
) -> None:
    made, lines = translator(name, shape), sentences(5)
    kind = (name, TRANSLATORS.settings(name, shape))
    with writing_folder(tmp_path / "model") as folder:
        TRANSLATORS.save(folder, kind, made.network, made.processor)
    read = load_translator(tmp_path / "model")
    assert translate(read, lines) == translate(as_loaded(made), lines)
    assert len(model_digest(tmp_path / "model")) == 12


def test_a_recurrent_model_from_before_attention_and_copying_were_chosen(
    tmp_path: Path,
) -> None:
    name, shape = "recurrent", {"width": 6, "hidden": 4}
    made, lines = translator(name, shape), sentences(5)
    with writing_folder(tmp_path / "model") as folder:
        TRANSLATORS.save(
            folder, (name, TRANSLATORS.settings(name, shape)), made.network, made.processor
        )
    path = as_older(tmp_path / "model") / "config.json"
    config = json.loads(path.read_text())
    assert config["translator"].pop("attention") == "bilinear"
    assert config["translator"].pop("copy") is False
    path.write_text(json.dumps(config))
    expected = as_loaded(made).translate(lines)
    assert load_translator(tmp_path / "model").translate(lines) == expected


def test_a_template_decides_with_the_sentence() -> None:
    made, line = translator(*CASES[-1]), "a1 a2 a3"
    settings = SearchSettings(2, 10)
    one, other, unknown, same = made.translate(
        [line] * 4, settings, ["( S ( NP ) )", "( NP )", "( VP )", "( PP )"]
    )
    assert one != other != unknown == same
    scores = made.log_probabilities([line] * 2, ["b1"] * 2, ["( S ( NP ) )", "( NP )"])
    assert scores[0] != scores[1]


def test_templates_are_wanted_or_not() -> None:
    following, free = translator(*CASES[-1]), translator(*CASES[0])
    with pytest.raises(SettingsError, match="none is given"):
        following.translate(["a1"])
    with pytest.raises(SettingsError, match="none is given"):
        following.log_probabilities(["a1"], ["b1"])
    with pytest.raises(SettingsError, match="follows no templates"):
        free.translate(["a1"], None, ["( S )"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"templates": None}, "missing"),
        ({"templates": ["(", "("]}, "stands twice"),
        ({"templates": {"(": 1}}, "no list"),
        ({"templates": [["("]]}, "no list"),
        ({"templates": list("()ABCDE")}, "more symbols"),
    ],
)
def test_symbols_of_templates_that_are_damaged(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    (name, shape), made = CASES[-1], translator(*CASES[-1])
    with writing_folder(tmp_path / "model") as folder:
        kind = (name, TRANSLATORS.settings(name, shape))
        TRANSLATORS.save(folder, kind, made.network, made.processor)
    path = as_older(tmp_path / "model") / "config.json"
    config = {**json.loads(path.read_text()), **change}
    if config["templates"] is None:
        del config["templates"]
    path.write_text(json.dumps(config))
    with pytest.raises(ModelError, match=said):
        load_translator(tmp_path / "model")


def test_what_is_no_translator_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no model here"):
        load_translator(tmp_path)
    (tmp_path / "config.json").write_text('{"format": 1, "languages": ["aa", "ba"]}')
    with pytest.raises(ModelError, match="no translator"):
        load_translator(tmp_path)
    (tmp_path / "config.json").write_text('{"format": 1, "translator": {"architecture": "x"}}')
    with pytest.raises(ModelError, match="unusable"):
        load_translator(tmp_path)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("transformer", {"width": 10, "heads": 4}), ("transformer", {"layers": 0}),
     ("recurrent", {"cell": "rnn"}), ("recurrent", {"heads": 2}), ("pivot", {}),
     ("recurrent", {"copy": "yes"}), ("transformer", {"copy": True}),
     ("recurrent", {"attention": "dot"}), ("controlled", {"symbols": 3})],
)  # fmt: skip
def test_what_cannot_be_built_is_refused(name: str, shape: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        TRANSLATORS.settings(name, shape)


@pytest.mark.parametrize("changes", [{"width": 0}, {"maximum_length": 0}, {"temperature": 0.0}])
def test_what_cannot_be_searched_is_refused(changes: dict[str, float]) -> None:
    with pytest.raises(SettingsError):
        SearchSettings(**changes)  # type: ignore[arg-type]


def test_blocks_hold_each_item_once_and_have_shapes_of_their_own() -> None:
    lengths = np.random.default_rng(1).integers(1, 1500, (300, 2))
    blocks = shaped_blocks(lengths, 8)
    assert sorted(i for block in blocks for i in block.items.tolist()) == list(range(300))
    rows: dict[tuple[int, ...], int] = {}
    for block in blocks:
        assert 1 <= len(block.items) <= block.rows <= 8
        assert rows.setdefault(block.shape, block.rows) == block.rows
        for side in (0, 1):
            assert lengths[block.items, side].max() <= block.shape[side]
    alone = [block.shape for i in range(300) for block in shaped_blocks(lengths[i : i + 1], 8)]
    by_item = {i: block.shape for block in blocks for i in block.items.tolist()}
    assert alone == [by_item[i] for i in range(300)]


@pytest.mark.gate(3)
@pytest.mark.parametrize(("name", "shape"), [*CASES, *LARGER])
def test_in_bfloat16_scores_are_nearly_the_same_whatever_the_company(
    name: str, shape: dict[str, object]
) -> None:
    sources, targets = sentences(70), [line.replace("a", "b") for line in sentences(70, seed=5)]
    exact = costs(translator(name, shape), sources, targets)
    made = translator(name, shape)
    made.network.narrow()
    narrow = costs(made, sources, targets)
    assert abs(narrow - exact).mean() < 0.02 * abs(exact).mean()
    assert (narrow != exact).any()
    order = np.random.default_rng(2).permutation(70)
    mixed = costs(made, [sources[i] for i in order], [targets[i] for i in order])
    np.testing.assert_array_equal(mixed, narrow[order])
    np.testing.assert_array_equal(costs(made, sources[5:6], targets[5:6]), narrow[5:6])
    found = translate(made, sources, SEARCHES[1])
    assert found[9:12] == translate(made, sources[9:12], SEARCHES[1])


@pytest.mark.gate(4)
@pytest.mark.parametrize("longest", [1, 4, 30])
@pytest.mark.parametrize("settings", SEARCHES)
def test_no_translation_is_empty_and_no_word_either(settings: SearchSettings, longest: int) -> None:
    """Of a model that likes to begin words without going on with them."""
    lines = [" ".join("abcdefghijklmnopqrstuvwxyz") + " abab", "ab a"] * 9
    settled = SegmenterSettings("unigram", vocabulary_size=34)
    text = TextProcessor.learn((lines, lines), ("aa", "ba"), Normalisation(), settled)
    name, shape = CASES[0]
    made = Translator(text, network(name, shape, len(text.vocabulary)))
    with torch.no_grad():
        made.network.bias[text.vocabulary.index["\u2581"]] = 8.0
        made.network.bias[END] = 6.0
    for row in made.translate(lines[:2], replace(settings, maximum_length=longest)):
        assert row.hypotheses
        for hypothesis in row.hypotheses:
            assert hypothesis.text and hypothesis.text == " ".join(hypothesis.text.split())
