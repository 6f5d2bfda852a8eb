"""bitext-paraphrase generate: other words only, unless there are none."""

from __future__ import annotations

import re
from itertools import groupby, product
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from translators import CASES, network, processor

from bitextfilter.commands.paraphrase import main
from bitextfilter.commands.translate import main as translate
from bitextfilter.models.folders import writing_folder
from bitextfilter.translation.translator import (
    TRANSLATORS,
    SearchSettings,
    Translator,
    load_translator,
)

WORDS = ("a0", "a1", "b0", "b1")


def toy_lines() -> list[str]:
    """What an untrained model likes to write, whatever it reads: it will write it again."""
    pairs = [" ".join(pair) for pair in product(WORDS, WORDS)]
    found = toy().translate([*WORDS, *pairs], SearchSettings(5, 6))
    return sorted({h.text for t in found for h in t.hypotheses})


def toy() -> Translator:
    text, case = processor(words=2), CASES[3]
    return Translator(text, network(*case, len(text.vocabulary)))


LINES = toy_lines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (name, shape), made = CASES[3], toy()
    path = tmp_path_factory.mktemp("models") / "toy"
    with writing_folder(path) as draft:
        kind = (name, TRANSLATORS.settings(name, shape))
        TRANSLATORS.save(draft, kind, made.network, made.processor)
    return path


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that follows templates; its beginnings are as different as its templates."""
    (name, shape), text = CASES[-1], processor(words=2, symbols=True)
    path = tmp_path_factory.mktemp("models") / "controlled"
    made = network(name, shape, len(text.vocabulary))
    with torch.no_grad():
        made.symbols.weight.mul_(4.0)
    with writing_folder(path) as draft:
        TRANSLATORS.save(draft, (name, TRANSLATORS.settings(name, shape)), made, text)
    return path


def call(folder: Path, *words: object, lines: list[str] = LINES, code: int = 0) -> Result:
    arguments = ["generate", "--model", folder, "--max-length", 6, *words]
    data = "".join(f"{line}\n" for line in lines).encode()
    result = CliRunner().invoke(main, [str(word) for word in arguments], input=data)
    assert result.exit_code == code, result.output
    return result


def copies(result: Result) -> int:
    found = re.search(r" (\d+) copies", result.stderr)
    assert found
    return int(found[1])


def test_the_line_itself_is_not_offered(folder: Path) -> None:
    """A translator would offer it; what it finds besides keeps its order and scores."""
    settings = SearchSettings(5, 6)
    translations = load_translator(folder).translate(LINES, settings)
    both = list(zip(LINES, translations, strict=True))
    offered = sum(line in [h.text for h in found.hypotheses] for line, found in both)
    best = sum(line == found.best for line, found in both)
    assert offered > 5 and best > 0
    result = call(folder)
    assert copies(result) == 0
    for line, written, found in zip(LINES, result.stdout.splitlines(), translations, strict=True):
        assert written == next(h.text for h in found.hypotheses if h.text != line)


def test_the_best_few_have_ranks_and_scores(folder: Path) -> None:
    rows = [row.split("\t") for row in call(folder, "--n-best", 4).stdout.splitlines()]
    for number, group in groupby(rows, key=lambda row: int(row[0])):
        some = list(group)
        assert [row[1] for row in some] == ["1", "2", "3", "4"]
        scores = [float(row[2]) for row in some]
        assert scores == sorted(scores, reverse=True) and max(scores) < 0
        texts = [row[3] for row in some]
        assert len(set(texts)) == 4 and LINES[number - 1] not in texts
    assert {int(row[0]) for row in rows} == set(range(1, len(LINES) + 1))


def test_a_copy_takes_no_ones_place(folder: Path) -> None:
    rows = call(folder, "--n-best", 5).stdout.splitlines()
    assert len(rows) == 5 * len(LINES)


@pytest.mark.parametrize("change", [str.upper, lambda t: f" {t} !", lambda t: t.replace(" ", "-")])
def test_case_spaces_and_punctuation_make_no_paraphrase(folder: Path, change: object) -> None:
    """The sentence is compared as it stands, whatever the model makes of it."""
    lines = [change(line) for line in LINES]  # type: ignore[operator]
    rows = call(folder, "--n-best", 5, lines=lines).stdout.splitlines()
    for row in rows:
        number, _, _, text = row.split("\t")
        assert text != LINES[int(number) - 1]


def test_a_copy_is_offered_where_nothing_else_is_found(folder: Path) -> None:
    """Greedy search finds one only."""
    result = call(folder, "--beam", 1)
    written = result.stdout.splitlines()
    same = sum(line == text for line, text in zip(LINES, written, strict=True))
    assert copies(result) == same > 0
    plain = load_translator(folder).translate(LINES, SearchSettings(1, 6))
    assert written == [t.best for t in plain]


def test_odd_lines_and_samples(folder: Path) -> None:
    assert call(folder, lines=["", "a0", " "]).stdout.count("\n") == 3
    rows = call(folder, "--n-best", 2, lines=["", "a0"]).stdout.splitlines()
    assert rows[0] == "1\t1\t\t" and rows[1].startswith("2\t1\t-")
    one, again, other = (call(folder, "--sample", "--seed", s).stdout for s in (1, 1, 2))
    assert one == again != other
    few = call(folder, "--sample", "--n-best", 6).stdout.splitlines()
    for row in few:
        number, _, _, text = row.split("\t")
        assert text != LINES[int(number) - 1]


def test_nothing_depends_on_the_window(folder: Path) -> None:
    first = call(folder, "--n-best", 3).stdout
    assert call(folder, "--n-best", 3, "--batch-size", 3, "--threads", 2).stdout == first


def test_what_contradicts_is_refused(folder: Path, tmp_path: Path) -> None:
    call(folder, "--n-best", 6, "--beam", 3, code=2)
    call(folder, "--sample", "--beam", 3, code=2)
    assert "no model here" in call(tmp_path, code=66).stderr


PARSES = ["(ROOT (S (NP (DT a)) (S)))", "( NP ( NP ( X ) ) )"]
"""Of one a parse, of the other a template that is too deep."""


def test_templates_decide(controlled: Path) -> None:
    """One for all lines gives what a column that repeats it gives."""
    lines, best = LINES[:6], ("--n-best", 1, "--digits", 6)

    def found(*words: object, lines: list[str]) -> list[str]:
        return [row.split("\t", 1)[1] for row in call(controlled, *best, *words, lines=lines)
                .stdout.splitlines()]  # fmt: skip

    one, other = (found("--template", parse, lines=lines) for parse in PARSES)
    assert not set(one) & set(other)
    table = [f"x\t{line}\t{parse}" for line in lines for parse in PARSES]
    words = ("--column", 2, "--template-column", 3)
    mixed = found(*words, lines=table)
    assert mixed == [text for pair in zip(one, other, strict=True) for text in pair]
    assert found(*words, "--batch-size", 1, lines=table) == mixed
    rows = [f"{line}\t{PARSES[0]}" for line in lines]
    assert found("--template-column", -1, lines=rows) == one


def test_unknown_symbols_are_said_once(controlled: Path) -> None:
    table = [f"a0\t{parse}" for parse in [*PARSES, "(S (X))", "(S (Y) (X))"]]
    stderr = call(controlled, "--template-column", 2, lines=table).stderr
    assert stderr.count("'X'") == stderr.count("'Y'") == 1 and "'NP'" not in stderr


def test_bad_templates(controlled: Path, folder: Path, tmp_path: Path) -> None:
    table = ["a0\t(S)", "a1\t(S (NP)", "b0\t", "\t", "b1\t(S)"]
    stderr = call(controlled, "--template-column", 2, lines=table, code=65).stderr
    assert "line 2" in stderr or ":2: " in stderr
    assert "1 brackets that are not closed" in stderr
    rejects = tmp_path / "bad"
    result = call(
        controlled, "--template-column", 2, "--on-error", "reject", "--rejects", rejects,
        "--batch-size", 2, lines=table,
    )  # fmt: skip
    assert [bool(line) for line in result.stdout.splitlines()] == [True, False, False, False, True]
    assert [row.split("\t")[0] for row in rejects.read_text().splitlines()] == ["2", "3"]
    assert "2 rejected" in result.stderr
    only_bad = call(
        controlled, "--template-column", 2, "--on-error", "reject", lines=["a0", "a1\t)"]
    )
    assert only_bad.stdout == "\n\n"
    assert "brackets" in call(controlled, "--template", "(S", code=2).stderr
    words = ("--template", "(S)", "--template-column", 2)
    assert "exclude" in call(controlled, *words, code=2).stderr
    assert "none is given" in call(controlled, code=78).stderr
    translated = CliRunner().invoke(translate, ["--model", str(controlled)], input=b"a0\n")
    assert translated.exit_code == 78 and "generate --template" in translated.stderr
    assert "follows no templates" in call(folder, "--template", "(S)", code=78).stderr
