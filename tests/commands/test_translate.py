"""bitext-translate: one line for each line, and the best few with scores."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from console import invoke
from toys import toy_model
from translators import CASES, network, processor

from bitextfilter.commands.translate import main
from bitextfilter.models.folders import model_digest, writing_folder
from bitextfilter.translation.translator import TRANSLATORS, SearchSettings, load_translator

RANDOM = np.random.default_rng(1)
LINES = [
    " ".join(f"a{n}" for n in RANDOM.integers(0, 20, RANDOM.integers(1, 9))) for _ in range(12)
]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text, (name, shape) = processor(), CASES[3]
    path = tmp_path_factory.mktemp("models") / "toy"
    with writing_folder(path) as draft:
        made = network(name, shape, len(text.vocabulary))
        TRANSLATORS.save(draft, (name, TRANSLATORS.settings(name, shape)), made, text)
    return path


def call(folder: Path, *words: object, data: bytes = TEXT, code: int = 0) -> Result:
    return invoke(main, "--model", folder, "--max-length", 12, *words, data=data, code=code)


def test_one_line_for_each_line_in_order(folder: Path) -> None:
    result = call(folder)
    lines = result.stdout.split("\n")
    assert len(lines) == len(LINES) + 1 and all(lines[:-1]) and not lines[-1]
    translator = load_translator(folder)
    for line, written in zip(LINES, lines, strict=False):
        alone = call(folder, data=f"{line}\n".encode()).stdout
        assert alone == f"{written}\n"
        assert translator.translate([line])[0].hypotheses
    assert "12 rows, 0 rejected, 0 overlong, " in result.stderr
    assert f"model toy {model_digest(folder)}" in result.stderr


@pytest.mark.parametrize("more", [(), ("--beam", 1), ("--n-best", 3, "--digits", 9), ("--sample",)])
def test_nothing_depends_on_the_window_or_the_threads(
    folder: Path, more: tuple[object, ...]
) -> None:
    first = call(folder, *more, "--threads", 1).stdout
    for batch in (1, 5):
        assert call(folder, *more, "--batch-size", batch, "--threads", 2).stdout == first


def test_the_best_few_are_distinct_and_sorted(folder: Path) -> None:
    rows = [line.split("\t") for line in call(folder, "--n-best", 4).stdout.splitlines()]
    plain = call(folder).stdout.splitlines()
    for number, group in groupby(rows, key=lambda row: int(row[0])):
        some = list(group)
        assert [row[1] for row in some] == [str(i) for i in range(1, len(some) + 1)]
        scores = [float(row[2]) for row in some]
        assert scores == sorted(scores, reverse=True) and max(scores) < 0
        assert len({row[3] for row in some}) == len(some) <= 4
        assert some[0][3] == plain[number - 1]
    assert {int(row[0]) for row in rows} == set(range(1, 13))
    translator = load_translator(folder)
    costs = translator.log_probabilities([LINES[int(r[0]) - 1] for r in rows], [r[3] for r in rows])
    np.testing.assert_allclose([float(row[2]) for row in rows], costs, atol=1e-4)


def test_odd_lines_keep_their_places(folder: Path) -> None:
    data = b"\xef\xbb\xbfa1\r\n\n \xc2\xa0\n" + b"a2 " * 15 + b"\na3"
    result = call(folder, data=data)
    lines = result.stdout_bytes.split(b"\n")
    assert [bool(line.strip(b"\r")) for line in lines] == [True, False, False, True, True]
    assert lines[0].startswith(b"\xef\xbb\xbf") and lines[0].endswith(b"\r")
    assert "line 4: its end (3 subwords) was not read (--max-length)" in result.stderr
    assert "1 overlong" in result.stderr
    rows = call(folder, "--n-best", 2, data=data).stdout_bytes.split(b"\n")
    assert rows[2:4] == [b"2\t1\t\t", b"3\t1\t\t"] and rows[-1] == b""


def test_only_some_overlong_lines_are_named(folder: Path) -> None:
    """And translations that do not end are counted; a rejected last line is a blank one."""
    stderr = call(folder, data=(b"a2 " * 15 + b"\n") * 9).stderr
    assert stderr.count("was not read") == 5 and "9 overlong" in stderr
    found = load_translator(folder).translate(LINES, SearchSettings(5, 12))
    number = sum(not row.hypotheses[0].whole for row in found)
    assert 0 < number < len(LINES)
    assert f" {number} unfinished, " in call(folder).stderr
    result = call(folder, "--on-error", "reject", data=b"a1\n\xff")
    assert (result.stdout.count("\n"), result.stdout[-2:]) == (2, "\n\n")
    assert not call(folder, data=b"a1\na2").stdout.endswith("\n")


def test_samples_follow_the_seed(folder: Path, tmp_path: Path) -> None:
    facts = ("--manifest", tmp_path / "m.json")
    one, same, other = (call(folder, "--sample", "--seed", s, *facts).stdout for s in (1, 1, 2))
    assert one == same != other
    few = call(folder, "--sample", "--n-best", 3, "--temperature", 0.5).stdout.splitlines()
    assert 12 < len(few) <= 36
    told = json.loads((tmp_path / "m.json").read_text())
    assert model_digest(folder) in json.dumps(told) and told["counts"]["rows"] == 12


@pytest.mark.parametrize(
    "more",
    [("--n-best", 6, "--beam", 3), ("--sample", "--beam", 2), ("--seed", 3), ("--temperature", 2),
     ("--beam", 0), ("--sample", "--temperature", 0)],
)  # fmt: skip
def test_options_that_contradict_each_other(folder: Path, more: tuple[object, ...]) -> None:
    assert call(folder, *more, code=2).stdout == ""


def test_what_is_no_translator_is_said_to_be_none(tmp_path: Path) -> None:
    assert "no model here" in call(tmp_path, code=66).stderr
    stderr = call(toy_model(tmp_path / "encoder"), code=65).stderr
    assert "no translator; bitext-train-translator makes one" in stderr
