"""bitext-rank: the order, each cut, and where everything that is left out goes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import Result
from console import BIN, invoke
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import sentences

from bitextfilter.commands import rank
from bitextfilter.scoring.model import load

DATA = b"""\
one two\teins\t0.5
three\tdrei vier f\xc3\xbcnf\t0.75
six\tsechs sieben\t-1
eight\tacht\t0.50
nine ten eleven\tneun\t
twelve\tzw\xc3\xb6lf\tinf
"""
LINES = DATA.splitlines(keepends=True)
RANKED = [LINES[place] for place in (5, 1, 0, 3, 2, 4)]


def call(*words: object, data: bytes = DATA, code: int = 0) -> Result:
    return invoke(rank.main, *words, data=data, code=code)


def output(*words: object, data: bytes = DATA) -> bytes:
    return call(*words, data=data).stdout_bytes


def kept(*words: object, data: bytes = DATA) -> list[int]:
    """Which of the lines come out, numbered from 1."""
    lines = data.splitlines(keepends=True)
    return [lines.index(line) + 1 for line in output(*words, data=data).splitlines(keepends=True)]


def test_the_best_comes_first_and_ties_stay_as_they_came() -> None:
    assert output() == b"".join(RANKED)
    assert output("--order", "input") == DATA
    assert kept("--order", "input", "--top-lines", "3") == [1, 2, 6]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("--top-lines 2", [6, 2]), ("--top-lines 0.001k", [6]), ("--top-lines 0", []),
        ("--top-lines 1M", [6, 2, 1, 4, 3, 5]), ("--top-fraction 0.5", [6, 2, 1]),
        ("--top-fraction 1/3", [6, 2]), ("--top-fraction 0.49", [6, 2]),
        ("--min-score 0.5", [6, 2, 1, 4]), ("--min-score -inf", [6, 2, 1, 4, 3]),
        ("--min-score inf", [6]), ("--top-words 6", [6, 2, 1, 4]), ("--top-words 3", [6]),
        ("--top-words 5 --count-side source", [6, 2, 1, 4]),
        ("--top-words 7 --count-side both", [6, 2]),
        ("--top-words 17 --count characters", [6, 2]),
        ("--top-words 16 --count characters", [6]),
        ("--top-words 6 --scol 2 --tcol 1", [6, 2, 1, 4, 3]),
        ("--top-words 6 --top-lines 3 --min-score 0.5", [6, 2, 1]),
        ("--top-words 6 --top-lines 5 --min-score 0.6", [6, 2]),
        ("--top-fraction 1/3 --top-lines 3", [6, 2]),
        ("--fold 1/3", [3, 5]), ("--fold 3/3", [6, 2]), ("--fold 1/4", [3, 5]),
        ("--fold 2/4", [4]), ("--fold 2/3 --top-words 1", [1]),
        ("--fold 1/2 --min-score -1", [4, 3]),
        ("--fold 1/2 --top-fraction 0.4 --order input", [4]),
        ("--sample 9", [6, 2, 1, 4, 3, 5]), ("--sample 0", []),
        ("--sample 9 --min-score 0.6", [6, 2]),
    ],
)  # fmt: skip
def test_cuts(words: str, numbers: list[int]) -> None:
    assert kept(*words.split()) == numbers


def test_a_larger_budget_keeps_all_that_a_smaller_one_kept() -> None:
    budgets = [output("--top-words", str(n)) for n in range(12)]
    assert all(more.startswith(fewer) for fewer, more in pairwise(budgets))
    assert budgets[-1] == b"".join(RANKED[:-1]) + RANKED[-1]


def test_a_sample_is_drawn_again_by_the_same_seed() -> None:
    data = b"".join(b"a\tb\t%d\n" % number for number in range(1000))
    first = kept("--sample", "30", "--seed", "7", data=data)
    assert len(set(first)) == 30 and first == sorted(first, reverse=True)
    assert first == kept("--sample", "30", "--seed", "7", data=data)
    assert first != kept("--sample", "30", "--seed", "8", data=data)
    assert kept("--sample", "30", data=data) == kept("--sample", "30", "--seed", "1", data=data)
    assert sorted(first) == kept("--sample", "30", "--seed", "7", "--order", "input", data=data)


def test_subwords_are_those_of_the_model(folder: Path) -> None:
    model = load(folder)
    pairs = list(zip(*sentences(20, 3), strict=True))
    data = "".join(f"{-n}\t{s}\t{t}\n" for n, (s, t) in enumerate(pairs)).encode()
    places = ("--column", "1", "--scol", "2", "--tcol", "3", "--model", folder)
    for side, numbers in (("source", [0]), ("target", [1]), ("both", [0, 1])):
        sizes = [
            sum(len(model.processor.ids([pair[k]], model.languages[k])[0]) for k in numbers)
            for pair in pairs
        ]
        words = ("--count", "subwords", "--count-side", side, *places)
        for most in (0, 7):
            assert len(kept("--top-words", str(sum(sizes[:most])), *words, data=data)) == most


def test_the_text_is_not_looked_at_unless_it_is_counted() -> None:
    """Empty sides have no words; the column of the scores may stand anywhere."""
    data = b"0.1\n\xff\0\t0.3\n0.2\n"
    assert output("--top-lines", "2", data=data) == b"\xff\0\t0.3\n0.2\n"
    said = call("--top-words", "2", "--tcol", "-2", data=data, code=65).stderr
    assert "stdin:1: 1 column, expected at least 2 (--tcol -2); --on-error" in said
    assert kept("--top-words", "1", data=b"a\t\t3\n\tb\t2\nc\td\t1\n") == [1, 2]
    for column, numbers in (("2", [1, 3, 2]), ("-1", [3, 2, 1]), ("-2", [1, 3, 2])):
        assert kept("--column", column, data=b"a\t3\t1\nb\t1\t2\nc\t2\t3\n") == numbers


def test_header_bom_and_carriage_returns() -> None:
    data = b"\xef\xbb\xbfen\tmlp\r\na\t0.1\r\nb\t0.2\r\nc\t0.3"
    words = ("--header", "--column", "mlp")
    assert output(*words, data=data) == b"\xef\xbb\xbfen\tmlp\r\nc\t0.3\r\nb\t0.2\r\na\t0.1\r\n"
    assert output(*words, "--order", "input", data=data) == data
    words = (*words, "--order", "input", "--top-lines", "1")
    assert output(*words, data=data) == b"\xef\xbb\xbfen\tmlp\r\nc\t0.3"


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\n", b"0.5"])
@pytest.mark.parametrize("order", ["ranked", "input"])
def test_next_to_nothing(data: bytes, order: str) -> None:
    result = output("-q", "--order", order, data=data)
    assert result == data + b"\n" * (data == b"0.5" and order == "ranked")
    result = output("-q", "--order", order, "--header", data=b"mlp\n")
    assert result == b"mlp\n"


def test_what_is_left_out_is_kept_with_its_reason(tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.tsv"
    words = ("--min-score", "0.5", "--top-lines", "2", "--rejects", rejects)
    assert output(*words) == b"".join(RANKED[:2])
    assert rejects.read_bytes() == (
        b"1\trank 3 > 2\tone two\teins\t0.5\n"
        b"4\trank 4 > 2\teight\tacht\t0.50\n"
        b"3\tscore -1 < 0.5\tsix\tsechs sieben\t-1\n"
        b"5\tno score\tnine ten eleven\tneun\t\n"
    )
    assert output(*words, "--order", "input") == LINES[1] + LINES[5]
    numbers = [line.split(b"\t")[0] for line in rejects.read_bytes().splitlines()]
    assert numbers == [b"1", b"3", b"4", b"5"]


def test_summary_and_manifest(tmp_path: Path) -> None:
    manifest = tmp_path / "run.json"
    result = call("--top-words", "5", "--manifest", manifest)
    assert "6 rows, 0 rejected, 1 unscored, 3 kept, 3 dropped, 5 words, " in result.stderr
    assert "the last row kept has rank 3 and score 0.5\n" in result.stderr
    told = json.loads(manifest.read_text())
    assert told["counts"]["kept"] == 3 and told["counts"]["words"] == 5
    facts = {"order": "ranked", "yield": 0.5, "words_yield": 0.555556, "threshold": 0.5}
    assert told["facts"] == facts
    for words, fact in [
        (("--top-lines", "1"), ("threshold", "inf")),
        (("--sample", "6", "--seed", "3"), ("threshold", "nan")),
        (("--sample", "6", "--seed", "3"), ("seed", 3)),
    ]:
        call(*words, "--manifest", manifest)
        assert fact in json.loads(manifest.read_text())["facts"].items()
    call("--top-lines", "0", "--manifest", manifest)
    assert "threshold" not in json.loads(manifest.read_text())["facts"]


def test_a_column_without_any_score_or_a_header_taken_for_a_row_is_warned_of() -> None:
    assert "warning: no row has a number in column 1" in call("--column", "1").stderr
    assert "warning" not in call().stderr
    data = b"en\tde\tmlp\n" + DATA
    sample = ("--header", "--column", "1", "--sample", "3")
    assert "warning" not in call(*sample, data=data).stderr
    warning = "warning: the first row has no score but 'mlp': is it a --header?"
    assert warning in call(data=data).stderr
    assert "warning" not in call("--header", data=data).stderr
    assert "warning" not in call(data=LINES[4] + DATA).stderr


def test_a_pipe_that_closes_early_and_a_folder_for_what_waits(tmp_path: Path) -> None:
    launcher = f"{sys.executable} {BIN / 'bitext-rank'} -q"
    data = b"".join(b"a\tb\t%d\n" % number for number in range(30_000))
    line = ["bash", "-c", f"set -o pipefail; {launcher} | head -n 1"]
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    done = subprocess.run(line, input=data, capture_output=True, timeout=60, check=False, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a\tb\t29999\n", b"")
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=60)
@given(
    st.binary(max_size=60).map(lambda noise: noise.replace(b"n", b"\n").replace(b"t", b"\t5")),
    st.sampled_from(["", "--top-lines 2", "--top-words 3", "--fold 1/2", "--sample 1"]),
    st.sampled_from(["ranked", "input"]),
)
def test_whatever_comes_in_comes_out_or_is_rejected(data: bytes, cut: str, order: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rejects = Path(folder) / "rejects.tsv"
        words = [*cut.split(), "--order", order, "--on-error", "reject", "--rejects", str(rejects)]
        result = call("-q", *words, data=data)
        dropped = [
            line.split(b"\t", 2)[2].rstrip(b"\r") for line in rejects.read_bytes().split(b"\n")[:-1]
        ]
    assert sorted(lines_of(result.stdout_bytes) + dropped) == lines_of(data)


def lines_of(data: bytes) -> list[bytes]:
    """Lines without BOM and endings, sorted."""
    lines = re.findall(rb"[^\n]*\n|[^\n]+", data.removeprefix(b"\xef\xbb\xbf"))
    return sorted(line.rstrip(b"\r\n") for line in lines)
